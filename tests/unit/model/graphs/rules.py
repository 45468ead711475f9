# SPDX-License-Identifier: MIT
"""What the operations of networks make of pictures, by their definitions."""
import math
import operator


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def each(rule):
    """Number by number of one value, or of several alike."""
    return lambda a, x, *more: ([[rule(a, *v) for v in zip(*planes)]
                                 for planes in zip(x[0], *(y[0] for y in more))], *x[1:])


def convolve(a, x):
    planes, h, w = x
    k, made = a['kernel'], []
    for o, bias in enumerate(a['bias']):
        made.append([bias] * (h * w))
        for i, plane in enumerate(planes):
            for t in range(k * k):
                dy, dx = t // k - k // 2, t % k - k // 2
                weight = a['weight'][(o * a['n_in'] + i) * k * k + t]
                for y in range(max(-dy, 0), min(h - dy, h)):
                    for at in range(y * w + max(-dx, 0), y * w + min(w - dx, w)):
                        made[o][at] += weight * plane[at + dy * w + dx]
    active = a['active']
    if active is None:
        return made, h, w
    slope = {'relu': 0, 'sigmoid': None}.get(active, active)
    return each(lambda _, v: sigmoid(v) if slope is None else v if v > 0 else slope * v)(
        {}, (made, h, w))


def combine(rule):
    def combined(a, x, y=None):
        numbers = a.get('number')
        if y is None:
            numbers = numbers if isinstance(numbers, list) else [numbers] * len(x[0])
            y = [[v] * len(x[0][0]) for v in numbers], *x[1:]
        return each(lambda _, *v: rule(*v))(a, *((y, x) if a.get('first') else (x, y)))
    return combined


def shuffle(a, x):
    planes, h, w = x
    r, n = a['r'], len(planes) // a['r'] ** 2

    def place(c, i):
        return i * n + c if a['planar'] else c * r * r + i

    return [[planes[place(c, y % r * r + x % r)][y // r * w + x // r]
             for y in range(h * r) for x in range(w * r)] for c in range(n)], h * r, w * r


def unshuffle(a, x):
    planes, h, w = x
    r, n = a['r'], len(planes)
    order = [(c, i) for i in range(r * r) for c in range(n)] if a['planar'] else [
        (c, i) for c in range(n) for i in range(r * r)]
    return [[planes[c][(y * r + i // r) * w + x * r + i % r]
             for y in range(h // r) for x in range(w // r)] for c, i in order], h // r, w // r


def taps(n, a):
    """Of which places of n each is made, and how much of them."""
    for i in range(int(n * a['factor'])):
        at = (i + 0.5) / a['factor'] - 0.5
        t = at - math.floor(at)
        found = {'nearest': [(math.floor(i / a['factor']) - math.floor(at), 1)],
                 'linear': [(0, 1 - t), (1, t)],
                 'cubic': [(k, keys(abs(t - k))) for k in range(-1, 3)]}[a['mode']]
        yield [(min(max(math.floor(at) + k, 0), n - 1), part) for k, part in found]


def keys(x):
    return (1.25 * x ** 3 - 2.25 * x ** 2 + 1 if x <= 1 else
            -0.75 * (x ** 3 - 5 * x ** 2 + 8 * x - 4))


def resize(a, x):
    planes, h, w = x
    rows, columns = list(taps(h, a)), list(taps(w, a))
    return [[sum(p * q * plane[i * w + j] for i, p in row for j, q in column)
             for row in rows for column in columns] for plane in planes], len(rows), len(columns)


def normalise(a, x):
    return [[(v - mean) / math.sqrt(variance + 1e-5) * scale + bias for v in plane]
            for plane, scale, bias, mean, variance in zip(x[0], *a['learned'])], *x[1:]


# By the definition of each operation: of values (planes, height, width).
RULES = {
    'conv': convolve,
    'prelu': lambda a, x: ([[v if v > 0 else v * slope for v in plane] for plane, slope in zip(
        x[0], a['slopes'] if len(a['slopes']) > 1 else a['slopes'] * len(x[0]))], *x[1:]),
    'leaky': each(lambda a, v: v if v > 0 else v * a['slope']),
    'relu': each(lambda _, v: max(v, 0)),
    'sigmoid': each(lambda _, v: sigmoid(v)),
    'tanh': each(lambda _, v: math.tanh(v)),
    'swish': each(lambda _, v: v * sigmoid(v)),
    'clip': each(lambda _, v: v),
    'same': each(lambda _, v: v),
    'add': combine(operator.add),
    'sub': combine(operator.sub),
    'mul': combine(operator.mul),
    'div': combine(operator.truediv),
    'sum': each(lambda a, *v: sum(map(operator.mul, a['factors'], v))),
    'concat': lambda _, x, *more: (x[0] + [p for y in more for p in y[0]], *x[1:]),
    'shuffle': shuffle,
    'unshuffle': unshuffle,
    'resize': resize,
    'norm': normalise,
}


def run(net, planes, h, w):
    """What the network makes of a picture, whose planes are lists: those of the result."""
    made = [(planes, h, w)]
    for kind, inputs, a in net.ops[1:]:
        made.append(RULES[kind](a, *(made[x] for x in inputs)))
    return made[-1][0]
