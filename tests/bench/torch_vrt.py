#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""VRT in PyTorch on the CPU: how long it takes, what memory it needs, and that it is right.

usage: torch_vrt.py [OPTION]...

Weights are made by a rule from the tensors' names; --check compares with outputs of the original
definition at such weights. Needs Debian's python3-torch, with libopenblas0-pthread: without
OpenBLAS, Debian's PyTorch multiplies by the reference BLAS, many times slower.
"""
import argparse
import json
import os
import resource
import statistics
import struct
import sys
import time
import zlib

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


# Measurement


def blas():
    """The library that PyTorch's matrix products come from."""
    with open('/proc/self/maps') as f:
        names = {os.path.realpath(line.split()[-1]) for line in f if 'blas' in line}
    return ', '.join(sorted(names)) or 'built in'


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def runs(network, x, options):
    """Runs as often as asked; each gives its seconds and the output."""
    left = options.repeat
    while sys.stdin.readline() if options.wait else left > 0:
        left -= 1
        started = time.monotonic()
        with torch.no_grad(), torch.autocast('cpu', torch.bfloat16, options.dtype == 'bf16'):
            y = network(x)
        yield time.monotonic() - started, y.float()


def measure(options):
    torch.set_num_threads(options.threads)
    config = torch_vrt_net.TASKS[options.task]
    network = torch_vrt_net.Vrt(config).eval()
    fill(network, options.seed)
    if options.save:
        torch.save({'params': network.state_dict()}, options.save)
    if options.input:
        x = numpy.load(options.input)
    else:
        x = video(options.seed, (options.frames, 3 + config.nonblind, *options.size[::-1]),
                  config.nonblind)
    report = {'torch': torch.__version__, 'blas': blas(), 'task': options.task,
              'parameters': sum(p.numel() for p in network.parameters()),
              'input_shape': list(x.shape), 'threads': torch.get_num_threads(),
              'precision': options.dtype, 'start_rss_bytes': peak_rss_bytes(), 'seconds': []}
    for seconds, y in runs(network, torch.from_numpy(x), options):
        report['seconds'].append(round(seconds, 4))
        report['median_s'] = statistics.median(report['seconds'])
        report['peak_rss_bytes'] = peak_rss_bytes()
        y = y.numpy()
        report['output_shape'] = list(y.shape)
        report['output_mean'] = round(float(y.mean(dtype='f8')), 7)
        report['output_crc32'] = zlib.crc32(y.tobytes())
        if options.output:
            numpy.save(options.output, y)
        if options.wait:
            print(json.dumps(report), flush=True)
    if not options.wait:
        print(json.dumps(report))


def size(text):
    width, _, height = text.partition('x')
    return int(width), int(height or width)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--task', type=int, choices=range(1, 10), default=1,
                        help='the released network with this number (1)')
    parser.add_argument('--frames', type=int, default=6)
    parser.add_argument('--size', type=size, default=(64, 64), help='of the input, WxH or W (64)')
    parser.add_argument('--input', metavar='X.npy', help='a clip [D,C,H,W] instead of waves')
    parser.add_argument('--output', metavar='Y.npy')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--dtype', choices=('f32', 'bf16'), default='f32',
                        help='bf16: by torch.autocast')
    parser.add_argument('--repeat', type=int, default=1)
    parser.add_argument('--wait', action='store_true',
                        help='one run for every line on standard input, with a report after each')
    parser.add_argument('--seed', type=int, default=1234, help='of the weights and the clip (1234)')
    parser.add_argument('--save', metavar='FILE.pth', help='the weights as a checkpoint')
    parser.add_argument('--check', metavar='DIR/NAME', help='compare with NAME.safetensors')
    options = parser.parse_args()
    if options.check:
        torch.set_num_threads(options.threads)
        return 0 if check(options.check) else 1
    measure(options)
    return 0


if __name__ == '__main__':
    sys.exit(main())
