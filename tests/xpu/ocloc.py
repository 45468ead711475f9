#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Intel's compiler takes every kernel for an Arc A770 and spills no registers; and those that are
for matrix units keep them busy. Without its disassembler that isn't known: the test is skipped.

That a module was well is kept where VRT_KEPT says, for the same bytes, compiler and rules.

usage: ocloc.py OCLOC MODULE.spv ...
"""
import concurrent.futures
import hashlib
import os
import sys
import tempfile

import listing
import mix

UNKNOWN = 'not disassembled'


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def mark_of(ocloc, module):
    """The file that says that the module was well; None: nothing is kept."""
    if not os.environ.get('VRT_KEPT'):
        return None
    compiler = [ocloc, *filter(None, map(listing.find_library, ('igc', 'iga64')))]
    made = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in compiler]
    rules = [read(path) for path in (__file__, listing.__file__, mix.__file__)]
    key = hashlib.sha256(repr((read(module), made, rules)).encode()).hexdigest()
    return os.path.join(os.environ['VRT_KEPT'], 'ocloc', f'{listing.name_of(module)}-{key}')


def check(ocloc, module, folder):
    """What is wrong with the module, or None."""
    mark = mark_of(ocloc, module)
    if mark and os.path.exists(mark):
        return None
    problem = problem_of(ocloc, module, folder)
    if mark and not problem:
        os.makedirs(os.path.dirname(mark), exist_ok=True)
        with open(mark, 'wb'):
            pass
    return problem


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
            problems = [p for p in pool.map(lambda m: check(ocloc, m, folder), modules) if p]
    print('\n'.join(problems) or f'{len(modules)} modules compile for dg2-g10')
    if problems and set(problems) == {UNKNOWN}:
        return 77
    return 1 if problems or not modules else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
