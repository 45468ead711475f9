#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several devices in one job: the same bytes, whoever computed them, and whoever failed."""
import json
import os
import time
import unittest

import checkpoints
import harness
from harness import clip, digest


class DevicesCase(harness.Case):
    config = {'cpu': {'devices': 2, 'threads': 1}}
    small = True
    few_jobs = True

    def with_daemon(self, name, config, source, *options):
        folder = self.path(name)
        os.mkdir(folder)
        daemon = harness.Daemon(folder, config, small=self.small)
        self.addCleanup(daemon.stop)
        target = os.path.join(folder, 'out.mkv')
        done = self.vrtctl('submit', '--follow', '--json', '--precision', 'f32', *options,
                           '--output', target, source, daemon=daemon)
        self.stop_daemon(daemon)
        return json.loads(done.stdout.strip().splitlines()[-1]), digest(target)


class Devices(DevicesCase):
    def test_films_that_are_dark(self):
        """Fades, credits, nights, white and one colour are what films are made of."""
        looks = {
            'in': 'fade=in:0:16', 'out': 'fade=out:4:12', 'white': 'fade=in:0:16:color=white',
            'night': 'eq=brightness=-0.35:contrast=0.6', 'dark': 'eq=brightness=-0.6:gamma=0.5',
            'credits': 'drawbox=c=black:t=fill,drawbox=40:30:80:12:c=white:t=fill,scroll=v=0.1',
            'red': 'colorchannelmixer=rr=1:gg=0.05:bb=0.05', 'gray': 'hue=s=0',
        }
        for source in 'testsrc2', 'mandelbrot':
            for name, look in looks.items():
                with self.subTest(source=source, look=name):
                    path = clip(self.path(f'{source}-{name}.mkv'), '-c:v', 'ffv1', '-vf',
                                look + ',format=yuv420p', frames=20, size='96x64', source=source)
                    job = self.follow(path, self.path(f'{source}-{name}.out.mkv'), '--overwrite')
                    self.assertEqual(self.own_warnings(job), [])
        if not harness.FAULT:
            self.assertNotIn('the result ', self.daemon.log_text())

    def test_reference_is_a_device_only_where_it_is_configured(self):
        source = clip(self.path('ref.mp4'), frames=1, size='16x16')
        self.assertNotIn('ref:0', self.vrtctl('devices').stdout)
        self.refused('submit', '--device', 'ref', '--output', self.path('ref.out.mp4'), source,
                     says='reference = on')
        config = {'cpu': {'devices': 1, 'threads': 1}, 'devices': {'reference': 'on'}}
        job, _ = self.with_daemon('ref', config, source, '--device', 'ref')
        self.assertEqual([d['name'] for d in job['devices']], ['ref:0'])


@unittest.skipIf(harness.FAULT, 'they have schedules of their own')
class Schedules(DevicesCase):
    def trim(self, daemon, *arguments, status=0):
        """What became of the devices, by name."""
        done = self.vrtctl('devices', '--json', *arguments, daemon=daemon, status=status)
        return {line['name']: line for line in map(json.loads, done.stdout.splitlines())}

    def start(self, name, fault):
        """A daemon of two devices that suffer as `fault` says, and nothing else."""
        folder = self.path(name)
        os.mkdir(folder)
        config = {'cpu': {'devices': 2, 'threads': 1},
                  'devices': {'backoff_s': 1, 'fault': fault}}
        daemon = harness.Daemon(folder, config, fault='', small=self.small)
        self.addCleanup(self.stop_daemon, daemon)
        return daemon

    def test_replicas_are_listed(self):
        """After a job each device keeps the weights, idle; while it runs they are in use."""
        source = clip(self.path('r.mkv'), '-c:v', 'ffv1', frames=40)
        folder = self.path('replicas')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, {'cpu': {'devices': 3, 'threads': 1}})
        self.addCleanup(self.stop_daemon, daemon)
        self.assertEqual(daemon.request('GET', '/v1/models')[1]['replicas'], [])
        self.vrtctl('submit', '--follow', '--precision', 'f32', '--device', 'all', '--model',
                    'compact-x2', '--output', os.path.join(folder, 'out.mkv'), source,
                    daemon=daemon)
        answer = daemon.request('GET', '/v1/models')[1]
        held = [r for r in answer['replicas'] if r['model'] == 'compact-x2']
        self.assertEqual(sorted(r['device'] for r in held), ['cpu:0', 'cpu:1', 'cpu:2'])
        model = next(m for m in answer['models'] if m['name'] == 'compact-x2')
        for replica in held:
            self.assertEqual(replica['checksum'], model['checksum'])
            self.assertEqual(replica['precision'], 'f32')
            self.assertEqual(replica['bytes'], held[0]['bytes'])
            self.assertGreater(replica['bytes'], model['parameters'] * 4 // 2)
            self.assertIn(replica['state'], ['ready', 'in_use', 'idle'])
        lines = self.vrtctl('models', daemon=daemon).stdout.splitlines()
        self.assertEqual(len([line for line in lines if line.startswith('cpu:')]), 3, lines)

    def test_a_network_that_blackens(self):
        """It is believed once every device was asked twice, however many there are, and though one
        of them failed otherwise besides."""
        source = clip(self.path('black.mkv'), '-c:v', 'ffv1', frames=4, size='64x48')
        tensors = dict(checkpoints.rrdbnet(2, 16, 8),
                       **{'conv_last.bias': checkpoints.zeros([3])})
        model = checkpoints.write_safetensors(self.path('black.safetensors'), tensors)
        for name, fault in ('blackens', ''), ('once-worse', 'cpu:1 submit:2 corrupt=nan'):
            config = {'cpu': {'devices': 9, 'threads': 1}, 'devices': {'fault': fault}}
            job, _ = self.with_daemon(name, config, source, '--device', 'all', '--model', model)
            self.assertEqual(job['frames_done'], 4)
            self.assertEqual(['blackens' in w for w in job['warnings']].count(True), 1,
                             job['warnings'])

    def test_devices_are_trimmed(self):
        """What no job uses goes, where it was asked for; the peaks are what is held since."""
        source = clip(self.path('t.mkv'), '-c:v', 'ffv1', frames=40)
        daemon = self.start('trim', 'cpu:1 submit:1- delay=1ms')
        self.follow(source, os.path.join(daemon.folder, 'out.mkv'), '--precision', 'f32',
                    daemon=daemon)

        def memory():
            devices = daemon.request('GET', '/v1/devices')[1]['devices']
            return {d['name']: d['memory'] for d in devices}

        # A device gives up a job's workspace when it gets to it: the job may be done before.
        self.wait_until(lambda: not any(m['workspace_bytes'] for m in memory().values()))
        before = memory()
        for held in before.values():
            self.assertGreater(held['replica_bytes'], 0)
            self.assertGreater(held['peak_bytes'], held['replica_bytes'])
        done = self.trim(daemon, 'cpu:1', '--reset-peak')['cpu:1']
        self.assertTrue(done['done'])
        self.assertEqual((done['freed_bytes'], done['message']), (None, None))
        self.assertEqual(done['former_peak_bytes'], before['cpu:1']['peak_bytes'])
        self.assertEqual(done['memory']['peak_bytes'], before['cpu:1']['replica_bytes'])
        done = self.trim(daemon, '--trim', '--reset-peak')
        self.assertEqual(sorted(done), ['cpu:0', 'cpu:1'])
        for name, device in done.items():
            self.assertEqual(device['freed_bytes'], before[name]['replica_bytes'])
            self.assertEqual(device['memory']['replica_bytes'], 0)
            self.assertEqual(device['memory']['peak_bytes'], 0)
        self.assertEqual(done['cpu:0']['former_peak_bytes'], before['cpu:0']['peak_bytes'])
        self.assertEqual(daemon.request('GET', '/v1/models')[1]['replicas'], [])

    def test_devices_are_trimmed_while_a_job_runs(self):
        """Between two of its shards; it keeps what it uses, and its result is what it would be."""
        source = clip(self.path('during.mkv'), '-c:v', 'ffv1', frames=80)
        digests = []
        for name in 'left', 'trimmed':
            daemon = self.start(name, 'cpu submit:1- delay=3ms')
            target = os.path.join(daemon.folder, 'out.mkv')
            number = json.loads(self.vrtctl('submit', '--json', '--precision', 'f32', '--output',
                                            target, source, daemon=daemon).stdout)['id']
            self.wait_until(lambda d=daemon, n=number: d.job(n)['frames_done'] > 0)
            if name == 'trimmed':
                for device in self.trim(daemon, '--trim').values():
                    self.assertTrue(device['done'], device)
                    self.assertEqual(device['freed_bytes'], 0)
                    self.assertGreater(device['memory']['replica_bytes'], 0)
                state = daemon.job(number)['state']
                self.assertIn(state, ['running', 'finishing'], daemon.log_text())
            self.vrtctl('wait', number, daemon=daemon)
            digests.append(digest(target))
        self.assertEqual(*digests)

    def test_progress_within_shards(self):
        """Long before the first of them is done."""
        daemon = self.start('parts', 'submit:1- delay=30ms')
        source = clip(self.path('parts.mkv'), '-c:v', 'ffv1', frames=40)
        done = self.vrtctl('submit', '--json', '--output', self.path('parts.out.mkv'), source,
                           daemon=daemon)
        job, looks = json.loads(done.stdout)['id'], []
        while not looks or looks[-1]['state'] in ('queued', 'running', 'finishing'):
            looks.append(daemon.job(job))
            time.sleep(0.01)
        early = [look for look in looks if look['frames_done'] == 0 and look['frames_underway']]
        self.assertGreater(len({look['frames_underway'] for look in early}), 3)
        for look in early:
            self.assertLess(look['frames_underway'], 40)
            self.assertAlmostEqual(look['percent'], look['frames_underway'] * 100 / 40, delta=0.01)
        percents = [look['percent'] for look in looks if look['state'] == 'running']
        self.assertEqual(percents, sorted(percents))
        self.assertTrue(any(look['left_s'] for look in early))
        last = looks[-1]
        self.assertEqual((last['state'], last['percent'], last['frames_underway']),
                         ('done', 100, None))
        fps = sum(device['fps'] for device in last['devices'])
        self.assertAlmostEqual(fps / last['fps'], 1, delta=0.2)

    def test_killed_between_a_recipe_and_a_smaller_one(self):
        """Killed at several moments around the change, or never, it ends with the smaller one's
        result."""
        source = clip(self.path('between.mkv'), '-c:v', 'ffv1', frames=40, size='192x128')
        config = {'cpu': {'devices': 1, 'threads': 1}, 'jobs': {'segment_frames': 8}}
        config_after = dict(config, devices={'fault': 'cpu alloc:1- nomem>3000000'})
        options = '--precision', 'f32', '--model', 'compact-x2'
        _, wanted = self.with_daemon('smaller', config_after, source, *options)
        config['devices'] = {'backoff_s': 1, 'fault': 'cpu submit:1- delay=2ms; cpu submit:40 lost;'
                                                      ' cpu alloc:12- nomem>3000000'}
        for i, wait_s in enumerate([0, 0.03, None]):
            folder = self.path(f'between{i}')
            os.mkdir(folder)
            target = os.path.join(folder, 'out.mkv')
            daemon = harness.Daemon(folder, config)
            number = str(json.loads(self.vrtctl('submit', '--json', *options, '--output', target,
                                                source, daemon=daemon).stdout)['id'])
            deadline = time.monotonic() + harness.PATIENCE_S
            while 'is begun anew with smaller' not in daemon.log_text():
                self.assertLess(time.monotonic(), deadline, daemon.log_text())
                time.sleep(0.002)
            if wait_s is not None:
                time.sleep(wait_s)
                daemon.kill()
                daemon = harness.Daemon(folder, config_after)
                self.vrtctl('resume', number, daemon=daemon)
            self.vrtctl('wait', number, daemon=daemon)
            job = daemon.job(number)
            # Killed at once, it may not have been noted yet.
            self.assertTrue(wait_s == 0 or 'began anew' in '\n'.join(job['warnings']))
            self.assertGreater(job['n_starts'], 1)
            self.assertEqual(job['state'], 'done', daemon.log_text())
            self.assertEqual(digest(target), wanted, daemon.log_text())
            self.assertLess(job['recipe']['tile_width'], 192)
            self.assertEqual(daemon.stop(), 0, daemon.log_text())


if __name__ == '__main__':
    harness.main()
