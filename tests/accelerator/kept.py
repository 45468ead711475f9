#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiled kernels are kept from run to run: what is compiled, and what is made of what was kept,
in runs of one program after another, each on a device of software.

usage: kept.py TEST-ACCELERATOR KIND
"""
import os
import stat
import subprocess
import sys
import tempfile
import unittest

PROGRAM, KIND = sys.argv[1:3]
PATIENCE_S = 120


def counted(said, report):
    """How many kernels were compiled, and how many were made of what was kept: as Intel's driver
    counts it, or as the log tells it."""
    if KIND == 'xpu':
        with open(report, encoding='utf-8') as f:
            figures = {tuple(line.split()[:2]): int(line.split()[2]) for line in f}
        return figures['0', 'builds'], figures['0', 'natives']
    return said.count(' was compiled in '), said.count(" is an earlier run's") + said.count(
        ' is refused, ignoring')


class Kept(unittest.TestCase):
    """Each case has a cache folder of its own, with what a first run has left there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='vrt-kept.')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.cache = os.path.join(folder.name, 'cache')
        self.kernels = os.path.join(self.cache, KIND)
        self.n, natives, _ = self.run_once()
        self.assertGreater(self.n, 1)
        self.assertEqual(natives, 0)
        self.assertEqual(len(self.files()), self.n)

    def start(self, name='report', **more):
        environment = dict(os.environ, VRT_TEST_CACHE=self.cache,
                           VRT_XPU_REPORT=os.path.join(self.folder, name), **more)
        return subprocess.Popen([PROGRAM, KIND, 'kept'], env=environment, stderr=subprocess.PIPE,
                                text=True)

    def wait(self, process, name='report'):
        """What was counted, and what was said."""
        said = process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(process.returncode, 0, said)
        n_compiled, n_kept = counted(said, os.path.join(self.folder, name))
        # One for each kernel that was compiled: it may take long.
        self.assertIn(f'{n_compiled} signs of life', said)
        return n_compiled, n_kept, said

    def run_once(self, **more):
        return self.wait(self.start(**more))

    def files(self):
        return sorted(os.path.join(self.kernels, name) for name in os.listdir(self.kernels))

    def test_nothing_is_compiled_twice(self):
        for _ in range(2):
            self.assertEqual(self.run_once()[:2], (0, self.n))
        for path in (self.kernels, *self.files()):
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)

    def test_another_driver_compiles_its_own(self):
        name, versions = {'xpu': ('VRT_XPU_VERSION', ('1', '2')),
                          'mps': ('VRT_MPS_SYSTEM', ('14', '13'))}[KIND]
        self.assertEqual(self.run_once(**{name: versions[1]})[:2], (self.n, 0))
        self.assertEqual(len(self.files()), 2 * self.n)
        for version in versions:
            self.assertEqual(self.run_once(**{name: version})[:2], (0, self.n))

    def test_damaged(self):
        """Torn, empty, turned over, of another kernel: compiled again, and whole from then on."""
        for damage in ('torn', 'empty', 'turned', 'swapped'):
            path, other = self.files()[:2]
            with open(path, 'rb') as f:
                data = f.read()
            with open(other, 'rb') as f:
                foreign = f.read()
            with open(path, 'wb') as f:
                f.write({'torn': data[:-1], 'empty': b'', 'swapped': foreign,
                         'turned': data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]}[damage])
            with self.subTest(damage=damage):
                self.assertEqual(self.run_once()[:2], (1, self.n - 1))
                self.assertEqual(self.run_once()[:2], (0, self.n))

    def test_refused(self):
        """The driver doesn't take one of its own binaries any more, or none."""
        name, what = {'xpu': ('VRT_XPU_FAULTS', 'native'),
                      'mps': ('VRT_MPS_FAULTS', 'pipeline')}[KIND]
        self.assertEqual(self.run_once(**{name: f'{what}:2 fail'})[:2], (1, self.n))
        self.assertEqual(self.run_once()[:2], (0, self.n))
        if KIND == 'xpu':
            self.assertEqual(self.run_once(**{name: f'{what}:1- fail'})[:2], (self.n, self.n))
            self.assertEqual(self.run_once()[:2], (0, self.n))

    @unittest.skipUnless(KIND == 'xpu', 'its binaries are read by the driver')
    def test_lost(self):
        """A card that is lost meanwhile says nothing of the binary."""
        before = self.files()
        process = self.start(VRT_XPU_FAULTS='native:2 lost')
        process.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(self.files(), before)

    def test_others_may_write(self):
        """Then nothing is taken from there, nothing is put there, and it is said."""
        path = self.files()[0]
        for what, mode in ((path, 0o622), (self.kernels, 0o777)):
            with self.subTest(what=what):
                old = stat.S_IMODE(os.stat(what).st_mode)
                os.chmod(what, mode)
                builds, natives, said = self.run_once()
                self.assertEqual(builds, 1 if what == path else self.n)
                self.assertEqual(natives, self.n - builds)
                self.assertEqual("aren't kept: " + what in said, what == self.kernels, said)
                if what == self.kernels:
                    os.chmod(what, old)
        self.assertEqual(self.run_once()[:2], (0, self.n))

    def test_no_folder(self):
        path = os.path.join(self.folder, 'file')
        with open(path, 'w', encoding='utf-8'):
            pass
        self.cache = os.path.join(path, 'cache')
        builds, natives, said = self.run_once()
        self.assertEqual((builds, natives), (self.n, 0))
        self.assertIn("aren't kept: " + self.cache, said)
        self.cache = ''
        self.assertEqual(self.run_once()[:2], (self.n, 0))

    def test_two_at_once(self):
        self.cache = os.path.join(self.folder, 'shared')
        names = [f'report-{i}' for i in range(3)]
        processes = [self.start(name) for name in names]
        for process, name in zip(processes, names):
            builds, natives, said = self.wait(process, name)
            self.assertEqual(builds + natives, self.n)
            self.assertNotIn("can't be kept", said)
        self.assertEqual(self.run_once()[:2], (0, self.n))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
