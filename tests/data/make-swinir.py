#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes image/swinir-*.safetensors and image/swinir-direct.pth: what SwinIR's own definition
computes with PyTorch (f32, CPU), with weights and input by the rules of weight-rule.c.

usage: make-swinir.py NETWORK_SWINIR.PY

That is models/network_swinir.py as its authors published it (github.com/JingyunLiang/SwinIR; it
imports timm, of which it uses three functions). The files are as make-golden.py tells, and have for
each parameter also

  parameter_shape.NAME   i32 [n]: its extents
"""
import importlib.util
import os
import sys

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 4242
BASE = {'img_size': 16, 'embed_dim': 24, 'depths': [2, 3], 'num_heads': [2, 4], 'mlp_ratio': 2.0,
        'window_size': 8, 'img_range': 1.0, 'upscale': 1, 'in_chans': 3, 'resi_connection': '1conv'}

# Each way of enlarging, both ends of a group, both ranges, gray; sizes that no window divides.
CASES = {
    'shuffle': ({'upsampler': 'pixelshuffle', 'upscale': 4}, (1, 3, 21, 26)),
    'shuffle3': ({'upsampler': 'pixelshuffle', 'upscale': 3, 'patch_norm': False}, (1, 3, 24, 16)),
    'direct': ({'upsampler': 'pixelshuffledirect', 'upscale': 2}, (2, 3, 32, 24)),
    'nearest': ({'upsampler': 'nearest+conv', 'upscale': 4, 'resi_connection': '3conv'},
                (1, 3, 19, 17)),
    'gray': ({'upsampler': '', 'in_chans': 1}, (1, 1, 47, 70)),
    'jpeg': ({'upsampler': '', 'window_size': 7, 'img_size': 14, 'img_range': 255.0},
             (1, 3, 30, 43)),
}
TOLD = ('embed_dim', 'depths', 'num_heads', 'window_size', 'upscale', 'in_chans')


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def uniform(name, n):
    mask = (1 << 64) - 1
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001b3) & mask
    with numpy.errstate(over='ignore'):
        z = numpy.uint64(h ^ SEED) + numpy.arange(1, n + 1, dtype=numpy.uint64) * numpy.uint64(
            0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z ^= z >> numpy.uint64(31)
    return (z >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2.0 ** -24)


def weights(name, shape):
    """As rule_fill_vrt()."""
    center = 0.0
    if name.endswith('relative_position_bias_table'):
        halfwidth = 0.5
    elif len(shape) == 1:
        center = 1.0 if name.endswith('.weight') else 0.0
        halfwidth = 0.2 if center else 0.1
    else:
        halfwidth = (3.0 / numpy.prod(shape[1:])) ** 0.5 * 0.9
    u = uniform(name, int(numpy.prod(shape)))
    values = numpy.float32(center) + numpy.float32(halfwidth) * (2 * u - 1)
    return torch.from_numpy(values.reshape(shape))


def video(shape):
    """As rule_video()."""
    d, c, y, x = numpy.indices(shape, dtype=numpy.float64)
    value = (0.5 + 0.22 * numpy.sin(0.31 * (x + 1.3 * d) + 0.7 * c)
             + 0.18 * numpy.cos(0.23 * (y - 0.9 * d) + 0.19 * x + 1.1 * c)).astype(numpy.float32)
    noise = numpy.float32(0.1) * (uniform('input', value.size).reshape(shape) - numpy.float32(0.5))
    return torch.from_numpy(numpy.clip(value + noise, 0, 1).astype(numpy.float32))


def main():
    if len(sys.argv) != 2:
        print('usage: make-swinir.py NETWORK_SWINIR.PY', file=sys.stderr)
        return 2
    definition = load(sys.argv[1], 'network_swinir')
    golden = load(os.path.join(HERE, 'make-golden.py'), 'golden')
    for case, (sizes, shape) in CASES.items():
        config = {**BASE, **sizes}
        network = definition.SwinIR(**config).eval()
        writer = golden.Writer()
        golden.add_config(writer, {k: config[k] for k in TOLD})
        writer.add('seed', 'I32', [SEED])
        writer.add('input_shape', 'I32', shape)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(weights(name, parameter.shape))
                values = parameter.flatten()
                writer.add(f'parameter.{name}', 'F32', [float(values[0]), float(values[-1])])
                writer.add(f'parameter_shape.{name}', 'I32', list(parameter.shape))
            result = network(video(shape))
        stride = 7 if result.numel() > 20000 else 3
        writer.add('shape.output', 'I32', list(result.shape))
        writer.add('stride.output', 'I32', [stride])
        writer.add('samples.output', 'F32', result.flatten()[::stride].tolist())
        print(f'{case}: {result.mean():.4f} +- {result.std():.4f}')
        writer.write(os.path.join(HERE, 'image', f'swinir-{case}.safetensors'))
        if case == 'direct':
            torch.save({'params': network.state_dict()},
                       os.path.join(HERE, 'image', 'swinir-direct.pth'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
