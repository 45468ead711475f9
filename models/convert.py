#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts a PyTorch checkpoint (.pth, a zip archive) to .safetensors, without PyTorch.

usage: convert.py INPUT.pth OUTPUT.safetensors [KEY=VALUE ...]

The KEY=VALUE pairs become the file's metadata. The checkpoint is read as data: a name in its pickle
that does not stand for a tensor or a container ends the program, and nothing in it is run.
"""
import collections
import json
import pickle
import struct
import sys
import zipfile

# Storage class: (.safetensors' name, bytes per element)
STORAGES = {
    'FloatStorage': ('F32', 4), 'HalfStorage': ('F16', 2), 'BFloat16Storage': ('BF16', 2),
    'DoubleStorage': ('F64', 8), 'LongStorage': ('I64', 8), 'IntStorage': ('I32', 4),
    'ShortStorage': ('I16', 2), 'CharStorage': ('I8', 1), 'ByteStorage': ('U8', 1),
    'BoolStorage': ('BOOL', 1),
}

# What holds the weights, the preferred first: as engine/checkpoint.h says.
CONTAINERS = ('params_ema', 'params', 'state_dict', 'model_state_dict', 'model', 'net', 'network',
              'generator', 'weights')
PREFIXES = ('module.', '_orig_mod.')
HEADER_ALIGNMENT = 64


class Tensor:
    """A view of a storage: kind is one of STORAGES' values, sizes and strides are in elements."""

    def __init__(self, storage, offset, sizes, strides, *_):
        self.kind, self.data = storage
        self.offset, self.sizes, self.strides = offset, tuple(sizes), tuple(strides)

    def to_bytes(self):
        """The elements, row-major without gaps."""
        size = self.kind[1]
        places = [self.offset]
        for n, step in zip(self.sizes, self.strides):
            places = [p + i * step for p in places for i in range(n)]
        if places and (min(places) < 0 or (max(places) + 1) * size > len(self.data)):
            raise ValueError('a tensor reaches beyond the data stored for it')
        return b''.join(self.data[p * size:(p + 1) * size] for p in places)


class Unpickler(pickle.Unpickler):
    """Knows tensors and containers, nothing else."""

    KNOWN = {
        ('collections', 'OrderedDict'): collections.OrderedDict,
        ('torch._utils', '_rebuild_tensor_v2'): Tensor,
        ('torch._utils', '_rebuild_parameter'): lambda tensor, *_: tensor,
        ('torch', 'Size'): tuple,
    }

    def __init__(self, file, read_storage):
        super().__init__(file)
        self.read_storage = read_storage

    def find_class(self, module, name):
        if (module, name) in self.KNOWN:
            return self.KNOWN[module, name]
        if module in ('torch', 'torch.cuda') and name in STORAGES:
            return STORAGES[name]
        raise pickle.UnpicklingError(f'it names {module}.{name}, which is not data')

    def persistent_load(self, pid):
        what, kind, key, _, n_elements = pid
        if what != 'storage' or not key.isdigit():
            raise pickle.UnpicklingError(f'it refers to {what} {key}')
        data = self.read_storage(key)
        if len(data) != n_elements * kind[1]:
            raise pickle.UnpicklingError(f'storage {key} has another size than its tensors say')
        return kind, data


def read_checkpoint(path):
    """The tensors of a .pth file by name."""
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.endswith('/data.pkl') and n.count('/') == 1]
        if len(names) != 1:
            raise ValueError('it is no archive that PyTorch made')
        folder = names[0][:-len('data.pkl')]
        if folder + 'byteorder' in archive.namelist():
            if archive.read(folder + 'byteorder') != b'little':
                raise ValueError('it was written on a big-endian machine')
        with archive.open(names[0]) as file:
            tree = Unpickler(file, lambda key: archive.read(f'{folder}data/{key}')).load()
    for container in CONTAINERS:
        if isinstance(tree.get(container), dict):
            tree = tree[container]
            break
    tensors = {name: value for name, value in tree.items() if isinstance(value, Tensor)}
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in tensors):
            tensors = {name[len(prefix):]: value for name, value in tensors.items()}
    if not tensors:
        raise ValueError('it holds no tensors')
    return tensors


def write_safetensors(path, tensors, metadata):
    """Writes the file, its data aligned."""
    header, blocks, at = {'__metadata__': metadata}, [], 0
    for name, tensor in tensors.items():
        block = tensor.to_bytes()
        header[name] = {'dtype': tensor.kind[0], 'shape': list(tensor.sizes),
                        'data_offsets': [at, at + len(block)]}
        blocks.append(block)
        at += len(block)
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-(8 + len(text)) % HEADER_ALIGNMENT)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(blocks))


def main(argv):
    if len(argv) < 3 or any('=' not in pair for pair in argv[3:]):
        sys.exit(__doc__)
    try:
        tensors = read_checkpoint(argv[1])
        write_safetensors(argv[2], tensors, dict(pair.split('=', 1) for pair in argv[3:]))
    except (OSError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        sys.exit(f'{argv[1]}: {error}')
    print(f'{argv[2]}: {len(tensors)} tensors')


if __name__ == '__main__':
    main(sys.argv)
