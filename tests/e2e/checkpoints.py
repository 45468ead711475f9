# SPDX-License-Identifier: MIT
"""Checkpoints read, changed and written again: .safetensors, and .pth as PyTorch writes it."""
import array
import collections
import json
import math
import pickle
import random
import struct
import types
import zipfile


def read_safetensors(path):
    """Each tensor's shape and bytes, all of f32, by name."""
    with open(path, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data = f.read()
    return {name: (tensor['shape'], data[slice(*tensor['data_offsets'])])
            for name, tensor in header.items()}


def write_safetensors(path, tensors, dtype='F32', metadata=None):
    entries, at = {'__metadata__': metadata} if metadata else {}, 0
    for name, (shape, data) in tensors.items():
        entries[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [at, at + len(data)]}
        at += len(data)
    text = json.dumps(entries).encode()
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        f.writelines(data for _, data in tensors.values())
    return path


def zeros(shape):
    return shape, bytes(4 * math.prod(shape))


def identity():
    """A compact network, x1, that makes of each picture the same one: nothing is added to it."""
    return {name: zeros(shape) for name, shape in {
        'body.0.weight': [8, 3, 3, 3], 'body.0.bias': [8], 'body.1.weight': [8],
        'body.2.weight': [3, 8, 3, 3], 'body.2.bias': [3]}.items()}


def _convolution(draw, name, out, features, gain):
    """3x3, of a uniform distribution whose sums keep `gain` times the size of what goes in."""
    count = out * features * 9
    limit = gain * math.sqrt(3 / (features * 9))
    values = array.array('f', (draw.uniform(-limit, limit) for _ in range(count)))
    return {name + '.weight': ([out, features, 3, 3], values.tobytes()),
            name + '.bias': zeros([out])}


def small(features=8):
    """A compact network x2 of random weights, which costs next to nothing."""
    draw = random.Random(1)
    slopes = struct.pack(f'<{features}f', *[0.25] * features)
    return {**_convolution(draw, 'body.0', features, 3, 1), 'body.1.weight': ([features], slopes),
            **_convolution(draw, 'body.2', 12, features, 0.2)}


def rrdbnet(blocks=23, features=64, growth=32, gain=0.5, last=0.5):
    """An RRDBNet x4 of random weights: by default what RealESRGAN_x4plus costs. The more `gain`,
    the more is lost in bf16; `last`, that of the last layer, makes a picture of it again,
    around gray."""
    draw = random.Random(1)
    tensors = _convolution(draw, 'conv_first', features, 3, gain)
    for i in range(blocks):
        for rdb in range(1, 4):
            for conv in range(1, 6):
                tensors |= _convolution(draw, f'body.{i}.rdb{rdb}.conv{conv}',
                                        growth if conv < 5 else features,
                                        features + (conv - 1) * growth, gain)
    for name in ('conv_body', 'conv_up1', 'conv_up2', 'conv_hr'):
        tensors |= _convolution(draw, name, features, features, gain)
    tensors |= _convolution(draw, 'conv_last', 3, features, last)
    return tensors | {'conv_last.bias': ([3], struct.pack('<3f', 0.5, 0.5, 0.5))}


def basicvsr(features=8, offsets=0.1):
    """A small BasicVSR++ x4 of random weights, as mmagic's trainers write it, whose flows are 0;
    `offsets` is the gain of what moves features all the same."""
    draw, tensors = random.Random(1), {}

    def layer(name, outputs, inputs, gain=0.8):
        tensors.update(_convolution(draw, name, outputs, inputs, gain))

    def blocks(name, inputs, n):
        layer(name + '.main.0', features, inputs)
        for i in range(n):
            layer(f'{name}.main.2.{i}.conv1', features, features)
            layer(f'{name}.main.2.{i}.conv2', features, features, 0.1)

    channels = (8, 32, 64, 32, 16, 2)
    for level in range(6):
        for i in range(5):
            name = f'spynet.basic_module.{level}.basic_module.{i}.conv'
            tensors[name + '.weight'] = zeros([channels[i + 1], channels[i], 7, 7])
            tensors[name + '.bias'] = zeros([channels[i + 1]])
    blocks('feat_extract', 3, 5)
    for i, way in enumerate(('backward_1', 'forward_1', 'backward_2', 'forward_2')):
        for k in range(4):
            layer(f'deform_align.{way}.conv_offset.{2 * k}', 432 if k == 3 else features,
                  features if k else 3 * features + 4, offsets if k == 3 else 1)
        layer(f'deform_align.{way}', features, 2 * features)
        blocks(f'backbone.{way}', (2 + i) * features, 1)
    blocks('reconstruction', 5 * features, 5)
    layer('upsample1.upsample_conv', 4 * features, features)
    layer('upsample2.upsample_conv', 4 * features, features)
    layer('conv_hr', features, features)
    layer('conv_last', 3, features)
    return {'step_counter': zeros([1]),
            **{'generator.' + name: tensor for name, tensor in tensors.items()}}


def relative_position_index(frames):
    """Which row of the bias table each pair of a window's places uses, counted from its corner."""
    places = [(d, y, x) for d in range(frames) for y in range(8) for x in range(8)]
    rows = [(a[0] - b[0] + frames - 1) * 225 + (a[1] - b[1] + 7) * 15 + a[2] - b[2] + 7
            for a in places for b in places]
    return [len(places)] * 2, struct.pack(f'<{len(rows)}q', *rows)


def position_bias(features):
    """Sines of the rows' positions, then of the columns'."""
    half, values = features // 2, []
    for y in range(1, 9):
        for x in range(1, 9):
            for place in (y, x):
                angle = place / (8 + 1e-6) * 2 * math.pi
                for i in range(half):
                    wave = math.cos if i % 2 else math.sin
                    values.append(wave(angle / 10000 ** (2 * (i // 2) / half)))
    return [1, 64, features], struct.pack(f'<{len(values)}f', *values)


def vrt_buffers(tensors):
    """What the published files of VRT hold beside the parameters."""
    buffers = {'spynet.mean': ([1, 3, 1, 1], struct.pack('<3f', 0.485, 0.456, 0.406)),
               'spynet.std': ([1, 3, 1, 1], struct.pack('<3f', 0.229, 0.224, 0.225))}
    indices = {}
    for name, (shape, _) in tensors.items():
        layer, _, last = name.rpartition('.')
        if last == 'relative_position_bias_table':
            frames = (shape[0] // 225 + 1) // 2
            if frames not in indices:
                indices[frames] = relative_position_index(frames)
            buffers[layer + '.relative_position_index'] = indices[frames]
        elif name.endswith('.attn.qkv_mut.weight'):
            layer = layer.removesuffix('.qkv_mut')
            buffers[layer + '.position_bias'] = position_bias(shape[1])
    return buffers


def mean_of_neighbours(tensors):
    """A VRT that makes frames between (make-vrt has one), so that they are the means of their
    neighbours. Nothing reaches its end but the colours, which LeakyReLU (0.2) leaves 1.2 times as
    large where a value's negative goes beside it."""
    tensors = dict(tensors)
    for name in ('conv_after_body', 'conv_first', 'linear_fuse', 'conv_last'):
        for part in ('weight', 'bias'):
            tensors[f'{name}.{part}'] = zeros(tensors[f'{name}.{part}'][0])

    def put(name, values):
        shape, data = tensors[name][0], bytearray(tensors[name][1])
        for place, value in values.items():
            at = 0
            for index, n in zip(place, shape):
                at = at * n + index
            data[4 * at:4 * at + 4] = struct.pack('<f', value)
        tensors[name] = shape, bytes(data)

    features = tensors['conv_first.weight'][0][0]
    signs = {0: 1, 1: -1}
    put('conv_first.weight', {(c, c, 0, 1, 1): 1 for c in range(3)})
    put('linear_fuse.weight', {(2 * c + k, frame * features + c, 0, 0): sign / 2
                               for c in range(3) for frame in (1, 2) for k, sign in signs.items()})
    put('conv_last.weight', {(c, 2 * c + k, 3, 3): sign / 1.2
                             for c in range(3) for k, sign in signs.items()})
    return tensors


def mixing_rife(slope, offset, features=4, width=4):
    """A RIFE (as 4.18) whose flows are 0: what it makes at time t is m of the frame before it and
    1 - m of the one behind it, m = sigmoid(slope * t + offset)."""
    tensors = {}

    def layer(name, shape, outputs):
        tensors[name + '.weight'], tensors[name + '.bias'] = zeros(shape), zeros([outputs])

    def put(name, shape, values):
        """Values by place."""
        data = array.array('f', bytes(4 * math.prod(shape)))
        for place, value in values.items():
            at = 0
            for index, n in zip(place, shape):
                at = at * n + index
            data[at] = value
        tensors[name] = shape, data.tobytes()

    for block in range(4):
        inputs = 7 + 2 * features + (5 if block else 0)
        layer(f'block{block}.conv0.0.0', [width // 2, inputs, 3, 3], width // 2)
        layer(f'block{block}.conv0.1.0', [width, width // 2, 3, 3], width)
        for i in range(8):
            layer(f'block{block}.convblock.{i}.conv', [width, width, 3, 3], width)
            tensors[f'block{block}.convblock.{i}.beta'] = zeros([1, width, 1, 1])
        layer(f'block{block}.lastconv.0', [width, 24, 4, 4], 24)
    for i in range(3):
        layer(f'encode.cnn{i}', [width, width if i else 3, 3, 3], width)
    layer('encode.cnn3', [width, features, 4, 4], features)

    # The time goes through the last block, to the four samples of each of the mask's squares.
    time, mask = 6 + 2 * features, range(16, 20)
    put('block3.conv0.0.0.weight', tensors['block3.conv0.0.0.weight'][0], {(0, time, 1, 1): 1})
    put('block3.conv0.1.0.weight', tensors['block3.conv0.1.0.weight'][0], {(0, 0, 1, 1): 1})
    put('block3.lastconv.0.weight', [width, 24, 4, 4],
        {(0, o, y, x): slope for o in mask for y in (1, 2) for x in (1, 2)})
    put('block3.lastconv.0.bias', [24], {(o,): offset for o in mask})
    return tensors


def _global(module, name):
    """A class that is pickled as that name."""
    return type(name, (), {'__module__': module, '__qualname__': name})


class _Tensor:
    """Pickled as PyTorch pickles one: a call that takes a storage, a place, and a shape."""

    rebuild = _global('torch._utils', '_rebuild_tensor_v2')
    storages = {4: _global('torch', 'FloatStorage'), 8: _global('torch', 'LongStorage')}

    def __init__(self, key, shape, size):
        count = math.prod(shape)
        self.storage = types.SimpleNamespace(
            id=('storage', self.storages[size // count], str(key), 'cpu', count))
        self.shape = tuple(shape)
        self.strides = tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))

    def __reduce__(self):
        return self.rebuild, (self.storage, 0, self.shape, self.strides, False,
                              collections.OrderedDict())


class _Pickler(pickle._Pickler):                # pylint: disable=protected-access
    """Names classes of modules that aren't here, without looking for them."""

    def persistent_id(self, obj):
        return obj.id if isinstance(obj, types.SimpleNamespace) else None

    def save_type(self, obj):
        if obj.__module__.startswith('torch'):
            self.write(pickle.GLOBAL + f'{obj.__module__}\n{obj.__qualname__}\n'.encode())
            self.memoize(obj)
        else:
            pickle._Pickler.save_type(self, obj)    # pylint: disable=protected-access

    dispatch = dict(pickle._Pickler.dispatch)   # pylint: disable=protected-access
    dispatch[type] = save_type


def write_pth(path, tensors, wrap=lambda params: {'params': params}):
    """As the published files are: a dictionary of 'params' in a zip archive; or what `wrap` makes
    of them."""
    params = collections.OrderedDict(
        (name, _Tensor(key, shape, len(data))) for key, (name, (shape, data))
        in enumerate(tensors.items()))
    with zipfile.ZipFile(path, 'w') as archive:
        with archive.open('archive/data.pkl', 'w') as f:
            _Pickler(f, 2).dump(wrap(params))
        for key, (_, data) in enumerate(tensors.values()):
            archive.writestr(f'archive/data/{key}', data)
        archive.writestr('archive/version', b'3\n')
    return path
