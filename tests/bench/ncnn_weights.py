# SPDX-License-Identifier: MIT
"""Networks in ncnn's format as .safetensors, with the names of the published checkpoints.

A .param file lists layers in the order of their computation, one a line: kind, name, numbers of
inputs and outputs, their names, then KEY=VALUE pairs. The .bin file has the layers' values in that
order: a convolution's weights after a tag that says how they are stored, then its biases; a PReLU's
slopes.
"""
import json
import struct

import numpy

MAGIC = '7767517'
DTYPES = {0x01306B47: numpy.dtype('<f2'), 0: numpy.dtype('<f4')}    # by tag
# Keys of a layer's numbers.
OUTPUTS, KERNEL, HAS_BIAS, N_WEIGHTS = '0', '1', '5', '6'


class Values:
    """The values of a .bin file, one layer's after the other's."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            self.path, self.data, self.at = path, f.read(), 0

    def take(self, n_bytes):
        """The next bytes. What follows them begins at a multiple of four."""
        if self.at + n_bytes > len(self.data):
            raise ValueError(f'{self.path} ends within a layer')
        block = self.data[self.at:self.at + n_bytes]
        self.at += -(-n_bytes // 4) * 4
        return block

    def floats(self, n, dtype=DTYPES[0]):
        return numpy.frombuffer(self.take(n * dtype.itemsize), dtype).astype('<f4')

    def weights(self, n):
        tag, = struct.unpack('<I', self.take(4))
        if tag not in DTYPES:
            raise ValueError(f'{self.path} has weights of kind {tag:#x}, which is not known here')
        return self.floats(n, DTYPES[tag])


def read_layers(stem):
    """Of each layer that has values, in order: [(what, values)]."""
    with open(stem + '.param', encoding='utf-8') as f:
        lines = [line.split() for line in f]
    if lines[:1] != [[MAGIC]]:
        raise ValueError(f'{stem}.param is not a network of ncnn\'s')
    values, layers = Values(stem + '.bin'), []
    for kind, _, n_in, n_out, *rest in lines[2:]:
        keys = dict(pair.split('=', 1) for pair in rest[int(n_in) + int(n_out):])
        if kind == 'Convolution':
            out, side = int(keys[OUTPUTS]), int(keys[KERNEL])
            parts = [('weight', values.weights(int(keys[N_WEIGHTS])).reshape(out, -1, side, side))]
            if keys.get(HAS_BIAS) == '1':
                parts.append(('bias', values.floats(out)))
            layers.append(parts)
        elif kind == 'PReLU':
            layers.append([('weight', values.floats(int(keys[OUTPUTS])))])
    if values.at != len(values.data):
        raise ValueError(f'{values.path} has more values than its layers')
    return layers


def names_of(architecture, n_layers):
    """What published checkpoints call the layers of "compact" or "esrgan", in order."""
    if architecture == 'compact':
        return [f'body.{i}' for i in range(n_layers)]
    last = ['conv_body', 'conv_up1', 'conv_up2', 'conv_hr', 'conv_last']
    blocks, left = divmod(n_layers - 1 - len(last), 15)
    if left:
        raise ValueError(f'{n_layers} layers make no network of dense blocks')
    return ['conv_first', *(f'body.{i}.rdb{j}.conv{k}' for i in range(blocks)
                            for j in range(1, 4) for k in range(1, 6)), *last]


def convert(stem, architecture, path):
    """Writes what STEM.param and STEM.bin hold."""
    layers = read_layers(stem)
    save(path, {f'{name}.{what}': values
                for name, parts in zip(names_of(architecture, len(layers)), layers)
                for what, values in parts})


def save(path, tensors):
    """Writes arrays of f32 by name."""
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {'dtype': 'F32', 'shape': list(values.shape),
                        'data_offsets': [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        f.writelines(values.tobytes() for values in tensors.values())


def load(path):
    """What save() wrote: arrays by name."""
    with open(path, 'rb') as f:
        length, = struct.unpack('<Q', f.read(8))
        header, data = json.loads(f.read(length)), f.read()
    return {name: numpy.frombuffer(data, '<f4', offset=entry['data_offsets'][0],
                                   count=int(numpy.prod(entry['shape']))).reshape(entry['shape'])
            for name, entry in header.items()}
