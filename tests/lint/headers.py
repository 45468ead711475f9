#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone.

usage: headers.py [--without=FOLDER]... SOURCE_ROOT BUILD_ROOT COMPILER [FLAG...]

--without names folders whose headers need a library that this build does without.
"""
import concurrent.futures
import os
import subprocess
import sys


# C++ for nvcc, or for a compiler in its place, OpenCL C, Metal's language; and macOS's.
SKIPPED = ('proto/base/os/darwin.h', 'workers/backend/cuda/kernels',
           'workers/backend/kernels/attention', 'workers/backend/kernels/language.h',
           'workers/backend/kernels/view.h', 'workers/backend/mps/kernels',
           'workers/backend/xpu/kernels/opencl', 'tests/simulators/block',
           'tests/simulators/cuda', 'tests/simulators/mps/msl/include')


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
    jobs = []
    for top in ('proto', 'workers', 'daemon', 'client', 'config', 'models', 'tests'):
        for folder, _, names in os.walk(os.path.join(root, top)):
            paths = (os.path.relpath(os.path.join(folder, n), root) for n in sorted(names))
            jobs += [(root, path, command) for path in paths
                     if path.endswith('.h') and not path.startswith(SKIPPED + without)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [p for p in pool.map(compile_header, jobs) if p]
    print('\n'.join(problems) or f'{len(jobs)} headers compile alone')
    return 1 if problems or not jobs else 0


if __name__ == '__main__':
    sys.exit(main())
