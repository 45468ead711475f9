#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No kernel spills registers to memory: fails where the assembler's reports say that one does.

usage: ptxas.py REPORT...

Prints, for each kernel, the registers and shared memory it takes of each architecture.
"""
import re
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(sm_\d+\w?)'")
SPILLS = re.compile(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads')
USED = re.compile(r'Used (\d+) registers(?:.*?(\d+) bytes smem)?')

# Kernels that may keep a small array on the stack, with the reason.
ALLOWED_STACK = {}


def read(path):
    """(kernel, architecture) -> [stack, spilled, registers, shared bytes]; None: no report"""
    found, key, stack, spilled, is_report = {}, None, 0, 0, False
    with open(path, encoding='utf-8', errors='replace') as f:
        for line in f:
            is_report |= line.startswith('ptxas info')
            if m := ENTRY.search(line):
                key = m.groups()
            elif m := SPILLS.search(line):
                stack, spilled = int(m[1]), int(m[2]) + int(m[3])
            elif (m := USED.search(line)) and key:
                found[key] = [stack, spilled, int(m[1]), int(m[2] or 0)]
                key = None
    return found if is_report else None


def short(name):
    """The kernel's own name, of a mangled one: the longest of its parts that is one."""
    parts, at = [], 0
    while m := re.search(r'(\d+)', name[at:]):
        begin = at + m.end()
        length = int(m[1])
        part = name[begin:begin + length]
        if length > 1 and re.fullmatch(r'[a-z]\w*', part) and part not in ('vrt', 'view'):
            parts.append(part)
            at = begin + length
        else:
            at = begin
    return parts[0] if parts else name


def main():
    problems, n = [], 0
    for path in sys.argv[1:]:
        found = read(path)
        if found is None:
            problems.append(f'{path}: the assembler said nothing')
        for (kernel, arch), (stack, spilled, registers, shared) in sorted((found or {}).items()):
            n += 1
            name = short(kernel)
            print(f'{name:40} {arch:8} {registers:4} registers {shared:6} bytes shared')
            if spilled:
                problems.append(f'{name} ({kernel}) spills {spilled} bytes on {arch}')
            elif stack and name not in ALLOWED_STACK:
                problems.append(f'{name} ({kernel}) keeps {stack} bytes on the stack on {arch}')
    print('\n'.join(problems) or f'{n} kernels keep to registers')
    return 1 if problems or not n else 0


if __name__ == '__main__':
    sys.exit(main())
