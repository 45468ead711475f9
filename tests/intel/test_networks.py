#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of every golden network, recorded and submitted on Intel's own driver: whole
networks, with their replicas.

usage: test_networks.py FAMILY PRECISION CASE...: "compact-x2", "vrt/denoise", "flow/sr-pa6", ...
"""
import os
import sys

import intel


def main(family, precision, *cases):
    intel.need_driver()
    problems = []
    programs = {'test-vrt-golden': [c for c in cases if '/' in c],
                'test-model-parity': [c for c in cases if '/' not in c]}
    env = intel.environment(family, VRT_TEST_CACHE=intel.CACHE)
    for program, names in programs.items():
        for name in names:
            path = os.path.join(intel.BUILD, 'tests/unit/model', program)
            done, said, record = intel.run([path, 'xpu:0', precision, name], env)
            wrong = []
            if done.returncode or record is None:
                wrong.append(f'ended with {done.returncode}: {said[-2000:]}')
            elif record.failures():
                wrong.append(f'calls failed: {record.failures()}')
            else:
                n = sum(k.n_launches for k in record.kernels.values())
                print(f'{family} {precision:4} {name:16} {n:6} launches of '
                      f'{len(record.kernels)} kernels, {record.n_bytes / 1e6:.1f} MB copied')
                if not n or not record.calls['zeCommandQueueExecuteCommandLists']:
                    wrong.append('nothing was submitted')
            problems += [f'{name}: {w}' for w in wrong]
    print('\n'.join(problems))
    return 1 if problems or not cases else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
