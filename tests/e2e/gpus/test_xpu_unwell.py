#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs on two XPU devices of which one is unwell, from a random moment on: whatever becomes of it,
the result is that of one device, frame by frame and bit by bit.

VRTD_LONG (check.sh --long) has each way to be unwell happen fifty times, each time at another
random moment, which are the same in every run of the test.
"""
import os
import random

import harness
import xpu

# Six shards: a card that is lost early still has had some.
N_FRAMES = 48
# What a job says of a card that is lost while it works for it, or before it could.
LOST = {'xpu:1 is left out until it works again: the device is lost',
        "not every device takes part: xpu:1 doesn't work: the device is lost",
        'not every device takes part: xpu:1: the device is lost'}

LONG = os.environ.get('VRTD_LONG', '') not in ('', '0')


class Unwell(xpu.Case):
    """The daemon of the class has two cards that are well."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.source = xpu.film(os.path.join(cls.folder, 'in.mkv'), N_FRAMES, '24x24')
        cls.wanted, cls.counts = {}, {}

    def options(self, devices, precision):
        return ('--device', devices, '--precision', precision, '--codec', 'ffv1', '--model',
                xpu.COMPACT_X4, '--overwrite')

    def by_one(self, precision):
        """What xpu:0 alone makes."""
        if precision not in self.wanted:
            target = self.path(f'wanted-{precision}.mkv')
            job = self.follow(self.source, target, *self.options('xpu:0', precision))
            self.assertEqual([d['name'] for d in job['devices']], ['xpu:0'])
            self.assertEqual(len({md5 for _, md5 in xpu.frames(target)}), N_FRAMES,
                             'frames are alike')
            self.wanted[precision] = target
        return self.wanted[precision]

    def run_job(self, daemon, precision):
        """On both cards. Return: the job, which ended as if nothing had happened."""
        target = self.path(f'{precision}.mkv')
        job = self.follow(self.source, target, *self.options('xpu:0,xpu:1', precision),
                          daemon=daemon)
        self.assertEqual(job['state'], 'done')
        self.assertEqual((job['frames_total'], job['frames_done']), (N_FRAMES, N_FRAMES))
        self.assertEqual(sum(d['frames_done'] for d in job['devices']), N_FRAMES)
        self.assertEqual(job['n_starts'], 1)
        self.same_files(target, self.by_one(precision))
        return job

    def count(self, n_jobs):
        """What the second card does in the life of a daemon that is well and has so many jobs."""
        if n_jobs not in self.counts:
            name = f'{n_jobs}-jobs'
            report = self.path(name + '.report')
            daemon = self.start(name, VRT_XPU_REPORT=report)
            self.devices(daemon)
            for _ in range(n_jobs):
                self.assertEqual(self.run_job(daemon, 'f32')['warnings'], [])
            self.ends_well(daemon)
            self.counts[n_jobs] = {what: n for (card, what), n in xpu.figures(report).items()
                                   if card == '1'}
        return self.counts[n_jobs]

    def moments(self, seed, first, last, kinds, most=2 / 3):
        """When something shall go wrong: kinds of event by turns, of which so many are well. There
        are `first` of them before the job and `last` at its end, but it isn't behind `most` of
        the job, because a card gets more or less to do from run to run. Yields: the number of the
        run, its precision, the moment."""
        dice = random.Random(seed)
        for i in range(50 if LONG else 2 * len(kinds)):
            what, counted = kinds[i % len(kinds)]
            n = max(int(most * (last[counted] - first[counted])), 1)
            yield i, ('f32', 'f16')[i % 2], f'{what}:{first[counted] + dice.randint(1, n)}'

    def most_happened(self, n_happened, n_runs):
        """What was to be shown did happen; how often is printed."""
        print(f'{n_happened} of {n_runs} ', end='', flush=True)
        self.assertGreater(n_happened, n_runs // 2, f'of {n_runs}')

    def test_lost(self):
        """Whatever it was at, and for good."""
        kinds = [('call', 'calls'), ('run', 'runs'), ('copy', 'copies')]
        n_happened = n_runs = 0
        for i, precision, at in self.moments(1, self.count(0), self.count(1), kinds):
            report = self.path('lost.report')
            with self.subTest(at=at):
                daemon = self.start(f'lost-{i}', VRT_XPU_FAULTS=f'1 {at} lost',
                                    VRT_XPU_REPORT=report)
                self.devices(daemon)
                job = self.run_job(daemon, precision)
                self.ends_well(daemon)
                is_told = 'xpu:1 is quarantined' in daemon.log_text().partition('1 is done')[0]
                self.assertLessEqual(is_told, xpu.figures(report)['1', 'faults'])
                self.assertEqual(is_told, bool(set(job['warnings']) & LOST), job['warnings'])
                self.assertEqual(is_told, job['warnings'] != [])
                n_happened += is_told
                n_runs += 1
        self.most_happened(n_happened, n_runs)

    def suffer(self, name, seed, effect, kinds, **options):
        """Job after job on one daemon, each with the effect from another moment on, then one that
        is well. Yields: the daemon, the job, which of them it is (None: the last)."""
        control, report = self.path(name + '.faults'), self.path(name + '.report')
        before, after = self.count(1), self.count(2)
        job = {what: after[what] - before[what] for what in before}
        moments = list(self.moments(seed, dict.fromkeys(job, 0), job, kinds, **options))
        with open(control, 'w', encoding='utf-8'):
            pass
        daemon = self.start(name, VRT_XPU_CONTROL=control, VRT_XPU_REPORT=report,
                            config={'devices': {'backoff_s': 1},
                                    'log': {'level': 'debug'}})
        self.devices(daemon)
        for i, precision, at in moments + [(None, 'f32', '')]:
            # Events are counted anew from here on. By its size the driver sees that it changed.
            with open(control, 'w', encoding='utf-8') as f:
                f.write(effect.format(at) + ' ' * (i % 7) if at else '')
            with self.subTest(at=at):
                yield daemon, self.run_job(daemon, precision), i
        self.ends_well(daemon)
        self.n_struck, self.n_runs = xpu.figures(report)['1', 'faults'], len(moments)

    def took_part(self, job):
        """The second card did, as well as one can."""
        self.assertEqual(job['warnings'], [])
        self.assertGreater({d['name']: d['frames_done'] for d in job['devices']}['xpu:1'], 0)

    def test_slow(self):
        """By five times, whatever it does from then on."""
        for _, job, _ in self.suffer('slow', 2, '1 {}- slow=5', [('run', 'runs'),
                                                                 ('copy', 'copies')]):
            self.assertEqual(job['warnings'], [])
        self.most_happened(self.n_struck, self.n_runs)

    def test_out_of_memory(self):
        """It leaves the job, and is there for the next."""
        for _, job, i in self.suffer('full', 3, '1 {}- fail', [('alloc', 'allocs')]):
            if i is None:
                self.took_part(job)
            else:
                self.assertEqual(len(job['warnings']), 1)
                self.assertIn(job['warnings'][0], [
                    'xpu:1 ran out of memory and left the job',
                    'not every device takes part: xpu:1: out of device memory'])
        self.most_happened(self.n_struck, self.n_runs)

    def test_lost_and_back(self):
        """Lost for a moment while the job goes on, it is asked again, and works for it again."""
        # All wait rather than compute, so that the job lasts for some seconds.
        effect = 'run:every=8 delay=60ms; 1 {} lost=100ms'
        n_happened = n_back = 0
        for daemon, job, i in self.suffer('back', 4, effect,
                                          [('run', 'runs'), ('copy', 'copies')], most=1 / 3):
            if i is None:
                self.took_part(job)
                continue
            # From its admission on, which asks the device too.
            text = daemon.log_text()
            log = text.partition(f'job {job["id"] - 1} is done')[2] or text
            _, lost, log = log.partition('xpu:1 is quarantined')
            _, ready, log = log.partition('xpu:1 is ready')
            n_happened += lost != ''
            n_back += ready != '' and 'goes to xpu:1' in log.partition('is done')[0]
            self.assertEqual(lost != '', bool(set(job['warnings']) & LOST), job['warnings'])
            self.assertLessEqual(len(job['warnings']), 1)
            self.assertNotIn('xpu:1 is quarantined', log)
            if not ready:
                self.await_log(daemon, 'xpu:1 is ready', daemon.log_text().count('xpu:1 is q') + 1)
        self.most_happened(n_happened, self.n_runs)
        self.most_happened(n_back, n_happened)


if __name__ == '__main__':
    harness.main()
