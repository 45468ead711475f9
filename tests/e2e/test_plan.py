#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dry runs tell what a job would be, profiles what a device can do, and neither leaves a trace."""
import json
import os
import signal
import subprocess

import checkpoints
import harness
from harness import clip

MIB = 1 << 20


class Plan(harness.Case):
    config = {'devices': {'memory_limit': '8G'}}
    few_jobs = True

    def plan(self, source, *options, **more):
        done = self.vrtctl('submit', '--dry-run', '--json', *options, source, **more)
        return json.loads(done.stdout)

    def test_large_video_on_8_gb(self):
        source = clip(self.path('hd.mp4'), frames=3, size='1920x1080')
        before = sorted(os.listdir(self.folder))
        plan = self.plan(source)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual(self.daemon.request('GET', '/v1/jobs')[1], {'jobs': [], 'next': None})
        self.assertEqual(plan['frames_total'], 3)
        self.assertEqual(plan['shards'] * plan['recipe']['clip_frames'], 3)
        self.assertEqual((plan['video']['output_width'], plan['video']['output_height']),
                         (3840, 2160))
        device, = plan['devices']
        self.assertNotEqual(device['precision'], 'auto')
        # All that nobody asked for otherwise.
        not_asked = ('denoise', 'sigma', 'bitrate', 'target_size_bytes', 'scale', 'pixel_format',
                     'encoder_options', 'streams', 'alpha')
        self.assertEqual(plan['recipe'], {
            'clip_frames': 1, 'clip_overlap': 0, 'tile_width': 1920, 'tile_height': 1080,
            'overlap': 10, 'tiling': 'blend', 'scene_cuts': 0, 'strength': 1,
            'precision': device['precision'], 'codec': 'h264', 'quality': 18, 'preset': 'medium',
            'encoder_threads': 16, 'deinterlace': 'off', 'times': 1, 'times_every': 1,
            'tonemap': 'off', 'hwaccel': 'off', 'hwdec': 'off', **dict.fromkeys(not_asked)})
        self.assertLessEqual(device['allowed_bytes'], 0.9 * 8192 * MIB)
        self.assertLessEqual(device['peak_bytes'], device['allowed_bytes'])
        self.assertEqual(device['peak_bytes'],
                         device['replica_bytes'] + device['workspace_bytes'])
        self.assertGreater(device['gflop_per_s'], 0)
        self.assertAlmostEqual(plan['estimated_s'], plan['shards'] * device['seconds_per_shard'],
                               delta=1e-6 * plan['estimated_s'])
        self.assertAlmostEqual(plan['gflop'] / device['gflop_per_s'], plan['estimated_s'],
                               delta=1e-6 * plan['estimated_s'])

    def test_streams(self):
        """What is in a file, as ffprobe tells it too, and what would become of it."""
        film, texts = clip(self.path('film.mkv'), frames=5, audio=True), self.path('texts.srt')
        with open(texts, 'w', encoding='utf-8') as f:
            f.write('1\n00:00:00,000 --> 00:00:00,100\nhello\n')
        source = self.path('streams.mkv')
        harness.ffmpeg(
            '-i', film, '-i', texts, '-map', '0:v', '-map', '0:a', '-map', '0:a', '-map', '1',
            '-map', '0:v', '-attach', texts, '-metadata:s:5', 'mimetype=text/plain',
            '-c:v:0', 'copy', '-c:v:1', 'ffv1', '-c:a', 'aac', '-c:s', 'ass',
            '-metadata:s:1', 'language=eng', '-metadata:s:1', 'title=Com\x1bments',
            '-metadata:s:2', 'language=deu', '-disposition:2', 'comment', source)
        wanted = {s['index']: s for s in harness.probe(source)['streams']}
        before = self.daemon.request('GET', '/v1/jobs')[1]

        def fates(*options):
            done = self.vrtctl('info', '--json', *options, source)
            streams = json.loads(done.stdout)['streams']
            self.assertEqual([s['index'] for s in streams], list(range(6)))
            for stream in streams:
                probed = wanted[stream['index']]
                self.assertEqual(stream['codec'], probed.get('codec_name', 'none'))
                for key in 'width', 'height', 'channels':
                    self.assertEqual(stream[key], probed.get(key), key)
                if probed['codec_type'] == 'audio':
                    self.assertEqual(stream['sample_rate'], int(probed['sample_rate']))
            self.assertEqual([s['language'] for s in streams[1:3]],
                             [wanted[i]['tags']['language'] for i in (1, 2)])
            self.assertTrue(streams[1]['title'].startswith('Com'))
            self.assertNotIn('\x1b', streams[1]['title'])
            self.assertIn('comment', streams[2]['disposition'])
            self.assertEqual([s['kind'] for s in streams], ['video', 'audio', 'audio', 'subtitles',
                                                            'video', 'attachment'])
            return [s['fate'] for s in streams]
        self.assertEqual(fates(), ['restored'] + 5 * ['copied'])
        self.assertEqual(fates('-o', 'x.mp4'), ['restored', 'copied', 'copied', 'converted',
                                                'no_place', 'no_place'])
        self.assertEqual(fates('--streams', 'v:0,a:m:language:eng'),
                         ['restored', 'copied'] + 4 * ['not_chosen'])
        self.tell_of_many(film, texts)
        # A file that is none is refused as it would be; nothing came of any of it.
        done = self.vrtctl('info', texts, status=1)
        self.assertIn('texts.srt', done.stderr)
        self.assertEqual(self.daemon.request('GET', '/v1/jobs')[1], before)
        self.assertFalse(os.path.exists(self.path('streams.restored.mkv')))

    def tell_of_many(self, film, texts):
        """Not all are told of, but how many there are."""
        source = self.path('many.mkv')
        harness.ffmpeg('-i', film, '-i', texts, '-map', '0:v', *(65 * ('-map', '1')), source)
        plan = json.loads(self.vrtctl('info', '--json', source).stdout)
        self.assertEqual((len(plan['streams']), plan['streams_total']), (64, 66))
        self.assertIn('and 2 more', self.vrtctl('info', source).stdout)

    def test_the_job_is_as_planned(self):
        source = clip(self.path('as.mkv'), frames=9, size='96x64')
        options = ('--precision', 'f32', '--tile', 64, '--codec', 'ffv1')
        plan = self.plan(source, *options)
        self.assertFalse(os.path.exists(self.path('as.restored.mkv')))
        job = self.follow(source, self.path('as-it-is.mkv'), *options)
        for key in ('recipe', 'video', 'model', 'reproducible', 'frames_total'):
            self.assertEqual(plan[key], job[key], key)
        self.assertGreater(plan['tiles'], 1)
        for key in ('replica_bytes', 'workspace_bytes', 'peak_bytes'):
            self.assertEqual(plan['devices'][0][key], job['devices'][0][key], key)
        self.assertEqual(plan['devices'][0]['precision'], 'f32')
        # Now there is something better to go by than a trial.
        again = self.plan(source, *options)
        self.assertNotEqual(again['devices'][0]['gflop_per_s'], plan['devices'][0]['gflop_per_s'])
        self.assertAlmostEqual(again['gflop'], plan['gflop'])

    def test_refused_like_a_job(self):
        source = clip(self.path('r.mp4'))
        self.refused('submit', '--dry-run', '--tile', 32, '--overlap', 400, source, says='tile')
        self.refused('submit', '--dry-run', '-m', 'none', source, says='no model is called none')
        self.refused('submit', '--dry-run', '-d', 'cpu:9', source, says='cpu:9')
        with open(self.path('text.mp4'), 'w', encoding='utf-8') as f:
            f.write('not a video')
        self.refused('submit', '--dry-run', self.path('text.mp4'), says='text.mp4')
        for options, quality, n in ((('--quality', 0), 0, 1), (('--quality', 1), 1, 0),
                                    (('--codec', 'hevc'), 20, 0)):
            plan = self.plan(source, *options)
            self.assertEqual(plan['recipe']['quality'], quality)
            self.assertEqual(str(plan['warnings']).count('lossless, in a profile'), n)

    def test_precision_that_costs_too_much(self):
        """`auto` stays with f32, and says so with the cure: in the plan, at the submission, and of
        the job; one that loses less is taken without a word."""
        device, = self.daemon.request('GET', '/v1/devices')[1]['devices']
        if 'bf16' not in device['description']:
            self.skipTest('this processor has no instructions for bf16')
        source = clip(self.path('p.mp4'), frames=2)
        for gain, precision in (2, 'f32'), (0.5, 'bf16'):
            model = checkpoints.write_safetensors(
                self.path(f'gain-{gain}.safetensors'),
                checkpoints.rrdbnet(6, 16, 8, gain, 0.4 / gain))
            options = '--model', model, '--output', self.path(f'p-{gain}.mkv'), source
            warnings = []
            plan = self.vrtctl('submit', '--dry-run', *options)
            self.assertRegex(plan.stdout, rf'(?m)^cpu:0 +{precision} ')
            warnings.append(plan.stderr)
            warnings.append(self.vrtctl('submit', '--follow', *options).stderr)
            jobs = self.daemon.request('GET', '/v1/jobs')[1]['jobs']
            warnings.append(self.vrtctl('show', max(job['id'] for job in jobs)).stdout)
            for said in warnings:
                if precision == 'f32':
                    self.assertRegex(said, r'cpu:0 computes this network in f32: its faster bf16 '
                                     r'comes to [34]\d\.\d dB of that, and auto asks for 50; '
                                     '--precision bf16 takes it all the same')
                else:
                    self.assertNotIn(' dB ', said)
        job = self.follow(source, self.path('p-all-the-same.mkv'), '--precision', 'bf16',
                          '--model', self.path('gain-2.safetensors'))
        self.assertEqual(job['recipe']['precision'], 'bf16')
        self.assertNotIn(' dB ', ' '.join(job['warnings']))


class SmallDevice(harness.Case):
    """A device of which only so much may be used is planned, and held, as small as that."""

    config = {'devices': {'memory_limit': '48M', 'memory_fraction': '0.5'},
              'cpu': {'devices': 2, 'threads': 1}}
    few_jobs = True

    def test_tiled_until_it_fits(self):
        source = clip(self.path('t.mp4'), frames=2, size='640x480')
        done = self.vrtctl('submit', '--dry-run', '--json', '-d', 'all', source)
        plan = json.loads(done.stdout)
        self.assertGreater(plan['tiles'], 1)
        self.assertEqual(len(plan['devices']), 2)
        for device in plan['devices']:
            self.assertLessEqual(device['allowed_bytes'], 24 * MIB)
            self.assertLessEqual(device['peak_bytes'], device['allowed_bytes'])
        self.refused('submit', '--dry-run', '--tile', 0, source, says='MiB to give')
        job = self.follow(source, self.path('t.out.mp4'), '-d', 'all')
        self.assertEqual(job['state'], 'done')
        self.assertEqual(job['recipe'], plan['recipe'])
        for device in self.daemon.request('GET', '/v1/devices')[1]['devices']:
            self.assertEqual(device['memory']['total_bytes'], 48 * MIB)
            self.assertLessEqual(device['memory']['peak_bytes'], 48 * MIB)

    def test_too_large(self):
        source = clip(self.path('l.mp4'), frames=1, size='1920x1080')
        self.refused('submit', '--dry-run', source, says='MiB to give')
        self.refused('profile', '--size', '1920x1080', 'compact-x2', says='MiB to give')
        self.refused('profile', 'none', says='no model is called none')


class Profile(harness.Case):
    config = {'cpu': {'devices': 1, 'threads': 2}}
    small = True
    few_jobs = True

    def profile(self, *options, daemon=None):
        return json.loads(self.vrtctl('profile', '--json', *options, 'compact-x2',
                                      daemon=daemon).stdout)

    def workspace_bytes(self, daemon):
        devices = daemon.request('GET', '/v1/devices')[1]['devices']
        return devices[0]['memory']['workspace_bytes']

    def await_workspace(self, daemon, is_held):
        """Until a profile has begun, or has given up what it held."""
        self.wait_until(lambda: bool(self.workspace_bytes(daemon)) == is_held)

    def recipe(self, source, daemon=None, *options):
        done = self.vrtctl('submit', '--dry-run', '--json', *options, source,
                           daemon=daemon or self.daemon)
        return json.loads(done.stdout)['recipe']

    def test_tune(self):
        source = clip(self.path('tune.mp4'), frames=48, size='128x96')
        jobs = self.vrtctl('list', '--all', '--json').stdout
        done = json.loads(self.vrtctl('tune', '--json', source).stdout)
        self.assertEqual({way['precision'] for way in done['ways']} - {'bf16'}, {'f32'})
        best, = [way for way in done['ways'] if way['fastest']]
        self.assertEqual(done['frames_tried'], 48)
        self.assertGreater(done['estimated_s'], 0)
        # The trial left nothing, and what was found is what a job gets.
        self.assertEqual(self.vrtctl('list', '--all', '--json').stdout, jobs)
        recipe = self.recipe(source)
        self.assertEqual((recipe['tile_width'], recipe['tile_height']),
                         (best['tile_width'], best['tile_height']))

    def test_what_was_kept(self):
        """For frames of that size, until somebody asks for something else, and after a restart."""
        source = clip(self.path('kept.mp4'), frames=2, size='320x192')
        other = clip(self.path('other.mp4'), frames=2, size='320x190')
        folder = self.path('kept')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, self.config)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        for is_kept, tile in (False, 128), (True, 96):
            status, _ = daemon.request('POST', '/v1/profile', {
                'model': {'name': 'compact-x2'}, 'width': 320, 'height': 192, 'tile': tile,
                'frames': 1, 'keep': is_kept})
            self.assertEqual(status, 200)
            self.assertEqual(self.recipe(source, daemon)['tile_width'] < 100, is_kept)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())
        daemon = harness.Daemon(folder, self.config)
        self.assertLess(self.recipe(source, daemon)['tile_width'], 100)
        self.assertEqual(self.recipe(other, daemon)['tile_width'], 320)
        self.assertEqual(self.recipe(source, daemon, '--tile', '0')['tile_width'], 320)

    def test_tune_is_interrupted(self):
        source = clip(self.path('long.mp4'), frames=900, size='640x360')
        running = subprocess.Popen([harness.VRTCTL, '--socket', self.daemon.socket, 'tune', source],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.await_workspace(self.daemon, True)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(harness.PATIENCE_S), 130)
        self.assertEqual(running.stderr.read(), b'')
        self.await_workspace(self.daemon, False)
        running.stdout.close()
        running.stderr.close()
        self.refused('tune', self.path('nowhere.mp4'), says='nowhere.mp4')

    def test_tune_loses_its_daemon(self):
        """The trial isn't left for the user to resume."""
        source = clip(self.path('orphan.mp4'), '-preset', 'ultrafast', frames=2000)
        folder = self.path('orphan')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, self.config)
        running = subprocess.Popen([harness.VRTCTL, '--socket', daemon.socket, 'tune', source],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_until(lambda: any(job['state'] == 'running' for job in
                                    daemon.request('GET', '/v1/jobs')[1]['jobs']))
        daemon.kill()
        daemon = harness.Daemon(folder, self.config)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        _, why = running.communicate(timeout=harness.PATIENCE_S)
        # It was gone when it was asked, or is another one already.
        self.assertIn(running.returncode, (1, 3), why)
        self.assertRegex(why, 'anew|is not running|closed the connection')
        self.assertEqual(daemon.request('GET', '/v1/jobs')[1]['jobs'], [])

    def start(self, name, fault):
        folder = self.path(name)
        os.mkdir(folder)
        daemon = harness.Daemon(folder, self.config, fault=fault)
        self.addCleanup(self.stop_daemon, daemon)
        return daemon

    def test_beside_a_job(self):
        """Both get on; the job isn't told, the profile is."""
        source = clip(self.path('beside.mkv'), '-c:v', 'ffv1', frames=160, size='96x64')
        daemon = self.start('beside', 'cpu submit:1- delay=10ms')
        self.vrtctl('submit', '--precision', 'f32', '-o', self.path('beside.out.mkv'), source,
                    daemon=daemon)
        self.wait_until(lambda: daemon.job(1)['frames_done'])
        p = self.profile('-n', 3, '--size', '64x64', '--precision', 'f32', daemon=daemon)
        self.assertEqual((p['frames'], p['warnings']), (3, [
            'jobs ran meanwhile: on an idle machine the times may be shorter']))
        job = json.loads(self.vrtctl('wait', '--json', 1, daemon=daemon).stdout.splitlines()[-1])
        self.assertEqual((job['state'], job['frames_done'], job['warnings']), ('done', 160, []))

    def test_who_goes_away_stops_it(self):
        environment = dict(os.environ, VRTD_SOCKET=self.daemon.socket)
        self.await_workspace(self.daemon, False)
        long = subprocess.Popen([harness.VRTCTL, 'profile', '-n', '10000', '--size', '640x480',
                                 'compact-x2'], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.await_workspace(self.daemon, True)
        self.refused('profile', '-n', 1, '--size', '32x32', 'compact-x2', says='another model')
        long.send_signal(signal.SIGINT)
        long.communicate(timeout=harness.PATIENCE_S)
        self.wait_until(lambda: self.vrtctl('profile', '-n', 1, '--size', '32x32', 'compact-x2',
                                            status=None).returncode == 0)
        self.assertIn('its client went away', self.daemon.log_text())


if __name__ == '__main__':
    harness.main()
