# SPDX-License-Identifier: MIT
"""RIFE and SwinIR as files that state a graph, as exporters write them, made without any package.

Weights follow from a seed, and are numbers that f16 holds exactly: all files of one network hold
the same ones.
"""
import math
import random

from graph_files import NCNN_F16, NCNN_F32, Net, Onnx, packed

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


class SwinIr:
    """The tensors of a small SwinIR: windows of 2, two groups, for real-world pictures to x2."""

    FEATURES, HEADS, WINDOW, HIDDEN = 4, 2, 2, 8
    DEPTHS = (2, 1)

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.names = {}
        c = self.FEATURES
        self.layer('conv_first', [c, 3, 3, 3])
        self.norm('patch_embed.norm')
        for group, depth in enumerate(self.DEPTHS):
            for i in range(depth):
                name = f'layers.{group}.residual_group.blocks.{i}'
                self.norm(f'{name}.norm1')
                self.names[f'{name}.attn.relative_position_bias_table'] = (
                    [9, self.HEADS], self.draw(9 * self.HEADS, 0.5))
                self.layer(f'{name}.attn.qkv', [3 * c, c])
                self.layer(f'{name}.attn.proj', [c, c])
                self.norm(f'{name}.norm2')
                self.layer(f'{name}.mlp.fc1', [self.HIDDEN, c])
                self.layer(f'{name}.mlp.fc2', [c, self.HIDDEN])
            self.layer(f'layers.{group}.conv', [c, c, 3, 3])
        self.norm('norm')
        self.layer('conv_after_body', [c, c, 3, 3])
        self.layer('conv_before_upsample.0', [6, c, 3, 3])
        self.layer('conv_up1', [6, 6, 3, 3])
        self.layer('conv_hr', [6, 6, 3, 3])
        self.layer('conv_last', [3, 6, 3, 3])

    draw = Rife.draw

    def layer(self, name, shape):
        scale = (2 / math.prod(shape[1:])) ** 0.5
        self.names[f'{name}.weight'] = (shape, self.draw(math.prod(shape), scale))
        self.names[f'{name}.bias'] = ([shape[0]], self.draw(shape[0], 0.1))

    def norm(self, name):
        for part, center in ('weight', 1), ('bias', 0):
            self.names[f'{name}.{part}'] = ([self.FEATURES], [
                center + v for v in self.draw(self.FEATURES, 0.2)])


class SwinIrOnnx(Onnx):
    """Its graph as PyTorch's exporters write it: "legacy" of opset 13 (norms taken apart, products
    with weights turned round, the mask computed) or "dynamo" (norms whole, tables looked up, the
    mask stored)."""

    MEAN = (0.4488, 0.4371, 0.4040)

    def __init__(self, net, style='legacy', **changes):
        super().__init__(Net(3), opset=13 if style == 'legacy' else 18)
        self.net, self.style = net, style
        self.changes = {'epsilon': 1e-5, 'scale': (net.FEATURES // net.HEADS) ** -0.5,
                        'slope': 0.2, 'tail_slope': 0.01, 'half': 0.5, 'root': 2 ** 0.5,
                        'roll': 1, 'back': -1, 'parts': (0, 1, 2), 'mean': self.MEAN,
                        'perm': (0, 1, 3, 2, 4, 5), 'masked': (0.0, -100.0), 'factor': 2.0,
                        'more': None} | changes
        self.n_constants = 0
        if style == 'legacy':
            shape = self.made('Shape', 'input')
            self.computed = self.made('Cast', self.made('ConstantOfShape', shape),
                                      attributes=[self.int('to', 1)])
        self.result = self.walk()

    def number(self, value):
        return self.floats([], [value])

    def floats(self, shape, values):
        self.n_constants += 1
        return self.constant(f'k{self.n_constants}', shape, values)

    def weights(self, name):
        return self.floats(*self.net.names[name])

    def conv(self, x, name):
        kernel = self.net.names[f'{name}.weight'][0][2]
        return self.made('Conv', x, self.weights(f'{name}.weight'), self.weights(f'{name}.bias'),
                         attributes=[self.ints('kernel_shape', kernel, kernel),
                                     self.ints('pads', *[kernel // 2] * 4)])

    def leaky(self, x, slope):
        return self.made('LeakyRelu', x, attributes=[self.attribute('alpha', 1, 2, slope)])

    def linear(self, x, name):
        shape, values = self.net.names[f'{name}.weight']
        turned = [values[o * shape[1] + i] for i in range(shape[1]) for o in range(shape[0])]
        product = self.made('MatMul', x, self.floats(shape[::-1], turned))
        return self.made('Add', self.weights(f'{name}.bias'), product)

    def norm(self, x, name):
        weight, bias = self.weights(f'{name}.weight'), self.weights(f'{name}.bias')
        epsilon = self.changes['epsilon']
        if self.style != 'legacy':
            return self.made('LayerNormalization', x, weight, bias, attributes=[
                self.int('axis', -1), self.attribute('epsilon', 1, 2, epsilon)])
        last = [self.ints('axes', -1)]
        less = self.made('Sub', x, self.made('ReduceMean', x, attributes=last))
        square = self.made('Pow', less, self.number(2.0))
        mean = self.made('ReduceMean', square, attributes=last)
        root = self.made('Sqrt', self.made('Add', mean, self.number(epsilon)))
        return self.made('Add', self.made('Mul', self.made('Div', less, root), weight), bias)

    def roll(self, x, by):
        for axis in (1, 2):
            end = self.made('Slice', x, [by], [(1 << 63) - 1], [axis])
            x = self.made('Concat', end, self.made('Slice', x, [0], [by], [axis]),
                          attributes=[self.int('axis', axis)])
        return x

    def windows(self, x):
        perm = self.ints('perm', *self.changes['perm'])
        x = self.made('Reshape', x, [1, 2, 2, 2, 2, self.net.FEATURES])
        return self.made('Reshape', self.made('Transpose', x, attributes=[perm]),
                         [-1, 4, self.net.FEATURES])

    def bias(self, name):
        table = self.net.names[f'{name}.relative_position_bias_table'][1]
        rows = [(a // 2 - b // 2 + 1) * 3 + a % 2 - b % 2 + 1 for a in range(4) for b in range(4)]
        heads = self.net.HEADS
        if self.style == 'legacy':
            pairs = [table[row * heads + h] for h in range(heads) for row in rows]
            return self.floats([1, heads, 4, 4], pairs)
        found = self.made('Gather', self.floats([9, heads], table), rows)
        turned = self.made('Transpose', self.made('Reshape', found, [4, 4, -1]),
                           attributes=[self.ints('perm', 2, 0, 1)])
        return self.made('Unsqueeze', turned, [0])

    def attention(self, x, name, is_shifted):
        parts = self.made('Transpose', self.made('Reshape', self.linear(x, f'{name}.qkv'),
                                                 [-1, 4, 3, 2, 2]),
                          attributes=[self.ints('perm', 2, 0, 3, 1, 4)])
        q, k, v = (self.made('Gather', parts, n, attributes=[self.int('axis', 0)])
                   for n in self.changes['parts'])
        q = self.made('Mul', q, self.number(self.changes['scale']))
        k = self.made('Transpose', k, attributes=[self.ints('perm', 0, 1, 3, 2)])
        scores = self.made('Add', self.made('MatMul', q, k), self.bias(name))
        if is_shifted and self.changes['masked']:
            mask = (self.computed if self.style == 'legacy' else
                    self.floats([1, 4, 1, 4, 4], [self.changes['masked'][i // 4 % 2]
                                                  for i in range(64)]))
            scores = self.made('Reshape', self.made('Add', scores, mask), [-1, 2, 4, 4])
        shares = self.made('Softmax', scores, attributes=[self.int('axis', -1)])
        y = self.made('Transpose', self.made('MatMul', shares, v),
                      attributes=[self.ints('perm', 0, 2, 1, 3)])
        return self.linear(self.made('Reshape', y, [-1, 4, 4]), f'{name}.proj')

    def gelu(self, x):
        erf = self.made('Erf', self.made('Div', x, self.number(self.changes['root'])))
        gate = self.made('Add', erf, self.number(1.0))
        half = self.number(self.changes['half'])
        if self.style == 'legacy':
            return self.made('Mul', self.made('Mul', x, gate), half)
        return self.made('Mul', self.made('Mul', x, half), gate)

    def block(self, x, name, is_shifted):
        y = self.norm(x, f'{name}.norm1')
        if is_shifted and self.changes['roll']:
            y = self.roll(y, self.changes['roll'])
        y = self.attention(self.windows(y), f'{name}.attn', is_shifted)
        if is_shifted and self.changes['roll']:
            y = self.roll(y, self.changes['back'])
        x = self.made('Add', x, y)
        y = self.gelu(self.linear(self.norm(x, f'{name}.norm2'), f'{name}.mlp.fc1'))
        return self.made('Add', x, self.linear(y, f'{name}.mlp.fc2'))

    def walk(self):
        mean = [1, 3, 1, 1], list(self.changes['mean'])
        x = self.made('Sub', 'input', self.floats(*mean))
        x = first = self.conv(self.made('Mul', x, self.number(1.0)), 'conv_first')
        x = self.norm(x, 'patch_embed.norm')
        for group, depth in enumerate(self.net.DEPTHS):
            y = x
            for i in range(depth):
                y = self.block(y, f'layers.{group}.residual_group.blocks.{i}', i % 2 == 1)
            x = self.made('Add', self.conv(y, f'layers.{group}.conv'), x)
        x = self.made('Add', self.conv(self.norm(x, 'norm'), 'conv_after_body'), first)
        x = self.leaky(self.conv(x, 'conv_before_upsample.0'), self.changes['tail_slope'])
        factor = self.changes['factor']
        x = self.made('Resize', x, '', self.floats([4], [1.0, 1.0, factor, factor]), attributes=[
            self.string('mode', 'nearest'), self.string('nearest_mode', 'floor'),
            self.string('coordinate_transformation_mode', 'asymmetric')])
        x = self.leaky(self.conv(x, 'conv_up1'), self.changes['slope'])
        x = self.conv(self.leaky(self.conv(x, 'conv_hr'), self.changes['slope']), 'conv_last')
        x = self.made('Add', self.made('Div', x, self.number(1.0)), self.floats(*mean))
        return self.made(self.changes['more'], x) if self.changes['more'] else x
