#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The LaunchAgent's property list is one, says what launchd knows, and agrees with the daemon.

usage: test-launchd.py PROPERTY_LIST HOME VRTD
"""
import os
import plistlib
import re
import subprocess
import sys
import tempfile
import unittest

PLIST, HOME, VRTD = sys.argv.pop(1), sys.argv.pop(1), os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
STATE = HOME + '/Library/Application Support/vrtd'
PATIENCE_S = 60

# Of launchd.plist(5) those keys that a daemon like this one may have, and what their values are. A
# dictionary's keys are there, too.
KEYS = {
    'Label': str,
    'ProgramArguments': list,
    'EnvironmentVariables': dict,
    'RunAtLoad': bool,
    'KeepAlive': {'SuccessfulExit': bool, 'Crashed': bool},
    'Sockets': {'vrtd': {'SockPathName': str, 'SockPathMode': int, 'SockType': str}},
    'ExitTimeOut': int,
    'ThrottleInterval': int,
    'ProcessType': str,
    'Umask': int,
    'StandardOutPath': str,
    'StandardErrorPath': str,
}


def source(*path):
    with open(os.path.join(SOURCE, *path), encoding='utf-8') as f:
        return f.read()


class PropertyList(unittest.TestCase):
    def setUp(self):
        with open(PLIST, 'rb') as f:
            self.plist = plistlib.load(f, fmt=plistlib.FMT_XML)

    def check_keys(self, values, known):
        for key, value in values.items():
            self.assertIn(key, known)
            if isinstance(known[key], dict):
                self.check_keys(value, known[key])
            else:
                self.assertIs(type(value), known[key], key)

    def test_keys(self):
        self.check_keys(self.plist, KEYS)
        self.assertNotIn('@', str(self.plist), 'something was not put in')

    def test_name(self):
        """By convention the file is called as the job."""
        self.assertEqual(os.path.basename(PLIST), self.plist['Label'] + '.plist')

    def test_program(self):
        """What it is started with is what vrtd takes."""
        program, *arguments = self.plist['ProgramArguments']
        self.assertTrue(os.path.isabs(program))
        self.assertEqual(os.path.basename(program), 'vrtd')
        with tempfile.TemporaryDirectory(prefix='vrtd-launchd-') as folder:
            done = subprocess.run([VRTD, *arguments, '--check-config'], capture_output=True,
                                  text=True, timeout=PATIENCE_S, check=False,
                                  env={'HOME': folder, 'XDG_CONFIG_HOME': folder})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_socket(self):
        """The one that the daemon asks for, where clients look for it, and for nobody else."""
        (name, socket), = self.plist['Sockets'].items()
        asked = re.search(r'#define SOCKET_NAME "(\w+)"',
                          source('daemon', 'systemd', 'take-launchd.c')).group(1)
        self.assertEqual(name, asked)
        sought = re.search(r'#define VRT_API_SOCKET_USER "([\w.]+)"',
                           source('proto', 'api.h')).group(1)
        self.assertEqual(socket['SockPathName'], f'{STATE}/{sought}')
        self.assertEqual(socket['SockPathMode'], 0o600)

    def test_life(self):
        """What fails is started again, what was stopped isn't, and stopping has its time."""
        self.assertIs(self.plist['KeepAlive']['SuccessfulExit'], False)
        patience = int(re.search(r'^stop_timeout = (\d+)', source('config', 'vrtd.conf.in'),
                                 re.M).group(1))
        self.assertGreater(self.plist['ExitTimeOut'], patience)

    def test_log(self):
        """Where Console looks for logs."""
        self.assertEqual(self.plist['StandardErrorPath'], HOME + '/Library/Logs/vrtd.log')


if __name__ == '__main__':
    unittest.main(verbosity=2)
