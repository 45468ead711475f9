# SPDX-License-Identifier: MIT
"""Networks as files of each kind, made without any package: .safetensors by the names that a known
network has, ncnn's .param and .bin, and ONNX.

A Net is a list of operations on values, each a number; weights follow from a seed, so that all the
files of one network hold the same ones.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

NCNN_F16 = struct.pack('<I', 0x01306B47)
NCNN_F32 = struct.pack('<I', 0)


def packed(values, kind='f'):
    return struct.pack(f'<{len(values)}{kind}', *values)


def samples(n):
    return [(i * 37 % 101) / 101 for i in range(n)]


def pictures(n, height, width, channels=3, values=None):
    """An array of them, as .npy."""
    text = (f"{{'descr': '<f4', 'fortran_order': False, 'shape': {(n, channels, height, width)}, "
            '}\n').encode()
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(text)) + text +
            packed(values or samples(n * channels * height * width)))


class Files(unittest.TestCase):
    """What vrt-infer, the first argument, makes of x.npy by files of networks."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)
        return self.path(name)

    def infer(self, model, *args):
        return subprocess.run([sys.argv[1], '--model', model, '--input', self.path('x.npy'),
                               '--output', self.path('y.npy'), '--device', 'ref', *args],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, 'LC_ALL': 'C'})

    def result(self, model, *args):
        done = self.infer(model, *args)
        self.said = done.stdout
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path('y.npy'), 'rb') as f:
            return f.read()

    def refuse(self, model, part):
        done = self.infer(model)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)
        self.assertIn(part, done.stderr)

    def make_same(self, kind, wanted, made):
        """Each of `made`, the bytes of a file by its name, gives `wanted`."""
        for name, data in made.items():
            with self.subTest(name):
                self.assertTrue(self.result(self.write(f'a.{kind}', data)) == wanted)

    def refuse_each(self, kind, broken, *made):
        """Of each, a part of what is said, and what make the bytes of files, each of a new one of
        `made` if that is given."""
        for part, *makes in broken:
            for i, make in enumerate(makes):
                with self.subTest(part, i=i):
                    data = make(*[new() for new in made])
                    self.refuse(self.write(f'b.{kind}', data), part)


class Net:
    def __init__(self, channels=3, seed=1):
        self.random = random.Random(seed)
        self.ops = []                   # (kind, inputs, attributes, tensors)
        self.channels = []
        self.n_used = []
        self.names = {}                 # of .safetensors: name -> (shape, values)
        self.add_op('input', [], channels)

    def add_op(self, kind, inputs, channels, **attributes):
        for x in inputs:
            self.n_used[x] += 1
        self.ops.append((kind, inputs, attributes))
        self.channels.append(channels)
        self.n_used.append(0)
        return len(self.ops) - 1

    def tensor(self, name, shape, scale):
        n = 1
        for extent in shape:
            n *= extent
        # Numbers that f16 holds exactly, so that files of it have the same weights.
        values = [round(self.random.uniform(-scale, scale) * 1024) / 1024 for _ in range(n)]
        self.names[name] = (shape, values)
        return values

    def conv(self, x, name, channels, kernel=3, active=None):
        """With what ncnn does in one go: "relu", "sigmoid", or a slope."""
        n_in = self.channels[x]
        return self.add_op(
            'conv', [x], channels, kernel=kernel, n_in=n_in, active=active,
            weight=self.tensor(f'{name}.weight', [channels, n_in, kernel, kernel],
                               (2 / (n_in * kernel * kernel)) ** 0.5),
            bias=self.tensor(f'{name}.bias', [channels], 0.1))

    def prelu(self, x, name, n=None):
        n = n or self.channels[x]
        return self.add_op('prelu', [x], self.channels[x],
                           slopes=self.tensor(f'{name}.weight', [n], 0.5))

    def leaky(self, x, slope):
        return self.add_op('leaky', [x], self.channels[x], slope=slope)

    def alone(self, kind, x, **attributes):
        return self.add_op(kind, [x], self.channels[x], **attributes)

    def sigmoid(self, x):
        return self.alone('sigmoid', x)

    def binary(self, kind, a, b):
        return self.add_op(kind, [a, b], self.channels[a])

    def sum(self, inputs, factors):
        return self.add_op('sum', inputs, self.channels[inputs[0]], factors=factors)

    def with_number(self, kind, a, number, first=False):
        """A list has one a channel. It comes first: what is subtracted or divided is the value."""
        return self.alone(kind, a, number=number, first=first)

    def concat(self, inputs):
        return self.add_op('concat', inputs, sum(self.channels[x] for x in inputs))

    def shuffle(self, x, r, planar=False, apart=False):
        return self.add_op('shuffle', [x], self.channels[x] // (r * r), r=r, planar=planar,
                           apart=apart)

    def unshuffle(self, x, r, planar=False):
        return self.add_op('unshuffle', [x], self.channels[x] * r * r, r=r, planar=planar)

    def resize(self, x, factor, mode='nearest', **how):
        return self.alone('resize', x, factor=factor, mode=mode, **how)


def compact(features=12, n_convs=2, scale=2, channels=3):
    """SRVGGNetCompact."""
    net = Net(channels)
    x = 0
    for i in range(n_convs + 1):
        x = net.prelu(net.conv(x, f'body.{2 * i}', features), f'body.{2 * i + 1}')
    x = net.conv(x, f'body.{2 * n_convs + 2}', channels * scale * scale)
    net.binary('add', net.shuffle(x, scale), net.resize(0, scale))
    return net


def esrgan(features=8, growth=4, n_blocks=2, n_up=1, unshuffle=1):
    """RRDBNet."""
    net = Net(3)
    x = net.unshuffle(0, unshuffle) if unshuffle > 1 else 0
    first = trunk = net.conv(x, 'conv_first', features)
    for block in range(n_blocks):
        entered = trunk
        for dense in range(1, 4):
            parts = [trunk]
            for i in range(1, 5):
                y = net.concat(list(parts)) if i > 1 else trunk
                name = f'body.{block}.rdb{dense}.conv{i}'
                parts.append(net.leaky(net.conv(y, name, growth), 0.2))
            y = net.conv(net.concat(parts), f'body.{block}.rdb{dense}.conv5', features)
            trunk = net.binary('add', net.with_number('mul', y, 0.2), trunk)
        trunk = net.binary('add', net.with_number('mul', trunk, 0.2), entered)
    x = net.binary('add', first, net.conv(trunk, 'conv_body', features))
    for i in range(1, n_up + 1):
        x = net.leaky(net.conv(net.resize(x, 2), f'conv_up{i}', features), 0.2)
    x = net.leaky(net.conv(x, 'conv_hr', features), 0.2)
    net.conv(x, 'conv_last', 3)
    return net


def span(features=8, n_blocks=3, scale=2):
    """What SPAN is once its convolutions are joined; .safetensors hold them as they were trained,
    so that this has no names to compare with."""
    net = Net(3)
    x = net.with_number('mul', net.with_number('sub', 0, 0.4375), 255)
    x = first = net.conv(x, 'first', features)
    seen = []
    for i in range(n_blocks):
        y = x
        for k in range(3):
            y = net.conv(y, f'block_{i}.{k}', features)
            if k < 2:
                y = net.binary('mul', y, net.sigmoid(y))
        seen.append(y)
        y = net.binary('mul', net.binary('add', y, x),
                       net.with_number('sub', net.sigmoid(y), 0.5))
        x = y
        seen.append(x)
    body = net.conv(x, 'last', features)
    x = net.conv(net.concat([first, body, seen[1], seen[-2]]), 'cat', features, 1)
    net.shuffle(net.conv(x, 'upsampler', 3 * scale * scale), scale)
    return net


def safetensors(net, metadata=None):
    header, data = {'__metadata__': metadata} if metadata else {}, b''
    for name, (shape, values) in net.names.items():
        part = packed(values)
        header[name] = {'dtype': 'F32', 'shape': shape,
                        'data_offsets': [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + data


class Ncnn:
    """The text and the weights of a network."""

    ARITHMETIC = {'add': 0, 'sub': 1, 'mul': 2, 'div': 3}
    ELTWISE = {'add': '0=1 -23301=2,1.0,1.0', 'mul': '0=0'}

    def __init__(self, net, f16=False, eltwise=False):
        self.lines, self.n_blobs, self.weights = [], 0, b''
        self.f16 = f16
        self.eltwise = eltwise
        self.left = {}                  # of values that several read: blobs that nobody reads yet
        for value, op in enumerate(net.ops):
            self.add(net, value, *op)
        self.text = '\n'.join(['7767517', f'{len(self.lines)} {self.n_blobs}'] + self.lines) + '\n'

    def line(self, kind, name, inputs, outputs, params=''):
        self.lines.append(f'{kind:<24} {name} {len(inputs)} {len(outputs)} '
                          f'{" ".join(inputs + outputs)} {params}'.rstrip())
        self.n_blobs += len(outputs)

    def tagged(self, values):
        data = NCNN_F16 + packed(values, 'e') if self.f16 else NCNN_F32 + packed(values)
        return data + bytes(-len(data) % 4)

    def memory(self, values):
        name = f'memory_{len(self.lines)}'
        self.line('MemoryData', name, [], [name], f'0={len(values)}')
        self.weights += packed(values)
        return name

    def add(self, net, value, kind, inputs, a):
        names = [self.left[x].pop() for x in inputs]
        n_uses = net.n_used[value]
        out = f'v{value}' if value else 'data'
        types = {'input': 'Input', 'conv': 'Convolution', 'prelu': 'PReLU', 'leaky': 'ReLU',
                 'sigmoid': 'Sigmoid', 'concat': 'Concat', 'shuffle': 'PixelShuffle',
                 'unshuffle': 'Reorg', 'resize': 'Interp', 'relu': 'ReLU', 'tanh': 'TanH',
                 'swish': 'Swish', 'clip': 'Clip', 'same': 'Noop', 'sum': 'Eltwise'}
        params = ''
        if kind == 'conv':
            k = a['kernel']
            params = (f'0={net.channels[value]} 1={k} 4={k // 2} 5=1 '
                      f'6={len(a["weight"])}')
            if a['active'] is not None:
                params += {'relu': ' 9=1', 'sigmoid': ' 9=4'}.get(
                    a['active'], f' 9=2 -23310=1,{a["active"]}')
            self.weights += self.tagged(a['weight']) + packed(a['bias'])
        elif kind == 'prelu':
            params = f'0={len(a["slopes"])}'
            self.weights += packed(a['slopes'])
        elif kind == 'leaky':
            params = f'0={a["slope"]:e}'
        elif kind in ('shuffle', 'unshuffle'):
            params = f'0={a["r"]}' + ' 1=1' * a['planar']
        elif kind == 'clip':
            params = '0={} 1={}'.format(*a['limits'])
        elif kind == 'sum':
            params = f'0=1 -23301={len(names)},' + ','.join(f'{v:e}' for v in a['factors'])
        elif kind == 'norm':
            scale, bias, mean, variance = a['learned']
            factors = [s / math.sqrt(v + 1e-5) for s, v in zip(scale, variance)]
            names.append(self.memory(factors))
            self.line('BinaryOp', f'{kind}_{value}_a', names, [out + 'a'], '0=2')
            names = [out + 'a', self.memory([b - m * f for b, m, f in zip(bias, mean, factors)])]
        elif kind == 'resize':
            mode = {'nearest': 1, 'linear': 2, 'cubic': 3}[a['mode']]
            params = f'0={mode} 1={a["factor"]:e} 2={a["factor"]:e}'
        elif self.eltwise and kind in self.ELTWISE and 'number' not in a:
            types[kind], params = 'Eltwise', self.ELTWISE[kind]
        elif kind in self.ARITHMETIC:
            number, reverse = a.get('number'), a.get('first')
            params = f'0={self.ARITHMETIC[kind]}'
            if isinstance(number, list):
                names.append(self.memory(number))
                names = names[::-1] if reverse else names
            elif number is not None:
                params = (f'0={({"sub": 7, "div": 8} if reverse else self.ARITHMETIC)[kind]} 1=1 '
                          f'2={number:e}')
        self.line(types.get(kind, 'BinaryOp'), f'{kind}_{value}', names, [out], params)
        self.left[value] = [out]
        if n_uses > 1:
            self.left[value] = [f'{out}_{i}' for i in range(n_uses)]
            self.line('Split', f'split_{value}', [out], self.left[value])

    def joined(self):
        return self.text.encode() + self.weights


def varint(n):
    out = b''
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """One field of a message of protocol buffers: a number, a float, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack('<f', value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


class Onnx:
    """A ModelProto: its parts can be changed before it is put together."""

    TYPES = {'f': 1, 'e': 10, 'q': 7, 'b': 16}

    def __init__(self, net, kind='f', opset=17, typed=False, size=None, constants=False, edge=None):
        """With an edge, (STYLE, MULTIPLES, SCALE), it mirrors pictures to multiples, by rows and
        columns, and cuts what it makes of them, as PyTorch writes it, "legacy" or "dynamo"."""
        self.kind, self.opset, self.typed, self.constants = kind, opset, typed, constants
        self.nodes, self.initializers, self.more = [], [], b''
        self.size, self.has_edge, self.n_made = size, bool(edge), 0
        self.channels = net.channels[0]
        if edge:
            self.pad(*edge)
        for value, op in enumerate(net.ops):
            if value:
                self.add(net, value, *op)
        self.result = f'v{len(net.ops) - 1}'
        if edge:
            self.cut(*edge)

    def tensor(self, name, shape, values, kind=None):
        kind = kind or self.kind
        out = b''.join(field(1, extent) for extent in shape)
        out += field(2, self.TYPES[kind]) + field(8, name)
        if not self.typed:
            return out + field(9, packed(values, kind))
        if kind == 'f':
            return out + field(4, packed(values))
        if kind == 'q':
            return out + field(7, b''.join(varint(v) for v in values))
        return out + field(5, b''.join(varint(struct.unpack('<H', struct.pack('<e', v))[0])
                                       for v in values))

    def constant(self, name, shape, values, kind=None):
        tensor = self.tensor(name, shape, values, kind)
        if self.constants:
            self.node('Constant', [], [name], [self.attribute('value', 4, 5, tensor)])
        else:
            self.initializers.append(tensor)
        return name

    @staticmethod
    def attribute(name, kind, number, *values):
        return field(1, name) + b''.join(field(number, v) for v in values) + field(20, kind)

    def node(self, op, inputs, outputs, attributes=()):
        self.nodes.append(b''.join(field(1, x) for x in inputs) +
                          b''.join(field(2, y) for y in outputs) +
                          field(3, f'{op}_{len(self.nodes)}') + field(4, op) +
                          b''.join(field(5, a) for a in attributes))

    def made(self, op, *inputs, attributes=()):
        """The name of what it makes; a list among the inputs is a constant, a number a single."""
        self.n_made += 1
        names = []
        for k, x in enumerate(inputs):
            if not isinstance(x, str):
                shape, values = ([len(x)], x) if isinstance(x, list) else ([], [x])
                x = self.constant(f'm{self.n_made}_{k}', shape, values, 'q')
            names.append(x)
        self.node(op, names, [f'm{self.n_made}'], attributes)
        return f'm{self.n_made}'

    def extent(self, style, axis):
        """Of the input: a single number."""
        if style == 'legacy':
            return self.made('Gather', self.made('Shape', 'input'), axis,
                             attributes=[self.int('axis', 0)])
        return self.made('Squeeze', self.made('Shape', 'input', attributes=[
            self.int('start', axis), self.int('end', axis + 1)]))

    def pad(self, style, multiples, _):
        missing = []
        for axis, multiple in (3, multiples[1]), (2, multiples[0]):
            left = self.made('Mod', self.extent(style, axis), multiple)
            left = (self.made('Sub', multiple, left) if style == 'legacy' else
                    self.made('Add', multiple, self.made('Mul', -1, left)))
            left = self.made('Mod', left, multiple)
            missing.append(self.made('Unsqueeze', left, [0]) if style == 'legacy' else
                           self.made('Reshape', left, [-1]))
        joined = [self.int('axis', 0)]
        if style == 'dynamo':
            pads = self.made('Concat', *[[0]] * 6, missing[1], missing[0], attributes=joined)
        else:
            # Pairs from the last axis on, turned round.
            pads = self.made('Concat', [0], missing[0], [0], missing[1], attributes=joined)
            n = self.made('Sub', 8, self.made('Gather', self.made('Shape', pads), [0],
                                              attributes=joined))
            pads = self.made('Concat', self.made('Cast', pads, attributes=[self.int('to', 7)]),
                             self.made('ConstantOfShape', n), attributes=joined)
            pads = self.made('Slice', self.made('Reshape', pads, [-1, 2]), [-1], [1 - (1 << 63)],
                             [0], [-1])
            pads = self.made('Reshape', self.made('Transpose', pads, attributes=[
                self.ints('perm', 1, 0)]), [-1])
        self.node('Pad', ['input', pads], ['padded'], [self.string('mode', 'reflect')])

    def cut(self, style, _, scale):
        for axis in (2, 3):
            end = self.made('Mul', self.extent(style, axis), scale)
            end = (self.made('Unsqueeze', end, [0]) if style == 'legacy' else
                   self.made('Reshape', end, [-1]))
            self.result = self.made('Slice', self.result, [0], end,
                                    [axis if style == 'legacy' else axis - 4], [1])

    def ints(self, name, *values):
        return self.attribute(name, 7, 8, *values)

    def int(self, name, value):
        return self.attribute(name, 2, 3, value)

    def string(self, name, value):
        return self.attribute(name, 3, 4, value)

    def add(self, net, value, kind, inputs, a):
        first = 'padded' if self.has_edge else 'input'
        names = [f'v{x}' if x else first for x in inputs]
        out, here = [f'v{value}'], f'c{value}'
        if kind == 'conv':
            k = a['kernel']
            names += [self.constant(here + 'w', [net.channels[value], a['n_in'], k, k],
                                    a['weight']),
                      self.constant(here + 'b', [net.channels[value]], a['bias'])]
            active = a['active']
            self.node('Conv', names, out if active is None else [here + 'a'], [
                self.ints('kernel_shape', k, k), self.ints('pads', *[k // 2] * 4),
                self.ints('strides', 1, 1), self.int('group', 1)])
            if isinstance(active, float):
                self.node('LeakyRelu', [here + 'a'], out, [self.attribute('alpha', 1, 2, active)])
            elif active:
                self.node(active.capitalize(), [here + 'a'], out)
        elif kind == 'prelu':
            self.node('PRelu', names + [self.constant(here, [len(a['slopes']), 1, 1],
                                                      a['slopes'])], out)
        elif kind == 'leaky':
            self.node('LeakyRelu', names, out, [self.attribute('alpha', 1, 2, a['slope'])])
        elif kind in ('relu', 'sigmoid', 'tanh', 'same'):
            self.node('Identity' if kind == 'same' else kind.capitalize(), names, out)
        elif kind == 'swish':
            self.node('Mul', names + [self.made('Sigmoid', *names)], out)
        elif kind == 'clip':
            self.node('Clip', names + [self.constant(here + side, [], [limit]) for side, limit in
                                       zip('ab', a['limits'])], out)
        elif kind == 'norm':
            self.node('BatchNormalization', names + [
                self.constant(f'{here}{i}', [len(values)], values)
                for i, values in enumerate(a['learned'])], out)
        elif kind == 'sum':
            names = [self.made('Mul', x, self.constant(f'{here}{i}', [], [factor]))
                     for i, (x, factor) in enumerate(zip(names, a['factors']))]
            while len(names) > 2:
                names[:2] = [self.made('Add', *names[:2])]
            self.node('Add', names, out)
        elif kind == 'concat':
            self.node('Concat', names, out, [self.int('axis', 1)])
        elif kind == 'shuffle' and a['apart']:
            c, r, (h, w) = net.channels[value], a['r'], self.size or (12, 8)
            x = self.made('Transpose', self.made('Reshape', *names, [1, c, r, r, h, w]),
                          attributes=[self.ints('perm', 0, 1, 4, 2, 5, 3)])
            self.node('Reshape', [x, self.constant(here, [4], [1, c, h * r, w * r], 'q')], out)
        elif kind == 'shuffle':
            self.node('DepthToSpace', names, out, [self.int('blocksize', a['r']),
                                                   self.string('mode', 'DCR' if a['planar'] else
                                                               'CRD')])
        elif kind == 'unshuffle' and a['planar']:
            self.node('SpaceToDepth', names, out, [self.int('blocksize', a['r'])])
        elif kind == 'unshuffle':
            self.unshuffle(net, value, names, out, a['r'])
        elif kind == 'resize':
            scales = self.constant(here, [4], [1.0, 1.0, float(a['factor']), float(a['factor'])],
                                   'f')
            modes = [self.string('mode', a['mode'])]
            if a['mode'] == 'nearest':
                modes += [self.string('coordinate_transformation_mode',
                                      a.get('where', 'asymmetric')),
                          self.string('nearest_mode', a.get('how', 'floor'))]
            elif a['mode'] == 'cubic':
                modes += [self.attribute('cubic_coeff_a', 1, 2, -0.75)]
            self.node('Resize', names + ['', scales], out, modes)
        else:
            if 'number' in a:
                number = a['number']
                names.append(self.constant(here, [len(number), 1, 1], number)
                             if isinstance(number, list) else self.constant(here, [], [number]))
            self.node(kind.capitalize(), names[::-1] if a.get('first') else names, out)

    def unshuffle(self, net, value, names, out, r):
        """As PyTorch writes it: the numbers are those of the picture that it was run with, or are
        left open."""
        here = f'c{value}'
        if not self.size:
            x = self.made('Unsqueeze', names[0], [3])
            x = self.made('Reshape', self.made('Reshape', x, [0, 0, -1, r, 0]),
                          [0, 0, 0, 0, -1, r])
            x = self.made('Transpose', x, attributes=[self.ints('perm', 0, 1, 3, 5, 2, 4)])
            x = self.made('Reshape', x, [0, -1, 1, 1, 0, 0])
            self.node('Squeeze', [x, self.constant(here, [2], [2, 3], 'q')], out)
            return
        h, w = self.size
        c = net.channels[value] // (r * r)
        self.node('Reshape', names + [self.constant(here + 'a', [6], [1, c, h // r, r, w // r, r],
                                                    'q')], [here + 'x'])
        self.node('Transpose', [here + 'x'], [here + 'y'], [self.ints('perm', 0, 1, 3, 5, 2, 4)])
        self.node('Reshape', [here + 'y', self.constant(
            here + 'b', [4], [1, c * r * r, h // r, w // r], 'q')], out)

    def value_info(self, name, channels):
        size = self.size if self.size and not self.has_edge else ('h', 'w')
        dims = [field(2 if isinstance(n, str) else 1, n) for n in (1, channels, *size)]
        shape = b''.join(field(1, dim) for dim in dims)
        # Old exporters may tell the type alone.
        return field(1, name) + field(2, field(1, field(1, self.TYPES[self.kind]) + (
            field(2, shape) if self.opset > 11 else b'')))

    def data(self):
        graph = (b''.join(field(1, n) for n in self.nodes) + field(2, 'graph') +
                 b''.join(field(5, t) for t in self.initializers) +
                 field(11, self.value_info('input', self.channels)) +
                 field(12, self.value_info(self.result, self.channels)) + self.more)
        return (field(1, 8) + field(2, 'test') + field(7, graph) +
                field(8, field(1, '') + field(2, self.opset)))
