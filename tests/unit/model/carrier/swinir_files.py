# SPDX-License-Identifier: MIT
"""SwinIR as files that state a graph, as exporters write them, made without any package."""
import random

from graph_files import Net, Onnx, field
from rife_files import Rife


class SwinIr:
    """The tensors of a small SwinIR: windows of 2, two groups, for real-world pictures to x2. Other
    tails are "shuffle" (up to x3, or by doublings), "direct" and "same"."""

    FEATURES, HEADS, WINDOW, HIDDEN = 4, 2, 2, 8
    DEPTHS = (2, 1)

    def __init__(self, seed=1, tail='nearest', factors=(2,), n_convs=1, channels=3, range_=1,
                 is_normed=True):
        self.random = random.Random(seed)
        self.names = {}
        self.tail, self.factors, self.n_convs = tail, factors, n_convs
        self.channels, self.range = channels, range_
        c = self.FEATURES
        self.layer('conv_first', [c, channels, 3, 3])
        self.is_normed = is_normed
        if is_normed:
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
            self.convs(f'layers.{group}.conv')
        self.norm('norm')
        self.convs('conv_after_body')
        if tail == 'direct':
            self.layer('upsample.0', [channels * factors[0] ** 2, c, 3, 3])
            return
        if tail != 'same':
            self.layer('conv_before_upsample.0', [6, c, 3, 3])
            for i, r in enumerate(factors):
                self.layer(f'conv_up{i + 1}' if tail == 'nearest' else f'upsample.{2 * i}',
                           [6 * (1 if tail == 'nearest' else r * r), 6, 3, 3])
        if tail == 'nearest':
            self.layer('conv_hr', [6, 6, 3, 3])
        self.layer('conv_last', [channels, c if tail == 'same' else 6, 3, 3])

    draw, layer = Rife.draw, Rife.add

    def convs(self, name):
        c, less = self.FEATURES, self.FEATURES // 4
        if self.n_convs == 1:
            self.layer(name, [c, c, 3, 3])
            return
        self.layer(f'{name}.0', [less, c, 3, 3])
        self.layer(f'{name}.2', [less, less, 1, 1])
        self.layer(f'{name}.4', [c, less, 3, 3])

    def norm(self, name):
        for part, center in ('weight', 1), ('bias', 0):
            self.names[f'{name}.{part}'] = ([self.FEATURES], [
                center + v for v in self.draw(self.FEATURES, 0.2)])


class SwinIrOnnx(Onnx):
    """Its graph as PyTorch's exporters write it: "legacy" of opset 13, for pictures of any size
    (norms taken apart, products with weights turned round, the mask computed) or "dynamo", for one
    (norms whole, tables looked up, the mask stored). `said` are weights that are computed of
    others: what does so, by their names."""

    MEAN = (0.4488, 0.4371, 0.4040)
    SIZE = (4, 6)

    def __init__(self, net, style='legacy', form=None, **changes):
        super().__init__(Net(net.channels), **{
            'opset': 13 if style == 'legacy' else 18} | (form or {}),
            size=None if style == 'legacy' else self.SIZE)
        self.net, self.style = net, style
        self.changes = {'epsilon': 1e-5, 'scale': (net.FEATURES // net.HEADS) ** -0.5,
                        'slope': 0.2, 'tail_slope': 0.01, 'half': 0.5, 'root': 2 ** 0.5,
                        'roll': 1, 'back': -1, 'parts': (0, 1, 2), 'mean': self.MEAN,
                        'windows': (0, 1, 3, 2, 4, 5), 'parted': (2, 0, 3, 1, 4),
                        'turned': (0, 1, 3, 2), 'joined': (0, 2, 1, 3), 'tokens': (0, 2, 1),
                        'axis': -1, 'norm_axis': -1, 'masked': (0.0, -100.0), 'end': 1,
                        'factor': 2.0, 'more': None, 'said': {}, 'gemm': None, 'gelu': None,
                        'missing': None, 'folded': False, 'ended': None, 'power': 2.0,
                        'open': '', 'masks': 1, 'pixels': (0, 1, 4, 2, 5, 3)} | changes
        if self.changes['missing']:
            self.size = [n - less for n, less in zip(self.SIZE, self.changes['missing'][2:])]
        self.n_constants = 0
        self.rows, self.columns = (self.extent_of(axis) for axis in (0, 1))
        self.mask = self.computed_mask() if style == 'legacy' else self.stored_mask()
        self.result = self.walk()

    def extent_of(self, axis):
        """Of the picture's sides: a list of one number."""
        if self.style != 'legacy':
            return [self.SIZE[axis]]
        return self.made('Unsqueeze', self.extent('legacy', 2 + axis), [0])

    def number(self, value):
        return self.floats([], [value])

    def floats(self, shape, values):
        self.n_constants += 1
        return self.constant(f'k{self.n_constants}', shape, values)

    def weights(self, name):
        x = self.floats(*self.net.names[name])
        return self.changes['said'][name](self, x) if name in self.changes['said'] else x

    def shape(self, *parts):
        """To reshape to: numbers, or names of lists of one."""
        if all(isinstance(part, (int, list)) for part in parts):
            return [part if isinstance(part, int) else part[0] for part in parts]
        return self.made('Concat', *[[part] if isinstance(part, int) else part for part in parts],
                         attributes=[self.int('axis', 0)])

    def halved(self, extent):
        return [extent[0] // 2] if isinstance(extent, list) else self.made('Div', extent, [2])

    def reshape(self, x, *parts):
        return self.made('Reshape', x, self.shape(*parts))

    def transpose(self, x, *perm):
        return self.made('Transpose', x, attributes=[self.ints('perm', *perm)])

    def stored_mask(self):
        h, w = self.SIZE
        end, (kept, masked) = self.changes['end'], self.changes['masked'] or (0.0, 0.0)

        def part(y, x):
            return sum(y >= h - n for n in (2, end)), sum(x >= w - n for n in (2, end))

        values = []
        for window in range(h * w // 4):
            y, x = window // (w // 2) * 2, window % (w // 2) * 2
            places = [part(y + i // 2, x + i % 2) for i in range(4)]
            values += [kept if a == b else masked for a in places for b in places]
        n = self.changes['masks']
        return self.floats([n, h * w // 4, 1, 4, 4], values * n)

    def computed_mask(self):
        parts = []
        for extent in (self.rows, self.columns):
            n = self.made('Squeeze', extent, [0])
            along = self.made('Range', 0, n, 1)
            parts.append(self.made('Add', *[
                self.made('Cast', self.made('Not', self.made('Less', along, self.made(
                    'Sub', n, end))), attributes=[self.int('to', 1)])
                for end in (2, self.changes['end'])]))
        rows = self.made('Mul', self.made('Unsqueeze', parts[0], [1]), self.number(3.0))
        x = self.reshape(self.made('Add', rows, parts[1]), self.halved(self.rows), 2,
                         self.halved(self.columns), 2)
        x = self.reshape(self.transpose(x, 0, 2, 1, 3), -1, 4)
        less = self.made('Sub', self.made('Unsqueeze', x, [1]), self.made('Unsqueeze', x, [2]))
        is_same = self.made('Equal', less, self.number(0.0))
        mask = self.made('Where', is_same, *map(self.number, self.changes['masked'] or (0.0, 0.0)))
        return self.made('Unsqueeze', self.made('Unsqueeze', mask, [1]), [0])

    def value_info(self, name, channels):
        if not self.changes['open']:
            return super().value_info(name, channels)
        dims = b''.join(field(1, field(2, dim)) for dim in self.changes['open'])
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))

    def conv(self, x, name):
        kernel = self.net.names[f'{name}.weight'][0][2]
        return self.made('Conv', x, self.weights(f'{name}.weight'), self.weights(f'{name}.bias'),
                         attributes=[self.ints('kernel_shape', kernel, kernel),
                                     self.ints('pads', *[kernel // 2] * 4)])

    def leaky(self, x, slope):
        return self.made('LeakyRelu', x, attributes=[self.attribute('alpha', 1, 2, slope)])

    def linear(self, x, name, *lead):
        shape, values = self.net.names[f'{name}.weight']
        if self.changes['gemm'] is not None:
            x = (self.reshape(x, -1, shape[1]) if lead[0] < 0 else
                 self.made('Flatten', x, attributes=[self.int('axis', 2)]))
            y = self.made('Gemm', x, self.weights(f'{name}.weight'), self.weights(f'{name}.bias'),
                          attributes=[self.int('transB', 1), *self.changes['gemm']])
            return self.reshape(y, *lead, shape[0])
        turned = [values[o * shape[1] + i] for i in range(shape[1]) for o in range(shape[0])]
        product = self.made('MatMul', x, self.floats(shape[::-1], turned))
        return self.made('Add', self.weights(f'{name}.bias'), product)

    def norm(self, x, name):
        weight, bias = self.weights(f'{name}.weight'), self.weights(f'{name}.bias')
        epsilon, axis = self.changes['epsilon'], self.changes['norm_axis']
        if self.style != 'legacy':
            return self.made('LayerNormalization', x, weight, bias, attributes=[
                self.int('axis', axis), self.attribute('epsilon', 1, 2, epsilon)])
        last = [self.ints('axes', axis)]
        less = self.made('Sub', x, self.made('ReduceMean', x, attributes=last))
        square = self.made('Pow', less, self.number(self.changes['power']))
        mean = self.made('ReduceMean', square, attributes=last)
        root = self.made('Sqrt', self.made('Add', mean, self.number(epsilon)))
        return self.made('Add', self.made('Mul', self.made('Div', less, root), weight), bias)

    def roll(self, x, by):
        for axis in (1, 2):
            end = self.made('Slice', x, [by], [(1 << 63) - 1], [axis])
            x = self.made('Concat', end, self.made('Slice', x, [0], [by], [axis]),
                          attributes=[self.int('axis', axis)])
        return x

    def to_windows(self, x):
        x = self.reshape(x, 1, self.halved(self.rows), 2, self.halved(self.columns), 2,
                         self.net.FEATURES)
        return self.reshape(self.transpose(x, *self.changes['windows']), -1, 4, self.net.FEATURES)

    def from_windows(self, x):
        x = self.reshape(x, 1, self.halved(self.rows), self.halved(self.columns), 2, 2,
                         self.net.FEATURES)
        return self.reshape(self.transpose(x, *self.changes['windows']), 1, self.rows,
                            self.columns, self.net.FEATURES)

    def tokens(self, x):
        """Places of a picture, one after the other."""
        return self.transpose(self.reshape(x, 1, self.net.FEATURES, -1), *self.changes['tokens'])

    def picture(self, x):
        return self.reshape(self.transpose(x, 0, 2, 1), 1, self.net.FEATURES, self.rows,
                            self.columns)

    def bias(self, name):
        table = self.net.names[f'{name}.relative_position_bias_table'][1]
        rows = [(a // 2 - b // 2 + 1) * 3 + a % 2 - b % 2 + 1 for a in range(4) for b in range(4)]
        heads = self.net.HEADS
        if self.style == 'legacy':
            pairs = [table[row * heads + h] for h in range(heads) for row in rows]
            return self.floats([1, heads, 4, 4], pairs)
        found = self.made('Gather', self.floats([9, heads], table), rows)
        turned = self.transpose(self.reshape(found, 4, 4, -1), 2, 0, 1)
        return self.made('Unsqueeze', turned, [0])

    def attention(self, x, name, is_shifted):
        net = self.net
        qkv = self.linear(x, f'{name}.qkv', -1, 4)
        parts = self.transpose(self.reshape(qkv, -1, 4, 3, net.HEADS, net.FEATURES // net.HEADS),
                               *self.changes['parted'])
        q, k, v = (self.made('Gather', parts, n, attributes=[self.int('axis', 0)])
                   for n in self.changes['parts'])
        q = self.made('Mul', q, self.number(self.changes['scale']))
        k = self.transpose(k, *self.changes['turned'])
        scores = self.made('Add', self.made('MatMul', q, k), self.bias(name))
        if is_shifted and self.changes['masked']:
            scores = self.reshape(scores, 1, -1, net.HEADS, 4, 4)
            scores = self.reshape(self.made('Add', scores, self.mask), -1, net.HEADS, 4, 4)
        shares = self.made('Softmax', scores, attributes=[self.int('axis', self.changes['axis'])])
        y = self.transpose(self.made('MatMul', shares, v), *self.changes['joined'])
        return self.linear(self.reshape(y, -1, 4, net.FEATURES), f'{name}.proj', -1, 4)

    def gelu(self, x):
        if self.changes['gelu']:
            return self.made('Gelu', x, attributes=[self.string('approximate',
                                                                self.changes['gelu'])])
        erf = self.made('Erf', self.made('Div', x, self.number(self.changes['root'])))
        gate = self.made('Add', erf, self.number(1.0))
        half = self.number(self.changes['half'])
        if self.style == 'legacy':
            return self.made('Mul', self.made('Mul', x, gate), half)
        return self.made('Mul', self.made('Mul', x, half), gate)

    def block(self, x, name, is_shifted):
        features = self.net.FEATURES
        is_rolled = is_shifted and self.changes['roll']
        y = self.reshape(self.norm(x, f'{name}.norm1'), 1, self.rows, self.columns, features)
        if is_rolled:
            y = self.roll(y, self.changes['roll'])
        y = self.from_windows(self.attention(self.to_windows(y), f'{name}.attn', is_shifted))
        if is_rolled:
            y = self.roll(y, self.changes['back'])
        x = self.made('Add', x, self.reshape(y, 1, -1, features))
        y = self.gelu(self.linear(self.norm(x, f'{name}.norm2'), f'{name}.mlp.fc1', 1, -1))
        return self.made('Add', x, self.linear(y, f'{name}.mlp.fc2', 1, -1))

    def convs(self, x, name):
        if self.net.n_convs == 1:
            return self.conv(x, name)
        slope = self.changes['slope']
        x = self.leaky(self.conv(x, f'{name}.0'), slope)
        return self.conv(self.leaky(self.conv(x, f'{name}.2'), slope), f'{name}.4')

    def enlarged(self, x, *factors):
        return self.made('Resize', x, '', self.floats([4], factors), attributes=[
            self.string('mode', 'nearest'), self.string('nearest_mode', 'floor'),
            self.string('coordinate_transformation_mode', 'asymmetric')])

    def pixels(self, x, channels, r, scale=1):
        if self.style == 'legacy':
            return self.made('DepthToSpace', x, attributes=[
                self.int('blocksize', r), self.string('mode', 'CRD')])
        h, w = (n * scale for n in self.SIZE)
        x = self.transpose(self.reshape(x, 1, channels, r, r, h, w), *self.changes['pixels'])
        return self.reshape(x, 1, channels, h * r, w * r)

    def tail(self, x, beginning):
        net, slope = self.net, self.changes['slope']
        if net.tail == 'same':
            return self.made('Add', beginning, self.conv(x, 'conv_last'))
        if net.tail == 'direct':
            return self.pixels(self.conv(x, 'upsample.0'), net.channels, net.factors[0])
        x = self.leaky(self.conv(x, 'conv_before_upsample.0'), self.changes['tail_slope'])
        scale = 1
        for i, r in enumerate(net.factors):
            if net.tail == 'nearest':
                x = self.enlarged(x, 1.0, 1.0, *[self.changes['factor']] * 2)
                x = self.leaky(self.conv(x, f'conv_up{i + 1}'), slope)
                continue
            x = self.pixels(self.conv(x, f'upsample.{2 * i}'), 6, r, scale)
            scale *= r
        if net.tail == 'nearest':
            x = self.leaky(self.conv(x, 'conv_hr'), slope)
        return self.conv(x, 'conv_last')

    def walk(self):
        mean = [1, 3, 1, 1], list(self.changes['mean'])
        x = 'input'
        if self.changes['missing']:
            x = self.made('Pad', x, [0, 0, *self.changes['missing'][:2], 0, 0,
                                     *self.changes['missing'][2:]],
                          attributes=[self.string('mode', 'reflect')])
        if self.net.channels == 3:
            x = self.made('Sub', x, self.floats(*mean))
        beginning = self.made('Mul', x, self.number(float(self.net.range)))
        first = self.conv(beginning, 'conv_first')
        x = self.tokens(first)
        x = self.norm(x, 'patch_embed.norm') if self.net.is_normed else x
        for group, depth in enumerate(self.net.DEPTHS):
            y = x
            for i in range(depth):
                y = self.block(y, f'layers.{group}.residual_group.blocks.{i}', i % 2 == 1)
            y = self.tokens(self.convs(self.picture(y), f'layers.{group}.conv'))
            x = self.made('Add', y, x)
        x = self.convs(self.picture(self.norm(x, 'norm')), 'conv_after_body')
        x = self.tail(self.made('Add', x, first), beginning)
        x = self.made('Div', x, self.number(float(self.net.range)))
        if self.net.channels == 3 and not self.changes['folded']:
            x = self.made('Add', x, self.floats(*mean))
        if self.changes['missing']:
            x = self.made('Slice', x, [0, 0], [2 * n for n in self.size], [2, 3])
        x = self.made(self.changes['more'], x) if self.changes['more'] else x
        return self.changes['ended'](self, x) if self.changes['ended'] else x
