#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Encoding by hardware: without any, and with a stand-in for NVENC's (standin.c)."""
import os
import time

import harness
from harness import clip, probe, timestamps, video_stream

STANDIN = os.environ['VRTD_STANDIN']

# More than the stand-in's least.
SIZE, FRAMES = '96x80', 64


def with_standin():
    return dict(os.environ, VRTD_MEDIA_PROGRAM=STANDIN)


class Hardware(harness.FolderCase):
    config = {'jobs': {'segment_frames': 16}}

    def serve(self, **options):
        self.daemon = harness.Daemon(self.folder, self.config, fault='', **options)
        self.addCleanup(self.daemon.stop)

    vrtctl, follow = harness.Case.vrtctl, harness.Case.follow

    def source(self):
        return clip(self.path('in.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv420p', frames=FRAMES,
                    size=SIZE, audio=True)

    def test_none(self):
        """Software does it, to the same bytes as if nobody had asked, and says why."""
        source = self.source()
        self.serve()
        plain = self.follow(source, self.path('plain.mkv'))
        self.assertEqual(plain['recipe']['hwaccel'], 'off')
        for how, said in (('auto', 'no hardware encodes this'), ('nvenc', 'nvenc'),
                          ('vaapi', 'vaapi'), ('qsv', 'qsv'), ('videotoolbox', 'videotoolbox')):
            job = self.follow(source, self.path('result.mkv'), '--hwaccel', how, '--overwrite')
            self.assertEqual((job['recipe']['hwaccel'], job['reproducible']), ('off', True))
            self.assertEqual(len(job['warnings']), 1, job['warnings'])
            self.assertIn(said, job['warnings'][0])
            self.assertIn('software', job['warnings'][0])
            self.assertEqual(harness.digest(self.path('result.mkv')),
                             harness.digest(self.path('plain.mkv')))
        job = self.follow(source, self.path('result.mkv'), '--hwaccel', 'auto', '--codec', 'ffv1',
                          '--overwrite')
        self.assertIn('encodes FFV1', job['warnings'][0])

    def test_standin(self):
        source = self.source()
        self.serve(env=with_standin())
        for how in ('auto', 'nvenc'):
            job = self.follow(source, self.path('result.mkv'), '--hwaccel', how, '--overwrite')
            self.assertEqual((job['recipe']['hwaccel'], job['reproducible'], job['warnings']),
                             ('nvenc', False, []))
        self.assertEqual(video_stream(self.path('result.mkv'))['codec_name'], 'h264')
        self.assertEqual(len(timestamps(self.path('result.mkv'))), FRAMES)
        self.assertEqual(len(probe(self.path('result.mkv'))['streams']), 2)
        self.assertIn('h264 by nvenc', self.vrtctl('show', job['id']).stdout)
        plan = self.vrtctl('submit', '--dry-run', '--hwaccel', 'nvenc', '-o', self.path('x.mkv'),
                           source)
        self.assertIn('h264 by nvenc', plan.stdout)
        # What it hasn't, software does.
        job = self.follow(source, self.path('result.mkv'), '--hwaccel', 'nvenc', '--codec', 'ffv1',
                          '--overwrite')
        self.assertEqual(job['recipe']['hwaccel'], 'off')

    def test_configured(self):
        """It stands for jobs that don't say, of codecs that it has."""
        source = self.source()
        self.config = {'jobs': {'segment_frames': 16, 'hwaccel': 'auto'}}
        self.serve(env=with_standin())
        for arguments, what in (((), 'nvenc'), (('--hwaccel', 'off'), 'off'),
                                (('--codec', 'ffv1'), 'off')):
            job = self.follow(source, self.path('result.mkv'), '--overwrite', *arguments)
            self.assertEqual((job['recipe']['hwaccel'], job['warnings']), (what, []))
        codecs = {c['name']: c for c in self.daemon.request('GET', '/v1/codecs')[1]['codecs']}
        tried = {h['hwaccel']: h for h in codecs['h264']['hardware']}
        self.assertEqual(tried['nvenc'], {'hwaccel': 'nvenc', 'encoder': 'h264_nvenc',
                                          'works': True, 'reason': None})
        self.assertFalse(tried['vaapi']['works'])
        self.assertIn('vaapi', tried['vaapi']['reason'])
        self.assertRegex(self.vrtctl('codecs').stdout, 'h264 +libx264 +nvenc +mp4')

    def stored(self, job, n):
        return self.daemon.request('GET', f'/v1/jobs/{job}')[1]['segments_done'] >= n

    def test_goes_on(self):
        """Killed, it goes on by the same hardware, and not by other means."""
        source = self.source()
        self.config = harness_config = {**self.config, 'devices': {
            'fault': 'cpu:0 submit:1- takes=60ms'}, 'cpu': {'devices': 1}}
        self.serve(env=with_standin())
        done = self.vrtctl('submit', '--json', '--hwaccel', 'nvenc', '-o', self.path('result.mkv'),
                           source)
        job = harness.json.loads(done.stdout)['id']
        deadline = time.monotonic() + harness.PATIENCE_S
        while not self.stored(job, 1):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.daemon.process.kill()
        self.daemon.process.wait()
        # Without the hardware that it was begun with it is not gone on with.
        self.config = {**harness_config, 'jobs': {'segment_frames': 16}}
        self.serve()
        self.vrtctl('resume', job, status=None)
        shown = self.vrtctl('wait', job, status=None)
        shown = self.daemon.request('GET', f'/v1/jobs/{job}')[1]
        self.assertEqual(shown['state'], 'failed', shown)
        self.assertIn("nvenc doesn't work here", shown['error']['message'])
        self.daemon.stop()
        self.serve(env=with_standin())
        self.vrtctl('retry', job, status=None)
        self.vrtctl('wait', job, status=None)
        shown = self.daemon.request('GET', f'/v1/jobs/{job}')[1]
        self.assertEqual((shown['state'], shown['recipe']['hwaccel']), ('done', 'nvenc'), shown)
        self.assertEqual(len(timestamps(self.path('result.mkv'))), FRAMES)


if __name__ == '__main__':
    harness.main()
