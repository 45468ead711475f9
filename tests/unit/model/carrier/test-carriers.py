#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of which files that state a graph carry the weights: they give the same bits as from
.safetensors, and each file whose graph computes anything else is refused by one sentence.

usage: test-carriers.py VRT_INFER [onnx] [broken]
"""
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest

from graph_files import NCNN_F32, Onnx, field, packed, safetensors
from rife_files import Rife, RifeNcnn, RifeOnnx
from said import ATTRIBUTES, COMPUTED, MOVED, UNKNOWN, halved, whole
from swinir_files import SwinIr, SwinIrOnnx

PROGRAM, HAS_ONNX = sys.argv[1], 'onnx' in sys.argv[2:]

# What is there of RIFE: four blocks and five, with hints and without, 4.25.lite as it is exported.
RIFE = {
    '4.18': {},
    '4.22': {'n_made': 13, 'n_hints': 8},
    '4.25': {'widths': (8, 6, 6, 4, 4), 'n_made': 13, 'n_hints': 8, 'scales': (16, 8, 4, 2, 1)},
    'lite': {'widths': (6, 4, 4, 4, 24), 'n_made': 13, 'n_hints': 8, 'scales': (16, 8, 4, 2, 1)},
    'five, no hints': {'widths': (4, 4, 4, 4, 4), 'scales': (16, 8, 4, 2, 1), 'features': 2},
}


def of(rife, kind, number=0):
    return [layer for layer in rife.layers if layer[0] == kind][number]


def change(kind, number, old, new):
    """Layer `number` of a kind, with other parameters."""
    def changed(rife):
        layer = of(rife, kind, number)
        assert old in layer[4], layer
        layer[4] = layer[4].replace(old, new, 1)
        return rife.joined()
    return changed


def become(kind, number, other):
    def changed(rife):
        of(rife, kind, number)[0] = other
        return rife.joined()
    return changed


def read(kind, number, place, other):
    """Layer `number` of a kind reads what `other` tells instead."""
    def changed(rife):
        of(rife, kind, number)[2][place] = other(rife)
        return rife.joined()
    return changed


def weights(kind, number, how):
    def changed(rife):
        layer = of(rife, kind, number)
        layer[5] = how(layer[5])
        return rife.joined()
    return changed


def without_encode(rife):
    """As RIFE was before: what comes in goes to the blocks alone."""
    shape = [4, 7, 3, 3]
    rife.net.names['block0.conv0.0.0.weight'] = shape, [0.0] * math.prod(shape)
    rife.features = []
    rife.layers = [layer for layer in rife.layers if layer[0] in ('Input', 'MemoryData')]
    time = of(rife, 'Input', 2)[3][0]
    x = rife.resize(rife.layer('Concat', [*rife.frames, time]), 0.125)
    x = rife.conv(x, 'block0.conv0.0.0', 2)
    rife.layer('rife.Warp', [rife.frames[0], rife.cut(x, 0, 2)])
    return rife.joined()


def second_encode(rife):
    tensors = {name: (shape, [-v for v in values])
               for name, (shape, values) in rife.net.names.items()}
    return RifeNcnn(rife.net, second_encode=tensors).joined()


def fewer_blocks(_):
    return RifeNcnn(Rife(widths=(8, 6), scales=(8, 4))).joined()


def slice_of(sizes):
    """What a block makes is cut into these, by ncnn's Slice."""
    def changed(_):
        rife = RifeNcnn(Rife(**RIFE['4.22']), 'pnnx')
        of(rife, 'Slice')[4] = f'-23300=3,{sizes} 1=0'
        return rife.joined()
    return changed


ISNT = "isn't RIFE 4.15 to 4.26 as vrtd runs it"

# What the ncnn file of a RIFE of 4.18 becomes, and what the refusal says.
BROKEN_RIFE = {
    'text cut short': (lambda r: r.joined()[:r.joined().index(b'Deconvolution')],
                       'ends after 47 of 310 layers'),
    'weights cut short': (lambda r: r.joined()[:-4], 'bytes of weights where the .bin has'),
    'weights of another': (lambda r: r.joined() + bytes(4), '.bin has 4 bytes more'),
    'no weights': (lambda r: r.joined()[:r.joined().index(b'out0\n') + 5], 'are missing'),
    'an ensemble': (become('Sigmoid', 0, 'UnaryOp'), 'UnaryOp "Sigmoid_'),
    'a slope of the blocks': (change('ReLU', 0, '0=2.0', '0=1.0'), 'block0.convblock.1.conv'),
    'a slope of the encoding': (change('Convolution', 0, '1,2.0', '1,1.0'), 'its encode.cnn1'),
    'no activation': (change('Convolution', 1, ' 9=2', ' 9=0'), 'its encode.cnn2'),
    'an unknown activation': (change('Convolution', 1, ' 9=2', ' 9=5'), 'Convolution "Convol'),
    'no stride': (change('Convolution', 0, '3=2', '3=1'), 'its encode.cnn0'),
    'dilation': (change('Convolution', 0, '3=2', '3=2 2=2'), "isn't a convolution as RIFE"),
    'another edge': (change('Deconvolution', 0, '4=1', '4=0'), "isn't a convolution as RIFE"),
    'fewer weights': (change('Convolution', 0, '6=162', '6=161'), '161 weights, not 6 outputs'),
    'a huge kernel': (change('Convolution', 0, '1=3', '1=2147483647'),
                      "isn't a convolution as RIFE"),
    'huge numbers': (change('Convolution', 0, '0=6 1=3', '0=2147483647 1=2147483647'),
                     "isn't a convolution as RIFE"),
    'a huge part': (slice_of('4,3e38,-233'), 'cuts 3e+38 of 9 channels'),
    'no part': (slice_of('4,nan,-233'), 'of 9 channels'),
    'int8': (weights('Convolution', 0, lambda w: struct.pack('<I', 0x000D4B38) + w[4:]),
             '8 bit integers'),
    'not finite': (weights('Convolution', 6, lambda w: NCNN_F32 + packed([math.nan]) + w[8:]),
                   'not finite'),
    'a beta not finite': (weights('MemoryData', 0, lambda w: packed([math.inf]) + w[4:]),
                          'not finite'),
    'fewer betas': (lambda r: weights('MemoryData', 0, lambda w: w[:-4])(r) and
                    change('MemoryData', 0, '2=8', '2=7')(r), 'combines 8 channels with 7'),
    'a residual missing': (read('BinaryOp', 4, 0, lambda r: of(r, 'Convolution', 8)[3][0]),
                           'its block0.convblock.1.conv'),
    'another size': (change('Interp', 0, '1=1.250000e-01 2=1.250000e-01',
                            '1=3.333333e-01 2=3.333333e-01'), 'its block0 '),
    'unlike factors': (change('Interp', 0, '2=1.25', '2=2.5'), 'resizes otherwise'),
    'nearest': (change('Interp', 0, '0=2', '0=1'), 'resizes otherwise'),
    'corners aligned': (change('Interp', 0, '0=2', '6=1 0=2'), 'resizes otherwise'),
    'flows of another factor': (change('Eltwise', 0, '4.0', '2.0'), 'its result or block2'),
    'flows the other way': (change('Crop', 6, '9=1,0 -23310=1,2', '9=1,2 -23310=1,4'),
                            'its result or block1'),
    'features as they are': (read('rife.Warp', 2, 0, lambda r: r.features[1]),
                             'its result or block1'),
    'another mask': (change('Crop', 4, '9=1,4 -23310=1,5', '9=1,5 -23310=1,6'), ISNT),
    'no sigmoid': (become('Sigmoid', 0, 'Noop'), 'its result or block4'),
    'another mixture': (change('BinaryOp', -3, '2=1.0', '2=2.0'), 'its result or block4'),
    'one picture alone': (read('BinaryOp', -2, 0, lambda r: of(r, 'rife.Warp', -2)[3][0]),
                          'its result or block4'),
    'pixels moved by 4': (change('PixelShuffle', 0, '0=2', '0=4'), 'moves pixels'),
    'encoded differently': (second_encode, 'other weights for the second picture'),
    'without encode': (without_encode, 'its encode.cnn0'),
    'two blocks': (fewer_blocks, 'network of 2 blocks'),
    'what is not there': (read('Sigmoid', 0, 0, lambda _: 'nothing'), 'reads "nothing", which no '
                          'layer'),
    'made twice': (lambda r: of(r, 'Sigmoid')[3].__setitem__(0, 'in0') or r.joined(),
                   'another layer has made'),
    'a picture of 4 channels': (change('Input', 0, '', '0=8 1=8 2=4'), 'an input of 4 channels'),
    'cut to less': (lambda r: r.layer('Clip', [r.result], '', '0=0.25 1=1') and r.joined(),
                    'cuts off numbers'),
}


# What there is of SwinIR.
SWINIR = {
    'to x4': {'factors': (2, 2)},
    'by pixels': {'tail': 'shuffle', 'factors': (2, 2)},
    'by pixels, to x3': {'tail': 'shuffle', 'factors': (3,)},
    'by pixels at once': {'tail': 'direct'},
    'as large': {'tail': 'same', 'range_': 255},
    'gray': {'tail': 'same', 'channels': 1},
    'three convolutions': {'n_convs': 3},
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
UNFIT = "sizes that don't fit"
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


def rife_onnx(style='three', **changes):
    return lambda: RifeOnnx(Rife(), style, **changes).data()


def no_beta(value):
    net = Rife()
    net.names['block0.convblock.0.beta'][1][7] = value
    return RifeOnnx(net).data()


# What isn't RIFE as ONNX, and what the refusal says.
BROKEN_RIFE_ONNX = {
    'another slope': (rife_onnx(slope=0.1), 'its encode.cnn1'),
    'nearest samples': (rife_onnx(mode='nearest'), 'samples a picture otherwise than RIFE'),
    'zeros beyond the border': (rife_onnx(edge='zeros'), 'samples a picture otherwise than RIFE'),
    'corners not aligned': (rife_onnx(corners=0), 'samples a picture otherwise than RIFE'),
    'another grid': (rife_onnx(grid=0.5), 'plus a flow in pixels'),
    'flows of another unit': (rife_onnx(step=1.5), 'plus a flow in pixels'),
    'a stored unit': (rife_onnx('stored', step=1.25), 'plus a flow in pixels'),
    'flows of twice the unit': (rife_onnx(step=0.5), 'its result or block1'),
    'flows turned': (rife_onnx(flip=1), 'its result or block1'),
    'axes turned': (rife_onnx(turn=(0, 3, 1, 2)), ''),
    'sizes by repeating': (rife_onnx(resize='nearest'), 'resizes otherwise'),
    'sizes with corners': (rife_onnx(transform='align_corners'), 'resizes otherwise'),
    'other sizes': (rife_onnx(factor=0.5), ''),
    'pixels in another order': (rife_onnx(pixels='DCR'), 'in another order'),
    'a wider mask': (rife_onnx(cut=2), ''),
    'along rows': (rife_onnx(axis=2), ''),
    'another time': (rife_onnx('two', time=0.25), 'its block0'),
    'cut off within': (rife_onnx(clip=(0.1, 1.0)), 'cuts off within 0 and 1'),
    'padded by what is mirrored': (rife_onnx('padded', pad='reflect'), 'pads otherwise'),
    'padded to less': (rife_onnx('padded', multiple=16), ''),
    'padded to more': (rife_onnx('padded', multiple=128), 'where vrtd goes to a multiple of 32'),
    'the time padded': (rife_onnx('padded', pad_time=True), 'pads otherwise'),
    'one more operation': (rife_onnx(more='Tanh'), 'Tanh "Tanh_'),
    'more outputs': (rife_onnx(outputs=2), 'has 2 outputs'),
    'nine channels': (rife_onnx(9), 'has 1 inputs of 9 channels'),
    'parts otherwise': (rife_onnx(split=(3, 2, 1)), UNFIT),
    'parts of rows': (rife_onnx(split=(16, 16, 32), axis=2), 'cuts something else than channels'),
    'fewer parts': (rife_onnx(split=(4, 2)), UNFIT),
    'spread': (rife_onnx(ended=lambda o, x: o.made('Expand', x, [2, 1, 1, 1])),
               "moves samples as RIFE doesn't"),
    'moved by three': (rife_onnx(ended=lambda o, x: o.made('GridSample', x, o.made(
        'Transpose', x, attributes=[o.ints('perm', 0, 2, 3, 1)]))), UNFIT),
    'divided by pictures': (rife_onnx(ended=lambda o, x: o.made('Div', x, x)),
                            'divides by more than a number'),
    'divided by zero': (rife_onnx(ended=lambda o, x: o.made('Div', x, o.number(0.0))),
                        'divides by more than a number'),
    'plus infinity': (rife_onnx(ended=lambda o, x: o.made('Add', x, o.number(math.inf))),
                      'numbers that differ from place to place'),
    'a beta not finite': (lambda: no_beta(math.inf), 'numbers that are not finite'),
    'plus many': (rife_onnx(ended=lambda o, x: o.made('Add', x, o.floats([2, 3, 1, 1], [1.0] * 6))),
                  "numbers that vrtd can't follow"),
    'plus a picture': (rife_onnx('stored', ended=lambda o, x: o.made('Add', x, o.floats(
        [1, 1, 1, 128], [0.5] * 127 + [0.75]))), 'numbers that differ from place to place'),
    'joined in rows': (rife_onnx(ended=lambda o, x: o.made('Concat', x, x, attributes=[
        o.int('axis', 2)])), 'joins something else than channels'),
}


def pictures(n, height, width, channels=3):
    text = (f"{{'descr': '<f4', 'fortran_order': False, 'shape': {(n, channels, height, width)}, "
            '}\n').encode()
    values = [(i * 37 % 101) / 101 for i in range(n * channels * height * width)]
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(text)) + text + packed(values)


class Carriers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.y = self.path('y.npy')

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)
        return self.path(name)

    def infer(self, model):
        return subprocess.run([PROGRAM, '--model', model, '--input', self.path('x.npy'),
                               '--output', self.y, '--device', 'ref'], capture_output=True,
                              text=True, check=False, env={**os.environ, 'LC_ALL': 'C'})

    def result(self, model):
        done = self.infer(model)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.y, 'rb') as f:
            return f.read()

    def refuse(self, model, part):
        done = self.infer(model)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)
        self.assertIn(part, done.stderr)

    def test_rife(self):
        self.write('x.npy', pictures(2, 24, 40))
        for version, sizes in RIFE.items():
            net = Rife(**sizes)
            scales = ','.join(map(str, net.scales))
            wanted = self.result(self.write('a.safetensors', safetensors(
                net, {'scales': scales} if version == 'lite' else None)))
            for style in ('onnx', 'pnnx') if net.n_hints else ('onnx',):
                for f16 in (False, True):
                    with self.subTest(version=version, style=style, f16=f16):
                        model = self.write('a.ncnn', RifeNcnn(net, style, f16).joined())
                        self.assertEqual(self.result(model), wanted)

    def test_clipped(self):
        """Pictures are from 0 to 1: 4.23 cuts them off, others what comes out."""
        self.write('x.npy', pictures(2, 24, 40))
        net = Rife()
        wanted = self.result(self.write('a.safetensors', safetensors(net)))
        rife = RifeNcnn(net)
        rife.layer('Clip', [rife.result], '', '0=0.0 1=1.0')
        self.assertEqual(self.result(self.write('a.ncnn', rife.joined())), wanted)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_rife_onnx(self):
        self.write('x.npy', pictures(2, 24, 40))
        for version, sizes in RIFE.items():
            net = Rife(**sizes)
            scales = {'scales': ','.join(map(str, net.scales))}
            wanted = self.result(self.write('a.safetensors', safetensors(net, scales)))
            for style in 'three', 'padded', 'stored', 'two', 6, 7, 8, 11:
                with self.subTest(version=version, style=style):
                    model = self.write('a.onnx', RifeOnnx(net, style).data())
                    self.assertTrue(self.result(model) == wanted)
            if net.n_made > 5:
                with self.subTest(version=version, style='split'):
                    model = self.write('a.onnx', RifeOnnx(net, split=(4, 1, net.n_made - 5),
                                                          neg=True).data())
                    self.assertTrue(self.result(model) == wanted)
        model = self.write('a.onnx', RifeOnnx(net, clip=(0.0, 1.0), more='Clip').data())
        self.assertTrue(self.result(model) == wanted)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_without_beta(self):
        """Residual factors may be in the weights."""
        self.write('x.npy', pictures(2, 24, 40))
        net = Rife()
        for name, (shape, values) in net.names.items():
            if name.endswith('.beta'):
                net.names[name] = shape, [1.0] * len(values)
        wanted = self.result(self.write('a.safetensors', safetensors(net)))
        model = self.write('a.onnx', RifeOnnx(net, beta=False).data())
        self.assertTrue(self.result(model) == wanted)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_rife_onnx(self):
        self.write('x.npy', pictures(2, 16, 16))
        for name, (make, part) in BROKEN_RIFE_ONNX.items():
            with self.subTest(name):
                self.refuse(self.write('b.onnx', make()), part)

    def test_broken_rife(self):
        net = Rife()
        self.write('x.npy', pictures(2, 16, 16))
        whole = RifeNcnn(net).joined()
        for name, (make, part) in BROKEN_RIFE.items():
            with self.subTest(name):
                broken = make(RifeNcnn(Rife()))
                self.assertFalse(broken == whole)
                self.refuse(self.write('b.ncnn', broken), part)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_swinir(self):
        self.write('x.npy', pictures(1, 7, 10))
        wanted = self.result(self.write('a.safetensors', safetensors(SwinIr())))
        for style, opset in ('legacy', 16), ('dynamo', 20):
            for form in {}, {'kind': 'e'}, {'typed': True}, {'constants': True}, {'opset': opset}:
                with self.subTest(style=style, form=form):
                    data = SwinIrOnnx(SwinIr(), style, form).data()
                    self.assertTrue(self.result(self.write('a.onnx', data)) == wanted)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_swinir_kinds(self):
        for name, kind in SWINIR.items():
            net = SwinIr(**kind)
            self.write('x.npy', pictures(1, 6, 8, net.channels))
            wanted = self.result(self.write('a.safetensors', safetensors(
                net, {'img_range': str(net.range)})))
            for style, is_open in ('legacy', False), ('legacy', True), ('dynamo', False):
                with self.subTest(name, style=style, is_open=is_open):
                    model = self.write('a.onnx', SwinIrOnnx(net, style, open=is_open).data())
                    self.assertTrue(self.result(model) == wanted)

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
        for name, changes in {**ways, 'products': {'gemm': []}, 'GELU': {'gelu': 'none'},
                              'an edge': {'missing': (0, 0, 1, 1)}, 'cut off': {'more': 'Clip'}
                              }.items():
            with self.subTest(name):
                model = self.write('a.onnx', SwinIrOnnx(SwinIr(), 'dynamo', **changes).data())
                self.assertTrue(self.result(model) == wanted)
        for name, how in UNKNOWN.items():
            with self.subTest(name):
                self.refuse(self.write('b.onnx', SwinIrOnnx(SwinIr(), 'dynamo', said={
                    'conv_first.weight': how}).data()), UNFIT)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_swinir(self):
        self.write('x.npy', pictures(1, 4, 4))
        for name, (make, part) in BROKEN_SWINIR.items():
            with self.subTest(name):
                self.refuse(self.write('b.onnx', make()), part)

    def test_scales(self):
        """Of a checkpoint, the sizes that blocks look at pictures in may be told."""
        self.write('x.npy', pictures(2, 16, 16))
        for scales in '8,4,2', '8,4,2,1,1', '8,4,3,1', '4,8,2,1', '64,4,2,1', '0,0,0,0', 'x', '':
            with self.subTest(scales):
                self.refuse(self.write('a.safetensors', safetensors(Rife(), {'scales': scales})),
                            'metadata "scales"')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + (['-k', 'broken'] if 'broken' in sys.argv[2:] else []))
