#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""As many files are open as may be: jobs are refused or wait, and none of them fails."""
import json
import os
import resource
import sys
import time

import harness
from harness import clip

RAISED = 512


class Descriptors(harness.Case):
    config = {'jobs': {'max_running': 1, 'segment_frames': 2}, **harness.SLOW}

    def limit(self, n):
        _, hard = resource.prlimit(self.daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.daemon.process.pid, resource.RLIMIT_NOFILE, (n, hard))

    def setUp(self):
        self.addCleanup(self.limit, RAISED)
        self.limit(RAISED)

    def opened(self):
        """The numbers of the daemon's descriptors, once nobody is connected any more."""
        numbers = None
        while numbers != (numbers := sorted(map(int, os.listdir(
                f'/proc/{self.daemon.process.pid}/fd')))):
            time.sleep(0.1)
        return numbers

    def limit_to_free(self, n):
        """From now on the daemon can open n files more than it has."""
        used, limit = set(self.opened()), 0
        while n >= 0:
            n -= limit not in used
            limit += 1
        self.limit(limit - 1)

    def submit(self, source, target, status=0):
        return self.vrtctl('submit', '--json', '--output', target, source, status=status)

    def begin(self, name, frames):
        source = clip(self.path(f'{name}.mp4'), frames=frames)
        return json.loads(self.submit(source, self.path(f'{name}.out.mp4')).stdout)['id']

    def show(self, job):
        return self.daemon.job(job)

    def await_job(self, job, is_so):
        deadline = time.monotonic() + harness.PATIENCE_S
        while not is_so(shown := self.show(job)):
            self.assertNotEqual(shown['state'], 'failed', self.daemon.log_text())
            self.assertLess(time.monotonic(), deadline, self.daemon.log_text())
            time.sleep(0.05)
        return shown

    def test_limit_is_raised(self):
        """To the hard one, as far as jobs can need it."""
        folder = self.path('raised')
        os.mkdir(folder)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        daemon = harness.Daemon(folder, prefix=('prlimit', '--nofile=64:'))
        soft = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)[0]
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(soft, min(hard, 524288))

    def test_jobs_that_wait_leave_some(self):
        """Jobs that wait never take the last quarter: the one that runs ends well, and so do all
        that were taken."""
        first = self.begin('first', 80)
        source = clip(self.path('next.mp4'), frames=2)
        self.await_job(first, lambda job: job['frames_done'] > 0)
        n = len(self.opened())
        self.limit(max(self.opened()) + 40)
        jobs = [first]
        while True:
            done = self.submit(source, self.path(f'next{len(jobs)}.mp4'), status=None)
            if done.returncode != 0:
                break
            jobs.append(json.loads(done.stdout)['id'])
            self.assertLess(len(jobs), 40)
        self.assertIn('vrtd has as many files open as it may: try again when some jobs are done, '
                      'or raise LimitNOFILE', done.stderr)
        self.assertGreater(len(jobs), 3)
        soft = resource.prlimit(self.daemon.process.pid, resource.RLIMIT_NOFILE)[0]
        # Beside those of jobs, the processes of vrt-media that stand ready, or did when the last
        # job's files came.
        self.assertLess(max(self.opened()), soft - soft // 4 + 4 + len(self.daemon.children()))
        self.assertGreater(len(self.opened()), n)
        self.vrtctl('wait', *jobs)
        # And with those gone there is room again.
        self.submit(source, self.path('last.mp4'))

    def test_files_that_cannot_be_received(self):
        """The connection gets a descriptor, what comes over it none: that is said, and none of
        those that came is kept."""
        source = clip(self.path('r.mp4'), frames=2)
        before = self.opened()
        for n in (1, 2):
            self.limit_to_free(n)
            done = self.submit(source, self.path(f'r{n}.out.mp4'), status=1)
            self.assertIn('vrtd has as many files open as it may', done.stderr)
            self.limit(RAISED)
            self.assertEqual(self.opened(), before)
        # Of what has come with them nothing can be asked, nor what an encoder makes of it.
        self.limit_to_free(3)
        done = self.vrtctl('compare', source, source, status=1)
        self.assertIn('comparing: as many files are open as may be', done.stderr)
        self.assertIn('"problem":"vrt-media: as many files are open as may be',
                      self.vrtctl('codecs', '--json').stdout)
        self.limit(RAISED)
        self.assertEqual(self.opened(), before)
        # Without one for the connection, the client waits, and nobody is kept busy.
        self.limit_to_free(0)
        clock = self.cpu_s()
        waiting = harness.UnixConnection(self.daemon.socket)
        waiting.request('GET', '/healthz')
        time.sleep(1)
        self.assertLess(self.cpu_s() - clock, 0.2)
        self.limit(RAISED)
        self.assertEqual(waiting.getresponse().status, 200)
        waiting.close()

    def cpu_s(self):
        with open(f'/proc/{self.daemon.process.pid}/stat', encoding='utf-8') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def test_start_waits(self):
        """A job that can't open what it needs is put back, and goes on by itself."""
        job, other = self.begin('running', 60), self.begin('other', 60)
        self.await_job(job, lambda shown: shown['segments_done'] > 1)
        # Of pipelines that are held only one stays.
        self.vrtctl('pause', job)
        self.await_job(other, lambda shown: shown['frames_done'] > 0)
        self.vrtctl('pause', other)
        self.vrtctl('cancel', other)
        self.vrtctl('wait', other, status=None)
        stored = self.show(job)['segments_done']
        n_waited = 0
        for n in range(1, 20):
            self.limit_to_free(n)               # one is for vrtctl's connection
            self.vrtctl('resume', job)
            shown = self.await_job(job, lambda shown: shown['error'] or
                                   shown['segments_done'] > stored)
            self.assertGreaterEqual(shown['segments_done'], stored)
            if shown['segments_done'] > stored:
                break
            self.assertEqual(shown['error']['id'], 'out_of_descriptors')
            self.assertEqual(shown['state'], 'queued')
            self.vrtctl('pause', job)
            n_waited += 1
        self.assertGreater(n_waited, 3)
        self.limit(RAISED)
        self.vrtctl('wait', job)
        self.assertIsNone(self.show(job)['error'])
        self.assertNotIn('are made', self.daemon.log_text())

    def test_waiting_start_is_tried_again(self):
        """Without anybody's help, but not all the time."""
        first = self.begin('busy', 300)
        second = self.begin('late', 4)
        self.vrtctl('pause', second)
        self.vrtctl('cancel', first)
        self.vrtctl('wait', first, status=None)
        self.limit_to_free(1)
        self.vrtctl('resume', second)
        shown = self.await_job(second, lambda shown: shown['error'])
        time.sleep(1)
        self.assertLessEqual(self.show(second)['n_starts'], shown['n_starts'] + 1)
        self.limit(RAISED)
        self.vrtctl('wait', second)
        self.assertIsNone(self.show(second)['error'])


if __name__ == '__main__':
    if not sys.platform.startswith('linux'):
        print('skipped: only Linux changes the limits of another process')
        sys.exit(77)
    harness.main()
