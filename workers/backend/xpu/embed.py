#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the C file that holds kernels as SPIR-V.

usage: embed.py OUTPUT.c INPUT.spv ...
"""
import os
import sys

PER_LINE = 24


def main(output, *inputs):
    rows = []
    with open(output, 'w', encoding='ascii') as c:
        c.write('/* Made by embed.py. */\n#include "backend/xpu/spirv.h"\n\n'
                '#include <string.h>\n\n#include "base/macro.h"\n\n')
        for i, path in enumerate(inputs):
            with open(path, 'rb') as f:
                data = f.read()
            c.write(f'static const _Alignas(8) unsigned char module_{i}[{len(data)}] = {{\n')
            for at in range(0, len(data), PER_LINE):
                c.write(','.join(map(str, data[at:at + PER_LINE])) + ',\n')
            c.write('};\n\n')
            name = os.path.splitext(os.path.basename(path))[0]
            rows.append(f'    {{ "{name}", module_{i}, sizeof(module_{i}) }},\n')
        c.write('static const struct vrt_xpu_spirv modules[] = {\n' + ''.join(rows) + '};\n\n'
                'const struct vrt_xpu_spirv *vrt_xpu_spirv_find(const char *name)\n{\n'
                '    for (size_t i = 0; i < VRT_ARRAY_SIZE(modules); i++)\n'
                '        if (strcmp(modules[i].name, name) == 0)\n'
                '            return &modules[i];\n'
                '    return NULL;\n}\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
