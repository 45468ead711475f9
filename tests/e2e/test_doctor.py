#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl doctor: devices that are well, that fail, lie and vanish; while jobs run; without vrtd.

VRTD_CUDA_SIM, where it is set, is the folder of the plugin for a machine made of software.
"""
import json
import os
import subprocess
import unittest

import harness
from harness import clip, digest

PARTS = ['device.state', 'device.memory', 'device.kernel', 'device.weights', 'device.network']
SIM = os.environ.get('VRTD_CUDA_SIM', '')
MAKE_VRT = os.path.join(harness.BUILD, 'tests', 'bench', 'make-vrt')


class Doctor(harness.Case):
    config = {'cpu': {'devices': 2, 'threads': 1}}

    def start(self, name, fault='', config=None, **options):
        """One more daemon, all of whose devices have been opened."""
        folder = self.path(name)
        os.mkdir(folder)
        config = dict(self.config, devices={'backoff_s': 300}) | (config or {})
        daemon = harness.Daemon(folder, config, fault=fault, **options)
        self.addCleanup(self.stop_daemon, daemon)
        self.await_opened(daemon)
        return daemon

    def await_opened(self, daemon):
        self.wait_until(lambda: all(d['state'] != 'starting' for d in
                                    daemon.request('GET', '/v1/devices')[1]['devices']))

    def examine(self, daemon, *options, status=0, **environment):
        """The checks by (id, subject)."""
        done = self.vrtctl('doctor', '--json', *options, daemon=daemon, status=status,
                           **environment)
        self.assertEqual(done.stderr, '')
        report = json.loads(done.stdout)
        checks = {(c['id'], c['subject']): c for c in report['checks']}
        self.assertEqual(len(checks), len(report['checks']), report)
        for kind in ('failed', 'warning'):
            n = sum(c['status'] == kind for c in report['checks'])
            self.assertEqual(report[kind if kind == 'failed' else 'warnings'], n)
        for check in report['checks']:
            self.assertTrue(check['result'], check)
            self.assertTrue(check['cure'] or check['status'] not in ('failed', 'warning'), check)
        return checks

    def statuses(self, checks, device):
        return [checks[part, device]['status'] for part in PARTS if (part, device) in checks]

    def test_all_is_well(self):
        self.await_opened(self.daemon)
        checks = self.examine(self.daemon)
        for device in ('cpu:0', 'cpu:1'):
            self.assertEqual(self.statuses(checks, device), ['ok'] * 5, checks)
            self.assertRegex(checks['device.network', device]['result'],
                             r'^1[0-9][0-9]\.[0-9] dB of ref \(>=100\), '
                             r'error .* \(<=1e-04\)$')
        self.assertEqual(checks['daemon.reach', None]['status'], 'ok')
        self.assertIn(os.path.join(self.folder, 'state', 'spool'),
                      {subject for id_, subject in checks if id_ == 'folder.spool'})
        sandbox = checks['media.sandbox', 'vrt-media']
        self.assertEqual(sandbox['status'],
                         'warning' if 'decoded with ' in sandbox['result'] else 'ok')

    def test_environment_is_the_daemons(self):
        daemon = self.start('environment', env=dict(os.environ, ZE_AFFINITY_MASK='0.1'))
        checks = self.examine(daemon, VRTD_PLUGIN_DIR='/nowhere')
        self.assertIn('"0.1" for vrtd', checks['environment', 'ZE_AFFINITY_MASK']['result'])
        self.assertNotIn(('environment', 'VRTD_PLUGIN_DIR'), checks)

    def test_model(self):
        """One of the user's own on each device, by its file; one that lies is found out."""
        model = self.path('small.safetensors')
        subprocess.run([MAKE_VRT, '0', model], check=True, stdout=subprocess.DEVNULL)
        daemon = self.start('model', fault='cpu:1 submit:2- corrupt=garbage')
        checks = self.examine(daemon, '--model', model, status=1)
        self.assertEqual(checks['device.model', 'cpu:0']['status'], 'ok')
        self.assertIn("small.safetensors: 200.0 dB of the processor's f32",
                      checks['device.model', 'cpu:0']['result'])
        self.assertEqual(checks['device.model', 'cpu:1']['status'], 'failed')
        self.assertNotIn(('device.network', 'cpu:0'), checks)
        self.examine(daemon, '-m', 'compact-x2', '-d', 'cpu:0')
        self.refused('doctor', '-m', 'nothing-x9', says='nothing-x9')

    def test_while_a_job_runs(self):
        """Its bytes are those of one that is left alone, and devices still are examined."""
        source = clip(self.path('busy.mkv'), '-c:v', 'ffv1', frames=60, size='96x64')
        options = ('--precision', 'f32', '--codec', 'ffv1')
        self.follow(source, self.path('alone.mkv'), *options)
        daemon = self.start('busy', fault='cpu submit:1- delay=20ms')
        target = os.path.join(daemon.folder, 'out.mkv')
        job = json.loads(self.vrtctl('submit', '--json', *options, '--output', target, source,
                                     daemon=daemon).stdout)['id']
        n = 0
        while daemon.job(job)['state'] in ('queued', 'running'):
            checks = self.examine(daemon)
            for device in ('cpu:0', 'cpu:1'):
                self.assertEqual(self.statuses(checks, device), ['ok'] * 5, checks)
            n += 'busy' in str(checks['device.state', 'cpu:0'])
        self.vrtctl('wait', job, daemon=daemon)
        self.assertGreater(n, 0)
        self.assertEqual(digest(target), digest(self.path('alone.mkv')))


@unittest.skipUnless(SIM, 'the simulated CUDA machine was not built')
class Cards(harness.Case):
    """The same of cards: two, which are made of software."""
    few_jobs = True
    config = {'cpu': {'threads': 1}}
    start, await_opened, examine, statuses = (
        Doctor.start, Doctor.await_opened, Doctor.examine, Doctor.statuses)

    def machine(self, name, fault='', **more):
        environment = dict(os.environ, VRTD_PLUGIN_DIR=SIM, VRT_CUDA_SIM_DEVICES='2', **more)
        if 'CUDA_VISIBLE_DEVICES' not in more:
            environment.pop('CUDA_VISIBLE_DEVICES', None)
        return self.start(name, fault, env=environment)

    def test_one_is_well_and_one_is_not(self):
        daemon = self.machine('ill', 'cuda:1 checksum:3 corrupt; cuda:1 submit:1- corrupt=garbage',
                              CUDA_VISIBLE_DEVICES='1,0')
        checks = self.examine(daemon, '--device', 'cuda', status=1)
        self.assertEqual(self.statuses(checks, 'cuda:0'), ['ok'] * 5, checks)
        self.assertEqual(checks['device.network.bf16', 'cuda:0']['status'], 'ok')
        self.assertIn('libvrt-cuda-sim.so', checks['backend.plugin', 'cuda']['result'])
        self.assertRegex(checks['backend.driver', 'cuda']['result'], 'for CUDA [0-9]+[.][0-9]+')
        self.assertIn('"1,0" for vrtd', checks['environment', 'CUDA_VISIBLE_DEVICES']['result'])
        self.assertEqual(self.statuses(checks, 'cuda:1'), ['ok', 'ok'] + ['failed'] * 3, checks)
        self.assertIn('had changed in its memory', checks['device.weights', 'cuda:1']['result'])

    def test_cards_that_are_left_out(self):
        daemon = self.machine('masked', CUDA_VISIBLE_DEVICES='9')
        checks = self.examine(daemon, '-d', 'cuda', status=1)
        none = checks['device.state', 'cuda']
        self.assertEqual((none['status'], none['result']),
                         ('failed', 'vrtd has no device of this kind'))
        self.assertEqual(none['cure'], 'see what is said of it above')
        self.assertEqual(checks['backend.devices', 'cuda']['status'], 'warning')
        self.assertIn('unset CUDA_VISIBLE_DEVICES', checks['backend.devices', 'cuda']['cure'])


if __name__ == '__main__':
    harness.main()
