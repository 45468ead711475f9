# SPDX-License-Identifier: MIT
"""ONNX files that compute with the picture's size: what they resize, pad, cut and reshape to."""
from graph_files import Net, Onnx, compact, esrgan, field, packed

H, W = 12, 8
FAR = 1 << 60


def first(model, old, new):
    """The file with the first node or tensor that has `old` changed."""
    for parts in (model.nodes, model.initializers):
        for i, part in enumerate(parts):
            if old in part:
                parts[i] = part.replace(old, new, 1)
                return model.data()
    raise ValueError(f'{old} is nowhere')


class Padded(Onnx):
    """Pads pictures by constants."""

    def pad(self, *pads):
        self.node('Pad', ['input', self.constant('pads', [8], pads, 'q')], ['padded'],
                  [self.string('mode', 'reflect')])

    def cut(self, *_):
        pass


def padded_again(*, is_first):
    """Pads the input once more, or after it was read."""
    model = folded() if is_first else Onnx(compact())
    model.made('Pad', 'input', [0] * 7 + [1], attributes=[model.string('mode', 'reflect')])
    return model.data()


def folded(style='legacy', multiples=(2, 2), scale=2):
    """What mirrors pictures to a multiple, and cuts again."""
    return Onnx(esrgan(n_up=2, unshuffle=2), opset=11 if style == 'legacy' else 17, size=(H, W),
                edge=(style, multiples, scale))


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
BROKEN_SIZES = [
    ('combines 1 numbers with 0', lambda: with_node('Add', ['one', ''])),
    ('combines numbers in 1 rows with such in 2', lambda: with_node('Add', ['row', 'column'])),
    ('combines 0 numbers with 1', lambda: with_node('Mul', ['none', 'one'])),
    ('cuts in a way', lambda: with_node('Slice', ['sizes', 'one', 'rows'])),
    ('pads otherwise', lambda: first(folded(), b'reflect', b'wrapped'),
     *[Padded(compact(), edge=[int(k == i) for k in range(8)]).data for i in range(6)],
     lambda: padded_again(is_first=True), lambda: padded_again(is_first=False)),
    ("isn't what is missing to the next", *[folded(multiples=n).data for n in (
        (3, 3), (2, 3), (3, 2), (0, 0), (66, 66))]),
    ('an edge that stays', uncut),
    ('reads a picture without the edge', beside),
    ('reads a picture whose edge was cut off', behind),
    ('cuts pictures', folded('dynamo', scale=1).data),
    ('Einsum', lambda: first(folded(), field(4, 'Gather'), field(4, 'Einsum'))),
]


def one_conv():
    net = Net(3)
    net.conv(0, 'a', 3)
    return net


def listed(o, *parts):
    return o.made('Concat', *parts, attributes=[o.int('axis', 0)])


def cast(o, x, to):
    return o.made('Cast', x, attributes=[o.int('to', to)])


def floats(o, *values):
    return o.constant(f'f{len(o.nodes)}_{len(o.initializers)}', [len(values)], values, 'f')


def table(o, rows, *values):
    return o.constant(f't{len(o.nodes)}', [rows, len(values) // rows], values, 'q')


def of_attribute(o, name, number, kind, *values):
    return o.made('Constant', attributes=[o.attribute(name, kind, number, *values)])


def turned(o, x, *perm):
    return o.made('Transpose', x, attributes=[o.ints('perm', *perm)] if perm else [])


def shape(o, x='input', **limits):
    return o.made('Shape', x, attributes=[o.int(k, v) for k, v in limits.items()])


def short(o, x):
    """The same as 32 bit integers."""
    name = f'i{len(o.initializers)}'
    o.initializers.append(field(1, len(x)) + field(2, 6) + field(8, name) +
                          field(9, packed(x, 'i')))
    return name


def halves(o, s, last):
    """Half of the last two of four, which isn't whole, and twice that."""
    half = o.made('Div', last(cast(o, s, 1)), last(floats(o, 1.0, 1.0, 2.0, 2.0)))
    return cast(o, o.made('Mul', half, floats(o, 2.0)), 7)


# Of the shape s that comes in: its height and width, a list of integers.
SIZES = {
    'a part': lambda o, s: o.made('Slice', s, [2], [4]),
    'a part, from the end': lambda o, s: o.made('Slice', s, [-2], [FAR], [0], [1]),
    'beyond the beginning': lambda o, s: o.made('Slice', o.made('Slice', s, [-9], [4]), [2], [9]),
    'backwards': lambda o, s: o.made('Gather', o.made('Slice', s, [-1], [1], [0], [-1]), [1, 0]),
    'backwards, all': lambda o, s: o.made('Gather', o.made('Slice', s, [9], [-9], [0], [-1]),
                                          [1, -4]),
    'by two': lambda o, s: listed(
        o, o.made('Gather', o.made('Slice', s, [0], [3], [0], [2]), [1]),
        o.made('Gather', o.made('Slice', s, [-1], [-FAR], [0], [-2]), [0])),
    'the last': lambda o, s: o.made('Gather', s, [-2, -1]),
    'one by one': lambda o, s: listed(o, o.made('Unsqueeze', o.made('Gather', s, 2), [0]),
                                      o.made('Reshape', o.made('Gather', s, -1), [-1])),
    'one, and back': lambda o, s: listed(o, o.made('Reshape', o.made('Squeeze', o.made(
        'Gather', s, [2])), [1]), o.made('Gather', s, [3])),
    'from a start': lambda o, _: shape(o, start=-2),
    'up to an end': lambda o, _: listed(o, shape(o, start=2, end=-1), shape(o, start=3, end=9)),
    'of a result': lambda o, _: shape(o, o.result, start=2, end=4),
    'how many': lambda o, s: o.made('Div', o.made('Mul', o.made('Slice', s, [2], [4]),
                                                  shape(o, s)), 4),
    'less and more': lambda o, s: o.made('Sub', 90000, o.made(
        'Add', [-5, -5], o.made('Sub', 90005, o.made('Slice', s, [2], [4])))),
    'a list of one': lambda o, s: listed(o, o.made('Add', 0, o.made('Gather', s, [2])),
                                         o.made('Mul', o.made('Gather', s, [3]), 1)),
    'halves': lambda o, s: halves(o, s, lambda x: o.made('Slice', x, [2], [4])),
    'halves, gathered': lambda o, s: halves(o, s, lambda x: o.made('Gather', x, [2, 3])),
    'halves, joined': lambda o, s: halves(o, s, lambda x: listed(
        o, *[o.made('Gather', x, [i]) for i in (2, 3)])),
    'halves, turned': lambda o, s: halves(o, s, lambda x: o.made('Gather', o.made(
        'Reshape', turned(o, o.made('Reshape', x, [2, 2])), [4]), [1, 3])),
    'cut to integers': lambda o, s: cast(o, o.made('Add', cast(o, o.made(
        'Slice', s, [2], [4]), 10), floats(o, 0.75)), 6),
    'rests': lambda o, s: o.made('Add', o.made('Slice', s, [2], [4]), o.made('Sub', o.made(
        'Mod', o.made('Mul', o.made('Slice', s, [2], [4]), -1), 16), o.made('Mod', o.made(
            'Sub', 16, o.made('Mod', o.made('Slice', s, [2], [4]), 16)), 16))),
    'filled': lambda o, s: o.made('Mul', o.made('Slice', s, [2], [4]), o.made(
        'ConstantOfShape', [2], attributes=[o.attribute('value', 4, 5, o.tensor('', [1], [1], 'q'))
                                            ])),
    'filled with nothing': lambda o, s: o.made('Add', o.made('Slice', s, [2], [4]),
                                               o.made('ConstantOfShape', [2])),
    'columns': lambda o, s: o.made('Slice', o.made('Reshape', turned(o, o.made(
        'Reshape', listed(o, s, [5, 6]), [3, -1]), 1, 0), [6]), [1], [5], [0], [3]),
    'rows': lambda o, s: o.made('Reshape', o.made('Slice', o.made(
        'Reshape', listed(o, [1, 2], s), [-1, 2]), [2], [3], [0]), [-1]),
    'rows backwards': lambda o, s: o.made('Reshape', o.made('Slice', o.made(
        'Reshape', s, [2, 2]), [-1], [0], [0], [-1]), [2]),
    'a table': lambda o, s: o.made('Reshape', o.made('Slice', o.made('Sub', o.made(
        'Reshape', o.made('Add', s, [0, 0, 7, 8]), [2, 2]), table(o, 2, 0, 0, 7, 8)), [1], [2]),
        [-1]),
    'of attributes': lambda o, s: o.made('Mul', o.made('Gather', s, of_attribute(
        o, 'value_ints', 8, 7, 2, 3)), of_attribute(o, 'value_int', 3, 2, 1)),
    'of 32 bits': lambda o, s: o.made('Sub', o.made('Slice', s, short(o, [2]), short(o, [FAR >> 31
                                                                                       ])),
                                      short(o, [0, 0])),
}


def resized(make, style='sizes'):
    """To twice the sizes that it makes: an odd number more, divided as integers are; "unread": they
    are for nothing."""
    o = Onnx(one_conv())
    s = shape(o)
    made = make(o, s)
    if style == 'unread':
        return o.data()
    twice = o.made('Div', o.made('Add', o.made('Mul', made, 4), 1), 2)
    sizes = listed(o, [1, 3], twice)
    if style == 'scales':
        sizes = o.made('Div', cast(o, sizes, 1), cast(o, s, 1))
    o.result = o.made('Resize', o.result, '', *([''] if style == 'sizes' else []), sizes,
                      attributes=[o.string('mode', 'nearest'), o.string('nearest_mode', 'floor'),
                                  o.string('coordinate_transformation_mode', 'asymmetric')])
    return o.data()


def plainly_resized():
    net = one_conv()
    net.resize(1, 2)
    return Onnx(net).data()


def cube(o):
    return o.constant(f'd{len(o.nodes)}', [1, 1, 2], [2, 3], 'q')


# Those that aren't that, or can't be followed.
NO_SIZES = [
    ('given size', lambda o, s: o.made('Add', o.made('Slice', s, [2], [4]), 1),
     lambda o, s: o.made('Gather', s, [3, 2]), lambda o, s: o.made('Slice', s, [1], [4]),
     lambda o, s: o.made('Mul', o.made('Div', o.made('Slice', s, [2], [4]), 2), 2)),
    ("takes what isn't there", lambda o, s: o.made('Gather', s, [4]),
     lambda o, s: o.made('Gather', s, [-5]),
     lambda o, s: o.made('Gather', o.made('Reshape', s, [2, 2]), [1])),
    ('cuts in a way', lambda o, s: o.made('Slice', s, [2], [4], [0], [0]),
     lambda o, s: o.made('Slice', s, [2, 0], [4, 1]),
     lambda o, s: o.made('Slice', o.made('Reshape', s, [2, 2]), [0], [1], [1]),
     lambda o, s: o.made('Slice', s, [2], [4], [0, 0])),
    ('joins numbers that are no list',
     lambda o, s: listed(o, *[o.made('Gather', s, i) for i in (2, 3)])),
    ('numbers of 3 dimensions', lambda o, s: o.made('Reshape', s, [1, 2, 2])),
    ('to a constant shape', lambda o, s: o.made('Reshape', s, [-1, -1]),
     lambda o, s: o.made('Reshape', s, [-2]),
     lambda o, s: o.made('Reshape', s, o.made('Gather', s, [2]))),
    ('is of 4 numbers, not 3', lambda o, s: o.made('Reshape', s, [3])),
    ('of 4 numbers, not 3', lambda o, s: o.made('Reshape', s, [3, -1])),
    ('is of 4 numbers, not 0', lambda o, s: o.made('Reshape', s, [0, -1])),
    ('no single number', lambda o, s: o.made('Unsqueeze', s, [0])),
    ('is of 4 numbers, not 1', lambda o, s: o.made('Squeeze', s)),
    ('no table of numbers', turned, lambda o, s: turned(o, o.made('Reshape', s, [2, 2]), 0, 1)),
    ('more than 64 numbers', lambda o, s: o.made('ConstantOfShape', o.made('Gather', s, [2])),
     lambda o, s: o.made('Gather', s, [2] * 65), lambda o, s: o.made('ConstantOfShape', [65]),
     lambda o, s: o.made('Add', o.made('Gather', s, 2), [1] * 65),
     lambda o, s: listed(o, *[s] * 17)),
    ('has 65 inputs', lambda o, s: listed(o, *[o.made('Slice', s, [0], [0])] * 65)),
    ('holds 8 bit integers', lambda o, s: o.made('ConstantOfShape', [2], attributes=[
        o.attribute('value', 4, 5, field(1, 1) + field(2, 3) + field(9, bytes(1)))])),
    ('constants of 3 dimensions', lambda o, s: o.made('ConstantOfShape', [2], attributes=[
        o.attribute('value', 4, 5, o.tensor('', [1, 1, 1], [1], 'q'))])),
    ("asked of what isn't pictures", lambda o, s: shape(o, o.made('Unsqueeze', 'input', [2]))),
    ('nothing that follows from the picture', lambda o, s: o.made('Slice', s, 'input', [4])),
    *[('constants of 3 dimensions', lambda o, s, kind=kind: o.made(kind, cube(o), s)) for kind in (
        'Add', 'Cast', 'Concat', 'ConstantOfShape', 'Gather', 'Reshape', 'Shape', 'Slice',
        'Squeeze', 'Transpose', 'Unsqueeze')],
]

# Where pixel i of a picture enlarged by f comes from, and how that is rounded.
WHERE = {
    'asymmetric': lambda i, f: i / f,
    'half_pixel': lambda i, f: (i + 0.5) / f - 0.5,
    'pytorch_half_pixel': lambda i, f: (i + 0.5) / f - 0.5,
    'tf_half_pixel_for_nn': lambda i, f: (i + 0.5) / f,
    'align_corners': lambda i, f: -1,
}
ROUNDED = {
    'floor': lambda x: x // 1,
    'ceil': lambda x: -(-x // 1),
    'round_prefer_floor': lambda x: -(-(x - 0.5) // 1),
    'round_prefer_ceil': lambda x: (x + 0.5) // 1,
}


def nearest(factor, where, how):
    """A file that takes the nearest pixels by these rules, and whether they are those that vrtd
    takes."""
    net = one_conv()
    net.resize(net.resize(1, factor, where=where, how=how), 2)
    n = 8
    found = [min(max(ROUNDED[how](WHERE[where](i, factor)), 0), n - 1)
             for i in range(int(n * factor))]
    return Onnx(net).data(), found == [i / factor // 1 for i in range(int(n * factor))]
