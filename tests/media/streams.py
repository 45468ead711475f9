# SPDX-License-Identifier: MIT
"""Videos with other streams, and with transparency."""
import os

from kit import FFMPEG, FRAMES, HERE, PICTURE, SOUND, TEXT, X264, case


def alphas():
    """Transparency, into what holds it."""
    veil = '-f lavfi -i "testsrc2=size=64x48:rate=25,format=rgba,geq=r=r(X\\,Y):g=g(X\\,Y):' \
           'b=b(X\\,Y):a=mod(X*4+Y*3+N*10\\,256)"'
    ignore = ['color_range', 'color_space', 'chroma_location']
    to_ffv1 = {'arguments': ['--codec', 'ffv1'], 'ignore': ignore}
    for pixels in ('yuva420p', 'yuva422p10le', 'yuva444p16le', 'bgra', 'gbrap10le', 'ya8'):
        case(f'alpha of {pixels}', 'in.mkv', f'{veil} {FRAMES} -c:v ffv1 -pix_fmt {pixels}',
             alpha={'of': pixels, 'to': pixels}, **to_ffv1)
    for name, source, options, more in (
            ('prores', 'in.mov', '-c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le',
             {'of': 'yuva444p12le', 'to': 'yuva444p16le'}),
            ('vp9', 'in.webm', '-pix_fmt yuva420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8',
             {'of': 'yuva420p', 'decoder': 'libvpx-vp9', 'to': 'yuva420p'}),
            ('vp8', 'in.webm', '-pix_fmt yuva420p -c:v libvpx -auto-alt-ref 0 -deadline realtime '
             '-cpu-used 8', {'of': 'yuva420p', 'decoder': 'libvpx', 'to': 'yuva420p'}),
            ('qtrle', 'in.mov', '-c:v qtrle -pix_fmt argb', {'of': 'argb', 'to': 'bgra'}),
            ('png', 'in.mov', '-c:v png -pix_fmt rgba', {'of': 'rgba', 'to': 'bgra'}),
            ('apng', 'in.apng', '-plays 0 -c:v apng -pix_fmt rgba', {'of': 'rgba', 'to': 'bgra'})):
        case(f'alpha of {name}', source, f'{veil} {FRAMES} {options}', alpha=more, any_rest=True,
             **to_ffv1)
    prores = f'{veil} {FRAMES} -c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le'
    case('alpha to prores', 'in.mov', prores, '.mov', arguments=['--codec', 'prores'],
         alpha={'of': 'yuva444p12le', 'to': 'yuva444p12le', 'slack': 1 / 1023}, ignore=ignore,
         warns=['ProRes holds 10 bits'])
    vp9 = f'{veil} {FRAMES} -pix_fmt yuva420p -c:v ffv1'
    for output in ('.webm', '.mkv'):
        case(f'alpha to vp9 in {output[1:]}', 'in.mkv', vp9, output, ignore=ignore, alpha={
            'of': 'yuva420p', 'to': 'yuva420p', 'result_decoder': 'libvpx-vp9', 'slack': 0.06},
             arguments=['--codec', 'vp9', '--quality', '0'])
    case('alpha to vp9 of ten bits', 'in.mov', prores, '.webm', any_rest=True,
         arguments=['--codec', 'vp9'], warns=['transparency (alpha) is dropped: VP9 cannot hold'])
    case('alpha to vp9 as it can be', 'in.mov', prores, '.webm', any_rest=True, alpha={
        'of': 'yuva444p12le', 'to': 'yuva420p', 'result_decoder': 'libvpx-vp9', 'slack': 0.06},
         arguments=['--codec', 'vp9', '--pix-fmt', 'yuva420p', '--quality', '0'])
    case('alpha of a part', 'in.mkv', f'{veil} -t 2 -c:v ffv1 -pix_fmt yuva420p', any_rest=True,
         alpha={'of': 'yuva420p', 'to': 'yuva420p', 'first': 20, 'n': 10},
         arguments=['--codec', 'ffv1', '--start', '0.8', '--duration', '0.4'])
    case('alpha of fields', 'in.mkv',
         f'{veil} {FRAMES} -vf tinterlace=interleave_top,setfield=tff -c:v ffv1 -flags '
         '+ildct+ilme -pix_fmt yuva420p', any_rest=True,
         alpha={'of': 'yuva420p', 'to': 'yuva420p', 'n': 24,
                'filter': 'bwdif=mode=send_field:parity=tff'},
         arguments=['--codec', 'ffv1', '--deinterlace', 'field'])
    case('alpha that mp4 lacks', 'in.mkv', vp9, '.mp4', ignore=ignore,
         warns=['is dropped: H.264 in .mp4 has no place for it; ProRes in .mov, VP9 in .webm'])
    case('alpha that must be kept', 'in.mkv', vp9, '.mp4', arguments=['--alpha', 'resize'],
         refused="transparency (alpha) can't be kept: H.264 in .mp4 has no place for it")
    case('alpha that nobody wants', 'in.mkv', vp9, arguments=['--alpha', 'drop', '--codec', 'ffv1'],
         ignore=ignore)


def streams():
    """Which streams go on."""
    small = '-f lavfi -i testsrc2=size=32x32:rate=25'
    source = [TEXT, f'{FFMPEG}{PICTURE} {small} {SOUND} {SOUND} -i in.srt -i in.srt -t 0.48 -map 0 '
                    f'-map 1 -map 2 -map 3 -map 4 -map 5 {X264} -c:a flac -c:s srt '
                    '-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger '
                    '-metadata:s:s:0 language=ger -metadata:s:s:1 language=eng '
                    '-disposition:v:0 default -disposition:v:1 0 in.mkv']
    kept = 'video stream 1 is kept as it is'
    for chosen, left_out, more in (
            ('v,a:1', [2, 4, 5], {'warns': [kept]}),
            ('v:0,a,s:m:language:eng', [1, 4], {}),
            ('-s', [4, 5], {'warns': [kept]}),
            ('-v:1,-a:0', [1, 2], {}),
            ('a,v,-m:language:ger', [3, 4, 5], {'warns': [kept]}),
            ('v:1,a:0,s?,d?', [0, 3], {'restored': 1}),
            ('v:1,v,a', [4, 5], {'restored': 1, 'warns': ['video stream 0 is kept as it is']}),
            ('1,3', [0, 2, 4, 5], {'restored': 1})):
        case(f'streams {chosen}', 'in.mkv', source, left_out=left_out,
             arguments=['--streams', chosen], **more)
    case('the second video to mp4', 'in.mkv', source, '.mp4', left_out=[4, 5], restored=1,
         warns=['video stream 0 is kept as it is'], arguments=['--streams', 'v:1,v,a'])
    case('the second video to ts', 'in.ts',
         f'{PICTURE} {small} {SOUND} -t 0.48 -map 0 -map 1 -map 2 {X264} -c:a mp2', '.ts',
         restored=1, rewrapped=True, warns=['video stream 0 is kept as it is'],
         arguments=['--streams', 'v:1,v,a'])
    case('a part of one sound', 'in.mkv',
         f'{PICTURE} {SOUND} {SOUND} -t 3 -map 0 -map 1 -map 2 {X264} -g 25 -c:a flac',
         part=(1, 2), left_out=[1], arguments=['--streams', 'v,a:1', '--start', '1', '--duration',
                                               '1'])
    for chosen, sentence in (
            ('v,a:7', 'no stream that "a:7" matches: it has 0 video h264, 1 video h264, 2 audio '
                      'flac (eng), 3 audio flac (ger), 4 subtitle subrip (ger)'),
            ('v,s:m:language:fre', 'no stream that "s:m:language:fre" matches'),
            ('v,sound', '"sound" is no stream specifier'),
            ('v,,a', '"" is no stream specifier'), ('-', '"" is no stream specifier'),
            ('a,s', 'no video to restore among them'), ('-v', 'no video to restore among them')):
        case(f'streams {chosen}', 'in.mkv', source, refused=sentence,
             arguments=['--streams', chosen])


def parts():
    """Chapters, tags, attachments, covers, second videos."""
    chapters = r"printf ';FFMETADATA1\ntitle=A film\nartist=Somebody\ncomment=Once\n[CHAPTER]\n" \
               r"TIMEBASE=1/1000\nSTART=0\nEND=200\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\n" \
               r"START=200\nEND=480\ntitle=Two\n' > in.txt"
    for output in ('.mp4', '.mkv'):
        case(f'chapters and tags to {output[1:]}', 'in.mkv',
             [chapters, f'{FFMPEG}{PICTURE} -i in.txt {FRAMES} {X264} -map_metadata 1 in.mkv'],
             output)
    case('a font', 'in.mkv',
         ['head -c 3000 /dev/zero > font.ttf',
          f'{FFMPEG}{PICTURE} {FRAMES} {X264} -attach font.ttf -metadata:s:t '
          'mimetype=application/x-truetype-font in.mkv'])
    for source in ('.mov', '.mxf'):
        for output in ('.mov', '.mp4', '.mkv'):
            case(f'time code of {source[1:]} to {output[1:]}', f'in{source}',
                 f'{PICTURE} {FRAMES} -c:v mpeg2video -timecode 01:02:03:04', output,
                 timecode='01:02:03:04', any_rest=True)
    # Text, by the name of what a camera tells of itself.
    camera = [TEXT, f'{FFMPEG}{PICTURE} -i in.srt {FRAMES} {X264} -c:s mov_text in.mp4',
              'sed -i "s/tx3g/gpmd/; s/sbtl/meta/" in.mp4']
    case('data to mp4', 'in.mp4', camera, '.mp4', data='gpmd')
    case('data to mkv', 'in.mp4', camera, '.mkv', warns=[
        'data stream 1 (bin_data) cannot be kept in .mkv: name the output .mp4'])
    case('a cover to mp4', 'in.mp4',
         [f'{FFMPEG}{PICTURE} -frames:v 1 cover.png',
          f'{FFMPEG}{PICTURE} -i cover.png {FRAMES} -map 0 -map 1 {X264} -c:v:1 png '
          '-disposition:v:1 attached_pic in.mp4'], '.mp4')
    for output in ('.mp4', '.mkv'):
        case(f'a second video with B-frames to {output[1:]}', 'in.mkv',
             f'{PICTURE} -f lavfi -i testsrc2=size=32x32:rate=25 -t 1 -map 0 -map 1 {X264} '
             '-preset medium -bf 2 -disposition:v:0 default -disposition:v:1 0', output,
             warns=['video stream 1 is kept as it is'])


# Encoders of sound, and which of FFmpeg's muxers take it besides Matroska's; MXF's is cut, and a
# case of its own.
SOUNDS = {
    'aac': 'mp4 mov ts', 'libmp3lame': 'mp4 mov ts', 'mp2': 'mp4 mov ts', 'ac3': 'mp4 mov ts',
    'eac3': 'mp4 mov ts', 'dca': 'mp4 mov ts', 'truehd': 'mp4', 'mlp': '', 'flac': 'mp4',
    'alac': 'mp4 mov', 'libopus': 'mp4 webm ts', 'libvorbis': 'mp4 webm', 'pcm_s16le': 'mov',
    'pcm_s24le': 'mov', 'pcm_f32le': 'mov', 'pcm_s16be': 'mov', 'pcm_alaw': 'mov', 'pcm_u8': 'mov',
    'wmav2': '', 'adpcm_ms': '', 'wavpack': '', 'tta': '', 'g722': '',
}

# Likewise videos that are only copied.
VIDEOS = {
    'mpeg2video': 'mp4 mov ts', 'mpeg4': 'mp4 mov', 'msmpeg4v3': 'mov', 'mjpeg': 'mp4 mov',
    'ffv1': '', 'prores_ks': 'mov', 'libx265 -x265-params log-level=none': 'mp4 mov ts',
    'libvpx': 'webm', 'libvpx-vp9': 'mp4 webm', 'huffyuv': '', 'libtheora': '', 'png': 'mp4 mov',
    'wmv2': '', 'svq1': 'mov', 'rawvideo': 'mov', 'libx264': 'mp4 mov ts',
}


def pairs():
    """All kinds of sound, of videos beside the restored one and of text at once, into each
    container: what one doesn't take is left out by name, and all else is there."""
    no_place = 'cannot be kept in .'

    def each(name, make, table, endings, copied):
        for ending in endings.split():
            lost = [i for i, takes in enumerate(table, 1)
                    if ending not in ('mkv', *takes.split())]
            # Those beyond sixteen are counted.
            warns = [no_place] * bool(lost) + copied + \
                ['warnings more'] * (len(lost if not copied else table) > 16)
            case(f'{name} to {ending}', 'in.mkv', make, f'.{ending}', left_out=lost, warns=warns,
                 arguments=['--codec', 'auto'], rewrapped=ending == 'ts',
                 ignore=['chroma_location'])

    tracks = ' '.join('-map 1' for _ in SOUNDS)
    codecs = ' '.join(f'-c:a:{i} {codec}' for i, codec in enumerate(SOUNDS))
    each('every sound', f'{PICTURE} {SOUND} -t 0.24 -map 0 {tracks} {X264} {codecs} -strict -2 '
         '-disposition:a 0',
         SOUNDS.values(), 'mp4 mov mkv webm ts', [])
    codecs = ' '.join(f'-map 0 -c:v:{i} {codec}' for i, codec in enumerate(VIDEOS, 1))
    each('every video', f'{PICTURE} -frames:v 3 -bf 0 -map 0 {X264} {codecs} '
         '-disposition:v:0 default', VIDEOS.values(), 'mp4 mov mkv webm ts', ['is kept as it is'])
    air = f'{FFMPEG}{PICTURE} {SOUND} -t 0.48 {X264} -c:a mp2 a.ts'
    written = f'python3 {os.path.join(HERE, "broadcast.py")} a.ts in.ts'
    case('teletext and subtitles to ts', 'in.ts', [air, written], '.ts', data='[6][0][0][0]',
         any_rest=True)
    case('teletext and subtitles to mkv', 'in.ts', [air, written], '.mkv', left_out=[2],
         warns=['(dvb_teletext) cannot be kept in .mkv: name the output .ts'])
    case('teletext and subtitles to mp4', 'in.ts', [air, written], '.mp4', left_out=[2, 3],
         warns=['(dvb_teletext) cannot be kept', '(dvb_subtitle) cannot be kept in .mp4: '
                'name the output .mkv'])
    texts = [TEXT, air, written,
             f'{FFMPEG}{PICTURE} -i in.srt -i in.srt -i in.srt -i in.ts {FRAMES} -map 0 -map 1 '
             f'-map 2 -map 3 -map 4:s:1 {X264} -c:s:0 srt -c:s:1 ass -c:s:2 webvtt -c:s:3 copy '
             'in.mkv']
    for ending, lost, warns in (('mkv', [], []), ('mov', [4], ['most of its styles']),
                                ('mp4', [4], ['most of its styles']),
                                ('webm', [4], ['most of its styles']), ('ts', [1, 2, 3], [])):
        case(f'every text to {ending}', 'in.mkv', texts, f'.{ending}', left_out=lost,
             arguments=['--codec', 'auto'], rewrapped=ending == 'ts', any_rest=ending == 'ts',
             warns=warns + ([no_place] if lost else []), ignore=['chroma_location'])
    captions = [TEXT, f'{FFMPEG}{PICTURE} -i in.srt {FRAMES} {X264} -c:s mov_text in.mp4',
                'sed -i "s/tx3g/c608/; s/sbtl/clcp/" in.mp4']
    case('a track of captions to mov', 'in.mp4', captions, '.mov')
    for ending in ('mp4', 'mkv', 'ts'):
        case(f'a track of captions to {ending}', 'in.mp4', captions, f'.{ending}', left_out=[1],
             rewrapped=ending == 'ts', warns=[
                 f'(eia_608) cannot be kept in .{ending}: name the output .mov'])
