#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a profile says of accesses whose sectors and turns of banks are known.

usage: test_profile.py TEST_CUDA_SIM_PTX
"""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop()


class Profile(unittest.TestCase):
    def lines(self, case):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'profile')
            subprocess.run([PROGRAM, case], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env={**os.environ,
                                                           'VRT_CUDA_SIM_PROFILE': path})
            with open(path, encoding='utf-8') as f:
                return [line.rstrip('\n').split('\t') for line in f]

    def test_strides(self):
        """Two blocks of two warps, by 4 bytes; then one warp by 128: 32 sectors, one bank."""
        found = {(opcode, space): [int(n) for n in numbers]
                 for kernel, opcode, _, space, *numbers in self.lines('strides')
                 if kernel == 'strided'}
        self.assertEqual(found, {
            ('ld.global.u32', 'global'): [4 + 1, 4 * 4 + 32, (4 + 1) * 4],
            ('ld.shared.u32', 'shared'): [4 + 1, 4 + 32, 4 + 1],
        })

    def test_matrices(self):
        """Rows 32 bytes apart: two of the eight of a matrix share each bank; 16 bytes: none."""
        found = {opcode: numbers for kernel, opcode, _, _, *numbers in self.lines('product')
                 if kernel == 'product' and opcode.startswith('ldmatrix')}
        self.assertEqual(found, {
            'ldmatrix.sync.aligned.m8n8.x4.shared.b16': ['1', '8', '4'],
            'ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16': ['1', '2', '2'],
        })


if __name__ == '__main__':
    unittest.main()
