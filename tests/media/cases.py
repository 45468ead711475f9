# SPDX-License-Identifier: MIT
"""The videos of the torture: how each is made, what it becomes, and what vrtd has to say of it."""
import hdr
import streams
from kit import (CONCEALED, FFMPEG, FRAMES, GROUP, PICTURE, SOUND, TEXT, X264, case)


def containers():
    """From each container to each."""
    plain = {'mp4': '', 'mov': '', 'mkv': '', 'ts': '', 'm2ts': '', 'flv': '', '3gp': '',
             'nut': '', 'avi': '-bf 0', 'mxf': '-c:v mpeg2video -pix_fmt yuv420p',
             'mpg': '-c:v mpeg2video', 'vob': '-c:v mpeg2video', 'asf': '-bf 0',
             'webm': '-c:v libvpx-vp9 -deadline realtime -cpu-used 8'}
    sound = {'flv': 'aac', 'avi': 'mp3', 'mxf': 'pcm_s16le', 'mpg': 'mp2', 'vob': 'ac3',
             'webm': 'libopus', 'ts': 'mp2', 'm2ts': 'ac3'}
    for ending, options in plain.items():
        codec = '' if '-c:v' in options else X264
        for output in ('.mp4', '.mkv'):
            if (ending, output) in (('mxf', '.mp4'),):
                continue
            rate = '-ar 44100' if ending == 'flv' else ''
            # The last frame of a program stream has no time that ffprobe could tell.
            given = {'frames': [i / 25 for i in range(12)]} if ending in ('mpg', 'vob') else {}
            case(f'{ending} to {output[1:]}', f'in.{ending}',
                 f'{PICTURE} {SOUND} -t 0.48 {codec} {options} {rate} '
                 f'-c:a {sound.get(ending, "aac")}', output, rewrapped=True, **given)


def sounds():
    """What tracks of sound there are, where they may go."""
    into_both = ['aac', 'libmp3lame', 'ac3', 'eac3', 'flac', 'alac', 'libopus', 'mp2',
                 'truehd -strict -2', 'dca -strict -2']
    into_mkv = ['libvorbis', 'pcm_s16le', 'pcm_s24le', 'pcm_f32le', 'wmav2', 'mlp -strict -2',
                'adpcm_ms', 'wavpack', 'tta']
    for codec in into_both + into_mkv:
        for output in ('.mp4', '.mkv') if codec in into_both else ('.mkv',):
            case(f'sound {codec.split()[0]} to {output[1:]}', 'in.mkv',
                 f'{PICTURE} {SOUND} -t 1 {X264} -c:a {codec}', output)
    case('truehd, ten seconds', 'in.mkv',
         f'{PICTURE} {SOUND} -t 10 -r 5 {X264} -c:a truehd -strict -2')
    case('three languages', 'in.mkv',
         f'{PICTURE} {SOUND} {SOUND} {SOUND} -t 0.5 -map 0 -map 1 -map 2 -map 3 {X264} -c:a flac '
         '-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger -metadata:s:a:1 '
         'title=Kommentar -metadata:s:a:2 language=jpn -disposition:a:1 default')
    case('title of a track to mp4', 'in.mkv',
         f'{PICTURE} {SOUND} -t 0.5 {X264} -c:a aac -metadata:s:a:0 title=Commentary '
         '-metadata:s:a:0 language=fre', '.mp4')
    case('sound begins late', 'in.mkv', f'{PICTURE} -itsoffset 0.3 {SOUND} -t 1 {X264} -c:a flac')
    case('sound begins early', 'in.mkv', f'-itsoffset 0.3 {PICTURE} {SOUND} -t 1 {X264} -c:a flac')
    case('sound ends early', 'in.mkv', f'{PICTURE} {SOUND} -t 1 {X264} -af atrim=0:0.4 -c:a flac')
    case('sound of 5.1', 'in.mkv',
         f'{PICTURE} -f lavfi -i "aevalsrc=0|0|0|0|0|0:c=5.1:s=48000" -t 0.5 {X264} -c:a flac')
    case('44.1 kHz in milliseconds', 'in.mkv',
         f'{PICTURE} -f lavfi -i sine=sample_rate=44100 -t 2 -r 5 {X264} -c:a libmp3lame', '.mp4')


def rates():
    for rate in ('24000/1001', '24', '30000/1001', '30', '50', '60000/1001', '120', '1',
                 '15000/1001', '12.5'):
        for output in ('.mp4', '.mkv'):
            case(f'{rate} a second to {output[1:]}', 'in.mp4',
                 f'-f lavfi -i testsrc2=size=64x48:rate={rate} {FRAMES} {X264} -bf 2', output)
    case('a gap of three seconds', 'in.mkv',
         f'{PICTURE} {SOUND} -t 1 -vf "setpts=\'PTS+gt(N,8)*3/TB\'" -fps_mode passthrough {X264} '
         '-c:a flac')


def formats():
    lossless = ['yuv420p', 'yuv422p', 'yuv444p', 'yuv440p', 'yuv410p', 'yuv411p', 'yuv420p10le',
                'yuv422p10le', 'yuv444p12le', 'gray', 'gray10le', 'gbrp', 'gbrp10le', 'yuv420p16le']
    for name in lossless:
        wide = name in ('yuv410p', 'yuv411p')
        case(f'pixels {name}', 'in.mkv', f'{PICTURE} {FRAMES} -c:v ffv1 -pix_fmt {name}',
             arguments=['--codec', 'ffv1'], any_warning=wide)
    # H.264 has no word for where chroma lies but in 4:2:0.
    case('full range', 'in.mkv', f'{PICTURE} {FRAMES} -c:v mjpeg -pix_fmt yuvj422p',
         ignore=['chroma_location'])
    case('animated gif', 'in.gif', f'{PICTURE} {FRAMES}', '.mp4', any_warning=True)
    case('animated webp', 'in.webp', f'{PICTURE} {FRAMES} -c:v libwebp_anim',
         refused='animation in WebP')
    case('a single picture', 'in.png', f'{PICTURE} -frames:v 1', '.mp4', any_warning=True,
         ignore=['color_range'])
    for size in ('16x16', '17x15', '3x64', '64x3', '2x2', '130x2'):
        case(f'size {size}', 'in.mkv',
             f'-f lavfi -i color=red:size={size}:rate=25 {FRAMES} -c:v ffv1 -pix_fmt yuv444p',
             arguments=['--codec', 'ffv1'])


def colours():
    for name, options in {
            'bt709': '-colorspace bt709 -color_primaries bt709 -color_trc bt709',
            'bt601': '-colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m',
            'pal': '-colorspace bt470bg -color_primaries bt470bg -color_trc gamma28',
            'full': '-color_range pc -colorspace bt709 -color_primaries bt709 -color_trc bt709',
            'bt2020': '-pix_fmt yuv420p10le -colorspace bt2020nc -color_primaries bt2020 '
                      '-color_trc smpte2084'}.items():
        for output in ('.mp4', '.mkv'):
            case(f'colours {name} to {output[1:]}', 'in.mkv',
                 f'{PICTURE} {FRAMES} {X264} {options}', output)
    for where in ('left', 'topleft', 'center'):
        case(f'chroma 4:2:0 {where}', 'in.mkv',
             f'{PICTURE} {FRAMES} {X264} -chroma_sample_location {where}')
    case('chroma 4:2:0 bottom', 'in.mkv',
         f'{PICTURE} {FRAMES} {X264} -chroma_sample_location bottom',
         warns=['chroma lies at the bottom'])
    # H.264 and HEVC have one place for it in 4:2:2; elsewhere the container says it.
    for where in ('left', 'topleft', 'center'):
        case(f'chroma 4:2:2 {where}', 'in.mkv',
             f'{PICTURE} {FRAMES} -c:v ffv1 -pix_fmt yuv422p -chroma_sample_location {where}',
             arguments=['--codec', 'ffv1'])


def shapes():
    case('aspect of both', 'in.mp4', f'{PICTURE} {FRAMES} {X264} -vf setsar=16/11', '.mp4',
         aspect='16:11')
    for output in ('.mp4', '.mkv'):
        case(f'aspect of the container wins, {output[1:]}', 'in.mkv',
             [f'{FFMPEG}{PICTURE} {FRAMES} {X264} -vf setsar=16/11 plain.mkv',
              f'{FFMPEG}-i plain.mkv -c copy -aspect 16:9 in.mkv'], output, aspect='4:3')
    # What stands behind the codec's own box, 55 bytes, makes way for a clean aperture of 60 x 44.
    aperture = "python3 -c \"b = open('plain.mp4', 'rb').read(); i = b.index(b'colr') - 4; " \
               "n = (40, 0x636c6170, 60, 1, 44, 1, 0, 1, 0, 1); " \
               "n = b''.join(k.to_bytes(4, 'big') for k in n) + bytes([0, 0, 0, 15]) + b'free'; " \
               "open('in.mp4', 'wb').write(b[:i] + n + b[i + 48:])\""
    case('a clean aperture', 'in.mp4',
         [f'{FFMPEG}{PICTURE} {FRAMES} {X264} -colorspace bt709 -color_primaries bt709 '
          '-color_trc bt709 plain.mp4', aperture], '.mp4',
         warns=["has 60 x 44 of the video's 64 x 48 pixels shown"])
    case('cropped by Matroska', 'in.mkv',
         [f'{FFMPEG}{PICTURE} {FRAMES} {X264} -vf setsar=2 plain.mkv',
          # In the place of DisplayUnit.
          r"LC_ALL=C sed 's/\x54\xb2\x81\x03/\x54\xcc\x81\x04/' plain.mkv > in.mkv"], '.mp4',
         warns=["has 60 x 48 of the video's 64 x 48 pixels shown"])
    for degrees in (90, 180):
        case(f'turned by {degrees}', 'in.mp4',
             [f'{FFMPEG}{PICTURE} {FRAMES} {X264} plain.mp4',
              f'{FFMPEG}-i plain.mp4 -c copy -metadata:s:v rotate={degrees} in.mp4'], '.mp4')


ASS = 'printf "[Script Info]\\nScriptType: v4.00+\\n\\n[Events]\\nFormat: Layer, Start, End, ' \
      'Style, Name, MarginL, MarginR, MarginV, Effect, Text\\n" > in.ass'


def stacked(n):
    """`n` lines at once, then one later."""
    line = 'Dialogue: $i,0:00:00.10,0:00:00.40,Default,,0,0,0,,line $i'
    return [ASS, f'for i in $(seq {n}); do echo "{line}" >> in.ass; done',
            'echo "Dialogue: 0,0:00:00.12,0:00:00.45,Default,,0,0,0,,after" >> in.ass']


def codecs():
    """What results are written as, where it fits."""
    film = f'-f lavfi -i testsrc2=size=256x144:rate=25 {SOUND} -t 0.6'
    pairs = {'h264': ('mp4', 'mov', 'mkv', 'ts'), 'hevc': ('mp4', 'mov', 'mkv', 'ts'),
             'av1': ('mp4', 'mkv', 'webm'), 'vp9': ('mp4', 'mkv', 'webm'), 'ffv1': ('mov', 'mkv'),
             'prores': ('mov', 'mkv', 'mxf'), 'dnxhr': ('mov', 'mkv', 'mxf'),
             'mjpeg': ('mov', 'mkv')}
    sound = {'webm': 'libopus', 'mov': 'pcm_s16le', 'ts': 'mp2', 'mxf': 'pcm_s16le'}
    # These say what is usual of theirs, or nothing of what is usual everywhere.
    changed = {codec: ['chroma_location'] for codec in ('vp9', 'ffv1', 'prores', 'dnxhr')}
    changed['mjpeg'] = ['color_space', 'color_range', 'chroma_location']
    for codec, endings in pairs.items():
        for ending in ('mp4', 'mov', 'mkv', 'webm', 'ts', 'mxf'):
            name = f'{codec} in {ending}'
            make = f'{film} {X264} -colorspace bt709 -color_primaries bt709 -color_trc bt709 ' \
                   f'-c:a {sound.get(ending, "aac")}'
            more = {'arguments': ['--codec', codec], 'ignore': changed.get(codec, [])}
            if ending not in endings:
                case(name, 'in.mkv', make, f'.{ending}', refused=f'.{ending} cannot hold',
                     **more)
            elif ending == 'mxf':
                case(name, 'in.mov', make, '.mxf', rewrapped=True, cut=True, **more)
            else:
                case(name, 'in.mkv', make, f'.{ending}', rewrapped=ending == 'ts', **more)
    case('a deep film in av1', 'in.mkv', f'{film} -c:v ffv1 -pix_fmt yuv422p12le', '.mkv',
         arguments=['--codec', 'av1', '--preset', 'ultrafast'])
    deep = f'{film} -c:v ffv1 -pix_fmt yuv420p10le'
    for name, make, output, codec in (('8 bits', f'{film} {X264}', '.mp4', 'h264'),
                                      ('10 bits', deep, '.mkv', 'hevc'),
                                      ('webm', f'{film} {X264} -c:a libopus', '.webm', 'vp9')):
        case(f'auto of {name}', 'in.mkv', make + (' -c:a aac' if output != '.webm' else ''),
             output, arguments=['--codec', 'auto'], codec=codec, ignore=['chroma_location'])
    case('a bitrate', 'in.mkv', f'{film} {X264} -c:a aac',
         arguments=['--codec', 'hevc', '--bitrate', '400k'])
    case('a bitrate of av1', 'in.mkv', f'{film} {X264} -c:a aac',
         arguments=['--codec', 'av1', '--bitrate', '400k'])
    long = f'-f lavfi -i testsrc2=size=128x72:rate=25 {SOUND} -t 12 {X264}'
    for codec, ending, size in (('h264', 'mp4', '500k'), ('hevc', 'mkv', '400k'),
                                ('av1', 'webm', '400k'), ('h264', 'ts', '900k')):
        sound = {'webm': 'libopus', 'ts': 'mp2'}.get(ending, 'aac')
        case(f'a target size of {codec} in {ending}', 'in.mkv', f'{long} -c:a {sound}',
             f'.{ending}', bytes=(int(size[:-1]) * 1000, 0.06), rewrapped=ending == 'ts',
             arguments=['--codec', codec, '--target-size', size, '--preset', 'ultrafast'])
    case('a target size for sound alone', 'in.mkv', f'{long} -c:a flac',
         arguments=['--target-size', '100k'], refused='100 kB is too small for 300 frames')
    case('a target size that is too much', 'in.mkv', f'{PICTURE} {FRAMES} {X264}',
         arguments=['--target-size', '1G'], warns=['smaller than 1 GB'])
    case('a target size of ffv1', 'in.mkv', f'{PICTURE} {FRAMES} {X264}',
         arguments=['--target-size', '1M', '--codec', 'ffv1'], refused='FFV1 has no bitrate')
    case('a quality of ffv1', 'in.mkv', f'{PICTURE} {FRAMES} {X264}', '.mkv',
         arguments=['--quality', '20', '--codec', 'ffv1'], refused='FFV1 has no quality')
    case('a pixel format', 'in.mkv', f'{film} {X264} -c:a aac',
         arguments=['--codec', 'hevc', '--pix-fmt', 'yuv420p10le'])
    case('options of an encoder', 'in.mkv', f'{film} {X264} -c:a aac',
         arguments=['--enc', 'tune=film', '--enc', 'x264-params=aq-mode=3:deblock=-1,-1'])
    case('text to webm', 'in.mkv',
         [TEXT, f'{FFMPEG}{PICTURE} -i in.srt {FRAMES} {X264} -c:s srt in.mkv'], '.webm',
         arguments=['--codec', 'vp9'])
    case('sound that webm lacks', 'in.mkv', f'{film} {X264} -c:a aac', '.webm', left_out=[1],
         warns=['name the output .mkv to keep it'], arguments=['--codec', 'vp9'])


def texts():
    for codec, output in (('srt', '.mkv'), ('ass', '.mkv'), ('mov_text', '.mp4')):
        source = 'in' + output
        case(f'text {codec}', source,
             [TEXT, f'{FFMPEG}{PICTURE} -i in.srt {FRAMES} {X264} -c:s {codec} '
                    f'-metadata:s:s:0 language=eng {source}'], output)
    case('text srt to mp4', 'in.mkv',
         [TEXT, f'{FFMPEG}{PICTURE} -i in.srt {FRAMES} {X264} -c:s srt in.mkv'], '.mp4')
    case('text at one time', 'in.mkv',
         stacked(200) + [f'{FFMPEG}{PICTURE} -i in.ass {FRAMES} {X264} -c:s ass in.mkv'])
    case('text at one time to mp4', 'in.mkv',
         stacked(3) + [f'{FFMPEG}{PICTURE} -i in.ass {FRAMES} {X264} -c:s ass in.mkv'], '.mp4',
         warns=['loses most of its styles', 'begin together'])


def times():
    """Times that begin, jump and end as they like."""
    broadcast = f'{PICTURE} {SOUND} -t 3 {X264} -c:a mp2'
    part = [f'{FFMPEG}{broadcast} a.ts']
    joined = {'frames': [i / 25 for i in range(150)], 'loose': 0.05}
    for output in ('.mp4', '.mkv'):
        case(f'two recordings joined to {output[1:]}', 'in.ts', part + ['cat a.ts a.ts > in.ts'],
             output, warns=['clock jumps 1 time', CONCEALED], sound_s=6.0, **joined)
    for name, offset in {'forwards': 1000, 'back': -900}.items():
        case(f'a jump {name}', 'in.ts',
             [f'{FFMPEG}{broadcast} -output_ts_offset 1000 a.ts',
              f'{FFMPEG}{broadcast} -output_ts_offset {1000 + offset} b.ts',
              'cat a.ts b.ts > in.ts'], warns=['clock jumps 1 time', CONCEALED], sound_s=6.0,
             **joined)
    case('another recording joined', 'in.ts',
         part + [f'{FFMPEG}{broadcast} -mpegts_start_pid 0x300 -mpegts_pmt_start_pid 0x1100 b.ts',
                 'cat a.ts b.ts > in.ts'], warns=['other streams of pictures or sound'],
         any_warning=True, any_rest=True)
    case('the end of 33 bits', 'in.ts', f'{broadcast} -output_ts_offset 95442',
         frames=[i / 25 for i in range(75)], loose=0.05, any_warning=True, sound_s=3.0)
    case('a recording from the middle of a day', 'in.ts', f'{broadcast} -output_ts_offset 40000')
    case('program stream from an hour on', 'in.mpg',
         f'{PICTURE} {SOUND} -t 1 -c:v mpeg2video -c:a mp2 -output_ts_offset 3600', any_rest=True)
    case('times before 0', 'in.mkv',
         f'{PICTURE} {SOUND} -t 1 {X264} -bf 2 -c:a libopus -avoid_negative_ts disabled')
    case('an edit list', 'in.mp4',
         [f'{FFMPEG}{PICTURE} {SOUND} -t 3 {X264} -g 25 -bf 2 -c:a aac a.mp4',
          f'{FFMPEG}-ss 0.5 -i a.mp4 -c copy in.mp4'], '.mp4', any_warning=True, any_rest=True)
    case('no times at all', 'in.h264', f'{PICTURE} {FRAMES} {X264} -bf 0', '.mp4',
         warns=['no time stamps'], any_rest=True)


def excerpts():
    """A part of the input, with what belongs to it."""
    titled = ['printf "1\\n00:00:00,500 --> 00:00:03,000\\nOne\\n\\n2\\n00:00:03,200 --> '
              '00:00:04,000\\nTwo\\n\\n3\\n00:00:05,500 --> 00:00:06,000\\nThree\\n\\n" '
              '> a.srt',
              'printf ";FFMETADATA1\\n[CHAPTER]\\nTIMEBASE=1/1\\nSTART=0\\nEND=1\\n[CHAPTER]\\n'
              'TIMEBASE=1/1\\nSTART=1\\nEND=3\\n[CHAPTER]\\nTIMEBASE=1/1\\nSTART=3\\nEND=6\\n" '
              '> a.txt']
    films = {
        'mp4': f'{X264} -bf 2 -g 30 -c:a aac', 'mkv': f'{X264} -bf 2 -g 30 -c:a libopus',
        'ts': f'{X264} -bf 2 -g 30 -c:a mp2', 'mpg': '-c:v mpeg2video -bf 2 -c:a mp2',
        'webm': '-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 30 -c:a libopus',
        'avi': f'{X264} -bf 0 -g 30 -c:a mp3', 'mov': '-c:v prores -c:a pcm_s16le'}
    for ending, options in films.items():
        for output in ('.mp4', '.mkv'):
            if (ending, output) == ('mov', '.mp4'):
                continue
            case(f'a second of {ending} to {output[1:]}', f'in.{ending}',
                 f'{PICTURE} {SOUND} -t 6 {options}', output, part=(2.5, 3.5), rewrapped=True,
                 arguments=['--start', '2.5', '--duration', '1'])
    case('the end of a film', 'in.mkv', f'{PICTURE} {SOUND} -t 6 {X264} -g 50 -c:a flac',
         part=(4, 9), arguments=['--start', '0:04'])
    case('its beginning', 'in.mkv', f'{PICTURE} {SOUND} -t 6 {X264} -g 50 -c:a flac',
         part=(0, 0.5), arguments=['--duration', '0.5'])
    case('a part with text and chapters', 'in.mkv',
         titled + [f'{FFMPEG}{PICTURE} -i a.srt -i a.txt -t 6 -map 0 -map 1 {X264} -c:s srt '
                   '-map_metadata 2 in.mkv'], part=(2, 5), text=[0, 1.2],
         arguments=['--start', '2', '--duration', '3'])
    case('a part of varying rate', 'in.mkv',
         f'{PICTURE} -t 6 -vf "select=not(mod(n\\,3)*gt(n\\,60))" -fps_mode vfr {X264}',
         part=(2.01, 4.0), arguments=['--start', '2.01', '--duration', '1.99'])
    case('a part of joined recordings', 'in.ts',
         [f'{FFMPEG}{PICTURE} {SOUND} -t 3 {X264} -c:a mp2 a.ts', 'cat a.ts a.ts > in.ts'],
         frames=[i / 25 for i in range(50)], loose=0.05, sound_s=2.0, any_warning=True,
         arguments=['--start', '2', '--duration', '2'])


def telecine():
    """Films whose fields were spread over more frames, from and to containers of several clocks."""
    film = '-f lavfi -i testsrc2=size=64x240:rate=24000/1001'
    fields = '-vf scroll=h=0.02:v=0.01,telecine=pattern=23,setfield=tff -flags +ildct+ilme'
    given = {'arguments': ['--deinterlace', 'telecine']}

    def shown(n):
        return [i * 1001 / 24000 for i in range(n)]
    for source, output, codec in (('in.mkv', '.mkv', 'ffv1'), ('in.mp4', '.mkv', 'mpeg2video'),
                                  ('in.ts', '.mp4', 'mpeg2video'), ('in.vob', '.ts', 'mpeg2video')):
        case(f'telecine of {source[3:]} to {output[1:]}', source,
             f'{film} {SOUND} -t 1.001 {fields} -c:v {codec} -pix_fmt yuv420p -c:a mp2', output,
             frames=shown(24), **given)
    case('telecine of 10 bit', 'in.mov', f'{film} -frames:v 30 {fields} -c:v prores',
         refused='takes no frames of', **given)
    for n in (1, 4, 6, 29):
        # Of few frames nothing but milliseconds tells how long they are shown.
        case(f'telecine of {n} frames', 'in.mkv',
             f'{film} -frames:v {n} {fields} -c:v ffv1 -pix_fmt yuv420p',
             frames=shown(n // 5 * 4 + n % 5), loose=0.0015, **given)
    case('telecine of transparency', 'in.mkv',
         f'{film} -frames:v 25 {fields} -c:v ffv1 -pix_fmt yuva420p', frames=shown(20),
         warns=['only the pictures show'], **given)
    case('telecine at 25', 'in.mkv', f'{PICTURE} {FRAMES} {X264}', refused='and this one has 25',
         **given)
    case('telecine of a part', 'in.mkv',
         f'{film} -t 2.002 {fields} -c:v ffv1 -pix_fmt yuv420p', frames=shown(12),
         arguments=['--deinterlace', 'telecine', '--start', '0.51', '--duration', '0.5'])


def changes():
    """What is another way from some frame on."""
    def halves(first, second, ending='ts'):
        return [f'{FFMPEG}{PICTURE} {FRAMES} {first} a.{ending}',
                f'{FFMPEG}{PICTURE} {FRAMES} {second} -output_ts_offset 0.48 b.{ending}',
                f'cat a.{ending} b.{ending} > in.{ending}']
    given = {'any_rest': True}
    mpeg = '-c:v mpeg2video -q:v 2'
    case('the aspect ratio changes', 'in.ts',
         halves(f'{mpeg} -aspect 4:3', f'{mpeg} -aspect 16:9'),
         warns=['aspect ratio changes at frame 1', CONCEALED], **given)
    case('the colours change', 'in.ts',
         halves(f'{X264} -colorspace smpte170m', f'{X264} -colorspace bt709'),
         warns=['coding of colours changes at frame 1', CONCEALED], **given)
    case('interlacing begins later', 'in.ts',
         halves(f'{mpeg}', f'{mpeg} -flags +ildct+ilme -top 1'),
         warns=['interlaced from frame 1', CONCEALED], **given)
    case('the pixel format changes', 'in.ts', halves(X264, f'{X264} -pix_fmt yuv444p'),
         refused='split it there')


def extras():
    """What stands beside the pictures."""
    case('lossless h264', 'in.mkv', f'{PICTURE} {FRAMES} {X264}', arguments=['--quality', '0'],
         warns=['few players'])


def damages():
    """What is broken: a result and a word about it, or a sentence."""
    whole = f'{FFMPEG}{PICTURE} {SOUND} -t 2 {X264} -c:a aac'
    for ending in ('mkv', 'ts', 'flv', 'avi'):
        audio = whole.replace('-c:a aac', '-c:a mp3') if ending == 'avi' else whole
        rate = ' -ar 44100' if ending == 'flv' else ''
        case(f'cut off {ending}', f'in.{ending}',
             [f'{audio}{rate} a.{ending}', f'head -c $(($(stat -c %s a.{ending}) * 6 / 10)) '
              f'a.{ending} > in.{ending}'], any_warning=True, any_rest=True)
        case(f'bits flipped in {ending}', f'in.{ending}',
             [f'{audio}{rate} in.{ending}', f'for i in 7000 9000 11000 13000; do printf '
              f'"\\377\\000\\123" | dd of=in.{ending} bs=1 seek=$i conv=notrunc status=none; done'],
             any_warning=True, any_rest=True)


def fill():
    """Makes kit.CASES of them all."""
    for group in (containers, sounds, rates, formats, streams.alphas, colours, codecs, shapes,
                  streams.streams, texts, streams.parts, streams.pairs, times, excerpts, telecine,
                  changes, extras, hdr.light, damages):
        GROUP[0] = group.__name__
        group()
