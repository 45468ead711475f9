#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks from files that state a graph (ncnn, ONNX): the same weights give the same bits as from
.safetensors, and each file that is broken is refused by one sentence.

usage: test-graph-files.py VRT_INFER [onnx]
"""
import math
import os
import subprocess
import struct
import sys
import tempfile
import unittest

from graph_files import (NCNN_F16, NCNN_F32, Ncnn, Onnx, compact, esrgan, field, packed,
                         safetensors, span)

PROGRAM, HAS_ONNX = sys.argv[1], 'onnx' in sys.argv[2:]
H, W = 12, 8

# What the ncnn file of compact() becomes, and what the refusal says.
BROKEN_NCNN = {
    'text cut short': (lambda n: n.text.encode()[:n.text.index('PReLU')],
                       'ends after 3 of 12 layers'),
    'a line cut short': (lambda n: n.text.encode()[:n.text.index(' 1 1 v1 v2')],
                         "doesn't say how many blobs"),
    'no weights': (lambda n: n.text.encode(), 'their weights are missing'),
    'weights cut short': (lambda n: n.joined()[:-4], 'Convolution "conv_7" needs 48 bytes of '
                          'weights where the .bin has 44 left'),
    'weights of another': (lambda n: n.joined() + bytes(4), '.bin has 4 bytes more'),
    'more layers than said': (lambda n: n.joined().replace(b'\n12 ', b'\n11 '), ''),
    'no number of layers': (lambda n: n.joined().replace(b'\n12 ', b'\nx '), 'has 0 layers'),
    'a negative number': (lambda n: n.joined().replace(b'\n12 ', b'\n-2 '), 'has -2 layers'),
    'a huge number': (lambda n: n.joined().replace(b'\n12 ', b'\n99999999999 '), 'layers'),
    'a layer unknown': (lambda n: n.joined().replace(b'PixelShuffle', b'Deconvolution'),
                        'Deconvolution "shuffle_8" is a layer that vrtd has no op for'),
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
    'blobs': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'1 99 v1 v2 '), 'how many blobs'),
    'a parameter': (lambda n: n.joined().replace(b'0=12 1=3', b'x=12 1=3', 1), 'NUMBER=VALUE'),
    'not finite': (lambda n: n.joined().replace(NCNN_F32, NCNN_F32 + packed([math.nan]), 1)[:-4],
                   'not finite'),
}


def first(model, old, new):
    """The file with the first node or tensor that has `old` changed."""
    for parts in (model.nodes, model.initializers):
        for i, part in enumerate(parts):
            if old in part:
                parts[i] = part.replace(old, new, 1)
                return model.data()
    raise ValueError(f'{old} is nowhere')


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
}


def folded(style='legacy', multiple=2):
    """What mirrors pictures to a multiple, and cuts again."""
    return Onnx(esrgan(n_up=2, unshuffle=2), size=(H, W), edge=(style, multiple, 2))


def uncut():
    model = folded()
    model.result = 'v' + str(len(esrgan(n_up=2, unshuffle=2).ops) - 1)
    return model.data()


def beside():
    """Reads the picture with its edge, and without."""
    model = folded()
    model.node('Add', ['input', 'padded'], ['both'])
    return model.data()


def behind():
    model = folded()
    model.node('Relu', [model.result], ['more'])
    model.result = 'more'
    return model.data()


def with_node(kind, inputs):
    """An operation of a number, of what is left out, and of the picture's sizes."""
    model = Onnx(compact())
    model.initializers.append(model.tensor('one', [1], [1], 'q'))
    model.node('Shape', ['input'], ['sizes'])
    model.initializers += [model.tensor('row', [2], [1, 2], 'q'),
                           model.tensor('column', [2, 1], [1, 2], 'q')]
    model.node('Slice', ['sizes', 'one', 'one'], ['none'])
    model.initializers.append(model.tensor('two', [1], [2], 'q'))
    model.node('Gather', ['sizes', 'two'], ['rows'])
    model.node(kind, inputs, ['more'])
    return model.data()


def reshaped(*dims, size=None):
    """What is given another shape in the end."""
    model = Onnx(compact(), size=size)
    model.initializers.append(model.tensor('shape', [len(dims)], dims, 'q'))
    model.node('Reshape', [model.result, 'shape'], ['shaped'])
    model.result = 'shaped'
    return model.data()


# Files that compute with the picture's size.
BROKEN_SIZES = {
    'left out': (lambda: with_node('Add', ['one', '']), 'combines 1 numbers with 0'),
    'of unlike shapes': (lambda: with_node('Add', ['row', 'column']),
                         'combines numbers in 1 rows with such in 2'),
    'of nothing': (lambda: with_node('Mul', ['none', 'one']), 'combines 0 numbers with 1'),
    'a part that follows from the size': (
        lambda: with_node('Slice', ['sizes', 'one', 'rows']), 'cuts in a way'),
    'another edge': (lambda: first(folded(), b'reflect', b'wrapped'), 'pads otherwise'),
    'no multiple': (lambda: folded(multiple=3).data(), "isn't what is missing to the next"),
    'an edge that stays': (uncut, 'an edge that stays'),
    'with and without': (beside, 'reads a picture without the edge'),
    'behind the cut': (behind, 'reads a picture whose edge was cut off'),
    'cut elsewhere': (lambda: Onnx(esrgan(n_up=2, unshuffle=2), size=(H, W),
                                   edge=('dynamo', 2, 1)).data(), 'cuts pictures'),
    'what is not there': (lambda: first(folded(), field(4, 'Gather'), field(4, 'Einsum')),
                          'Einsum'),
    'by zero': (lambda: folded(multiple=0).data(), 'next multiple'),
}


def picture(channels, H=H, W=W):
    text = (f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {channels}, {H}, {W}), "
            '}\n').encode()
    n = channels * H * W
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(text)) + text +
            packed([(i * 37 % 101) / 101 for i in range(n)]))


class GraphFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.write('x.npy', picture(3))

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)
        return self.path(name)

    def infer(self, model, *args):
        return subprocess.run([PROGRAM, '--model', model, '--input', self.path('x.npy'),
                               '--output', self.path('y.npy'), '--device', 'ref', *args],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, 'LC_ALL': 'C'})

    def result(self, model, *args):
        done = self.infer(model, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path('y.npy'), 'rb') as f:
            return f.read()

    def refuse(self, model, part):
        done = self.infer(model)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)
        self.assertIn(part, done.stderr)

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
            self.write('x.npy', picture(net.channels[0]))
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

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_edges(self):
        """Pictures that the file itself mirrors to a multiple and cuts again, by their size."""
        model = self.write('a.safetensors', safetensors(esrgan(n_up=2, unshuffle=2)))
        for size in (11, 7), (12, 9), (12, 8):
            self.write('x.npy', picture(3, *size))
            wanted = self.result(model)
            for style in 'legacy', 'dynamo':
                with self.subTest(style=style, size=size):
                    self.assertEqual(self.result(self.write('a.onnx', folded(style).data())),
                                     wanted)
        for name, (make, part) in BROKEN_SIZES.items():
            with self.subTest(name):
                self.refuse(self.write('b.onnx', make()), part)

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

    def test_broken_ncnn(self):
        whole = Ncnn(compact())
        for name, (change, part) in BROKEN_NCNN.items():
            with self.subTest(name):
                self.assertNotEqual(change(whole), whole.joined())
                self.refuse(self.write('b.ncnn', change(whole)), part)

    @unittest.skipUnless(HAS_ONNX, 'built without libprotobuf-c')
    def test_broken_onnx(self):
        whole = Onnx(compact()).data()
        for name, (change, part) in BROKEN_ONNX.items():
            with self.subTest(name):
                broken = change(Onnx(compact()))
                self.assertNotEqual(broken, whole)
                self.refuse(self.write('b.onnx', broken), part)

    @unittest.skipIf(HAS_ONNX, 'built with libprotobuf-c')
    def test_no_onnx(self):
        self.refuse(self.write('a.onnx', Onnx(compact()).data()), 'libprotobuf-c and protoc-c')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
