#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtd beside Intel's own driver, which computes nothing (tests/intel/intel.py): it starts, tells
what there is, gives the cards no work since what they give back isn't right, and goes on."""
import json
import os

import harness
import intel


class Intel(harness.Case):
    config = {'devices': {'patience_s': 1}}

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=cls.environment(), **options)

    @staticmethod
    def environment(**more):
        """Of two Arc A770, without the recorder and the validation layer."""
        env = intel.environment('dg2', CreateMultipleRootDevices='2', **more)
        return {k: v for k, v in env.items()
                if k not in ('LD_LIBRARY_PATH', 'VRT_TEST_NO_RESULTS')
                and not k.startswith('ZE_ENABLE')}

    def settled(self, daemon):
        """The devices, once each has been tried."""
        self.wait_until(lambda: all(
            d['state'] != 'starting'
            for d in daemon.request('GET', '/v1/devices')[1]['devices']))
        return {d['name']: d for d in daemon.request('GET', '/v1/devices')[1]['devices']}

    def checks(self, daemon, status):
        done = self.vrtctl('doctor', '--json', daemon=daemon, status=status)
        self.assertEqual(done.stderr, '')
        return {(c['id'], c['subject']): c for c in json.loads(done.stdout)['checks']}

    def test_devices(self):
        devices = self.settled(self.daemon)
        for name in ('xpu:0', 'xpu:1'):
            self.assertEqual(devices[name]['state'], 'quarantined')
            self.assertEqual(devices[name]['last_error'],
                             'bytes that it was given came back as others')
            self.assertIn('512 EUs, DPAS', self.vrtctl('devices', name).stdout)
            # Without a kernel nobody knows: null, not 0.
            self.assertIsNone(devices[name]['memory']['free_bytes'], devices[name])
        self.assertEqual(devices['cpu:0']['state'], 'ready')
        checks = self.checks(self.daemon, 1)
        self.assertRegex(checks['backend.driver', 'xpu']['result'], 'a driver of version [0-9.]+')
        self.assertIn('came back as others', checks['device.state', 'xpu:0']['result'])

    def test_jobs_go_elsewhere(self):
        """`auto` does without accelerators that never worked, and says so; who insists is told."""
        self.settled(self.daemon)
        source = harness.clip(self.path('source.mkv'))
        job = self.follow(source, self.path('restored.mkv'))
        self.assertEqual(job['state'], 'done')
        self.assertRegex('\n'.join(job['warnings']),
                         r'(?m)^no accelerator of this machine has worked yet \(xpu:0: .+\): cpu '
                         r'is used instead; vrtctl doctor tells more$')
        self.refused('submit', '--device', 'xpu', '--output', self.path('insists.mkv'), source,
                     says="doesn't work: bytes that it was given came back as others")

    def test_no_gpu(self):
        """The driver is installed and there is no GPU: one sentence, and no device."""
        folder = self.path('no-gpu')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, env=self.environment(NEOReadDebugKeys='0'))
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        self.assertEqual(list(self.settled(daemon)), ['cpu:0'])
        checks = self.checks(daemon, 0)
        told = [c for c in checks.values() if c['subject'] == 'xpu' or c['id'].startswith('xpu')]
        self.assertEqual(len([c for c in told if 'no XPU devices' in c['result']]), 1, told)
        self.assertEqual(daemon.log_text().count('no XPU devices'), 1)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())


if __name__ == '__main__':
    intel.need_driver()
    harness.main()
