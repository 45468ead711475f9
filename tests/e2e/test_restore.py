#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A video goes in, the restored one comes out: sizes, formats, times, and everything beside."""
import array
import fractions
import json
import math
import os
import random
import sys

import checkpoints
import harness
from harness import clip, digest, ffmpeg, pixels, probe, timestamps, video_stream

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'unit', 'model'))
import graph_files  # noqa: E402  pylint: disable=wrong-import-position


def bicubic(plane, width, height, times):
    """Of Keys (1981), a = -1/2, the edge repeated: rows of numbers, one after the other."""
    def weight(x):
        x = abs(x)
        return 1.5 * x ** 3 - 2.5 * x * x + 1 if x < 1 else \
            -0.5 * x ** 3 + 2.5 * x * x - 4 * x + 2 if x < 2 else 0

    def taps(n):
        places = [(i + 0.5) / times - 0.5 for i in range(n * times)]
        return [[(min(max(math.floor(at) + k, 0), n - 1), weight(at - math.floor(at) - k))
                 for k in range(-1, 3)] for at in places]

    columns = taps(width)
    return [sum(wy * wx * plane[y * width + x] for y, wy in rows for x, wx in column)
            for rows in taps(height) for column in columns]


class Restore(harness.Case):
    config = {'cpu': {'devices': 2, 'threads': 1}}

    def test_main_job(self):
        source = clip(self.path('a.mp4'), frames=20, audio=True)
        target = self.path('a.out.mp4')
        job = self.restore(source, target)
        self.assertEqual(job['state'], 'done')
        self.assertEqual(job['frames_total'], 20)
        self.assertEqual(job['frames_done'], 20)
        stream = video_stream(target)
        self.assertEqual((stream['width'], stream['height']), (128, 96))
        self.assertEqual(int(stream['nb_read_frames']), 20)
        self.assertEqual(timestamps(target), timestamps(source))
        kinds = [s['codec_type'] for s in probe(target)['streams']]
        self.assertEqual(sorted(kinds), ['audio', 'video'])
        self.assertEqual(sum(d['frames_done'] for d in job['devices']), 20)

    def test_restored_picture_resembles_the_input(self):
        """x2 then reduced by 2 gives the input again, nearly: no shift, no wrong colours."""
        source = clip(self.path('like.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv444p', frames=3)
        target, small = self.path('like.out.mkv'), self.path('like.small.mkv')
        self.restore(source, target, '--codec', 'ffv1')
        ffmpeg('-i', target, '-vf', 'scale=64:48:flags=area', '-c:v', 'ffv1', '-pix_fmt', 'yuv444p',
               small)
        a, b = pixels(source, 'yuv444p'), pixels(small, 'yuv444p')
        self.assertEqual(len(a), len(b))
        mean = sum(abs(x - y) for x, y in zip(a, b)) / len(a)
        self.assertLess(mean, 4)

    def test_formats_keep_depth_and_chroma(self):
        for pixel_format, codec in [('yuv420p', 'h264'), ('yuv422p', 'h264'), ('yuv444p', 'h264'),
                                    ('yuv420p10le', 'hevc'), ('yuv422p10le', 'ffv1'),
                                    ('gray', 'ffv1'), ('gbrp10le', 'ffv1'),
                                    ('yuv444p12le', 'ffv1')]:
            with self.subTest(pixel_format=pixel_format, codec=codec):
                source = clip(self.path(f'{pixel_format}.mkv'), '-c:v', 'ffv1', '-pix_fmt',
                              pixel_format, frames=3)
                target = self.path(f'{pixel_format}.out.mkv')
                self.restore(source, target, '--codec', codec)
                stream = video_stream(target)
                self.assertEqual(stream['codec_name'], codec)
                self.assertEqual(stream['pix_fmt'], pixel_format)
                self.assertEqual(int(stream['nb_read_frames']), 3)

    def test_what_is_told_of_the_input(self):
        source = clip(self.path('told.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv422p10le', frames=3)
        job = self.restore(source, self.path('told.out.mkv'), '--codec', 'h264')
        self.assertEqual(job['video']['codec'], 'ffv1')
        self.assertEqual(job['video']['pixel_format'], 'yuv422p10le')
        shown = self.vrtctl('show', job['id']).stdout
        self.assertIn('ffv1 yuv422p10le', shown)
        self.assertIn('not tiled', shown)
        job = self.restore(source, self.path('told.out.mkv'), '--overwrite', '--tile', 40)
        self.assertRegex(self.vrtctl('show', job['id']).stdout, r'tiles of \d+x\d+ overlapping by')

    def test_colors_that_the_container_cannot_tell(self):
        source = clip(self.path('full.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv420p', '-color_range',
                      'pc', frames=2)
        done = self.vrtctl('submit', '--codec', 'ffv1', '--output', self.path('full.mov'), source,
                           status=1)
        self.assertIn('name the output .mkv', done.stderr)
        for name, codec in [('full.mov', 'h264'), ('full.out.mkv', 'ffv1')]:
            self.restore(source, self.path(name), '--codec', codec)
            self.assertEqual(video_stream(self.path(name))['color_range'], 'pc')

    def test_network_that_blackens(self):
        """Every device says so, and it goes on: also with those shards that came back as such
        after the first."""
        source = clip(self.path('black.mkv'), frames=48)
        tensors = dict(checkpoints.rrdbnet(2, 16, 8),
                       **{'conv_last.bias': checkpoints.zeros([3])})
        model = checkpoints.write_safetensors(self.path('black.safetensors'), tensors)
        job = self.restore(source, self.path('black.out.mkv'), '--model', model)
        self.assertEqual(job['frames_done'], 48)
        self.assertTrue(any('blackens' in w for w in job['warnings']), job['warnings'])

    def test_network_that_changes_nothing(self):
        """Of every level that a sample can have none is lost on the way to a network and back, in
        SDR, PQ and HLG; but in chroma of fewer samples, which was interpolated and reduced."""
        model = checkpoints.write_safetensors(self.path('identity.safetensors'),
                                              checkpoints.identity())
        side, raw = 48, self.path('levels.raw')
        for depth, layout, matrix, transfer, colour_range in (
                (8, 'yuv420p', 'bt709', 'bt709', 'tv'), (8, 'yuv444p', 'bt709', 'bt709', 'tv'),
                (8, 'yuv444p', 'smpte170m', 'smpte170m', 'pc'),
                (10, 'yuv420p10le', 'bt2020nc', 'smpte2084', 'tv'),
                (10, 'yuv444p10le', 'bt2020nc', 'smpte2084', 'tv'),
                (10, 'yuv420p10le', 'bt2020nc', 'arib-std-b67', 'tv'),
                (10, 'yuv444p10le', 'bt2020nc', 'arib-std-b67', 'tv'),
                (10, 'yuv444p10le', 'bt2020nc', 'smpte2084', 'pc'),
                (10, 'yuv420p10le', 'bt709', 'bt709', 'tv'),
                (12, 'yuv444p12le', 'bt2020nc', 'smpte2084', 'tv'),
                (16, 'yuv444p16le', 'bt709', 'bt709', 'pc')):
            with self.subTest(layout=layout, matrix=matrix, transfer=transfer):
                is_whole = '444' in layout
                n_luma, n = side * side, side * side * (3 if is_whole else 1.5)
                draw = random.Random(depth)
                levels = array.array('B' if depth == 8 else 'H',
                                     (draw.randrange(1 << depth) for _ in range(int(n) * 2)))
                with open(raw, 'wb') as f:
                    levels.tofile(f)
                colours = ('-colorspace', matrix, '-color_trc', transfer, '-color_range',
                           colour_range, '-color_primaries', 'bt709' if depth == 8 else 'bt2020')
                ffmpeg('-f', 'rawvideo', '-pix_fmt', layout, '-s', f'{side}x{side}', '-i',
                               raw, '-c:v', 'ffv1', *colours, self.path('levels.mkv'))
                self.restore(self.path('levels.mkv'), self.path('same.mkv'), '--overwrite',
                             '--model', model, '--precision', 'f32', '--codec', 'ffv1')
                same = array.array(levels.typecode)
                same.frombytes(pixels(self.path('same.mkv'), layout))
                self.assertEqual(len(same), len(levels))
                for at in 0, int(n):
                    end = at + (int(n) if is_whole else n_luma)
                    self.assertEqual(same[at:end], levels[at:end])
                after = video_stream(self.path('same.mkv'))
                for key, value in (('color_space', matrix), ('color_transfer', transfer),
                                   ('color_range', colour_range)):
                    self.assertEqual(after[key], value)

    def test_odd_sizes(self):
        for size in ['65x47', '9x7', '2x300', '17x16']:
            with self.subTest(size=size):
                source = clip(self.path(f'odd{size}.mkv'), '-vf', f'scale={size}', '-c:v', 'ffv1',
                              '-pix_fmt', 'yuv420p', frames=2)
                target = self.path(f'odd{size}.out.mkv')
                self.restore(source, target, '--codec', 'ffv1')
                width, height = map(int, size.split('x'))
                stream = video_stream(target)
                self.assertEqual((stream['width'], stream['height']), (2 * width, 2 * height))

    def test_variable_frame_rate(self):
        source = self.path('vfr.mkv')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=30', '-vf',
               "select='not(mod(n,3))+not(mod(n,4))'", '-fps_mode', 'vfr', '-frames:v', 12,
               '-c:v', 'libx264', source)
        for name in ['vfr.out.mkv', 'vfr.out.mp4']:
            job = self.restore(source, self.path(name))
            self.assertEqual(job['frames_done'], 12)
            for a, b in zip(timestamps(source), timestamps(self.path(name))):
                self.assertAlmostEqual(a, b, delta=0.0006)

    def test_last_frame_that_stays(self):
        """As the last picture of an animation does: few containers have a place for how long."""
        source = clip(self.path('stays.gif'), '-final_delay', '300', frames=6)
        for name, codec in [('stays.mkv', 'h264'), ('stays.mp4', 'h264'), ('stays.mov', 'hevc'),
                            ('stays.hevc.mkv', 'hevc'), ('stays.ffv1.mkv', 'ffv1')]:
            with self.subTest(name=name):
                target = self.path(name)
                job = self.restore(source, target, '--codec', codec)
                self.assertEqual(job['state'], 'done')
                self.assertEqual(len(timestamps(target)), 6)
                # Of MP4 what its samples add up to, in the order in which they are decoded: the
                # last of these need not be the last frame. Matroska tells of the file alone.
                length = video_stream(target).get('duration', probe(target)['format']['duration'])
                self.assertGreater(float(length), 3)

    def test_everything_beside_the_picture(self):
        source = self.path('rich.mkv')
        notes, text = self.path('notes.txt'), self.path('s.srt')
        with open(text, 'w', encoding='utf-8') as f:
            f.write('1\n00:00:00,000 --> 00:00:00,300\nHello\n')
        with open(notes, 'w', encoding='utf-8') as f:
            f.write(';FFMETADATA1\ntitle=A clip\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=200\n'
                    'title=One\n')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=25', '-f', 'lavfi', '-i',
               'sine=sample_rate=48000', '-i', text, '-i', notes, '-map', 0, '-map', 1, '-map', 2,
               '-map_metadata', 3, '-map_chapters', 3, '-t', 0.4, '-attach', notes,
               '-metadata:s:t', 'mimetype=text/plain', '-metadata:s:a:0', 'language=fin',
               '-c:v', 'libx264', '-c:a', 'flac', '-c:s', 'srt', source)
        target = self.path('rich.out.mkv')
        self.restore(source, target)
        before, after = probe(source), probe(target)
        self.assertEqual(sorted(s['codec_name'] if s['codec_type'] != 'attachment' else 'file'
                                for s in after['streams'] if s['codec_type'] != 'video'),
                         sorted(s['codec_name'] if s['codec_type'] != 'attachment' else 'file'
                                for s in before['streams'] if s['codec_type'] != 'video'))
        self.assertEqual(after['format']['tags']['title'], 'A clip')
        self.assertEqual([c['tags']['title'] for c in after['chapters']], ['One'])
        audio = next(s for s in after['streams'] if s['codec_type'] == 'audio')
        self.assertEqual(audio['tags']['language'], 'fin')
        self.assertEqual(timestamps(target, 'a:0'), timestamps(source, 'a:0'))

    def test_containers(self):
        source = clip(self.path('c.mp4'), audio=True)
        for container in ['mp4', 'mov', 'mkv']:
            with self.subTest(container=container):
                target = self.path(f'c.out.{container}')
                self.restore(source, target)
                self.assertIn(container.replace('mkv', 'matroska'),
                              probe(target)['format']['format_name'])

    def test_sound_of_mxf(self):
        """As many samples as are heard with each frame, the first with the first: as they were,
        silence where there are none, and no more of them than the video has time for."""
        source, target = self.path('sound.mov'), self.path('sound.mxf')
        for rate, begins_s, lasts_s in (('30000/1001', 0, 0.4), ('25', 0.1, 0.2), ('25', 0, 2),
                                        ('24000/1001', 0, 0.5005), ('60000/1001', -0.1, 0.3)):
            with self.subTest(rate=rate, begins_s=begins_s, lasts_s=lasts_s):
                tones = [f'aevalsrc={tone}:s=48000:d={lasts_s}' for tone in
                         ("sin(2000*t)|cos(3000*t)", "sin(500*t)")]
                # Sound first, which MXF has behind the video.
                ffmpeg('-itsoffset', begins_s, '-f', 'lavfi', '-i', tones[0], '-f', 'lavfi', '-i',
                       f'testsrc2=size=64x48:rate={rate},trim=end_frame=12', '-itsoffset',
                       begins_s, '-f', 'lavfi', '-i', tones[1], '-map', 0, '-map', 1, '-map', 2,
                       '-c:v', 'prores_ks', '-c:a:0', 'pcm_s16le', '-c:a:1', 'pcm_s24be', source)
                job = self.restore(source, target, '--codec', 'prores', '--overwrite')
                n = round(12 * 48000 / fractions.Fraction(rate))
                first = round(begins_s * 48000)
                for i, (coding, size) in enumerate((('s16le', 4), ('s24le', 3))):
                    was, now = (harness.said('ffmpeg', [], path, ['-map', f'0:a:{i}', '-f', coding,
                                                                  '-'])
                                for path in (source, target))
                    # What is before the film QuickTime has no place for either.
                    wanted = (bytes(max(first, 0) * size) + was)[:n * size]
                    self.assertEqual(now, wanted + bytes(n * size - len(wanted)))
                self.assertEqual(harness.video_stream(target)['nb_read_frames'], '12')
                is_told = begins_s > 0 or abs(lasts_s - n / 48000) > 0.11
                self.assertEqual(bool(self.own_warnings(job)), is_told, job['warnings'])
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48:duration=0.4', '-f', 'lavfi', '-i',
               'sine=sample_rate=44100:duration=0.4', '-c:v', 'prores_ks', '-c:a', 'pcm_s16le',
               source)
        job = self.restore(source, target, '--codec', 'prores', '--overwrite')
        self.assertIn('audio stream 1 (pcm_s16le) cannot be kept in .mxf',
                      self.own_warnings(job)[0])

    def test_same_file_twice(self):
        source = clip(self.path('twice.mp4'), frames=9, audio=True)
        for container in ['mp4', 'mkv']:
            first, second = self.path(f't1.{container}'), self.path(f't2.{container}')
            self.restore(source, first)
            self.restore(source, second)
            self.assertEqual(digest(first), digest(second))

    def test_parts_as_one_file(self):
        """Parts of a film are joined by ffmpeg as vrtctl(1) says, without another encoding."""
        source = self.path('film.mkv')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=25:duration=3', '-f', 'lavfi', '-i',
               'sine=sample_rate=48000:duration=3', '-threads', 1, '-c:a', 'aac', source)
        parts = [self.path('1.mkv'), self.path('2.mkv')]
        self.restore(source, parts[0], '--start', '0.4', '--duration', '0.8')
        self.restore(source, parts[1], '--start', '1.6', '--duration', '1')
        with open(self.path('parts.txt'), 'w', encoding='utf-8') as f:
            f.write("file '1.mkv'\nfile '2.mkv'\n")
        kept = self.path('kept.mkv')
        ffmpeg('-f', 'concat', '-i', self.path('parts.txt'), '-map', '0', '-c', 'copy', kept)
        self.assertEqual(pixels(kept), pixels(parts[0]) + pixels(parts[1]))
        times = timestamps(kept)
        self.assertEqual((len(times), times[:20]), (45, timestamps(parts[0])))
        gap = times[20] - times[19]
        self.assertTrue(0.039 <= gap <= 0.04 + 0.03, gap)
        # Sound begins with the picture in the part that follows, as it does by itself.
        sound, alone = timestamps(kept, 'a:0'), timestamps(parts[1], 'a:0')
        self.assertAlmostEqual(sound[-len(alone)] - times[20],
                               alone[0] - timestamps(parts[1])[0], delta=0.002)

    def test_tiles_change_nothing(self):
        """The default network's radius is below 64: tiled equals untiled within rounding."""
        source = clip(self.path('tile.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv444p', size='150x90',
                      frames=2, source='mandelbrot')
        whole, tiled = self.path('whole.mkv'), self.path('tiled.mkv')
        self.restore(source, whole, '--codec', 'ffv1')
        job = self.restore(source, tiled, '--codec', 'ffv1', '--tile', '64')
        self.assertLess(job['recipe']['tile_width'], 150)
        a, b = pixels(whole, 'yuv444p'), pixels(tiled, 'yuv444p')
        self.assertEqual(len(a), len(b))
        self.assertLessEqual(max(abs(x - y) for x, y in zip(a, b)), 1)

    def test_strength(self):
        """All of it is the same bytes as without a word, none of it a plain bicubic picture, and
        between the two it is as many parts of each."""
        source = clip(self.path('s.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv444p', frames=2,
                      source='mandelbrot')
        found = {}
        for strength in (None, 1, 0.5, 0):
            target = self.path(f's{strength}.mkv')
            options = [] if strength is None else ['--strength', strength]
            job = self.restore(source, target, '--codec', 'ffv1', '--precision', 'f32', *options)
            self.assertEqual(job['recipe']['strength'], 1 if strength is None else strength)
            found[strength] = pixels(target, 'yuv444p')
        self.assertEqual(found[1], found[None])
        self.assertLessEqual(max(abs(2 * x - y - z) for x, y, z in
                                 zip(found[0.5], found[0], found[1])), 3)
        far = [abs(x - y) for x, y in zip(found[0], bicubic(pixels(source, 'yuv444p'), 64, 48, 2))]
        self.assertLessEqual(max(far), 0.51)
        self.refused('submit', '--strength', '1.5', source, says='from 0 to 1', status=2)

    def test_denoise(self):
        """Between two networks of the folder, as the one whose weights are so."""
        daemons = [self.daemon, self.undisturbed] if harness.FAULT else [self.daemon]
        folders = [os.path.join(daemon.folder, 'state', 'models') for daemon in daemons]
        nets = [graph_files.compact(scale=4) for _ in range(3)]
        for name, (shape, values) in nets[0].names.items():
            other = [-value / 2 for value in values]
            nets[1].names[name] = (shape, other)
            nets[2].names[name] = (shape, [0.25 * x + 0.75 * y for x, y in zip(values, other)])
        with open(self.path('between.safetensors'), 'wb') as f:
            f.write(graph_files.safetensors(nets[2]))
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            for net, name in zip(nets, ('general', 'general-wdn')):
                with open(os.path.join(folder, f'realesr-{name}-x4v3.safetensors'), 'wb') as f:
                    f.write(graph_files.safetensors(net))
        source = clip(self.path('d.mkv'), frames=2)
        found = {}
        for name, options in (('file', ['-m', self.path('between.safetensors')]),
                              ('between', ['-m', 'realesr-general-x4v3', '--denoise', 0.25]),
                              ('alone', ['-m', 'realesr-general-x4v3']),
                              ('all', ['-m', 'realesr-general-x4v3.safetensors', '--denoise', 1])):
            job = self.restore(source, self.path(f'd.{name}.mkv'), '--codec', 'ffv1', *options)
            with open(self.path(f'd.{name}.mkv'), 'rb') as f:
                found[name] = f.read(), job['model']['checksum'], job['recipe']['denoise']
        self.assertEqual(found['file'], (*found['between'][:2], None))
        self.assertEqual(found['alone'], (*found['all'][:2], None))
        self.assertNotEqual(found['alone'][0], found['between'][0])
        self.assertEqual((found['between'][2], found['all'][2]), (0.25, 1))
        for model, says in (('compact-x2', 'compact-x2 needs compact-wdn-x2 beside it'),
                            (self.path('between.safetensors'), 'by name, not by path'),
                            ('realesr-general-wdn-x4v3', 'no network that another one keeps')):
            self.refused('submit', '--dry-run', '-m', model, '--denoise', 0.5, source, says=says)
        self.refused('submit', '--denoise', '1.5', source, says='from 0 to 1', status=2)

    def test_sizes(self):
        """By libswscale's Lanczos filter, bit by bit as the ffmpeg program does it."""
        for pixel_format, place in [('yuv420p', 0), ('yuv422p10le', 0), ('gbrp10le', None)]:
            source = clip(self.path('s.mkv'), '-c:v', 'ffv1', '-pix_fmt', pixel_format, frames=2)
            whole, target, wanted, taken = (self.path(f'{n}.mkv') for n in
                                            ('network', 'target', 'wanted', 'taken'))
            self.restore(source, whole, '--codec', 'ffv1', '--overwrite')
            job = self.restore(source, target, '--codec', 'ffv1', '--scale', '1.5', '--overwrite')
            self.assertEqual((job['video']['output_width'], job['video']['output_height'],
                              job['recipe']['scale']), (96, 72, '1.5'))
            scale = 'scale=96:72:flags=lanczos+accurate_rnd+bitexact'
            if place is not None:
                scale += f':in_h_chr_pos={place}:out_h_chr_pos={place}'
            self.assertEqual(video_stream(target)['pix_fmt'], pixel_format)
            for plane in ('null',) if place is not None else ('extractplanes=g', 'extractplanes=r'):
                shown = pixel_format if place is not None else 'gray10le'
                ffmpeg('-i', whole, '-vf', f'{plane},{scale}', '-c:v', 'ffv1', wanted)
                ffmpeg('-i', target, '-vf', plane, '-c:v', 'ffv1', taken)
                self.assertEqual(pixels(taken, shown), pixels(wanted, shown))
        job = self.restore(source, self.path('s.mp4'), '--scale', '100x100')
        self.assertIn('shown 4:3', self.own_warnings(job)[0])
        stream = video_stream(self.path('s.mp4'))
        self.assertEqual((stream['width'], stream['height'], stream['sample_aspect_ratio']),
                         (100, 100, '4:3'))
        self.refused('submit', '--scale', '17000p', source, says='a side has 16 to 16384')

    def test_repeated_frames(self):
        """Those that are like the one before aren't computed, and are what they would be."""
        source = clip(self.path('s.mkv'), '-c:v', 'ffv1', frames=4, source='mandelbrot')
        repeats = self.path('r.mkv')
        ffmpeg('-i', source, '-vf', 'loop=2:1:1,loop=3:1:5,setpts=N/25/TB', '-c:v', 'ffv1', repeats)
        found = {}
        for name in (source, repeats):
            job = self.restore(name, self.path('t.mkv'), '--codec', 'ffv1', '--overwrite')
            found[name] = pixels(self.path('t.mkv')), job['frames_repeated'], job['frames_done']
        size = len(found[source][0]) // 4
        frames = [found[source][0][i * size:(i + 1) * size] for i in range(4)]
        self.assertEqual(found[repeats][2], 9)
        self.assertEqual(found[repeats][0],
                         b''.join(frames[i] for i in (0, 0, 0, 1, 2, 2, 2, 2, 3)))
        self.assertEqual(found[source][1], 0)
        # The first frame of a shard is computed.
        self.assertIn(found[repeats][1], (4, 5))
        self.assertIn(f'{found[repeats][1]} frames like the one before',
                      self.vrtctl('show', job['id']).stdout)

    def test_several_files_default_names(self):
        sources = [clip(self.path(f'n{i}.mp4'), frames=2) for i in range(3)]
        done = self.vrtctl('submit', '--json', *sources)
        jobs = [json.loads(line) for line in done.stdout.strip().splitlines()]
        self.assertEqual(len({job['id'] for job in jobs}), 3)
        self.vrtctl('wait', *[job['id'] for job in jobs])
        for job in jobs:
            self.assertTrue(os.path.getsize(os.path.join(self.folder, os.path.basename(
                job['output_name']))) > 0)


if __name__ == '__main__':
    harness.main()
