#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of which files that state a graph carry the weights: they give the same bits as from
.safetensors, and each file whose graph computes anything else is refused by one sentence.

usage: test-carriers.py VRT_INFER [onnx] [broken]
"""
import math
import struct
import sys
import unittest

from graph_files import Files, Onnx, field, pictures, safetensors
from refused_rife import (BROKEN_RIFE, BROKEN_RIFE_ONNX, RIFE, SAME_RIFE, SAME_RIFE_ONNX,
                          UNFIT)
from rife_files import Rife, RifeNcnn, RifeOnnx
from said import ATTRIBUTES, COMPUTED, MOVED, UNKNOWN, halved, whole
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
        rows = self.constant(f'{name}.rows', *rows, 'q') if rows else 0
        return self.made('Gather', self.floats([9, self.net.HEADS], table), rows)


def gathered(rows):
    return lambda: GatherSwinIr(SwinIr(), 'dynamo', rows=rows).data()


# What isn't SwinIR, and what the refusal says.
BROKEN_SWINIR = {
    'cut short': (lambda: swinir()()[:-60], 'cut short or damaged'),
    'another slope': (swinir(slope=0.1), 'its conv_hr '),
    'another slope of the tail': (swinir(tail_slope=0.2), 'its conv_last '),
    'another epsilon': (swinir(epsilon=1e-6), 'its patch_embed.norm '),
    'another epsilon, whole': (swinir('dynamo', epsilon=1e-6), 'its patch_embed.norm '),
    'another scale': (swinir(scale=0.5), f'its {BLOCK}0.attn '),
    'no GELU': (swinir(half=1.0), f'its {BLOCK}0.mlp.fc2 '),
    'another GELU': (swinir(root=2.0), f'its {BLOCK}0.mlp.fc1 '),
    'rolled further': (swinir(roll=2), f'its {BLOCK}1.attn '),
    'not rolled back': (swinir(back=1), f'its {BLOCK}1.norm2 '),
    'not rolled': (swinir(roll=None), f'its {BLOCK}1 '),
    'no mask': (swinir(masked=None), f'its {BLOCK}1.attn '),
    'no mask, though one is added': (swinir(masked=(0.0, 0.0)), f'its {BLOCK}1.attn '),
    'another mask': (swinir('dynamo', masked=(0.0, 1.0)), 'masks other places'),
    'a weaker mask': (swinir(masked=(0.0, -10.0)), 'masks other places'),
    'a mask the other way round': (swinir(masked=(-100.0, 0.0)), 'masks other places'),
    'a mask of another shift': (swinir(end=2), f'its {BLOCK}1.attn '),
    'a stored mask of another shift': (swinir('dynamo', end=2), f'its {BLOCK}1.attn '),
    'shares of queries': (swinir(axis=2), 'goes along axis 2'),
    'shares of heads': (swinir(axis=1), 'goes along axis 1'),
    'norms of places': (swinir(norm_axis=1), 'goes along axis 1'),
    'norms of places, whole': (swinir('dynamo', norm_axis=1), 'goes along axis 1'),
    'other parts': (swinir(parts=(1, 1, 2)), f'its {BLOCK}0.attn '),
    'keys for values': (swinir(parts=(0, 1, 1)), f'its {BLOCK}0.attn.proj '),
    'four parts': (swinir(parts=(0, 1, 3)), 'one of three parts'),
    'windows otherwise': (swinir(windows=(0, 1, 2, 3, 4, 5)), 'compares places otherwise'),
    'windows turned': (swinir(windows=(0, 1, 3, 4, 2, 5)), 'compares places otherwise'),
    'parts otherwise': (swinir(parted=(2, 0, 1, 3, 4)), 'compares places otherwise'),
    'features before parts': (swinir(parted=(3, 0, 2, 1, 4)), 'one of three parts'),
    'keys not turned': (swinir(turned=(0, 1, 2, 3)), UNFIT),
    'heads turned with places': (swinir(turned=(0, 3, 1, 2)), ''),
    'heads not joined': (swinir(joined=(0, 1, 2, 3)), 'another axis than SwinIR'),
    'places not turned': (swinir(tokens=(0, 1, 2)), ''),
    'another mean': (swinir(mean=(0.5, 0.5, 0.5)), 'mean and range'),
    'enlarged by 3': (swinir(factor=3.0), 'repeating samples twice'),
    'one more operation': (swinir(more='Tanh'), 'Tanh "Tanh_'),
    'one more product': (swinir(more='Softmax'), 'something else than pairs'),
    'bilinear': (edited(field(4, 'nearest'), field(4, 'linearX')), 'resizes otherwise'),
    'fewer biases': (other_tensor(BLOCK + '0.mlp.fc1.bias', lambda s, v: ([7], v[:7])),
                     UNFIT),
    'other features': (other_tensor('norm.weight', lambda s, v: ([2], v[:2])), ''),
    'not finite': (other_tensor('conv_first.bias', lambda s, v: (s, [math.nan] * s[0])),
                   'not finite'),
    'a bias of pairs': (other_tensor(BLOCK + '0.attn.relative_position_bias_table',
                                     lambda s, v: (s, [math.nan] + v[1:])), f'{BLOCK}0.attn '),
    'rows by no number': (gathered(([0], [])), UNFIT),
    'one row': (gathered(([], [3])), UNFIT),
    'rows that are not there': (gathered(([16], [9] * 16)), UNFIT),
    'rows alone': (gathered(([16], [0] * 16)), UNFIT),
    'pixels in another order': (lambda: to_pixels('DCR'), 'in another order'),
    'every second column': (lambda: sliced(2), UNFIT),
    'what is not there': (edited(field(1, 'm9'), field(1, 'n9')), 'reads "n9", which'),
    'an input of three axes': (swinir(open='chw'), "has an input that isn't a picture"),
    'a second output': (lambda: swinir()() + field(7, field(12, field(1, 'more'))),
                        'has several inputs or outputs; SwinIR has one of both'),
    'a second input': (lambda: swinir()() + field(7, field(11, field(1, 'more'))),
                       'has several inputs or outputs; SwinIR has one of both'),
    'a cube': (swinir(power=3.0), 'is no square'),
    'a tanh': (swinir('dynamo', gelu='tanh'), "is approximate, which SwinIR's isn't"),
    'products turned': (swinir('dynamo', gemm=[Onnx.attribute('transA', 2, 3, 1)]), PRODUCT),
    'products of half': (swinir('dynamo', gemm=[Onnx.attribute('alpha', 1, 2, 0.5)]), PRODUCT),
    'biases of half': (swinir('dynamo', gemm=[Onnx.attribute('beta', 1, 2, 0.5)]), PRODUCT),
    'an edge of zeros': (lambda: swinir('dynamo', missing=(0, 0, 1, 1))().replace(
        field(4, 'reflect'), field(4, 'constan')), 'pads otherwise'),
    'an edge on top': (swinir('dynamo', missing=(1, 0, 0, 1)), 'pads otherwise'),
    'an edge of two': (swinir('dynamo', missing=(0, 0, 0, 2)), "that pictures aren't padded"),
    'an edge that stays': (swinir('dynamo', missing=(0, 0, 1, 1), ended=lambda o, x: o.made(
        'Identity', f'm{o.n_made - 1}')), "has an output that isn't SwinIR's"),
    'twice an edge': (ended(lambda o, x: o.made('Pad', x, [0] * 8)), 'pads otherwise'),
    'cut off within': (ended(lambda o, x: o.made('Clip', x, o.number(0.1))),
                       'cuts off within 0 and 1'),
    'cut off below': (ended(lambda o, x: o.made('Clip', x, o.number(0.0), o.number(0.9))),
                      'cuts off within 0 and 1'),
    'cut off and more': (swinir(more='Clip', ended=lambda o, x: o.leaky(x, 0.5)), 'reads a part'),
    'of no picture': (ended(lambda o, x: o.made('Sub', o.number(1.0), x)), 'as its input 1'),
    'a sum of one': (ended(lambda o, x: o.made('Add', x)), "follow from the picture's size"),
    'divided by none': (ended(lambda o, x: o.made('Div', x)), 'no picture as its input 2'),
    'divided by itself': (ended(lambda o, x: o.made('Div', x, x)), 'else than a deviation'),
    'a part of it': (ended(lambda o, x: o.made('Slice', x, [1], [9], [3])), UNFIT_OUTPUT),
    'a part, convolved': (ended(lambda o, x: o.leaky(o.made('Slice', x, [1], [9], [3]), 0.5)),
                          'reads a part of a picture'),
    'a part of channels': (ended(lambda o, x: o.made('Slice', x, [1], [2], [1])), 'cuts pictures'),
    'other parts joined': (ended(lambda o, x: o.made('Concat', *[o.made(
        'Slice', x, [a], [b], [3]) for a, b in ((2, 99), (0, 1))], attributes=[o.int('axis', 3)])),
        'joins pictures'),
    'joined with itself': (ended(lambda o, x: o.made('Concat', x, x, attributes=[
        o.int('axis', 2)])), 'joins pictures'),
    'turned at the end': (ended(lambda o, x: o.transpose(x, 0, 1, 3, 2)), "isn't SwinIR's"),
    'turned, convolved': (ended(lambda o, x: o.made('Conv', o.transpose(x, 0, 1, 3, 2), *other_conv(
        o))), 'whose axes SwinIR has in another order'),
    'turned by default': (ended(lambda o, x: o.made('Transpose', x)), 'turns axes'),
    'taken apart': (ended(lambda o, x: o.reshape(x, 1, 3, 28, -1)), UNFIT_OUTPUT),
    'added, turned': (ended(lambda o, x: turned(o, o.reshape(x, 1, 3, 112, 2, 112))),
                      'samples that are in another order'),
    'an edge left out': (ended(lambda o, x: o.made('Conv', x, *other_conv(o))), 'keeps the size'),
    'a smaller edge': (ended(lambda o, x: o.made('Conv', x, *other_conv(o), attributes=[
        o.ints('pads', 0, 0, 0, 0)])), 'keeps the size'),
    'every second': (ended(lambda o, x: o.made('Conv', x, *other_conv(o), attributes=[
        o.ints('strides', 2, 2), o.ints('pads', 1, 1, 1, 1)])), 'keeps the size'),
    'a product of planes': (ended(lambda o, x: o.made('MatMul', x, o.floats(
        [1, 224, 1], [1.0] * 224))), "another axis than SwinIR's features"),
    'a bias of five': (other_tensor('conv_first.bias', lambda s, v: ([5], [0.0] * 5)),
                       'its conv_first'),
    'a kernel of one': (other_tensor('conv_hr.weight', lambda s, v: ([6, 6, 1, 1], v[:36])),
                        'its conv_hr'),
    'samples to 254': (lambda: SwinIrOnnx(SwinIr(range_=254)).data(), 'mean and range'),
}


def enlarged(*factors):
    return lambda o, x: o.made('Resize', x, '', o.floats([4], factors), attributes=[
        o.string('mode', 'nearest'), o.string('nearest_mode', 'floor'),
        o.string('coordinate_transformation_mode', 'asymmetric')])


def conv(*kernel, bias=True):
    """One more convolution."""
    return lambda o, x: o.made('Conv', x, o.floats([3, 3, *kernel], [0.0] * 9 * math.prod(kernel)),
                               *[o.floats([3], [0.0] * 3)] * bias, attributes=[o.ints(
                                   'pads', *[k // 2 for k in kernel * 2])])


def norm(*sizes):
    return lambda o, x: o.made('LayerNormalization', o.transpose(x, 0, 2, 3, 1),
                               *[o.floats([n], [1.0] * n) for n in sizes])


# The same with one more operation at its end, by what is said of that.
for part, more in {
        'its result': [conv(5, 5), conv(3, 3), lambda o, x: o.made('Sqrt', x), lambda o, x: o.made(
            'Sub', x, o.floats([3, 1, 1], [0.5] * 3))],
        'is no convolution that keeps the size': [conv(3, 1), conv(1, 3)],
        'has no constant as its input 3': [conv(3, 3, bias=False)],
        'has no constant weights and bias': [norm(3), norm(4, 3), norm(3, 4), norm(1, 1)],
        'resizes otherwise than by repeating samples twice': [
            enlarged(1.0, 1.0, 2.0, 1.0), enlarged(1.0, 1.0, 1.0, 2.0),
            enlarged(1.0, 2.0, 2.0, 2.0), enlarged(1.0, 1.0, 3.0, 3.0)],
        'goes along axis 0, not the last': [lambda o, x: o.made('ReduceMean', x, attributes=[
            o.ints('axes', 2, 3)])],
        'compares places otherwise': [lambda o, x: o.made(
            'MatMul', x, o.transpose(x, 0, 1, 3, 2))],
        UNFIT_OUTPUT: [lambda o, x: o.made('Slice', x, [0, 0], [112, 112], [2, 3])],
        }.items():
    for i, op in enumerate(more):
        BROKEN_SWINIR[f'{part}, {i}'] = ended(op), part


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


def to_pixels(mode):
    """Pixels of channels that come behind the result."""
    onnx = SwinIrOnnx(SwinIr())
    weight = onnx.floats([12, 3, 1, 1], [0.0] * 36)
    x = onnx.made('Conv', onnx.result, weight, onnx.floats([12], [0.0] * 12))
    onnx.result = onnx.made('DepthToSpace', x, attributes=[onnx.int('blocksize', 2),
                                                           onnx.string('mode', mode)])
    return onnx.data()


def other_conv(o):
    return o.floats([3, 3, 3, 3], [0.1] * 81), o.floats([3], [0.0] * 3)


def sliced(step):
    onnx = SwinIrOnnx(SwinIr())
    onnx.result = onnx.made('Slice', onnx.result, [0], [(1 << 63) - 1], [3], [step])
    return onnx.data()


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

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_rife_onnx(self):
        self.write('x.npy', pictures(2, 24, 40))
        for version, sizes in RIFE.items():
            net = Rife(**sizes)
            scales = {'scales': ','.join(map(str, net.scales))}
            wanted = self.result(self.write('a.safetensors', safetensors(net, scales)))
            made = {(version, style): RifeOnnx(net, style).data()
                    for style in ('three', 'padded', 'stored', 'two', 6, 7, 8, 11)}
            if net.n_made > 5:
                made['split'] = RifeOnnx(net, split=(4, 1, net.n_made - 5), neg=True).data()
            made['cut off'] = RifeOnnx(net, clip=(0.0, 1.0), more='Clip').data()
            self.make_same('onnx', wanted, made)
        wanted = self.result(self.write('a.safetensors', safetensors(Rife())))
        self.make_same('onnx', wanted, {k: make() for k, make in SAME_RIFE_ONNX.items()})

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_without_beta(self):
        """Residual factors may be in the weights."""
        self.write('x.npy', pictures(2, 24, 40))
        net = Rife()
        for name, (shape, values) in net.names.items():
            if name.endswith('.beta'):
                net.names[name] = shape, [1.0] * len(values)
        wanted = self.result(self.write('a.safetensors', safetensors(net)))
        self.make_same('onnx', wanted, {'in the weights': RifeOnnx(net, beta=False).data()})

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_rife_onnx(self):
        self.write('x.npy', pictures(2, 16, 16))
        self.refuse_each('onnx', BROKEN_RIFE_ONNX)

    def test_broken_rife(self):
        self.write('x.npy', pictures(2, 16, 16))
        self.refuse_each('ncnn', {name: (lambda make=make: make(RifeNcnn(Rife())), part)
                                  for name, (make, part) in BROKEN_RIFE.items()})

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_swinir(self):
        self.write('x.npy', pictures(1, 7, 10))
        wanted = self.result(self.write('a.safetensors', safetensors(SwinIr())))
        for style, opset in ('legacy', 16), ('dynamo', 20):
            self.make_same('onnx', wanted, {
                (style, *form): SwinIrOnnx(SwinIr(), style, form).data() for form in (
                    {}, {'kind': 'e'}, {'typed': True}, {'constants': True}, {'opset': opset})})

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_swinir_kinds(self):
        for name, kind in SWINIR.items():
            net = SwinIr(**kind)
            self.write('x.npy', pictures(1, 6, 8, net.channels))
            wanted = self.result(self.write('a.safetensors', safetensors(
                net, {'img_range': str(net.range)})))
            self.make_same('onnx', wanted, {
                (name, style, dims): SwinIrOnnx(net, style, open=dims).data()
                for style, dims in (('legacy', ''), ('legacy', 'nchw'), ('dynamo', ''))})

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
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

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
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
                 'an edge': {'missing': (0, 0, 1, 1)}, 'cut off': {'more': 'Clip'}}
        self.make_same('onnx', wanted, {name: SwinIrOnnx(SwinIr(), 'dynamo', **changes).data()
                                        for name, changes in ways.items()})
        self.refuse_each('onnx', {name: (swinir('dynamo', said={'conv_first.weight': how}), UNFIT)
                                  for name, how in UNKNOWN.items()})

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_swinir(self):
        self.write('x.npy', pictures(1, 4, 4))
        self.refuse_each('onnx', BROKEN_SWINIR)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_graph(self):
        self.write('x.npy', pictures(2, 16, 16))
        for x, whole in ('input', swinir()()), ('in0', RifeOnnx(Rife()).data()):
            self.refuse_each('onnx', {(part, x): (lambda more=more: whole + field(7, more(x)), part)
                                      for part, more in BROKEN_GRAPH.items()})

    def test_scales(self):
        """Of a checkpoint, the sizes that blocks look at pictures in may be told."""
        self.write('x.npy', pictures(2, 16, 16))
        for scales in '8,4,2', '8,4,2,1,1', '8,4,3,1', '4,8,2,1', '64,4,2,1', '0,0,0,0', 'x', '':
            with self.subTest(scales):
                self.refuse(self.write('a.safetensors', safetensors(Rife(), {'scales': scales})),
                            'metadata "scales"')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + (['-k', 'broken'] if 'broken' in sys.argv[2:] else []))
