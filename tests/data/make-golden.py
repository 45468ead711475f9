#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden files: what networks' original definitions computed, as .safetensors, which the
engine reads by itself.

usage: make-golden.py FOLDER

FOLDER has vrt/, flow/ and image/ with NAME.json, which tells of a network and of samples, and
NAME.f32, the samples, as they were computed with PyTorch 1.13 (f32, CPU). Beside this script
vrt/NAME.safetensors and so on are written, with the tensors

  config.KEY       i32 [n]: how large the network is, as its authors state it
  seed             i32 [1]: of the weights and the input, which follow from it
  input_shape      i32 [4]: [D,C,H,W]
  n_parameters     i32 [1] (VRT): of the network
  parameter.NAME   f32 [2]: a parameter's first and last value
  shape.NAME       i32 [4]: a tensor of the network, "output" among them
  stride.NAME      i32 [1]: which of its elements are there: every so many, of the flattened tensor
  samples.NAME     f32 [n]: those
"""
import array
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Writer:
    def __init__(self):
        self.header, self.data = {}, b''

    def add(self, name, dtype, values):
        code = {'I32': 'i', 'F32': 'f'}[dtype]
        begin = len(self.data)
        self.data += array.array(code, values).tobytes()
        self.header[name] = {'dtype': dtype, 'shape': [len(values)],
                             'data_offsets': [begin, len(self.data)]}

    def write(self, path):
        header = json.dumps(self.header, separators=(',', ':')).encode()
        header += b' ' * (-len(header) % 8)
        with open(path, 'wb') as f:
            f.write(struct.pack('<Q', len(header)) + header + self.data)


def add_config(writer, config):
    for key, value in config.items():
        if not isinstance(value, str):
            values = value if isinstance(value, list) else [value]
            writer.add(f'config.{key}', 'I32', [int(v) for v in values])


def convert(source, target):
    with open(source + '.json', encoding='utf-8') as f:
        golden = json.load(f)
    samples = array.array('f')
    with open(source + '.f32', 'rb') as f:
        samples.frombytes(f.read())
    # Pictures have one tensor, which is told of beside it.
    tensors = golden.get('tensors') or {
        'output': {'shape': golden['output_shape_NCHW'], 'stride': golden['stride'], 'offset': 0,
                   'count': golden['count']}}
    writer = Writer()
    add_config(writer, golden['config'])
    writer.add('seed', 'I32', [golden['seed']])
    writer.add('input_shape', 'I32', golden.get('input_shape_DCHW') or golden['input_shape_NCHW'])
    if 'params' in golden:
        writer.add('n_parameters', 'I32', [golden['params']])
    for name, tensor in tensors.items():
        begin, count = tensor['offset'], tensor['count']
        writer.add(f'shape.{name}', 'I32', tensor['shape'])
        writer.add(f'stride.{name}', 'I32', [tensor['stride']])
        writer.add(f'samples.{name}', 'F32', samples[begin:begin + count])
    for name, parameter in golden['parameters'].items():
        writer.add(f'parameter.{name}', 'F32', [parameter['first'], parameter['last']])
    writer.write(target)


def main():
    if len(sys.argv) != 2 or sys.byteorder != 'little':
        print('usage: make-golden.py FOLDER, on a little-endian machine', file=sys.stderr)
        return 2
    for kind in ('vrt', 'flow', 'image'):
        folder = os.path.join(sys.argv[1], kind)
        for name in sorted(os.listdir(folder)):
            if name.endswith('.json'):
                name = name[:-len('.json')]
                convert(os.path.join(folder, name),
                        os.path.join(HERE, kind, name + '.safetensors'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
