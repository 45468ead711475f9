#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CUDA devices, on a simulated machine: what is told of them, and jobs on a card that is two.

VRTD_CUDA_SIM is the folder of the plugin for that machine, VRTD_FAKE_NVML a library that tells how
its card at 0000:01:00.0 is.
"""
import os
import pathlib
import shutil
import time

import harness
from harness import clip, digest

SENSORS = {'utilization_percent': 97, 'memory_utilization_percent': 0, 'temperature_celsius': 71,
           'power_watts': 319.5, 'power_limit_watts': 350,
           'throttling': 'temperature, power limit'}


def environment(folder, **more):
    """Of a daemon whose libraries are the simulated machine's."""
    libraries = os.path.join(folder, 'libraries')
    os.makedirs(libraries, exist_ok=True)
    shutil.copy(os.environ['VRTD_FAKE_NVML'], os.path.join(libraries, 'libnvidia-ml.so.1'))
    env = dict(os.environ, VRTD_PLUGIN_DIR=os.environ['VRTD_CUDA_SIM'],
               LD_LIBRARY_PATH=libraries, **more)
    if 'CUDA_VISIBLE_DEVICES' not in more:
        env.pop('CUDA_VISIBLE_DEVICES', None)
    return env


class Cards(harness.Case):
    """The third and the first of three cards, each of which is two devices."""
    config = {'cuda': {'workers_per_device': 2}}

    @classmethod
    def start_daemon(cls, folder, **options):
        env = environment(folder, VRT_CUDA_SIM_DEVICES='3', CUDA_VISIBLE_DEVICES='2,0')
        return super().start_daemon(folder, env=env, **options)

    def devices(self, daemon=None):
        """Once every device has been opened."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while True:
            devices = (daemon or self.daemon).request('GET', '/v1/devices')[1]['devices']
            if all(d['state'] != 'starting' for d in devices):
                return devices
            self.assertLess(time.monotonic(), deadline, devices)
            time.sleep(0.05)

    def test_what_is_told(self):
        devices = self.devices()
        self.assertEqual([d['name'] for d in devices],
                         ['cuda:0.0', 'cuda:0.1', 'cuda:1.0', 'cuda:1.1', 'cpu:0'])
        self.assertEqual([d['state'] for d in devices], ['ready'] * 5, self.daemon.log_text())
        cards = [d['card'] for d in devices]
        self.assertEqual(cards[0], cards[1])
        self.assertEqual(cards[2], cards[3])
        self.assertIsNone(cards[4])
        self.assertEqual([c['number'] for c in cards[:4]], [0, 0, 1, 1])
        self.assertEqual([c['pci_address'] for c in cards[:4]],
                         ['0000:03:00.0'] * 2 + ['0000:01:00.0'] * 2)
        self.assertNotEqual(cards[0]['uuid'], cards[2]['uuid'])
        self.assertEqual(devices[0]['memory']['total_bytes'], devices[1]['memory']['total_bytes'])

    def test_sensors(self):
        """NVML knows one of the two cards."""
        sensors = [d['sensors'] for d in self.devices()]
        self.assertEqual(sensors, [None, None, SENSORS, SENSORS, None])
        table = self.vrtctl('devices').stdout.splitlines()
        self.assertTrue(table[3].endswith(', 97% busy, 71 C, 320 W'), table)
        self.assertNotIn('busy', table[1])
        told = self.vrtctl('devices', 'cuda:1').stdout
        self.assertIn('  Throttling   temperature, power limit\n', told)
        self.assertIn('  Card         number 1, shared with cuda:1.0\n', told)
        self.assertEqual(told.count('PCI address  0000:01:00.0'), 2)

    def test_a_card_that_rests_is_asked_again(self):
        """Of one that works every shard tells; this one has nothing to do (and is wrapped)."""
        folder = self.path('resting')
        os.mkdir(folder)
        path = os.path.join(folder, 'celsius')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('40')
        daemon = harness.Daemon(folder, env=environment(folder, FAKE_NVML_CELSIUS=path),
                                fault='cuda submit:1000000 fail')
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        self.assertEqual(self.devices(daemon)[0]['sensors']['temperature_celsius'], 40)
        with open(path, 'w', encoding='utf-8') as f:
            f.write('39')
        deadline = time.monotonic() + harness.PATIENCE_S
        while self.devices(daemon)[0]['sensors']['temperature_celsius'] != 39:
            self.assertLess(time.monotonic(), deadline, daemon.log_text())
            time.sleep(0.2)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def test_requests(self):
        self.devices()
        source = clip(self.path('request.mkv'), '-c:v', 'ffv1', frames=2)
        target = self.path('none.mkv')
        for request in ('cuda:2', 'cuda:0.2', 'cuda:0.x'):
            self.refused('submit', '--follow', '--device', request, '--output', target, source,
                         says='no device', status=None)

    def test_reload_waits(self):
        """Another number of devices is of the next start."""
        path = os.path.join(self.folder, 'vrtd.conf')
        with open(path, encoding='utf-8') as f:
            before = f.read()
        with open(path, 'w', encoding='utf-8') as f:
            f.write('[cuda]\nworkers_per_device = 1\n')
        self.addCleanup(pathlib.Path(path).write_text, before, encoding='utf-8')
        self.daemon.process.send_signal(1)
        deadline = time.monotonic() + harness.PATIENCE_S
        while 'workers_per_device' not in self.daemon.log_text():
            self.assertLess(time.monotonic(), deadline, self.daemon.log_text())
            time.sleep(0.05)
        self.assertEqual(len(self.devices()), 5)


class Jobs(harness.Case):
    """One card, as two devices and as one."""
    config = {'cuda': {'workers_per_device': 2}}

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=environment(folder), **options)

    def start(self, name, cards=1, **options):
        """One more daemon."""
        folder = self.path(name)
        os.mkdir(folder)
        env = environment(folder, VRT_CUDA_SIM_DEVICES=str(cards))
        daemon = harness.Daemon(folder, env=env, **options)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def test_two_devices_of_a_card_give_the_bytes_of_one(self):
        # Three shards, more than one device takes at a time; and each waits far longer than it
        # computes, so that both get something.
        source = clip(self.path('in.mkv'), '-c:v', 'ffv1', frames=20, size='16x16')
        two = self.start('two', config=self.config, fault='cuda submit:1- delay=50ms')
        one = self.start('one', fault='')
        for precision in ('f32', 'f16'):
            with self.subTest(precision=precision):
                targets = [self.path(f'{n}-{precision}.mkv') for n in ('two', 'one')]
                options = ('--device', 'cuda:0', '--precision', precision, '--codec', 'ffv1')
                both = self.follow(source, targets[0], *options, daemon=two)
                alone = self.follow(source, targets[1], *options, daemon=one)
                self.assertEqual([d['name'] for d in both['devices']], ['cuda:0.0', 'cuda:0.1'])
                self.assertEqual([d['name'] for d in alone['devices']], ['cuda:0'])
                self.assertEqual(sum(d['frames_done'] for d in both['devices']), 20)
                self.assertTrue(all(d['frames_done'] for d in both['devices']), both['devices'])
                self.assertEqual(both['warnings'], [])
                self.assertEqual(*map(digest, targets))
        for daemon in (one, two):
            self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def test_one_of_two_devices_is_lost(self):
        """The card itself is well, and its other device goes on."""
        source = clip(self.path('lost.mkv'), '-c:v', 'ffv1', frames=12, size='16x16')
        options = ('--device', 'cuda:0', '--precision', 'f32', '--codec', 'ffv1')
        targets = [self.path(f'lost-{n}.mkv') for n in ('wanted', 'got')]
        self.follow(source, targets[0], *options)
        daemon = self.start('lost', config=self.config,
                            fault='cuda:0.1 submit:1 lost revive=never')
        job = self.follow(source, targets[1], *options, daemon=daemon)
        self.assertEqual(job['state'], 'done')
        self.assertIn('cuda:0.1: submit number 1 goes wrong, as scheduled', daemon.log_text())
        self.assertEqual(*map(digest, targets))
        self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def test_the_processor_in_place_of_cards(self):
        """Because somebody asked for it, the configuration does, or no card has an operation."""
        source = clip(self.path('cpu.mkv'), '-c:v', 'ffv1', frames=4, size='16x16')
        lack = 'cuda:{} takes no part: it lacks depth_to_space, which this network needs in f32'
        instead = 'no device that was asked for can compute this network: cpu is used instead'
        lacking = {'fault': 'cuda open:1- lacks=depth_to_space'}
        cases = [
            ('asked', {}, 'cpu:-1', ['cpu:-1 keeps the job on the processor: cuda:0, ... of this '
                                   'machine take no part']),
            ('forced', {'force_cpu': 'on'}, 'cuda', ['this machine has no cuda device: cpu is used '
                                                     'instead; vrtctl doctor tells why']),
            ('lacking', lacking, 'auto', [lack.format(0), lack.format(1), instead]),
            ('listed', lacking, 'cuda:1', [lack.format(1), instead]),
            ('mixed', {'backoff_s': '1', 'fault': 'cuda:0 open:1- lacks=depth_to_space; '
                                                  'cuda:1 open:1- fail'}, 'auto',
             [lack.format(0), 'no accelerator of this machine has worked yet (cuda:0, ...): cpu is '
                              'used instead; vrtctl doctor tells more']),
        ]
        for name, devices, request, warnings in cases:
            with self.subTest(name=name):
                daemon = self.start(name, cards=2, config={'devices': devices})
                job = self.follow(source, self.path(f'{name}.out.mkv'), '--device', request,
                                  '--precision', 'f32', daemon=daemon)
                self.assertEqual([d['name'] for d in job['devices']], ['cpu:0'])
                self.assertEqual(sorted(job['warnings']), sorted(warnings))
                if name == 'forced':
                    done = self.vrtctl('doctor', daemon=daemon, status=None)
                    self.assertIn('left out by force_cpu = on in [devices]', done.stdout)
                self.assertEqual(daemon.stop(), 0, daemon.log_text())
        daemon = self.start('forbidden', config={'devices': {**lacking, 'fallback': 'forbid'}})
        done = self.vrtctl('submit', '--follow', '--device', 'cuda', '--precision', 'f32',
                           '--output', self.path('forbidden.mkv'), source, daemon=daemon, status=1)
        self.assertIn('cuda:0 lacks depth_to_space, which this network needs in f32', done.stderr)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def test_cudnn_compiles_each_shape_once(self):
        """For two cards, and for the next daemon, unless that isn't to look."""
        source = clip(self.path('kept.mkv'), '-c:v', 'ffv1', frames=12, size='32x16')
        kept = self.path('kept')
        digests = set()
        for name, keeps, n_compile in (('first', 'on', 1), ('second', 'on', 0),
                                       ('third', 'off', 2)):
            config = {'daemon': {'cache_dir': kept}, 'log': {'level': 'debug'},
                      'cuda': {'libraries': 'all'}, 'devices': {'keep_kernels': keeps}}
            daemon = self.start('keeps-' + name, cards=2, fault='cuda submit:1- delay=50ms',
                                config=config)
            target = self.path(f'keeps-{name}.mkv')
            job = self.follow(source, target, '--device', 'cuda', '--precision', 'f16', '--codec',
                              'ffv1', daemon=daemon)
            self.assertEqual([d['name'] for d in job['devices']], ['cuda:0', 'cuda:1'])
            self.assertEqual(daemon.stop(), 0, daemon.log_text())
            digests.add(digest(target))
            said = daemon.log_text()
            with self.subTest(name=name):
                self.assertEqual(len(digests), 1)
                self.assertIn('libraries of NVIDIA\'s compute', said)
                n_shapes = len(os.listdir(os.path.join(kept, 'cuda')))
                self.assertGreater(n_shapes, 0)
                self.assertEqual(said.count('cuDNN compiled'), n_compile * n_shapes, said)


if __name__ == '__main__':
    harness.main()
