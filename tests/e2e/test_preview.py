#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of videos, and pictures of before and after: of the same moment, by FFmpeg's account."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

import harness
from harness import clip, ffmpeg, video_stream

RATE = '24000/1001'
FRAMES = 72


def likeness(picture, half, video, n):
    """PSNR of a half of the picture and frame n of a video, which is scaled to its size."""
    graph = (f'[0]crop=iw/2:ih:iw/2*{half}:0,format=gbrp[a];'
             f'[1]select=eq(n\\,{n}),setpts=0[b0];[b0][a]scale2ref=flags=bicubic[b1][a1];'
             '[b1]format=gbrp[b];[a1][b]psnr')
    done = subprocess.run(['ffmpeg', '-nostdin', '-i', picture, '-i', video, '-filter_complex',
                           graph, '-f', 'null', '-'], capture_output=True, text=True, check=True,
                          timeout=harness.PATIENCE_S)
    found = re.search(r'average:([\d.]+|inf)', done.stderr)
    return float(found.group(1))


def shown(picture, half, video, frames):
    """Which of the frames the half shows."""
    return max(frames, key=lambda n: likeness(picture, half, video, n))


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
        self.refused('preview', job, '--overwrite', '-o', part, says='same file')
        self.refused('preview', job, '--overwrite', '-o', source, says='same file')
        self.vrtctl('preview', job)
        self.refused('preview', job, says='exists; replace it with --overwrite')
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
            self.assertGreater(likeness(picture, 0, source, 2), 45)
            self.assertLess(likeness(picture, 0, source, 4), 30)
            self.assertGreater(likeness(picture, 1, result, 2), 45)


if __name__ == '__main__':
    harness.main()
