# SPDX-License-Identifier: MIT
"""What a result must have of its input: every frame's and packet's time, streams, tags, colours.

Times are compared from the video's first frame on, because an offset that all streams share is no
change. What the two files' containers count in decides how exactly.
"""
import array
import fractions
import functools
import json
import os
import subprocess

import harness
import sei

PATIENCE_S = 240

# Of a stream, and what is the same where a container has no word for it.
COLOURS = {'color_range': 'tv', 'color_space': 'unknown', 'color_primaries': 'unknown',
           'color_transfer': 'unknown', 'chroma_location': 'unspecified'}


# What is said of HDR10, and the unit of each in which it is whole.
HDR = {f'{colour}_{axis}': 2e-5 for colour in ('red', 'green', 'blue', 'white_point')
       for axis in 'xy'}
HDR.update(min_luminance=1e-4, max_luminance=1e-4, max_content=1, max_average=1)

# What HDR becomes.
SDR = {'color_space': 'bt709', 'color_primaries': 'bt709', 'color_transfer': 'bt709',
       'color_range': 'tv'}

# Of side data, in ffprobe's words.
NAMES = {'hdr10plus': 'HDR10+'}


@functools.lru_cache(maxsize=64)
def ffprobe(*arguments):
    """What it says, which nobody changes, of a file that nothing changes either."""
    *options, path = arguments
    return json.loads(harness.said('ffprobe', ['-of', 'json', *options], path, check=False) or '{}')


def seconds(value):
    return None if value in (None, 'N/A') else float(value)


class Film:
    """What ffprobe says of a file, or of a part of it: from when to when, after its first frame."""

    def __init__(self, path, part=None, video=None):
        said = ffprobe('-show_streams', '-show_chapters', '-show_format', '-show_packets',
                       '-show_frames', '-show_data_hash', 'md5', path)
        self.path = path
        self.part = None
        self.streams = said.get('streams', [])
        self.chapters = said.get('chapters', [])
        self.tags = said.get('format', {}).get('tags', {})
        self.packets = {}
        for packet in said.get('packets_and_frames', []):
            if packet['type'] == 'packet':
                self.packets.setdefault(packet['stream_index'], []).append(packet)
        videos = [s for s in self.streams if s['codec_type'] == 'video' and
                  not s['disposition']['attached_pic']]
        self.video = max((s for s in videos if video in (None, s['index'])),
                         key=lambda s: (s['disposition']['default'], s['width'] * s['height']),
                         default=None)
        self.is_first = not videos or videos[0] is self.video
        # Of the video alone, and as they are decoded.
        self.decoded = [f for f in said.get('packets_and_frames', []) if f['type'] == 'frame' and
                        self.video and f['stream_index'] == self.video['index']]
        # Milliseconds.
        self.is_coarse = any(c in said.get('format', {}).get('format_name', '')
                             for c in ('matroska', 'flv', 'asf'))
        if part:
            self.take_part(*part)

    def take_part(self, begin, end):
        """Only what is shown with the frames from `begin` to before `end`."""
        times, first = self.frames()
        times = [t for t in times if t is not None]
        shown = [t for t in times if begin <= t - times[0] + 1e-6 < end]
        last = times.index(shown[-1])
        self.part = (shown[0] - 1e-6, times[last + 1] if last + 1 < len(times)
                     else shown[-1] + seconds(first.get('duration_time', '0.04')))
        for index, packets in self.packets.items():
            self.packets[index] = [p for p in packets if self.is_shown(
                p.get('pts_time', p.get('dts_time')))]
        self.chapters = [c for c in self.chapters if seconds(c['end_time']) > self.part[0] and
                         seconds(c['start_time']) < self.part[1]]

    def is_shown(self, time):
        time = seconds(time)
        return time is not None and self.part[0] <= time < self.part[1] - 1e-6

    def frames(self):
        """Times of the video's frames as they are decoded, and the first frame."""
        times = [seconds(f.get('best_effort_timestamp_time', f.get('pts_time')))
                 for f in self.decoded]
        if self.part:
            times = [t for t in times if self.is_shown(t)]
        return times, self.decoded[0] if self.decoded else {}

    def start(self):
        """The video's first presentation time."""
        if self.part:
            return self.frames()[0][0]
        times = [seconds(p.get('pts_time')) for p in self.packets[self.video['index']]]
        return min([t for t in times if t is not None] or self.frames()[0])

    def times(self, stream):
        """Presentation times of a stream's packets, from the video's first frame on."""
        start = self.start()
        # MP4 ends a text by an empty one.
        times = [seconds(p.get('pts_time', p.get('dts_time'))) for p in
                 self.packets.get(stream['index'], [])
                 if stream['codec_name'] != 'mov_text' or int(p['size']) > 2]
        return [t - start for t in times if t is not None]


def kept_streams(film, left_out):
    """Streams beside the video that the result should have, in their order."""
    return [s for s in film.streams if s is not film.video and s['index'] not in left_out and
            s['codec_type'] in ('video', 'audio', 'subtitle')]


def judge_times(name, wanted, found, slack_s):
    """Complaints about two lists of times."""
    if len(wanted) != len(found):
        return [f'{name}: {len(found)} times, not {len(wanted)}']
    for i, (a, b) in enumerate(zip(wanted, found)):
        if abs(a - b) > slack_s:
            return [f'{name}: time {i} is {b:.6f} s, not {a:.6f} s']
    return []


def hdr(film):
    """What container and first frame say of the mastering display and the content's light, in
    HEVC's units, and whether both say the same."""
    found = {}
    for said in (film.frames()[1], film.video):
        for data in said.get('side_data_list', []):
            for key, value in data.items():
                if key in HDR:
                    number = round(float(fractions.Fraction(value)) / HDR[key])
                    found.setdefault(key, set()).add(number)
    return {key: sorted(numbers) for key, numbers in found.items()}


def judge_hdr(before, after, given):
    """`sdr`: the result has none; `hdr_less`: what of it is missing; `hdr_coarse`."""
    was = {} if given.get('sdr') else hdr(before)
    was = {key: value for key, value in was.items() if key not in given.get('hdr_less', ())}
    now = hdr(after)
    # AV1 has binary fractions.
    slack = 1 if given.get('hdr_coarse') else 0
    same = was.keys() == now.keys() and all(
        abs(a - b) <= slack for key in was for a in was[key] for b in now[key])
    return [] if same else [f'HDR: {now}, not {was}']


def carried(film, kind):
    """What frames carry of a kind: captions as they are decoded, the rest in ffprobe's words; of
    what FFmpeg doesn't read the number of the message (see sei.py) that stands in the bytes."""
    if hasattr(sei, kind) and film.video['codec_name'] == 'av1':
        packets = ffprobe('-select_streams', str(film.video['index']), '-show_packets',
                          '-show_data', film.path)['packets']
        data = [bytes.fromhex(''.join(line[10:49] for line in p['data'].splitlines()))
                for p in sorted(packets, key=lambda p: p['pts'])]
        return [[n for n in range(26) if getattr(sei, kind)(n) in d] for d in data]
    if kind == 'captions':
        done = subprocess.run(['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i',
                               f'movie={film.path}[out+subcc]', '-map', '0:s', '-c', 'copy', '-f',
                               'framemd5', '-'], capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        return [line.split(',')[-1].strip() for line in done.stdout.splitlines()
                if not line.startswith('#')]
    return [[d for d in f.get('side_data_list', []) if NAMES[kind] in d.get('side_data_type', '')]
            for f in film.decoded]


def judge_carried(before, after, given):
    """`carries`: what each frame has, and of a part of frames the result's."""
    found = []
    for kind in given.get('carries', ()):
        was, now = carried(before, kind), carried(after, kind)
        if now and isinstance(now[0], list) and now[0] and isinstance(now[0][0], int):
            was = [[n] for n in range(len(was))]
        if 'part' in given:
            rate = before.video['avg_frame_rate']
            first, last = (round(t * float(fractions.Fraction(rate))) for t in given['part'])
            was = was[first:last]
        if not was or not was[0] or was != now:
            found.append(f'{kind}: {now[:3]} and so on, {len(now)}, not {was[:3]}, {len(was)}')
    return found


def judge_picture(before, after, given):
    """Size's shape, colours and field order."""
    found = []
    was, now = {**before.video, **(SDR if 'sdr' in given else {})}, after.video
    shape = given.get('aspect', was.get('sample_aspect_ratio', '1:1'))
    if (now.get('sample_aspect_ratio', '1:1') or '1:1') != shape and shape not in ('0:1', '1:1'):
        found.append(f'pixels of {now.get("sample_aspect_ratio")}, not {shape}')
    for key, plain in COLOURS.items():
        if key in given.get('ignore', ()):
            continue
        if was.get(key, plain) not in (now.get(key, plain), plain):
            found.append(f'{key}: {now.get(key)}, not {was.get(key)}')
    if now.get('field_order', 'progressive') not in ('progressive', 'unknown'):
        found.append(f'fields: {now["field_order"]}')
    turned = [[d.get('rotation') for d in s.get('side_data_list', []) if 'rotation' in d]
              for s in (was, now)]
    if turned[0] != turned[1]:
        found.append(f'turned by {turned[1]}, not {turned[0]}')
    return found + judge_hdr(before, after, given) + judge_carried(before, after, given)


def judge_stream(was, now, before, after, given):
    """A stream that was copied, or text that was converted."""
    name = f'{was["codec_type"]} {was["index"]}'
    slack_s = 0.00101 if before.is_coarse or after.is_coarse else 0.0006
    found = []
    if was['codec_type'] != now['codec_type']:
        return [f'{name} is {now["codec_type"]} now']
    # MP4 has one name for both layers.
    names = [s['codec_name'].replace('mp2', 'mp3') for s in (was, now)]
    if names[0] != names[1] and was['codec_type'] != 'subtitle':
        found.append(f'{name} is {now["codec_name"]}, not {was["codec_name"]}')
    wanted = given['text'] if 'text' in given else before.times(was)
    # MXF has sound by the frames, and knows no default.
    is_cut = 'cut' in given and was['codec_type'] == 'audio'
    if is_cut:
        wanted = before.times(before.video)
    found += judge_times(name, wanted, after.times(now), slack_s)
    for key in ('language', 'title'):
        value = was.get('tags', {}).get(key)
        said = [now.get('tags', {}).get(k) for k in (key, 'handler_name')]
        if value not in (None, 'und', *said):
            found.append(f'{name}: {key} {said[0]}, not {value}')
    for key in ('default', 'forced', 'hearing_impaired'):
        # The restored video is the default one, whatever the others were.
        is_another = (key == 'default' and is_cut) or (
            (key, was['codec_type']) == ('default', 'video') and 'restored' in given)
        if was['disposition'].get(key) and not now['disposition'].get(key) and not is_another:
            found.append(f'{name}: {key} no more')
    if was['codec_type'] == 'audio' and not given.get('rewrapped'):
        hashes = [[p.get('data_hash') for p in f.packets.get(s['index'], [])]
                  for f, s in ((before, was), (after, now))]
        if hashes[0] != hashes[1]:
            found.append(f'{name}: other bytes')
    return found


# Where the alpha of a pixel format is: how many samples of a frame's come before its plane, by
# pixel, of how many it is one there, and which; how they are stored, and the largest.
ALPHAS = {
    'yuva420p': (1.5, 1, 0, 'B', 255),
    'yuva422p10le': (2, 1, 0, 'H', 1023), 'yuva444p12le': (3, 1, 0, 'H', 4095),
    'yuva444p16le': (3, 1, 0, 'H', 65535), 'gbrap10le': (3, 1, 0, 'H', 1023),
    'bgra': (0, 4, 3, 'B', 255), 'argb': (0, 4, 0, 'B', 255), 'rgba': (0, 4, 3, 'B', 255),
    'ya8': (0, 2, 1, 'B', 255),
}


def alphas(path, pixels, width, height, decoder=None, filters='null'):
    """Of a film all values of its frames' alpha, one frame after the other."""
    before, step, place, code, _ = ALPHAS[pixels]
    values = array.array(code, harness.said(
        'ffmpeg', ['-c:v', decoder] if decoder else [], path,
        ['-map', '0:V:0', '-vf', filters, '-fps_mode', 'passthrough', '-f', 'rawvideo', '-pix_fmt',
         pixels, '-']))
    found, first, n = array.array(code), int(width * height * before), width * height * step
    for i in range(0, len(values), first + n):
        found += values[i + first:i + first + n][place::step]
    return found


def enlarged(values, code, largest, width, height):
    """Twice as wide and high, by the ffmpeg program's bicubic scaling."""
    gray = {255: 'gray', 1023: 'gray10le', 4095: 'gray12le', 65535: 'gray16le'}[largest]
    done = subprocess.run(['ffmpeg', '-v', 'error', '-f', 'rawvideo', '-s', f'{width}x{height}',
                           '-pix_fmt', gray, '-i', '-', '-vf',
                           f'scale={2 * width}:{2 * height}:flags=bicubic+accurate_rnd+bitexact',
                           '-f', 'rawvideo', '-pix_fmt', gray, '-'], input=values.tobytes(),
                          capture_output=True, check=True, timeout=PATIENCE_S)
    return array.array(code, done.stdout)


def judge_alpha(source, result, width, height, given):
    """The result's transparency against the input's, enlarged by somebody else. `given`: the pixel
    formats of both, decoders, and by how much of the whole values may be off."""
    code, largest = ALPHAS[given['of']][3:]
    wanted = alphas(source, given['of'], width, height, given.get('decoder'),
                    given.get('filter', 'null'))
    frame = width * height
    wanted = wanted[given.get('first', 0) * frame:][:given.get('n', 12) * frame]
    wanted = enlarged(wanted, code, largest, width, height)
    if min(wanted) > largest // 8 or max(wanted) < largest - largest // 8:
        return ['there is hardly any transparency to be kept']
    found = alphas(result, given['to'], 2 * width, 2 * height, given.get('result_decoder'))
    if len(found) != len(wanted):
        return [f'alpha of {len(found)} pixels, not {len(wanted)}']
    out = ALPHAS[given['to']][4]
    off = [abs((a * out + largest // 2) // largest - b) for a, b in zip(wanted, found)]
    slack = given.get('slack', 0) * out
    return [] if max(off) <= slack else [f'alpha is off by {max(off)} of {out}']


def judge_data(before, after, given):
    """The time code at which the film begins, and what streams of data of one kind hold."""
    found = []
    if 'timecode' in given and given['timecode'] not in str([after.tags, after.streams]):
        found.append(f'no time code {given["timecode"]}')
    hashes = [[p.get('data_hash') for s in film.streams for p in film.packets.get(s['index'], [])
               if s['codec_tag_string'] == given.get('data')] for film in (before, after)]
    if hashes[0] != hashes[1] or ('data' in given and not hashes[0]):
        found.append(f'{len(hashes[1])} packets of {given["data"]}, not {len(hashes[0])}')
    return found


def judge_length(film, given):
    """Sound that goes on as long as it should, beside the video, without a hole."""
    found = []
    for stream in film.streams:
        if stream['codec_type'] != 'audio' or 'sound_s' not in given:
            continue
        times = film.times(stream)
        steps = [b - a for a, b in zip(times, times[1:])]
        if abs(times[-1] - given['sound_s']) > 0.15 or abs(times[0]) > 0.1:
            found.append(f'sound from {times[0]:.3f} to {times[-1]:.3f} s')
        if max(steps) > 0.1 or min(steps) <= 0:
            found.append(f'sound in steps of {min(steps):.6f} to {max(steps):.6f} s')
    return found


def judge_size(result, given):
    wanted, share = given.get('bytes', (os.path.getsize(result), 0))
    size = os.path.getsize(result)
    return [] if abs(size / wanted - 1) <= share else [f'{size} bytes, not {wanted}']


def judge(source, result, given):
    """Compares the files. `given` says what isn't as usual: `frames`: the times that the result
    has, and `sound_s`: how long its sound is, and nothing else is compared; `any_rest`: nothing is;
    `left_out`: indices of streams; `aspect`; `rewrapped`; `ignore`: colours; `text`: times of its
    lines; `bytes`: of the result, and by which share they may be off; `loose`: seconds by which
    frames may be off; `part`: of what part of the input the result is; `codec` of the result;
    `restored`: the stream's index; `alpha`: see judge_alpha(); `timecode`,
    `data`: see judge_data(). Return: complaints."""
    before, after = Film(source, given.get('part'), given.get('restored')), Film(result)
    if not after.video:
        return ['there is no video in the result']
    if not after.is_first:
        return ['the restored video is not the first and the default one']
    if 'alpha' in given:
        found = judge_alpha(source, result, before.video['width'], before.video['height'],
                            given['alpha'])
        if found:
            return found
    found = judge_data(before, after, given)
    if found or given.get('any_rest'):
        return found
    times = [[t - (f[0] or 0) for t in f if t is not None]
             for f in (film.frames()[0] for film in (before, after))]
    slack_s = given.get('loose', 0.00101 if before.is_coarse or after.is_coarse else 0.0006)
    found = [] if given.get('codec') in (None, after.video['codec_name']) else \
        [f'{after.video["codec_name"]}, not {given["codec"]}']
    found += judge_size(result, given)
    found += judge_times('frames', given.get('frames', times[0]), times[1], slack_s)
    if 'frames' in given:
        return found + judge_length(after, given)
    found += judge_picture(before, after, given)
    wanted, kept = kept_streams(before, given.get('left_out', ())), kept_streams(after, ())
    if len(wanted) != len(kept):
        return found + [f'{len(kept)} other streams, not {len(wanted)}']
    for was, now in zip(wanted, kept):
        found += judge_stream(was, now, before, after, given)
    if len(before.chapters) != len(after.chapters):
        found.append(f'{len(after.chapters)} chapters, not {len(before.chapters)}')
    for key in ('title', 'artist', 'comment'):
        if before.tags.get(key) not in (None, after.tags.get(key)):
            found.append(f'tag {key}: {after.tags.get(key)}, not {before.tags[key]}')
    return found
