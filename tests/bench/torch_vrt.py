#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""VRT in PyTorch: weights and clips that follow from names, and that it is right.

usage: torch_vrt.py DIR/NAME...

Compares the network with outputs of the original definition at such weights, which the files
DIR/NAME.safetensors hold. torch_serve.py runs it.
"""
import json
import struct
import sys

import numpy
import torch

import torch_vrt_net

TOLERANCE = 1e-4


# The weight rule


def uniform(name, seed, n):
    """n numbers from 0 to 1 that depend on the name alone: splitmix64 begun at its FNV-1a hash."""
    state = 0xcbf29ce484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001b3 % 2**64
    z = numpy.uint64(state ^ seed)
    z = z + numpy.arange(1, n + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    z ^= z >> numpy.uint64(31)
    return (z >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2**-24)


def weight_range(name, shape, large_flows):
    """The center and half the width of a parameter's values."""
    last_of_flow = name.startswith('spynet.') and '.basic_module.8.' in name
    if name.endswith('relative_position_bias_table'):
        return 0, 0.5
    if len(shape) == 1:
        if name.endswith('.weight'):
            return 1, 0.2
        return (1.5 / 63, 0) if last_of_flow and not large_flows else (0, 0.1)
    gain = 1.6 if name.startswith('spynet.') else 1
    if last_of_flow:
        gain = 0.6 if large_flows else 0.02
    return 0, gain * (3 / numpy.prod(shape[1:]))**0.5 * 0.9


def fill(network, seed, large_flows=False):
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            center, halfwidth = weight_range(name, parameter.shape, large_flows)
            u = uniform(name, seed, parameter.numel())
            values = (numpy.float32(center)
                      + numpy.float32(halfwidth) * (2 * u - numpy.float32(1)))
            parameter.copy_(torch.from_numpy(values).view(parameter.shape))


def video(seed, shape, nonblind=False):
    """Moving waves and noise, [D,C,H,W]."""
    d, c, y, x = numpy.meshgrid(*map(numpy.arange, shape), indexing='ij')
    waves = (0.5 + 0.22 * numpy.sin(0.31 * (x + 1.3 * d) + 0.7 * c)
             + 0.18 * numpy.cos(0.23 * (y - 0.9 * d) + 0.19 * x + 1.1 * c)).astype(numpy.float32)
    noise = uniform('input', seed, waves.size).reshape(shape) - numpy.float32(0.5)
    clip = numpy.clip(waves + numpy.float32(0.1) * noise, 0, 1)
    if nonblind:
        clip[:, 3] = numpy.float32(20 / 255)
    return clip


# Comparison with the original definition


class Golden:
    """A file that tests/data/make-golden.py made."""

    def __init__(self, path):
        with open(path + '.safetensors', 'rb') as f:
            length, = struct.unpack('<Q', f.read(8))
            self.header, self.data = json.loads(f.read(length)), f.read()

    def names(self, prefix):
        return [name[len(prefix):] for name in self.header if name.startswith(prefix)]

    def get(self, name):
        entry = self.header[name]
        begin, end = entry['data_offsets']
        return numpy.frombuffer(self.data[begin:end], {'I32': '<i4', 'F32': '<f4'}[entry['dtype']])

    def config(self, key):
        return tuple(self.get('config.' + key).tolist())

    def setting(self, key):
        return self.config(key)[0]


def golden_config(golden):
    dims = golden.config('embed_dims')
    return torch_vrt_net.Config(
        scale=golden.setting('upscale'), window=golden.config('window_size'),
        depths=golden.config('depths'), dims=(dims[0], dims[-1]),
        heads=golden.setting('num_heads'), pa_frames=golden.setting('pa_frames'),
        deform_groups=golden.setting('deformable_groups'),
        independent=len(golden.config('indep_reconsts')),
        nonblind=bool(golden.setting('nonblind_denoising')))


# How the activations [D,H,W,C] lie in the files.
GOLDEN_ORDER = {'conv_first': (3, 0, 1, 2), 'stage': (3, 0, 1, 2), 'conv_after_body': (2, 0, 1, 3)}


def golden_order(name, value):
    for start, order in GOLDEN_ORDER.items():
        if name.startswith(start):
            return value.permute(order)
    return value


def has_parameters(network, golden):
    """Whether the network has the parameters that the file lists, by their first and last value."""
    own = {name: p.detach().flatten() for name, p in network.named_parameters()}
    listed = golden.names('parameter.')
    return set(listed) <= set(own) and all(
        numpy.allclose([own[n][0], own[n][-1]], golden.get('parameter.' + n), 0, 1e-6)
        for n in listed)


def check(path):
    """Prints the difference of every tensor. Return: whether all are within the tolerance."""
    golden = Golden(path)
    large_flows = 'output' not in golden.names('samples.')
    network = torch_vrt_net.Vrt(golden_config(golden))
    seed = int(golden.get('seed')[0])
    fill(network, seed, large_flows)
    if not has_parameters(network, golden):
        print(f'{path}: other parameters')
        return False
    x = video(seed, golden.get('input_shape').tolist(), network.config.nonblind)
    network.taps = {'input': torch.from_numpy(x)}
    with torch.no_grad():
        if large_flows:
            network.flows(network.taps['input'][:, :3])
        else:
            network.taps['output'] = network(network.taps['input'])
    right = True
    for name in golden.names('samples.'):
        wanted = golden.get('samples.' + name)
        value = golden_order(name, network.taps[name])
        got = value.flatten().numpy()[::golden.get('stride.' + name)[0]]
        same = list(value.shape) == golden.get('shape.' + name).tolist()
        largest = numpy.abs(got - wanted).max() if same and got.size == wanted.size else numpy.inf
        scale = 1 if large_flows else numpy.abs(wanted).max()
        within = largest <= (1e-3 if large_flows else TOLERANCE) * scale
        right = right and bool(within)
        print(f'{"ok  " if within else "FAIL"} {name:20} differs by {largest:.2e}, '
              f'{largest / numpy.abs(wanted).max():.2e} of the largest value')
    return right


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    return 0 if all([check(path) for path in sys.argv[1:]]) else 1


if __name__ == '__main__':
    sys.exit(main())
