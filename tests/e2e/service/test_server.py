#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The daemon as a service: its configuration read again, and what the service manager hears."""
import contextlib
import json
import os
import signal
import subprocess
import time

import harness
from harness import clip
from manager import Manager


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')


class Server(harness.FolderCase):
    def manager(self):
        manager = Manager(self.folder)
        self.addCleanup(manager.close)
        return manager

    def watch(self, daemon):
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def start(self, config):
        return self.watch(harness.Daemon(self.folder, config))

    def configure(self, text):
        with open(self.path('vrtd.conf'), 'w', encoding='utf-8') as f:
            f.write(text)

    def vrtctl(self, daemon, *arguments):
        return subprocess.run([harness.VRTCTL, '--socket', daemon.socket, *map(str, arguments)],
                              capture_output=True, text=True, timeout=harness.PATIENCE_S)

    def check_config(self):
        return subprocess.run([harness.VRTD, '--check-config', '--config', self.path('vrtd.conf'),
                               '--state-dir', self.path('state')], capture_output=True, text=True,
                              timeout=harness.PATIENCE_S)

    def reload(self, daemon, text, says):
        """Has it read `text`; returns what it logs from then on, up to what it `says` last."""
        self.configure(text)
        before = len(daemon.log_text())
        daemon.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + harness.PATIENCE_S
        while says not in daemon.log_text()[before:]:
            self.assertLess(time.monotonic(), deadline, daemon.log_text())
            time.sleep(0.01)
        return daemon.log_text()[before:]

    def plan(self, daemon, source):
        done = self.vrtctl(daemon, 'submit', '--dry-run', '--json', source)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_reload_changes_what_is_live(self):
        daemon = self.start({'jobs': {'codec': 'h264', 'max_running': 1}})
        source = clip(self.path('s.mkv'), frames=2)
        self.assertEqual(self.plan(daemon, source)['recipe']['codec'], 'h264')
        log = self.reload(daemon, '[jobs]\ncodec = ffv1\nmax_running = 1\n[cpu]\nthreads = 1\n',
                          'read again: 2 options')
        self.assertIn('[jobs] codec has changed', log)
        self.assertIn('[cpu] threads has changed, which waits for the next start', log)
        self.assertNotIn('max_running', log)
        self.assertEqual(self.plan(daemon, source)['recipe']['codec'], 'ffv1')
        # What isn't set any more is at its default again.
        log = self.reload(daemon, '', 'read again: 2 options')
        self.assertIn('[jobs] codec has changed', log)
        self.assertIn('[jobs] max_running has changed', log)
        self.assertEqual(self.plan(daemon, source)['recipe']['codec'], 'h264')
        self.reload(daemon, '[log]\nlevel = error\n', '[log] level has changed')
        self.assertEqual(daemon.stop(), 0)

    def test_log_as_json_in_a_file(self):
        """Each line an object, whatever a file's name holds; none is lost where it is rotated."""
        log, moved = self.path('log.json'), self.path('log.json.1')
        daemon = self.start({'log': {'format': 'json', 'file': log, 'level': 'info, conn=debug'}})
        names = ['a"b\\.mkv', 'two\nlines.mkv', 'job 99.mkv', b'\xff\xc3.mkv', 'ä.mkv']
        sources = [self.path(os.fsdecode(name)) for name in names]
        first = clip(self.path('s.mkv'), frames=20)
        for source in sources:
            os.link(first, source)
        ids = []
        for i, source in enumerate(sources):
            done = self.vrtctl(daemon, 'submit', '--json', '--follow', source)
            self.assertEqual(done.returncode, 0, done.stderr)
            ids.append(json.loads(done.stdout.splitlines()[-1])['id'])
            if i == 1:
                os.rename(log, moved)
                daemon.process.send_signal(signal.SIGHUP)
                deadline = time.monotonic() + harness.PATIENCE_S
                while not os.path.exists(log):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.01)
        _, shown = daemon.request('GET', f'/v1/jobs/{ids[2]}/log')
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(daemon.log_text(), '')
        lines = []
        for path in moved, log:
            with open(path, encoding='utf-8') as f:
                lines += [json.loads(line) for line in f]
        for line in lines:
            self.assertRegex(line['time'], r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$')
            self.assertIn(line['level'], ('debug', 'info', 'warning'))
            self.assertTrue(line['level'] != 'debug' or line['topic'] == 'conn', line)
            self.assertTrue(os.path.exists(os.path.join(ROOT, line['file'])), line)
            self.assertTrue(line['line'] > 0 and line['function'], line)
        for i in ids:
            of_job = [line['message'] for line in lines if line.get('job') == i]
            for says in f'job {i} starts', f'job {i} is done':
                self.assertEqual(of_job.count(says), 1, of_job)
            self.assertTrue(any('of 20 frames (' in text for text in of_job), of_job)
        self.assertEqual([line for line in lines if line.get('job') == 99], [])
        queued = [line for line in lines if line.get('job') == ids[0] and 'user' in line]
        self.assertEqual(queued[0]['user'], os.getuid())
        self.assertTrue(any(line.get('device') == 'cpu:0' for line in lines))
        self.assertTrue(any(line['topic'] == 'conn' for line in lines))
        # What GET /v1/jobs/N/log has are the lines of that job.
        self.assertEqual([line['text'] for line in shown['lines']],
                         [line['message'] for line in lines if line.get('job') == ids[2]])

    def test_log_that_cannot_be(self):
        """One sentence, at the start and in a reload, after which the log goes on as it was."""
        self.configure('[log]\nfile = /nowhere/log\n')
        done = self.check_config()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)
        self.assertIn('[log] file: /nowhere/log can\'t be written: No such file', done.stderr)
        daemon = self.start({'log': {'level': 'info'}})
        log = self.reload(daemon, '[log]\nfile = /nowhere/log\n', 'stays as it was')
        self.assertIn('/nowhere/log can\'t be written', log)
        # From there into a file, and back.
        self.reload(daemon, f'[log]\nfile = {self.path("log")}\n', 'reading the configuration')
        deadline = time.monotonic() + harness.PATIENCE_S
        while not os.path.exists(self.path('log')):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertEqual(daemon.stop(), 0)
        with open(self.path('log'), encoding='utf-8') as f:
            self.assertRegex(f.read(), r'(?m)^[\d: .-]{24}info server: signal 15')
        self.assertNotIn('vrtd ends', daemon.log_text())

    def test_reload_of_devices_and_precision(self):
        """What jobs and profiles get that don't say; a job keeps what it got over a restart."""
        held = {'fault': f'submit:1- hang={self.path("held")}'}
        two = f'[cpu]\ndevices = 2\nthreads = 1\n[devices]\nfault = {held["fault"]}\n'
        config = {'cpu': {'devices': 2, 'threads': 1}, 'jobs': {'device': 'cpu:1'}, 'devices': held}
        daemon = self.start(config)
        source = clip(self.path('s.mkv'), frames=2)
        profile = lambda: daemon.request('POST', '/v1/profile', {'frames': 1, 'model': {
            'name': 'compact-x2'}}, {'Content-Type': 'application/json'})[1]
        plan = self.plan(daemon, source)
        self.assertEqual(plan['device'], 'cpu:1')
        self.assertEqual([d['name'] for d in plan['devices']], ['cpu:1'])
        self.assertEqual(profile()['device'], 'cpu:1')
        for options in ('--device', 'all'), ('--device', 'auto'):
            done = self.vrtctl(daemon, 'submit', '--dry-run', '--json', *options, source)
            plan = json.loads(done.stdout)
            self.assertEqual(plan['device'], options[1])
            self.assertEqual([d['name'] for d in plan['devices']], ['cpu:0', 'cpu:1'])
        log = self.reload(daemon, two + '[jobs]\ndevice = cpu:0\nprecision = f32\n',
                          'read again: 2 options')
        self.assertIn('[jobs] device has changed', log)
        self.assertIn('[jobs] precision has changed', log)
        plan = self.plan(daemon, source)
        self.assertEqual([plan['device'], plan['recipe']['precision']], ['cpu:0', 'f32'])
        self.assertEqual(profile()['device'], 'cpu:0')
        self.assertEqual(profile()['precision'], 'f32')
        # f16 isn't for the processor: a job that doesn't say is refused as one that asks for it.
        self.reload(daemon, two + '[jobs]\ndevice = cpu:0\nprecision = f16\n',
                    'read again: 1 option')
        done = self.vrtctl(daemon, 'submit', '--dry-run', source)
        self.assertEqual(done.returncode, 1)
        self.assertIn('in f16: ask for another precision', done.stderr)
        done = self.vrtctl(daemon, 'submit', '--dry-run', '--precision', 'f32', source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.reload(daemon, two + '[jobs]\ndevice = cpu:1\nmax_running = 1\n', 'read again: 3')
        # The first goes on no further until the other is paused.
        open(self.path('held'), 'w', encoding='utf-8').close()
        for i in (1, 2):
            done = self.vrtctl(daemon, 'submit', '--output', self.path(f'{i}.mkv'), source)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.vrtctl(daemon, 'pause', 2)
        os.unlink(self.path('held'))
        # Whoever is refused for a device that he didn't name finds in the log why.
        log = self.reload(daemon, two + '[jobs]\ndevice = cpu:7\n', 'read again: 2')
        self.assertIn('[jobs] device: jobs that name no device are refused: there is no device '
                      'cpu:7', daemon.log_text())
        done = self.vrtctl(daemon, 'submit', '--dry-run', source)
        self.assertIn('there is no device cpu:7', done.stderr)
        self.assertEqual(daemon.stop(), 0)
        daemon = self.start(config | {'jobs': {'device': 'cpu:0'}})
        self.vrtctl(daemon, 'cancel', 1)
        for verb in 'resume', 'wait':
            done = self.vrtctl(daemon, verb, 2)
            self.assertEqual(done.returncode, 0, done.stderr)
        job = daemon.job(2)
        self.assertEqual([job['state'], job['device']], ['done', 'cpu:1'])
        self.assertEqual([d['name'] for d in job['devices']], ['cpu:1'])
        self.assertEqual(daemon.stop(), 0)

    def test_many_reloads(self):
        """However they come, the last configuration is the one in force."""
        daemon = self.start({'jobs': {'codec': 'h264'}})
        source = clip(self.path('s.mkv'), frames=2)
        for i in range(50):
            self.configure(f'[jobs]\nhistory = {i + 1}\n' + ('codec = ffv1\n' if i == 49 else ''))
            daemon.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + harness.PATIENCE_S
        while self.plan(daemon, source)['recipe']['codec'] != 'ffv1':
            self.assertLess(time.monotonic(), deadline, daemon.log_text())
        daemon.process.send_signal(signal.SIGHUP)
        self.assertEqual(daemon.stop(), 0)

    def test_reload_of_memory(self):
        """By device, for jobs that are admitted from then on; what runs keeps what it has."""
        limit = 96 << 20
        slow = harness.SLOW['devices']['fault']
        base = f'[cpu]\ndevices = 2\nthreads = 1\n[devices]\nmemory_limit = {limit}\n' \
               f'fault = {slow}\n'
        allowed = lambda plan: [d['allowed_bytes'] / limit for d in plan['devices']]
        daemon = self.start({'cpu': {'devices': 2, 'threads': 1},
                             'devices': {'memory_limit': limit, 'fault': slow}})
        source = clip(self.path('s.mkv'), '-c:v', 'ffv1', frames=48, size='320x240')
        for fractions, wanted, unknown in [
                (None, [0.9, 0.9], False), ('0.5', [0.5, 0.5], False),
                ('0.5, cpu:1=0.25', [0.5, 0.25], False), ('cpu=0.125', [0.125, 0.125], False),
                ('0.5, cpu=0.25, cpu:0=0.75, cpu:9=1', [0.75, 0.25], True)]:
            if fractions:
                log = self.reload(daemon, base + f'memory_fraction = {fractions}\n',
                                  'read again: 1')
                self.assertIn('[devices] memory_fraction has changed', log)
            for got, share in zip(allowed(self.plan(daemon, source)), wanted):
                self.assertAlmostEqual(got, share, 2)
            self.assertEqual('there is no device that the share of cpu:9 is for'
                             in daemon.log_text(), unknown)
        done = self.vrtctl(daemon, 'submit', '--json', '--output', self.path('o.mkv'), source)
        self.assertEqual(done.returncode, 0, done.stderr)
        while (before := daemon.job(1))['frames_done'] == 0:
            time.sleep(0.02)
        self.reload(daemon, base + 'memory_fraction = 0.12\n', 'read again: 1')
        plan = self.plan(daemon, source)
        self.assertLess(plan['recipe']['tile_width'], before['recipe']['tile_width'])
        self.assertIn(daemon.job(1)['state'], ['running', 'finishing'])
        self.vrtctl(daemon, 'wait', 1)
        job = daemon.job(1)
        self.assertEqual([job['state'], job['n_starts'], job['warnings']], ['done', 1, []])
        self.assertEqual(job['recipe'], before['recipe'])
        self.assertEqual(daemon.stop(), 0)

    def test_reload_refuses_whole(self):
        daemon = self.start({'jobs': {'codec': 'h264'}})
        source = clip(self.path('s.mkv'), frames=2)
        for text, says in [
                ('[jobs]\ncodec = ffv1\nmax_running = 0\n', 'vrtd.conf:3: max_running: "0"'),
                ('[jobs]\ncodec = ffv1\ndevice = cpu;\n', 'vrtd.conf:3: [jobs] device: "cpu;" is '
                 'no device: write auto, all, a kind'),
                ('[jobs]\ncodec = ffv1\n[access]\nmedia_roots = /no/where\n', '/no/where')]:
            log = self.reload(daemon, text, 'stays as it was')
            self.assertIn(says, log)
            self.assertEqual(log.count('stays as it was'), 1)
            self.assertNotIn('codec has changed', log)
        os.unlink(self.path('vrtd.conf'))
        daemon.process.send_signal(signal.SIGHUP)
        while 'No such file' not in daemon.log_text():
            time.sleep(0.01)
        self.assertEqual(self.plan(daemon, source)['recipe']['codec'], 'h264')
        self.assertEqual(daemon.stop(), 0)

    def test_wall_clock_jumps(self):
        """Dates are wrong then, and nothing else."""
        plain = self.start({'cpu': {'threads': 1}})
        source = clip(self.path('s.mkv'), frames=40)
        done = self.vrtctl(plain, 'submit', '--follow', '--output', self.path('plain.mkv'), source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(plain.stop(), 0)
        daemon = self.start({'cpu': {'threads': 1},
                             'jobs': {'history_days': 1},
                             'daemon': {'wall_clock': '-500000000,900000000,0.05'}})
        done = self.vrtctl(daemon, 'submit', '--follow', '--json', '--output',
                           self.path('jumps.mkv'), source)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(harness.digest(self.path('jumps.mkv')),
                         harness.digest(self.path('plain.mkv')))
        self.assertNotEqual(told[-1]['created_at'][:3], time.strftime('%Y', time.gmtime())[:3])
        for job in told:
            for key in ('elapsed_s', 'left_s'):
                self.assertTrue(job[key] is None or 0 <= job[key] < harness.PATIENCE_S, job)
        # Nor does a job of ten years ago grow old in a second.
        short = clip(self.path('short.mkv'), frames=1)
        for i in range(6):
            more = self.vrtctl(daemon, 'submit', '--follow', '--output', self.path(f'{i}.mkv'),
                               short)
            self.assertEqual(more.returncode, 0, more.stderr)
        for i in range(7):
            shown = self.vrtctl(daemon, 'show', told[-1]['id'] + i)
            self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(daemon.stop(), 0)

    def test_notices(self):
        """Ready, reloading, ready again, stopping: and time to stop is asked for."""
        manager = self.manager()
        daemon = self.watch(manager.start(self.folder, {'jobs': {'history': 5}}))
        n = manager.wait_for(lambda n: n.get('READY') == '1')
        self.reload(daemon, '[jobs]\nhistory = 6\n', 'read again: 1')
        n = manager.wait_for(lambda n: n.get('RELOADING') == '1' and 'MONOTONIC_USEC' in n, n)
        n = manager.wait_for(lambda n: n.get('READY') == '1', n)
        self.reload(daemon, '[jobs]\nhistory = x\n', 'stays as it was')
        n = manager.wait_for(lambda n: n.get('RELOADING') == '1', n)
        n = manager.wait_for(lambda n: n.get('READY') == '1', n)
        n = manager.wait_for(lambda n: 'is wrong' in n.get('STATUS', ''), n)
        self.assertEqual(daemon.stop(), 0)
        n = manager.wait_for(lambda n: n.get('STOPPING') == '1', n)
        self.assertFalse([x for x in manager.notices if 'WATCHDOG' in x])

    def test_watchdog(self):
        manager = self.manager()
        daemon = self.watch(manager.start(self.folder, WATCHDOG_USEC='200000'))
        began, n = time.monotonic(), 0
        for _ in range(10):
            n = manager.wait_for(lambda n: n.get('WATCHDOG') == '1', n)
        self.assertGreater(time.monotonic() - began, 0.5)
        # A daemon that hangs says nothing any more.
        daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        n = len(manager.notices)
        time.sleep(0.5)
        self.assertEqual(len(manager.notices), n)
        daemon.process.send_signal(signal.SIGCONT)
        manager.wait_for(lambda n: n.get('WATCHDOG') == '1', n)
        self.assertEqual(daemon.stop(), 0)

    def test_stale_files_are_given_up(self):
        manager = self.manager()
        with open(self.path('kept'), 'w+b') as f:
            for name in ('7i', '7o', 'nonsense'):
                manager.store[name] = os.dup(f.fileno())
        daemon = self.watch(manager.start(self.folder))
        manager.wait_for_store([])
        for name in os.listdir(f'/proc/{daemon.process.pid}/fd'):
            # Others come and go.
            with contextlib.suppress(FileNotFoundError):
                self.assertNotEqual(os.readlink(f'/proc/{daemon.process.pid}/fd/{name}'),
                                    self.path('kept'))
        self.assertEqual(daemon.stop(), 0)


if __name__ == '__main__':
    harness.main()
