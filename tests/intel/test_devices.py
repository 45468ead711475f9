#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Devices on Intel's own driver: which there are, opened again, in pairs, with kernels that are
kept; and what is compiled, against what its offline compiler makes of the same modules.

usage: test_devices.py MODULE.spv ...; VRT_OCLOC is the offline compiler
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import intel
import listing

TEST_ACCELERATOR = os.path.join(intel.BUILD, 'tests/accelerator/test-accelerator')
OCLOC = os.environ.get('VRT_OCLOC', '')
MODULES = sys.argv[1:]
LONG = os.environ.get('VRTD_LONG', '') not in ('', '0')

# Of a container of Intel's: the section that is the binary.
DEVICE_BINARY = 0xff000005

# The writer of the file of commands writes all of a page of which a part was filled; and the
# dynamic linker compares words.
SUPPRESSIONS = '''{
   pages of the file of commands
   Memcheck:Param
   writev(vector[...])
   ...
   obj:*/libze_intel_gpu.so.*
}
{
   words beyond a string
   Memcheck:Addr8
   fun:strncmp
   fun:is_dst
}
'''


def device_binary(path):
    """The section of an ELF file that starts somewhere in the file."""
    with open(path, 'rb') as f:
        data = f.read()
    data = data[data.index(b'\x7fELF'):]
    def number(at, n):
        return int.from_bytes(data[at:at + n], 'little')
    headers = [number(40, 8) + 64 * i for i in range(number(60, 2))]
    section = next(h for h in headers if number(h + 4, 4) == DEVICE_BINARY)
    start = number(section + 24, 8)
    return data[start:start + number(section + 32, 8)]


class Devices(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='vrt-intel.')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def play(self, scenario, family='dg2', cache=intel.CACHE, **more):
        """The record of one of test-accelerator's scenarios."""
        env = intel.environment(family, VRT_TEST_CACHE=cache, **more)
        done, said, record = intel.run([TEST_ACCELERATOR, 'xpu', scenario], env)
        self.assertEqual(done.returncode, 0, said)
        return record

    def plays(self, scenario, **more):
        self.assertEqual(self.play(scenario, **more).failures(), {})

    def test_which_there_are(self):
        """A device of each family, by name; none twice."""
        for family in intel.FAMILIES:
            with self.subTest(family=family):
                lines = [l.split('\t') for l in intel.devices(family, CreateMultipleRootDevices='2')
                         if l.startswith('xpu:')]
                self.assertEqual([l[0] for l in lines], ['xpu:0', 'xpu:1'])
                self.assertEqual(len({l[2] for l in lines}), 2, lines)

    def test_left_out(self):
        """What can't be used is left out by a sentence: a GPU for which the driver counts no
        threads, and one without a queue that computes."""
        said = '\n'.join(intel.devices('adlp', HardwareInfoOverride='1x6x16',
                                       ZE_AFFINITY_MASK='0'))
        self.assertNotIn('unset ZE_AFFINITY_MASK', said)
        self.assertIn('a GPU is left out (Intel(R) Graphics [0x46a0]): its driver lets a group '
                      'have 0 items, and kernels have up to 128', said)
        self.assertNotIn('\nxpu:0', said)
        said = '\n'.join(intel.devices('xe_hp_sdv', NodeOrdinal='-1'))
        self.assertIn('its driver has no queue for it that computes', said)
        self.assertNotIn('\nxpu:0', said)

    def test_no_gpu(self):
        """Without the keys there is no device, and one sentence."""
        lines = intel.devices('dg2', NEOReadDebugKeys='0')
        self.assertEqual([l for l in lines if l.startswith('xpu:')], [])
        told = [l for l in lines if l.startswith('finding\txpu')]
        self.assertEqual(len(told), 1, lines)
        self.assertIn('there is no GPU, or not the package libze-intel-gpu1', told[0])

    def test_opened_again(self):
        self.plays('again')
        self.plays('bindings')

    def test_masked(self):
        self.plays('masked', CreateMultipleRootDevices='3', ZE_AFFINITY_MASK='1')
        self.play('none-visible', ZE_AFFINITY_MASK='7')

    def test_tiles(self):
        self.plays('tiles', family='pvc', CreateMultipleRootDevices='2',
                   CreateMultipleSubDevices='2')

    def test_pairs(self):
        """Weights go from device to device: between the tiles of a card, of which the driver is
        made to show each as a device. A copy between two cards its writer of files doesn't
        survive, and to find out whether they reach each other it makes one: it is told that not."""
        record = self.play('peers', family='pvc', CreateMultipleSubDevices='2',
                           ReturnSubDevicesAsApiDevices='1')
        self.assertEqual(record.failures(), {})
        self.assertEqual(record.kernels['checksum'].n_launches, 2)
        self.plays('no-peers', CreateMultipleRootDevices='2',
                   ForceZeDeviceCanAccessPerReturnValue='0')

    def test_kept(self):
        """What was compiled is taken back; what another family's GPU of the same name kept is
        refused, and compiled."""
        cache = os.path.join(self.folder, 'cache')
        first = self.play('again', cache=cache)
        n = len(os.listdir(os.path.join(cache, 'xpu')))
        self.assertEqual(first.modules['spirv'], n)
        self.assertEqual(first.modules['native'], 5 * n)
        again = self.play('again', cache=cache)
        self.assertEqual((again.modules['spirv'], again.modules['native']), (0, 6 * n))
        self.assertEqual(again.failures(), {})
        foreign = os.path.join(self.folder, 'foreign')
        env = {'HardwareInfoOverride': '8x4x8', 'ForceDeviceId': '56a0', 'OverrideRevision': '8'}
        self.play('kept', family='xe_hp_sdv', cache=foreign, **env)
        names = set(os.listdir(os.path.join(foreign, 'xpu')))
        self.assertEqual(names, set(os.listdir(os.path.join(cache, 'xpu'))))
        record = self.play('kept', cache=foreign)
        self.assertEqual((record.modules['native'], record.modules['spirv']), (n, n))
        self.assertEqual(record.failures(), {f'zeModuleCreate: {0x7800000f:x}': n})
        record = self.play('kept', cache=foreign)
        self.assertEqual((record.modules['native'], record.modules['spirv']), (n, 0))

    @unittest.skipUnless(OCLOC and MODULES, 'there is no ocloc')
    def test_as_ocloc_compiles(self):
        """The driver's code of products (by VRTD_LONG of convolutions and attention, too) is
        ocloc's, to the byte: what is known of that (registers, spills, matrix units:
        tests/xpu/ocloc.py) holds for what a card gets."""
        cache = os.path.join(self.folder, 'cache')
        env = intel.environment('dg2', VRT_TEST_CACHE=cache)
        for op in ('linear', 'conv2d', 'window_attention') if LONG else ('linear',):
            program = os.path.join(intel.BUILD, 'tests/conformance/conf-' + op)
            done, said, _ = intel.run([program, '@xpu', '--plain'], env)
            self.assertEqual(done.returncode, 0, said)
        kept = {name.rsplit('-', 1)[0]: os.path.join(cache, 'xpu', name)
                for name in os.listdir(os.path.join(cache, 'xpu'))}
        compared = 0
        for module in MODULES:
            name = os.path.splitext(os.path.basename(module))[0]
            if name not in kept:
                continue
            problem = listing.compile_module(OCLOC, module, self.folder)
            self.assertIsNone(problem, name)
            made = os.path.join(self.folder, name)
            binary = next(f for f in os.listdir(made) if f.endswith('.bin'))
            self.assertEqual(device_binary(kept[name]), device_binary(os.path.join(made, binary)),
                             name)
            compared += 1
        self.assertGreater(compared, 10 if LONG else 2)

    @unittest.skipUnless(LONG, 'VRTD_LONG is not set')
    @unittest.skipUnless(shutil.which('valgrind'), 'there is no valgrind')
    def test_no_leak(self):
        """By valgrind's word; the sanitizers' can't be had, this driver loads libraries in a way
        that ends a process with one in it."""
        cache = os.path.join(self.folder, 'cache')
        self.play('again', cache=cache)
        suppressions = os.path.join(self.folder, 'suppressions')
        with open(suppressions, 'w', encoding='utf-8') as f:
            f.write(SUPPRESSIONS)
        env = intel.environment('dg2', VRT_TEST_CACHE=cache)
        for name in ('LD_LIBRARY_PATH', 'ZE_ENABLE_LOADER_INTERCEPT', 'ZE_ENABLE_VALIDATION_LAYER',
                     'ZE_ENABLE_PARAMETER_VALIDATION'):
            env.pop(name, None)
        done = subprocess.run(['valgrind', '--leak-check=full', '--error-exitcode=9',
                               '--errors-for-leak-kinds=definite,indirect,possible',
                               '--suppressions=' + suppressions, TEST_ACCELERATOR, 'xpu',
                               'again'], env=env, check=False, capture_output=True, text=True,
                              timeout=intel.PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == '__main__':
    intel.need_driver()
    unittest.main(argv=sys.argv[:1])
