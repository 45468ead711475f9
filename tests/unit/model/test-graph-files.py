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
    'blobs': (lambda n: n.joined().replace(b'1 1 v1 v2 ', b'1 99 v1 v2 '), 'how many blobs'),
    'a parameter': (lambda n: n.joined().replace(b'0=12 1=3', b'x=12 1=3', 1), 'NUMBER=VALUE'),
    'not finite': (lambda n: n.joined().replace(NCNN_F32, NCNN_F32 + packed([math.nan]), 1)[:-4],
                   'not finite'),
}


def picture(channels):
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
        half = Ncnn(net, f16=True)
        self.write('half.bin', half.weights)
        yield 'ncnn, f16, two files', self.write('half.param', half.text.encode())
        if not HAS_ONNX:
            return
        for opset in (11, 13, 17, 20):
            yield f'ONNX, opset {opset}', self.write('a.onnx', Onnx(net, opset=opset,
                                                                    size=size).data())
        for kind in ('f', 'e'):
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
            for precision in ('f32', 'bf16'):
                wanted = self.result(model, '--precision', precision)
                for file, path in self.files(net, (H, W)):
                    with self.subTest(net=name, file=file, precision=precision):
                        self.assertEqual(self.result(path, '--precision', precision), wanted)

    def test_other_graphs(self):
        """Graphs of no network that is known: the same from each kind of file."""
        results = {self.result(path) for _, path in self.files(span())}
        self.assertEqual(len(results), 1)

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
        self.write('w.ncnn', NCNN_F16 + net.weights)
        self.refuse(self.path('w.ncnn'), 'name that')

    def test_broken_ncnn(self):
        whole = Ncnn(compact())
        for name, (change, part) in BROKEN_NCNN.items():
            with self.subTest(name):
                self.assertNotEqual(change(whole), whole.joined())
                self.refuse(self.write('b.ncnn', change(whole)), part)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
