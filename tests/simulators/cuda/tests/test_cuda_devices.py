#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is known of CUDA devices before they are opened, on a machine of up to three cards.

usage: test_cuda_devices.py LIST_DEVICES PLUGIN_DIR
"""
import os
import subprocess
import sys
import tempfile
import unittest

LIST_DEVICES, PLUGINS = (os.path.abspath(path) for path in sys.argv[1:3])


def devices_of(*arguments, **environment):
    """The facts of each CUDA device, and the log."""
    env = {k: v for k, v in os.environ.items() if k != 'CUDA_VISIBLE_DEVICES'}
    env.update(VRTD_PLUGIN_DIR=PLUGINS, VRT_CUDA_SIM_DEVICES='3', **environment)
    env.pop('JOURNAL_STREAM', None)
    done = subprocess.run([LIST_DEVICES, *arguments], env=env, capture_output=True, text=True,
                          timeout=60, check=True)
    lines = [line.split('\t') for line in done.stdout.splitlines()]
    return [line for line in lines if line[0].startswith('cuda')], done.stderr


class CudaDevices(unittest.TestCase):
    def test_facts(self):
        devices, log = devices_of()
        self.assertEqual([d[0] for d in devices], ['cuda:0', 'cuda:1', 'cuda:2'])
        for i, (_, card, uuid, address, capability, driver, runtime, _) in enumerate(devices):
            self.assertEqual(card, str(i))
            self.assertRegex(uuid, r'^GPU(-[0-9a-f]{8})(-[0-9a-f]{4}){3}(-[0-9a-f]{12})$')
            self.assertEqual(address, f'0000:{i + 1:02x}:00.0')
            self.assertEqual(capability, '9.0')
            self.assertRegex(driver, r'^[0-9]+\.[0-9]$')
            self.assertRegex(runtime, r'^[0-9]+\.[0-9]$')
        self.assertEqual(len({d[2] for d in devices}), 3)
        self.assertEqual(len({d[7] for d in devices}), 1)
        self.assertNotIn('no CUDA devices', log)

    def test_visible_devices(self):
        """As the runtime has it: vrtd's numbers are of what is left."""
        everything, _ = devices_of()
        devices, _ = devices_of(CUDA_VISIBLE_DEVICES='2,0')
        self.assertEqual([d[0] for d in devices], ['cuda:0', 'cuda:1'])
        self.assertEqual([d[2] for d in devices], [everything[2][2], everything[0][2]])
        devices, log = devices_of(CUDA_VISIBLE_DEVICES='')
        self.assertEqual(devices, [])
        self.assertIn('no CUDA devices', log)

    def test_cards_that_are_two_devices(self):
        devices, _ = devices_of('2', CUDA_VISIBLE_DEVICES='0,1')
        self.assertEqual([(d[0], d[1]) for d in devices],
                         [('cuda:0.0', '0'), ('cuda:0.1', '0'), ('cuda:1.0', '1'),
                          ('cuda:1.1', '1')])
        self.assertEqual(devices[0][2:], devices[1][2:])
        self.assertNotEqual(devices[0][2], devices[2][2])

    def test_tf32_and_fma_are_classes_of_their_own(self):
        usual = devices_of('1')[0][0]
        for option, word in (('tf32', ', TF32'), ('fma', ', FMA')):
            other = devices_of('1', option)[0][0]
            self.assertEqual(usual[:7], other[:7])
            self.assertEqual(usual[7] + word, other[7])

    def test_old_cards_are_left_out(self):
        devices, log = devices_of(VRT_CUDA_SIM_ARCH='70')
        self.assertEqual(devices, [])
        self.assertEqual(log.count('is left out: it is older than compute capability 7.5'), 3)

    def test_absent_sensors_are_told_once(self):
        with tempfile.TemporaryDirectory(prefix='vrt-cuda-') as folder:
            with open(os.path.join(folder, 'libnvidia-ml.so.1'), 'w', encoding='utf-8') as f:
                f.write('not a library, but long enough to be taken for one' * 20)
            devices, log = devices_of('4', LD_LIBRARY_PATH=folder)
        self.assertEqual(len(devices), 12)
        self.assertEqual(log.count('utilization, temperature and power of CUDA devices'), 1, log)
        self.assertIn('libnvidia-ml.so.1: invalid ELF header', log)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
