#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every op's cases of conformance, recorded and submitted on Intel's own driver, on one card or
two; and every kernel compiled by its compiler. Prints how often each kernel was launched.

usage: test_ops.py FAMILY CARDS MODULE.spv ...
"""
import glob
import os
import re
import sys
import tempfile

import intel

def expected_kernels(family, modules):
    """The kernels that the family is given, but for that of replicas. Attention of 16 bits is for
    matrix units alone: its plain form is there for a compiler that refuses the other."""
    names = {os.path.splitext(os.path.basename(m))[0] for m in modules} - {'checksum'}
    with_dpas = {n.removesuffix('_dpas') for n in names if n.endswith('_dpas')}
    if family in intel.WITH_DPAS:
        return names - with_dpas
    return {n for n in names if not n.endswith('_dpas') and not re.match('window_attend_[0-9]', n)}


def run_op(program, env, n_cards):
    """The record of an op, and what is wrong with it."""
    problems = []
    done, said, record = intel.run([program, '@xpu', '--plain'], env)
    lines = re.findall(r'@xpu:(\d+): (\d+) ran, (\d+) not supported, (\d+) failed', said)
    if 'sequences ran' in said:
        n_ran = [int(re.search(r'(\d+) sequences ran', said).group(1))]
    else:
        n_ran = [int(ran) for _, ran, _, _ in lines]
        if len(lines) != n_cards or len({line[1:] for line in lines}) > 1:
            problems.append(f'{n_cards} cards should have run the same: {lines}')
    if done.returncode or not n_ran or 0 in n_ran:
        problems.append(f'ended with {done.returncode}: {said[-2000:]}')
    if record is None:
        return None, problems + ['nothing was recorded']
    if record.failures():
        problems.append(f'calls failed: {record.failures()}')
    n_launches = sum(k.n_launches for k in record.kernels.values())
    if n_launches < sum(n_ran):
        problems.append(f'{n_launches} launches for {sum(n_ran)} cases')
    if record.calls['zeCommandListAppendLaunchKernel'] != n_launches:
        problems.append('a launch of an unknown kernel')
    return record, problems


def main(family, n_cards, *modules):
    intel.need_driver()
    n_cards, problems, kernels = int(n_cards), [], {}
    with tempfile.TemporaryDirectory(prefix='vrt-intel.') as cache:
        env = intel.environment(family, VRT_TEST_CACHE=cache,
                                CreateMultipleRootDevices=str(n_cards))
        programs = os.path.join(intel.BUILD, 'tests/conformance/conf-*')
        programs = sorted(p for p in glob.glob(programs) if not os.path.isdir(p))
        for program in programs:
            record, wrong = run_op(program, env, n_cards)
            problems += [f'{os.path.basename(program)}: {w}' for w in wrong]
            for name, kernel in record.kernels.items() if record else ():
                old = kernels.get(name, intel.Kernel(0, 0))
                kernels[name] = intel.Kernel(old.n_launches + kernel.n_launches,
                                             kernel.spill_bytes)
        n_kept = len(os.listdir(os.path.join(cache, 'xpu')))
    missing = expected_kernels(family, modules) - set(kernels)
    if missing:
        problems.append(f'never launched: {sorted(missing)}')
    if n_kept != len(kernels):
        problems.append(f'{n_kept} kernels were kept, of {len(kernels)}')
    for name, kernel in sorted(kernels.items()):
        print(f'{family:10} {n_cards} {name:30} {kernel.n_launches:6} launches, '
              f'{kernel.spill_bytes} bytes spilled')
        if family in intel.WITH_DPAS and kernel.spill_bytes:
            problems.append(f'{name}: {kernel.spill_bytes} bytes spilled')
    print(f'{len(programs)} ops, {len(kernels)} kernels')
    print('\n'.join(problems))
    return 1 if problems or not programs else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
