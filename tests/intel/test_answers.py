#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test driver (tests/simulators/xpu) against Intel's: the same questions and programs. Where
they answer otherwise, it must be for a reason that stands here.

VRT_XPU_DRIVER is the test driver, VRT_XPU_CACHE where it keeps what it compiled,
VRT_INTEL_KERNELS the test driver's own kernels (.spv).
"""
import collections
import os
import unittest

import intel

DRIVER = os.environ['VRT_XPU_DRIVER']
KERNELS = os.environ['VRT_INTEL_KERNELS']
OPS = ('conv2d', 'geglu', 'range', 'rgb_to_yuv', 'sequence')
EVERY = '60'

# What Intel's driver answers, in the mode that computes nothing: nothing is ever waited for.
MODE = 'without hardware it waits for nothing'
# Where the test driver refuses what Intel's lets pass, so that a program can't rely on that.
STRICTER = 'the test driver is stricter'
KERNEL = 'without a kernel it is not told'
DIFFERENCES = {
    'zeDeviceGet, more than there are: 0, count left, 1 written':
        ('zeDeviceGet, more than there are: 0, count left, 8 written', STRICTER),
    'clocks: 83, 36 and 32 bits': ('clocks: 52, 36 and 32 bits', KERNEL),
    'zeDevicePciGetPropertiesExt: 78000001': ('zeDevicePciGetPropertiesExt: 0', KERNEL),
    'memory, a byte: 0, aligned to 64 KiB, freed: 0':
        ('memory, a byte: 0, aligned to less, freed: 0', STRICTER),
    'memory, alignment 0: 0, aligned to 64 KiB, freed: 0':
        ('memory, alignment 0: 0, aligned to less, freed: 0', STRICTER),
    'memory, alignment 3: 0, aligned to 64 KiB, freed: 0':
        ('memory, alignment 3: 7800000a, aligned to nothing', STRICTER),
    'memory, nothing: 0, aligned to 64 KiB, freed: 78000004':
        ('memory, nothing: 78000009, aligned to nothing', STRICTER),
    'memory, 5 GiB, relaxed: 0, aligned to 64 KiB, freed: 0':
        ('memory, 5 GiB, relaxed: 0, aligned to 4 KiB, freed: 0', STRICTER),
    'host memory, nothing: 0': ('host memory, nothing: 78000009', STRICTER),
    'event, not signalled, waited 0: 0': ('event, not signalled, waited 0: 1', MODE),
    'event, not signalled, waited 1 ms: 0': ('event, not signalled, waited 1 ms: 1', MODE),
    'fence, never queued, waited 0: 0': ('fence, never queued, waited 0: 1', MODE),
    'argument 3, wide: 0': ('argument 3, wide: 78000016', STRICTER),
}
# The version whose answers these are.
VERSION = '1.3.24595'

# Calls whose number is the drivers' affair: how memory of what is unknown is looked for.
UNCOMPARED = {'zesMemoryGetState', 'zesTemperatureGetProperties', 'zesEngineGetProperties',
              'zesEngineGetActivity', 'zesPowerGetEnergyCounter'} | intel.UNKNOWN


def ours(**more):
    """The environment of a program on the test driver, behind the recorder as well."""
    return intel.environment('none', ZE_ENABLE_ALT_DRIVERS=DRIVER, ZES_ENABLE_SYSMAN='1',
                             VRT_XPU_DPAS='1', **more)


class Answers(unittest.TestCase):
    maxDiff = None

    def test_answers(self):
        if intel.driver_version() != VERSION:
            self.skipTest(f'the driver is {intel.driver_version()}, not {VERSION}')
        program = os.path.join(intel.BUILD, 'tests/intel/answers')
        theirs = self.ask(program, intel.environment('dg2'))
        expected = [DIFFERENCES.get(line, (line, ''))[0] for line in theirs]
        got = self.ask(program, ours(VRT_XPU_STRICT='0'))
        self.assertEqual(got, expected)
        self.assertEqual([d for d in DIFFERENCES if d not in theirs], [])

    def ask(self, program, env):
        env = {k: v for k, v in env.items() if k != 'LD_LIBRARY_PATH' and
               (not k.startswith('ZE_ENABLE') or k == 'ZE_ENABLE_ALT_DRIVERS')}
        done, said, _ = intel.run([program, KERNELS], env)
        self.assertEqual(done.returncode, 0, said)
        return [line for line in said.splitlines() if not line.startswith('vrt-xpu-driver:')]

    def test_same_programs(self):
        """Both are asked for the same: as many launches of each kernel, copies, lists."""
        for op in OPS:
            with self.subTest(op=op):
                program = os.path.join(intel.BUILD, 'tests/conformance/conf-' + op)
                command = [program, '@xpu', '--plain', '--every', EVERY]
                theirs = self.count(command, intel.environment('dg2', VRT_TEST_CACHE=intel.CACHE))
                self.assertEqual(self.count(command, ours()), theirs)

    def count(self, command, env):
        done, said, record = intel.run(command, env)
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual(record.failures(), {})
        calls = collections.Counter({name: n for name, n in record.calls.items()
                                     if name not in UNCOMPARED and 'Module' not in name})
        launches = {name: kernel.n_launches for name, kernel in record.kernels.items()}
        return calls, launches, record.n_bytes


if __name__ == '__main__':
    intel.need_driver()
    unittest.main()
