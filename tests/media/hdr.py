# SPDX-License-Identifier: MIT
"""Videos of HDR, and with captions."""
from kit import FFMPEG, FRAMES, SEI, X264, case

HDR10 = 'repeat-headers=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:' \
        'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)' \
        'L(10000000,50):max-cll=1000,400:log-level=none'
X265 = '-c:v libx265 -preset ultrafast -pix_fmt yuv420p10le -x265-params '


def light():
    """HDR: what it says of itself, into whatever can say it."""
    film = f'-f lavfi -i testsrc2=size=256x144:rate=25 {FRAMES}'
    hdr = f'{film} {X265} "{HDR10}"'
    for codec, ending in (('hevc', 'mkv'), ('hevc', 'mp4'), ('hevc', 'ts'), ('h264', 'mkv'),
                          ('av1', 'mkv'), ('av1', 'mp4'), ('vp9', 'webm'), ('ffv1', 'mkv'),
                          ('prores', 'mov'), ('dnxhr', 'mov')):
        changed = {'dnxhr': ['color_space', 'chroma_location'], 'hevc': [], 'h264': [], 'av1': []}
        case(f'HDR10 as {codec} in {ending}', 'in.mkv', hdr, f'.{ending}',
             arguments=['--codec', codec, '--preset', 'ultrafast'],
             ignore=changed.get(codec, ['chroma_location']), hdr_coarse=codec == 'av1')
    for ending in ('mp4', 'mov'):
        case(f'HDR10 of the container alone, {ending}', f'in.{ending}',
             [f'{FFMPEG}{hdr} a.mp4',
              f'{FFMPEG}-i a.mp4 -c copy -bsf:v hevc_metadata,filter_units=remove_types=39 '
              f'in.{ending}'], '.mkv', arguments=['--codec', 'hevc'])
    case('HDR10 to mxf', 'in.mkv', hdr, '.mxf', arguments=['--codec', 'prores'],
         warns=["doesn't tell of the content's light"], ignore=['chroma_location'],
         hdr_less=['max_content', 'max_average'])
    hlg = f'{film} {X265} colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc:' \
          'log-level=none'
    case('HLG', 'in.mkv', hlg, '.mp4', arguments=['--codec', 'hevc'])
    for name, make, how in (('PQ', hdr, 'hable'), ('HLG', hlg, 'mobius')):
        case(f'{name} to SDR', 'in.mkv', make, '.mp4', sdr=True,
             arguments=['--codec', 'hevc', '--tonemap', how])
    case('SDR to SDR', 'in.mkv', f'{film} {X264}', arguments=['--tonemap', 'hable'],
         warns=["the input isn't HDR"])
    raw = f'{FFMPEG}{film} {X265} bframes=0:log-level=none a.hevc'
    plus = [raw, f'{SEI}hevc a.hevc b.hevc hdr10plus',
            f'{FFMPEG}-r 25 -i b.hevc -c copy in.mp4']
    for codec in ('hevc', 'av1', 'h264'):
        # FFmpeg 5.1 doesn't read it of H.264.
        case(f'HDR10+ as {codec}', 'in.mp4', plus, arguments=['--codec', codec],
             carries=['hdr10plus'] if codec != 'h264' else [])
    case('HDR10+ to prores', 'in.mp4', plus, '.mov', arguments=['--codec', 'prores'],
         warns=['HDR10+ metadata is dropped: H.264'], ignore=['chroma_location'])
    case('HDR10+ of what is SDR already', 'in.mp4', plus, '.mov',
         arguments=['--codec', 'prores', '--tonemap', 'hable'], ignore=['chroma_location'],
         warns=['HDR10+ metadata is dropped: H.264', "the input isn't HDR"])
    case('HDR10+ of two windows', 'in.hevc',
         [raw, f'{SEI}hevc a.hevc in.hevc b5003c0001040180{"00" * 50}'],
         warns=['several windows', 'no time stamps'], any_rest=True)
    spoken = [f'{FFMPEG}{film} {X264} -bf 0 a.h264', f'{SEI}h264 a.h264 b.h264 captions',
              f'{FFMPEG}-r 25 -i b.h264 -c copy in.mp4']
    for codec in ('h264', 'hevc', 'av1'):
        case(f'captions as {codec}', 'in.mp4', spoken, arguments=['--codec', codec],
             carries=['captions'], ignore=['chroma_location'])
    case('captions of a part', 'in.mp4', spoken, part=(0.2, 0.4), carries=['captions'],
         arguments=['--start', '0.2', '--duration', '0.2'])
    case('captions to ffv1', 'in.mp4', spoken, arguments=['--codec', 'ffv1'],
         warns=['captions in the pictures', ], ignore=['chroma_location'])
    dolby = [f'{FFMPEG}{film} {X265} log-level=none in.mp4']
    for profile, rest in ((81, {'warns': ['profile 8.1', ]}), (84, {'warns': ['the HLG that']}),
                          (50, {'refused': 'Dolby Vision of profile 5'})):
        # A box that says nothing that is needed takes its name, and its first bytes: version,
        # profile in 7 bits, level, what there is, what it is to others.
        box = f'647663430100{profile // 10 << 1:02x}35{profile % 10 << 4:02x}'
        case(f'Dolby Vision {profile / 10}', 'in.mp4', dolby + [
            f"""python3 -c "b = open('in.mp4', 'rb').read(); i = b.index(b'btrt'); """
            f"""n = bytes.fromhex('{box}'); open('in.mp4', 'wb').write(b[:i] + n + """
            """b[i + len(n):])\""""], '.mp4', **rest)
