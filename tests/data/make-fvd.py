#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes fvd/*.safetensors: what I3D and the Frechet distance are by their definitions, with PyTorch
(f32, CPU) and NumPy (f64), of weights and input by rule.py.

usage: make-fvd.py
       make-fvd.py --weights FILE   writes that I3D as a checkpoint, as PyTorch does

I3D is Inception-v1 with filters over time (Carreira and Zisserman 2017, arXiv:1705.07750), its
tensors named as in github.com/piergiaj/pytorch-i3d. Clips are in [0,1], the network sees [-1,1].

Files are as rule.py tells; that of the small clip has the network's shapes for all.

  distance.NAME  f32 [1]: of two sets of vectors, whose sizes are set.NAME, i32 [4]: dimensions,
                 vectors of the first and of the second, and by how much one is off, in hundredths;
                 "videos": of two of 32 frames
"""
import os
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional

import rule

# Frames, rows, columns: small ones, and the clip that FVD is defined by.
CASES = {'small': (8, 3, 32, 32), 'wide': (16, 3, 64, 96), 'full': (16, 3, 224, 224)}

# More vectors than dimensions; fewer; the same twice; one that is a multiple of the other.
SETS = {'many': (24, 60, 50, 0), 'few': (40, 12, 9, 30), 'two': (16, 2, 2, 0),
        'apart': (12, 30, 30, 250)}

# b0, b1a, b1b, b2a, b2b, b3b
MIXED = {'Mixed_3b': (192, (64, 96, 128, 16, 32, 32)),
         'Mixed_3c': (256, (128, 128, 192, 32, 96, 64)),
         'Mixed_4b': (480, (192, 96, 208, 16, 48, 64)),
         'Mixed_4c': (512, (160, 112, 224, 24, 64, 64)),
         'Mixed_4d': (512, (128, 128, 256, 24, 64, 64)),
         'Mixed_4e': (512, (112, 144, 288, 32, 64, 64)),
         'Mixed_4f': (528, (256, 160, 320, 32, 128, 128)),
         'Mixed_5b': (832, (256, 160, 320, 32, 128, 128)),
         'Mixed_5c': (832, (384, 192, 384, 48, 128, 128))}


def same(x, kernel, stride):
    """Zeros around it as TensorFlow's SAME has them: the odd one behind."""
    pads = []
    for size, k, s in zip(reversed(x.shape[2:]), reversed(kernel), reversed(stride)):
        total = max(k - (size % s or s), 0)
        pads += [total // 2, total - total // 2]
    return functional.pad(x, pads)


def pool(x, kernel, stride):
    return functional.max_pool3d(same(x, kernel, stride), kernel, stride)


class Unit(nn.Module):
    def __init__(self, c_in, c_out, kernel, stride=1):
        super().__init__()
        self.kernel, self.stride = (kernel,) * 3, (stride,) * 3
        self.conv3d = nn.Conv3d(c_in, c_out, kernel, stride, bias=False)
        self.bn = nn.BatchNorm3d(c_out, eps=1e-3)

    def forward(self, x):
        return functional.relu(self.bn(self.conv3d(same(x, self.kernel, self.stride))))


class Mixed(nn.Module):
    def __init__(self, c_in, c):
        super().__init__()
        self.b0 = Unit(c_in, c[0], 1)
        self.b1a, self.b1b = Unit(c_in, c[1], 1), Unit(c[1], c[2], 3)
        self.b2a, self.b2b = Unit(c_in, c[3], 1), Unit(c[3], c[4], 3)
        self.b3b = Unit(c_in, c[5], 1)

    def forward(self, x):
        largest = pool(x, (3, 3, 3), (1, 1, 1))
        return torch.cat((self.b0(x), self.b1b(self.b1a(x)), self.b2b(self.b2a(x)),
                          self.b3b(largest)), 1)


class I3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.Conv3d_1a_7x7 = Unit(3, 64, 7, 2)
        self.Conv3d_2b_1x1 = Unit(64, 64, 1)
        self.Conv3d_2c_3x3 = Unit(64, 192, 3)
        for name, (c_in, channels) in MIXED.items():
            setattr(self, name, Mixed(c_in, channels))
        self.logits = nn.Module()
        self.logits.conv3d = nn.Conv3d(1024, 400, 1)

    def forward(self, clip):
        """[D,3,H,W] to [400]."""
        x = (2 * clip - 1).transpose(0, 1)[None]
        x = pool(self.Conv3d_1a_7x7(x), (1, 3, 3), (1, 2, 2))
        x = pool(self.Conv3d_2c_3x3(self.Conv3d_2b_1x1(x)), (1, 3, 3), (1, 2, 2))
        for name in MIXED:
            if name == 'Mixed_4b':
                x = pool(x, (3, 3, 3), (2, 2, 2))
            elif name == 'Mixed_5b':
                x = pool(x, (2, 2, 2), (2, 2, 2))
            x = getattr(self, name)(x)
        # Of 16 frames of 224 x 224 it is all that there is.
        x = functional.avg_pool3d(x, (2, 7, 7) if clip.shape[-1] == 224 else x.shape[2:], 1)
        return self.logits.conv3d(x).flatten()


def fill(network):
    """Buffers, too."""
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if not name.endswith('.num_batches_tracked'):
                tensor.copy_(rule.weights(name, tensor.shape))


def vectors(name, n, dims, off):
    """Unlike in each dimension, and not apart from each other."""
    x = rule.uniform(name, n * dims).reshape(n, dims)
    x *= numpy.linspace(0.5, 2, dims, dtype=numpy.float32)
    x[:, 1:] += x[:, :-1]
    return (x + numpy.float32(off)).astype(numpy.float32)


def distance(a, b):
    """By the eigenvalues of the product, which are those of a matrix without symmetry."""
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    s, t = numpy.cov(a, rowvar=False), numpy.cov(b, rowvar=False)
    roots = numpy.sqrt(numpy.maximum(numpy.linalg.eigvals(s @ t).real, 0)).sum()
    off = a.mean(0) - b.mean(0)
    return off @ off + numpy.trace(s) + numpy.trace(t) - 2 * roots


def video_distance(network):
    """Of two clips each: rule.py's, and with less contrast. Pictures are in 65535 parts."""
    film = rule.video((32, 3, 224, 224))
    sets = []
    for video in film, film * 0.75 + 0.125:
        clips = ((video * 65535).round() / 65535).split(16)
        with torch.no_grad():
            sets.append(torch.stack([network.eval()(clip) for clip in clips]).numpy())
    return distance(*sets)


def write_distances(network):
    golden = rule.load(os.path.join(rule.HERE, 'make-golden.py'), 'golden')
    writer = golden.Writer()
    writer.add('seed', 'I32', [rule.SEED])
    for name, (dims, n, m, off) in SETS.items():
        d = distance(vectors('first', n, dims, 0), vectors('second', m, dims, off / 100))
        print(f'{name}: {d}')
        writer.add(f'set.{name}', 'I32', [dims, n, m, off])
        writer.add(f'distance.{name}', 'F32', [d])
    d = video_distance(network)
    print(f'videos: {d}')
    writer.add('distance.videos', 'F32', [d])
    writer.write(os.path.join(rule.HERE, 'fvd', 'distances.safetensors'))


def main():
    if len(sys.argv) not in (1, 3) or sys.argv[1:2] not in ([], ['--weights']):
        print(__doc__.split('\n\n')[1], file=sys.stderr)
        return 2
    network = I3d()
    fill(network)
    if len(sys.argv) == 3:
        torch.save(network.state_dict(), sys.argv[2])
        return 0
    write_distances(network)
    for case, shape in CASES.items():
        golden = rule.Golden(network, shape, {})
        for name, tensor in network.state_dict().items():
            if case == 'small' and not name.endswith('.num_batches_tracked'):
                golden.writer.add(f'parameter_shape.{name}', 'I32', list(tensor.shape))
        golden.compute(f'fvd/i3d-{case}.safetensors')
    return 0


if __name__ == '__main__':
    sys.exit(main())
