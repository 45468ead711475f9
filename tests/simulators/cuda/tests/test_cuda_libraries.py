#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NVIDIA's libraries on the simulated machine: there, not there, broken, failing.

usage: test_cuda_libraries.py LIST_DEVICES PLUGIN_DIR NOTHING CONF_LINEAR CONF_CONV2D
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIST_DEVICES, PLUGINS, NOTHING, LINEAR, CONV2D = (os.path.abspath(path)
                                                  for path in sys.argv[1:6])

LIBRARIES = (('libcublasLt-sim.so.1', 'cuBLASLt 13.0.0', 'multiply for linear layers', 'cublasLt'),
             ('libcudnn-sim.so.1', 'cuDNN 9.0.0', 'convolve', 'cudnn'))
GAVE_UP = 'libraries of NVIDIA\'s compute nothing from now on'
DIFFERS = 'results may differ in the last bits'


def run(command, **environment):
    """What a program says of cards with all libraries in use: its output and its log."""
    env = dict(os.environ, VRTD_PLUGIN_DIR=PLUGINS, VRT_TEST_CUDA_LIBRARIES='all',
               VRT_CONF_ALL_IN_ARENA='1', **environment)
    env.pop('JOURNAL_STREAM', None)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def classes(option='all', **environment):
    """What the class of each CUDA device is called, and the log."""
    _, out, log = run([LIST_DEVICES, '1', option], VRT_CUDA_SIM_DEVICES='2', **environment)
    return [line.split('\t')[7] for line in out.splitlines() if line.startswith('cuda')], log


def read(path):
    with open(path, 'rb') as f:
        return f.read()


class CudaLibraries(unittest.TestCase):
    def test_versions_are_part_of_the_class(self):
        found, log = classes()
        self.assertEqual(len(set(found)), 1)
        self.assertIn(', cuBLASLt 13.0.0, cuDNN 9.0.0', found[0])
        self.assertNotIn('own kernels', log)

    def test_what_the_configuration_wants(self):
        for option, capability, wanted in (('auto', '90', True), ('auto', '100', True),
                                           ('auto', '89', False), ('auto', '120', False),
                                           ('all', '75', True), ('off', '90', False)):
            found, _ = classes(option, VRT_CUDA_SIM_ARCH=capability)
            for _, version, _, _ in LIBRARIES:
                self.assertEqual(version in found[0], wanted, (option, capability, found))

    def test_broken_libraries(self):
        """They are no reason to have fewer devices; the log says once what is the matter."""
        for name, version, job, prefix in LIBRARIES:
            with tempfile.TemporaryDirectory(prefix='vrt-cuda-') as folder:
                place = os.path.join(folder, name)
                with open(place, 'w', encoding='utf-8') as f:
                    f.write('not a library, but long enough to be taken for one' * 20)
                found, log = classes(LD_LIBRARY_PATH=folder)
                self.assertEqual([version in c for c in found], [False, False])
                self.assertEqual(log.count(f'own kernels {job}'), 1, log)
                self.assertIn('invalid ELF header', log)
                shutil.copy(NOTHING, place)
                found, log = classes(LD_LIBRARY_PATH=folder)
                self.assertEqual([version in c for c in found], [False, False])
                self.assertRegex(log, f'own kernels {job}: {name} lacks {prefix}')

    def test_all_is_computed_without_what_fails(self):
        """A case of an op, and the library's call that fails: the case is right nevertheless, but
        for its bits in the second guise, for which nothing fails."""
        for program, case, failure, says, n in (
                (LINEAR, 'linear[60]', 'cublas@1', DIFFERS, 1),
                (LINEAR, 'linear[60]', 'heuristic@1', None, 0),
                (LINEAR, 'linear[60]', 'matmul@1', GAVE_UP, 2),
                (CONV2D, 'conv2d[452]', 'cudnn@1', DIFFERS, 1),
                (CONV2D, 'conv2d[452]', 'engines@1', None, 0),
                (CONV2D, 'conv2d[452]', 'convolution@1', GAVE_UP, 2)):
            _, out, log = run([program, case + '@cuda:0'], VRT_CUDA_SIM_FAIL=failure)
            self.assertIn('@cuda:0: 1 ran, 0 not supported, 0 failed', out, log)
            self.assertEqual(log.count('warning cuda'), n, log)
            if says:
                self.assertIn(says, log)


class Kept(unittest.TestCase):
    """What cuDNN compiled, kept from run to run: a run in which its compiler has no memory shows
    whether anything was compiled."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='vrt-cuda-')
        self.addCleanup(folder.cleanup)
        self.cache = folder.name
        self.folder = os.path.join(folder.name, 'cuda')
        self.assertFalse(self.is_kept())
        self.assertEqual(self.files(), [])
        self.convolve()
        self.assertEqual(len(self.files()), 1)

    def files(self):
        return sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder))

    def convolve(self, **environment):
        """Whether the convolution was computed, on a device of its own; it is right if so."""
        _, out, log = run([CONV2D, 'conv2d[452]@cuda:0'], VRT_TEST_CACHE=self.cache, **environment)
        if 'out of device memory' not in out + log:
            self.assertIn('@cuda:0: 1 ran, 0 not supported, 0 failed', out, log)
        return '@cuda:0: 1 ran' in out

    def is_kept(self, **environment):
        """... without being compiled; where it was, nothing of this run is left."""
        before = self.files() if os.path.isdir(self.folder) else []
        # The second failure is that of the device's other guise.
        found = self.convolve(VRT_CUDA_SIM_FAIL='planmemory@1,planmemory@1', **environment)
        for path in set(self.files()) - set(before):
            os.unlink(path)
        return found

    def test_nothing_is_compiled_twice(self):
        self.assertTrue(self.is_kept())
        self.assertEqual(os.stat(self.folder).st_mode & 0o077, 0)
        self.assertEqual(os.stat(self.files()[0]).st_mode & 0o077, 0)

    def test_another_card_has_its_own(self):
        self.assertFalse(self.is_kept(VRT_CUDA_SIM_ARCH='80'))
        self.assertTrue(self.convolve(VRT_CUDA_SIM_ARCH='80'))
        self.assertEqual(len(self.files()), 2)
        self.assertTrue(self.is_kept(VRT_CUDA_SIM_ARCH='80'))
        self.assertTrue(self.is_kept())

    def test_damaged(self):
        path = self.files()[0]
        whole = read(path)
        for damaged in (whole[:-1], b'', whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]):
            with open(path, 'wb') as f:
                f.write(damaged)
            self.assertFalse(self.is_kept())
            self.assertTrue(self.convolve())
            self.assertTrue(self.is_kept())

    def test_refused(self):
        """By the library: it is compiled once more, and that is kept."""
        path = self.files()[0]
        os.utime(path, (1, 1))
        self.assertTrue(self.convolve(VRT_CUDA_SIM_FAIL='keptplan@1'))
        self.assertEqual(self.files(), [path])
        self.assertTrue(self.is_kept())
        self.assertFalse(self.convolve(VRT_CUDA_SIM_FAIL='keptplan@1,planmemory@1'))

    def test_fails_when_it_runs(self):
        """The next start doesn't fail by it again: the device's other guise has its own."""
        with open(self.files()[0], 'rb') as f:
            self.assertTrue(self.convolve(VRT_CUDA_SIM_FAIL='convolution@1'))
            self.assertEqual(os.fstat(f.fileno()).st_nlink, 0)
        self.assertTrue(self.is_kept())

    def test_each_way_to_ask_has_its_own(self):
        """A release that asks cuDNN for other operations, or takes other engines, has plans of its
        own: all that the library is told is part of the key."""
        for n in range(448, 453):
            run([CONV2D, f'conv2d[{n}]@cuda:0'], VRT_TEST_CACHE=self.cache)
        sums = [re.search(rb'asked for as ([0-9a-f]{16});', read(path)) for path in self.files()]
        self.assertGreater(len(sums), 2)
        self.assertNotIn(None, sums)
        self.assertEqual(len({found[1] for found in sums}), len(sums))

    def test_told_where_something_is_compiled(self):
        """cuBLASLt compiles nothing: with it alone nobody is told of a folder, nor is one made."""
        with tempfile.TemporaryDirectory(prefix='vrt-cuda-') as folder:
            for there, name in ((True, 'libcublasLt-sim.so.1'), (False, 'libcudnn-sim.so.1')):
                cache = os.path.join(folder, name + '.cache')
                shutil.copy(NOTHING, os.path.join(folder, name))
                _, out, log = run([LIST_DEVICES, '1', 'all'], VRT_TEST_CACHE=cache,
                                  LD_LIBRARY_PATH=folder)
                self.assertEqual('finding\tcuda\tkernels\t' in out, there, out + log)
                self.assertEqual(os.path.isdir(os.path.join(cache, 'cuda')), there)
                os.unlink(os.path.join(folder, name))

    def test_open_to_others(self):
        os.chmod(self.folder, 0o770)
        self.assertFalse(self.is_kept())
        self.assertTrue(self.convolve())
        os.chmod(self.folder, 0o700)
        self.assertTrue(self.is_kept())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
