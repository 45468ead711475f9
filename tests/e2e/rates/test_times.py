#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frames made between those of a video by a network that makes them at any time (RIFE): at which,
and when they are shown."""
import json
import math
import os

import checkpoints
import harness
from harness import clip, ffmpeg, pixels, timestamps, video_stream

SIZE = '64x64'
FRAME_BYTES = 3 * 64 * 64
SLOPE, OFFSET = -4, 2
EXACT = '--codec', 'ffv1', '--precision', 'f32'
MOTION = 'scroll=h=0.02:v=0.01'


def share(time):
    """Of the frame before, in what is made at that time."""
    return 1 / (1 + math.exp(-(SLOPE * time + OFFSET)))


def frames_of(path):
    data = pixels(path, 'gbrp')
    return [data[i:i + FRAME_BYTES] for i in range(0, len(data), FRAME_BYTES)]


class Times(harness.Case):
    few_jobs = True
    config = {'cpu': {'devices': 2, 'threads': 1}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = checkpoints.write_safetensors(
            os.path.join(cls.folder, 'mixing.safetensors'),
            checkpoints.mixing_rife(SLOPE, OFFSET))

    def made(self, source, *options, name='made.mkv'):
        target = self.path(name)
        job = self.follow(source, target, '-m', self.model, *EXACT, '--overwrite', *options)
        self.assertEqual(job['state'], 'done', job['error'])
        return job, target

    def expect_mixed(self, source, target, times, held=()):
        """Each frame, then those on the way to the next, each with its share of both; it is shown
        on where it is the last of all, or one of `held`."""
        frames, shown = frames_of(source), frames_of(target)
        self.assertEqual(len(shown), times * len(frames))
        for i, frame in enumerate(frames):
            self.assertEqual(shown[times * i], frame, f'frame {i} is another')
            for k in range(1, times):
                now = shown[times * i + k]
                if i in held or i + 1 == len(frames):
                    self.assertEqual(now, frame, f'{k} behind frame {i}')
                    continue
                first = share(k / times)
                wrong = max(abs(first * a + (1 - first) * b - c)
                            for a, b, c in zip(frame, frames[i + 1], now))
                self.assertLessEqual(wrong, 0.51, f'{k} behind frame {i}')

    def rgb(self, name, *options, frames=5, size=SIZE):
        return clip(self.path(name), *options, '-c:v', 'ffv1', '-pix_fmt', 'gbrp', frames=frames,
                    size=size)

    def test_times(self):
        source = self.rgb('s.mkv', '-vf', MOTION)
        for times in (2, 3, 5):
            job, target = self.made(source, '--times', times)
            self.expect_mixed(source, target, times)
            self.assertEqual((job['frames_total'], job['recipe']['times']), (5 * times, times))
            self.assertEqual(job['model']['architecture'], 'rife')
        job, target = self.made(source)
        self.expect_mixed(source, target, 2)

    def test_most(self):
        source = self.rgb('most.mkv', frames=2)
        self.expect_mixed(source, self.made(source, '--times', 16)[1], 16)

    def test_rate(self):
        """24000/1001 become three times that, to the tick, with their sound."""
        source = clip(self.path('rate.mp4'), '-c:v', 'libx264', '-c:a', 'aac', frames=12,
                      size='70x64', rate='24000/1001', audio=True)
        target = self.path('rate.out.mp4')
        self.follow(source, target, '-m', self.model, '--times', 3, '--overwrite')
        stream = video_stream(target)
        self.assertEqual((stream['avg_frame_rate'], stream['r_frame_rate']),
                         ('72000/1001', '72000/1001'))
        self.assertEqual(int(stream['nb_read_frames']), 36)
        self.assertEqual(timestamps(target, 'a:0'), timestamps(source, 'a:0'))

    def test_variable_rate(self):
        """A third and two thirds of the way between neighbours, however far apart they are."""
        source, target = self.path('v.mp4'), self.path('v.out.mp4')
        clip(source, '-vf', "setpts='(N*N+3*N)/TB/100'", '-fps_mode', 'passthrough', '-c:v',
             'libx264', '-video_track_timescale', 600, frames=8, size=SIZE)
        self.follow(source, target, '-m', self.model, '--times', 3, '--overwrite')
        was, now = timestamps(source), timestamps(target)
        self.assertEqual(len(now), 24)
        for i in range(len(was) - 1):
            for k in range(3):
                self.assertAlmostEqual(now[3 * i + k], was[i] + k * (was[i + 1] - was[i]) / 3,
                                       delta=2e-6)

    def test_scenes(self):
        source = self.path('scenes.mkv')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={SIZE}:rate=25:duration=0.2', '-f', 'lavfi',
               '-i', f'mandelbrot=size={SIZE}:rate=25', '-filter_complex',
               '[1]trim=end_frame=5[m];[0][m]concat=n=2', '-c:v', 'ffv1', '-pix_fmt', 'gbrp',
               source)
        job, target = self.made(source, '--times', 3)
        self.expect_mixed(source, target, 3, held=(4,))
        self.assertIn('in 1 place, where scenes change', str(job['warnings']))

    def test_refused(self):
        source = self.rgb('r.mkv')
        self.refused('submit', '-m', self.model, '--times', 17, source, says='times', status=2)
        self.refused('submit', '-m', self.model, '--clip', 4, source, says='leave clip out')

    def test_plan(self):
        source = self.rgb('plan.mkv', frames=4)
        plan = json.loads(self.vrtctl('submit', '--dry-run', '--json', '-m', self.model, *EXACT,
                                      '--times', 4, source).stdout)
        job, _ = self.made(source, '--times', 4)
        self.assertEqual(plan['recipe'], job['recipe'])
        self.assertEqual((plan['frames_total'], plan['shards']), (16, 4))
        for key in ('replica_bytes', 'workspace_bytes', 'peak_bytes'):
            self.assertEqual(plan['devices'][0][key], job['devices'][0][key], key)


if __name__ == '__main__':
    harness.main()
