# SPDX-License-Identifier: MIT
"""Weights and input by the rules of weight-rule.c, and the golden file of a network that has them:
what make-*.py share. Files are as make-golden.py tells, and have for each parameter also

  parameter_shape.NAME   i32 [n]: its extents
"""
import importlib.util
import os

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 4242


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
    is_flow = name.startswith('spynet.')
    is_flow_end = is_flow and '.basic_module.4.conv.' in name
    if name.endswith('relative_position_bias_table'):
        halfwidth = 0.5
    elif is_flow_end and len(shape) == 1:
        center, halfwidth = 1.5 / 63, 0.0
    elif len(shape) == 1:
        center = 1.0 if name.endswith(('.weight', '.running_var')) else 0.0
        halfwidth = 0.2 if center else 0.1
    else:
        halfwidth = (3.0 / numpy.prod(shape[1:])) ** 0.5 * 0.9
        # SPAN's first convolution takes samples of up to 140.
        halfwidth /= 64 if name in ('conv_1.sk.weight', 'conv_1.conv.2.weight') else 1
        halfwidth *= 0.02 if is_flow_end else 1.6 if is_flow else 1
        # Each of I3D's convolutions has a ReLU behind it.
        halfwidth *= 1.5 if '.conv3d.' in name else 1
        # RIFE's flows are of a few pixels.
        halfwidth /= 2 if '.lastconv.' in name else 1
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


class Golden:
    """The file of one case: a network, its input's shape, and the sizes that are told of it."""

    def __init__(self, network, shape, told):
        golden = load(os.path.join(HERE, 'make-golden.py'), 'golden')
        self.network, self.shape, self.writer = network.eval(), shape, golden.Writer()
        golden.add_config(self.writer, told)
        self.writer.add('seed', 'I32', [SEED])
        self.writer.add('input_shape', 'I32', shape)

    def fill(self, made='', hidden=()):
        """Gives each parameter its values; those whose names have `made` in them the network makes
        of the others. vrtd has those alike but for the ones with a word of `hidden`."""
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                if made and made in name:
                    continue
                parameter.copy_(weights(name, parameter.shape))
                if not any(word in name for word in hidden):
                    self.tell(name, parameter)
                self.writer.add(f'parameter_shape.{name}', 'I32', list(parameter.shape))

    def tell(self, name, parameter):
        """Its first and its last value."""
        values = parameter.detach().flatten()
        self.writer.add(f'parameter.{name}', 'F32', [float(values[0]), float(values[-1])])

    def compute(self, path, run=None):
        """Computes the output and writes the file."""
        with torch.no_grad():
            result = (run or self.network)(video(self.shape))
        stride = 29 if result.numel() > 100000 else 7 if result.numel() > 20000 else 3
        self.writer.add('shape.output', 'I32', list(result.shape))
        self.writer.add('stride.output', 'I32', [stride])
        self.writer.add('samples.output', 'F32', result.flatten()[::stride].tolist())
        print(f'{os.path.basename(path)}: {result.mean():.4f} +- {result.std():.4f}')
        self.writer.write(os.path.join(HERE, path))
