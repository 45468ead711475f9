#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A picture goes in, the restored one comes out: of its kind, with what else its file has."""
import json
import os
import struct
import unittest

import harness
from harness import clip, digest, ffmpeg, pixels, video_stream

EXTRAS = os.path.join(os.path.dirname(__file__), '../../fuzz/corpus/still/exif.jpg')
EXIF = struct.pack('<2sHIHHHIHHI', b'II', 42, 8, 1, 0x112, 3, 1, 6, 0, 0)
PROFILE = b'profile' * 3


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


class Pictures(harness.Case):
    few_jobs = True

    def picture(self, name, *options):
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48', '-frames:v', 1, *options,
               self.path(name))
        return self.path(name)

    def assert_alike(self, source, target, pixel_format='rgb24', limit=9):
        """What is enlarged twice and made small again is the input, nearly."""
        small = self.path('small.png')
        ffmpeg('-i', target, '-vf', 'scale=64:48:flags=area', small)
        a, b = pixels(source, pixel_format), pixels(small, pixel_format)
        self.assertEqual(len(a), len(b))
        self.assertLess(sum(abs(x - y) for x, y in zip(a, b)) / len(a), limit)

    def test_kinds(self):
        for source, options, target, pixel_format in [
                ('a.png', ['-pix_fmt', 'rgb24'], 'a.png', 'rgb24'),
                ('deep.png', ['-pix_fmt', 'rgb48be'], 'deep.png', 'rgb48be'),
                ('gray.png', ['-pix_fmt', 'gray'], 'gray.png', 'gray'),
                ('gray16.png', ['-pix_fmt', 'gray16be'], 'gray16.png', 'gray16be'),
                ('palette.png', ['-pix_fmt', 'pal8'], 'palette.png', 'rgb24'),
                ('a.jpg', ['-pix_fmt', 'yuvj420p', '-q:v', 2], 'a.jpg', 'yuvj420p'),
                ('full.jpg', ['-pix_fmt', 'yuvj444p', '-q:v', 2], 'full.jpeg', 'yuvj444p'),
                ('from.jpg', ['-pix_fmt', 'yuvj422p', '-q:v', 2], 'from.png', 'rgb24'),
                ('to.png', ['-pix_fmt', 'rgb24'], 'to.jpg', 'yuvj444p'),
                ('a.tiff', ['-pix_fmt', 'rgb24'], 'a.tif', 'rgb24'),
                ('deep.tiff', ['-pix_fmt', 'rgb48le'], 'deep.tiff', 'rgb48le'),
                ('deep.tif', ['-pix_fmt', 'gray16le'], 'deep-gray.png', 'gray16be'),
                ('a.webp', ['-lossless', 1], 'a.webp', 'yuv420p'),
                ('a.bmp', [], 'a.bmp.png', 'rgb24')]:
            with self.subTest(source=source, target=target):
                self.picture('in-' + source, *options)
                job = self.restore(self.path('in-' + source), self.path('out-' + target))
                self.assertEqual((job['state'], job['frames_done']), ('done', 1))
                self.assertEqual(self.own_warnings(job), [])
                stream = video_stream(self.path('out-' + target))
                self.assertEqual((stream['width'], stream['height']), (128, 96))
                self.assertEqual(stream['pix_fmt'], pixel_format)
                self.assert_alike(self.path('in-' + source), self.path('out-' + target))
                if source == target:
                    self.restore(self.path('in-' + source), self.path('again-' + target))
                    self.assertEqual(digest(self.path('again-' + target)),
                                     digest(self.path('out-' + target)))

    def test_quality(self):
        source = self.picture('q.png')
        sizes = []
        for quality in ('1', '31'):
            self.restore(source, self.path(f'q{quality}.jpg'), '--quality', quality)
            sizes.append(os.path.getsize(self.path(f'q{quality}.jpg')))
        self.assertGreater(sizes[0], 1.5 * sizes[1])
        self.restore(source, self.path('q.webp'), '--quality', '0')
        self.refused('submit', '-o', self.path('q32.jpg'), '--quality', '32', source,
                     says='from 1 (best) to 31')
        self.refused('submit', '--quality', '5', source, says='PNG has no quality to choose')

    def test_transparency(self):
        graph = "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='X*4'"
        source = self.picture('alpha.png', '-vf', graph)
        for target, pixel_format in [('alpha.out.png', 'rgba'), ('alpha.out.tiff', 'rgba')]:
            job = self.restore(source, self.path(target))
            self.assertEqual(self.own_warnings(job), [])
            self.assertEqual(video_stream(self.path(target))['pix_fmt'], pixel_format)
            self.assert_alike(source, self.path(target), 'rgba')
            row = pixels(self.path(target), 'rgba')[3:4 * 128:4]
            self.assertTrue(all(abs(a - 2 * x) <= 3 for x, a in enumerate(row)), list(row))
        deep = self.picture('deep-alpha.png', '-vf', graph.replace('rgba', 'rgba64be').replace(
            'X*4', 'X*1000'))
        self.restore(deep, self.path('deep-alpha.out.png'))
        self.assertEqual(video_stream(self.path('deep-alpha.out.png'))['pix_fmt'], 'rgba64be')
        self.assert_alike(deep, self.path('deep-alpha.out.png'), 'rgba')
        job = self.restore(source, self.path('alpha.out.jpg'))
        self.assertEqual(len(job['warnings']), 1)
        self.assertIn('name the output .png or .tiff', job['warnings'][0])
        self.refused('submit', '--alpha', 'drop', source, says='name the output .jpg to drop it')

    def test_linear_light(self):
        """OpenEXR's; nothing else becomes that."""
        for pixel_format in ('gbrpf32le', 'grayf32le'):
            name = f'{pixel_format}.exr'
            # A decoder of half floats has some steps between two of 16 bits.
            source = self.picture(name, '-vf', f'scale=flags=bicubic,format={pixel_format}',
                                  '-format', 'half')
            target = self.path('out-' + name)
            job = self.restore(source, target)
            self.assertEqual(self.own_warnings(job), [])
            self.assertEqual(video_stream(target)['pix_fmt'], pixel_format)
            small = self.path('small.exr')
            ffmpeg('-i', target, '-vf', 'scale=64:48:flags=area', small)
            a, b = pixels(source, 'rgb24'), pixels(small, 'rgb24')
            self.assertLess(sum(abs(x - y) for x, y in zip(a, b)) / len(a), 9)
        job = self.restore(source, self.path('exr.jpg'))
        self.assertTrue(any('light is linear' in w for w in job['warnings']), job['warnings'])
        self.refused('submit', '-o', self.path('of-png.exr'), self.picture('no.png'),
                     says='holds linear light')
        bright = self.picture('bright.exr', '-vf', 'format=gbrpf32le,exposure=2')
        job = self.restore(bright, self.path('bright.out.exr'))
        cut_off = ['values over 1 (white), below 0, or that are none (NaN), are cut off']
        self.assertEqual(job['warnings'], cut_off)
        write(self.path('nan.raw'), struct.pack('<f', float('nan')) + struct.pack('<f', 0.5) * 191)
        ffmpeg('-f', 'rawvideo', '-pix_fmt', 'gbrpf32le', '-video_size', '8x8', '-i',
               self.path('nan.raw'), self.path('nan.exr'))
        job = self.restore(self.path('nan.exr'), self.path('nan.out.exr'))
        self.assertEqual(job['warnings'], cut_off)

    def test_exif_and_profile(self):
        """They go from one kind to the next; by TIFF only how EXIF says to turn it."""
        source, width = EXTRAS, 8
        for ending in ('png', 'webp', 'tiff', 'jpg'):
            target, width = self.path('extras.' + ending), 2 * width
            job = self.restore(source, target)
            self.assertEqual(['EXIF' in w for w in self.own_warnings(job)],
                             [True] if ending == 'tiff' else [])
            # As it is stored, whatever EXIF says of how to turn it.
            self.assertEqual(video_stream(target)['width'], width)
            if ending in ('webp', 'jpg'):
                self.assertIn(EXIF, read(target))
                self.assertIn(PROFILE, read(target))
            source = target

    def test_refusals(self):
        picture = self.picture('good.png')
        broken = write(self.path('broken.png'), read(picture)[:60])
        text = write(self.path('text.jpg'), b'no picture\n' * 20)
        for name, source, options, says in (
                ('x.webp', clip(self.path('film.mp4')), (), '.webp holds one picture, and the '
                 'input is a video: name it .mkv, or .apng or .gif'),
                ('x.png', picture, ('--deinterlace', 'field'), 'of each field one makes two'),
                ('x.png', picture, ('--codec', 'h264'), 'cannot hold H.264'),
                ('x.mkv', picture, ('--codec', 'png'), 'name the output .png'),
                ('x.png', broken, (), 'broken.png is damaged'),
                ('x.jpg', text, (), 'text.jpg')):
            self.refused('submit', '-o', self.path(name), *options, source, says=says)

    def test_picture_to_video(self):
        self.restore(self.picture('film.png'), self.path('film.mkv'))
        self.assertEqual(int(video_stream(self.path('film.mkv'))['nb_read_frames']), 1)


VEIL = "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='mod(X*4+Y*3+N*10,256)'"


class Network(harness.Case):
    """Transparency restored by the network: what it makes of a gray video that is the same."""
    config = {'jobs': {'segment_frames': 4}}
    few_jobs = True

    def veiled(self, name, *options, n=5):
        return clip(self.path(name), '-vf', VEIL, *options, frames=n)

    def by_network(self, source, target, *options):
        job = self.restore(source, self.path(target), '--alpha', 'network', *options)
        self.assertEqual(self.own_warnings(job), [])
        self.assertEqual((job['recipe']['alpha'], job['frames_done']),
                         ('network', job['frames_total']))
        return self.path(target)

    def wanted(self, source, gray='gray'):
        """The values of all frames, by a job of its own."""
        ffmpeg('-i', source, '-vf', f'alphaextract,format={gray}', '-c:v', 'ffv1', '-color_range',
               'pc', self.path('gray.mkv'))
        self.restore(self.path('gray.mkv'), self.path('gray.out.mkv'), '--codec', 'ffv1',
                     '--overwrite')
        return pixels(self.path('gray.out.mkv'), gray)

    def test_videos(self):
        source = self.veiled('in.mkv', '-c:v', 'ffv1', '-pix_fmt', 'yuva420p')
        wanted = self.wanted(source)
        result = self.by_network(source, 'out.mkv', '--codec', 'ffv1')
        n = len(wanted) // 5
        found = pixels(result, 'yuva420p')
        for i in range(5):
            frame = found[5 * n // 2 * i:5 * n // 2 * (i + 1)]
            self.assertEqual(frame[3 * n // 2:], wanted[n * i:n * (i + 1)])
        # The colours are what they are without it.
        self.restore(source, self.path('plain.mkv'), '--codec', 'ffv1')
        self.assertEqual(pixels(result, 'yuv420p'), pixels(self.path('plain.mkv'), 'yuv420p'))
        # Its own last frames, of fields two each; a part; and what else is in the file.
        result = self.by_network(source, 'out.apng')
        self.assertEqual(pixels(result, 'rgba')[3::4], wanted)
        result = self.by_network(source, 'part.mkv', '--codec', 'ffv1', '--start', '0.08')
        self.assertEqual(pixels(result, 'yuva420p'), found[5 * n:])
        self.by_network(source, 'fields.mkv', '--codec', 'ffv1', '--deinterlace', 'field')
        self.assertEqual(video_stream(self.path('fields.mkv'))['nb_read_frames'], '10')
        self.by_network(source, 'scaled.mkv', '--codec', 'ffv1', '--scale', '1.5')
        self.assertEqual(video_stream(self.path('scaled.mkv'))['height'], 72)
        # Of frames that are like the one before those of the colours are told.
        still = clip(self.path('still.mkv'), '-vf', 'format=yuva420p', '-c:v', 'ffv1',
                     frames=4, source='mandelbrot')
        job = self.restore(still, self.path('still.out.mkv'), '--alpha', 'network', '--codec',
                           'ffv1')
        self.assertEqual((job['recipe']['alpha'], job['frames_repeated']), ('network', 0))
        self.by_network(source, 'out.mov', '--codec', 'prores')
        self.assertEqual(video_stream(self.path('out.mov'))['pix_fmt'], 'yuva444p12le')
        self.by_network(source, 'out.webm', '--codec', 'vp9')
        self.assertEqual(video_stream(self.path('out.webm'))['tags']['ALPHA_MODE'], '1')

    def test_pictures(self):
        for pixel_format, gray in (('rgba', 'gray'), ('rgba64be', 'gray16le')):
            source = self.veiled(f'{pixel_format}.png', '-pix_fmt', pixel_format, n=1)
            wanted = self.wanted(source, gray)
            for kind in 'png', 'tiff':
                result = self.by_network(source, f'{pixel_format}.out.{kind}')
                ffmpeg('-i', result, '-vf', f'alphaextract,format={gray}', '-c:v', 'ffv1',
                       self.path('found.mkv'))
                self.assertEqual(pixels(self.path('found.mkv'), gray), wanted)

    def test_folders(self):
        source = self.path('in')
        os.mkdir(source)
        self.veiled('in/%d.png', '-pix_fmt', 'rgba', n=3)
        self.by_network(source, 'out/')
        ffmpeg('-i', self.path('in/%d.png'), '-c:v', 'ffv1', self.path('all.mkv'))
        wanted = self.wanted(self.path('all.mkv'))
        found = [pixels(self.path(f'out/{i}.png'), 'rgba')[3::4] for i in (1, 2, 3)]
        self.assertEqual(b''.join(found), wanted)
        result = self.by_network(source, 'folder.mkv', '--codec', 'ffv1', '--fps', '25')
        self.assertEqual(pixels(result, 'rgba')[3::4], wanted)

    def test_refused(self):
        source = self.veiled('no.mkv', '-c:v', 'ffv1', '-pix_fmt', 'yuva420p')
        self.refused('submit', '--alpha', 'network', '-o', self.path('no.mp4'), source,
                     says='has no place for it')
        picture = self.veiled('no.png', '-pix_fmt', 'rgba', n=1)
        self.refused('submit', '--alpha', 'network', '-o', self.path('no.jpg'), picture,
                     says='name the output .png or .tiff')
        # Of what has none nothing is made.
        job = self.restore(clip(self.path('opaque.mp4')), self.path('opaque.mkv'), '--alpha',
                           'network')
        self.assertEqual((job['recipe']['alpha'], job['warnings']), (None, []))

    def test_killed(self):
        """In the middle of either half, and between them."""
        source = self.veiled('long.mkv', '-c:v', 'ffv1', '-pix_fmt', 'yuva420p', n=60)
        wanted = self.by_network(source, 'whole.mkv', '--codec', 'ffv1')
        folder, target = self.path('killed'), self.path('killed.mkv')
        os.mkdir(folder)
        config = {'jobs': {'segment_frames': 4}, 'cpu': {'devices': 1, 'threads': 1},
                  **harness.SLOW}
        daemon = harness.Daemon(folder, config)

        def ask(*arguments):
            return json.loads(self.vrtctl('--json', *arguments, daemon=daemon).stdout)
        options = '--alpha', 'network', '--codec', 'ffv1'
        job = str(ask('submit', '-o', target, *options, source)['id'])
        made = os.path.join(folder, 'state/spool', job, 'alpha.mkv')
        starts = 0
        for is_due in (lambda: daemon.job(job)['segments_done'] >= 3,
                       lambda: os.path.exists(made),
                       lambda: os.path.exists(made) and 3 <= daemon.job(job)['segments_done'] < 9):
            self.wait_until(is_due)
            daemon.kill()
            daemon = harness.Daemon(folder, config)
            ask('resume', job)
            starts += 1
        ask('wait', job)
        self.assertGreater(daemon.job(job)['n_starts'], starts)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())
        self.assertEqual(os.listdir(os.path.join(folder, 'state/spool')), [])
        self.assertEqual(read(target), read(wanted))


if __name__ == '__main__':
    harness.main()
