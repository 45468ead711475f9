# SPDX-License-Identifier: MIT
"""SwinIR as files that state a graph, as exporters write them, made without any package."""
import math
import random

from graph_files import Net, Onnx
from rife_files import Rife


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
    """Its graph as PyTorch's exporters write it: "legacy" of opset 13, for pictures of any size
    (norms taken apart, products with weights turned round, the mask computed) or "dynamo", for one
    (norms whole, tables looked up, the mask stored)."""

    MEAN = (0.4488, 0.4371, 0.4040)
    SIZE = (4, 6)

    def __init__(self, net, style='legacy', form=None, **changes):
        super().__init__(Net(3), **{'opset': 13 if style == 'legacy' else 18} | (form or {}),
                         size=None if style == 'legacy' else self.SIZE)
        self.net, self.style = net, style
        self.changes = {'epsilon': 1e-5, 'scale': (net.FEATURES // net.HEADS) ** -0.5,
                        'slope': 0.2, 'tail_slope': 0.01, 'half': 0.5, 'root': 2 ** 0.5,
                        'roll': 1, 'back': -1, 'parts': (0, 1, 2), 'mean': self.MEAN,
                        'windows': (0, 1, 3, 2, 4, 5), 'parted': (2, 0, 3, 1, 4),
                        'turned': (0, 1, 3, 2), 'joined': (0, 2, 1, 3), 'tokens': (0, 2, 1),
                        'axis': -1, 'norm_axis': -1, 'masked': (0.0, -100.0), 'end': 1,
                        'factor': 2.0, 'more': None} | changes
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
        return self.floats(*self.net.names[name])

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
        return self.floats([1, h * w // 4, 1, 4, 4], values)

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
        epsilon, axis = self.changes['epsilon'], self.changes['norm_axis']
        if self.style != 'legacy':
            return self.made('LayerNormalization', x, weight, bias, attributes=[
                self.int('axis', axis), self.attribute('epsilon', 1, 2, epsilon)])
        last = [self.ints('axes', axis)]
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
        parts = self.transpose(self.reshape(self.linear(x, f'{name}.qkv'), -1, 4, 3, net.HEADS,
                                            net.FEATURES // net.HEADS), *self.changes['parted'])
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
        return self.linear(self.reshape(y, -1, 4, net.FEATURES), f'{name}.proj')

    def gelu(self, x):
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
        y = self.gelu(self.linear(self.norm(x, f'{name}.norm2'), f'{name}.mlp.fc1'))
        return self.made('Add', x, self.linear(y, f'{name}.mlp.fc2'))

    def walk(self):
        mean = [1, 3, 1, 1], list(self.changes['mean'])
        x = self.made('Sub', 'input', self.floats(*mean))
        first = self.conv(self.made('Mul', x, self.number(1.0)), 'conv_first')
        x = self.norm(self.tokens(first), 'patch_embed.norm')
        for group, depth in enumerate(self.net.DEPTHS):
            y = x
            for i in range(depth):
                y = self.block(y, f'layers.{group}.residual_group.blocks.{i}', i % 2 == 1)
            y = self.tokens(self.conv(self.picture(y), f'layers.{group}.conv'))
            x = self.made('Add', y, x)
        x = self.conv(self.picture(self.norm(x, 'norm')), 'conv_after_body')
        x = self.made('Add', x, first)
        x = self.leaky(self.conv(x, 'conv_before_upsample.0'), self.changes['tail_slope'])
        factor = self.changes['factor']
        x = self.made('Resize', x, '', self.floats([4], [1.0, 1.0, factor, factor]), attributes=[
            self.string('mode', 'nearest'), self.string('nearest_mode', 'floor'),
            self.string('coordinate_transformation_mode', 'asymmetric')])
        x = self.leaky(self.conv(x, 'conv_up1'), self.changes['slope'])
        x = self.conv(self.leaky(self.conv(x, 'conv_hr'), self.changes['slope']), 'conv_last')
        x = self.made('Add', self.made('Div', x, self.number(1.0)), self.floats(*mean))
        return self.made(self.changes['more'], x) if self.changes['more'] else x
