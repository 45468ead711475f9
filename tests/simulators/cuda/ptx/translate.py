#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Translates PTX, as nvcc writes it, to C++ for the machine made of software.

usage: translate.py IN.ptx OUT.cpp

An instruction that isn't known, or has another modifier, ends it with its name.
"""
import os
import sys

import emit
import parse


def main():
    source, target = sys.argv[1:]
    with open(source, encoding='utf-8') as f:
        text = f.read()
    try:
        result = emit.module_text(parse.parse(text), os.path.basename(source))
    except parse.Unknown as error:
        print(f'{source}: {error}', file=sys.stderr)
        return 1
    with open(target, 'w', encoding='utf-8') as f:
        f.write(result)
    return 0


if __name__ == '__main__':
    sys.exit(main())
