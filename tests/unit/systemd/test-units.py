#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The units of systemd are right, and the daemon does what they say: it takes the socket that is
handed over, and tells when it is ready and when it ends.

usage: test-units.py SYSTEMD_BUILD_FOLDER VRTD
"""
import fcntl
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

BUILD, VRTD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'systemd')
PATIENCE_S = 60


class Units(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='vrtd-units-')
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def analyze(self, command, *arguments):
        if not shutil.which('systemd-analyze'):
            self.skipTest('systemd-analyze is not installed')
        return subprocess.run(['systemd-analyze', command, *arguments], capture_output=True,
                              text=True, timeout=PATIENCE_S,
                              env=dict(os.environ, XDG_RUNTIME_DIR=self.folder))

    def verify(self, service, socket_unit, *options):
        """As installed: under their names, with a program where the service looks for it."""
        with open(os.path.join(BUILD, service), encoding='utf-8') as f:
            text = f.read()
        lines = [f'ExecStart={VRTD}' if l.startswith('ExecStart=') else l
                 for l in text.splitlines()]
        self.assertEqual(sum(l.startswith('ExecStart=/') for l in text.splitlines()), 1, text)
        paths = [self.path(n) for n in ('vrtd.service', 'vrtd.socket')]
        with open(paths[0], 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
        shutil.copy(os.path.join(SOURCE, socket_unit), paths[1])
        done = self.analyze('verify', '--man=no', '--recursive-errors=yes', *options, *paths)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(self.folder, done.stderr)

    def test_system_units(self):
        self.verify('vrtd.service', 'vrtd.socket')

    def test_user_units(self):
        self.verify('vrtd-user.service', 'user/vrtd.socket', '--user')

    def test_folder_units(self):
        """By an instance, of a folder whose name needs escaping."""
        with open(os.path.join(BUILD, 'vrtd-folder@.service'), encoding='utf-8') as f:
            service = f.read()
        command = re.search(r'^ExecStart=(\S+)', service, re.M).group(1)
        # Whatever comes at once: systemd gives up watching where its limit is hit.
        self.assertIn('\nStartLimitIntervalSec=0\n', service)
        paths = [self.path(f'vrtd-folder@home-a-my\\x20films.{kind}')
                 for kind in ('service', 'path', 'timer')]
        with open(paths[0], 'w', encoding='utf-8') as f:
            f.write(service.replace(command, VRTD))
        for path in paths[1:]:
            kind = os.path.splitext(path)[1]
            shutil.copy(os.path.join(SOURCE, 'user', 'vrtd-folder@' + kind), path)
        done = self.analyze('verify', '--man=no', '--recursive-errors=yes', '--user', *paths)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_exposure(self):
        """What docs/operations.md says of both; in tenths."""
        for name, most in (('vrtd.service', 12), ('vrtd-user.service', 64)):
            for threshold, status in ((most, 0), (most - 8, 1)):
                done = self.analyze('security', '--offline=yes', f'--threshold={threshold}',
                                    os.path.join(BUILD, name))
                if 'unrecognized option' in done.stderr:
                    self.skipTest('this systemd-analyze is older than 250')
                self.assertEqual(done.returncode, status, done.stdout[-200:] + done.stderr)

    def test_numbers_fit_the_daemon(self):
        """What a unit grants is no less than what the daemon counts with."""
        with open(os.path.join(SOURCE, '..', 'daemon', 'systemd', 'fd-store.c'),
                  encoding='utf-8') as f:
            kept = int(re.search(r'#define KEPT_MAX (\d+)', f.read()).group(1))
        with open(os.path.join(SOURCE, '..', 'config', 'vrtd.conf.in'), encoding='utf-8') as f:
            patience = int(re.search(r'^stop_timeout = (\d+)', f.read(), re.M).group(1))
        for name in ('vrtd.service', 'vrtd-user.service'):
            with open(os.path.join(BUILD, name), encoding='utf-8') as f:
                unit = dict(l.strip().split('=', 1) for l in f if '=' in l and l[0] != '#')
            self.assertEqual(int(unit['FileDescriptorStoreMax']), kept)
            self.assertGreater(int(unit['LimitNOFILE']), 2 * kept)
            self.assertGreater(int(unit['TimeoutStopSec']), patience)
            self.assertGreater(int(unit['WatchdogSec']), 0)
            self.assertIn('-HUP $MAINPID', unit['ExecReload'])

    def test_unknown_key_is_found(self):
        """The check above would notice: verify alone passes what it doesn't know."""
        path = self.path('wrong.service')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('[Service]\nExecStart=/bin/true\nNoSuchKey=yes\n')
        done = self.analyze('verify', '--man=no', '--recursive-errors=yes', path)
        self.assertIn('NoSuchKey', done.stderr)

    def hand_over(self, listening, n):
        """As systemd does: n sockets from descriptor 3 on, and variables that name the process."""
        pid = os.fork()
        if pid:
            return pid
        try:
            fd = fcntl.fcntl(listening, fcntl.F_DUPFD_CLOEXEC, 100)
            os.dup2(os.open(self.path('log'), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            for i in range(n):
                os.dup2(fd, 3 + i)
            os.environ.update(LISTEN_FDS=str(n), LISTEN_PID=str(os.getpid()),
                              NOTIFY_SOCKET=self.path('notify'), STATE_DIRECTORY=self.path('state'))
            os.execv(VRTD, [VRTD])
        finally:
            os._exit(127)

    def test_activation_and_notification(self):
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(told.close)
        told.bind(self.path('notify'))
        told.settimeout(PATIENCE_S)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(listening.close)
        listening.bind(self.path('handed-over'))
        listening.listen()
        refused = os.waitpid(self.hand_over(listening, 3), 0)[1]
        with open(self.path('log'), encoding='utf-8') as f:
            self.assertIn('and handed over 2 more sockets: see vrtd.socket', f.read())
        self.assertEqual(os.waitstatus_to_exitcode(refused), 1)
        pid = self.hand_over(listening, 1)
        try:
            self.assertEqual(told.recv(4096), b'READY=1\nSTATUS=Ready')
            client = http.client.HTTPConnection('vrtd')
            self.addCleanup(client.close)
            client.sock = socket.socket(socket.AF_UNIX)
            client.sock.connect(self.path('handed-over'))
            client.request('GET', '/v1/status')
            self.assertEqual(client.getresponse().status, 200)
            self.assertTrue(os.path.isdir(self.path('state/spool')))
            os.kill(pid, signal.SIGTERM)
            ending = [told.recv(4096)]
            while b'devices' not in ending[-1]:
                ending.append(told.recv(4096))
            # More time is asked for as often as it takes.
            self.assertEqual([n for n in ending if n != b'EXTEND_TIMEOUT_USEC=20000000'],
                             [b'STOPPING=1', b'STATUS=Stopping: running jobs come to a good place',
                              b'STATUS=Stopping: devices finish what they are at'])
        finally:
            if sys.exc_info()[0]:
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertTrue(os.path.exists(self.path('handed-over')), 'is not ours to remove')


if __name__ == '__main__':
    unittest.main(verbosity=2)
