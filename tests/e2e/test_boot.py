#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A system that boots in a container, where systemd itself starts, watches and restarts vrtd.

Needs root, systemd-nspawn, and debootstrap with a mirror of Debian's; VRTD_BOOT_TREE names a tree
that debootstrap made already, which is copied. What goes on inside is boot.sh; the machine's own
systemd has no part in it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 900
PROGRAMS = ('daemon/vrtd', 'client/vrtctl', 'workers/frames/vrt-media')

TEST_UNIT = '''[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /boot.sh
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=file:/boot.log
StandardError=file:/boot.log
'''

# Nothing waits for minutes: what hangs is noticed after three seconds.
DROP_IN = '''[Service]
WatchdogSec=3
TimeoutAbortSec=1
'''

CONFIG = '''[devices]
fault = submit:1- delay=30ms
[jobs]
segment_frames = 12
'''


def why_not():
    if os.geteuid() != 0:
        return 'only root may start containers'
    for program in ('systemd-nspawn',) + (() if 'VRTD_BOOT_TREE' in os.environ else
                                          ('debootstrap',)):
        if not shutil.which(program):
            return f'{program} is not installed'
    return None


def packages():
    """What runs inside, and what has the libraries of our programs."""
    found = {'systemd', 'systemd-sysv', 'dbus', 'ffmpeg'}
    for program in PROGRAMS:
        linked = subprocess.run(['ldd', os.path.join(harness.BUILD, program)],
                                capture_output=True, text=True, check=True)
        for library in re.findall(r'=> (/\S+)', linked.stdout):
            owner = subprocess.run(['dpkg', '-S', os.path.realpath(library)],
                                   capture_output=True, text=True, check=False)
            if owner.returncode == 0:
                found.add(owner.stdout.split(':')[0])
    return sorted(found)


def release():
    """The release of Debian that this machine has."""
    with open('/etc/os-release', encoding='utf-8') as f:
        return re.search(r'^VERSION_CODENAME=(\w+)', f.read(), re.MULTILINE).group(1)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


class Boot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix='vrtd-boot-')
        self.addCleanup(shutil.rmtree, folder)
        self.root = os.path.join(folder, 'root')
        if 'VRTD_BOOT_TREE' in os.environ:
            subprocess.run(['cp', '-a', os.environ['VRTD_BOOT_TREE'], self.root], check=True)
        else:
            done = subprocess.run(['debootstrap', '--variant=minbase',
                                   '--include=' + ','.join(packages()), release(), self.root],
                                  capture_output=True, text=True, timeout=PATIENCE_S)
            if done.returncode:
                self.skipTest('no tree of Debian can be made: ' +
                              (done.stderr or done.stdout).strip().splitlines()[-1])
        subprocess.run(['meson', 'install', '-C', harness.BUILD, '--no-rebuild', '--quiet'],
                       env=dict(os.environ, DESTDIR=self.root), check=True,
                       stdout=subprocess.DEVNULL)
        shutil.copy(os.path.join(HERE, 'boot.sh'), self.root)
        units = os.path.join(self.root, 'etc', 'systemd', 'system')
        write(os.path.join(units, 'boot-test.service'), TEST_UNIT)
        write(os.path.join(units, 'vrtd.service.d', 'test.conf'), DROP_IN)
        write(os.path.join(self.root, 'etc', 'vrtd', 'vrtd.conf'), CONFIG)
        wants = os.path.join(units, 'default.target.wants')
        os.makedirs(wants)
        os.symlink('../boot-test.service', os.path.join(wants, 'boot-test.service'))

    def test_boot(self):
        done = subprocess.run(['systemd-nspawn', '--quiet', '--boot', '--register=no',
                               '--keep-unit', '--private-network', '--directory', self.root,
                               # Which nspawn's own filter lacks.
                               '--system-call-filter=landlock_create_ruleset landlock_add_rule '
                               'landlock_restrict_self'],
                              capture_output=True, text=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL)
        path = os.path.join(self.root, 'boot.log')
        if not os.path.exists(path):
            self.skipTest('no container boots here: ' + (done.stderr or done.stdout)[-300:])
        with open(path, encoding='utf-8', errors='replace') as f:
            log = f.read()
        self.assertTrue(log.rstrip().endswith('all is well'), log)


if __name__ == '__main__':
    reason = why_not()
    if reason:
        print(f'skipped: {reason}')
        sys.exit(77)
    unittest.main(verbosity=2)
