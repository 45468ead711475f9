# SPDX-License-Identifier: MIT
"""RIFE as files that state a graph, as the exporters write them, made without any package.

Weights follow from a seed, and are numbers that f16 holds exactly: all files of one network hold
the same ones.
"""
import math
import random

from graph_files import NCNN_F16, NCNN_F32, packed

SLOPE = '2.000000e-01'


class Rife:
    """The tensors of a small RIFE, by the names of its authors."""

    def __init__(self, widths=(8, 6, 6, 4), features=4, encode=6, n_made=6, n_hints=0,
                 scales=(8, 4, 2, 1), seed=1):
        self.random = random.Random(seed)
        self.widths, self.scales, self.n_made, self.n_hints = widths, scales, n_made, n_hints
        self.names = {}
        self.add('encode.cnn0', [encode, 3, 3, 3])
        self.add('encode.cnn1', [encode, encode, 3, 3])
        self.add('encode.cnn2', [encode, encode, 3, 3])
        self.add('encode.cnn3', [encode, features, 4, 4], features)
        for i, width in enumerate(widths):
            n_in = 7 + 2 * features + (5 + n_hints if i else 0)
            self.add(f'block{i}.conv0.0.0', [width // 2, n_in, 3, 3])
            self.add(f'block{i}.conv0.1.0', [width, width // 2, 3, 3])
            for k in range(8):
                self.names[f'block{i}.convblock.{k}.beta'] = ([1, width, 1, 1], self.draw(width, 1))
                self.add(f'block{i}.convblock.{k}.conv', [width, width, 3, 3])
            self.add(f'block{i}.lastconv.0', [width, 4 * n_made, 4, 4], 4 * n_made)

    def draw(self, n, scale):
        return [round(self.random.uniform(-scale, scale) * 1024) / 1024 for _ in range(n)]

    def add(self, name, shape, n_bias=None):
        scale = (2 / math.prod(shape[1:])) ** 0.5
        self.names[f'{name}.weight'] = (shape, self.draw(math.prod(shape), scale))
        self.names[f'{name}.bias'] = ([n_bias or shape[0]], self.draw(n_bias or shape[0], 0.1))


class RifeNcnn:
    """Its text and weights: as onnx2ncnn writes them (betas first, the time made of a picture's
    shape), or as pnnx does ("pnnx"). Layers can be changed before they are put together."""

    def __init__(self, net, style='onnx', f16=False, second_encode=None):
        self.net, self.style, self.f16 = net, style, f16
        self.layers = []                # [type, name, inputs, outputs, params, weights]
        self.n_made = 0
        self.second_encode = second_encode or {}
        self.frames = [self.layer('Input', [], 'in0'), self.layer('Input', [], 'in1')]
        time = self.layer('Input', [], 'in2')
        if style == 'onnx':
            for name, (shape, values) in net.names.items():
                if name.endswith('.beta'):
                    self.layer('MemoryData', [], name, f'0=1 1=1 2={shape[1]}', packed(values))
            ones = self.number('mul', self.cut(self.layer('Concat', self.frames), 0, 1), 0.0)
            time = self.layer('BinaryOp', [self.number('add', ones, 1.0), time], '', '0=2')
        self.time = time
        self.features = [self.encode(k) for k in range(2)]
        self.result = self.walk()

    def layer(self, kind, inputs, out='', params='', weights=b'', n_out=1):
        self.n_made += 1
        out = out or f'v{self.n_made}'
        outs = [out] if n_out == 1 else [f'{out}_{i}' for i in range(n_out)]
        self.layers.append([kind, f'{kind}_{self.n_made}', list(inputs), outs, params, weights])
        return out if n_out == 1 else outs

    def cut(self, x, first, end):
        return self.layer('Crop', [x], '', f'-23309=1,{first} -23310=1,{end} -23311=1,0')

    def number(self, kind, x, value):
        return self.layer('BinaryOp', [x], '', f'0={dict(add=0, mul=2, div=3, rsub=7)[kind]} 1=1 '
                          f'2={value:e}')

    def resize(self, x, factor):
        more = ' 6=0' if self.style == 'pnnx' else ''
        return self.layer('Interp', [x], '', '0=2' if factor == 1 else
                          f'0=2 1={factor:e} 2={factor:e}{more}')

    def tagged(self, values):
        data = NCNN_F16 + packed(values, 'e') if self.f16 else NCNN_F32 + packed(values)
        return data + bytes(-len(data) % 4)

    def conv(self, x, name, stride=1, active=True, tensors=None):
        shape, values = (tensors or {}).get(f'{name}.weight') or self.net.names[f'{name}.weight']
        bias = self.net.names[f'{name}.bias'][1]
        k, n_in = shape[2], shape[0] if shape[2] == 4 else shape[1]
        if k == 4:
            # Outputs come first here.
            values = [values[(c * shape[1] + o) * 16 + i] for o in range(shape[1])
                      for c in range(n_in) for i in range(16)]
        params = f'0={len(bias)} 1={k} 3={stride} 4=1 5=1 6={len(values)}'
        if self.style == 'pnnx':
            params = (f'0={len(bias)} 1={k} 11={k} 12=1 13={stride} 14=1 2=1 3={stride} 4=1 5=1 '
                      f'6={len(values)}')
        if active:
            params += f' 9=2 -23310=1,{SLOPE}'
        return self.layer('Deconvolution' if k == 4 else 'Convolution', [x], '', params,
                          self.tagged(values) + packed(bias))

    def encode(self, k):
        tensors = self.second_encode if k else {}
        x = self.cut(self.frames[k], 0, 3) if self.style == 'onnx' else self.frames[k]
        x = self.conv(x, 'encode.cnn0', 2, tensors=tensors)
        for i in (1, 2):
            x = self.conv(x, f'encode.cnn{i}', tensors=tensors)
        return self.conv(x, 'encode.cnn3', 2, False, tensors)

    def moved(self, x, flows, k):
        flow = self.cut(flows, 2 * k, 2 * k + 2)
        return self.layer('rife.Warp', [x, flow], '', '0=6')

    def gathered(self, flows, made, scale):
        parts = [*self.frames, *self.features]
        if flows:
            parts = [self.moved(x, flows, k % 2) for k, x in enumerate(parts)]
        parts.append(self.time)
        if not flows:
            return self.resize(self.layer('Concat', parts), 1 / scale)
        parts += made[1:2 + (self.net.n_hints > 0)]
        x = self.resize(self.layer('Concat', parts), 1 / scale)
        flow = self.number('div', self.resize(flows, 1 / scale), scale)
        return self.layer('Concat', [x, flow])

    def parts_of(self, x):
        n = self.net.n_made
        if self.style == 'pnnx':
            return self.layer('Slice', [x], '', '-23300=3,4,1,-233 1=0', n_out=3)
        return [self.cut(x, 0, 4), self.cut(x, 4, 5), self.cut(x, 5, 2147483647)][:2 + (n > 5)]

    def block(self, x, i):
        net = self.net
        x = self.conv(x, f'block{i}.conv0.0.0', 2)
        x = self.conv(x, f'block{i}.conv0.1.0', 2)
        for k in range(8):
            name = f'block{i}.convblock.{k}'
            y = self.conv(x, f'{name}.conv', active=False)
            beta = f'{name}.beta'
            if self.style == 'pnnx':
                shape, values = net.names[beta]
                self.layer('MemoryData', [], beta, f'0=1 1=1 2={shape[1]} 21=1', packed(values))
            y = self.layer('BinaryOp', [y, beta], '', '0=2')
            x = self.layer('ReLU', [self.layer('BinaryOp', [y, x], '', '0=0')], '', f'0={SLOPE}')
        x = self.layer('PixelShuffle', [self.conv(x, f'block{i}.lastconv.0', 2, False)], '', '0=2')
        return self.parts_of(self.resize(x, net.scales[i]))

    def walk(self):
        flows, made = None, None
        for i, scale in enumerate(self.net.scales):
            made = self.block(self.gathered(flows, made, scale), i)
            if self.style == 'onnx' and flows:
                flows = self.layer('Eltwise', [flows, made[0]], '', f'0=1 -23301=2,1.0,{scale:e}')
                continue
            more = self.number('mul', made[0], scale)
            flows = self.layer('BinaryOp', [flows, more], '', '0=0') if flows else more
        mask = self.layer('Sigmoid', [made[1]])
        first, second = (self.moved(self.frames[k], flows, k) for k in range(2))
        first = self.layer('BinaryOp', [first, mask], '', '0=2')
        second = self.layer('BinaryOp', [second, self.number('rsub', mask, 1.0)], '', '0=2')
        return self.layer('BinaryOp', [first, second], 'out0', '')

    def joined(self):
        """With what several layers read split, as ncnn wants it."""
        uses, lines, n_blobs = {}, [], 0
        for layer in self.layers:
            for x in layer[2]:
                uses[x] = uses.get(x, 0) + 1
        left = {}
        for kind, name, inputs, outs, params, _ in self.layers:
            inputs = [left[x].pop() if x in left else x for x in inputs]
            lines.append(f'{kind:<24} {name} {len(inputs)} {len(outs)} '
                         f'{" ".join(inputs + outs)} {params}'.rstrip())
            n_blobs += len(outs)
            for out in outs:
                if uses.get(out, 0) > 1:
                    left[out] = [f'{out}_s{i}' for i in range(uses[out])]
                    n_blobs += uses[out]
                    lines.append(f'{"Split":<24} split_{out} 1 {uses[out]} '
                                 f'{" ".join([out] + left[out])}')
        text = '\n'.join(['7767517', f'{len(lines)} {n_blobs}'] + lines) + '\n'
        return text.encode() + b''.join(layer[5] for layer in self.layers)
