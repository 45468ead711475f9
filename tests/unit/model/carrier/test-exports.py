#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""RIFE and SwinIR as PyTorch exports them: what vrt-infer makes of each file in f32, on both
processors' devices and at an odd size, too, is what PyTorch makes of the network.

usage: test-exports.py VRT_INFER [onnx]

It takes PyTorch and its exporters (onnx, onnxscript) from where they are installed, and is skipped,
and says so, where they aren't. The networks' definitions (published.py) are of PyPI's packages,
which are fetched for the time of the test where they are missing; weights are drawn at random.
"""
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import types
import warnings

import published
from graph_files import safetensors
from pypi import Absent, install
from rife_files import RifeNcnn

SKIPPED = 77
PROGRAM, HAS_ONNX = sys.argv[1], 'onnx' in sys.argv[2:]
DEVICES = 'ref', 'cpu'
# Samples go from 0 to 1.
TOLERANCE = 1e-4

# Widths of blocks, narrower than they are, and what sizes have to be multiples of.
RIFE = {'v4_18': ((12, 8, 8, 6), 32), 'v4_22': ((12, 8, 8, 6), 32),
        'v4_25': ((12, 8, 8, 6, 6), 64), 'v4_25_lite': ((8, 10, 8, 6, 24), 128),
        'v4_26': ((12, 8, 8, 6, 6), 64)}
RIFE_SIZES = (64, 64), (45, 70)
# opset, of any size, the newer exporter
RIFE_FORMS = (('three', 16, False, False), ('three', 17, True, False), ('seven', 20, False, True),
              ('eleven', 16, True, False))

SWINIR = {'embed_dim': 24, 'depths': [2, 3], 'num_heads': [2, 4], 'window_size': 8,
          'mlp_ratio': 2.0, 'img_size': 16, 'img_range': 1.0, 'upscale': 1, 'in_chans': 3,
          'resi_connection': '1conv'}
SWINIR_CASES = {
    'shuffle': {'upsampler': 'pixelshuffle', 'upscale': 4},
    'shuffle3': {'upsampler': 'pixelshuffle', 'upscale': 3, 'patch_norm': False},
    'direct': {'upsampler': 'pixelshuffledirect', 'upscale': 2},
    'nearest': {'upsampler': 'nearest+conv', 'upscale': 4, 'resi_connection': '3conv'},
    'gray': {'upsampler': '', 'in_chans': 1},
    'jpeg': {'upsampler': '', 'window_size': 7, 'img_size': 14, 'img_range': 255.0},
}
SWINIR_SIZES = (24, 32), (19, 27)
SWINIR_FORMS = (13, False, False), (17, False, False), (17, True, False), (18, False, True)


def find(module):
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise Absent(f'Python has no {module} ({e})') from e


def fetch_definitions(folder):
    for package, version in published.PACKAGES.items():
        if not importlib.util.find_spec(package):
            install(folder, version)
            sys.path.insert(0, folder)
            importlib.invalidate_caches()


class Inverse:
    """What one divides by in order to multiply."""

    def __init__(self, factor):
        self.factor = factor

    def __rtruediv__(self, x):
        return x * self.factor


class Tests:
    def __init__(self, folder):
        self.torch, self.numpy = find('torch'), find('numpy')
        find('onnx')
        self.folder = folder
        fetch_definitions(folder)
        self.worst, self.n_files = {}, {}
        self.torch.manual_seed(1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def infer(self, model, x, device):
        self.numpy.save(self.path('x.npy'), x.numpy())
        done = subprocess.run([PROGRAM, '--model', model, '--input', self.path('x.npy'),
                               '--output', self.path('y.npy'), '--device', device],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f'{device}: {done.stderr.strip()}')
        return self.torch.from_numpy(self.numpy.load(self.path('y.npy')))

    def compare(self, what, model, inputs):
        """Pictures that go in, and what PyTorch makes of them."""
        for x, wanted in inputs:
            for device in DEVICES:
                made = self.infer(model, x, device)
                if made.shape != wanted.shape:
                    raise AssertionError(f'{what} gives {made.shape}, not {wanted.shape}')
                apart = (made - wanted).abs().max().item()
                kind = what.split()[0]
                self.worst[kind] = max(self.worst.get(kind, 0), apart)
                if not apart <= TOLERANCE:
                    raise AssertionError(f'{what}, {tuple(x.shape)} on {device}: {apart:.1e} apart')
        self.n_files[what.split()[0]] = self.n_files.get(what.split()[0], 0) + 1

    def export(self, network, inputs, opset, is_any, is_newer):
        """Return: the file's path."""
        path, axes = self.path('network.onnx'), {2: 'h', 3: 'w'} if is_any else None
        if is_newer:
            find('onnxscript')
            self.torch.onnx.export(network, inputs, path, opset_version=opset, dynamo=True,
                                   external_data=False, verbose=False)
            return path
        names = [f'in{i}' for i in range(len(inputs))]
        dynamic = {name: axes for name in [*names, 'out'] if name != 'in2'} if axes else None
        self.torch.onnx.export(network, inputs, path, input_names=names, output_names=['out'],
                               opset_version=opset, dynamo=False, dynamic_axes=dynamic)
        return path

    def rife(self, version):
        widths, multiple = RIFE[version]
        definition = published.rife_definition(version)
        network = definition.IFNet()
        for i, width in enumerate(widths):
            n_in = getattr(network, f'block{i}').conv0[0][0].in_channels
            setattr(network, f'block{i}', definition.IFBlock(n_in, c=width))
        return published.draw(network), multiple

    def form_of_rife(self, network, form):
        """A module that takes what such exports take, and examples of that."""
        torch = self.torch

        class Form(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, *inputs):
                x = torch.cat(inputs[:2], 1) if form == 'three' else inputs[0]
                frames = x[:, :3], x[:, 3:6]
                time = x[:, 6:7] if form != 'three' else inputs[2].repeat(
                    1, 1, x.shape[2], x.shape[3])
                if form == 'eleven':
                    grid, steps = x[:, 7:9], [Inverse(x[:, 9:10]), Inverse(x[:, 10:11])]
                else:
                    grid, steps = published.grid(x)
                return self.network(*frames, time, steps, grid,
                                    *[self.network.encode(y) for y in frames])

        h, w = 128, 256
        pair, time = torch.rand(2, 1, 3, h, w), torch.full((1, 1, h, w), 0.5)
        if form == 'three':
            return Form(), (*pair, torch.tensor([0.5]))
        if form == 'seven':
            return Form(), (torch.cat([*pair, time], 1),)
        grid, steps = published.grid(pair[0])
        steps = [torch.full_like(time, 1 / step) for step in steps]
        return Form(), (torch.cat([*pair, time, grid, *steps], 1),)

    def test_rife(self, version):
        network, multiple = self.rife(version)
        pairs = [self.torch.rand(2, 3, *size) for size in RIFE_SIZES]
        with self.torch.no_grad():
            inputs = [(pair, published.between(network, multiple, pair)) for pair in pairs]
        tensors = {name: (list(p.shape), p.flatten().tolist())
                   for name, p in network.named_parameters()}
        net = types.SimpleNamespace(names=tensors, scales=[int(s) for s in network.scale_list])
        net.n_made = tensors['block0.lastconv.0.weight'][0][1] // 4
        net.n_hints = net.n_made - 5 if net.n_made > 6 else 0
        for style in ('onnx', 'pnnx') if net.n_hints else ('onnx',):
            with open(self.path('rife.ncnn'), 'wb') as f:
                f.write(RifeNcnn(net, style).joined())
            self.compare(f'RIFE {version} by ncnn, {style}', self.path('rife.ncnn'), inputs)
        for form, *how in RIFE_FORMS if HAS_ONNX else ():
            path = self.export(*self.form_of_rife(network, form), *how)
            self.compare(f'RIFE {version} by ONNX, {form}, {how[0]}', path, inputs)

    def test_swinir(self, case):
        config = {**SWINIR, **SWINIR_CASES[case]}
        network = published.swinir(**config)
        window = config['window_size']
        inputs = []
        for size in SWINIR_SIZES:
            x = self.torch.rand(1, config['in_chans'], *size)
            with self.torch.no_grad():
                inputs.append((x, network(x)))
        tensors = types.SimpleNamespace(names={
            name: (list(p.shape), p.flatten().tolist()) for name, p in network.named_parameters()})
        with open(self.path('swinir.safetensors'), 'wb') as f:
            f.write(safetensors(tensors, {'img_range': str(int(config['img_range']))}))
        self.compare(f'SwinIR {case} as it is', self.path('swinir.safetensors'), inputs)
        example = self.torch.rand(1, config['in_chans'], 2 * window, 3 * window)
        for how in SWINIR_FORMS if HAS_ONNX else ():
            path = self.export(network, (example,), *how)
            self.compare(f'SwinIR {case} by ONNX, {how[0]}', path, inputs)


def main():
    warnings.filterwarnings('ignore')
    with tempfile.TemporaryDirectory() as folder:
        try:
            tests = Tests(folder)
            for version in RIFE:
                tests.test_rife(version)
            for case in SWINIR_CASES:
                tests.test_swinir(case)
        except Absent as why:
            print(f'skipped: {why}')
            return SKIPPED
    for kind, worst in tests.worst.items():
        print(f'{kind}: {tests.n_files[kind]} files, at most {worst:.1e} apart')
    return 0


if __name__ == '__main__':
    sys.exit(main())
