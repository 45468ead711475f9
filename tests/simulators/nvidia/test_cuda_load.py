#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where CUDA can't be used, one line says why, and all other devices are there.

usage: test_cuda_load.py LIST_DEVICES FAKES_DIR [PLUGIN]

Each case is a folder of plugins and a folder of drivers, made of the fake libraries of FAKES_DIR
under the names that are looked for. Without PLUGIN, the real one, its cases are skipped.
"""
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

LIST_DEVICES, FAKES = (os.path.abspath(path) for path in sys.argv[1:3])
PLUGIN = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
NAME = 'libvrt-cuda13.so'


def has_driver():
    try:
        ctypes.CDLL('libcuda.so.1')
    except OSError:
        return False
    return True


class CudaLoad(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix='vrt-cuda-')
        self.addCleanup(self.folder.cleanup)

    def place(self, library, name):
        """The fake `library` of the build under this name."""
        os.symlink(os.path.join(FAKES, library), os.path.join(self.folder.name, name))

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def place_plugin(self):
        if not PLUGIN:
            self.skipTest('the plugin was not built: there is no nvcc')
        os.symlink(PLUGIN, os.path.join(self.folder.name, os.path.basename(PLUGIN)))

    def expect_none(self, *words):
        env = dict(os.environ, VRTD_PLUGIN_DIR=self.folder.name,
                   LD_LIBRARY_PATH=self.folder.name)
        env.pop('JOURNAL_STREAM', None)
        done = subprocess.run([LIST_DEVICES], env=env, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        devices = [line.split('\t')[0] for line in done.stdout.splitlines()]
        self.assertIn('ref:0', devices)
        self.assertFalse([d for d in devices if d.startswith('cuda')])
        lines = re.findall(r'(?m)^[-0-9]+ [0-9:.]+ (info cuda: .*)$', done.stderr)
        self.assertEqual(len(lines), 1, done.stderr)
        findings = [line.split('\t')[1:] for line in done.stdout.splitlines()
                    if line.startswith('finding\tcuda\t')]
        self.assertEqual(len(findings), 1, findings)
        backend, _, kind, text, cure = findings[0]
        self.assertEqual((backend, lines[0]), ('cuda', 'info cuda: ' + text))
        self.assertIn(kind, '12')
        self.assertTrue(cure)
        for word in ('no CUDA devices', *words):
            self.assertIn(word, lines[0])

    def test_no_plugin(self):
        self.expect_none('there is no plugin libvrt-cuda*.so in ' + self.folder.name)

    def test_plugin_is_no_library(self):
        self.write(NAME, 'not a library')
        self.expect_none(NAME)

    def test_plugin_without_entry(self):
        self.place('libfake-nothing.so', NAME)
        self.expect_none('is not of vrtd')

    def test_plugin_of_another_release(self):
        self.place('libfake-plugin-other.so', NAME)
        self.expect_none('is not of vrtd', 'install both from one package')

    def test_no_driver(self):
        self.place_plugin()
        # What it looks for by itself, it finds on a machine that has one.
        if has_driver():
            self.skipTest('there is a driver of NVIDIA\'s')
        self.expect_none('which only its cards need', 'libcuda.so.1', 'No such file')

    def test_driver_is_no_library(self):
        self.place_plugin()
        self.write('libcuda.so.1', 'not a library, but long enough to be taken for one' * 20)
        self.expect_none('libcuda.so.1', 'invalid ELF header')

    def test_driver_without_functions(self):
        self.place_plugin()
        self.place('libfake-nothing.so', 'libcuda.so.1')
        self.expect_none('libcuda.so.1', 'does not answer')

    def test_driver_too_old(self):
        self.place_plugin()
        self.place('libfake-driver-old.so', 'libcuda.so.1')
        self.expect_none('the driver is for CUDA 11.4', 'or a newer one')

    def test_driver_fails(self):
        self.place_plugin()
        self.place('libfake-driver-failing.so', 'libcuda.so.1')
        self.expect_none('the driver says: unknown error')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
