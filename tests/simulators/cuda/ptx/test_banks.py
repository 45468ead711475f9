#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No kernel keeps the banks of shared memory busy for twice the turns that its accesses need.

usage: test_banks.py CONFORMANCE_PROGRAM...

The programs run on the simulated machine, with what nvcc makes of the kernels.
"""
import collections
import os
import subprocess
import sys
import tempfile

MOST = 2.0


def main():
    turns = collections.defaultdict(lambda: [0, 0])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'profile')
        for program in sys.argv[1:]:
            subprocess.run([program, '@cuda', '--plain', '--every', '5'], check=True,
                           env={**os.environ, 'VRT_CUDA_SIM_PROFILE': path})
        with open(path, encoding='utf-8') as f:
            for line in f:
                kernel, _, _, space, _, taken, needed = line.rstrip('\n').split('\t')
                if space == 'shared':
                    turns[kernel][0] += int(taken)
                    turns[kernel][1] += int(needed)
    worst = 0.0
    for kernel, (taken, needed) in sorted(turns.items()):
        print(f'{taken / needed:5.2f}  {kernel}')
        worst = max(worst, taken / needed)
    if not turns:
        print('no kernel used shared memory')
        return 1
    return worst > MOST


if __name__ == '__main__':
    sys.exit(main())
