#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl doctor on XPU devices: cards that are well, that are lost and lie, that are masked, and
no cards, for each reason that there may be."""
import json
import os

import harness
import xpu
from harness import digest

PARTS = ['device.state', 'device.memory', 'device.kernel', 'device.weights', 'device.network',
         'device.network.f16']


class Doctor(xpu.Case):
    def examine(self, daemon, *options, status=0):
        """The checks by (id, subject)."""
        self.devices(daemon)
        done = self.vrtctl('doctor', '--json', *options, daemon=daemon, status=status)
        self.assertEqual(done.stderr, '')
        return {(c['id'], c['subject']): c for c in json.loads(done.stdout)['checks']}

    def statuses(self, checks, device):
        return [checks[part, device]['status'] for part in PARTS if (part, device) in checks]

    def test_all_is_well(self):
        checks = self.examine(self.daemon)
        for device in ('xpu:0', 'xpu:1'):
            self.assertEqual(self.statuses(checks, device), ['ok'] * 6, checks)
            self.assertRegex(checks['device.network', device]['result'], r'^1[0-9]{2}\.[0-9] dB')
            self.assertIn('16.0 of 16.0 GiB free', checks['device.memory', device]['result'])
        self.assertRegex(checks['backend.driver', 'xpu']['result'],
                         r'^a driver of version [0-9.]+, by libze_loader\.so\.1$')
        self.assertIn(xpu.DRIVER, checks['environment', 'ZE_ENABLE_ALT_DRIVERS']['result'])
        self.assertNotIn(('environment', 'ZE_AFFINITY_MASK'), checks)

    def test_one_is_lost(self):
        """While it is examined; the other is well, and the next examination knows."""
        daemon = self.start('lost', VRT_XPU_FAULTS='1 run:1 lost',
                            config={'devices': {'backoff_s': 300}})
        checks = self.examine(daemon, '-d', 'xpu', status=1)
        self.assertEqual(self.statuses(checks, 'xpu:0'), ['ok'] * 6)
        self.assertEqual(checks['device.kernel', 'xpu:1']['status'], 'failed')
        self.assertIn('lost', checks['device.kernel', 'xpu:1']['result'])
        checks = self.examine(daemon, '-d', 'xpu:1', status=1)
        self.assertEqual(self.statuses(checks, 'xpu:1'), ['failed'])
        self.assertIn('in quarantine', checks['device.state', 'xpu:1']['result'])
        self.assertTrue(checks['device.state', 'xpu:1']['cure'])
        self.ends_well(daemon)

    def test_one_computes_wrongly(self):
        """A bit is wrong in all that its kernels write."""
        daemon = self.start('wrong', VRT_XPU_FAULTS='1 run:1- flip')
        checks = self.examine(daemon, '-d', 'xpu', status=1)
        self.assertEqual(self.statuses(checks, 'xpu:0'), ['ok'] * 6)
        self.assertEqual(checks['device.kernel', 'xpu:1']['status'], 'failed')
        self.assertEqual(checks['device.network', 'xpu:1']['status'], 'failed')
        self.assertIn('keep jobs away', checks['device.kernel', 'xpu:1']['cure'])
        self.assertEqual([d['state'] for d in self.devices(daemon)], ['ready'] * 3)
        self.ends_well(daemon)

    def test_one_has_no_memory(self):
        """There is less left than a kernel needs."""
        control = self.path('full.faults')
        daemon = self.start('full', VRT_XPU_CONTROL=control)
        self.assertEqual([d['state'] for d in self.devices(daemon)], ['ready'] * 3)
        with open(control, 'w', encoding='utf-8') as f:
            f.write('1 alloc:1- fail')
        checks = self.examine(daemon, '-d', 'xpu:1', status=1)
        self.assertEqual(checks['device.kernel', 'xpu:1']['result'], 'out of device memory')
        self.assertEqual(checks['device.network', 'xpu:1']['status'], 'failed')
        self.ends_well(daemon)

    def test_while_a_job_runs(self):
        """On both cards, which still are examined; its bytes are those of one left alone."""
        source = xpu.film(self.path('busy.mkv'), 48)
        options = ('--device', 'xpu', '--precision', 'f32', '--codec', 'ffv1')
        self.follow(source, self.path('alone.mkv'), *options)
        daemon = self.start('busy', VRT_XPU_FAULTS='run:every=4 delay=20ms')
        self.devices(daemon)
        target, n_busy = self.path('examined.mkv'), 0
        job = json.loads(self.vrtctl('submit', '--json', *options, '--output', target, source,
                                     daemon=daemon).stdout)['id']
        while daemon.job(job)['state'] in ('queued', 'running'):
            checks = self.examine(daemon, '-d', 'xpu')
            for device in ('xpu:0', 'xpu:1'):
                self.assertEqual(self.statuses(checks, device), ['ok'] * 6, checks)
            n_busy += checks['device.state', 'xpu:1']['result'].startswith('busy')
        self.vrtctl('wait', job, daemon=daemon)
        self.assertGreater(n_busy, 0)
        self.assertEqual(digest(target), digest(self.path('alone.mkv')))
        self.ends_well(daemon)

    def test_masked(self):
        """The second card alone, which is xpu:0 then and says why; and a mask that names none."""
        second = self.devices()[1]
        daemon = self.start('masked', ZE_AFFINITY_MASK='1')
        checks = self.examine(daemon)
        self.assertEqual(self.statuses(checks, 'xpu:0'), ['ok'] * 6)
        self.assertNotIn(('device.state', 'xpu:1'), checks)
        self.assertIn('"1" for vrtd', checks['environment', 'ZE_AFFINITY_MASK']['result'])
        only = self.devices(daemon)[0]
        self.assertEqual(only['card']['uuid'], second['card']['uuid'])
        self.assertIn('ZE_AFFINITY_MASK=1', only['description'])
        self.ends_well(daemon)
        daemon = self.start('none', ZE_AFFINITY_MASK='7')
        checks = self.examine(daemon, '-d', 'xpu', status=1)
        self.assertEqual(checks['device.state', 'xpu']['status'], 'failed')
        self.assertEqual(checks['backend.devices', 'xpu']['status'], 'warning')
        self.assertIn('unset ZE_AFFINITY_MASK', checks['backend.devices', 'xpu']['cure'])
        self.ends_well(daemon)

    def test_no_driver(self):
        daemon = self.start('no-driver', ZE_ENABLE_ALT_DRIVERS='/nonexistent.so')
        checks = self.examine(daemon, '-d', 'xpu', status=1)
        self.assertEqual(checks['backend.driver', 'xpu']['status'], 'warning')
        self.assertIn('libze-intel-gpu1', checks['backend.driver', 'xpu']['cure'])
        target = self.path('redirected.mkv')
        job = self.follow(xpu.film(self.path('one.mkv'), 2), target, '--device', 'xpu',
                          daemon=daemon)
        self.assertEqual(job['warnings'], ['this machine has no xpu device: cpu is used instead; '
                                           'vrtctl doctor tells why'])
        self.ends_well(daemon)

    def test_no_loader(self):
        """A folder that is searched first has something else by its name."""
        folder = self.path('no-loader-libraries')
        os.mkdir(folder)
        with open(os.path.join(folder, 'libze_loader.so.1'), 'w', encoding='utf-8'):
            pass
        daemon = self.start('no-loader', LD_LIBRARY_PATH=folder)
        checks = self.examine(daemon, '-d', 'xpu', status=1)
        self.assertEqual(checks['backend.loader', 'xpu']['status'], 'warning')
        self.assertIn('libze1', checks['backend.loader', 'xpu']['cure'])
        self.ends_well(daemon)


if __name__ == '__main__':
    harness.main()
