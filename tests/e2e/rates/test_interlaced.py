#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Interlaced videos, and telecined films: what is restored are the frames that FFmpeg's own filters
make of them."""
import json
import os

import checkpoints
import harness
from harness import clip, ffmpeg, pixels, probe, timestamps, video_stream

# 240 lines: of smaller ones flags alone are believed.
SIZE = '96x240'
SCROLL = 'scroll=h=0.01:v=0.005'
FRAMES = 24
FIELDS = '-flags', '+ildct+ilme'


class Interlaced(harness.Case):
    config = {'cpu': {'devices': 2, 'threads': 1}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Which network it is makes no difference: one that computes next to nothing.
        cls.model = checkpoints.write_safetensors(
            os.path.join(cls.folder, 'identity.safetensors'), checkpoints.identity())

    def source(self, name, weave, *options, rate=50, **more):
        """A video whose frames are woven of two moments each."""
        return clip(self.path(name), '-vf', f'{SCROLL},{weave}', '-pix_fmt', 'yuv420p', *options,
                    frames=FRAMES, size=SIZE, rate=rate, **more)

    def restored(self, source, *options):
        target = self.path('restored.mkv')
        job = self.restore(source, target, '--model', self.model, '--codec', 'ffv1',
                           '--overwrite', *options)
        return job, target

    def expect_bwdif(self, source, options, *wanted):
        return self.expect_filter(source, f'bwdif={options}', *wanted)

    def expect_filter(self, source, filters, *wanted):
        """The job's result is that of the frames that the ffmpeg program makes."""
        job, target = self.restored(source, *wanted)
        seen = pixels(target)
        whole = self.path('whole.mkv')
        ffmpeg('-i', source, '-vf', filters, '-fps_mode', 'passthrough', '-c:v', 'ffv1',
               whole)
        _, target = self.restored(whole, '--deinterlace', 'off')
        self.assertEqual(len(seen), len(pixels(target)))
        self.assertTrue(seen == pixels(target), f'{source}: other pixels')
        return job

    def test_told(self):
        """By its flags, as television sends it: nothing is to be said."""
        source = self.source('told.mpg', 'tinterlace=interleave_top,setfield=tff',
                             '-c:v', 'mpeg2video', '-q:v', 2, *FIELDS)
        job = self.expect_bwdif(source, 'mode=send_frame:parity=auto')
        self.assertEqual((job['recipe']['deinterlace'], job['frames_done']), ('frame', FRAMES))
        self.assertFalse([w for w in job['warnings'] if 'interlaced' in w])
        self.assertIn('deinterlaced by frame', self.vrtctl('show', job['id']).stdout)

    def test_untold(self):
        source = self.source('untold.mkv', 'tinterlace=interleave_bottom,setfield=prog',
                             '-c:v', 'ffv1')
        job = self.expect_bwdif(source, 'mode=send_frame:parity=bff')
        self.assertEqual(job['recipe']['deinterlace'], 'frame')
        self.assertIn("though it doesn't say so", str(job['warnings']))

    def test_off(self):
        source = self.source('off.mkv', 'tinterlace=interleave_top,setfield=tff', '-c:v', 'ffv1',
                             *FIELDS)
        job, _ = self.restored(source, '--deinterlace', 'off')
        self.assertEqual(job['recipe']['deinterlace'], 'off')
        self.assertIn('as if it were not', str(job['warnings']))

    def test_fields(self):
        """Twice as many frames, in the same time, with its sound."""
        source = self.source('fields.mkv', 'tinterlace=interleave_top,setfield=tff',
                             '-c:v', 'ffv1', *FIELDS)
        whole = self.path('sound.mkv')
        ffmpeg('-i', source, '-f', 'lavfi', '-i', f'sine=duration={FRAMES / 25}', '-c:v', 'copy',
               whole)
        job = self.expect_bwdif(whole, 'mode=send_field:parity=auto', '--deinterlace', 'field')
        self.assertEqual(job['recipe']['deinterlace'], 'field')
        self.assertEqual((job['frames_total'], job['frames_done']), (2 * FRAMES, 2 * FRAMES))
        self.assertEqual(job['video']['fps'], 50)
        job, target = self.restored(whole, '--deinterlace', 'field')
        self.assertEqual(int(video_stream(target)['nb_read_frames']), 2 * FRAMES)
        shown = timestamps(target)
        for n, time in enumerate(timestamps(whole)):
            self.assertAlmostEqual(shown[2 * n], time, delta=0.0011)
            self.assertAlmostEqual(shown[2 * n + 1], time + 0.02, delta=0.0021)
        self.assertEqual(timestamps(target, 'a:0'), timestamps(whole, 'a:0'))
        self.assertAlmostEqual(float(probe(target)['format']['duration']),
                               float(probe(whole)['format']['duration']), delta=0.03)

    def film(self, name, *options, weave='telecine=pattern=23,setfield=tff', **more):
        """A film, of which each four frames became five."""
        return clip(self.path(name), '-vf', f'{SCROLL},{weave}', '-pix_fmt', 'yuv420p', *options,
                    **{'frames': 40, 'size': SIZE, 'rate': '24000/1001', **more})

    def test_telecine(self):
        source = self.film('film.mkv', '-c:v', 'ffv1', *FIELDS)
        job = self.expect_filter(source, 'fieldmatch=order=auto:combmatch=full,'
                                 'bwdif=mode=send_frame:parity=auto:deint=interlaced,decimate',
                                 '--deinterlace', 'telecine')
        self.assertEqual(job['recipe']['deinterlace'], 'telecine')
        self.assertEqual((job['frames_total'], job['frames_done']), (32, 32))
        self.assertAlmostEqual(job['video']['fps'], 24000 / 1001, places=3)
        self.assertEqual(self.own_warnings(job), [])
        self.assertIn('deinterlaced by telecine', self.vrtctl('show', job['id']).stdout)

    def test_telecine_times(self):
        """The film's own rate, to the tick, for as long as it was; its sound stays."""
        source = self.film('film.mp4', '-c:v', 'mpeg2video', '-q:v', 2, *FIELDS, '-c:a', 'aac',
                           audio=True)
        target = self.path('film.out.mp4')
        job = self.restore(source, target, '--deinterlace', 'telecine')
        stream = video_stream(target)
        self.assertEqual((stream['avg_frame_rate'], stream['nb_read_frames']),
                         ('24000/1001', '32'))
        for n, time in enumerate(timestamps(target)):
            self.assertAlmostEqual(time, n * 1001 / 24000, delta=2e-6)
        self.assertAlmostEqual(float(stream['duration']), float(video_stream(source)['duration']),
                               delta=2e-6)
        self.assertEqual(timestamps(target, 'a:0'), timestamps(source, 'a:0'))
        self.assertEqual(job['frames_total'], 32)

    def test_no_telecine(self):
        source = self.film('own.mkv', '-c:v', 'ffv1', weave='null')
        for dry in ((), ('--dry-run',)):
            self.refused('submit', *dry, '--deinterlace', 'telecine', source,
                         says='this one has 23.976')
        self.refused('submit', '--deinterlace', 'film', source, says='telecine', status=2)

    def test_plan(self):
        source = self.source('plan.mkv', 'tinterlace=interleave_top,setfield=tff', '-c:v', 'ffv1',
                             *FIELDS)
        for how, n in (('frame', FRAMES), ('field', 2 * FRAMES)):
            plan = json.loads(self.vrtctl('submit', '--dry-run', '--json', '--deinterlace',
                                          how, source).stdout)
            self.assertEqual(plan['recipe']['deinterlace'], how)
            self.assertEqual(plan['frames_total'], n)
            shown = self.vrtctl('submit', '--dry-run', '--deinterlace', how, source).stdout
            self.assertIn(f', deinterlaced by {how}\n', shown)
        film = self.film('plan-film.mkv', '-c:v', 'ffv1', *FIELDS)
        plan = json.loads(self.vrtctl('submit', '--dry-run', '--json', '--deinterlace', 'telecine',
                                      film).stdout)
        self.assertEqual((plan['recipe']['deinterlace'], plan['frames_total']), ('telecine', 32))


if __name__ == '__main__':
    harness.main()
