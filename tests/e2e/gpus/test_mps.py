#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MPS devices, on the simulated Mac: what is told of them, jobs on several of them, with the CPU
and with all other kinds at once, and on GPUs that fail, hang, are full and are taken away.

VRTD_MPS_LIBRARY is what takes the place of Metal (tests/simulators/mps), VRT_MPS_CACHE where it
keeps what it compiled. Where VRTD_XPU_DRIVER and VRTD_CUDA_SIM say where such machines are, these
are there as well. A daemon that uses Metal as it mustn't doesn't end well.
"""
import json
import os
import unittest

import cards
import harness
import xpu
from harness import digest, pixels

PARTS = ['device.state', 'device.memory', 'device.kernel', 'device.weights', 'device.network',
         'device.network.f16']
CUDA = os.environ.get('VRTD_CUDA_SIM', '')


def environment(**more):
    """Of a daemon on a Mac with two GPUs, unless it is told. Without matrices: these take the
    simulation long."""
    return os.environ | {'VRT_MPS_LIBRARY': os.environ['VRTD_MPS_LIBRARY'],
                         'VRT_MPS_DEVICES': '2', 'VRT_MPS_FAMILY': '1005'} | more


class Jobs(cards.Case):
    """Two GPUs, and daemons beside that have other luck."""

    kind = 'mps'
    small = True
    environment = staticmethod(environment)

    def test_what_is_told(self):
        devices = self.devices()
        self.assertEqual([d['name'] for d in devices], ['mps:0', 'mps:1', 'cpu:0'])
        self.assertEqual([d['state'] for d in devices], ['ready'] * 3, self.daemon.log_text())
        self.assertEqual(devices[0]['memory']['total_bytes'], 16384 << 20)
        self.assertIn("of the host's memory", devices[0]['description'])
        self.assertIn('mps:1', self.vrtctl('devices', 'mps:1').stdout)

    def job_of(self, source, target, devices):
        return self.follow(source, target, '--device', devices, '--precision', 'f32', '--codec',
                           'ffv1')

    def test_two_gpus_give_the_bytes_of_one(self):
        for precision in ('f32', 'f16'):
            with self.subTest(precision=precision):
                both = self.jobs_agree(self.daemon, 'well-' + precision, precision)
                self.assertEqual(both['warnings'], [])

    def test_auto_takes_them(self):
        source = cards.film(self.path('auto.mkv'), 4)
        job = self.follow(source, self.path('auto-out.mkv'))
        self.assertLessEqual({d['name'] for d in job['devices']}, {'mps:0', 'mps:1'})
        self.assertEqual(job['warnings'], [])

    def test_memory_of_their_own(self):
        """As an Intel Mac's GPUs have it; work in pieces as small as may be."""
        daemon = self.start('discrete', VRT_MPS_UNIFIED='0', config={'mps': {'work_mflop': 1}})
        self.jobs_agree(daemon, 'discrete')
        self.ends_well(daemon)

    def test_with_the_cpu(self):
        """Another class of device: as the page on devices says, within rounding."""
        source, targets = cards.film(self.path('mixed.mkv'), 24), {}
        for devices in ('mps:0', 'mps:0,cpu:0'):
            targets[devices] = self.path(f'mixed-{len(targets)}.mkv')
            job = self.job_of(source, targets[devices], devices)
            self.assertEqual(sum(d['frames_done'] for d in job['devices']), 24)
        self.assertEqual([d['name'] for d in job['devices']], ['mps:0', 'cpu:0'])
        one, other = (pixels(path) for path in targets.values())
        self.assertEqual(len(one), len(other))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(one, other)), 1)

    def test_one_of_two_fails_once(self):
        """As by the system's watchdog: the shard is computed again."""
        for error in (1, 2):
            with self.subTest(error=error):
                daemon = self.start(f'once-{error}', VRT_MPS_FAULTS=f'1 commit:12 error={error}')
                self.jobs_agree(daemon, f'once-{error}')
                self.await_log(daemon, 'failed: ')
                self.ends_well(daemon)

    def test_one_of_two_is_taken_away(self):
        for error in (4, 11):
            with self.subTest(error=error):
                daemon = self.start(f'gone-{error}', VRT_MPS_FAULTS=f'1 commit:12 error={error}')
                job = self.jobs_agree(daemon, f'gone-{error}')
                self.assertEqual(len(job['warnings']), 1)
                self.assertIn('mps:1', job['warnings'][0])
                self.assertIn('the device is lost', job['warnings'][0])
                self.ends_well(daemon)

    def test_one_of_two_is_full(self):
        daemon = self.start('full', VRT_MPS_FAULTS='1 commit:12- error=8')
        job = self.jobs_agree(daemon, 'full')
        self.assertIn('mps:1', job['warnings'][0])
        self.assertIn('memory', job['warnings'][0])
        self.ends_well(daemon)

    def test_one_of_two_hangs(self):
        """What it had goes to the other, and it is given up in time."""
        daemon = self.start('stuck', config={'mps': {'patience_s': 3}},
                            VRT_MPS_FAULTS='1 commit:12 hang')
        self.jobs_agree(daemon, 'stuck')
        self.await_log(daemon, 'it is given up')
        self.ends_well(daemon)

    def test_killed(self):
        source, target = cards.film(self.path('killed.mkv'), 48), self.path('killed-out.mkv')
        self.job_of(source, self.path('killed-wanted.mkv'), 'mps:0,mps:1')
        config = {'jobs': {'segment_frames': 8}}
        daemon = self.start('killed', config=config)
        number = json.loads(self.vrtctl(
            'submit', '--json', '--device', 'mps:0,mps:1', '--precision', 'f32', '--codec', 'ffv1',
            '--output', target, source, daemon=daemon).stdout)['id']
        self.wait_until(lambda: daemon.job(number)['segments_done'] >= 1)
        daemon.kill()
        daemon = self.start('killed', config=config)
        self.vrtctl('resume', number, daemon=daemon)
        self.vrtctl('wait', number, daemon=daemon)
        self.assertEqual(digest(target), digest(self.path('killed-wanted.mkv')))
        self.ends_well(daemon)

    def examine(self, daemon, *options, status=0):
        """The checks by (id, subject)."""
        self.devices(daemon)
        done = self.vrtctl('doctor', '--json', *options, daemon=daemon, status=status)
        return {(c['id'], c['subject']): c for c in json.loads(done.stdout)['checks']}

    def test_doctor(self):
        checks = self.examine(self.daemon, '-d', 'mps')
        for device in ('mps:0', 'mps:1'):
            self.assertEqual([checks[part, device]['status'] for part in PARTS], ['ok'] * 6, checks)
        self.assertRegex(checks['backend.library', 'mps']['result'], '^Metal of macOS [0-9.]+$')

    def test_doctor_without_a_gpu(self):
        daemon = self.start('none', VRT_MPS_DEVICES='0')
        checks = self.examine(daemon, '-d', 'mps', status=1)
        self.assertEqual(checks['backend.devices', 'mps']['status'], 'warning')
        self.assertIn('LaunchAgent', checks['backend.devices', 'mps']['cure'])
        self.ends_well(daemon)


@unittest.skipUnless(CUDA and xpu.DRIVER, 'not all kinds of device are simulated')
class AllKinds(cards.Case):
    """A machine with a card of NVIDIA's, one of Intel's and one of Apple's."""
    small = True

    @staticmethod
    def environment(**more):
        return environment(VRT_MPS_DEVICES='1', VRTD_PLUGIN_DIR=CUDA, VRT_XPU_DEVICES='1',
                           ZE_ENABLE_ALT_DRIVERS=xpu.DRIVER, **more)

    def test_one_job(self):
        """Each has a part of it: the faster ones wait for the first of the slower."""
        names = ['cuda:0', 'xpu:0', 'mps:0', 'cpu:0']
        hang, last = self.path('hang'), self.path('last')
        daemon = self.start('all', fault=f'xpu:0 submit:1- hang={hang}; '
                                         f'mps:0 submit:1- hang={hang}; '
                                         f'cpu:0 submit:1- hang={last}')
        self.assertEqual([d['name'] for d in self.devices(daemon)], names)
        source, targets = cards.film(self.path('all.mkv'), 160), {}
        options = '--precision', 'f32', '--codec', 'ffv1'
        targets['cpu:0'] = self.path('all-0.mkv')
        self.follow(source, targets['cpu:0'], '--device', 'cpu:0', *options)
        targets['all'] = self.path('all-1.mkv')
        for path in hang, last:
            with open(path, 'w', encoding='utf-8'):
                pass
        done = self.vrtctl('submit', '--json', '--device', ','.join(names), *options, '--output',
                           targets['all'], source, daemon=daemon)
        number = json.loads(done.stdout)['id']
        for path, waited in (hang, names[:1]), (last, names[:3]):
            self.wait_until(lambda waited=waited: all(
                d['frames_done'] > 0 for d in daemon.job(number)['devices'] if d['name'] in waited))
            os.unlink(path)
        self.vrtctl('wait', number, daemon=daemon)
        job = daemon.job(number)
        self.assertEqual([d['name'] for d in job['devices']], names)
        self.assertEqual(job['warnings'], [])
        self.assertEqual(sum(d['frames_done'] for d in job['devices']), 160)
        self.assertTrue(all(d['frames_done'] > 0 for d in job['devices']), job['devices'])
        one, other = (pixels(path) for path in targets.values())
        self.assertEqual(len(one), len(other))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(one, other)), 1)
        self.ends_well(daemon)


if __name__ == '__main__':
    harness.main()
