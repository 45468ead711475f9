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
                         pictures, safetensors, samples, span)
from nets import BROKEN_GRAPHS, GRAPHS, graph
from rules import run
from sizes import (BROKEN_SIZES, H, NO_SIZES, ROUNDED, SIZES, W, WHERE, first, folded, nearest,
                   plainly_resized, reshaped, resized)

HAS_ONNX = 'onnx' in sys.argv[2:]


def changed(make, old, new, n_bytes=None):
    """The ncnn file of such a graph, with another text, or fewer weights."""
    net = Ncnn(graph(make))
    assert old in net.text
    return net.text.replace(old, new, 1).encode() + net.weights[:n_bytes]


def of_two(old, new):
    return changed(lambda n, a, b: n.sum([a, b], [1, 1]), old, new)


def by_memory(old, new, n_bytes=None):
    return changed(lambda n, a, b: n.with_number('add', b, [0.5] * 12), old, new, n_bytes)


# What the ncnn file of compact() becomes, and what the refusal says.
BROKEN_NCNN = {
    'text cut short': (lambda n: n.text.encode()[:n.text.index('PReLU')],
                       'ends after 3 of 12 layers'),
    'a line cut short': (lambda n: n.text.encode()[:n.text.index(' 1 1 v1 v2')],
                         "doesn't say how many blobs"),
    'no weights': (lambda n: n.text.encode(), 'their weights are missing'),
    'weights cut short': (lambda n: n.joined()[:-4], 'Convolution "conv_7" needs 48 bytes of '
                          'weights where the .bin has 44 left'),
    'the last cut short': (lambda n: changed(lambda n, a, b: n.conv(b, 'c', 3), '', '', -4),
                           'Convolution "conv_3" needs 12 bytes'),
    'weights of another': (lambda n: n.joined() + bytes(4), '.bin has 4 bytes more'),
    'more layers than said': (lambda n: n.joined().replace(b'\n12 ', b'\n11 '),
                             'has weights of an unknown kind'),
    'no number of layers': (lambda n: n.joined().replace(b'\n12 ', b'\nx '), 'has 0 layers'),
    'a negative number': (lambda n: n.joined().replace(b'\n12 ', b'\n-2 '), 'has -2 layers'),
    'a huge number': (lambda n: n.joined().replace(b'\n12 ', b'\n99999999999 '), 'layers'),
    'a layer unknown': (lambda n: n.joined().replace(b'PixelShuffle', b'Deconvolution' * 3),
                        'DeconvolutionDeconvo... "shuffle_8" is a layer that vrtd has no op for'),
    'attention': (lambda n: n.joined().replace(b'PixelShuffle', b'Softmax'),
                  'Softmax "shuffle_8" is a layer that vrtd has no op for; it has attention: '
                  'SwinIR is run from its checkpoint'),
    'a warp': (lambda n: n.joined().replace(b'PixelShuffle', b'rife.Warp'),
               'PReLU "prelu_2" is a layer that no RIFE has that vrtd runs'),
    'a cycle': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'1 1 v7 v2 '),
                'PReLU "prelu_2" reads "v7", which no layer before it makes'),
    'made twice': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'1 1 v1 v1 '),
                   'another layer has made'),
    'int8': (lambda n: n.joined().replace(NCNN_F32, struct.pack('<I', 0x000D4B38), 1),
             '8 bit integers'),
    'another kind': (lambda n: n.joined().replace(NCNN_F32, b'\1\2\3\4', 1), 'tag 0x04030201'),
    'quantised': (lambda n: n.joined().replace(b'6=324', b'6=324 8=2'), '8 bit integers'),
    'fewer weights': (lambda n: n.joined().replace(b'6=324', b'6=323'), '323 weights, not 12'),
    'huge weights': (lambda n: n.joined().replace(b'0=12 1=3 4=1 5=1 6=324',
                                                  b'0=8192 1=7 4=3 5=1 6=1204224'),
                     'needs 4816896 bytes'),
    'a stride': (lambda n: n.joined().replace(b'4=1', b'4=1 3=2', 1), 'has strides'),
    'no padding': (lambda n: n.joined().replace(b'4=1', b'4=0', 1), "isn't padded by 1 zeros"),
    'slopes': (lambda n: n.joined().replace(b'v2 0=12', b'v2 0=5'), '5 slopes for 12 channels'),
    'a negative shuffle': (lambda n: n.joined().replace(b'v8 0=2', b'v8 0=-2'), 'by -2'),
    'no pixels': (lambda n: n.joined().replace(b'v8 0=2', b'v8 0=5'), 'by 5 of 12 channels'),
    'unlike sizes': (lambda n: n.joined().replace(b'2=2.0', b'2=3.0').replace(b'1=2.0', b'1=3.0'),
                     'pictures that differ'),
    'two inputs': (lambda n: n.joined().replace(b'\n12 ', b'\n13 ').replace(
        b'Convolution ', b'Input more 0 1 more\nConvolution ', 1), 'is a second input'),
    'fewer blobs': (lambda n: n.joined().replace(b' data_0 data_1\n', b' data_0\n'),
                    'fewer blobs than it says'),
    'many parameters': (lambda n: n.joined().replace(b' 0=0\n', b' 0=0' * 100 + b'\n'),
                        'more parameters than any layer'),
    'a long number': (lambda n: n.joined().replace(b' 2=2.0', b' 2=' + b'0' * 60 + b'2.0'),
                      'unlike factors'),
    'a long integer': (lambda n: n.joined().replace(b'1=3', b'1=' + b'0' * 60 + b'3', 1),
                       "isn't padded by 0 zeros"),
    'no integer': (lambda n: n.joined().replace(b'1=3', b'1=3x', 1), "isn't padded by 0 zeros"),
    'no number': (lambda n: n.joined().replace(b' 2=2.0', b' 2=x2.0'), 'unlike factors'),
    'blobs': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'1 99 v1 v2 '), 'how many blobs'),
    'a parameter': (lambda n: n.joined().replace(b'0=12 1=3', b'x=12 1=3', 1), 'NUMBER=VALUE'),
    'not finite': (lambda n: n.joined().replace(NCNN_F32, NCNN_F32 + packed([math.nan]), 1)[:-4],
                   'not finite'),
    'slopes cut short': (lambda n: n.text.encode() + n.weights[:1352],
                         'PReLU "prelu_2" needs 48 bytes'),
    'two blobs': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'1 2 v1 v2 more '), 'makes 2 blobs'),
    'of nothing': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'0 1 v2 '), 'has no input'),
    'another arithmetic': (lambda n: n.joined().replace(b' 0=0\n', b' 0=5\n'), 'is of kind 5'),
    'no such arithmetic': (lambda n: n.joined().replace(b' 0=0\n', b' 0=9\n'), 'is of kind 9'),
    'a number and two': (lambda n: n.joined().replace(b' 0=0\n', b' 0=0 1=1\n'), 'has 2 inputs'),
    'another activation': (lambda n: n.joined().replace(b'5=1', b'5=1 9=5', 1),
                           'an activation of kind 5'),
    'corners aligned': (lambda n: n.joined().replace(b'0=1 1=2.0', b'6=1 0=1 1=2.0'),
                        'with corners aligned'),
    'another interpolation': (lambda n: n.joined().replace(b'0=1 1=2.0', b'0=4 1=2.0'),
                              'resizes by kind 4;'),
    'unlike factors': (lambda n: n.joined().replace(b'0=1 1=2.0', b'0=1 1=3.0'), 'unlike factors'),
    'a given size': (lambda n: n.joined().replace(b'0=1 1=2.0', b'0=1 3=24 1=2.0'), 'given size'),
    'the highest': (lambda n: of_two('0=1 -', '0=2 -'), 'is of kind 2 with 2 inputs'),
    'one alone': (lambda n: of_two('2 1 v1_0 v2 ', '1 1 v2 '), 'is of kind 1 with 1 inputs'),
    'along rows': (lambda n: changed(lambda n, a, b: n.concat([a, b]), 'v3', 'v3 0=1'),
                   'joins along axis 1'),
    'numbers in rows': (lambda n: by_memory('_3 0=12', '_3 0=12 1=2'), 'holds 12 by 2 by 0 '),
    'numbers in columns': (lambda n: by_memory('_3 0=12', '_3 0=2 1=1 2=12'), 'holds 2 by 1 by 12'),
    'numbers in depth': (lambda n: by_memory('_3 0=12', '_3 0=12 11=2'), 'holds 12 by'),
    'no numbers': (lambda n: by_memory('_3 0=12', '_3 0=0'), 'holds 0 by'),
    'numbers cut short': (lambda n: by_memory('12', '12', 6604), 'MemoryData "memory_3" needs 48'),
    'numbers as pictures': (lambda n: by_memory('BinaryOp', 'Concat  '),
                            'has a constant where vrtd takes a picture'),
    'numbers alone': (lambda n: Ncnn(compact()).text.replace('\n12 ', '\n13 ').encode() +
                      b'MemoryData more 0 1 more 0=1\n' + n.weights + bytes(4),
                      'end with a constant'),
}


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


BROKEN_ONNX = {
    'cut short': (lambda m: m.data()[:-40], 'is cut short or damaged'),
    'no graph': (lambda m: field(1, 8) + field(2, 'nobody at all') + field(8, field(2, 17)),
                 'is cut short or damaged'),
    'an old opset': (lambda m: setattr(m, 'opset', 9) or m.data(), 'opset 9; vrtd reads 11 to 20'),
    'a future opset': (lambda m: setattr(m, 'opset', 99) or m.data(), 'opset 99'),
    'an operation unknown': (lambda m: first(m, field(4, 'PRelu'), field(4, 'Einsum')),
                             'Einsum "PRelu_1" is an operation that vrtd has no op for'),
    'attention': (lambda m: first(m, field(4, 'PRelu'), field(4, 'Softmax')),
                  'Softmax "PRelu_1" is of something else than pairs of places'),
    'a warp': (lambda m: first(m, field(4, 'PRelu'), field(4, 'GridSample')),
               'has 1 inputs of 3 channels in all; those of RIFE'),
    'of others': (lambda m: first(m, field(4, 'PRelu'), field(4, 'PRelu') + field(7, 'com.x')),
                  'PRelu "PRelu_1" is an operation that vrtd has no op for'),
    'a cycle': (lambda m: first(m, field(1, 'v1'), field(1, 'v7')), 'reads "v7", which no '
                'operation before it makes'),
    'made twice': (lambda m: first(m, field(2, 'v2'), field(2, 'v1')), 'another has made'),
    'a tensor missing': (lambda m: without(m, b'c1w'), 'reads "c1w", which'),
    'external data': (lambda m: replaced(m, 'c1b', tensor((1, 12), (2, 1), (13, tensor(
        (1, 'location'), (2, 'weights.bin'))), (14, 1))), 'tensor "c1b" has its numbers in another '
        'file (external data)'),
    'a negative dimension': (lambda m: replaced(m, 'c1b', tensor((1, -12), (2, 1), (9, bytes(48)))),
                             'has a dimension of -12'),
    'a huge dimension': (lambda m: replaced(m, 'c1b', tensor((1, 1 << 62), (1, 1 << 62), (2, 1),
                                                            (9, bytes(48)))), 'has a dimension'),
    'sizes that lie': (lambda m: replaced(m, 'c1b', tensor((1, 1200), (2, 1), (9, bytes(48)))),
                       'says that it has 1200 numbers, and has 12'),
    'another shape': (lambda m: replaced(m, 'c1b', tensor((1, 6), (2, 1), (9, bytes(24)))),
                      'has 6 numbers as its input 2, not 12'),
    'int8': (lambda m: replaced(m, 'c1b', tensor((1, 12), (2, 3), (9, bytes(12)))),
             'holds 8 bit integers'),
    'not finite': (lambda m: replaced(m, 'c1b', tensor((1, 12), (2, 1),
                                                       (9, packed([math.inf] * 12)))),
                   'not finite'),
    'weights of vectors': (lambda m: replaced(m, 'c1w', tensor((1, 12), (2, 1), (9, bytes(48)))),
                           'no constant weights of four dimensions'),
    'weights for others': (lambda m: replaced(m, 'c3w', tensor(
        (1, 12), (1, 3), (1, 3), (1, 3), (2, 1), (9, bytes(1296)))), 'weights for 3 inputs and 12 '
        'outputs, and 12 inputs'),
    'a stride': (lambda m: first(m, m.ints('strides', 1, 1), m.ints('strides', 2, 2)),
                 'has groups, strides or dilation'),
    'groups': (lambda m: first(m, m.int('group', 1), m.int('group', 3)), 'has groups'),
    'no padding': (lambda m: first(m, m.ints('pads', 1, 1, 1, 1), m.ints('pads', 0, 0, 0, 0)),
                   "isn't padded by half of it"),
    'a shuffle': (lambda m: first(m, m.int('blocksize', 2), m.int('blocksize', 5)),
                  'by 5 of 12 channels'),
    'corners': (lambda m: first(m, m.string('mode', 'nearest'), m.string('mode', 'nearesT')),
                'resizes in a way that vrtd has no op for'),
    'unlike sizes': (lambda m: replaced(m, 'c9', tensor((1, 4), (2, 1), (9, packed([1, 1, 3, 3])))),
                     'pictures that differ'),
    'no ratio': (lambda m: replaced(m, 'c9', tensor((1, 4), (2, 1),
                                                    (9, packed([1, 1, math.pi, math.pi])))),
                 'no plain ratio'),
    'many channels': (lambda m: setattr(m, 'channels', 64) or m.data(), 'input "input" is an input '
                      'of 64 channels'),
    'no result': (lambda m: setattr(m, 'result', 'nothing') or m.data(), 'has an output that no '
                  'operation makes'),
    'without a name': (lambda m: first(m, field(3, 'PRelu_1') + field(4, 'PRelu'),
                                       field(4, 'Einsum')), 'Einsum "v2" is an operation'),
    'a tensor twice': (lambda m: m.initializers.append(m.initializers[0]) or m.data(),
                       'tensor "c1w" makes what another has made'),
    'a tensor of nine dimensions': (lambda m: replaced(m, 'c1b', tensor(
        *[(1, 1)] * 9, (2, 1), (9, bytes(4)))), 'has 9 dimensions'),
    'a bias that is not there': (lambda m: first(m, field(1, 'c1b'), field(1, 'v0')), 'reads "v0"'),
    'a bias of pictures': (lambda m: first(m, field(1, 'c3b'), field(1, 'v1')),
                           'has no constant as its input 2'),
    'slopes of pictures': (lambda m: first(m, field(1, 'v3') + field(1, 'c4'),
                                           field(1, 'v3') + field(1, 'v1')), 'no constant slope'),
    'slopes of columns': (lambda m: replaced(m, 'c2', tensor((1, 1), (1, 1), (1, 12), (2, 1),
                                                            (9, bytes(48)))), 'no constant slope'),
    'slopes of vectors': (lambda m: replaced(m, 'c2', tensor((1, 12), (2, 1), (9, bytes(48)))),
                          'no constant slope'),
    'a shuffle by 100': (lambda m: first(m, m.int('blocksize', 2), m.int('blocksize', 100)),
                         'by 0 of 12 channels'),
    'a shuffle by less': (lambda m: first(m, field(5, m.int('blocksize', 2)),
                                          field(5, m.int('blocksize', -2))), 'by 0 of 12 channels'),
    'smoothed': (lambda m: first(m, field(5, m.string('mode', 'nearest')),
                                 field(5, m.int('antialias', 1))), 'smooths pictures first'),
    'of axes': (lambda m: first(m, field(5, m.string('mode', 'nearest')),
                                field(5, m.ints('axes', 2, 3))), 'resizes along some axes'),
    'unlike scales': (lambda m: replaced(m, 'c9', tensor((1, 4), (2, 1), (9, packed(
        [1, 1, 2, 3])))), 'by 2 and 3, which is no plain ratio'),
    'scales of channels': (lambda m: replaced(m, 'c9', tensor((1, 4), (2, 1), (9, packed(
        [1, 2, 2, 2])))), 'given size'),
    'as in training': (lambda m: ended(m, 'BatchNormalization', m.result, *['c10'] * 4, attributes=[
        m.int('training_mode', 1)]), 'is as in training'),
    'three of four': (lambda m: ended(m, 'BatchNormalization', m.result, *['c10'] * 3),
                      'has no constant as its input 4'),
    'joined in rows': (lambda m: ended(m, 'Concat', m.result, attributes=[m.int('axis', 2)]),
                       'joins along axis 2'),
    'joined with numbers': (lambda m: ended(m, 'Concat', m.result, 'c10', attributes=[
        m.int('axis', 1)]), "joins what isn't pictures"),
    'a number by axis': (lambda m: ended(m, 'Add', m.result, 'c9'), 'neither one number nor one'),
    'a number for columns': (lambda m: ended(m, 'Add', m.result, m.constant(
        'k', [1, 1, 3], [1.0] * 3)), 'neither one number nor one'),
    'two limits': (lambda m: ended(m, 'Clip', m.result, m.constant('k', [2], [-1.0] * 2)),
                   'cuts off within'),
    'a limit of sizes': (lambda m: ended(m, 'Clip', m.result, m.made('Gather', m.made(
        'Shape', 'input'), 0)), 'cuts off within'),
    'no numbers': (lambda m: ended(m, 'Constant'), 'has no numbers'),
    'numbers as text': (lambda m: ended(m, 'Constant', attributes=[m.string('value_string', 'x')]),
                        'has no numbers'),
    'numbers of two kinds': (lambda m: ended(m, 'Constant', attributes=[
        m.attribute('value_floats', 6, 7, 1.0) + field(8, 1)]), 'has numbers of two kinds'),
    'the end of no picture': (lambda m: ended(m, 'Relu', 'c10'), 'no picture as its first input'),
    'of six dimensions': (lambda m: ended(m, 'Relu', m.made('Reshape', m.made('Transpose', m.made(
        'Reshape', m.made('Reshape', m.made('Unsqueeze', m.result, [3]), [0, 0, -1, 2, 0]),
        [0, 0, 0, 0, -1, 2]), attributes=[m.ints('perm', 0, 1, 3, 5, 2, 4)]), [0, -1, 1, 1, 0, 0])),
        'reads pictures of six dimensions'),
    'two dimensions more': (lambda m: ended(m, 'Unsqueeze', m.made(
        'Unsqueeze', m.result, [3]), [3]), 'is of no picture'),
    'a dimension less': (lambda m: ended(m, 'Squeeze', m.result, [0]), "isn't part of moving"),
    'seen in nine': (lambda m: ended(m, 'Reshape', m.result, [1] * 9), 'pictures of 9 dimensions'),
    'turned': (lambda m: ended(m, 'Transpose', m.result, attributes=[m.ints('perm', 0, 1, 3, 2)]),
               'channels before height'),
    'padded by some axes': (lambda m: ended(m, 'Pad', m.result, [0] * 4), 'what is no picture'),
    'two outputs': (lambda m: setattr(m, 'more', field(12, m.value_info('v1', 12))) or m.data(),
                    'has 2 outputs; vrtd runs networks with one'),
    'nothing made': (lambda m: m.node('Relu', [m.result], []) or m.data(), 'has no output'),
    'one of two': (lambda m: ended(m, 'Add', m.result), 'has no two inputs that vrtd can combine'),
    'integers': (lambda m: setattr(m, 'kind', 'q') or m.data(), 'takes integers (type 7)'),
    'three dimensions': (lambda m: setattr(m, 'size', [H]) or m.data(), 'has 3 dimensions, not 4'),
    'of other channels': (lambda m: first(Onnx(graph(GRAPHS['squares taken apart'])), packed(
        [1, 3, 2 * H, 2 * W], 'q'), packed([1, 4, 2 * H, 2 * W], 'q')),
                          'makes 4 channels of what is 3'),
    **{f'of three dimensions: {kind}': (
        lambda m, kind=kind: ended(m, kind, m.result, *[''] * (kind == 'Resize'), m.constant(
            'k', [1, 1, 2], [1, 1], 'q')), 'constants of 3 dimensions')
       for kind in ('Pad', 'Reshape', 'Resize', 'Slice')},
}


def ended(model, kind, *inputs, attributes=()):
    """The file with one operation more."""
    model.initializers.append(model.tensor('c10', [3, 1, 1], [0.5] * 3))
    model.result = model.made(kind, *inputs, attributes=attributes)
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


# What the same file is told as.
SAME_ONNX = {
    'padded by name': lambda m: first(m, field(5, m.ints('pads', 1, 1, 1, 1)),
                                      field(5, m.string('auto_pad', 'SAME_UPPER'))),
    'padded by another': lambda m: first(m, field(5, m.ints('pads', 1, 1, 1, 1)),
                                         field(5, m.string('auto_pad', 'SAME_LOWER'))),
    'passed on': lambda m: several(m, [('Identity', []), ('Dropout', [])] + [
        ('Cast', [m.int('to', kind)]) for kind in (1, 10, 11, 16)]),
    'cut off last': lambda m: several(m, [('Clip', []), ('Cast', [m.int('to', 1)])]),
    'a domain': lambda m: first(m, field(4, 'PRelu'), field(4, 'PRelu') + field(7, 'ai.onnx')),
    'a number': lambda m: told(m, 'value_float', 1, 2, 2.0),
    'numbers': lambda m: told(m, 'value_floats', 6, 7, 2.0),
    'an integer': lambda m: told(m, 'value_int', 2, 3, 2),
    'integers': lambda m: told(m, 'value_ints', 7, 8, 2),
    'padded by nothing': lambda m: ended(m, 'Pad', m.result, [0] * 8),
    'cut nowhere': lambda m: ended(m, 'Slice', m.result, [0, 0], [3, 1 << 40], [1, -1], [1, 1]),
    'doubles': lambda m: replaced(m, 'c1b', tensor((1, 12), (2, 11), (10, packed(
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
            self.assertEqual(n, {'conv2d': 198, 'add': 34, 'depth_to_space': 16, 'gate': 11,
                                 'resize': 7, 'space_to_depth': 5, 'pad': 4, 'copy': 4,
                                 'affine': 2}, file)
        for name, (make, part) in BROKEN_GRAPHS.items():
            for file, path in self.each_file(graph(make)):
                with self.subTest(name, file=file):
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
        for name in ('kernels', 'gate', 'squares', 'enlarged linearly', 'enlarged by cubes',
                     'smaller, larger', 'smaller by cubes', 'by one and a half'):
            path = self.write('a.ncnn', Ncnn(graph(GRAPHS[name])).joined())
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
        self.refuse_each('onnx', {name: (lambda make=make: resized(make), part)
                                  for name, (make, part) in NO_SIZES.items()})

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

    def test_blobs(self):
        """As many as a layer may have: the highest number of them."""
        net = Ncnn(compact())
        wanted = self.result(self.write('a.ncnn', net.joined()))
        for n, part in (64, None), (65, "doesn't say how many blobs"):
            with self.subTest(blobs=n):
                more = f'1 {n} data data_0 data_1' + ''.join(f' more_{i}' for i in range(n - 2))
                path = self.write('b.ncnn', net.joined().replace(b'1 2 data data_0 data_1',
                                                                 more.encode()))
                if part:
                    self.refuse(path, part)
                else:
                    self.assertEqual(self.result(path), wanted)

    def test_broken_ncnn(self):
        self.refuse_each('ncnn', BROKEN_NCNN, Ncnn(compact()))

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_onnx(self):
        self.refuse_each('onnx', {name: (lambda change=change: change(Onnx(compact())), part)
                                  for name, (change, part) in BROKEN_ONNX.items()})

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
