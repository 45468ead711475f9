# SPDX-License-Identifier: MIT
"""What systemd is to a daemon: it listens to what it says, keeps the descriptors that it wants to
be kept, and hands them over at the next start."""
import os
import socket
import struct
import sys
import threading
import time
import unittest

import harness

# Whether the daemon was built to speak to a service manager.
HAS_SYSTEMD = os.environ.get('VRTD_SYSTEMD', '1') != '0'

# Run in the place of the daemon, which it then becomes: puts the descriptors where systemd does.
# Arguments: FD:NAME ... -- COMMAND ...
EXEC = '''
import fcntl, os, sys
split = sys.argv.index('--')
pairs = [a.split(':', 1) for a in sys.argv[1:split]]
high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD_CLOEXEC, 1000) for fd, _ in pairs]
for fd, _ in pairs:
    os.close(int(fd))
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
os.environ['LISTEN_FDS'] = str(len(pairs))
os.environ['LISTEN_FDNAMES'] = ':'.join(name for _, name in pairs)
os.environ['LISTEN_PID'] = str(os.getpid())
os.execv(sys.argv[split + 1], sys.argv[split + 1:])
'''


class Manager:
    """Its socket lies in `folder`. To be closed by close(). A test that needs one is skipped where
    no daemon would speak to it."""

    def __init__(self, folder):
        if not HAS_SYSTEMD:
            raise unittest.SkipTest('vrtd is built without systemd')
        self.path = os.path.join(folder, 'notify')
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.changed = threading.Condition()
        self.notices = []       # each a dict of what one datagram said
        self.store = {}         # name: descriptor
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        """Ends what listens, and everything that is kept."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b'END=1', self.path)
        self.wait_for(lambda n: 'END' in n)
        for fd in self.store.values():
            os.close(fd)
        self.socket.close()

    def listen(self):
        size = struct.calcsize('i')
        while not self.notices or 'END' not in self.notices[-1]:
            data, control, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(8 * size))
            fds = [fd for _, kind, raw in control if kind == socket.SCM_RIGHTS
                   for fd in struct.unpack(f'{len(raw) // size}i', raw)]
            notice = dict(line.split('=', 1) for line in data.decode().splitlines())
            with self.changed:
                self.take(notice, fds)
                self.notices.append(notice)
                self.changed.notify_all()

    def take(self, notice, fds):
        name = notice.get('FDNAME')
        if notice.get('FDSTORE') == '1':
            assert len(fds) == 1 and name not in self.store, (notice, self.store)
            self.store[name] = fds.pop()
        if notice.get('FDSTOREREMOVE') == '1':
            os.close(self.store.pop(name))
        for fd in fds:
            os.close(fd)

    def wait_for(self, wanted, since=0):
        """Waits for a notice after the first `since`; returns its place in the list, plus one."""
        with self.changed:
            deadline = time.monotonic() + harness.PATIENCE_S
            while True:
                for i, notice in enumerate(self.notices[since:], since):
                    if wanted(notice):
                        return i + 1
                if not self.changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f'never said; only {self.notices[since:]}')

    def wait_for_store(self, names):
        with self.changed:
            if not self.changed.wait_for(lambda: set(self.store) == set(names),
                                         harness.PATIENCE_S):
                raise AssertionError(f'kept are {sorted(self.store)}, not {sorted(names)}')

    def settle(self):
        """Waits until everything that was said before is heard."""
        before = len(self.notices)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b'SETTLED=1', self.path)
        self.wait_for(lambda n: 'SETTLED' in n, before)

    def start(self, folder, config=None, extra=(), wait=True, small=False, **environment):
        """A daemon with what is kept, and `extra` pairs of descriptor and name."""
        pairs = [(fd, name) for name, fd in self.store.items()] + list(extra)
        prefix = [sys.executable, '-c', EXEC, *(f'{fd}:{name}' for fd, name in pairs), '--']
        return harness.Daemon(folder, config, prefix=prefix if pairs else (), wait=wait,
                              small=small, pass_fds=[fd for fd, _ in pairs],
                              env=dict(os.environ, NOTIFY_SOCKET=self.path, **environment))
