# SPDX-License-Identifier: MIT
"""Small networks by which operations become ops of vrtd's, and such as none of them runs."""
import math

from graph_files import Net


def some(n):
    return [(i * 37 % 11 - 5.25) / 4 for i in range(n)]


def by_channel(net, x, shift=True):
    x = net.with_number('mul', x, some(net.channels[x]))
    return net.with_number('add', x, some(net.channels[x])[::-1]) if shift else x


def normalised(net, x):
    n = net.channels[x]
    return net.alone('norm', x, learned=[some(n), some(n)[::-1], some(n),
                                         [abs(v) for v in some(n)]])


def conv(net, x, channels=12, **more):
    return net.conv(x, f'conv{len(net.ops)}', channels, **more)


def added(net, a, b):
    """A sum that is no convolution's, as both are read elsewhere, too."""
    return net.binary('add', net.binary('add', a, b), net.binary('sub', a, b))


# What is made of the input (3 channels), of a convolution of it, and of one of that (12 each):
# every way in which operations become one of ours. What isn't 3 channels is convolved once more.
GRAPHS = {
    'numbers of the input': lambda n, a, b: conv(n, by_channel(n, 0)),
    'numbers twice': lambda n, a, b: by_channel(n, by_channel(n, b)),
    'numbers of an activation': lambda n, a, b: by_channel(n, n.alone('relu', b)),
    'numbers of a sum': lambda n, a, b: by_channel(n, added(n, a, b)),
    'a factor of a sum': lambda n, a, b: n.with_number('mul', added(n, a, b), -0.75),
    'a factor of an activation': lambda n, a, b: n.with_number('mul', n.leaky(b, 0.3), 0.4),
    'factors of an activation': lambda n, a, b: by_channel(n, n.leaky(b, 0.3), False),
    'less pictures': lambda n, a, b: n.with_number('sub', b, 0.75, first=True),
    'less pictures, by channel': lambda n, a, b: n.with_number('sub', b, some(12), first=True),
    'less numbers': lambda n, a, b: n.with_number('sub', b, some(12)),
    'divided': lambda n, a, b: n.with_number('div', n.with_number('div', b, 0.3), some(12)),
    'normalised': lambda n, a, b: normalised(n, normalised(n, n.alone('relu', b))),
    'gate': lambda n, a, b: n.binary('mul', a, n.sigmoid(b)),
    'gate first': lambda n, a, b: n.binary('mul', n.sigmoid(b), a),
    'gate of a sum': lambda n, a, b: n.binary('mul', n.binary('add', a, b),
                                              n.sigmoid(conv(n, b))),
    'gate of a difference': lambda n, a, b: n.binary('mul', n.binary('sub', a, b),
                                                     n.sigmoid(conv(n, b))),
    'gate of an unlike sum': lambda n, a, b: n.binary('mul', n.sum([a, b], [0.5, 1]),
                                                      n.sigmoid(conv(n, b))),
    'tanh': lambda n, a, b: n.binary('mul', a, n.alone('tanh', b)),
    'tanh of a sum': lambda n, a, b: n.binary('mul', b, n.alone('tanh', added(n, a, b))),
    'tanh of the input': lambda n, a, b: n.binary('mul', conv(n, b, 3), n.alone('tanh', 0)),
    'more of tanh': lambda n, a, b: n.binary('mul', b, n.with_number('add', n.with_number(
        'mul', n.alone('tanh', added(n, a, b)), [0.5] * 12), 0.25)),
    'swish': lambda n, a, b: n.alone('swish', added(n, a, b)),
    'relu of a sum': lambda n, a, b: n.alone('relu', added(n, a, b)),
    'slopes of a sum': lambda n, a, b: n.prelu(added(n, a, b), 'slopes'),
    'slopes of a factor': lambda n, a, b: n.prelu(n.with_number('mul', b, -0.5), 'slopes'),
    'one slope': lambda n, a, b: n.prelu(b, 'slopes', 1),
    'activated twice': lambda n, a, b: n.leaky(n.leaky(b, 0.5), -0.5),
    'at once: relu': lambda n, a, b: conv(n, b, active='relu'),
    'at once: leaky': lambda n, a, b: conv(n, b, active=0.25),
    'at once: sigmoid': lambda n, a, b: n.binary('mul', b, conv(n, b, active='sigmoid')),
    'one factor': lambda n, a, b: n.binary('add', b, n.sum([a, b], [0.5, 1])),
    'the other factor': lambda n, a, b: n.binary('add', b, n.sum([a, b], [1, 0.5])),
    'factors of convs': lambda n, a, b: n.sum([conv(n, b), b], [0.5, 1]),
    'both factors of convs': lambda n, a, b: n.sum([conv(n, a), n.with_number(
        'mul', conv(n, a), 3)], [0.5, 1]),
    'three': lambda n, a, b: n.sum([a, conv(n, a), b], [0.5, 1, 1]),
    'less a conv': lambda n, a, b: n.binary('sub', b, conv(n, b)),
    'less what comes before': lambda n, a, b: n.binary('sub', conv(n, b), b),
    'to an earlier conv': lambda n, a, b: n.binary('add', conv(n, a), added(n, a, b)),
    'to an activation': lambda n, a, b: n.binary('add', n.alone('relu', b), a),
    'squares': lambda n, a, b: n.shuffle(conv(n, n.unshuffle(n.unshuffle(0, 1), 2)), 2),
    'squares taken apart': lambda n, a, b: n.shuffle(b, 2, apart=True),
    'twice the same': lambda n, a, b: n.binary('add', b, b),
    'planes': lambda n, a, b: n.shuffle(n.prelu(b, 'slopes'), 2, planar=True),
    'planes and what is enlarged': lambda n, a, b: n.binary('add', n.shuffle(
        b, 2, planar=True), n.resize(0, 2)),
    'planes to 3': lambda n, a, b: n.shuffle(conv(n, b, 27), 3, planar=True),
    'to planes': lambda n, a, b: n.shuffle(conv(n, n.unshuffle(0, 2, planar=True)), 2),
    'planes as they are': lambda n, a, b: n.alone('same', n.shuffle(conv(n, b, 3), 1, planar=True)),
    'enlarged linearly': lambda n, a, b: n.binary('add', n.resize(0, 2, 'linear'),
                                                  n.shuffle(b, 2)),
    'two moved': lambda n, a, b: n.binary('add', n.shuffle(a, 2), n.shuffle(b, 2)),
    'enlarged by cubes': lambda n, a, b: n.binary('add', n.shuffle(b, 2), n.resize(0, 2, 'cubic')),
    'enlarged more': lambda n, a, b: n.binary('add', n.shuffle(b, 2), n.resize(
        conv(n, n.unshuffle(0, 2, planar=True), 3), 4)),
    'less what is enlarged': lambda n, a, b: n.binary('sub', n.shuffle(n.resize(
        b, 1, 'cubic'), 2), n.resize(0, 2)),
    'smaller, larger': lambda n, a, b: n.resize(n.resize(b, 0.5, 'linear'), 4, 'cubic'),
    'smaller by cubes': lambda n, a, b: n.resize(n.resize(b, 0.5, 'cubic'), 4, 'linear'),
    'by one and a half': lambda n, a, b: n.resize(n.resize(b, 1.5), 2, 'linear'),
    'to three quarters': lambda n, a, b: n.resize(n.resize(b, 0.75, 'cubic'), 4),
    'joined': lambda n, a, b: n.concat([a, n.concat([a, b]), n.concat([a, b, 0])]),
    'kernels': lambda n, a, b: conv(n, conv(n, conv(n, b, kernel=1), kernel=5), 3, kernel=7),
    'cut off': lambda n, a, b: n.alone('clip', conv(n, b, 3), limits=(-0.5, 1.25)),
    'at the limits': lambda n, a, b: n.alone('clip', conv(n, b, 3), limits=(0.0, 1.0)),
}

# Those that none of ours does, and what the refusal says.
BROKEN_GRAPHS = [
    ('adds what are both multiplied first',
     lambda n, a, b: n.binary('add', b, n.sum([a, b], [0.5, 2]))),
    ("isn't multiplied with anything", lambda n, a, b: n.sigmoid(b)),
    ('neither of which is a sigmoid',
     lambda n, a, b: n.binary('mul', a, by_channel(n, n.sigmoid(b))),
     lambda n, a, b: (lambda s: n.binary('mul', s, n.binary('mul', s, a)))(n.sigmoid(b)),
     lambda n, a, b: n.binary('mul', b, b)),
    ('not from a convolution', lambda n, a, b: n.shuffle(added(n, a, b), 2, planar=True)),
    ("what isn't one convolution",
     lambda n, a, b: n.shuffle(n.leaky(n.unshuffle(0, 2, planar=True), 0.1), 2)),
    ('has 4 channels where its input has 3',
     lambda n, a, b: n.alone('relu', conv(n, b)) and conv(n, b, 4)),
    ("has 1/2 of the input's size", lambda n, a, b: n.resize(conv(n, b, 3), 0.5)),
    ("has 17/1 of the input's", lambda n, a, b: n.resize(conv(n, b, 3), 17)),
    ("has 64/1 of the input's", lambda n, a, b: n.resize(n.resize(conv(n, b, 3), 8), 8)),
    ('cuts off within 0 and 1', lambda n, a, b: n.alone('clip', conv(n, b, 3), limits=(0.25, 1.0)),
     lambda n, a, b: n.alone('clip', conv(n, b, 3), limits=(0.0, 0.75))),
    ('reads what was cut off to 0 and 1',
     lambda n, a, b: conv(n, n.alone('clip', a, limits=(0.0, 1.0)))),
    ('numbers that are not finite', lambda n, a, b: n.with_number('div', b, 0.0)),
    ('divides a number by pictures', lambda n, a, b: n.with_number('div', b, 2.0, first=True)),
    ('divides pictures by each', lambda n, a, b: n.binary('div', a, b)),
    ('slopes that are not finite', lambda n, a, b: n.alone('prelu', b, slopes=[math.nan] * 12)),
    ('channel', lambda n, a, b: n.with_number('add', b, some(5))),
    ('has 9216 channels, not 1 to', lambda n, a, b: n.concat([conv(n, b, 1024, kernel=1)] * 9)),
    ('more numbers than such a file can hold',
     lambda n, a, b: n.leaky(n.alone('relu', added(n, *[
        conv(n, b, 1024, kernel=1) for _ in range(2)])), 0.1),
     lambda n, a, b: n.resize(b, 8 / 7, 'cubic')),
    ('by more than 64 times', lambda n, a, b: n.resize(n.resize(b, 13), 5),
     lambda n, a, b: n.resize(n.resize(b, 1 / 13), 1 / 5)),
    ('pictures that differ', lambda n, a, b: n.binary('add', a, n.resize(b, 0.5))),
    ('changes the size by 65/1', lambda n, a, b: n.resize(b, 65)),
    ('result needs pictures whose sides', lambda n, a, b: n.resize(n.resize(n.resize(n.resize(
        conv(n, b, 3), 1 / 9), 9), 1 / 8), 8)),
    ('pictures of unlike size',
     *[lambda n, a, b, f=f: n.concat([a, n.resize(b, f)]) for f in (2, 0.5)]),
    ('17', lambda n, a, b: n.concat([a] * 17)),
    ('no plain ratio', lambda n, a, b: n.resize(b, math.pi), lambda n, a, b: n.resize(b, 18 / 17)),
    ('changes the size by 9/1', lambda n, a, b: n.resize(b, 9, 'cubic')),
    ('9 by 9', lambda n, a, b: conv(n, b, kernel=9)),
    ('kernel of 2', lambda n, a, b: conv(n, b, kernel=2)),
    ('move pixels by 0 of 12 channels',
     lambda n, a, b: conv(n, n.add_op('shuffle', [b], 12, r=0, planar=False, apart=False))),
]


def graph(make):
    net = Net(3)
    a = net.conv(0, 'a', 12)
    made = make(net, a, net.conv(a, 'b', 12))
    if net.channels[made] not in (3, 4):
        conv(net, made, 3)
    return net
