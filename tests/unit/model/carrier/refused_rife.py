# SPDX-License-Identifier: MIT
"""RIFE in files that state a graph: such as are what it is, said otherwise, and such as aren't,
with what the refusal says."""
import math
import struct

from graph_files import NCNN_F32, field, packed
from rife_files import Rife, RifeNcnn, RifeOnnx

UNFIT = "sizes that don't fit"
NO_CONV = "isn't a convolution as RIFE has them"

# What is there of RIFE: four blocks and five, with hints and without, 4.25.lite as it is exported.
RIFE = {
    '4.18': {},
    '4.22': {'n_made': 13, 'n_hints': 8},
    '4.25': {'widths': (8, 6, 6, 4, 4), 'n_made': 13, 'n_hints': 8, 'scales': (16, 8, 4, 2, 1)},
    'lite': {'widths': (6, 4, 4, 4, 24), 'n_made': 13, 'n_hints': 8, 'scales': (16, 8, 4, 2, 1)},
    'five, no hints': {'widths': (4, 4, 4, 4, 4), 'scales': (16, 8, 4, 2, 1), 'features': 2},
}


def of(rife, kind, number=0):
    return [layer for layer in rife.layers if layer[0] == kind][number]


def edited(how):
    """The file, once `how` has changed its layers."""
    return lambda rife: (how(rife), rife.joined())[1]


def change(kind, number, old, new):
    """Layer `number` of a kind, with other parameters."""
    def how(rife):
        layer = of(rife, kind, number)
        assert old in layer[4], layer
        layer[4] = layer[4].replace(old, new, 1)
    return edited(how)


def become(kind, number, other):
    return edited(lambda rife: of(rife, kind, number).__setitem__(0, other))


def read(kind, number, place, other):
    """Layer `number` of a kind reads what `other` tells instead."""
    return edited(lambda rife: of(rife, kind, number)[2].__setitem__(place, other(rife)))


def weights(kind, number, how):
    return edited(lambda rife: of(rife, kind, number).__setitem__(5, how(of(
        rife, kind, number)[5])))


def without_encode(rife):
    """As RIFE was before: what comes in goes to the blocks alone."""
    shape = [4, 7, 3, 3]
    rife.net.names['block0.conv0.0.0.weight'] = shape, [0.0] * math.prod(shape)
    rife.features = []
    rife.layers = [layer for layer in rife.layers if layer[0] in ('Input', 'MemoryData')]
    time = of(rife, 'Input', 2)[3][0]
    x = rife.resize(rife.layer('Concat', [*rife.frames, time]), 0.125)
    x = rife.conv(x, 'block0.conv0.0.0', 2)
    rife.layer('rife.Warp', [rife.frames[0], rife.cut(x, 0, 2)])
    return rife.joined()


def second_encode(rife):
    tensors = {name: (shape, [-v for v in values])
               for name, (shape, values) in rife.net.names.items()}
    return RifeNcnn(rife.net, second_encode=tensors).joined()


def slice_of(sizes):
    """What a block makes is cut into these, by ncnn's Slice."""
    return lambda _: change('Slice', 0, '4,1,-233 1=0', f'{sizes} 1=0')(
        RifeNcnn(Rife(**RIFE['4.22']), 'pnnx'))


def behind(kind, more=(), params='', n_out=1):
    """One more layer, of the result."""
    return lambda rife: rife.layer(kind, [rife.result, *more], '', params,
                                   n_out=n_out) and rife.joined()


def layers(n):
    """So many of them: those behind the result leave it as it is."""
    def changed(rife):
        for _ in range(n - int(rife.joined().split()[1])):
            rife.result = rife.layer('Noop', [rife.result])
        return rife.joined()
    return changed


def constant(rife, n=4096):
    return rife.layer('MemoryData', [], '', f'0=1 1=1 2={n}', packed([0.5] * n))


def chain(first, n, make):
    """Something, and n times what is made of what comes before."""
    return lambda rife: [first(rife)] + [make(rife, rife.layers[-1][3][0]) for _ in range(
        n)] and rife.joined()


def half_a_time(rife):
    time = of(rife, 'Input', 2)
    time[0], time[4:] = 'MemoryData', ['0=1', packed([0.5])]
    return rife.joined()


def clipped(rife):
    rife.layers.insert(3, ['Clip', 'clip', ['in0'], ['clipped'], '0=0.0 1=1.0', b''])
    of(rife, 'Convolution')[2] = ['clipped']
    return rife.joined()


def stored(rife):
    """A number that is added comes with the weights."""
    rife.layers.insert(3, ['MemoryData', 'one', [], ['one'], '0=1 1=1 2=1', packed([1.0])])
    of(rife, 'BinaryOp', 1)[2].append('one')
    return change('BinaryOp', 1, '0=0 1=1 2=1', '0=0')(rife)


def taken_away(rife):
    """Flows of the second block, with the other sign."""
    change('BinaryOp', 34, '2=4.0', '2=-4.0')(rife)
    return change('BinaryOp', 35, '0=0', '0=1')(rife)


ISNT = "isn't RIFE 4.15 to 4.26 as vrtd runs it"

# What the ncnn file of a RIFE of 4.18 becomes, and what the refusal says.
BROKEN_RIFE = [
    ('ends after 47 of 310 layers', lambda r: r.joined()[:r.joined().index(b'Deconvolution')]),
    ('bytes of weights where the .bin has', lambda r: r.joined()[:-4]),
    ('.bin has 4 bytes more', lambda r: r.joined() + bytes(4)),
    ('are missing', lambda r: r.joined()[:r.joined().index(b'out0\n') + 5]),
    ('UnaryOp "Sigmoid_', become('Sigmoid', 0, 'UnaryOp')),
    ('block0.convblock.1.conv', change('ReLU', 0, '0=2.0', '0=1.0')),
    ('its encode.cnn1', change('Convolution', 0, '1,2.0', '1,1.0')),
    ('its encode.cnn2', change('Convolution', 1, ' 9=2', ' 9=0')),
    ('its encode.cnn0', change('Convolution', 0, '3=2', '3=1'), without_encode),
    ('161 weights, not 6 outputs', change('Convolution', 0, '6=162', '6=161')),
    ('8 bit integers', weights('Convolution', 0, lambda w: struct.pack('<I', 0x000D4B38) + w[4:])),
    ('not finite', weights('Convolution', 6, lambda w: NCNN_F32 + packed([math.nan]) + w[8:]),
     weights('MemoryData', 0, lambda w: packed([math.inf]) + w[4:])),
    ('combines 8 channels with 7',
     lambda r: weights('MemoryData', 0, lambda w: w[:-4])(r) and
     change('MemoryData', 0, '2=8', '2=7')(r)),
    ('its block0.convblock.1.conv',
     read('BinaryOp', 4, 0, lambda r: of(r, 'Convolution', 8)[3][0])),
    ('its block0 ',
     change('Interp', 0, '1=1.250000e-01 2=1.250000e-01', '1=3.333333e-01 2=3.333333e-01')),
    ('its result or block2', change('Eltwise', 0, '4.0', '2.0')),
    ('its result or block1', change('Crop', 6, '9=1,0 -23310=1,2', '9=1,2 -23310=1,4'),
     read('rife.Warp', 2, 0, lambda r: r.features[1])),
    (ISNT, change('Crop', 4, '9=1,4 -23310=1,5', '9=1,5 -23310=1,6')),
    ('its result or block4', become('Sigmoid', 0, 'Noop'), change('BinaryOp', -3, '2=1.0', '2=2.0'),
     read('BinaryOp', -2, 0, lambda r: of(r, 'rife.Warp', -2)[3][0])),
    ('other weights for the second picture', second_encode),
    ('network of 2 blocks', lambda _: RifeNcnn(Rife(widths=(8, 6), scales=(8, 4))).joined()),
    ('reads "nothing", which no layer', read('Sigmoid', 0, 0, lambda _: 'nothing')),
    ('another layer has made', edited(lambda r: of(r, 'Sigmoid')[3].__setitem__(0, 'in0'))),
    ('network has 2 inputs; RIFE has three: two pictures and the time', half_a_time),
    ('has 4097 layers, more than RIFE has', layers(4097)),
    ('one of more than 128 convolutions', chain(lambda rife: rife.conv(
        rife.frames[0], 'encode.cnn0'), 128, lambda rife, x: rife.conv(x, 'encode.cnn1'))),
    ('one of more than 256 constants', chain(constant, 256, lambda rife, _: constant(rife, 1))),
    ('makes more channels than a network of such layers has', chain(
        constant, 128, lambda rife, _: constant(rife))),
    ('one of more than a network of such layers has', chain(
        constant, 1024, lambda rife, x: rife.layer('Concat', [x]))),
]
# Layers that are told otherwise, by what is said of them.
for part, others in {
        f'{NO_CONV}: 3 by 3, or 4 by 4 transposed, of f32 or f16, with a bias': [
            *[('Convolution', 0, ' 6=', f' {more} 6=') for more in (
                '2=2', '8=2', '11=5', '12=2', '13=1', '14=0', '15=0', '16=0', '18=1')],
            *[('Deconvolution', 0, ' 6=', f' {more} 6=') for more in (
                '2=2', '11=5', '14=0', '18=1', '19=1', '20=1', '21=1')],
            *[('Convolution', 0, old, new) for old, new in (
                ('1=3', '1=1'), ('1=3', '1=2147483647'), ('3=2', '3=3'), ('4=1', '4=0'),
                ('5=1', '5=0'), (' 4=1', ''), (' 5=1', ''),
                ('0=6 1=3', '0=2147483647 1=2147483647'))],
            *[('Deconvolution', 0, old, new) for old, new in (
                ('1=4', '1=3'), ('3=2', '3=1'), ('4=1', '4=0'))],
            *[('Convolution', 1, ' 9=2', f' 9={n}') for n in (-1, 3)]],
        'resizes otherwise than by one factor, bilinear, corners not aligned': [
            ('Interp', 0, old, new) for old, new in (
                ('2=1.25', '2=2.5'), ('0=2', '0=1'), ('0=2', '6=1 0=2'), ('0=2', '0=2 3=5'),
                ('0=2', '0=2 4=5'))],
        'has 162 weights, not 4097 outputs times 3': [('Convolution', 0, '0=6', '0=4097')],
        'has 162 weights, not 0 outputs times 3': [('Convolution', 0, '0=6', '0=0')],
        'holds 1 by 1 by -8 numbers': [('MemoryData', 0, '2=8', '2=-8')],
        'holds 1 by 1 by 8 numbers; vrtd takes': [('MemoryData', 0, '2=8', '2=8 11=1')],
        'holds 1 by 2 by 8 numbers': [('MemoryData', 0, '1=1', '1=2')],
        'holds 1 by 1 by 4097 numbers': [('MemoryData', 0, '2=8', '2=4097')],
        'holds 2 by 1 by 8 numbers': [('MemoryData', 0, '0=1', '0=2')],
        'holds 0 by 1 by 8 numbers': [('MemoryData', 0, '0=1 ', '')],
        'holds 1 by 0 by 8 numbers': [('MemoryData', 0, ' 1=1', '')],
        'holds 8 by 2 by 0 numbers': [('MemoryData', 0, '0=1 1=1 2=8', '0=8 1=2')],
        'is of kind 4, which RIFE doesn\'t compute': [('BinaryOp', 1, '0=0', '0=4')],
        'is of kind 3 with 2 inputs, which': [('BinaryOp', 2, '0=2', '0=3')],
        'is of kind -1 with 2 inputs, which': [('BinaryOp', 2, '0=2', '0=-1')],
        'is of kind 2, which RIFE doesn\'t compute': [('Eltwise', 0, '0=1', '0=2')],
        'its result or block2': [('Eltwise', 0, '0=1', '0=0')],
        'joins along axis 1; RIFE joins channels': [('Concat', 0, '', '0=1')],
        'cuts something else than channels': [
            ('Crop', 0, '-23309=1,0', '-23309=2,0,0'), ('Crop', 0, '-23309=1,0', '-23309=1,-1'),
            ('Crop', 0, '-23311=1,0', '-23311=1,1'), ('Crop', 0, '9=1,0', '9=1,2')],
        'combines 0 channels with 1': [('Crop', 0, '-23310=1,1', '-23310=1,0')],
        'moves a picture by 3 channels, not 2': [('Crop', 6, '-23310=1,2', '-23310=1,3')],
        'moves pixels otherwise than by 2': [('PixelShuffle', 0, '0=2', '0=4'),
                                             ('PixelShuffle', 0, '0=2', '0=2 1=1')],
        'an input of 4 channels, the 1. of all': [('Input', 0, '', '0=8 1=8 2=4')]}.items():
    BROKEN_RIFE.append((part, *[change(*other) for other in others]))
for sizes, part in (('4,3e38,-233', 'cuts 3e+38 of 9 channels'), ('4,nan,-233', 'of 9 channels'),
                    ('4,0,-233', 'cuts 0 of 9 channels'), ('4,1,9', 'cuts 9 of 8 channels'),
                    ('4,1,-233 1=1', 'cuts 4 of 13 channels')):
    BROKEN_RIFE.append((part, slice_of(sizes)))
# One more layer behind the others, of the result: its kind, what else it reads, how it is told.
for kind, more, params, part in (
        ('Sigmoid', ['nothing'], '', 'Sigmoid_265" has 2 inputs'), ('Sigmoid', [], '', 'block4'),
        ('Tanh', [], '', 'Tanh "Tanh_265" is a layer that no RIFE has'),
        ('Concat', ['nothing'], '', 'reads "nothing", which no layer before it makes'),
        ('PixelShuffle', [], '0=2', 'is to move pixels by 2 of 3 channels'),
        ('Interp', ['in0'], '0=2', 'resizes otherwise'), ('Input', [], '', 'has 1 inputs'),
        *[('Clip', [], limits, 'cuts off numbers where RIFE doesn\'t') for limits in (
            '0=0.25 1=1', '0=0.0 1=0.75')]):
    BROKEN_RIFE.append((part, behind(kind, more, params)))
BROKEN_RIFE += [
    ('makes 2 blobs', behind('Sigmoid', n_out=2)),
    ('is an input of 1 channels, the 4. of all; RIFE has two of three and one of one',
     edited(lambda rife: rife.layer('Input', []))),
]

# What is the same RIFE of 4.22: in the manner of which exporter, and what becomes of it.
SAME_RIFE = {
    'a difference': ('onnx', change('BinaryOp', 1, '0=0 1=1 2=1', '0=1 1=1 2=-1')),
    'a number of the weights': ('onnx', stored),
    'a difference of flows': ('pnnx', taken_away),
    'a product of Eltwise': ('pnnx', edited(lambda r: of(r, 'BinaryOp', -4).__setitem__(
        slice(None), ['Eltwise', 'mul', *of(r, 'BinaryOp', -4)[2:4], '0=0', b'']))),
    'a product': ('pnnx', change('BinaryOp', 16, '0=2 1=1 2=8.0', '0=3 1=1 2=0.125')),
    'parts of one size': ('pnnx', change('Slice', 0, '3,4,1,-233', '3,-233,1,8')),
    'cut off': ('onnx', behind('Clip', params='0=0.0 1=1.0')),
    'cut off nowhere': ('pnnx', behind('Clip')),
    'pictures cut off': ('pnnx', clipped),
    'as many layers as there may be': ('onnx', layers(4096)),
}


def rife_onnx(style='three', **changes):
    return lambda: RifeOnnx(Rife(), style, **changes).data()


def of_inputs(*dims):
    def made():
        onnx = RifeOnnx(Rife())
        onnx.inputs = [(f'in{i}', sizes) for i, sizes in enumerate(dims)]
        return onnx.data()
    return made


def conv(kind, shape, n_bias, **attributes):
    """One more convolution, of the result."""
    def added(o, x):
        bias = [o.floats([n_bias], [0.0] * n_bias)] if n_bias else []
        return o.made(kind, x, o.floats(shape, [0.0] * math.prod(shape)), *bias, attributes=[
            o.ints(name, *values) for name, values in attributes.items()])
    return added


def linear(*factors, more=()):
    return lambda o, x: o.made('Resize', x, '', o.floats([4], list(factors)), attributes=[
        o.string('mode', 'linear'), o.string('coordinate_transformation_mode', 'half_pixel'),
        *[o.int(name, 1) for name in more]])


def cut(*limits):
    return lambda o, x: o.made('Slice', x, *[[n] for n in limits])


def last(o, x):
    return o.made('Transpose', x, attributes=[o.ints('perm', 0, 2, 3, 1)])


def off(o, x):
    return o.made('Clip', x, o.number(0.0), o.number(1.0))


def joined(axis):
    return lambda o, x: o.made('Concat', x, x, attributes=[o.int('axis', axis)])


def beside(kind, *more):
    """An operation that nothing reads."""
    return lambda o, x: (o.made(kind, x, *more), x)[1]


def no_beta(place):
    net = Rife()
    net.names['block0.convblock.0.beta'][1][place] = math.inf
    return RifeOnnx(net).data()


# What isn't RIFE as ONNX, and what the refusal says.
BROKEN_RIFE_ONNX = [
    ('numbers that are not finite', lambda: no_beta(0), lambda: no_beta(7)),
    ('input "in0" makes what another', lambda: rife_onnx()().replace(field(1, 'in1'), field(
        1, 'in0'))),
    ('numbers that differ from place to place',
     rife_onnx('stored', ended=lambda o, x: o.made('Add', x, o.floats(
        [1, 1, 1, 128], [0.5] * 127 + [0.75])))),
]
# Such as nobody's exporter writes it, by what is said of that.
for part, more in {
        'its encode.cnn1': [{'slope': 0.1}],
        'samples a picture otherwise than RIFE': [
            {'mode': 'nearest'}, {'edge': 'zeros'}, {'corners': 0}],
        'plus a flow in pixels': [{'grid': 0.5}, {'step': 1.5}, {'style': 'stored', 'step': 1.25}],
        'its result or block1': [{'step': 0.5}, {'flip': 1}],
        "turns axes as RIFE doesn't": [{'turn': (0, 3, 1, 2)}],
        'resizes otherwise': [{'resize': 'nearest'}, {'transform': 'align_corners'}],
        'moves pixels otherwise than by 2, or in another order': [{'pixels': 'DCR'}],
        UNFIT: [{'factor': 0.5}, {'cut': 2}, {'split': (3, 2, 1)}, {'split': (4, 2)},
                {'style': 'padded', 'multiple': 16}],
        'cuts something else than channels': [{'axis': 2}, {'split': (16, 16, 32), 'axis': 2}],
        'its block0': [{'style': 'two', 'time': 0.25}],
        'cuts off within 0 and 1': [{'clip': (0.1, 1.0)}],
        'where vrtd goes to a multiple of 32': [{'style': 'padded', 'multiple': 128}],
        'pads otherwise': [{'style': 'padded', **how} for how in (
            {'pad': 'reflect'}, {'filled': [0.5]}, {'pad_time': True},
            {'before': [0, 0, 1, 0, 0, 0]}, {'before': [0, 0, 0, 1, 0, 0]})],
        'has 2 outputs': [{'outputs': 2}]}.items():
    BROKEN_RIFE_ONNX.append((part, *[rife_onnx(**changes) for changes in more]))
# The same with one more operation at its end, by what is said of that.
P1, P2, S1, S2 = {'pads': [1] * 4}, {'pads': [2] * 4}, {'strides': [1] * 2}, {'strides': [2] * 2}
for part, more in {
        f'{NO_CONV}: 3 by 3, or 4 by 4 transposed, with a bias': [
            conv('Conv', [3, 3, 5, 5], 3, **P2), conv('Conv', [3, 3, 3, 1], 3, **P1),
            conv('Conv', [3, 3, 1, 3], 3, **P1), conv('Conv', [3, 3, 3, 3], 3),
            conv('Conv', [3, 3, 3, 3], 3, **P2),
            conv('Conv', [3, 3, 3, 3], 3, **P1, strides=[3, 3]),
            conv('Conv', [3, 3, 3, 3], 3, **P2, dilations=[2, 2]),
            conv('Conv', [3, 3, 3, 3], 0, **P1), conv('Conv', [3, 3, 3, 3], 4, **P1),
            conv('ConvTranspose', [3, 3, 3, 3], 3, **P1, **S2),
            conv('ConvTranspose', [3, 3, 4, 4], 3, **P1, **S1),
            conv('ConvTranspose', [3, 3, 4, 4], 3, **P1, **S2, output_padding=[1, 1]),
            conv('ConvTranspose', [3, 4, 4, 4], 3, **P1, **S2)],
        'its result or block4': [conv('Conv', [3, 3, 3, 3], 3, **P1), cut(0, 2, 1, 1)],
        'cuts something else than channels': [
            cut(1, 999, 2, 1), cut(2, 2, 1, 1), cut(-1, -999, 1, -1), cut(-1, -999, 2, -1),
            lambda o, x: cut(0, 2, 1, 1)(o, last(o, x))],
        UNFIT: [cut(0, 999, 2, 2), cut(0, 3, 1, 2), beside('Add', [0] * 5), lambda o, x: o.made(
            'GridSample', x, last(o, x)), beside('Div', [1, 2])],
        'reads what was cut off': [lambda o, x: o.leaky(cut(0, 9, 2, 1)(o, x)),
                                   lambda o, x: o.leaky(off(o, x))],
        'reads channels that come last': [lambda o, x: o.leaky(last(o, x))],
        "turns axes as RIFE doesn't": [
            lambda o, x: last(o, last(o, x)), lambda o, x: last(o, off(o, x)), lambda o, x: o.made(
                'Transpose', x, attributes=[o.ints('perm', 0, 3, 2, 1)])],
        'gives pictures of another size than come in': [
            cut(0, 9, 2, 1), cut(0, 9, 3, 1), last, linear(1, 1, 2, 2), linear(1, 1, 0.5, 0.5)],
        'resizes otherwise than by one factor, bilinear': [
            linear(1, 1, 0.5, 1), linear(1, 2, 1, 1), linear(1, 1, 1, 1, more=['antialias'])],
        'divides by more than a number': [
            lambda o, x: o.made('Div', x, x), lambda o, x: o.made('Div', x, o.number(0.0)),
            lambda o, x: o.made('Div', x, o.floats([3, 1, 1], [1.0, 2.0, 2.0]))],
        "reads numbers that vrtd can't follow": [
            lambda o, x: o.made('Add', x, o.floats([2, 3, 1, 1], [1.0] * 6)),
            lambda o, x: o.made('Add', x, o.floats([1, 1, 3, 1, 1], [1.0] * 3))],
        'has numbers for each place of more than three channels': [
            lambda o, x: o.made('Add', o.features[0], o.floats([4, 1, 128], [0.0] * 512))],
        'numbers that differ from place to place': [
            lambda o, x: o.made('Add', x, o.number(math.inf)),
            lambda o, x: o.made('Add', x, o.floats([128], [0.5] * 127 + [0.5011]))],
        "moves samples as RIFE doesn't": [
            lambda o, x: o.made('Reshape', x, [1, 3, -1]), lambda o, x: o.made('Squeeze', x, [0]),
            lambda o, x: o.made('Expand', x, [2, 1, 1, 1]),
            lambda o, x: o.made('Expand', o.time, [1, 3, 1, 1])],
        'joins something else than channels': [joined(2), joined(3), joined(0)],
        'moves pixels otherwise than by 2': [lambda o, x: o.made(
            'DepthToSpace', o.features[0], attributes=[o.int('blocksize', 1)])],
        'samples a picture otherwise than RIFE: bilinear': [lambda o, x: o.made(
            'GridSample', o.features[0], last(o, o.grid), attributes=[
                o.string('padding_mode', 'border'), o.int('align_corners', 1)])],
        'reads "nothing", which no operation before it makes': [beside('Mul', 'nothing')],
        'is an operation that RIFE hasn\'t got': [beside('Tanh')],
        'makes what another has made before': [lambda o, x: o.node(
            'Sigmoid', [x], [x]) or x]}.items():
    BROKEN_RIFE_ONNX.append((part, *[rife_onnx('stored', ended=op) for op in more]))
PICTURE = 1, 3, 'h', 'w'
for part, *dims in (
        ('input "in3" isn\'t one of RIFE\'s, which are two', PICTURE, PICTURE, (1,), (1,)),
        ('input "in1" isn\'t one of RIFE\'s', PICTURE, (1, *PICTURE), (1,)),
        ('input "in1" isn\'t one of RIFE\'s', PICTURE, (1, 3, 'h', 1 + (1 << 14)), (1,)),
        ('file has no pictures as its first input', (1,), PICTURE, PICTURE),
        ('file has no pictures as its first input',),
        *[(f'whose file has {len(inputs)} inputs of {n} channels in all; those of RIFE that vrtd '
           'reads have', *[(1, n_each, 'h', 'w') for n_each in inputs]) for n, *inputs in (
               (5, 5), (9, 9), (10, 10), (12, 12), (12, 4096), (9, 3, 3, 3), (8, 7, 1),
               (7, 4, 2, 1), (7, 3, 1, 3))]):
    BROKEN_RIFE_ONNX.append((part, of_inputs(*dims)))

# What is the same: in the manner of which exporter, and by what changes.
SAME_RIFE_ONNX = {
    'other names of modes': rife_onnx(mode='linear', transform='pytorch_half_pixel'),
    'channels left open': of_inputs((1, 'c', 'h', 'w'), (1, 'c', 'h', 'w'), (1,)),
    'passed on': rife_onnx(ended=lambda o, x: o.made('Cast', o.made('Dropout', o.made(
        'Identity', x)), attributes=[o.int('to', 1)])),
    'cut nowhere': rife_onnx(ended=lambda o, x: o.made('Slice', cut(0, 1, 0)(o, x), [0, 0],
                                                       [1, 3])),
    'a part left out': rife_onnx(ended=lambda o, x: o.node(
        'Split', [joined(1)(o, x)], ['', 'part'], [o.int('axis', 1)]) or 'part'),
    'spread to itself': rife_onnx(ended=lambda o, x: o.made('Expand', x, [1, 1])),
    'f16': rife_onnx(kind='e'), 'f16, stored': rife_onnx('stored', kind='e'),
    'padded by nothing': rife_onnx('padded', filled=[0.0]),
    'something beside': rife_onnx(ended=beside('Add', [1])),
}
