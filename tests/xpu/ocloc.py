#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Intel's compiler takes every kernel for an Arc A770 and spills no registers; and those that are
for matrix units use them, where it comes with a disassembler.

usage: ocloc.py OCLOC MODULE.spv ...

Its status says nothing: it "succeeds" with instructions that the device doesn't have.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

FLAGS = '-ze-opt-greater-than-4GB-buffer-required'
LARGE = ' -ze-opt-large-register-file'


def problem_of(ocloc, module, folder):
    name = os.path.splitext(os.path.basename(module))[0]
    flags = FLAGS + (LARGE if name.startswith('window_attend') else '')
    done = subprocess.run([ocloc, 'compile', '-spirv_input', '-file', module, '-device', 'dg2-g10',
                           '-output', name, '-out_dir', folder, '-options', flags],
                          capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode or 'Build succeeded' not in said or \
            re.search(r'INVALID|error|spill', said, re.IGNORECASE):
        return f'{name}: {said.strip()}'
    if name.endswith('_dpas'):
        return disassemble(ocloc, name, folder)
    return None


def disassemble(ocloc, name, folder):
    binary = next(f for f in os.listdir(folder) if f.startswith(name) and f.endswith('.bin'))
    dump = os.path.join(folder, name + '-dump')
    subprocess.run([ocloc, 'disasm', '-file', os.path.join(folder, binary), '-dump', dump],
                   capture_output=True, check=False)
    listings = [f for f in os.listdir(dump) if f.endswith('.asm')]
    for listing in listings:
        with open(os.path.join(dump, listing), encoding='utf-8', errors='replace') as f:
            if 'dpas.8x8' in f.read():
                return None
    return f'{name}: no dpas.8x8 in it' if listings else None


def main(ocloc, *modules):
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            problems = [p for p in pool.map(lambda m: problem_of(ocloc, m, folder), modules) if p]
    print('\n'.join(problems) or f'{len(modules)} modules compile for dg2-g10')
    return 1 if problems or not modules else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
