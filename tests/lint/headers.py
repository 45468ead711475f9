#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone.

usage: headers.py [--without=FOLDER]... SOURCE_ROOT BUILD_ROOT COMPILER [FLAG...]

--without names folders whose headers need a library that this build does without. A header that a
source of the build has before anything else was compiled alone with it.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys


# C++ for nvcc, or for a compiler in its place, OpenCL C, Metal's language; and macOS's.
SKIPPED = ('proto/base/os/darwin.h', 'workers/backend/cuda/kernels',
           'workers/backend/kernels/attention', 'workers/backend/kernels/language.h',
           'workers/backend/kernels/view.h', 'workers/backend/mps/kernels',
           'workers/backend/xpu/kernels/opencl', 'tests/simulators/block',
           'tests/simulators/cuda', 'tests/simulators/mps/msl/include')


# The head of a source, and where what it includes is looked for.
FIRST = re.compile(r'(?:\s|/\*.*?\*/)*#include "([^"]+)"', re.DOTALL)
INCLUDED_FROM = ('.', 'proto', 'workers')


def first_of(root, source):
    """The header that a source begins with, by its path in the tree, or None."""
    with open(source, encoding='utf-8') as f:
        match = FIRST.match(f.read())
    for folder in (os.path.dirname(source), *INCLUDED_FROM) if match else ():
        path = os.path.normpath(os.path.join(root, folder, match[1]))
        if os.path.exists(path):
            return os.path.relpath(path, root)
    return None


def compiled_headers(root, build):
    """What the sources begin with of which the build has an object."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        commands = json.load(f)
    sources = [os.path.join(build, c['file']) for c in commands
               if c['file'].endswith('.c') and os.path.exists(os.path.join(build, c['output']))]
    return {first_of(root, source) for source in sources} - {None}


def compile_header(job):
    root, path, command = job
    source = f'#include "{path}"\nint main(void);\n'
    done = subprocess.run(command, input=source, capture_output=True, text=True, cwd=root)
    return f'{path}:\n{done.stderr}' if done.returncode else None


def main():
    args = sys.argv[1:]
    without = tuple(a.partition('=')[2] for a in args if a.startswith('--without='))
    root, build, compiler, *flags = args[len(without):]
    command = [*compiler.split(), '-std=gnu17', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror',
               '-fsyntax-only', '-x', 'c', '-I.', '-Iproto', '-Iworkers', f'-I{build}',
               '-Wno-missing-field-initializers', '-Wno-psabi', *flags, '-']
    jobs, compiled = [], compiled_headers(root, build)
    for top in ('proto', 'workers', 'daemon', 'client', 'config', 'models', 'tests'):
        for folder, _, names in os.walk(os.path.join(root, top)):
            paths = (os.path.relpath(os.path.join(folder, n), root) for n in sorted(names))
            jobs += [(root, path, command) for path in paths if path.endswith('.h')
                     and not path.startswith(SKIPPED + without) and path not in compiled]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [p for p in pool.map(compile_header, jobs) if p]
    print('\n'.join(problems) or
          f'{len(jobs)} headers compile alone, {len(compiled)} did at the head of a source')
    return 1 if problems or not compiled else 0


if __name__ == '__main__':
    sys.exit(main())
