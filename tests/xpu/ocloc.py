#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Intel's compiler takes every kernel for an Arc A770 and spills no registers.

usage: ocloc.py OCLOC MODULE.spv ...

Its status says nothing: it "succeeds" with instructions that the device doesn't have.
"""
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
    return None


def main(ocloc, *modules):
    with tempfile.TemporaryDirectory() as folder:
        problems = [p for p in (problem_of(ocloc, m, folder) for m in modules) if p]
    print('\n'.join(problems) or f'{len(modules)} modules compile for dg2-g10')
    return 1 if problems or not modules else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
