#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the C file that holds model files as bytes.

usage: embed.py OUTPUT.c INPUT.safetensors ...
"""
import os
import sys

PER_LINE = 24


def main(output, *inputs):
    rows = []
    with open(output, 'w', encoding='ascii') as c:
        c.write('/* Made by models/embed.py. */\n'
                '#include "models/builtin-data.h"\n\n')
        for i, path in enumerate(inputs):
            with open(path, 'rb') as f:
                data = f.read()
            c.write(f'static const _Alignas(64) unsigned char model_{i}[{len(data)}] = {{\n')
            for at in range(0, len(data), PER_LINE):
                c.write(','.join(map(str, data[at:at + PER_LINE])) + ',\n')
            c.write('};\n\n')
            name = os.path.splitext(os.path.basename(path))[0]
            rows.append(f'    {{ "{name}", model_{i}, sizeof(model_{i}) }},\n')
        c.write('const struct vrt_builtin_model vrt_builtin_models[] = {\n' + ''.join(rows) +
                '};\n\n'
                f'const size_t vrt_n_builtin_models = {len(rows)};\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
