#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frames made between those of a video by a network that makes them at any time (RIFE): at which,
and when they are shown."""
import fractions
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
        """So many times the frames, each where it is in time: a frame of the video, or on the way
        to the next, with its share of both. One is shown on where it is the last of all, or one of
        `held`."""
        frames, shown = frames_of(source), frames_of(target)
        times = fractions.Fraction(times)
        self.assertEqual(len(shown), math.ceil(times * len(frames)))
        for k, now in enumerate(shown):
            i, time = divmod(k / times, 1)
            if time == 0 or i in held or i + 1 == len(frames):
                self.assertEqual(now, frames[i], f'{k}, frame {i}')
                continue
            first = share(float(time))
            wrong = max(abs(first * a + (1 - first) * b - c)
                        for a, b, c in zip(frames[i], frames[i + 1], now))
            self.assertLessEqual(wrong, 0.51, f'{k}, behind frame {i}')

    def rgb(self, name, *options, frames=5, rate=25):
        return clip(self.path(name), *options, '-c:v', 'ffv1', '-pix_fmt', 'gbrp', frames=frames,
                    size=SIZE, rate=rate)

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

    def test_any_rate(self):
        """24 frames a second become 60: five of two, the first of them, and so on; in tiles."""
        for rate, fps, times in ((24, 60, '5/2'), ('24000/1001', 59.94, '5/2'), (25, 60, '12/5'),
                                 (30, 50, '5/3'), (24, 25, '25/24'), (25, 50, '2')):
            source = self.rgb('rate.mkv', '-vf', MOTION, frames=7, rate=rate)
            job, target = self.made(source, '--fps', fps, '--tile', 48, '--overlap', 8)
            times = fractions.Fraction(times)
            self.expect_mixed(source, target, times)
            self.assertEqual((job['recipe']['times'], job['recipe']['times_every']),
                             (times.numerator, times.denominator))
            self.assertEqual(job['frames_total'], math.ceil(7 * times))
            # Matroska counts in milliseconds.
            for k, time in enumerate(timestamps(target)):
                self.assertAlmostEqual(time, float(k / (fractions.Fraction(rate) * times)),
                                       delta=0.0012)
            self.assertIn(f'{times} times the frames', self.vrtctl('show', job['id']).stdout)

    def test_any_rate_in_step(self):
        """To the tick, as long as the video was, with its sound; a scene's last frame is held."""
        source, target = self.path('step.mp4'), self.path('step.out.mp4')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x64:rate=24:duration=0.5', '-f', 'lavfi', '-i',
               'mandelbrot=size=64x64:rate=24', '-f', 'lavfi', '-i', 'sine', '-filter_complex',
               '[1]trim=end_frame=11[m];[0][m]concat=n=2', '-c:v', 'libx264', '-pix_fmt', 'yuv420p',
               '-c:a', 'aac', '-t', 0.96, source)
        job = self.follow(source, target, '-m', self.model, '--fps', 60, '--overwrite')
        shown = timestamps(target)
        self.assertEqual(len(shown), math.ceil(23 * 5 / 2))
        for k, time in enumerate(shown):
            self.assertAlmostEqual(time, k / 60, delta=2e-6)
        self.assertEqual(video_stream(target)['avg_frame_rate'], '60/1')
        self.assertEqual(timestamps(target, 'a:0'), timestamps(source, 'a:0'))
        self.assertIn('in 1 place, where scenes change', str(job['warnings']))

    def test_stored_otherwise(self):
        """Where frames are converted: those of which the first isn't shown, too."""
        source = self.rgb('s.mkv', '-vf', MOTION, rate=24)
        _, target = self.made(source, '--fps', 60, '--pix-fmt', 'yuv444p16le')
        self.expect_mixed(source, target, '5/2')
        # Of the last frame, which is the second of its pair, the first is not.
        source = self.rgb('even.mkv', '-vf', MOTION, frames=4, rate=24)
        _, target = self.made(source, '--fps', 60, '--pix-fmt', 'yuv444p16le')
        self.expect_mixed(source, target, '5/2')

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
        for options, times in ((('--times', 3), 3), (('--fps', 60), '12/5')):
            job, target = self.made(source, *options)
            self.expect_mixed(source, target, times, held=(4,))
            self.assertIn('in 1 place, where scenes change', str(job['warnings']))

    def test_refused(self):
        source = self.rgb('r.mkv')
        self.refused('submit', '-m', self.model, '--times', 17, source, says='times', status=2)
        for options, says in ((('--clip', 4), 'leave clip out'), (('--fps', 25), 'and only more'),
                              (('--fps', 0), 'below 0.001 is none')):
            self.refused('submit', '-m', self.model, *options, source, says=says)
        varying = self.path('varying.mp4')
        clip(varying, '-vf', "setpts='(N*N+3*N)/TB/100'", '-fps_mode', 'passthrough', '-c:v',
             'libx264', '-video_track_timescale', 600, frames=12, size=SIZE)
        self.refused('submit', '-m', self.model, '--fps', 60, varying, says='give times instead')

    def test_plan(self):
        source = self.rgb('plan.mkv', frames=4, rate=24)
        for option, value, total in (('--times', 4, 16), ('--fps', 60, 10)):
            plan = json.loads(self.vrtctl('submit', '--dry-run', '--json', '-m', self.model, *EXACT,
                                          option, value, source).stdout)
            job, _ = self.made(source, option, value)
            self.assertEqual(plan['recipe'], job['recipe'])
            self.assertEqual((plan['frames_total'], plan['shards']), (total, 4))
            for key in ('replica_bytes', 'workspace_bytes', 'peak_bytes'):
                self.assertEqual(plan['devices'][0][key], job['devices'][0][key], key)
        self.assertIn('5/2 times those of the video',
                      self.vrtctl('submit', '--dry-run', '-m', self.model, '--fps', 60,
                                  source).stdout)


if __name__ == '__main__':
    harness.main()
