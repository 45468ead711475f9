#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks from files that state a graph (ncnn, ONNX): the same weights give the same bits as from
.safetensors, and each file that is broken is refused by one sentence.

usage: test-graph-files.py VRT_INFER [onnx] [broken]
"""
import json
import math
import os
import struct
import sys
import unittest
from collections import Counter

from graph_files import (NCNN_F16, NCNN_F32, Files, Ncnn, Onnx, compact, esrgan, field, packed,
                         pictures, safetensors, samples, span, varint)
from nets import BROKEN_GRAPHS, GRAPHS, graph
from rules import run
from sizes import (BROKEN_SIZES, FAR, H, NO_SIZES, ROUNDED, SIZES, W, WHERE, first, folded, nearest,
                   one_conv, plainly_resized, reshaped, resized)

HAS_ONNX = 'onnx' in sys.argv[2:]


def changed(make, old, new, n_bytes=None):
    """The ncnn file of such a graph, with another text, or fewer weights."""
    net = Ncnn(graph(make))
    assert old in net.text
    return net.text.replace(old, new, 1).encode() + net.weights[:n_bytes]


def blobs(n):
    """So many that what comes in is split to."""
    return b'1 %d data data_0 data_1' % n + b''.join(b' more_%d' % i for i in range(n - 2))


# What compact() may be told as.
SAME_NCNN = [
    (b' 4=1', b' 4=-233'), (b' 4=1', b' 4=-234'), (b' 1 1 ', b'\t1\t1  '),
    (b' 6=324', b' 2=1 3=1 8=0 11=3 12=1 13=1 14=1 15=1 16=1 18=0 6=324'),
    (b'1 2 data data_0 data_1', blobs(64)), (NCNN_F32, struct.pack('<I', 0x0002C056)),
]


def of_two(old, new):
    return changed(lambda n, a, b: n.sum([a, b], [1, 1]), old, new)


def by_memory(old, new, n_bytes=None):
    return changed(lambda n, a, b: n.with_number('add', b, [0.5] * 12), old, new, n_bytes)


# What the ncnn file of compact() becomes, and what the refusal says.
BROKEN_NCNN = [
    ('ends after 3 of 12 layers', lambda n: n.text.encode()[:n.text.index('PReLU')]),
    ('whose file is cut short', lambda n: b'7767517\n'),
    ("doesn't say how many blobs", lambda n: n.text.encode()[:n.text.index(' 1 1 v1 v2')]),
    ('their weights are missing', lambda n: n.text.encode()),
    ('Convolution "conv_7" needs 48 bytes of weights where the .bin has 44 left',
     lambda n: n.joined()[:-4]),
    ('Convolution "conv_3" needs 12 bytes',
     lambda n: changed(lambda n, a, b: n.conv(b, 'c', 3), '', '', -4)),
    ('.bin has 4 bytes more', lambda n: n.joined() + bytes(4)),
    ('DeconvolutionDeconvo... "shuffle_8" is a layer that vrtd has no op for',
     lambda n: n.joined().replace(b'PixelShuffle', b'Deconvolution' * 3)),
    ('8 bit integers', lambda n: n.joined().replace(NCNN_F32, struct.pack('<I', 0x000D4B38), 1)),
    ('tag 0x04030201', lambda n: n.joined().replace(NCNN_F32, b'\1\2\3\4', 1)),
    ('pictures that differ',
     lambda n: n.joined().replace(b'2=2.0', b'2=3.0').replace(b'1=2.0', b'1=3.0')),
    ('is a second input',
     lambda n: n.joined().replace(b'\n12 ', b'\n13 ').replace(
        b'Convolution ', b'Input more 0 1 more\nConvolution ', 1)),
    ('more parameters than any layer',
     lambda n: n.joined().replace(b' 0=0\n', b' 0=0' * 100 + b'\n')),
    ('unlike factors', lambda n: n.joined().replace(b' 2=2.0', b' 2=' + b'0' * 60 + b'2.0')),
    ("isn't padded by 0 zeros", lambda n: n.joined().replace(b'1=3', b'1=' + b'0' * 60 + b'3', 1)),
    ('not finite', lambda n: n.joined().replace(NCNN_F32, NCNN_F32 + packed([math.nan]), 1)[:-4]),
    ('needs 4 bytes of weights where the .bin has 2', lambda n: n.text.encode() + n.weights[:1398]),
    ('PReLU "prelu_2" needs 48 bytes', lambda n: n.text.encode() + n.weights[:1352]),
    ('is of kind 2 with 2 inputs', lambda n: of_two('0=1 -', '0=2 -')),
    ('is of kind -1 with 2 inputs', lambda n: of_two('0=1 -', '0=-1 -')),
    ('given size', lambda n: of_two('Eltwise', 'Interp ')),
    *[('factors that are not finite', lambda n, at=at: of_two(f'{at},1.000000e+00', f'{at},inf'))
      for at in (2, 0)],
    ('is of kind 1 with 1 inputs', lambda n: of_two('2 1 v1_0 v2 ', '1 1 v2 ')),
    ('joins along axis 1', lambda n: changed(lambda n, a, b: n.concat([a, b]), 'v3', 'v3 0=1')),
    *[(part, lambda n, new=new: by_memory('_3 0=12', f'_3 {new}')) for part, new in (
        ('holds 1 by 0 by 12', '0=1 2=12'), ('holds 0 by 1 by 12', '1=1 2=12'),
        ('holds 12 by 2 by 0 ', '0=12 1=2'), ('holds 2 by 1 by 12', '0=2 1=1 2=12'),
        ('holds 12 by', '0=12 11=2'), ('holds 1 by 2 by 12', '0=1 1=2 2=12'),
        ('holds 8193 by', '0=8193'), ('tag 0x3f000000', '0=12 21=0'), ('holds 0 by', '0=0'))],
    ('MemoryData "memory_3" needs 48', lambda n: by_memory('12', '12', 6604)),
    ('has a constant where vrtd takes a picture', lambda n: by_memory('BinaryOp', 'Concat  ')),
    ('end with a constant',
     lambda n: Ncnn(compact()).text.replace('\n12 ', '\n13 ').encode() +
     b'MemoryData more 0 1 more 0=1\n' + n.weights + bytes(4)),
]
# The same where something is replaced.
for old, new, part in (
    *[(b' 6=324', b' %s 6=324' % more, 'has strides, dilation or a kernel that is no square')
      for more in (b'11=5', b'2=2', b'12=2', b'13=2')],
    *[(b' 6=324', b' %s 6=324' % more, "isn't padded by 1 zeros, half of its kernel")
      for more in (b'14=0', b'15=0', b'16=0', b'14=1 16=0', b'18=1')],
    *[(b'0=12 1=3 4=1 5=1 6=324', new, part) for new, part in (
        (b'0=8193 1=1 6=24579', '24579 weights, not 8193 outputs times 3 inputs times 1'),
        (b'0=12 1=8 4=4 6=2304', '2304 weights, not 12 outputs times 3 inputs times 8'),
        (b'0=0 1=3 4=1 6=0', '0 weights, not 0 outputs'), (b'0=12', 'times 0 by 0'))],
    (b'\n12 ', b'\n65536 ', "doesn't say how many blobs"),
    (b'\n12 ', b'\n65537 ', 'has 65537 layers'),
    (b'1 2 data data_0 data_1', blobs(65), "doesn't say how many blobs"),
    (b'0=1 1=2.0', b'0=1 4=16 1=2.0', 'given size'), (b'0=1 1=2.0', b'0=0 1=2.0', 'by kind 0;'),
    (b' 0=0\n', b' 0=4\n', 'is of kind 4'), (b' 0=0\n', b' 0=6\n', 'is of kind 6'),
    (b'\n12 ', b'\n11 ', 'has weights of an unknown kind'), (b'\n12 ', b'\nx ', 'has 0 layers'),
    (b'\n12 ', b'\n-2 ', 'has -2 layers'), (b'\n12 ', b'\n99999999999 ', 'layers'),
    (b'PixelShuffle', b'Softmax',
     'Softmax "shuffle_8" is a layer that vrtd has no op for; it has attention: SwinIR is run from '
     'its checkpoint'),
    (b'PixelShuffle', b'rife.Warp', 'PReLU "prelu_2" is a layer that no RIFE has that vrtd runs'),
    (b'1 1 v1 v2 ', b'1 1 v7 v2 ', 'PReLU "prelu_2" reads "v7", which no layer before it makes'),
    (b'1 1 v1 v2 ', b'1 1 v1 v1 ', 'another layer has made'),
    (b'6=324', b'6=324 8=2', '8 bit integers'), (b'6=324', b'6=323', '323 weights, not 12'),
    (b'0=12 1=3 4=1 5=1 6=324', b'0=8192 1=7 4=3 5=1 6=1204224', 'needs 4816896 bytes'),
    (b'4=1', b'4=1 3=2', 'has strides'), (b'4=1', b'4=0', "isn't padded by 1 zeros"),
    (b'v2 0=12', b'v2 0=5', '5 slopes for 12 channels'), (b'v8 0=2', b'v8 0=-2', 'by -2'),
    (b'v8 0=2', b'v8 0=5', 'by 5 of 12 channels'),
    (b' data_0 data_1\n', b' data_0\n', 'fewer blobs than it says'),
    (b'1=3', b'1=3x', "isn't padded by 0 zeros"), (b' 2=2.0', b' 2=x2.0', 'unlike factors'),
    (b'1 1 v1 v2 ', b'1 99 v1 v2 ', 'how many blobs'), (b'0=12 1=3', b'x=12 1=3', 'NUMBER=VALUE'),
    (b'1 1 v1 v2 ', b'1 2 v1 v2 more ', 'makes 2 blobs'),
    (b'1 1 v1 v2 ', b'0 1 v2 ', 'has no input'), (b' 0=0\n', b' 0=5\n', 'is of kind 5'),
    (b' 0=0\n', b' 0=9\n', 'is of kind 9'), (b' 0=0\n', b' 0=0 1=1\n', 'has 2 inputs'),
    (b'5=1', b'5=1 9=5', 'an activation of kind 5'),
    (b'0=1 1=2.0', b'6=1 0=1 1=2.0', 'with corners aligned'),
    (b'0=1 1=2.0', b'0=4 1=2.0', 'resizes by kind 4;'),
    (b'0=1 1=2.0', b'0=1 1=3.0', 'unlike factors'),
    (b'0=1 1=2.0', b'0=1 3=24 1=2.0', 'given size')):
    BROKEN_NCNN.append((part, lambda n, old=old, new=new: n.joined().replace(old, new, 1)))


def without(model, name):
    """The file without one tensor."""
    model.initializers = [t for t in model.initializers if name not in t]
    return model.data()


def tensor(*fields):
    return b''.join(field(number, value) for number, value in fields)


def replaced(model, name, made):
    """The file with another tensor of that name."""
    model.initializers = [made + field(8, name) if field(8, name) in t else t
                          for t in model.initializers]
    return model.data()


# How squares of pixels are moved.
OF_SQUARES, TO_SQUARES = (0, 1, 4, 2, 5, 3), (0, 1, 3, 5, 2, 4)


def squares(model):
    return model.made('Transpose', model.made('Reshape', model.result, [1, 3, 2, 2, -1, 4]),
                      attributes=[model.ints('perm', *OF_SQUARES)])


BROKEN_ONNX = [
    ('is cut short or damaged', lambda m: m.data()[:-40],
     lambda m: field(1, 8) + field(2, 'nobody at all') + field(8, field(2, 17))),
    ('opset 9; vrtd reads 11 to 20', lambda m: setattr(m, 'opset', 9) or m.data()),
    ('opset 99', lambda m: setattr(m, 'opset', 99) or m.data()),
    ('PRelu "PRelu_1" is an operation that vrtd has no op for',
     lambda m: first(m, field(4, 'PRelu'), field(4, 'PRelu') + field(7, 'com.x'))),
    ('reads "c1w", which', lambda m: without(m, b'c1w')),
    ('tensor "c1b" has its numbers in another file (external data)',
     lambda m: replaced(m, 'c1b', tensor((1, 12), (2, 1), (13, tensor(
        (1, 'location'), (2, 'weights.bin'))), (14, 1)))),
    ('has groups, strides or dilation',
     lambda m: first(m, m.ints('strides', 1, 1), m.ints('strides', 2, 2))),
    ('has groups', lambda m: first(m, m.int('group', 1), m.int('group', 3))),
    *[("isn't padded by half of it", lambda m, new=new: first(
        m, field(5, m.ints('pads', 1, 1, 1, 1)), new and field(5, m.ints('pads', *new))))
      for new in ([0, 0, 0, 0], [1, 1], b'')],
    ('dilation', lambda m: first(m, field(5, m.ints('strides', 1, 1)),
                                 field(5, m.ints('dilations', 2, 2)))),
    ('by 5 of 12 channels', lambda m: first(m, m.int('blocksize', 2), m.int('blocksize', 5))),
    ('resizes in a way that vrtd has no op for',
     lambda m: first(m, m.string('mode', 'nearest'), m.string('mode', 'nearesT'))),
    ('input "input" is an input of 64 channels', lambda m: setattr(m, 'channels', 64) or m.data()),
    ('has an output that no operation makes',
     lambda m: setattr(m, 'result', 'nothing') or m.data()),
    ('tensor "c1w" makes what another has made',
     lambda m: m.initializers.append(m.initializers[0]) or m.data()),
    ('has 9 dimensions',
     lambda m: replaced(m, 'c1b', tensor(*[(1, 1)] * 9, (2, 1), (9, bytes(4))))),
    ('by 0 of 12 channels', lambda m: first(m, m.int('blocksize', 2), m.int('blocksize', 100)),
     lambda m: first(m, field(5, m.int('blocksize', 2)), field(5, m.int('blocksize', -2)))),
    *[('resizes in a way that vrtd has no op for', lambda m, mode=mode, how=how: beside(
        m, 'Resize', m.result, '', 'c9', attributes=[m.string('mode', mode), how(m)]))
      for mode, how in (
          ('cubic', lambda m: m.attribute('cubic_coeff_a', 1, 2, -0.5)),
          ('cubic', lambda m: m.int('exclude_outside', 1)),
          *[(mode, lambda m: m.string('coordinate_transformation_mode', 'asymmetric'))
            for mode in ('cubic', 'linear')])],
    ('by more than 64 times', lambda m: beside(
        m, 'Resize', m.result, '', m.constant('k', [4], [1, 1, 40, 40]),
        attributes=[m.string('mode', 'linear')])),
    ('smooths pictures first',
     lambda m: first(m, field(5, m.string('mode', 'nearest')), field(5, m.int('antialias', 1)))),
    ('resizes along some axes',
     lambda m: first(m, field(5, m.string('mode', 'nearest')), field(5, m.ints('axes', 2, 3)))),
    ('is as in training',
     lambda m: beside(m, 'BatchNormalization', m.result, *['c10'] * 4, attributes=[
        m.int('training_mode', 1)])),
    ('has no constant as its input 4',
     lambda m: beside(m, 'BatchNormalization', m.result, *['c10'] * 3)),
    ('joins along axis 2', lambda m: beside(m, 'Concat', m.result, attributes=[m.int('axis', 2)])),
    ("joins what isn't pictures",
     lambda m: beside(m, 'Concat', m.result, 'c10', attributes=[m.int('axis', 1)])),
    ('neither one number nor one', lambda m: beside(m, 'Add', m.result, 'c9'),
     lambda m: beside(m, 'Add', m.result, m.constant('k', [1, 1, 3], [1.0] * 3))),
    ('cuts off within', lambda m: beside(m, 'Clip', m.result, m.constant('k', [2], [-1.0] * 2)),
     lambda m: beside(m, 'Clip', m.result, m.made('Gather', m.made('Shape', 'input'), 0))),
    ('has no numbers', lambda m: beside(m, 'Constant'),
     lambda m: beside(m, 'Constant', attributes=[m.string('value_string', 'x')])),
    ('has numbers of two kinds',
     lambda m: beside(m, 'Constant', attributes=[
        m.attribute('value_floats', 6, 7, 1.0) + field(8, 1)])),
    ('no picture as its first input', lambda m: beside(m, 'Relu', 'c10')),
    ('reads pictures of six dimensions',
     lambda m: beside(m, 'Relu', m.made('Reshape', m.made('Transpose', m.made(
        'Reshape', m.made('Reshape', m.made('Unsqueeze', m.result, [3]), [0, 0, -1, 2, 0]),
        [0, 0, 0, 0, -1, 2]), attributes=[m.ints('perm', 0, 1, 3, 5, 2, 4)]),
        [0, -1, 1, 1, 0, 0]))),
    ('is of no picture', lambda m: beside(m, 'Unsqueeze', m.made('Unsqueeze', m.result, [3]), [3])),
    ('has 2 outputs; vrtd runs networks with one',
     lambda m: setattr(m, 'more', field(12, m.value_info('v1', 12))) or m.data()),
    ('has no output', lambda m: m.node('Relu', [m.result], []) or m.data()),
    ('has no two inputs that vrtd can combine', lambda m: beside(m, 'Add', m.result),
     lambda m: beside(m, 'Add', m.result, m.made('Shape', 'input')),
     lambda m: beside(m, 'Add', m.result, m.made('Unsqueeze', 'input', [3]))),
    ('takes integers (type 7)', lambda m: setattr(m, 'kind', 'q') or m.data()),
    ('has 3 dimensions, not 4', lambda m: setattr(m, 'size', [H]) or m.data()),
    ('makes 4 channels of what is 3',
     lambda m: first(Onnx(graph(GRAPHS['squares taken apart'])), packed(
        [1, 3, 2 * H, 2 * W], 'q'), packed([1, 4, 2 * H, 2 * W], 'q'))),
    ("isn't part of moving", lambda m: beside(m, 'Squeeze', m.result, [0]),
     *[lambda m, dims=dims: beside(m, 'Reshape', squares(m), dims) for dims in (
         [0, -1, 2, 1, 0, 0], [0, -1, 1, 2, 0, 0], [0, -1, 1, 0, 0])]),
    ('pictures of 9 dimensions', lambda m: beside(m, 'Reshape', m.result, [1] * 9)),
    ('channels before height',
     lambda m: beside(m, 'Transpose', m.result, attributes=[m.ints('perm', 0, 1, 3, 2)]),
     *[lambda m, dims=dims, perm=perm: beside(m, 'Transpose', m.made(
         'Reshape', m.result, [1, 3, *dims]), attributes=[m.ints('perm', *perm)])
       for dims, perm in (
           ((-1, 2, 4, 4), TO_SQUARES), ((-1, 65, 4, 65), TO_SQUARES),
           ((2, 4, -1, 4), OF_SQUARES), ((4, 2, -1, 4), OF_SQUARES), ((2, 2, -1, 4), TO_SQUARES),
           ((2, 2, -1), OF_SQUARES), ((2, 2, -1, 4), OF_SQUARES[:4]))],
     lambda m: beside(m, 'Transpose', squares(m), attributes=[m.ints('perm', *OF_SQUARES)])),
    ('what is no picture', lambda m: beside(m, 'Pad', m.result, [0] * 4),
     lambda m: beside(m, 'Pad', 'c10', [0] * 8),
     lambda m: beside(m, 'Pad', m.result, [0] * 8, '', [0, 1, 2, 3])),
    *[('cuts pictures', lambda m, cut=cut: beside(m, 'Slice', m.result, *cut)) for cut in (
        ([1], [FAR], [2]), ([0], [FAR], [2], [2]), ([0], [FAR], [4]), ([0], [FAR], [-5]),
        ([0], [2], [1]), ([0], [0], [0]), ([0], [2 * H], [2]), ([0, 0], [FAR], [3]),
        ([0], [FAR], [2, 3]), ([0], [FAR], [3], [1, 1]), ([], [], []))],
    *[('constants of 3 dimensions', lambda m, kind=kind: beside(
        m, kind, m.result, *[''] * (kind == 'Resize'), m.constant('k', [1, 1, 2], [1, 1], 'q')))
      for kind in ('Pad', 'Reshape', 'Resize', 'Slice')],
]
# The same with another tensor.
for name, dims, kind, data, part in (
    ('c1b', [-12], 1, bytes(48), 'has a dimension of -12'),
    ('c1b', [1 << 62, 1 << 62], 1, bytes(48), 'has a dimension'),
    ('c1b', [1200], 1, bytes(48), 'says that it has 1200 numbers, and has 12'),
    ('c1b', [6], 1, bytes(24), 'has 6 numbers as its input 2, not 12'),
    *[('c1b', [12], kind, bytes(12), f'holds {what}, which vrtd') for what, *kinds in (
        ('8 bit integers', 2, 3), ('16 bit integers', 4, 5), ('truth values', 9),
        ('8 bit floats', 17, 18, 19, 20), ('4 bit integers', 21, 22),
        ('numbers of another type', 8, 23)) for kind in kinds],
    ('c1b', [12], 1, packed([math.inf] * 12), 'not finite'),
    ('c1w', [12], 1, bytes(48), 'no constant weights of four dimensions'),
    ('c3w', [12, 3, 3, 3], 1, bytes(1296), 'weights for 3 inputs and 12 outputs, and 12 inputs'),
    ('c9', [4], 1, packed([1, 1, 3, 3]), 'pictures that differ'),
    ('c9', [4], 1, packed([1, 1, math.pi, math.pi]), 'no plain ratio'),
    ('c2', [1, 1, 12], 1, bytes(48), 'no constant slope'),
    ('c2', [12], 1, bytes(48), 'no constant slope'),
    ('c2', [1, 1, 12, 1, 1], 1, bytes(48), 'no constant slope'),
    ('c2', [12, 1, 1, 1], 1, bytes(48), 'no constant slope'),
    ('c1w', [12, 3, 1, 9], 1, bytes(1296), 'has a kernel of 1 by 9'),
    ('c9', [4], 1, packed([1, 1, 2, 3]), 'by 2 and 3, which is no plain ratio'),
    ('c9', [4], 1, packed([1, 2, 2, 2]), 'given size')):
    BROKEN_ONNX.append((part, lambda m, name=name, fields=(
        *[(1, n) for n in dims], (2, kind), (9, data)): replaced(m, name, tensor(*fields))))
# The same where something is replaced.
for old, new, part in (
    (field(4, 'PRelu'), field(4, 'Einsum'),
     'Einsum "PRelu_1" is an operation that vrtd has no op for'),
    (field(4, 'PRelu'), field(4, 'Softmax'),
     'Softmax "PRelu_1" is of something else than pairs of places'),
    (field(4, 'PRelu'), field(4, 'GridSample'), 'has 1 inputs of 3 channels in all; those of RIFE'),
    (field(1, 'v1'), field(1, 'v7'), 'reads "v7", which no operation before it makes'),
    (field(2, 'v2'), field(2, 'v1'), 'another has made'),
    (field(3, 'PRelu_1') + field(4, 'PRelu'), field(4, 'Einsum'), 'Einsum "v2" is an operation'),
    (field(1, 'c1b'), field(1, 'v0'), 'reads "v0"'),
    (field(1, 'c3b'), field(1, 'v1'), 'has no constant as its input 2'),
    (field(1, 'v3') + field(1, 'c4'), field(1, 'v3') + field(1, 'v1'), 'no constant slope')):
    BROKEN_ONNX.append((part, lambda m, old=old, new=new: first(m, old, new)))


def ended(model, kind, *inputs):
    model.result = model.made(kind, *inputs)
    return model.data()


def beside(model, kind, *inputs, attributes=()):
    """The file with one operation more, which nothing reads."""
    model.initializers.append(model.tensor('c10', [3, 1, 1], [0.5] * 3))
    model.made(kind, *inputs, attributes=attributes)
    return model.data()


def several(model, kinds):
    for kind, attributes in kinds:
        model.result = model.made(kind, model.result, attributes=attributes)
    return model.data()


def told(model, name, number, kind, value):
    """With another way to say how much one number is: twice, halved."""
    two = model.made('Constant', attributes=[model.attribute(name, number, kind, value)])
    model.result = model.made('Div', model.made('Mul', model.result, two), two)
    return model.data()


BF16 = [0x3f80, 0x3f80, 0x4000, 0x4000]     # 1, 1, 2, 2

# What the same file is told as.
SAME_ONNX = {
    'padded by name': lambda m: first(m, field(5, m.ints('pads', 1, 1, 1, 1)),
                                      field(5, m.string('auto_pad', 'SAME_UPPER'))),
    'padded by another': lambda m: first(m, field(5, m.ints('pads', 1, 1, 1, 1)),
                                         field(5, m.string('auto_pad', 'SAME_LOWER'))),
    'passed on': lambda m: several(m, [('Identity', []), ('Dropout', [])] + [
        ('Cast', [m.int('to', kind)]) for kind in (1, 10, 11, 16)]),
    'cut off last': lambda m: several(m, [('Clip', []), ('Cast', [m.int('to', 1)])]),
    **{f'scales of type {kind}, field {number}': lambda m, of=((2, kind), (number, data)): replaced(
        m, 'c9', tensor((1, 4), *of)) for kind, number, data in (
            *[(11, number, packed([1, 1, 2, 2], 'd')) for number in (9, 10)],
            (16, 9, packed(BF16, 'H')), (16, 5, b''.join(map(varint, BF16))),
            (6, 9, packed([1, 1, 2, 2], 'i')), (6, 5, bytes([1, 1, 2, 2])))},
    'slopes of four dimensions': lambda m: replaced(m, 'c2', tensor(
        *[(1, n) for n in (1, 12, 1, 1)], (2, 1), (9, packed(compact().ops[2][2]['slopes'])))),
    'pictures of bf16': lambda m: setattr(m, 'kind', 'b') or m.data(),
    'a domain': lambda m: first(m, field(4, 'PRelu'), field(4, 'PRelu') + field(7, 'ai.onnx')),
    'a number': lambda m: told(m, 'value_float', 1, 2, 2.0),
    'numbers': lambda m: told(m, 'value_floats', 6, 7, 2.0),
    'an integer': lambda m: told(m, 'value_int', 2, 3, 2),
    'integers': lambda m: told(m, 'value_ints', 7, 8, 2),
    'padded by nothing': lambda m: ended(m, 'Pad', m.result, [0] * 8),
    'cut nowhere': lambda m: ended(m, 'Slice', m.result, [0] * 4, [3, 1, FAR, FAR],
                                   [-3, 0, 3, -2], [1] * 4),
    'f64': lambda m: replaced(m, 'c1b', tensor((1, 12), (2, 11), (10, packed(
        compact().ops[1][2]['bias'], 'd')))),
    'channels left open': lambda m: setattr(m, 'channels', 0) or m.data(),
    'seen in four': lambda m: ended(m, 'Reshape', m.result, [0, 0, 0, -1]),
}


class GraphFiles(Files):
    def setUp(self):
        super().setUp()
        self.write('x.npy', pictures(1, H, W))

    def files(self, net, size=None):
        """Each file of a network that is to give the same."""
        yield 'ncnn, f32', self.write('a.ncnn', Ncnn(net).joined())
        crlf = Ncnn(net)
        crlf.text = crlf.text.replace('\n', '\r\n\r\n')[:-2]
        yield 'ncnn, empty lines', self.write('a.ncnn', crlf.joined())
        yield 'ncnn, Eltwise', self.write('a.ncnn', Ncnn(net, eltwise=True).joined())
        half = Ncnn(net, f16=True)
        self.write('half.bin', half.weights)
        yield 'ncnn, f16, two files', self.write('half.param', half.text.encode())
        if not HAS_ONNX:
            return
        for opset in (11, 13, 17, 20):
            yield f'ONNX, opset {opset}', self.write('a.onnx', Onnx(net, opset=opset,
                                                                    size=size).data())
        # Numbers such as 0.2 are others in f16.
        for kind in ('f',) if any('number' in op[2] for op in net.ops) else ('f', 'e'):
            for typed in (False, True):
                for constants in (False, True):
                    yield (f'ONNX, {kind} {typed} {constants}',
                           self.write('a.onnx', Onnx(net, kind, typed=typed, size=size,
                                                     constants=constants).data()))

    def test_same_bits(self):
        """A network that vrtd knows gives the same bits whatever its file is."""
        for name, net in (('compact', compact()), ('compact, gray', compact(channels=1, scale=3)),
                          ('same size', compact(scale=1)), ('esrgan', esrgan()),
                          ('esrgan, x4', esrgan(n_up=2)),
                          ('esrgan, folded', esrgan(n_up=2, unshuffle=2))):
            self.write('x.npy', pictures(1, H, W, net.channels[0]))
            model = self.write('a.safetensors', safetensors(net))
            wanted = {p: self.result(model, '--precision', p) for p in ('f32', 'bf16')}
            for i, (file, path) in enumerate(self.files(net, (H, W))):
                if i == 8 and name != 'compact':    # how tensors are stored is no network's matter
                    break
                for precision in ('f32', 'bf16') if i < 4 else ('f32',):
                    with self.subTest(net=name, file=file, precision=precision):
                        self.assertEqual(self.result(path, '--precision', precision),
                                         wanted[precision])

    def test_other_graphs(self):
        """Graphs of no network that is known: the same from each kind of file."""
        results = {self.result(path) for _, path in self.files(span())}
        self.assertEqual(len(results), 1)

    def each_file(self, net):
        yield 'ncnn', self.write('a.ncnn', Ncnn(net).joined())
        if HAS_ONNX:
            yield 'ONNX', self.write('a.onnx', Onnx(net).data())

    def test_graphs(self):
        """What each makes is what its operations are defined to make, and no op is one too many."""
        x, ops = samples(3 * H * W), {}
        for name, make in GRAPHS.items():
            net = graph(make)
            wanted = sum(run(net, [x[c * H * W:(c + 1) * H * W] for c in range(3)], H, W), [])
            for file, path in self.each_file(net):
                with self.subTest(name, file=file):
                    made = self.result(path, '--json', '--profile')
                    got = struct.unpack(f'<{len(wanted)}f', made[-4 * len(wanted):])
                    off = max(abs(a - b) for a, b in zip(got, wanted))
                    self.assertLess(off, 1e-5 * max(map(abs, wanted)))
                    for op in json.loads(self.said)['ops']:
                        n = ops.setdefault(file, Counter())
                        n[op['kind']] += op['count']
        for file, n in ops.items():
            self.assertEqual(n, {'conv2d': 200, 'add': 34, 'depth_to_space': 17, 'gate': 11,
                                 'resize': 7, 'space_to_depth': 5, 'pad': 4, 'copy': 4,
                                 'affine': 2}, file)
        for part, *makes in BROKEN_GRAPHS:
            for file, path in (each for make in makes for each in self.each_file(graph(make))):
                with self.subTest(part, file=file):
                    self.refuse(path, part)

    def seen_from(self, path, size, scale):
        """How far from a pixel the results change with it, whatever its place in a square of 4."""
        def run(at=None):
            x = samples(3 * size * size)
            for c in range(3) if at else ():
                x[(c * size + at[0]) * size + at[1]] += 0.5
            self.write('x.npy', pictures(1, size, size, 3, x))
            n = (size * scale) ** 2
            return struct.unpack(f'<{n}f', self.result(path)[-4 * n:])

        plain, most, centre = run(), 0, size // 8 * 4
        for phase in range(4):
            at = centre + phase, centre + 3 - phase
            for i, (a, b) in enumerate(zip(plain, run(at))):
                if a != b:
                    y, x = divmod(i, size * scale)
                    most = max(most, abs(y // scale - at[0]), abs(x // scale - at[1]))
        return most

    def test_radius(self):
        """Beyond it nothing makes a difference, and what lies there does."""
        for name in ('', 'kernels', 'gate', 'squares', 'enlarged linearly', 'enlarged by cubes',
                     'smaller, larger', 'smaller by cubes', 'by one and a half'):
            net = graph(GRAPHS[name]) if name else one_conv()
            path = self.write('a.ncnn', Ncnn(net).joined())
            told = json.loads(self.infer(path, '--json').stdout)
            radius, scale = told['radius'], told['output_shape'][3] // told['input_shape'][3]
            with self.subTest(name):
                self.assertEqual(self.seen_from(path, 8 * (radius // 4 + 1), scale), radius)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_edges(self):
        """Pictures that the file itself mirrors to a multiple and cuts again, by their size."""
        model = self.write('a.safetensors', safetensors(esrgan(n_up=2, unshuffle=2)))
        for size in (11, 7), (12, 9), (12, 8):
            self.write('x.npy', pictures(1, *size))
            wanted = self.result(model)
            for style in 'legacy', 'dynamo':
                with self.subTest(style=style, size=size):
                    self.assertEqual(self.result(self.write('a.onnx', folded(style).data())),
                                     wanted)
        self.refuse_each('onnx', BROKEN_SIZES)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_sizes(self):
        """To twice the picture's size, however that is computed."""
        self.write('x.npy', pictures(1, 7, 9))
        wanted = self.result(self.write('a.onnx', plainly_resized()))
        for name, make in SIZES.items():
            self.make_same('onnx', wanted, {f'{name}, {style}': resized(make, style)
                                            for style in ('sizes', 'scales')})
        self.refuse_each('onnx', [(part, lambda make=make, style=style: resized(make, style))
                                  for part, *makes in NO_SIZES for make in makes
                                  for style in ['sizes' if part == 'given size' else 'unread']])

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_nearest(self):
        """Rules by which others take the pixels that vrtd takes are read, and no others."""
        for factor in 2, 3, 1.5, 0.5:
            self.write('x.npy', pictures(1, 8, 8))
            plain, _ = nearest(factor, 'asymmetric', 'floor')
            wanted = self.result(self.write('a.onnx', plain))
            for where in WHERE:
                for how in ROUNDED:
                    with self.subTest(factor=factor, where=where, how=how):
                        data, is_same = nearest(factor, where, how)
                        path = self.write('b.onnx', data)
                        if is_same:
                            self.assertEqual(self.result(path), wanted)
                        else:
                            self.refuse(path, 'resizes in a way')

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_reshaped(self):
        """To the shape that it has: the picture stays; to none that it hasn't."""
        wanted = self.result(self.write('a.onnx', Onnx(compact()).data()))
        for dims, size in (((1, 3, 2 * H, 2 * W), (H, W)), ((0, -1, 0, 0), None),
                           ((0, 3, -1, 0), (H, W)), ((0, 0, 0, 0), None)):
            with self.subTest(dims=dims, size=size):
                self.assertEqual(self.result(self.write('a.onnx', reshaped(*dims, size=size))),
                                 wanted)
        for dims, size in (((1, 3, 2 * W, 2 * H), (H, W)), ((0, 0, -1, -1), (H, W)),
                           ((1, 3, 2 * H, 360), (H, 'w')),     # of one width that is tried
                           ((0, 1, -1, 0), None), ((2, 0, -1, 0), None)):
            with self.subTest(dims=dims, size=size):
                self.refuse(self.write('a.onnx', reshaped(*dims, size=size)), 'Reshape')

    def test_two_files(self):
        """Either names both; where one is missing, it is said which."""
        net = Ncnn(compact())
        self.write('m.param', net.text.encode())
        self.refuse(self.path('m.param'), 'm.param is half of an ncnn network, whose other half is '
                    f'missing: put {self.path("m.bin")} beside it')
        self.write('m.bin', net.weights)
        self.assertEqual(self.result(self.path('m.param')), self.result(self.path('m.bin')))
        os.unlink(self.path('m.param'))
        self.refuse(self.path('m.bin'), 'm.param beside it')
        checkpoint = safetensors(compact())
        self.assertEqual(self.result(self.write('m.bin', checkpoint)),
                         self.result(self.write('m.safetensors', checkpoint)))
        self.write('w.ncnn', NCNN_F16 + net.weights)
        self.refuse(self.path('w.ncnn'), 'name that')

    def test_same_ncnn(self):
        """Told otherwise; as many blobs as a layer may have."""
        net, summed = Ncnn(compact()), Ncnn(compact(), eltwise=True)
        wanted = self.result(self.write('a.ncnn', net.joined()))
        same = {new: net.joined().replace(old, new, 1) for old, new in SAME_NCNN}
        same['summed'] = summed.joined().replace(b' -23301=2,1.0,1.0', b'')
        same['cut off nowhere'] = (net.text.replace('\n12 ', '\n13 ') + 'Clip clip 1 1 '
                                   f'{net.left[10][0]} out\n').encode() + net.weights
        self.make_same('ncnn', wanted, same)

    def test_broken_ncnn(self):
        self.refuse_each('ncnn', BROKEN_NCNN, lambda: Ncnn(compact()))

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_onnx(self):
        self.refuse_each('onnx', BROKEN_ONNX, lambda: Onnx(compact()))

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_same_onnx(self):
        wanted = self.result(self.write('a.onnx', Onnx(compact()).data()))
        self.make_same('onnx', wanted, {name: change(Onnx(compact()))
                                        for name, change in SAME_ONNX.items()})

    @unittest.skipIf(HAS_ONNX, 'built with libprotobuf-c')
    def test_no_onnx(self):
        self.refuse(self.write('a.onnx', Onnx(compact()).data()), 'libprotobuf-c and protoc-c')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + (['-k', 'broken'] if 'broken' in sys.argv[2:] else []))
