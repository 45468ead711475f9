#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frames made between those of a video: how many, when they are shown, and which are left alone."""
import fractions
import json
import os
import subprocess

import checkpoints
import harness
from harness import clip, digest, ffmpeg, pixels, timestamps, video_stream

MAKE_VRT = os.path.join(harness.BUILD, 'tests', 'bench', 'make-vrt')
SIZE = '64x64'
FRAME_BYTES = 3 * 64 * 64
EXACT = '--codec', 'ffv1', '--precision', 'f32'
MOTION = 'scroll=h=0.02:v=0.01'


class Between(harness.Case):
    few_jobs = True
    config = {'cpu': {'devices': 2, 'threads': 1}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        drawn = os.path.join(cls.folder, 'drawn.safetensors')
        cls.model = os.path.join(cls.folder, 'mean.safetensors')
        subprocess.run([MAKE_VRT, 'between', drawn], check=True, stdout=subprocess.DEVNULL)
        checkpoints.write_safetensors(cls.model, checkpoints.mean_of_neighbours(
            checkpoints.read_safetensors(drawn)))

    def made(self, source, *options, name='made.mkv', n=None):
        """The job's JSON, and its result, which has n frames."""
        target = self.path(name)
        job = self.follow(source, target, '-m', self.model, *EXACT, '--overwrite', *options)
        self.assertEqual(job['state'], 'done', job['error'])
        if n is not None:
            self.assertEqual((job['frames_total'], job['frames_done']), (n, n))
            self.assertEqual(int(video_stream(target)['nb_read_frames']), n)
        return job, target

    def expect_means(self, source, target, held=()):
        """Each frame, and behind it the mean of it and the next; itself behind those in `held`."""
        was, now = pixels(source, 'gbrp'), pixels(target, 'gbrp')
        frames = [was[i:i + FRAME_BYTES] for i in range(0, len(was), FRAME_BYTES)]
        shown = [now[i:i + FRAME_BYTES] for i in range(0, len(now), FRAME_BYTES)]
        self.assertEqual(len(shown), 2 * len(frames))
        for i, frame in enumerate(frames):
            self.assertEqual(shown[2 * i], frame, f'frame {i} is another')
            if i in held or i + 1 == len(frames):
                self.assertEqual(shown[2 * i + 1], frame, f'behind frame {i}')
                continue
            wrong = max(abs(a + b - 2 * c)
                        for a, b, c in zip(frame, frames[i + 1], shown[2 * i + 1]))
            self.assertLessEqual(wrong, 1, f'behind frame {i}')

    def rgb(self, name, *options, frames=6, source='testsrc2'):
        return clip(self.path(name), *options, '-c:v', 'ffv1', '-pix_fmt', 'gbrp', frames=frames,
                    size=SIZE, source=source)

    def test_twice(self):
        source = self.rgb('twice.mkv', '-vf', MOTION)
        job, target = self.made(source, n=12)
        self.expect_means(source, target)
        self.assertEqual((job['recipe']['times'], job['recipe']['clip_frames']), (2, 4))
        self.assertEqual(job['model']['architecture'], 'vrt')
        self.assertIn('2 times the frames', self.vrtctl('show', job['id']).stdout)
        self.assertFalse([w for w in self.own_warnings(job) if 'scenes' in w])
        _, other = self.made(source, '--times', 2, name='asked.mkv')
        self.assertEqual(digest(target), digest(other))

    def test_few_frames(self):
        for n in (1, 2, 3):
            source = self.rgb(f'{n}.mkv', frames=n)
            self.expect_means(source, self.made(source, n=2 * n)[1])

    def test_constant_rate(self):
        """To the tick, with its sound: 30 become 60, of 30000/1001 the double."""
        for rate, twice in ((30, '60/1'), ('30000/1001', '60000/1001'), (25, '50/1')):
            source = clip(self.path('rate.mp4'), '-c:v', 'libx264', '-c:a', 'aac', frames=6,
                          size=SIZE, rate=rate, audio=True)
            target = self.path('rate.out.mp4')
            job = self.follow(source, target, '-m', self.model, '--overwrite')
            stream, was = video_stream(target), video_stream(source)
            self.assertEqual((stream['avg_frame_rate'], stream['r_frame_rate']), (twice, twice))
            self.assertEqual(int(stream['nb_read_frames']), 12)
            self.assertEqual(fractions.Fraction(stream['duration_ts']) *
                             fractions.Fraction(stream['time_base']),
                             fractions.Fraction(was['duration_ts']) *
                             fractions.Fraction(was['time_base']))
            self.assertEqual(timestamps(target, 'a:0'), timestamps(source, 'a:0'))
            self.assertEqual(job['frames_total'], 12)

    def test_variable_rate(self):
        """Midway between neighbours, however far apart they are."""
        source = self.path('variable.mp4')
        clip(source, '-vf', "setpts='(N*N+3*N)/TB/100'", '-fps_mode', 'passthrough', '-c:v',
             'libx264', '-video_track_timescale', 600, frames=12, size=SIZE)
        target = self.path('variable.out.mp4')
        self.follow(source, target, '-m', self.model, '--overwrite')
        was, now = timestamps(source), timestamps(target)
        self.assertEqual(len(now), 24)
        for i, time in enumerate(was):
            self.assertAlmostEqual(now[2 * i], time, delta=2e-6)
            if i + 1 < len(was):
                self.assertAlmostEqual(now[2 * i + 1], (time + was[i + 1]) / 2, delta=2e-6)

    def test_scenes(self):
        """Nothing is made between two of them, and it is said; unless it is asked for."""
        source = self.path('scenes.mkv')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={SIZE}:rate=25:duration=0.24', '-f', 'lavfi',
               '-i', f'mandelbrot=size={SIZE}:rate=25', '-f', 'lavfi', '-i',
               f'smptebars=size={SIZE}:rate=25:duration=0.2', '-filter_complex',
               '[1]trim=end_frame=5[m];[0][m][2]concat=n=3', '-c:v', 'ffv1', '-pix_fmt', 'gbrp',
               source)
        job, target = self.made(source, n=32)
        self.expect_means(source, target, held=(5, 10))
        self.assertIn('in 2 places, where scenes change', str(job['warnings']))
        job, target = self.made(source, '--scene-cuts', 'off', n=32)
        self.expect_means(source, target)
        self.assertNotIn('scenes change', str(job['warnings']))

    def test_stored_otherwise(self):
        """Frames that pass are converted as all are where the output stores them otherwise."""
        source = self.rgb('rgb.mkv', '-vf', MOTION)
        _, target = self.made(source, '--pix-fmt', 'yuv444p16le', n=12)
        self.assertEqual(video_stream(target)['pix_fmt'], 'yuv444p16le')
        self.expect_means(source, target)
        source = clip(self.path('deep.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv420p10le', size=SIZE)
        _, target = self.made(source, n=12)
        was, now = pixels(source, 'yuv420p10le'), pixels(target, 'yuv420p10le')
        size = len(was) // 6
        for i in range(6):
            self.assertEqual(now[2 * i * size:][:size], was[i * size:][:size])

    def test_part(self):
        source = self.rgb('whole.mkv', '-vf', MOTION, frames=20)
        cut = self.path('cut.mkv')
        ffmpeg('-ss', 0.2, '-i', source, '-frames:v', 7, '-c:v', 'ffv1', cut)
        _, target = self.made(source, '--start', 0.2, '--duration', 0.28, n=14)
        self.expect_means(cut, target)
        self.assertEqual(timestamps(target)[0], 0)

    def test_fields(self):
        """Of an interlaced video each field becomes a frame, then twice as many."""
        source = clip(self.path('fields.mkv'), '-vf', 'tinterlace=interleave_top,setfield=tff',
                      '-c:v', 'ffv1', '-flags', '+ildct+ilme', '-pix_fmt', 'yuv420p', frames=8,
                      size='64x64', rate=50)
        job, target = self.made(source, '--deinterlace', 'field', n=32)
        self.assertEqual((job['recipe']['deinterlace'], job['recipe']['times']), ('field', 2))
        shown = timestamps(target)
        for i, time in enumerate(shown):
            self.assertAlmostEqual(time, i / 100, delta=0.0011)

    def test_folder(self):
        """Pictures have no names for those between: the results are numbered, and that is said."""
        folder, film = self.path('pictures'), self.path('film.mkv')
        os.mkdir(folder)
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={SIZE}', '-vf',
               MOTION + ',format=rgba,colorchannelmixer=aa=0.5', '-frames:v', 4,
               folder + '/p%d.png')
        done = self.vrtctl('submit', '--follow', '--json', '-m', self.model, '--precision', 'f32',
                           folder)
        job = json.loads(done.stdout.strip().splitlines()[-1])
        self.assertEqual(sorted(os.listdir(folder + '.restored')),
                         [f'{i:08}.png' for i in range(1, 9)])
        self.assertEqual(self.own_warnings(job), [
            'the results are numbered from 1 on, 2 of each picture: those that are made between '
            'have no names',
            'a picture that is made between two has the transparency of the first of them'])
        ffmpeg('-i', folder + '/p%d.png', '-c:v', 'ffv1', '-pix_fmt', 'gbrp', film)
        self.assertEqual(pixels(folder + '.restored/%08d.png', 'gbrp'),
                         pixels(self.made(film)[1], 'gbrp'))

    def test_refused(self):
        source = self.rgb('r.mkv')
        for options, says in ((('--times', 4), 'makes 2 times as many frames of a video, not 4'),
                              (('--sigma', 10), 'sigma')):
            for dry in ((), ('--dry-run',)):
                self.refused('submit', *dry, '-m', self.model, *options, source, says=says)
        self.refused('submit', '--times', 2, source, says='leave times out')
        self.refused('submit', '--times', 1, source, says='times', status=2)
        picture = self.path('one.png')
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={SIZE}', '-frames:v', 1, picture)
        self.refused('submit', '-m', self.model, picture, says='a picture has no others')
        veiled = clip(self.path('veiled.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuva420p', size=SIZE)
        self.refused('submit', '-m', self.model, '--codec', 'ffv1', '--alpha', 'resize', veiled,
                     says='there is none between two frames')

    def test_plan(self):
        source = self.rgb('plan.mkv', frames=9)
        done = self.vrtctl('submit', '--dry-run', '--json', '-m', self.model, *EXACT, source)
        plan = json.loads(done.stdout)
        job, _ = self.made(source, n=18)
        self.assertEqual(plan['recipe'], job['recipe'])
        self.assertEqual((plan['frames_total'], plan['shards']), (18, 9))
        for key in ('replica_bytes', 'workspace_bytes', 'peak_bytes'):
            self.assertEqual(plan['devices'][0][key], job['devices'][0][key], key)
        self.assertIn('2 times those of the video',
                      self.vrtctl('submit', '--dry-run', '-m', self.model, source).stdout)


if __name__ == '__main__':
    harness.main()
