# SPDX-License-Identifier: MIT
"""Ways in which an ONNX file can compute constants of others, of [4,3,3,3]: such as leave them what
they are, and such as can't be followed."""

SHAPE = [4, 3, 3, 3]


def axis(o, n):
    return [o.int('axis', n)]


def joined(o, n, *parts):
    return o.made('Concat', *parts, attributes=axis(o, n))


def floats(o, *values):
    return o.floats([len(values)], list(values))


def table(o, *rows):
    return o.constant(f'rows{len(o.nodes)}', [len(rows), len(rows[0])], sum(rows, []), 'q')


def cast(o, x, to):
    return o.made('Cast', x, attributes=[o.int('to', to)])


def turned(o, x, *perm):
    return o.made('Transpose', x, attributes=[o.ints('perm', *perm)] if perm else [])


def gathered(o, x, at, n=0):
    return o.made('Gather', x, at, attributes=axis(o, n))


def shape(o, x, **limits):
    return o.made('Shape', x, attributes=[o.int(k, v) for k, v in limits.items()])


def filled(o, shape, value=None, kind='f'):
    return o.made('ConstantOfShape', shape, attributes=[] if value is None else [
        o.attribute('value', 4, 5, o.tensor('', [1], [value], kind))])


def scattered(o, x, at, rows, *attributes):
    return o.made('ScatterND', x, table(o, *at), rows, attributes=attributes)


def back(o, x, n, first=-1, last=-99):
    return o.made('Slice', x, [first], [last], [n], [-1])


# Moves numbers, and moves them back.
MOVED = {
    'as they are': lambda o, x: o.made('Identity', x),
    'turned': lambda o, x: turned(o, turned(o, x, 1, 3, 0, 2), 2, 0, 3, 1),
    'turned round': lambda o, x: turned(o, turned(o, x)),
    'in slices': lambda o, x: joined(o, 0, o.made('Slice', x, [-9], [1], [0]), o.made(
        'Slice', x, [1], [-1], [-4], [1]), o.made('Slice', x, [-1], [99], [0])),
    'in slices of two axes': lambda o, x: joined(o, 0, o.made('Slice', x, [0, 0], [2, 3]), o.made(
        'Slice', x, [0, 2], [3, 9], [1, 0], [1, 1])),
    'with an empty slice': lambda o, x: joined(o, 1, x, o.made('Slice', x, [2], [1], [1])),
    'backwards': lambda o, x: back(o, back(o, x, 1), 1, 7),
    'backwards, two axes': lambda o, x: back(o, back(o, o.made(
        'Slice', x, [-1, 2], [-99, -4], [0, -1], [-1, -1]), 0), 3),
    'gathered': lambda o, x: gathered(o, gathered(o, x, [2, 0, 1], 1), [1, -1, 0], -3),
    'gathered one by one': lambda o, x: joined(o, 1, *[
        o.made('Unsqueeze', gathered(o, x, i, 1), [1]) for i in range(3)]),
    'gathered as a table': lambda o, x: o.reshape(gathered(o, x, table(o, [0, 1], [2, 3])), *SHAPE),
    'by a range': lambda o, x: gathered(o, gathered(o, x, o.made('Range', 3, -1, -1)), o.made(
        'Range', 3, -1, -1)),
    'repeated': lambda o, x: o.made('Slice', o.made('Tile', x, [2, 1, 1, 3]), [4, 6], [8, 9],
                                    [0, 3]),
    'repeated between': lambda o, x: gathered(o, o.made('Tile', x, [1, 2, 1, 1]), [3, 1, 5], 1),
    'spread': lambda o, x: o.made('Expand', x, [3, 1]),
    'flat': lambda o, x: turned(o, o.reshape(turned(o, o.made('Flatten', x, attributes=axis(o, 2))),
                                             3, 3, 4, 3), 2, 3, 0, 1),
    'flat by the first': lambda o, x: turned(o, o.reshape(turned(o, o.made('Flatten', x)),
                                                          3, 3, 3, 4), 3, 0, 1, 2),
    'flat to its end': lambda o, x: o.reshape(o.made('Flatten', x, attributes=axis(o, 4)), *SHAPE),
    'squeezed': lambda o, x: o.made('Squeeze', o.made('Unsqueeze', x, [0, -1]), [-6, 5]),
    'squeezed where there is one': lambda o, x: o.made('Squeeze', o.made('Unsqueeze', x, [2])),
    'by its shape': lambda o, x: o.made('Reshape', o.reshape(x, -1), shape(o, x)),
    'by parts of its shape': lambda o, x: o.made('Reshape', o.reshape(x, 12, 0, -1), joined(
        o, 0, shape(o, x, end=-2), shape(o, x, start=-2, end=9))),
    'scattered': lambda o, x: scattered(o, x, [[3], [0], [-2], [1]], gathered(o, x, [3, 0, 2, 1])),
    'scattered deeper': lambda o, x: scattered(
        o, x, [[i // 3, i % 3 - 3] for i in range(12)], o.reshape(x, 12, 3, 3)),
    'by truth': lambda o, x: o.made('Where', o.made('Less', x, 0), x, x),
}


def whole(o, x, move):
    """Integers, divided as such once they were moved."""
    x = o.made('Add', cast(o, o.made('Mul', x, o.number(1024.0)), 7), 4096)
    x = move(o, x)
    x = o.made('Add', o.made('Mul', o.made('Div', x, 7), 7), o.made('Mod', x, 7))
    return o.made('Div', cast(o, o.made('Sub', x, 4096), 1), o.number(1024.0))


def halved(o, x, move):
    """Numbers that aren't whole, by such."""
    two = o.made('Expand', o.number(2.0), SHAPE)
    return o.made('Mul', o.made('Div', move(o, x), move(o, two)), o.number(2.0))


def clear(o, x):
    return o.made('Mul', x, o.number(0.0))


# Computes them anew.
COMPUTED = {
    'signs': lambda o, x: o.made('Where', o.made('Less', x, o.number(0.0)), o.made(
        'Neg', o.made('Abs', x)), o.made('Abs', x)),
    'neither less nor the same': lambda o, x: o.made('Where', o.made('Not', o.made(
        'Or', o.made('Less', x, o.number(0.0)), o.made('Equal', x, o.number(0.0)))), o.made(
            'Max', x, o.number(0.0)), o.made('Min', x, o.number(0.0))),
    'between': lambda o, x: o.made('Where', o.made('And', o.made(
        'GreaterOrEqual', x, x), o.made('LessOrEqual', x, x)), x, clear(o, x)),
    'not beyond': lambda o, x: o.made('Where', o.made('Or', o.made('Greater', x, x), o.made(
        'Less', x, x)), clear(o, x), x),
    'both, and none': lambda o, x: o.made('Where', o.made('And', o.made(
        'Less', x, o.number(9.0)), o.made('Less', x, o.number(-9.0))), clear(o, x), x),
    'floors': lambda o, x: o.made('Add', o.made('Floor', x), o.made('Mod', x, o.number(1.0))),
    'ceilings': lambda o, x: o.made('Sub', o.made('Ceil', x), o.made('Mod', o.made('Neg', x),
                                                                     o.number(1.0))),
    'rounded': lambda o, x: o.made('Div', o.made('Round', o.made('Add', o.made(
        'Mul', x, o.number(1024.0)), o.number(0.25))), o.number(1024.0)),
    'cut to integers': lambda o, x: o.made('Div', cast(o, o.made('Sub', cast(o, o.made(
        'Add', o.made('Mul', x, o.number(1024.0)), o.number(4096.75)), 6), 4096), 1),
        o.number(1024.0)),
    'truth': lambda o, x: o.made('Mul', x, cast(o, cast(o, x, 9), 1)),
    'powers': lambda o, x: o.made('Mul', o.made('Div', x, o.made('Pow', o.number(2.0), 3)),
                                  o.number(8.0)),
    'roots': lambda o, x: o.made('Mul', o.made('Sqrt', o.made('Mul', x, x)), o.made(
        'Where', o.made('Less', x, o.number(0.0)), o.number(-1.0), o.number(1.0))),
    'the inverse': lambda o, x: o.made('Mul', o.made('Mul', x, o.made('Reciprocal', o.number(4.0))),
                                       o.number(4.0)),
    'the inverse of an integer': lambda o, x: o.made('Mul', o.made('Mul', x, o.made('Div', o.made(
        'Reciprocal', 2), 2)), o.number(4.0)),
    'a row': lambda o, x: o.made('Sub', o.made('Add', x, o.made('Range', *map(
        o.number, (0.0, 4.0, 1.5)))), floats(o, 0.0, 1.5, 3.0)),
    'a row of halves': lambda o, x: o.made('Sub', o.made('Add', x, o.made('Div', o.made(
        'Range', *map(o.number, (1.0, 4.0, 1.0))), o.made('Range', *map(
            o.number, (2.0, 5.0, 1.0))))), floats(o, 0.5, 2 / 3, 0.75)),
    'a column': lambda o, x: o.made('Sub', o.made('Add', o.floats([3, 1], [1.0, 2.0, 3.0]), x),
                                    o.made('Expand', o.floats([3, 1], [1.0, 2.0, 3.0]), [3, 3])),
    'many, one after the other': lambda o, x: o.made('Mul', x, gathered(o, o.made('Neg', o.made(
        'Neg', o.made('Abs', o.made('Expand', o.number(1.0), [1 << 23])))), 0)),
    'filled': lambda o, x: o.made('Sub', o.made('Add', x, filled(o, shape(o, x), 2.0)),
                                  o.number(2.0)),
    'filled with nothing': lambda o, x: o.made('Add', x, filled(o, [3, 3])),
    'filled with integers': lambda o, x: o.made('Sub', o.made('Add', x, o.made(
        'Div', filled(o, [3], 7, 'q'), 2)), o.number(3.0)),
    'filled with halves': lambda o, x: o.made('Mul', o.made('Div', o.made('Mul', x, filled(
        o, [3], 1.0)), filled(o, [3], 2.0)), o.number(2.0)),
}


def of_attribute(name, number, kind, *values):
    return lambda o: o.made('Constant', attributes=[o.attribute(name, number, kind, *values)])


# Of other weights than the first: what is there is a single number, or a list.
ATTRIBUTES = {
    'a number': ('conv_first.weight', lambda o, x: o.made('Mul', x, of_attribute(
        'value_float', 1, 2, 1.0)(o))),
    'numbers': ('conv_last.bias', lambda o, x: o.made('Constant', attributes=[o.attribute(
        'value_floats', 6, 7, *o.net.names['conv_last.bias'][1])])),
    'an integer': ('conv_first.weight', lambda o, x: gathered(
        o, o.made('Unsqueeze', x, [0]), of_attribute('value_int', 2, 3, 0)(o))),
    'integers': ('conv_first.weight', lambda o, x: o.made('Reshape', o.reshape(x, -1), of_attribute(
        'value_ints', 7, 8, *SHAPE)(o))),
    'integers that are divided': ('conv_first.weight', lambda o, x: o.made('Sub', o.made(
        'Add', x, o.made('Div', of_attribute('value_ints', 7, 8, 7)(o), of_attribute(
            'value_int', 2, 3, 2)(o))), o.number(3.0))),
}

# What isn't known then.
UNKNOWN = {
    'unlike parts': lambda o, x: joined(o, 0, x, gathered(o, x, [0, 1], 1)),
    'parts of other dimensions': lambda o, x: joined(o, 0, x, o.reshape(x, 12, 3, 3)),
    'parts of the unknown': lambda o, x: joined(o, 0, o.made('Tanh', x)),
    'parts along no axis': lambda o, x: joined(o, 4, x),
    'turned twice the same': lambda o, x: turned(o, x, 0, 1, 2, 2),
    'turned to no axis': lambda o, x: turned(o, x, 0, 1, 2, 4),
    'turned by fewer': lambda o, x: turned(o, x, 0, 2, 1),
    'fewer': lambda o, x: o.reshape(x, 4, 3, 3),
    'two left over': lambda o, x: o.reshape(x, 4, -1, -1, 3),
    'no whole rest': lambda o, x: o.reshape(x, 5, -1),
    'nothing left over': lambda o, x: o.made('Reshape', x, [0, -1], attributes=[
        o.int('allowzero', 1)]),
    'squeezed where there are three': lambda o, x: o.made('Squeeze', x, [1]),
    'squeezed where there is nothing': lambda o, x: o.made('Squeeze', x, [4]),
    'one more, twice': lambda o, x: o.made('Unsqueeze', x, [1, 1]),
    'one more, far off': lambda o, x: o.made('Unsqueeze', x, [6]),
    'one more, nowhere': lambda o, x: o.made('Unsqueeze', x),
    'many more': lambda o, x: o.made('Unsqueeze', x, [0, 1, 2, 3, 4]),
    'the size of nothing': lambda o, x: o.made('Reshape', x, o.made('Shape', '')),
    'repeated never': lambda o, x: o.made('Tile', x, [1, 1, 0, 1]),
    'repeated by fewer': lambda o, x: o.made('Tile', x, [1, 1]),
    'spread to fewer': lambda o, x: o.made('Expand', x, [2]),
    'gathered from beyond': lambda o, x: gathered(o, x, [3], 1),
    'gathered from before': lambda o, x: gathered(o, x, [-4], 1),
    'gathered along no axis': lambda o, x: gathered(o, x, [0], 4),
    'scattered beyond': lambda o, x: scattered(o, x, [[4]], gathered(o, x, [0])),
    'scattered before': lambda o, x: scattered(o, x, [[-5]], gathered(o, x, [0])),
    'scattered too deep': lambda o, x: scattered(o, x, [[0, 0, 0, 0, 0]], o.number(1.0)),
    'scattered to fewer': lambda o, x: scattered(o, x, [[0], [1]], gathered(o, x, [0])),
    'scattered and added': lambda o, x: scattered(o, x, [[0]], gathered(o, x, [0]),
                                                  o.string('reduction', 'add')),
    'every second': lambda o, x: o.made('Slice', x, [0], [9], [0], [2]),
    'backwards to the middle': lambda o, x: back(o, x, 0, -1, 0),
    'backwards from the middle': lambda o, x: back(o, x, 0, 1),
    'cut along no axis': lambda o, x: o.made('Slice', x, [0], [1], [4]),
    'cut to more': lambda o, x: o.made('Slice', x, [0], [1, 1]),
    'cut along more': lambda o, x: o.made('Slice', x, [0], [1], [0, 1]),
    'cut in more steps': lambda o, x: o.made('Slice', x, [0], [1], [0], [1, 1]),
    'flat behind its end': lambda o, x: o.made('Flatten', x, attributes=axis(o, 5)),
    'a row without end': lambda o, x: o.made('Add', x, o.made('Range', *map(
        o.number, (0.0, 1.0, 0.0)))),
    'a row of rows': lambda o, x: o.made('Add', x, o.made('Range', floats(o, 0.0, 1.0), *map(
        o.number, (3.0, 1.0)))),
    'more at once than are held': lambda o, x: o.made('Mul', x, gathered(o, o.made('Add', *[
        o.made('Expand', o.number(0.5), [1 << 23]) for _ in range(2)]), 0)),
    'filled with several': lambda o, x: o.made('Add', x, o.made('ConstantOfShape', [3], attributes=[
        o.attribute('value', 4, 5, o.tensor('', [2], [1.0, 1.0], 'f'))])),
    'in the unknown': lambda o, x: o.made('Split', x, o.made('Tanh', [2, 2])),
    'less than nothing': lambda o, x: o.made('Add', x, filled(o, [-3])),
    'of three': lambda o, x: o.made('Add', x, x, x),
    'of unlike ones': lambda o, x: o.made('Add', x, floats(o, 1.0, 2.0)),
    'a mean': lambda o, x: o.made('ReduceMean', x, attributes=[o.ints('axes', 0)]),
    'numbers of two kinds': lambda o, x: o.made('Mul', x, o.made('Constant', attributes=[
        o.attribute('value_floats', 6, 7, 1.0) + b'\x40\x01'])),
    'no numbers': lambda o, x: o.made('Mul', x, o.made('Constant')),
}
