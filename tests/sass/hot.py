# SPDX-License-Identifier: MIT
"""Which loops mix.py looks at, and the least that may be found in each: five below what CUDA 13.0
makes of them, for other releases schedule otherwise."""

# {label: {architecture: (serial, reach) in percent}}
LEAST = {
    'linear, f16, 128 x 128': {80: (81, 95), 90: (68, 62)},
    'linear, bf16, 128 x 128': {80: (81, 95), 90: (68, 62)},
    'linear, tf32, 128 x 64': {80: (49, 84), 90: (31, 39)},
    'linear, split f32, 128 x 64': {80: (58, 95), 90: (40, 64)},
    'linear, f32 by FMA, 128 x 64': {80: (87, 94), 90: (80, 80)},
    'conv2d, f16, 256 x 64': {80: (79, 95), 90: (68, 84)},
    'conv2d, f16, 128 x 128': {80: (78, 95), 90: (66, 75)},
    'conv2d, bf16, 128 x 128': {80: (78, 95), 90: (66, 75)},
    'conv2d, tf32, 128 x 64': {80: (45, 85), 90: (28, 38)},
    'conv2d, split f32, 128 x 64': {80: (57, 95), 90: (40, 62)},
    'conv2d, f32 by FMA, 128 x 64': {80: (87, 94), 90: (80, 80)},
    'deform_conv2d, f16, 64 x 128': {80: (27, 39), 90: (13, 16)},
    'deform_conv2d, split f32, 64 x 64': {80: (32, 49), 90: (17, 21)},
    'geglu, f16: hidden and gate': {80: (25, 35), 90: (12, 14)},
    'geglu, f16: output': {80: (45, 85), 90: (26, 35)},
    'geglu, f16, 180: hidden and gate': {80: (25, 36), 90: (12, 14)},
    'geglu, f16, 180: output': {80: (54, 95), 90: (35, 50)},
    'attention, f16: q, k, v': {80: (62, 95), 90: (44, 52)},
    'attention, f16, heads of 20, biases': {80: (30, 43), 90: (17, 19)},
    'attention, f16, heads of 20': {80: (36, 58), 90: (21, 27)},
    'attention, f16, heads of 30, biases': {80: (36, 54), 90: (21, 25)},
    'attention, split f32, heads of 20': {80: (48, 93), 90: (30, 43)},
}


class Row:
    """`pattern`: of a kernel's mangled name. `shared`: bytes a block has with VRT's shapes (120
    channels, 180 where the label says so; windows of 6 x 8 x 8). `prefer`: which instructions the
    way through the loop has most of. `trips`: how often loops within are run, by what they do.
    `is_whole`: the loop is the outermost. `multiplies`: by tensor cores."""

    def __init__(self, label, pattern, shared, prefer=(), trips=None, is_whole=False,
                 multiplies=True):
        self.label, self.pattern, self.shared = label, pattern, shared
        self.prefer, self.trips, self.is_whole = prefer, trips or {}, is_whole
        self.least, self.multiplies = LEAST.get(label, {}), multiplies


MMA = '8mma_sumsI{}Li{}ELi{}E'
F16, BF16, TF32, SPLIT = '6__half', '13__nv_bfloat16', 'NS_4tf32E', 'NS_10split_tf32E'


def product(kernel, kind, m, n, gather=''):
    return f'{kernel}_productINS_' + MMA.format(kind, m, n) + '.*' + gather


ROWS = [
    Row('linear, f16, 128 x 128', product('rows', F16, 128, 128, 'channel'), 63488),
    Row('linear, bf16, 128 x 128', product('rows', BF16, 128, 128, 'channel'), 63488),
    Row('linear, tf32, 128 x 64', product('rows', TF32, 128, 64, 'channel'), 48128),
    Row('linear, split f32, 128 x 64', product('rows', SPLIT, 128, 64, 'channel'), 48128,
        trips={'multiply': 2}, is_whole=True),
    Row('linear, f32 by FMA, 128 x 64', 'rows_productINS_8fma_sumsILi8ELi8E.*channel', 48128,
        trips={'multiply': 4}, is_whole=True, multiplies=False),
    Row('conv2d, f16, 256 x 64', product('conv', F16, 256, 64), 73888, trips={'copy': 0}),
    Row('conv2d, f16, 128 x 128', product('conv', F16, 128, 128), 63008, trips={'copy': 0}),
    Row('conv2d, bf16, 128 x 128', product('conv', BF16, 128, 128), 63008, trips={'copy': 0}),
    Row('conv2d, tf32, 128 x 64', product('conv', TF32, 128, 64), 47648, trips={'copy': 0}),
    Row('conv2d, split f32, 128 x 64', product('conv', SPLIT, 128, 64), 47648,
        trips={'multiply': 2, 'copy': 0}, is_whole=True),
    Row('conv2d, f32 by FMA, 128 x 64', 'conv_productINS_8fma_sumsILi8ELi8E', 47648,
        trips={'multiply': 4, 'copy': 0}, is_whole=True, multiplies=False),
    Row('deform_conv2d, f16, 64 x 128', product('rows', F16, 64, 128, 'sample'), 47104,
        prefer=('F2I',), is_whole=True),
    Row('deform_conv2d, split f32, 64 x 64', product('rows', SPLIT, 64, 64, 'sample'), 31744,
        prefer=('F2I',), trips={'multiply': 2}, is_whole=True),
    Row('geglu, f16: hidden and gate', 'geglu_tileI6__halfLi4E', 77824, prefer=('MUFU',),
        trips={'multiply': 4}, is_whole=True),
    Row('geglu, f16: output', 'geglu_tileI6__halfLi4E', 77824, trips={'multiply': 2, 'copy': 2},
        is_whole=True),
    Row('geglu, f16, 180: hidden and gate', 'geglu_tileI6__halfLi6E', 109568, prefer=('MUFU',),
        trips={'multiply': 4}, is_whole=True),
    Row('geglu, f16, 180: output', 'geglu_tileI6__halfLi6E', 109568,
        trips={'multiply': 2, 'copy': 3}, is_whole=True),
    Row('attention, f16: q, k, v', 'project_rowsI6__half', 92160,
        trips={'multiply': 4, 'copy': 4}, is_whole=True),
    Row('attention, f16, heads of 20, biases', 'attend_windowsI6__halfLi3E', 25264,
        trips={'copy': 2}, prefer=('LDS$',)),
    Row('attention, f16, heads of 20', 'attend_windowsI6__halfLi3E', 25264, trips={'copy': 2}),
    Row('attention, f16, heads of 30, biases', 'attend_windowsI6__halfLi4E', 33456,
        trips={'copy': 2}, prefer=('LDS$',)),
    Row('attention, split f32, heads of 20', 'attend_splitILi3E', 55984, is_whole=True,
        trips={'multiply': 3}),
]
