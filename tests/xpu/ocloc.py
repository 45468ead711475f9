#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Intel's compiler takes every kernel for an Arc A770 and spills no registers; and those that are
for matrix units keep them busy. Without its disassembler that isn't known: the test is skipped.

usage: ocloc.py OCLOC MODULE.spv ...
"""
import concurrent.futures
import sys
import tempfile

import listing
import mix

UNKNOWN = 'not disassembled'


def problem_of(ocloc, module, folder):
    name = listing.name_of(module)
    problem = listing.compile_module(ocloc, module, folder)
    if problem:
        return f'{name}: {problem}'
    if name.endswith('_dpas'):
        lines = listing.disassemble(ocloc, module, folder)
        if lines is None:
            return UNKNOWN
        if not any('dpas.8x8' in line for line in lines):
            return f'{name}: no dpas.8x8 in it'
        counts, cycles, _ = mix.mixes_of(lines)[0]
        if 3 * counts['dpas'] * mix.DPAS_CYCLES < cycles:
            return f'{name}: dpas has less than a third of the cycles of its loop'
    return None


def main(ocloc, *modules):
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            problems = [p for p in pool.map(lambda m: problem_of(ocloc, m, folder), modules) if p]
    print('\n'.join(problems) or f'{len(modules)} modules compile for dg2-g10')
    if problems and set(problems) == {UNKNOWN}:
        return 77
    return 1 if problems or not modules else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
