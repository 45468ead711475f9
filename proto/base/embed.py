#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the C file that holds files as bytes, and a table of them.

usage: embed.py OUTPUT.c HEADER STRUCT TABLE [--endings] INPUT ...

HEADER declares `const struct vrt_STRUCT vrt_TABLE[]` and `const size_t vrt_n_TABLE`. The
struct's first members are a file's name, without folder and ending, its bytes, aligned to 64, and
how many there are. With --endings names have theirs.
"""
import os
import sys

PER_LINE = 24


def main(output, header, struct, table, *inputs):
    rows = []
    endings = inputs[0] == '--endings'
    inputs = inputs[endings:]
    with open(output, 'w', encoding='ascii') as c:
        c.write(f'/* Made by embed.py. */\n#include "{header}"\n\n')
        for i, path in enumerate(inputs):
            with open(path, 'rb') as f:
                data = f.read()
            c.write(f'static const _Alignas(64) unsigned char file_{i}[{len(data)}] = {{\n')
            for at in range(0, len(data), PER_LINE):
                c.write(','.join(map(str, data[at:at + PER_LINE])) + ',\n')
            c.write('};\n\n')
            name = os.path.basename(path)
            if not endings:
                name = os.path.splitext(name)[0]
            rows.append(f'    {{ "{name}", file_{i}, sizeof(file_{i}) }},\n')
        c.write(f'const struct vrt_{struct} vrt_{table}[] = {{\n' + ''.join(rows) + '};\n\n'
                f'const size_t vrt_n_{table} = {len(rows)};\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
