# SPDX-License-Identifier: MIT
"""RIFE as files that state a graph, as exporters write them, made without any package.

Weights follow from a seed, and are numbers that f16 holds exactly: all files of one network hold
the same ones.
"""
import math
import random

from graph_files import Ncnn, Net, Onnx, field, packed

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

    tagged = Ncnn.tagged

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


class RifeOnnx(Onnx):
    """Its graph as PyTorch's exporter writes it. What comes in by style: "three" (two pictures and
    the time), "padded" (those, with an edge), "stored" (the same, of one size, which the grid is
    stored for), "two" (without the time), 6, 7, 8 or 11 (that many channels of one input)."""

    SIZE = 64, 128

    def __init__(self, net, style='three', **changes):
        super().__init__(Net(3), changes.pop('kind', 'f'), opset=16,
                         size=self.SIZE if style == 'stored' else None)
        self.net, self.style, self.n_constants = net, style, 0
        self.changes = {'slope': 0.2, 'mode': 'bilinear', 'edge': 'border', 'corners': 1,
                        'resize': 'linear', 'transform': 'half_pixel', 'pixels': 'CRD', 'flip': 0,
                        'grid': 1.0, 'step': 1.0, 'time': 0.5, 'multiple': 4 * net.scales[0],
                        'pad': 'constant', 'pad_time': False, 'turn': (0, 2, 3, 1), 'factor': 1.0,
                        'cut': 1, 'clip': None, 'axis': 1, 'more': None, 'outputs': 1,
                        'beta': True, 'split': None, 'neg': False, 'ended': None,
                        'before': [0] * 6, 'filled': ()} | changes
        self.inputs = self.shapes()
        names = [name for name, _ in self.inputs]
        if len(names) == 1:
            self.frames = [self.cut('x', 0, 3), self.cut('x', 3, 6)]
            self.time = self.cut('x', 6, 7) if style != 6 else self.middle()
        else:
            self.frames = names[:2]
            self.time = self.spread('in2') if len(names) == 3 else self.middle()
        self.padded = self.pad() if style == 'padded' else self.frames
        self.frames, frames = self.padded, self.frames
        self.grid, self.steps = self.coordinates()
        self.features = [self.encode(x) for x in self.frames]
        self.result = self.walk()
        if style == 'padded':
            shape = self.made('Shape', frames[0])
            for axis in (2, 3):
                self.result = self.made('Slice', self.result, [0], self.made(
                    'Gather', shape, [axis]), [axis])
        if self.changes['more']:
            self.result = self.made(self.changes['more'], self.result)
        if self.changes['ended']:
            self.result = self.changes['ended'](self, self.result)

    def shapes(self):
        h, w = self.SIZE if self.style == 'stored' else ('h', 'w')
        if isinstance(self.style, int):
            return [('x', (1, self.style, h, w))]
        pictures = [(f'in{k}', (1, 3, h, w)) for k in range(2)]
        return pictures + ([] if self.style == 'two' else [('in2', (1,))])

    def floats(self, shape, values):
        self.n_constants += 1
        return self.constant(f'k{self.n_constants}', shape, values)

    def number(self, value):
        return self.floats([], [value])

    def weights(self, name):
        return self.floats(*self.net.names[name])

    def cut(self, x, first, end):
        return self.made('Slice', x, [first], [end], [self.changes['axis']], [1])

    def split(self, x, axis, n_out, *sizes):
        self.n_made += 1
        names = [f's{self.n_made}_{i}' for i in range(n_out)]
        sizes = [self.constant(f's{self.n_made}', [len(sizes)], sizes, 'q')] if sizes else []
        self.node('Split', [x, *sizes], names, [self.int('axis', axis)])
        return names

    def middle(self):
        """As its authors fill in a time that is told as a number."""
        x = self.made('Mul', self.cut(self.inputs[0][0], 0, 1), self.number(0.0))
        return self.made('Mul', self.made('Add', x, self.number(1.0)),
                         self.number(self.changes['time']))

    def spread(self, x):
        shape = self.made('Shape', 'in0')
        repeats = self.made('Concat', [1, 1], self.made('Slice', shape, [2], [4], [0]),
                            attributes=[self.int('axis', 0)])
        return self.made('Tile', self.made('Unsqueeze', x, [1, 2, 3]), repeats)

    def pad(self):
        shape, rest = self.made('Shape', self.frames[0]), []
        multiple = self.changes['multiple']
        for axis in (2, 3):
            missing = self.made('Mod', self.made('Gather', shape, [axis]), [multiple])
            rest.append(self.made('Mod', self.made('Sub', [multiple], missing), [multiple]))
        pads = self.made('Concat', self.changes['before'], *rest, attributes=[self.int('axis', 0)])
        mode = [self.string('mode', self.changes['pad'])]
        shape = self.made('Add', self.made('Shape', self.frames[0]), self.made(
            'Concat', [0, 0], *rest, attributes=[self.int('axis', 0)]))
        if self.changes['pad_time']:
            self.time = self.made('Pad', self.time, pads, attributes=mode)
        else:
            self.time = self.made('Expand', self.made('Unsqueeze', 'in2', [1, 2, 3]), self.made(
                'Concat', [1, 1], self.made('Slice', shape, [2], [4], [0]),
                attributes=[self.int('axis', 0)]))
        filled = [self.number(value) for value in self.changes['filled']]
        return [self.made('Pad', x, pads, *filled, attributes=mode) for x in self.frames]

    def coordinates(self):
        """Each place's own, and how many pixels make one of its units."""
        if self.style == 11:
            return self.cut('x', 7, 9), [self.cut('x', 9, 10), self.cut('x', 10, 11)]
        if self.style == 'stored':
            h, w = self.SIZE
            grid = [2 * x / (w - 1) - 1 for _ in range(h) for x in range(w)]
            grid += [2 * y / (h - 1) - 1 for y in range(h) for _ in range(w)]
            return self.floats([1, 2, h, w], grid), [
                self.number((n - 1) / 2 * self.changes['step']) for n in (w, h)]
        shape = self.made('Shape', self.frames[0])
        parts, steps = [], []
        for axis in (3, 2):
            n = self.made('Cast', self.made('Gather', shape, axis), attributes=[self.int('to', 1)])
            last = self.made('Sub', n, self.number(1.0))
            along = self.made('Range', self.number(0.0), n, self.number(1.0))
            row = self.made('Sub', self.made('Div', self.made('Mul', along, self.number(
                2.0 * self.changes['grid'])), last), self.number(1.0))
            row = self.made('Reshape', row, [1, 1, 1, -1] if axis == 3 else [1, 1, -1, 1])
            parts.append(self.made('Expand', row, self.made(
                'Concat', [1, 1], self.made('Slice', shape, [2], [4], [0]),
                attributes=[self.int('axis', 0)])))
            steps.append(self.made('Div', last, self.number(2.0 / self.changes['step'])))
        return self.made('Concat', *parts, attributes=[self.int('axis', 1)]), steps

    def conv(self, x, name, stride=1, active=True):
        shape, _ = self.net.names[f'{name}.weight']
        k = shape[2]
        x = self.made('ConvTranspose' if k == 4 else 'Conv', x, self.weights(f'{name}.weight'),
                      self.weights(f'{name}.bias'), attributes=[
                          self.ints('kernel_shape', k, k), self.ints('pads', 1, 1, 1, 1),
                          self.ints('strides', stride, stride)])
        return self.leaky(x) if active else x

    def leaky(self, x):
        return self.made('LeakyRelu', x, attributes=[
            self.attribute('alpha', 1, 2, self.changes['slope'])])

    def resize(self, x, factor):
        if factor == 1:
            return x
        factor *= self.changes['factor']
        return self.made('Resize', x, '', self.floats([4], [1.0, 1.0, factor, factor]), attributes=[
            self.string('mode', self.changes['resize']),
            self.string('coordinate_transformation_mode', self.changes['transform'])])

    def encode(self, x):
        if self.changes['clip']:
            x = self.made('Clip', x, *map(self.number, self.changes['clip']))
        x = self.conv(x, 'encode.cnn0', 2)
        for i in (1, 2):
            x = self.conv(x, f'encode.cnn{i}')
        return self.conv(x, 'encode.cnn3', 2, False)

    def moved(self, x, flows, k):
        first = [2 * k + (i ^ self.changes['flip']) for i in range(2)]
        cut = (self.split(flows, -3, 4) if self.changes['split'] else
               [self.cut(flows, c, c + 1) for c in range(4)])
        parts = [self.made('Mul' if self.style == 11 else 'Div', cut[c], step)
                 for c, step in zip(first, self.steps)]
        flow = self.made('Concat', *parts, attributes=[self.int('axis', 1)])
        grid = self.made('Transpose', self.made('Add', self.grid, flow),
                         attributes=[self.ints('perm', *self.changes['turn'])])
        return self.made('GridSample', x, grid, attributes=[
            self.string('mode', self.changes['mode']),
            self.string('padding_mode', self.changes['edge']),
            self.int('align_corners', self.changes['corners'])])

    def joined(self, *parts):
        return self.made('Concat', *parts, attributes=[self.int('axis', 1)])

    def gathered(self, flows, made, scale):
        parts = [*self.frames, *self.features]
        if not flows:
            return self.resize(self.joined(*parts, self.time), 1 / scale)
        parts = [self.moved(x, flows, k % 2) for k, x in enumerate(parts)]
        x = self.resize(self.joined(*parts, self.time, *made[1:2 + (self.net.n_hints > 0)]),
                        1 / scale)
        return self.joined(x, self.made('Div', self.resize(flows, 1 / scale),
                                        self.number(float(scale))))

    def block(self, x, i):
        net = self.net
        x = self.conv(x, f'block{i}.conv0.0.0', 2)
        x = self.conv(x, f'block{i}.conv0.1.0', 2)
        for k in range(8):
            name = f'block{i}.convblock.{k}'
            y = self.conv(x, f'{name}.conv', active=False)
            if self.changes['beta']:
                y = self.made('Mul', y, self.weights(f'{name}.beta'))
            x = self.leaky(self.made('Add', y, x))
        x = self.made('DepthToSpace', self.conv(x, f'block{i}.lastconv.0', 2, False), attributes=[
            self.int('blocksize', 2), self.string('mode', self.changes['pixels'])])
        x = self.resize(x, net.scales[i])
        if self.changes['split']:
            return self.split(x, self.changes['axis'], 3, *self.changes['split'])
        return [self.cut(x, 0, 4), self.cut(x, 4, 4 + self.changes['cut']),
                self.cut(x, 5, (1 << 63) - 1)][:2 + (net.n_made > 5)]

    def walk(self):
        flows, made = None, None
        for i, scale in enumerate(self.net.scales):
            made = self.block(self.gathered(flows, made, scale), i)
            more = self.made('Mul', made[0], self.number(float(scale)))
            flows = self.made('Add', flows, more) if flows else more
        mask = self.made('Sigmoid', made[1])
        first, second = (self.moved(self.frames[k], flows, k) for k in range(2))
        rest = self.made('Sub', self.number(1.0), mask)
        if self.changes['neg']:
            rest = self.made('Add', self.made('Neg', mask), self.number(1.0))
        return self.made('Add', self.made('Mul', first, mask), self.made('Mul', second, rest))

    def value_info(self, name, channels):
        dims = dict(self.inputs).get(name, (1, 3, 'h', 'w'))
        shape = b''.join(field(1, field(2 if isinstance(dim, str) else 1, dim)) for dim in dims)
        return field(1, name) + field(2, field(1, field(1, self.TYPES[self.kind]) +
                                               field(2, shape)))

    def data(self):
        inputs = b''.join(field(11, self.value_info(name, 0)) for name, _ in self.inputs)
        graph = (b''.join(field(1, n) for n in self.nodes) + field(2, 'graph') +
                 b''.join(field(5, t) for t in self.initializers) + inputs +
                 field(12, self.value_info(self.result, 3)) * self.changes['outputs'])
        return (field(1, 8) + field(2, 'test') + field(7, graph) +
                field(8, field(1, '') + field(2, self.opset)))
