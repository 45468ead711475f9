#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every network that vrtd knows in ten checkpoint files, which must all be recognised, and in
twenty broken ones, each of which must be refused by one sentence that names it. Files that state a
graph have graphs/test-graph-files.py.

usage: test-files.py VRT_INFER MAKE_VRT DATA_FOLDER
"""
import array
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import checkpoints
from graph_files import compact, esrgan, pictures, safetensors

PROGRAM, MAKE_VRT, DATA = sys.argv[1:4]
FRAMES, SIDE = 2, 16
GOLDEN = {'span': 'span-x4', 'spanf3': 'spanf3-x2', 'swinir': 'swinir-shuffle',
          'rife': 'rife-v4_18', 'basicvsr': 'basicvsr-same-odd'}


def drawn(shape, draw):
    return [draw.uniform(-0.2, 0.2) for _ in range(math.prod(shape))]


def of_golden(name):
    """Tensors of the shapes that a golden file tells; a flow network's are zeros, being many."""
    with open(os.path.join(DATA, 'image', name + '.safetensors'), 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data, draw, tensors = f.read(), random.Random(1), {}
    for key, entry in header.items():
        if not key.startswith('parameter_shape.'):
            continue
        shape = array.array('i', data[slice(*entry['data_offsets'])]).tolist()
        tensor = key.removeprefix('parameter_shape.')
        tensors[tensor] = checkpoints.zeros(shape) if tensor.startswith('spynet.') else (
            shape, array.array('f', drawn(shape, draw)).tobytes())
    return tensors


def half(data):
    return struct.pack(f'<{len(data) // 4}e', *array.array('f', data))


def bfloat(data):
    return b''.join(data[i + 2:i + 4] for i in range(0, len(data), 4))


def changed(tensors, how):
    return {name: (shape, how(data)) for name, (shape, data) in tensors.items()}


def prefixed(tensors, prefix):
    return {prefix + name: tensor for name, tensor in tensors.items()}


def ten_files(path, tensors):
    """What each is, and whether its numbers are the same. All have the name `path`, which says
    nothing."""
    st, pth = checkpoints.write_safetensors, checkpoints.write_pth
    step = {'step_counter': checkpoints.zeros([1])}
    st(path, tensors)
    yield 'safetensors', True
    st(path, changed(tensors, half), 'F16')
    yield 'f16', False
    st(path, changed(tensors, bfloat), 'BF16')
    yield 'bf16', False
    st(path, prefixed(tensors, '_orig_mod.module.'))
    yield 'prefixes', True
    st(path, dict(reversed(tensors.items())), metadata={'format': 'pt', 'title': 'x'})
    yield 'another order', True
    pth(path, tensors, lambda params: params)
    yield 'pth', True
    pth(path, tensors)
    yield 'params', True
    pth(path, tensors, lambda params: {'params': {}, 'params_ema': params})
    yield 'params_ema', True
    pth(path, prefixed(tensors, 'module.'),
        lambda params: {'epoch': 3, 'arch': 'x', 'state_dict': params, 'optimizer': {'lr': 0.1}})
    yield 'state_dict', True
    pth(path, {**prefixed(tensors, 'generator.'), **step},
        lambda params: {'meta': {'iter': 1}, 'state_dict': params})
    yield 'generator', True


def without(tensors, name):
    return {k: v for k, v in tensors.items() if k != name}


def broken_tensors(tensors):
    """Tensors that aren't the network's, and what the sentence has to say."""
    names = list(tensors)
    for name in (names[len(names) // 3], names[len(names) // 2], names[-1]):
        shape, data = tensors[name]
        yield f'no {name}', without(tensors, name), ''
        yield f'a row more in {name}', {**tensors, name: (
            [shape[0] + 1, *shape[1:]], data + bytes(len(data) // shape[0]))}, ''
        yield f'a dimension more in {name}', {**tensors, name: ([1, *shape], data)}, ''
        for value in math.nan, math.inf:
            yield f'{value} in {name}', {**tensors, name: (
                shape, data[:-4] + struct.pack('<f', value))}, 'not finite'
    yield 'one more', {**tensors, 'one.more': checkpoints.zeros([3])}, 'one.more'
    yield 'no tensors', {}, 'no tensors'


def broken_bytes(whole):
    """The bytes of files that can't be read."""
    yield 'empty', b''
    yield 'a page', b'<!DOCTYPE html><html><body>404</body></html>'
    yield 'cut in the names', whole[:40]
    yield 'cut in the numbers', whole[:len(whole) - 5]
    yield 'a huge header', struct.pack('<Q', 1 << 60) + whole[8:]
    yield 'offsets', whole.replace(b'"data_offsets": [0, ', b'"data_offsets": [4, ', 1)
    yield 'a type', whole.replace(b'"F32"', b'"F33"', 1)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model, self.x, self.y = (os.path.join(self.folder.name, name)
                                      for name in ('model.bin', 'x.npy', 'y.npy'))
        with open(self.x, 'wb') as f:
            f.write(pictures(FRAMES, SIDE, SIDE))

    def infer(self):
        return subprocess.run([PROGRAM, '--model', self.model, '--input', self.x, '--output',
                               self.y, '--device', 'cpu', '--json'], capture_output=True,
                              text=True, check=False)

    def tensors(self, name):
        if name == 'vrt':
            subprocess.run([MAKE_VRT, '0', self.model], check=True, stdout=subprocess.DEVNULL)
        elif name in ('compact', 'esrgan'):
            with open(self.model, 'wb') as f:
                f.write(safetensors({'compact': compact, 'esrgan': esrgan}[name]()))
        else:
            return of_golden(GOLDEN[name])
        return checkpoints.read_safetensors(self.model)

    def refused(self, says):
        done = self.infer()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)
        self.assertIn(self.model, done.stderr)
        self.assertIn(says, done.stderr)

    def look_at(self, name):
        tensors, wanted, n_good, n_broken = self.tensors(name), None, 0, 0
        for what, is_same in ten_files(self.model, tensors):
            with self.subTest(what):
                done = self.infer()
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(done.stdout)
                self.assertEqual(told['architecture'], 'span' if name == 'spanf3' else name)
                with open(self.y, 'rb') as f:
                    result = told['description'], f.read()
                wanted = wanted or result
                self.assertEqual(result[:2 if is_same else 1], wanted[:2 if is_same else 1])
                n_good += 1
        for what, others, says in broken_tensors(tensors):
            with self.subTest(what):
                checkpoints.write_safetensors(self.model, others)
                self.refused(says)
                n_broken += 1
        checkpoints.write_safetensors(self.model, tensors)
        with open(self.model, 'rb') as f:
            whole = f.read()
        for what, data in broken_bytes(whole):
            with self.subTest(what):
                with open(self.model, 'wb') as f:
                    f.write(data)
                self.refused('')
                n_broken += 1
        self.assertGreaterEqual(n_good, 10)
        self.assertGreaterEqual(n_broken, 20)


for network in ('compact', 'esrgan', 'vrt', *GOLDEN):
    setattr(Files, f'test_{network}', lambda self, network=network: self.look_at(network))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
