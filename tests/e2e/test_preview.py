#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of videos, and pictures of before and after: of the same moment, by FFmpeg's account."""
import concurrent.futures
import json
import math
import os
import random
import re
import signal
import struct
import subprocess
import time
import unittest

import harness
from harness import clip, ffmpeg, video_stream

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data')
IS_LONG = os.environ.get('VRTD_LONG', '') not in ('', '0')
RATE = '24000/1001'
FRAMES = 72


def likenesses(picture, half, video):
    """PSNR of a half of the picture and each frame of a video, which is scaled to its size."""
    graph = (f'[0]crop=iw/2:ih:iw/2*{half}:0,format=gbrp[a];[1][a]scale2ref=flags=bicubic[b][a1];'
             '[b]format=gbrp[b1];[b1][a1]psnr=stats_file=-')
    done = subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-i', picture, '-i', video,
                           '-filter_complex', graph, '-f', 'null', '-'], capture_output=True,
                          text=True, check=True, timeout=harness.PATIENCE_S)
    return [float(found) for found in re.findall(r'psnr_avg:([\d.]+|inf)', done.stdout)]


def shown(picture, half, video, frames):
    """Which of the frames the half shows."""
    found = likenesses(picture, half, video)
    return max(frames, key=lambda n: found[n])


def planes(path, width, height):
    """Red, green, blue and luma of each frame, rows one after the other; luma is BT.601's."""
    samples = harness.pixels(path, 'rgb24')
    size = 3 * width * height
    for at in range(0, len(samples), size):
        r, g, b = (samples[at + c:at + size:3] for c in range(3))
        yield [r, g, b, [16 + (65.481 * x + 128.553 * y + 24.966 * z) / 255
                         for x, y, z in zip(r, g, b)]]


def psnr(a, b):
    error = sum((x - y) ** 2 for x, y in zip(a, b)) / len(a)
    return 10 * math.log10(255 ** 2 / error) if error else None


def ssim(a, b, width, height):
    """As its authors' MATLAB code: each window by itself."""
    weights = [math.exp(-(i - 5) ** 2 / 4.5) for i in range(11)]
    weights = [w / sum(weights) for w in weights]
    c1, c2, total = 6.5025, 58.5225, []
    for y in range(height - 10):
        for x in range(width - 10):
            window = [(weights[j] * weights[i], a[(y + j) * width + x + i],
                       b[(y + j) * width + x + i]) for j in range(11) for i in range(11)]
            m = sum(w * p for w, p, q in window)
            n = sum(w * q for w, p, q in window)
            v = sum(w * p * p for w, p, q in window) - m * m
            u = sum(w * q * q for w, p, q in window) - n * n
            vu = sum(w * p * q for w, p, q in window) - m * n
            total.append((2 * m * n + c1) * (2 * vu + c2) / ((m * m + n * n + c1) * (v + u + c2)))
    return sum(total) / len(total)


class Compare(harness.Case):
    """PSNR and SSIM, by their definitions and by FFmpeg's filter."""
    few_jobs = True

    def videos(self, size='32x24', rate=25, frames=3):
        """A film, and the same with noise in it, but for its first frame."""
        a, b = self.path('a.mkv'), self.path('b.mkv')
        clip(a, '-c:v', 'ffv1', '-pix_fmt', 'bgr0', source='mandelbrot', size=size, frames=frames,
             rate=rate)
        ffmpeg('-i', a, '-vf', "noise=alls=40:enable='gt(n,0)'", '-c:v', 'ffv1', '-pix_fmt', 'bgr0',
               b)
        return a, b

    def compare(self, *arguments):
        return json.loads(self.vrtctl('compare', '--json', *arguments).stdout)

    def test_by_definition(self):
        a, b = self.videos()
        found = self.compare(a, b)
        self.assertEqual((found['width'], found['height'], found['frames_total'],
                          found['frames_equal']), (32, 24, 3, 1))
        self.assertEqual([round(f['time_s'], 3) for f in found['frames']], [0, 0.04, 0.08])
        self.assertIsNone(found['psnr_rgb'])
        self.assertIsNone(found['frames'][0]['psnr_rgb'])
        for frame, x, y in zip(found['frames'], planes(a, 32, 24), planes(b, 32, 24)):
            wanted = {'psnr_rgb': psnr(b''.join(x[:3]), b''.join(y[:3])),
                      'psnr_y': psnr(x[3], y[3]),
                      'ssim_rgb': sum(ssim(x[c], y[c], 32, 24) for c in range(3)) / 3,
                      'ssim_y': ssim(x[3], y[3], 32, 24)}
            for key, value in wanted.items():
                if value is None:
                    self.assertIsNone(frame[key])
                else:
                    self.assertAlmostEqual(frame[key], value, 6, key)
        done = subprocess.run(['ffmpeg', '-nostdin', '-i', a, '-i', b, '-lavfi',
                               '[0]format=gbrp[x];[1]format=gbrp[y];[x][y]psnr', '-f', 'null', '-'],
                              capture_output=True, text=True, check=True, timeout=60)
        average = float(re.search(r'average:([\d.]+)', done.stderr).group(1))
        self.assertAlmostEqual(found['psnr_rgb_overall'], average, 4)
        small = self.compare('--crop', 4, a, b)
        cropped = []
        for video in (a, b):
            path = self.path(os.path.basename(video) + '.crop.mkv')
            ffmpeg('-i', video, '-vf', 'crop=24:16:4:4', '-c:v', 'ffv1', '-pix_fmt', 'bgr0', path)
            cropped.append(path)
        self.assertEqual(small['frames'], self.compare(*cropped)['frames'])
        text = self.vrtctl('compare', a, b, '--picture', self.path('worst.png')).stdout
        self.assertIn(f'{found["psnr_rgb_overall"]:.2f} dB', text)
        worst = min(found['frames'][1:], key=lambda f: f['psnr_y'])
        self.assertIn(f'Worst      {worst["time_s"]:.3f} s', text)
        n = found['frames'].index(worst)
        self.assertEqual(shown(self.path('worst.png'), 1, b, range(3)), n)
        self.assertEqual(shown(self.path('worst.png'), 0, a, range(3)), n)

    def test_not_alike(self):
        a, b = self.videos()
        same = self.compare(a, a)
        self.assertEqual((same['frames_equal'], same['psnr_y_overall'], same['ssim_rgb']),
                         (3, None, 1))
        others = {'size.mkv': (['-vf', 'scale=64:48'], 'only videos of one size'),
                  'count.mkv': (['-frames:v', '2'], 'count.mkv has 2 frames and a.mkv more'),
                  'rate.mkv': (['-vf', 'fps=50'], '25 frames a second and rate.mkv 50')}
        for name, (options, says) in others.items():
            ffmpeg('-i', b, *options, '-c:v', 'ffv1', self.path(name))
            self.refused('compare', a, self.path(name), says=says)
        self.refused('compare', '--crop', 7, a, b, says='a side needs 25 with what is cropped')
        self.refused('compare', a, __file__, says='test_preview.py')
        self.refused('compare', '--fvd', __file__, a, b, says='test_preview.py is neither a .pth')

    def test_reference(self):
        """A job's result is compared as two files are; nothing of the result depends on it."""
        source, truth = self.path('small.mkv'), self.path('truth.mkv')
        ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=64x48:r=25', '-frames:v', '3', '-c:v', 'ffv1',
               truth)
        ffmpeg('-i', truth, '-vf', 'scale=32:24', '-c:v', 'ffv1', source)
        names = [self.path(f'{name}.mkv') for name in ('with', 'without', 'short')]
        job = self.restore(source, names[0], '--reference', truth)
        wanted = self.compare(names[0], truth)
        frames = wanted.pop('frames')
        self.assertEqual([wanted.pop(key) for key in ('fvd', 'fvd_clips', 'fvd_warning')],
                         [None] * 3)
        self.assertEqual(job['comparison'], wanted)
        worst = min(frames, key=lambda f: f['psnr_y'])
        self.assertEqual((wanted['worst_s'], wanted['worst_psnr_y']),
                         (worst['time_s'], worst['psnr_y']))
        self.assertEqual((job['warnings'], job['reference_path']), ([], truth))
        self.assertIn(f'PSNR RGB {wanted["psnr_rgb"]:.2f} dB',
                      self.vrtctl('show', job['id']).stdout)
        self.assertIsNone(self.restore(source, names[1])['comparison'])
        self.assertEqual(harness.digest(names[0]), harness.digest(names[1]))
        plan = self.vrtctl('submit', '--dry-run', '--reference', truth, source).stdout
        self.assertIn('Reference  truth.mkv', plan)
        # A folder becomes a video, which has one as any.
        pictures = self.path('pictures')
        os.mkdir(pictures)
        ffmpeg('-i', source, os.path.join(pictures, '%d.png'))
        job = self.restore(pictures, self.path('of-pictures.mkv'), '--fps', 25,
                           '--reference', truth)
        self.assertEqual((job['warnings'], job['comparison']['frames_total']), ([], 3))
        # What only its end tells is said at the job's.
        ffmpeg('-i', truth, '-frames:v', '2', '-c', 'copy', self.path('two.mkv'))
        job = self.restore(source, names[2], '--reference', self.path('two.mkv'))
        self.assertEqual((job['state'], job['comparison']), ('done', None))
        self.assertIn('two.mkv has 2 frames and short.mkv more', job['warnings'][-1])
        ffmpeg('-stream_loop', '3', '-i', truth, '-c:v', 'mpeg4', self.path('twelve.mp4'))
        ffmpeg('-i', source, '-c:v', 'mpeg4', self.path('three.mp4'))
        with open(self.path('text.mkv'), 'w', encoding='utf-8') as f:
            f.write('no video')
        for reference, video, says in (
                (source, source, 'the result has 64 x 48 pixels and small.mkv 32 x 24'),
                (self.path('twelve.mp4'), self.path('three.mp4'),
                 'the result will have 3 frames, and twelve.mp4 has 12'),
                (self.path('text.mkv'), source, 'text.mkv'),
                (self.path('.'), source, 'this is a folder, not a file'),
                (names[0], source, "the output is the reference's own file")):
            self.refused('submit', '--reference', reference, '--overwrite', '-o', names[0], video,
                         says=says)
        self.refused('submit', '--reference', truth, source, truth, says='submit one video',
                     status=2)
        self.refused('submit', '--reference', truth, '--codec', 'png', '-o', self.path('f/'),
                     source, says='a folder of pictures')

    def weights(self):
        """I3D's shapes, as tests/data has them, with weights of bf16, positive and negative."""
        with open(os.path.join(DATA, 'fvd', 'i3d-small.safetensors'), 'rb') as f:
            told = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
            data = f.read()
        small = bytes(0xbc if i % 2 else 0x3c for i in range(256))
        header, tensors = {}, bytearray()
        for key, entry in told.items():
            if not key.startswith('parameter_shape.'):
                continue
            begin, end = entry['data_offsets']
            shape = struct.unpack(f'<{(end - begin) // 4}i', data[begin:end])
            n, begin = math.prod(shape), len(tensors)
            values = bytearray(2 * n)
            values[1::2] = random.Random(key).randbytes(n).translate(small)
            if len(shape) == 1:
                values[1::2] = b'\x3f' * n
            tensors += values
            header[key.partition('.')[2]] = {'dtype': 'BF16', 'shape': shape,
                                             'data_offsets': [begin, len(tensors)]}
        text = json.dumps(header).encode()
        with open(self.path('i3d.safetensors'), 'wb') as f:
            f.write(struct.pack('<Q', len(text)) + text + tensors)
        return self.path('i3d.safetensors')

    @unittest.skipUnless(IS_LONG, 'takes half a minute: VRTD_LONG=1')
    def test_fvd(self):
        a, b = self.videos(frames=35)
        weights = self.weights()
        far, same = (self.compare('--fvd', weights, a, x) for x in (b, a))
        self.assertEqual((far['fvd_clips'], same['fvd_clips']), (2, 2))
        self.assertGreater(far['fvd'], 0)
        self.assertAlmostEqual(same['fvd'] / far['fvd'], 0, 6)
        self.assertIn('of 2 clips the covariance', far['fvd_warning'])
        self.assertIn('of 2 clips of 16 frames',
                      self.vrtctl('compare', '--fvd', weights, a, b).stdout)
        self.assertIsNone(self.compare(a, b)['fvd_clips'])
        few = self.compare('--fvd', weights, *self.videos(frames=31))
        self.assertEqual((few['fvd'], few['fvd_clips']), (None, 1))
        self.assertIn('these videos have 31 frames', few['fvd_warning'])


class Preview(harness.Case):
    few_jobs = True

    def made(self, name, *options):
        """A film, and the part of it from 1 s on."""
        source = clip(self.path(name), '-c:v', 'libx264', '-g', 24, '-bf', 2, frames=FRAMES,
                      rate=RATE)
        part = os.path.splitext(source)[0] + '.part' + os.path.splitext(name)[1]
        done = self.vrtctl('submit', '--start', 1, '--duration', '0:01', '--follow', '--json',
                           *options, source)
        return source, part, done.stdout.strip().splitlines()

    def test_same_moment(self):
        for name in ('film.mp4', 'video.mkv'):
            with self.subTest(name):
                source, part, lines = self.made(name, '--preview')
                job, told = json.loads(lines[-2]), json.loads(lines[-1])
                picture = os.path.splitext(part)[0] + '.png'
                self.assertEqual(int(video_stream(part)['nb_read_frames']), 24)
                self.assertEqual(job['video']['start_s'], 1)
                self.assertAlmostEqual(told['time_s'], 0.5, delta=0.05)
                self.assertEqual((told['width'], told['height']), (256, 96))
                after = shown(picture, 1, part, range(9, 16))
                self.assertAlmostEqual(after * 1001 / 24000, told['time_s'], delta=0.002)
                # The first frame at 1 s or later is number 24.
                self.assertEqual(shown(picture, 0, source, range(after + 20, after + 29)),
                                 after + 24)
                for at, n in ((0, 0), (0.3, 7), (0.999, 23)):
                    self.vrtctl('preview', job['id'], '--at', at, '-o', picture, '--overwrite')
                    near = range(max(0, n - 2), min(24, n + 3))
                    self.assertEqual(shown(picture, 1, part, near), n)
                    self.assertEqual(shown(picture, 0, source, [24 + k for k in near]), 24 + n)

    def test_refused(self):
        source, part, lines = self.made('other.mkv')
        job = str(json.loads(lines[-1])['id'])
        picture = self.path('other.part.png')
        self.refused('preview', job, '--at', 9, says='long: it shows nothing at 9 s')
        self.refused('preview', 99, says='no job has the number 99', status=4)
        self.assertFalse(os.path.exists(picture))
        self.vrtctl('preview', job)
        os.remove(source)
        self.refused('preview', job, '--overwrite', says='other.mkv')
        failed = self.follow(clip(self.path('a.mkv')), self.path('b.mkv'))
        self.vrtctl('pause', failed['id'], status=1)
        self.refused('submit', '--preview', part, says='--follow', status=2)
        self.refused('submit', '--start', '1:00', part, says='it has nothing from 60 s on')

    def test_many_and_gone(self):
        """They wait for each other; one who goes away holds nobody up."""
        lines = self.made('many.mp4')[2]
        job = json.loads(lines[-1])['id']
        environment = dict(os.environ, VRTD_SOCKET=self.daemon.socket)
        gone = [subprocess.Popen([harness.VRTCTL, 'preview', str(job), '-o',
                                  self.path(f'gone{i}.png')], env=environment,
                                 stdout=subprocess.DEVNULL) for i in range(4)]
        time.sleep(0.05)
        for process in gone:
            process.send_signal(signal.SIGKILL)
            process.wait(harness.PATIENCE_S)
        pictures = [self.path(f'many{i}.png') for i in range(6)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda p: self.vrtctl('preview', job, '-o', p), pictures))
        sizes = {os.path.getsize(p) for p in pictures}
        self.assertEqual(len(sizes), 1)

    def test_tall_and_gray(self):
        """Other shapes and layouts of samples."""
        for size, layout in (('34x80', 'gray'), ('64x48', 'yuv420p10le'), ('64x48', 'gbrp')):
            source = self.path(f'{layout}.mkv')
            ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={size}:rate=25', '-frames:v', 5,
                   '-pix_fmt', layout, '-c:v', 'ffv1', source)
            job = self.follow(source, self.path(f'{layout}.out.mkv'), '--codec', 'ffv1')
            self.vrtctl('preview', job['id'])
            picture, result = (self.path(layout + e) for e in ('.out.png', '.out.mkv'))
            found = likenesses(picture, 0, source)
            self.assertGreater(found[2], 45)
            self.assertLess(found[4], 30)
            self.assertGreater(likenesses(picture, 1, result)[2], 45)


if __name__ == '__main__':
    harness.main()
