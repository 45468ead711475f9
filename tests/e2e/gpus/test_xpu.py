#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""XPU devices, on the test driver: what is told of them, and jobs on several of them, with the CPU,
and on cards that hang, lie and vanish. (Whenever one of two does: test_xpu_unwell.py.)
"""
import json
import os
import signal
import time

import harness
import xpu
from harness import clip, digest, pixels

# The reason that is told of a card that was lost.
LOST = 'is left out until it works again: the device is lost'


class Jobs(xpu.Case):
    """Two cards, and daemons beside that have other luck."""

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

    def test_two_cards_give_the_bytes_of_one(self):
        for precision in ('f32', 'f16'):
            with self.subTest(precision=precision):
                both = self.jobs_agree(self.daemon, 'well-' + precision, precision)
                self.assertEqual(both['warnings'], [])

    def test_one_of_two_hangs(self):
        """What it had goes to the other, and it is given up in time."""
        daemon = self.start('stuck', config={'xpu': {'patience_s': 3}},
                            VRT_XPU_FAULTS='1 run:40 hang')
        self.jobs_agree(daemon, 'stuck')
        self.await_log(daemon, 'it is given up')
        self.ends_well(daemon)

    def test_stopping_while_one_hangs(self):
        """The other does the job, and vrtd waits some seconds for the one, then ends."""
        source, target = xpu.film(self.path('stop.mkv'), 20), self.path('stop-out.mkv')
        daemon = self.start('stop', VRT_XPU_FAULTS='1 run:60 hang')
        self.devices(daemon)
        job = self.follow(source, target, '--device', 'xpu:0,xpu:1', '--precision', 'f32',
                          daemon=daemon)
        self.assertEqual(job['state'], 'done')
        self.ends_well(daemon)
        self.assertRegex(daemon.log_text(), 'xpu:1 has been silent for [0-9]+ s and is given up')

    def test_stopping_while_all_hang(self):
        """At the first kernels of a job, whose time nobody knows: what it explains is short."""
        source, target = xpu.film(self.path('all.mkv'), 20), self.path('all-out.mkv')
        daemon = self.start('all', VRT_XPU_FAULTS='run:20- hang',
                            config={'daemon': {'stop_timeout': 1}})
        self.devices(daemon)
        self.vrtctl('submit', '--device', 'xpu', '--precision', 'f32', '--output', target, source,
                    daemon=daemon)
        self.wait_until(lambda: [d['state'] for d in self.devices(daemon)[:2]] == ['busy'] * 2)
        started = time.monotonic()
        self.ends_well(daemon)
        self.assertLess(time.monotonic() - started, 45)

    def test_a_daemon_that_stood_still(self):
        """Its devices could give no sign of life, and aren't blamed for it."""
        source = xpu.film(self.path('still.mkv'), 40)
        daemon = self.start('still', config={'devices': {'silence_s': 1}},
                            VRT_XPU_FAULTS='run:every=20 delay=500ms')
        options = ('--device', 'xpu', '--precision', 'f32', '--output')
        self.vrtctl('submit', *options, self.path('still-1.mkv'), source, daemon=daemon)
        self.wait_until(lambda: 'busy' in [d['state'] for d in self.devices(daemon)])
        os.kill(daemon.process.pid, signal.SIGSTOP)
        time.sleep(6)
        os.kill(daemon.process.pid, signal.SIGCONT)
        job = self.follow(source, self.path('still-2.mkv'), *options[:-1], daemon=daemon)
        self.assertEqual((job['state'], job['warnings']), ('done', []))
        self.ends_well(daemon)
        self.assertNotRegex(daemon.log_text(), 'sign of life|is given up')

    def test_killed(self):
        """Again and again, each time when it has stored something more."""
        source, target = xpu.film(self.path('killed.mkv'), 48), self.path('killed-out.mkv')
        options = ('--device', 'xpu:0,xpu:1', '--precision', 'f32', '--codec', 'ffv1')
        self.follow(source, self.path('killed-wanted.mkv'), *options)
        config, faults = {'jobs': {'segment_frames': 8}}, 'run:every=8 delay=30ms'
        daemon = self.start('killed', config=config, VRT_XPU_FAULTS=faults)
        number = json.loads(self.vrtctl('submit', '--json', *options, '--output', target, source,
                                        daemon=daemon).stdout)['id']
        for n_stored in (1, 2, 4):
            self.wait_until(lambda: daemon.job(number)['segments_done'] >= n_stored)
            self.assertEqual(daemon.job(number)['state'], 'running')
            daemon.kill()
            daemon = self.start('killed', config=config, VRT_XPU_FAULTS=faults)
            self.vrtctl('resume', number, daemon=daemon)
        self.vrtctl('wait', number, daemon=daemon)
        self.assertEqual(daemon.job(number)['n_starts'], 4)
        self.assertEqual(digest(target), digest(self.path('killed-wanted.mkv')))
        self.ends_well(daemon)

    def test_auto_without_a_card_that_works(self):
        """A new job goes to the processor, also one that comes before the cards have failed; and
        stays there when the cards are well after a restart. One that began on a card waits."""
        source, config = xpu.film(self.path('auto.mkv'), 48), {'jobs': {'segment_frames': 8}}
        wanted = self.path('auto-wanted.mkv')
        self.follow(source, wanted, '--device', 'xpu', '--precision', 'f32', '--codec', 'ffv1')
        daemon = self.start('auto', fault='xpu open:1- fail; xpu open:1 delay=2s', config=config)
        options = ('--precision', 'f32', '--codec', 'ffv1')
        job = self.follow(source, self.path('auto-cpu.mkv'), *options, daemon=daemon)
        self.assertEqual([d['name'] for d in job['devices']], ['cpu:0'])
        self.assertEqual(job['warnings'], ['no accelerator of this machine has worked yet (xpu:0: '
                                           'the device failed, ...): cpu is used instead; vrtctl '
                                           'doctor tells more'])
        self.ends_well(daemon)

        daemon = self.start('auto', config=config, VRT_XPU_FAULTS='run:every=4 delay=30ms')
        number = json.loads(self.vrtctl('submit', '--json', *options, '--output',
                                        self.path('auto-xpu.mkv'), source,
                                        daemon=daemon).stdout)['id']
        self.wait_until(lambda: daemon.job(number)['segments_done'] >= 1)
        daemon.kill()
        daemon = self.start('auto', fault='xpu open:1-3 fail', config=config)
        self.vrtctl('resume', number, daemon=daemon)
        self.vrtctl('wait', number, daemon=daemon)
        devices = {d['name'] for d in daemon.job(number)['devices']}
        self.assertLessEqual(devices, {'xpu:0', 'xpu:1'})
        self.assertEqual(digest(self.path('auto-xpu.mkv')), digest(wanted))
        self.ends_well(daemon)

    def test_weights_leave_the_host_once(self):
        """Eight cards that reach each other: the first has the weights of the host, all others of
        one another; the frames cross as they do for one."""
        sums, jobs = {}, {}
        for n in (1, 8):
            report, source = self.path(f'{n}.report'), self.path(f'{n}.mkv')
            daemon = self.start(f'cards-{n}', VRT_XPU_DEVICES=str(n), VRT_XPU_PEER='1',
                                VRT_XPU_REPORT=report)
            xpu.film(source, 64)
            jobs[n] = self.follow(source, self.path(f'{n}-out.mkv'), '--device', 'xpu',
                                  '--precision', 'f32', '--codec', 'ffv1', daemon=daemon)
            self.ends_well(daemon)
            sums[n] = {what: sum(number for (_, name), number in xpu.figures(report).items()
                                 if name == what)
                       for what in ('from_host_bytes', 'from_card_bytes')}
        frames = xpu.frames(self.path('1-out.mkv'))
        self.assertEqual(len({md5 for _, md5 in frames}), 64)
        self.assertEqual(xpu.frames(self.path('8-out.mkv')), frames)
        self.assertEqual(digest(self.path('1-out.mkv')), digest(self.path('8-out.mkv')))
        replicas = {d['replica_bytes'] for d in jobs[8]['devices']}
        self.assertEqual((len(jobs[8]['devices']), len(replicas)), (8, 1))
        replica = replicas.pop()
        self.assertEqual(sums[8]['from_card_bytes'], 7 * replica)
        # A straggler's frames may cross twice, and each card is tried with a few bytes at first.
        self.assertLess(sums[8]['from_host_bytes'] - sums[1]['from_host_bytes'], replica)

    def test_wrong_weights_are_mended(self):
        """The copy after those that a card is tried with: of eight cards which have the weights of
        each other, and of two that have them of the host."""
        for cards, peer, card in ((8, '1', 5), (2, '1', 1), (2, '0', 1)):
            with self.subTest(cards=cards, peer=peer):
                name = f'wrong-{cards}-{peer}'
                daemon = self.start(name, VRT_XPU_PEER=peer, VRT_XPU_DEVICES=str(cards),
                                    VRT_XPU_FAULTS=f'{card} copy:3 flip')
                self.jobs_agree(daemon, name, devices='xpu')
                self.assertIn(f'xpu:{card}: weights came with a wrong checksum, copying them once '
                              'more', daemon.log_text())
                answer = daemon.request('GET', '/v1/models')[1]
                held = [r for r in answer['replicas'] if r['model'] == 'compact-x2']
                self.assertEqual(sorted(r['device'] for r in held),
                                 [f'xpu:{i}' for i in range(cards)])
                self.assertEqual(len({r['checksum'] for r in held}), 1)
                self.ends_well(daemon)

    def test_a_card_that_hangs_holds_nobody_up(self):
        """At its first kernel: the job is the other's, and says so. Its own end is far away."""
        for card in '01':
            name = 'hangs-' + card
            daemon = self.start(name, config={'devices': {'silence_s': 1}},
                                VRT_XPU_FAULTS=card + ' run:1- hang')
            with self.subTest(card=card):
                job = self.jobs_agree(daemon, name)
                self.assertEqual([d['name'] for d in job['devices']], [f'xpu:{1 - int(card)}'])
                self.assertIn(f'xpu:{card} gives no sign of life', ' '.join(job['warnings']))
                self.assertNotIn('is given up', daemon.log_text())
            daemon.kill()

    def test_the_watchdog_knows_how_long_work_takes(self):
        """A kernel that never ends is found long before patience_s, which is 600: what it takes was
        measured. The end of the daemon doesn't wait for it either."""
        daemon = self.start('watched', config={'devices': {'silence_s': 1}},
                            VRT_XPU_FAULTS='1 run:80 hang')
        self.jobs_agree(daemon, 'watched')
        self.await_log(daemon, 'xpu:1 has been silent')
        self.ends_well(daemon)

    def test_kernels_are_compiled_once(self):
        """By the first of three daemons: the second finds them, the third isn't to look."""
        for name, keeps, compiles in (('first', 'on', True), ('second', 'on', False),
                                      ('third', 'off', True)):
            report = self.path(name + '.report')
            daemon = self.start(name, VRT_XPU_REPORT=report, config={
                'daemon': {'cache_dir': self.path('kept')}, 'devices': {'keep_kernels': keeps}})
            self.jobs_agree(daemon, name)
            self.ends_well(daemon)
            n = {what: sum(xpu.figures(report)[card, what] for card in '01')
                 for what in ('builds', 'natives')}
            with self.subTest(name=name, n=n):
                self.assertEqual(n['builds'] > 0, compiles)
                if name != 'first':         # whose cards may find what the other one compiled
                    self.assertEqual(n['natives'] > 0, keeps == 'on')

    def test_a_card_and_the_processor(self):
        """In one job, and each frame is what the one or the other makes of it alone, to the bit.
        Those differ by no more than rounding to 8 bits does where f32 is within 1e-5."""
        source = xpu.film(self.path('mixed.mkv'), 64)
        options = ('--precision', 'f32', '--codec', 'ffv1', '--model', xpu.COMPACT_X4)
        targets = {}
        # Both wait far longer than they compute, so that both get something, whatever the build.
        daemon = self.start('mixed', fault='cpu:0 submit:1- delay=12ms',
                            VRT_XPU_FAULTS='run:every=20 delay=80ms')
        for devices in ('xpu:0', 'cpu:0', 'xpu:0,cpu:0'):
            targets[devices] = self.path(devices.replace(':', '') + '.mkv')
            job = self.follow(source, targets[devices], '--device', devices, *options,
                              daemon=daemon)
            self.assertEqual((job['state'], job['warnings']), ('done', []))
            self.assertEqual(sum(d['frames_done'] for d in job['devices']), 64)
        self.assertTrue(all(d['frames_done'] > 0 for d in job['devices']), job['devices'])
        self.assertFalse(job['reproducible'])
        card, processor, mixed = map(xpu.frames, targets.values())
        self.assertEqual(len({md5 for _, md5 in card}), 64)
        self.assertEqual(len(mixed), 64)
        for i, frame in enumerate(mixed):
            self.assertIn(frame, (card[i], processor[i]), i)
        a, b = pixels(targets['xpu:0']), pixels(targets['cpu:0'])
        self.assertEqual(len(a), len(b))
        self.assertLessEqual(max(abs(x - y) for x, y in zip(a, b)), 1)
        self.ends_well(daemon)

    def test_results_that_are_no_numbers(self):
        """What one card makes wrongly the other does, and the card is put in quarantine; where
        both do, it is said of the network, and there is no file."""
        daemon = self.start('nan', fault='xpu:1 submit:every=3 corrupt=nan',
                            config={'devices': {'backoff_s': 300}})
        both = self.jobs_agree(daemon, 'nan')
        self.assertIn('xpu:1 is quarantined', daemon.log_text())
        self.assertRegex('\n'.join(both['warnings']), '^xpu:1 is left out until it works again: ')
        self.ends_well(daemon)
        daemon = self.start('all-nan', fault='xpu submit:1- corrupt=nan')
        source = clip(self.path('all-nan.mkv'), '-c:v', 'ffv1')
        target = self.path('all-nan-out.mkv')
        done = self.vrtctl('submit', '--follow', '--precision', 'f32', '--device', 'xpu',
                           '--output', target, source, daemon=daemon, status=1)
        self.assertIn('values of the result are not finite', done.stderr)
        self.assertFalse(os.path.exists(target) and os.path.getsize(target))
        self.assertEqual([d['state'] for d in self.devices(daemon)], ['ready'] * 3)
        self.ends_well(daemon)

    def test_quarantine_is_told(self):
        """By vrtctl devices and status, with the reason, until the card is back."""
        control = self.path('told.faults')
        daemon = self.start('told', VRT_XPU_CONTROL=control, config={'devices': {'backoff_s': 3}})
        self.devices(daemon)
        with open(control, 'w', encoding='utf-8') as f:
            f.write('1 run:40 lost')
        both = self.jobs_agree(daemon, 'told')
        self.assertEqual(both['warnings'], ['xpu:1 ' + LOST])
        device = self.devices(daemon)[1]
        self.assertEqual((device['state'], device['last_error']),
                         ('quarantined', 'the device is lost'))
        self.assertRegex(self.vrtctl('devices', daemon=daemon).stdout, r'\nxpu:1 +quarantined ')
        told = self.vrtctl('devices', 'xpu:1', daemon=daemon).stdout
        self.assertRegex(told, r'^xpu:1: quarantined, and (being )?asked again( in [0-9] s)?\n')
        self.assertIn('  Last error   the device is lost\n', told)
        self.assertIn('xpu:1 quarantined', self.vrtctl('status', daemon=daemon).stdout)
        # It isn't back yet when it is asked first, and is asked later the next time.
        self.await_log(daemon, 'xpu:1 is quarantined for 6 s')
        with open(control, 'w', encoding='utf-8') as f:
            f.write('1 call:1 mend')
        self.await_log(daemon, 'xpu:1 is ready', 2)
        device = self.devices(daemon)[1]
        self.assertEqual((device['state'], device['retry_in_s']), ('ready', None))
        self.assertEqual(self.jobs_agree(daemon, 'back')['warnings'], [])
        self.ends_well(daemon)

    def test_the_only_card_is_lost(self):
        """The job waits for it, as long as it is to, and goes on; else it fails and can be retried,
        and there is no half of a file."""
        source = xpu.film(self.path('only.mkv'), 40)
        options = ('--device', 'xpu', '--precision', 'f32', '--codec', 'ffv1')
        wanted, target = self.path('only-wanted.mkv'), self.path('only-out.mkv')
        self.follow(source, wanted, *options)
        daemon = self.start('waits', VRT_XPU_DEVICES='1', VRT_XPU_FAULTS='0 run:60 lost=1s',
                            config={'devices': {'backoff_s': 1}})
        job = self.follow(source, target, *options, daemon=daemon)
        self.assertEqual((job['state'], job['warnings']), ('done', ['xpu:0 ' + LOST]))
        self.assertEqual(digest(target), digest(wanted))
        self.ends_well(daemon)
        os.unlink(target)

        control = self.path('fails.faults')
        with open(control, 'w', encoding='utf-8') as f:
            f.write('0 run:60 lost')
        daemon = self.start('fails', VRT_XPU_DEVICES='1', VRT_XPU_CONTROL=control,
                            config={'devices': {'backoff_s': 1, 'patience_s': 1},
                                    'jobs': {'segment_frames': 8}})
        started = time.monotonic()
        done = self.vrtctl('submit', '--follow', '--json', *options, '--output', target, source,
                           daemon=daemon, status=1)
        job = json.loads(done.stdout.splitlines()[-1])
        self.assertLess(time.monotonic() - started, 60)
        self.assertEqual(job['error']['id'], 'device.failed')
        self.assertIn('no device is left for the job: ', job['error']['message'])
        self.assertIn('the device is lost', job['error']['message'])
        self.assertFalse(os.path.exists(target) and os.path.getsize(target))
        with open(control, 'w', encoding='utf-8') as f:
            f.write('0 call:1 mend')
        self.await_log(daemon, 'xpu:0 is ready', 2)
        self.vrtctl('retry', job['id'], daemon=daemon)
        self.vrtctl('wait', job['id'], daemon=daemon)
        self.assertEqual(digest(target), digest(wanted))
        self.ends_well(daemon)


if __name__ == '__main__':
    harness.main()
