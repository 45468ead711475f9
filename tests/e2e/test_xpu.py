#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""XPU devices, on the test driver: what is told of them, and jobs on two of them, one of which is
lost, slow, full or stuck.

VRTD_XPU_DRIVER is that driver, VRT_XPU_CACHE where it keeps what it compiled. A daemon that uses it
against the specification doesn't end well.
"""
import os
import random
import time

import harness
from harness import clip, digest


def environment(**more):
    """Of a daemon whose GPUs are the driver's."""
    return dict(os.environ, ZE_ENABLE_ALT_DRIVERS=os.environ['VRTD_XPU_DRIVER'],
                **{'VRT_XPU_DEVICES': '2', **more})


def figures(path):
    """What the driver counted, in its report of a process: by card and name."""
    with open(path, encoding='utf-8') as f:
        return {tuple(line.split()[:2]): int(line.split()[2]) for line in f}


class Jobs(harness.Case):
    """Two cards, and daemons beside that have other luck."""

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=environment(), **options)

    def start(self, name, config=None, **more):
        """One more daemon."""
        folder = self.path(name)
        os.mkdir(folder)
        daemon = harness.Daemon(folder, env=environment(**more), config=config or {})
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def devices(self):
        """Once every device has been opened."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while True:
            devices = self.daemon.request('GET', '/v1/devices')[1]['devices']
            if all(d['state'] != 'starting' for d in devices):
                return devices
            self.assertLess(time.monotonic(), deadline, devices)
            time.sleep(0.05)

    def test_what_is_told(self):
        devices = self.devices()
        self.assertEqual([d['name'] for d in devices], ['xpu:0', 'xpu:1', 'cpu:0'])
        self.assertEqual([d['state'] for d in devices], ['ready'] * 3, self.daemon.log_text())
        cards = [d['card'] for d in devices]
        self.assertEqual([c['number'] for c in cards[:2]], [0, 1])
        self.assertIsNone(cards[2])
        self.assertNotEqual(cards[0]['uuid'], cards[1]['uuid'])
        self.assertNotEqual(cards[0]['pci_address'], cards[1]['pci_address'])
        self.assertIsNone(cards[0]['runtime_version'])
        self.assertEqual(devices[0]['memory']['total_bytes'], 16384 << 20)
        self.assertGreater(devices[0]['sensors']['temperature_celsius'], 0)
        told = self.vrtctl('devices', 'xpu:1').stdout
        self.assertIn('  Card         number 1\n', told)
        self.assertIn('  Driver       ' + cards[1]['driver_version'] + '\n', told)

    def jobs_agree(self, daemon, name, precision='f32'):
        """The same film by xpu:0 of the well, and by both of `daemon`. Return: the latter's job."""
        source = clip(self.path(name + '.mkv'), '-c:v', 'ffv1', frames=20, size='32x32')
        targets = [self.path(f'{name}-{n}.mkv') for n in ('one', 'two')]
        options = ('--precision', precision, '--codec', 'ffv1')
        alone = self.follow(source, targets[0], '--device', 'xpu:0', *options)
        both = self.follow(source, targets[1], '--device', 'xpu:0,xpu:1', *options, daemon=daemon)
        self.assertEqual([d['name'] for d in alone['devices']], ['xpu:0'])
        self.assertEqual(both['state'], 'done')
        self.assertEqual(*map(digest, targets))
        return both

    def test_two_cards_give_the_bytes_of_one(self):
        for precision in ('f32', 'f16'):
            with self.subTest(precision=precision):
                both = self.jobs_agree(self.daemon, 'well-' + precision, precision)
                self.assertEqual(sum(d['frames_done'] for d in both['devices']), 20)
                self.assertEqual(both['warnings'], [])

    def count(self, name, with_job=True):
        """What the driver counts of a daemon that is well, with a job or without."""
        report = self.path(name + '.report')
        daemon = self.start(name, VRT_XPU_REPORT=report)
        if with_job:
            self.jobs_agree(daemon, name)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())
        return figures(report)

    def test_one_of_two_is_unwell(self):
        """Lost, slow, or without memory from some point on: whenever, the bytes are the same."""
        kinds = [('calls', 'call:{}- lost'), ('runs', 'run:{}- slow=5'),
                 ('allocs', 'alloc:{}- fail'), ('copies', 'copy:{} lost'),
                 ('runs', 'run:{} lost=200ms')]
        idle, busy = self.count('idle', with_job=False), self.count('busy')
        n_runs = 50 if os.environ.get('VRTD_LONG') else len(kinds)
        dice, n_happened = random.Random(6), 0
        for i in range(n_runs):
            counted, effect = kinds[i % len(kinds)]
            # While it has work: it is ready then, and in another run may have less to do.
            first, last = idle['1', counted] + 1, busy['1', counted]
            at = dice.randint(first, first + (last - first) // 3)
            faults, report = '1 ' + effect.format(at), self.path(f'unwell-{i}.report')
            with self.subTest(faults=faults):
                daemon = self.start(f'unwell-{i}', VRT_XPU_FAULTS=faults, VRT_XPU_REPORT=report)
                both = self.jobs_agree(daemon, f'unwell-{i}')
                self.assertEqual(sum(d['frames_done'] for d in both['devices']), 20)
                self.assertEqual(daemon.stop(), 0, daemon.log_text())
                n_happened += figures(report)['1', counted] >= at
        self.assertGreater(n_happened, n_runs // 2)

    def test_one_of_two_hangs(self):
        """What it had goes to the other, and it is given up in time."""
        daemon = self.start('stuck', config={'xpu': {'patience_s': 3}},
                            VRT_XPU_FAULTS='1 run:40 hang')
        self.jobs_agree(daemon, 'stuck')
        deadline = time.monotonic() + harness.PATIENCE_S
        while 'it is given up' not in daemon.log_text():
            self.assertLess(time.monotonic(), deadline, daemon.log_text())
            time.sleep(0.1)
        self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def test_weights_leave_the_host_once(self):
        """Eight cards that reach each other: the first has the weights of the host, all others of
        one another; the frames cross as they do for one."""
        sums, jobs = {}, {}
        for n in (1, 8):
            report, source = self.path(f'{n}.report'), self.path(f'{n}.mkv')
            daemon = self.start(f'cards-{n}', VRT_XPU_DEVICES=str(n), VRT_XPU_PEER='1',
                                VRT_XPU_REPORT=report)
            clip(source, '-c:v', 'ffv1', frames=64, size='32x32')
            jobs[n] = self.follow(source, self.path(f'{n}-out.mkv'), '--device', 'xpu',
                                  '--precision', 'f32', '--codec', 'ffv1', daemon=daemon)
            self.assertEqual(daemon.stop(), 0, daemon.log_text())
            sums[n] = {what: sum(number for (_, name), number in figures(report).items()
                                 if name == what)
                       for what in ('from_host_bytes', 'from_card_bytes')}
        self.assertEqual(digest(self.path('1-out.mkv')), digest(self.path('8-out.mkv')))
        replicas = {d['replica_bytes'] for d in jobs[8]['devices']}
        self.assertEqual((len(jobs[8]['devices']), len(replicas)), (8, 1))
        replica = replicas.pop()
        self.assertEqual(sums[8]['from_card_bytes'], 7 * replica)
        # A straggler's frames may cross twice, and each card is tried with a few bytes at first.
        self.assertLess(sums[8]['from_host_bytes'] - sums[1]['from_host_bytes'], replica)

    def test_wrong_weights_are_mended(self):
        """The copy after those that the card is tried with; from the other card, or the host."""
        for peer in ('0', '1'):
            with self.subTest(peer=peer):
                daemon = self.start('wrong-' + peer, VRT_XPU_PEER=peer,
                                    VRT_XPU_FAULTS='1 copy:3 flip')
                self.jobs_agree(daemon, 'wrong-' + peer)
                self.assertIn('xpu:1: weights came with a wrong checksum, copying them once more',
                              daemon.log_text())
                self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def test_kernels_are_compiled_once(self):
        """By the first of three daemons: the second finds them, the third isn't to look."""
        for name, keeps, compiles in (('first', 'on', True), ('second', 'on', False),
                                      ('third', 'off', True)):
            report = self.path(name + '.report')
            daemon = self.start(name, VRT_XPU_REPORT=report, config={
                'daemon': {'cache_dir': self.path('kept')}, 'xpu': {'keep_kernels': keeps}})
            self.jobs_agree(daemon, name)
            self.assertEqual(daemon.stop(), 0, daemon.log_text())
            n = {what: sum(figures(report)[card, what] for card in '01')
                 for what in ('builds', 'natives')}
            with self.subTest(name=name, n=n):
                self.assertEqual(n['builds'] > 0, compiles)
                if name != 'first':         # whose cards may find what the other one compiled
                    self.assertEqual(n['natives'] > 0, keeps == 'on')

    def test_a_card_and_the_processor(self):
        source = clip(self.path('mixed.mkv'), '-c:v', 'ffv1', frames=20, size='32x32')
        job = self.follow(source, self.path('mixed-out.mkv'), '--device', 'xpu:0,cpu:0')
        self.assertEqual(job['state'], 'done')
        self.assertEqual(sum(d['frames_done'] for d in job['devices']), 20)


if __name__ == '__main__':
    harness.main()
