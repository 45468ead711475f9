#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Error ids: fails where the daemon's side uses one that proto/api.h doesn't list, or none does.

usage: errors.py SOURCE_ROOT
"""
import os
import re
import sys

import tree

TOPS = ('proto', 'daemon', 'workers')

# An id stands in vrt_refuse(), or is named by a macro for it.
USED = (re.compile(r'vrt_refuse\([^";]*"([a-z_]+(?:\.[a-z_]+)?)",'),
        re.compile(r'#define \w*_?E_\w+ "([a-z_.]+)"'))

# Uses of one that is listed: as it is, and by its name in the list.
QUOTED = re.compile(r'"([a-z_.]+)"')
NAMED = re.compile(r'\b(?:VRT_E\(|VRT_API_E_)(\w+)\b')

# Never in an answer: a cancelled job says so by its state, a bad configuration ends the start.
INTERNAL = {'cancelled', 'config.invalid', 'usage'}

# A program of its own, and the list itself.
APART = ('workers/infer/', 'proto/api.h')


def main():
    root = sys.argv[1]
    with open(os.path.join(root, 'proto', 'api.h'), encoding='utf-8') as f:
        ids = dict(re.findall(r'X\((\w+),\s+"([a-z_.]+)",\s+\d{3}, ', f.read()))
    listed, used = list(ids.values()), set()
    problems = [f'proto/api.h: {i} twice' for i in listed if listed.count(i) > 1]
    for path, text in tree.sources(root, TOPS, ('.c', '.h')):
        if path.startswith(APART):
            continue
        used.update(QUOTED.findall(text))
        used.update(ids.get(name) for name in NAMED.findall(text))
        for pattern in USED:
            for match in pattern.finditer(text):
                if match.group(1) not in listed and match.group(1) not in INTERNAL:
                    line = text.count('\n', 0, match.start(1)) + 1
                    problems.append(f'{path}:{line}: {match.group(1)} is not in api.h')
    problems += [f'proto/api.h: nobody uses {i}' for i in listed if i not in used]
    return tree.report(problems, len(listed), f'{len(listed)} error ids, all of them in use')


if __name__ == '__main__':
    sys.exit(main())
