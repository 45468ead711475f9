#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Encoding and decoding by hardware: without any, and with a stand-in for NVIDIA's (standin.c)."""
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
        job = self.follow(self.film('libx264', 'yuv420p'), self.path('result.mkv'), '--hwaccel',
                          'nvenc', '--codec', 'ffv1', '--overwrite')
        self.assertEqual((job['recipe']['hwdec'], job['reproducible']), ('off', True))
        self.assertIn("that hardware doesn't decode this, so software decodes: nvdec doesn't work "
                      'here', job['warnings'][1])

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
        self.assertRegex(self.vrtctl('codecs').stdout, 'h264 +libx264 +nvenc +nvdec +mp4')

    def plan(self, text):
        with open(self.path('plan'), 'w', encoding='utf-8') as f:
            f.write(text)

    def decoding(self):
        """A daemon for decoding by the stand-in, which goes wrong as planned."""
        self.config = {'jobs': {'segment_frames': 8, 'hwaccel': 'auto', 'codec': 'ffv1'}}
        self.plan('')
        self.serve(env=dict(with_standin(), VRT_STANDIN_PLAN=self.path('plan')))

    def film(self, codec, pixels, *options):
        """Of sides that are no whole blocks, with frames that refer to later ones."""
        return clip(self.path(f'{codec}-{pixels}.mkv'), '-c:v', codec, '-pix_fmt', pixels, *options,
                    frames=20, size='50x38')

    def restore(self, film, *options):
        job = self.follow(film, self.path('result.mkv'), '--overwrite', *options)
        return job, harness.digest(self.path('result.mkv'))

    def test_decodes(self):
        """The same bytes as by software, of each depth, and whatever goes wrong."""
        self.decoding()
        films = [self.film('libx264', 'yuv420p'), self.film('libx265', 'yuv420p10le'),
                 self.film('libx265', 'yuv420p12le')]
        for film in films:
            _, software = self.restore(film, '--hwaccel', 'off')
            job, digest = self.restore(film)
            self.assertEqual((job['recipe']['hwdec'], job['reproducible'], job['warnings'], digest),
                             ('nvdec', True, [], software), film)
        self.assertIn('decoded by nvdec', self.vrtctl('show', job['id']).stdout)
        for hwaccel, hwdec, by in (('off', 'auto', 'nvdec'), ('auto', 'off', 'off')):
            plan = harness.json.loads(self.vrtctl(
                'submit', '--dry-run', '--json', '--hwaccel', hwaccel, '--hwdec', hwdec, '-o',
                self.path('x.mkv'), films[0]).stdout)
            self.assertEqual((plan['recipe']['hwdec'], plan['recipe']['hwaccel']), (by, 'off'))
        plan = self.vrtctl('submit', '--dry-run', '-o', self.path('x.mkv'), films[0]).stdout
        self.assertIn('h264 by nvdec', plan)
        _, software = self.restore(films[0], '--hwaccel', 'off')
        for text, hwdec, said in (
                ('fail 15', 'nvdec', 'nvdec failed after 15 frames.*fallen off the bus'),
                ('crash 15', 'nvdec', 'nvdec failed after 15 frames'),
                ('fail 3', 'off', 'fallen off the bus'),
                ('crash 0', 'off', 'no hardware decodes this, so software decodes'),
                ('differ 3', 'off', "others than software's, from frame 3 on"),
                ('grain', 'off', 'film grain')):
            self.plan(text)
            job, digest = self.restore(films[0])
            self.assertEqual((job['recipe']['hwdec'], digest, len(job['warnings'])),
                             (hwdec, software, 1), (text, job['warnings']))
            self.assertRegex(job['warnings'][0], said, text)
        self.plan('')
        # Only software sees all damage, and decodes a pipe, which nobody can read again.
        job, digest = self.restore(films[0], '--strict')
        self.assertEqual((job['recipe']['hwdec'], digest, job['warnings']), ('off', software, []))
        self.assertEqual(self.restore(self.source())[0]['recipe']['hwdec'], 'off')
        # What is made up for damage is software's.
        damaged = self.path('damaged.mkv')
        harness.ffmpeg('-i', films[0], '-c', 'copy', '-bsf:v',
                       'noise=amount=if(eq(n\\,18)\\,3\\,0)', damaged)
        plain, software = self.restore(damaged, '--hwaccel', 'off')
        job, digest = self.restore(damaged)
        self.assertEqual((job['recipe']['hwdec'], digest), ('nvdec', software), job['warnings'])
        self.assertRegex(job['warnings'][0],
                         "nvdec failed after 1[2-9] frames.*doesn't decode this")
        self.assertRegex(plain['warnings'][0], 'decoded at all|concealed')
        self.assertEqual(job['warnings'][1:], plain['warnings'])

    def test_decoders_named(self):
        self.decoding()
        codecs = {c['name']: c for c in self.daemon.request('GET', '/v1/codecs')[1]['codecs']}
        for name in ('h264', 'hevc', 'vp9'):
            tried = {d['hwdec']: d for d in codecs[name]['hardware_decoders']}
            self.assertEqual(tried['nvdec'], {'hwdec': 'nvdec', 'works': True, 'reason': None})
            self.assertIn("vaapi doesn't work here", tried['vaapi']['reason'])
        self.assertEqual(codecs['ffv1']['hardware_decoders'], [])
        if codecs['av1']['available'] and not codecs['av1']['hardware_decoders'][0]['works']:
            self.assertIn('FFmpeg 7', codecs['av1']['hardware_decoders'][0]['reason'])
        self.assertRegex(self.vrtctl('codecs').stdout, r'hevc +libx265 +\S+ +nvdec +mp4')

    def test_decoding_resumed(self):
        """Begun by hardware, and gone on with where there is none: the same bytes."""
        self.decoding()
        film = self.film('libx264', 'yuv420p')
        _, software = self.restore(film, '--hwaccel', 'off')
        self.daemon.stop()
        self.config['devices'] = {'fault': 'cpu:0 submit:1- takes=60ms'}
        self.config['cpu'] = {'devices': 1}
        self.serve(env=with_standin())
        job = self.begin(film)
        del self.config['devices'], self.config['cpu']
        self.serve()
        self.vrtctl('resume', job, status=None)
        self.vrtctl('wait', job, status=None)
        shown = self.daemon.request('GET', f'/v1/jobs/{job}')[1]
        self.assertEqual((shown['state'], shown['recipe']['hwdec'], shown['reproducible']),
                         ('done', 'nvdec', True), shown)
        self.assertIn("nvdec fails, so software decodes, the same frames: nvdec doesn't work here",
                      shown['warnings'][0])
        self.assertEqual(harness.digest(self.path('result.mkv')), software)

    def begin(self, source, *options):
        """A job whose daemon is killed when it has stored a segment."""
        done = self.vrtctl('submit', '--json', '--overwrite', *options, '-o',
                           self.path('result.mkv'), source)
        job = harness.json.loads(done.stdout)['id']
        deadline = time.monotonic() + harness.PATIENCE_S
        while not self.stored(job, 1):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.daemon.process.kill()
        self.daemon.process.wait()
        return job

    def stored(self, job, n):
        return self.daemon.request('GET', f'/v1/jobs/{job}')[1]['segments_done'] >= n

    def test_goes_on(self):
        """Killed, it goes on by the same hardware, and not by other means."""
        source = self.source()
        self.config = harness_config = {**self.config, 'devices': {
            'fault': 'cpu:0 submit:1- takes=60ms'}, 'cpu': {'devices': 1}}
        self.serve(env=with_standin())
        job = self.begin(source, '--hwaccel', 'nvenc')
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
