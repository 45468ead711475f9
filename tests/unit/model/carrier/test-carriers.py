#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of which files that state a graph carry the weights: they give the same bits as from
.safetensors, and each file whose graph computes anything else is refused by one sentence.

usage: test-carriers.py VRT_INFER [onnx] [broken]
"""
import functools
import json
import math
import struct
import sys
import unittest

from graph_files import Files, Onnx, field, pictures, safetensors
from refused_rife import (BROKEN_RIFE, BROKEN_RIFE_ONNX, RIFE, SAME_RIFE, SAME_RIFE_ONNX,
                          UNFIT)
from rife_files import Rife, RifeNcnn, RifeOnnx
from said import ATTRIBUTES, COMPUTED, MOVED, UNKNOWN, halved, joined, whole
from swinir_files import SwinIr, SwinIrOnnx

HAS_ONNX = 'onnx' in sys.argv[2:]


# What there is of SwinIR.
SWINIR = {
    'to x4': {'factors': (2, 2)},
    'by pixels': {'tail': 'shuffle', 'factors': (2, 2)},
    'by pixels, to x3': {'tail': 'shuffle', 'factors': (3,)},
    'by pixels at once': {'tail': 'direct'},
    'as large': {'tail': 'same', 'range_': 255},
    'gray': {'tail': 'same', 'channels': 1},
    'three convolutions': {'n_convs': 3},
    'not normed first': {'is_normed': False},
}


def swinir(style='legacy', **changes):
    return lambda: SwinIrOnnx(SwinIr(), style, **changes).data()


def ended(more):
    return swinir(ended=more)


def turned(o, x):
    return o.made('Add', x, o.transpose(x, 0, 1, 4, 3, 2))


def other_tensor(name, change):
    """A tensor of another shape or with other numbers."""
    def made():
        net = SwinIr()
        net.names[name] = change(*net.names[name])
        return SwinIrOnnx(net).data()
    return made


def of_type(kind):
    """Of such numbers are said to be the pictures."""
    onnx = SwinIrOnnx(SwinIr())
    onnx.kind = kind
    return onnx.data()


def edited(old, new, style='legacy'):
    def made():
        data = SwinIrOnnx(SwinIr(), style).data()
        assert len(old) == len(new) and old in data
        return data.replace(old, new, 1)
    return made


BLOCK = 'layers.0.residual_group.blocks.'
UNFIT_OUTPUT = "has an output that isn't SwinIR's"
PRODUCT = 'no product with constant weights'


class GatherSwinIr(SwinIrOnnx):
    """Its biases of pairs are looked up in other ways."""

    def bias(self, name):
        table = self.net.names[f'{name}.relative_position_bias_table'][1]
        rows = self.changes['rows']
        if callable(rows):
            return rows(self)
        rows = self.constant(f'{name}.rows', *rows, 'q') if rows else 0
        return self.made('Gather', self.floats([9, self.net.HEADS], table), rows)


def gathered(rows):
    return lambda: GatherSwinIr(SwinIr(), 'dynamo', rows=rows).data()


# What isn't SwinIR, and what the refusal says.
BROKEN_SWINIR = [
    ('cut short or damaged', lambda: swinir()()[:-60]),
    ('its conv_hr ', swinir(slope=0.1)),
    ('its conv_last ', swinir(tail_slope=0.2)),
    ('its patch_embed.norm ', swinir(epsilon=1e-6), swinir('dynamo', epsilon=1e-6)),
    (f'its {BLOCK}0.attn ', swinir(scale=0.5), swinir(parts=(1, 1, 2))),
    (f'its {BLOCK}0.mlp.fc2 ', swinir(half=1.0)),
    (f'its {BLOCK}0.mlp.fc1 ', swinir(root=2.0)),
    (f'its {BLOCK}1.attn ', swinir(roll=2), swinir(masked=None), swinir(masked=(0.0, 0.0)),
     swinir(end=2), swinir('dynamo', end=2)),
    (f'its {BLOCK}1.norm2 ', swinir(back=1)),
    (f'its {BLOCK}1 ', swinir(roll=None)),
    ('masks other places', swinir('dynamo', masked=(0.0, 1.0)), swinir(masked=(0.0, -10.0)),
     swinir(masked=(-100.0, 0.0)), swinir('dynamo', masks=2)),
    ('adds other numbers than SwinIR', gathered(lambda o: o.floats([4, 4], [0.5] * 16)),
     gathered(lambda o: o.floats([6, 2, 4, 4], [0.5] * 192)),
     lambda: SwinIrOnnx(SwinIr(tail='direct'), 'dynamo', pixels=(0, 1, 4, 3, 5, 2)).data()),
    ('its result', lambda: SwinIrOnnx(SwinIr(tail='direct'), folded=True).data()),
    ('goes along axis 2', swinir(axis=2)),
    ('goes along axis 1', swinir(axis=1), swinir(norm_axis=1), swinir('dynamo', norm_axis=1)),
    (f'its {BLOCK}0.attn.proj ', swinir(parts=(0, 1, 1))),
    ('one of three parts', swinir(parts=(0, 1, 3)), swinir(parted=(3, 0, 2, 1, 4))),
    ('compares places otherwise', swinir(windows=(0, 1, 2, 3, 4, 5)),
     swinir(windows=(0, 1, 3, 4, 2, 5)), swinir(parted=(2, 0, 1, 3, 4))),
    (UNFIT, swinir(turned=(0, 1, 2, 3)),
     other_tensor(BLOCK + '0.mlp.fc1.bias', lambda s, v: ([7], v[:7])), gathered(([0], [])),
     gathered(([], [3])), gathered(([16], [9] * 16)), gathered(([16], [0] * 16))),
    ('', swinir(turned=(0, 3, 1, 2)), swinir(tokens=(0, 1, 2)),
     other_tensor('norm.weight', lambda s, v: ([2], v[:2]))),
    ('another axis than SwinIR', swinir(joined=(0, 1, 2, 3))),
    ('mean and range', swinir(mean=(0.5, 0.5, 0.5)), lambda: SwinIrOnnx(SwinIr(range_=254)).data()),
    ('repeating samples twice', swinir(factor=3.0)),
    ('Tanh "Tanh_', swinir(more='Tanh')),
    ('something else than pairs', swinir(more='Softmax')),
    ('resizes otherwise', *[edited(field(4, old), field(4, new)) for old, new in (
        ('nearest', 'linearX'), ('asymmetric', 'half_pixel'), ('floor', 'ceilX'))]),
    ('not finite', other_tensor('conv_first.bias', lambda s, v: (s, [math.nan] * s[0]))),
    (f'{BLOCK}0.attn ',
     other_tensor(BLOCK + '0.attn.relative_position_bias_table',
                  lambda s, v: (s, [math.nan] + v[1:]))),
    ('reads "n9", which', edited(field(1, 'm9'), field(1, 'n9'))),
    ("has an input that isn't a picture", swinir(open='chw'), swinir(open='nchwd'),
     lambda: of_type('q')),
    ('has several inputs or outputs; SwinIR has one of both',
     lambda: swinir()() + field(7, field(12, field(1, 'more'))),
     lambda: swinir()() + field(7, field(11, field(1, 'more')))),
    ('is no square', swinir(power=3.0)),
    ("is approximate, which SwinIR's isn't", swinir('dynamo', gelu='tanh')),
    (PRODUCT, swinir('dynamo', gemm=[Onnx.attribute('transA', 2, 3, 1)]),
     swinir('dynamo', gemm=[Onnx.attribute('alpha', 1, 2, 0.5)]),
     swinir('dynamo', gemm=[Onnx.attribute('beta', 1, 2, 0.5)])),
    ('pads otherwise',
     lambda: swinir('dynamo', missing=(0, 0, 1, 1))().replace(
        field(4, 'reflect'), field(4, 'constan')), swinir('dynamo', missing=(1, 0, 0, 1)),
     ended(lambda o, x: o.made('Pad', x, [0] * 8))),
    ("that pictures aren't padded", swinir('dynamo', missing=(0, 0, 0, 2))),
    ("has an output that isn't SwinIR's",
     swinir('dynamo', missing=(0, 0, 1, 1), ended=lambda o, x: o.made(
        'Identity', f'm{o.n_made - 1}'))),
    ('reads a part', swinir(more='Clip', ended=lambda o, x: o.leaky(x, 0.5))),
    ('its conv_first', other_tensor('conv_first.bias', lambda s, v: ([5], [0.0] * 5))),
    ('its conv_hr', other_tensor('conv_hr.weight', lambda s, v: ([6, 6, 1, 1], v[:36]))),
    ('joins pictures', lambda: SwinIrOnnx(SwinIr(tail='same'), ended=rolled(56, 56, 2)).data()),
]


def enlarged(*factors):
    return lambda o, x: o.enlarged(x, *factors)


def part(o, x, first, end, axis):
    return o.made('Slice', x, [first], [end], [axis])


def conv(*kernel, bias=True, **attributes):
    """One more convolution."""
    return lambda o, x: o.made('Conv', x, o.floats([3, 3, *kernel], [0.1] * 9 * math.prod(kernel)),
                               *[o.floats([3], [0.0] * 3)] * bias, attributes=[
                                   o.ints(k, *v) if isinstance(v, list) else o.string(k, v)
                                   for k, v in attributes.items()])


def norm(*sizes):
    return lambda o, x: o.made('LayerNormalization', o.transpose(x, 0, 2, 3, 1),
                               *[o.floats([n], [1.0] * n) for n in sizes])


def rolled(end, start, axis=3):
    """Columns from `start` on before those up to `end`, or above them."""
    return lambda o, x: o.made('Concat', o.made('Slice', x, [start], [999], [3]), o.made(
        'Slice', x, [0], [end], [3]), attributes=[o.int('axis', axis)])


def pixels(mode, *perm):
    """Pixels of channels that are made of a picture, and turned."""
    return lambda o, x: o.made('DepthToSpace', o.transpose(o.made(
        'Conv', x, o.floats([12, 3, 1, 1], [0.0] * 36), o.floats([12], [0.0] * 12)), *perm),
        attributes=[o.int('blocksize', 2), o.string('mode', mode)])


# The same with one more operation at its end.
BROKEN_SWINIR += [(part, *map(ended, more)) for part, *more in (
    ('cuts off within 0 and 1', lambda o, x: o.made('Clip', x, o.number(0.1)),
     lambda o, x: o.made('Clip', x, o.floats([2], [0.0, 0.0])),
     lambda o, x: o.made('Clip', x, o.number(0.0), o.number(0.9))),
    ('as its input 1', lambda o, x: o.made('Sub', o.number(1.0), x)),
    ("follow from the picture's size", lambda o, x: o.made('Add', x)),
    ('more operations than a network of attention has', lambda o, x: functools.reduce(
        lambda y, _: o.leaky(y, 0.5), range(8192), x)),
    ('no picture as its input 2', lambda o, x: o.made('Div', x)),
    ('else than a deviation', lambda o, x: o.made('Div', x, x)),
    (UNFIT_OUTPUT, lambda o, x: o.made('Slice', x, [1], [9], [3]),
     lambda o, x: o.reshape(x, 1, 3, 28, -1), rolled(64, 64), rolled(160, 160),
     lambda o, x: o.made('Slice', x, [0, 0], [112, 112], [2, 3])),
    ('reads a part of a picture', lambda o, x: o.leaky(o.made('Slice', x, [1], [9], [3]), 0.5)),
    (UNFIT, lambda o, x: o.made('Slice', x, [0], [99], [3], [2]),
     conv(3, pads=[1] * 4), conv(3, 65, pads=[1, 32] * 2), conv(65, 1, pads=[32, 0] * 2),
     *[conv(3, 3, **how) for how in (
         {'pads': [1, 1]}, *[{'pads': [n if k == i else 1 for k in range(4)]}
                             for n in (-1, 65) for i in range(4)],
         *[{'strides': n} for n in ([1], [0, 1], [1, 0], [65, 1], [1, 65])])],
     *[lambda o, x, to=to: conv(3, 3, pads=[1] * 4)(o, o.reshape(x, *to)) for to in (
         (3, 112, 224), (1, 3, 112, 224, 1), (1, 6, 56, 224))],
     *[lambda o, x, n=n: o.made('MatMul', x, o.floats([*n, 1], [1.0] * math.prod(n))) for n in (
         [223], [2, 224])], lambda o, x: o.made('MatMul', x, o.floats([224], [1.0] * 224)),
     *[lambda o, x, op=op: o.made(op, x) for op in ('MatMul', 'Gemm', 'Conv')],
     lambda o, x: o.made('Squeeze', x, [1]),
     *[lambda o, x, n=n: o.made('Gemm', o.reshape(x, *n[0]), o.floats(n[1], [
         1.0] * math.prod(n[1])), o.number(0.0)) for n in (
             ([1, 3, 112, 224], [224, 1]), ([-1, 224], [223, 1]), ([-1, 224], [1, 224, 1]))],
     *[lambda o, x, n=n: o.made('ReduceMean', x, attributes=[
         o.ints('axes', n[0]), o.int('keepdims', n[1])]) for n in ((3, 0), (4, 1))],
     *[lambda o, x, n=n: o.made('DepthToSpace', o.reshape(x, *n[1]), attributes=[
         o.int('blocksize', n[0])]) for n in (
             (0, [1, 3, 112, 224]), (2, [1, 3, 112, 224]), (1, [3, 112, 224]))],
     *[lambda o, x, n=n: o.made('Pad', x, n) for n in (
         [0] * 6, [0] * 7 + [-1], [0] * 3 + [-1] + [0] * 4)],
     *[lambda o, x, n=n: o.made('Resize', x, '', *n, attributes=[o.string('mode', 'nearest')])
       for n in (['', [1, 3, 224]], [[1, 1, 2, 2, 1]])],
     lambda o, x: o.made('Concat', x, o.reshape(x, 3, 112, 224), attributes=[o.int('axis', 2)]),
     lambda o, x: o.made('Add', x, o.floats([4, 1, 1], [0.5] * 4))),
    ('cuts pictures', lambda o, x: o.made('Slice', x, [1], [2], [1])),
    ('takes pictures apart', lambda o, x: o.reshape(x, 1, 224, 3, 112),
     lambda o, x: o.reshape(o.made('Slice', x, [1], [9], [3]), 1, 3, -1),
     lambda o, x: o.reshape(o.made('Clip', x), 1, 3, 224, 112)),
    ('joins pictures', rolled(1, 2), rolled(65, 65), rolled(159, 159),
     lambda o, x: joined(o, 3, *[
         part(o, joined(o, 2, part(o, x, n, 999, 2), part(o, x, 0, n, 2)), *ends, 3)
         for n, *ends in ((1, 1, 999), (2, 0, 1))]),
     lambda o, x: o.made('Concat', x, x, attributes=[o.int('axis', 2)])),
    ("isn't SwinIR's", lambda o, x: o.transpose(x, 0, 1, 3, 2)),
    ('whose axes SwinIR has in another order',
     lambda o, x: conv(3, 3)(o, o.transpose(x, 0, 1, 3, 2)), pixels('CRD', 0, 1, 3, 2)),
    ('turns axes', lambda o, x: o.made('Transpose', x),
     lambda o, x: o.transpose(o.made('Slice', x, [1], [9], [3]), 0, 1, 3, 2)),
    ('in another order than SwinIR', pixels('DCR', 0, 1, 2, 3)),
    ('samples that are in another order', lambda o, x: turned(o, o.reshape(x, 1, 3, 112, 2, 112))),
    ("another axis than SwinIR's features",
     lambda o, x: o.made('MatMul', x, o.floats([1, 224, 1], [1.0] * 224))),
    ('its result', conv(5, 5, pads=[2] * 4), conv(3, 3, pads=[1] * 4),
     lambda o, x: o.made('Sqrt', x), lambda o, x: o.made('Sub', x, o.floats([3, 1, 1], [0.5] * 3))),
    ('is no convolution that keeps the size', conv(3, 1, pads=[1, 0, 1, 0]),
     conv(1, 3, pads=[0, 1, 0, 1]), conv(3, 3), conv(3, 3, pads=[0] * 4),
     conv(3, 3, pads=[1] * 4, strides=[2, 2]), conv(3, 3, pads=[64] * 4, strides=[64, 64]),
     conv(3, 3, pads=[1] * 4, auto_pad='VALID'),
     lambda o, x: o.made('Conv', x, o.floats([3, 3, 1, 1], [0.1] * 9), o.floats([3], [0.0] * 3),
                         attributes=[o.int('group', 3)])),
    ('has no constant as its input 3', conv(3, 3, pads=[1] * 4, bias=False)),
    ('has no constant weights and bias', norm(3), norm(4, 3), norm(3, 4), norm(1, 1)),
    ('resizes otherwise than by repeating samples twice', enlarged(1.0, 1.0, 2.0, 1.0),
     enlarged(1.0, 1.0, 1.0, 2.0), enlarged(1.0, 2.0, 2.0, 2.0), enlarged(1.0, 1.0, 3.0, 3.0)),
    ('goes along axis 0, not the last',
     lambda o, x: o.made('ReduceMean', x, attributes=[o.ints('axes', 2, 3)])),
    ('compares places otherwise', lambda o, x: o.made('MatMul', x, o.transpose(x, 0, 1, 3, 2))))]


def node(op, *inputs, output='more'):
    return field(1, b''.join(field(1, x) for x in inputs) + field(2, output) * bool(output) +
                 field(4, op))


def tensor(name, kind, data):
    return field(5, field(1, 7) + field(2, kind) + field(8, name) + field(9, data))


# What no graph has that picture x comes into: it is told behind the whole.
BROKEN_GRAPH = {
    'reads "nothing", which no operation before it makes': lambda x: node('Add', x, 'nothing'),
    'Tanh "more" is an operation that ': lambda x: node('Tanh', x),
    UNFIT: lambda x: node('Add', x, 'x7') + tensor('x7', 1, bytes(28)),
    'Identity "again" makes what another': lambda x: node('Identity', x, output='again') * 2,
    'Tanh has no output': lambda x: node('Tanh', x, output=''),
    'Concat "more" has more than 16 inputs': lambda x: node('Concat', *[x] * 17),
    'tensor "more" holds 8 bit integers': lambda _: tensor('more', 3, bytes(7)),
    'tensor "k1" makes what another has made before': lambda _: tensor('k1', 1, bytes(28)),
}


class Carriers(Files):
    def test_rife(self):
        self.write('x.npy', pictures(2, 24, 40))
        for version, sizes in RIFE.items():
            net = Rife(**sizes)
            scales = ','.join(map(str, net.scales))
            wanted = self.result(self.write('a.safetensors', safetensors(
                net, {'scales': scales} if version == 'lite' else None)))
            self.make_same('ncnn', wanted, {
                (version, style, f16): RifeNcnn(net, style, f16).joined() for f16 in (False, True)
                for style in (('onnx', 'pnnx') if net.n_hints else ('onnx',))})

    def test_same_rife(self):
        self.write('x.npy', pictures(2, 24, 40))
        net = Rife(**RIFE['4.22'])
        wanted = self.result(self.write('a.safetensors', safetensors(net)))
        self.make_same('ncnn', wanted, {name: change(RifeNcnn(net, style))
                                        for name, (style, change) in SAME_RIFE.items()})

    def test_broken_rife(self):
        self.write('x.npy', pictures(2, 16, 16))
        self.refuse_each('ncnn', BROKEN_RIFE, lambda: RifeNcnn(Rife()))

    def test_scales(self):
        """Of a checkpoint, the sizes that blocks look at pictures in may be told."""
        self.write('x.npy', pictures(2, 16, 16))
        for scales in '8,4,2', '8,4,2,1,1', '8,4,3,1', '4,8,2,1', '64,4,2,1', '0,0,0,0', 'x', '':
            with self.subTest(scales):
                self.refuse(self.write('a.safetensors', safetensors(Rife(), {'scales': scales})),
                            'metadata "scales"')


@unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
class OnnxCarriers(Files):
    def test_rife_onnx(self):
        self.write('x.npy', pictures(2, 24, 40))
        for version, sizes in RIFE.items():
            net = Rife(**sizes)
            scales = {'scales': ','.join(map(str, net.scales))}
            wanted = self.result(self.write('a.safetensors', safetensors(net, scales)))
            # What comes in has nothing to do with the version, but for how it is padded.
            more = ('stored', 'two', 6, 7, 8, 11) if version == '4.22' else ()
            made = {(version, style): RifeOnnx(net, style).data()
                    for style in ('three', 'padded', *more)}
            if net.n_made > 5:
                made['split'] = RifeOnnx(net, split=(4, 1, net.n_made - 5), neg=True).data()
            made['cut off'] = RifeOnnx(net, clip=(0.0, 1.0), more='Clip').data()
            self.make_same('onnx', wanted, made)
        wanted = self.result(self.write('a.safetensors', safetensors(Rife())))
        self.make_same('onnx', wanted, {k: make() for k, make in SAME_RIFE_ONNX.items()})

    def test_without_beta(self):
        """Residual factors may be in the weights."""
        self.write('x.npy', pictures(2, 24, 40))
        net = Rife()
        for name, (shape, values) in net.names.items():
            if name.endswith('.beta'):
                net.names[name] = shape, [1.0] * len(values)
        wanted = self.result(self.write('a.safetensors', safetensors(net)))
        self.make_same('onnx', wanted, {'in the weights': RifeOnnx(net, beta=False).data()})

    def test_broken_rife_onnx(self):
        self.write('x.npy', pictures(2, 16, 16))
        self.refuse_each('onnx', BROKEN_RIFE_ONNX)

    def test_swinir(self):
        self.write('x.npy', pictures(1, 7, 10))
        wanted = self.result(self.write('a.safetensors', safetensors(SwinIr())))
        for style, opset in ('legacy', 16), ('dynamo', 20):
            self.make_same('onnx', wanted, {
                (style, *form): SwinIrOnnx(SwinIr(), style, form).data() for form in (
                    {}, {'kind': 'e'}, {'typed': True}, {'constants': True}, {'opset': opset})})
        self.make_same('onnx', wanted, {'bf16': of_type('b'), 'channels left open': SwinIrOnnx(
            SwinIr(), form={'constants': True}, open='nchw').data()})

    def test_swinir_kinds(self):
        for name, kind in SWINIR.items():
            net = SwinIr(**kind)
            self.write('x.npy', pictures(1, 6, 8, net.channels))
            wanted = self.result(self.write('a.safetensors', safetensors(
                net, {'img_range': str(net.range)})), '--json')
            told = json.loads(self.said)
            more = 'gray, ' * (net.channels == 1) + 'samples to 255, ' * (net.range == 255)
            self.assertEqual((told['description'], told['radius']), (
                f'SwinIR, 4 features, 2 groups of 1 blocks, windows of 2, {more}'
                f'x{told["output_shape"][2] // 6}', 16))
            self.make_same('onnx', wanted, {
                (name, style, dims): SwinIrOnnx(net, style, open=dims).data()
                for style, dims in (('legacy', ''), ('legacy', 'nchw'), ('dynamo', ''))})

    def test_folded_mean(self):
        """What is added at the end may be in the last convolution."""
        self.write('x.npy', pictures(1, 6, 8))
        net = SwinIr()
        wanted = self.result(self.write('a.safetensors', safetensors(net)))
        shape, bias = net.names['conv_last.bias']
        net.names['conv_last.bias'] = shape, [a + b for a, b in zip(bias, SwinIrOnnx.MEAN)]
        got = self.result(self.write('a.onnx', SwinIrOnnx(net, folded=True).data()))
        n = len(wanted) // 4 - 32
        for a, b in zip(*[struct.unpack(f'<{n}f', data[-4 * n:]) for data in (got, wanted)]):
            self.assertLess(abs(a - b), 1e-6)

    def test_said_otherwise(self):
        """What is the same network, in other operations."""
        self.write('x.npy', pictures(1, 6, 8))
        wanted = self.result(self.write('a.safetensors', safetensors(SwinIr())))
        ways = {name: {'said': {weight: how}} for name, (weight, how) in ATTRIBUTES.items()}
        for name, how in COMPUTED.items():
            ways[name] = {'said': {'conv_first.weight': how}}
        for name, move in MOVED.items():
            for way in whole, halved:
                ways[f'{way.__name__}: {name}'] = {'said': {
                    'conv_first.weight': lambda o, x, way=way, move=move: way(o, x, move)}}
        ways |= {'products': {'gemm': []}, 'GELU': {'gelu': 'none'},
                 'an edge': {'missing': (0, 0, 1, 1)}, 'cut off': {'more': 'Clip'},
                 'doubled and halved': {'ended': lambda o, x: o.made('Sub', o.made('Mul', o.made(
                     'Add', o.made('Mul', x, o.number(2.0)), o.number(0.5)), o.number(0.5)),
                                                                     o.number(0.25))},
                 'axes from the first on': {'axis': 3, 'norm_axis': 2}}
        self.make_same('onnx', wanted, {name: SwinIrOnnx(SwinIr(), 'dynamo', **changes).data()
                                        for name, changes in ways.items()})
        self.refuse_each('onnx', [(UNFIT, swinir('dynamo', said={'conv_first.weight': how}))
                                  for how in UNKNOWN.values()])

    def test_broken_swinir(self):
        self.write('x.npy', pictures(1, 4, 4))
        self.refuse_each('onnx', BROKEN_SWINIR)

    def test_broken_graph(self):
        self.write('x.npy', pictures(2, 16, 16))
        for x, whole in ('input', swinir()()), ('in0', RifeOnnx(Rife()).data()):
            self.refuse_each('onnx', [(part, lambda more=more, x=x, whole=whole: whole + field(
                7, more(x))) for part, more in BROKEN_GRAPH.items()])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + (['-k', 'broken'] if 'broken' in sys.argv[2:] else []))
