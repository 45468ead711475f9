#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program in MSL made a library of the host's.

usage: translate.py CLANG VERSION fast|precise PROGRAM RESULT

VERSION is that of the language: 300, 310. What is wrong with the program is said on standard error,
as a compiler says it. Refused although MSL has them are kernels that are templates, and functions
that differ only in the spaces that their parameters point into.
"""
import os
import subprocess
import sys

import callgraph
import kernels
import rewrite
import rules
import structure
import tokens

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGE = ['-x', 'c++', '-std=c++14', '-nostdinc', '-nostdinc++', '-fno-exceptions', '-fno-rtti',
            '-Xclang', '-fnative-half-type', '-Xclang', '-fnative-half-arguments-and-returns',
            '-Xclang', '-cl-single-precision-constant', '-march=native', '-Wno-everything',
            '-Werror=c++17-extensions', '-Werror=c++20-extensions', '-Werror=vla-extension',
            '-ferror-limit=10', '-I', os.path.join(HERE, 'include')]


def run(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, **how)
    if done.returncode:
        sys.exit(1)
    return done.stdout


def preprocess(clang, defines, path):
    with open(path, encoding='utf-8') as f:
        text = '#line 1 "program_source"\n' + f.read()
    return run([clang, '-E', '-x', 'c++', '-std=c++14', '-undef', '-nostdinc', *defines, '-isystem',
                os.path.join(HERE, 'known'), '-'], input=text)


def compile_strictly(clang, defines, text, found):
    """The first compilation: is it MSL, and who calls whom? Return: whether it is."""
    source = '#include "msl.h"\n' + text
    graph = callgraph.read(run([clang, *LANGUAGE, *defines, '-DVRT_MSL_STRICT',
                                '-DVRT_MSL_DECLARED(...)=', '-O0', '-S', '-emit-llvm', '-o', '-',
                                '-'], input=source))
    recursive = callgraph.find_recursion(graph)
    if recursive:
        print(f"program_source:1:1: error: '{callgraph.short_name(recursive)}': recursion is not "
              'supported in Metal', file=sys.stderr)
        return False
    for kernel in found:
        start = callgraph.find_kernel(graph, kernels.room_of(kernel.index), kernel.name)
        called = callgraph.reachable(graph, start)
        kernel.has_matrices = any('simdgroup_matrix' in name for name in called)
    return True


def compile_library(clang, defines, text, is_fast, result):
    """The second one: a shared object. It is linked by itself, or the whole process would have
    fast arithmetic."""
    source = '#include "msl.h"\n#include "launch.h"\n' + text
    numbers = ['-ffast-math'] if is_fast else ['-ffp-contract=on']
    run([clang, *LANGUAGE, *defines, *numbers, '-O2', '-fPIC', '-fvisibility=hidden',
         '-fvisibility-inlines-hidden', '-ftrivial-auto-var-init=pattern', '-c', '-o',
         result + '.o', '-'], input=source)
    run([clang, '-shared', '-o', result, result + '.o', '-lm'])
    os.unlink(result + '.o')


def main():
    clang, version, numbers, path, result = sys.argv[1:]
    defines = [f'-D__METAL_VERSION__={version}', '-D__METAL__=1', '-D__METAL_MACOS__=1']
    every = tokens.split(preprocess(clang, defines, path))
    try:
        program = structure.Program(tokens.without_space(every))
        rules.check(program)
        found = kernels.take_all(program)
        rewrite.rewrite(program)
    except tokens.Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    text = ''.join(token.text for token in every)
    if not compile_strictly(clang, defines, text, found):
        return 1
    export = '__attribute__((visibility("default"))) '
    compile_library(clang, defines, text + kernels.emit(found).replace('extern "C" ', 'extern "C" '
                    + export), numbers == 'fast', result)
    return 0


if __name__ == '__main__':
    sys.exit(main())
