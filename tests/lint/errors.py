#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Error ids: fails where the daemon's side uses one that proto/api.h doesn't list.

usage: errors.py SOURCE_ROOT
"""
import os
import re
import sys

TOPS = ('proto', 'daemon', 'workers')

# An id stands in vrt_refuse(), or is named by a macro for it.
USED = (re.compile(r'vrt_refuse\((?:[^";]|\n)*?"([a-z_]+(?:\.[a-z_]+)?)",', re.MULTILINE),
        re.compile(r'#define \w*_?E_\w+ "([a-z_.]+)"'))

# Never in an answer: a cancelled job says so by its state, a bad configuration ends the start.
INTERNAL = {'cancelled', 'config.invalid', 'usage'}

# Programs of their own.
APART = ('workers/infer/',)


def main():
    root = sys.argv[1]
    with open(os.path.join(root, 'proto', 'api.h'), encoding='utf-8') as f:
        listed = re.findall(r'X\(\w+,\s+"([a-z_.]+)",\s+\d{3}, ', f.read())
    problems = [f'proto/api.h: {i} twice' for i in listed if listed.count(i) > 1]
    n_used = 0
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if not name.endswith(('.c', '.h')):
                    continue
                path = os.path.join(folder, name)
                if os.path.relpath(path, root).startswith(APART):
                    continue
                with open(path, encoding='utf-8') as f:
                    text = f.read()
                for pattern in USED:
                    for match in pattern.finditer(text):
                        n_used += 1
                        if match.group(1) not in listed and match.group(1) not in INTERNAL:
                            line = text.count('\n', 0, match.start(1)) + 1
                            where = os.path.relpath(path, root)
                            problems.append(f'{where}:{line}: {match.group(1)} is not in api.h')
    print('\n'.join(problems) or f'{n_used} uses of {len(listed)} error ids')
    return 1 if problems or not n_used else 0


if __name__ == '__main__':
    sys.exit(main())
