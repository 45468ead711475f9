#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes image/swinir-*.safetensors and image/swinir-direct.pth: what SwinIR's own definition
computes with PyTorch (f32, CPU), with weights and input by rule.py.

usage: make-swinir.py NETWORK_SWINIR.PY

That is models/network_swinir.py as its authors published it (github.com/JingyunLiang/SwinIR; it
imports timm, of which it uses three functions).
"""
import os
import sys

import torch

import rule

BASE = {'img_size': 16, 'embed_dim': 24, 'depths': [2, 3], 'num_heads': [2, 4], 'mlp_ratio': 2.0,
        'window_size': 8, 'img_range': 1.0, 'upscale': 1, 'in_chans': 3, 'resi_connection': '1conv'}

# Each way of enlarging, both ends of a group, both ranges, gray; sizes that no window divides.
CASES = {
    'shuffle': ({'upsampler': 'pixelshuffle', 'upscale': 4}, (1, 3, 21, 26)),
    'shuffle3': ({'upsampler': 'pixelshuffle', 'upscale': 3, 'patch_norm': False}, (1, 3, 24, 16)),
    'direct': ({'upsampler': 'pixelshuffledirect', 'upscale': 2}, (2, 3, 32, 24)),
    'nearest': ({'upsampler': 'nearest+conv', 'upscale': 4, 'resi_connection': '3conv'},
                (1, 3, 19, 17)),
    'gray': ({'upsampler': '', 'in_chans': 1}, (1, 1, 47, 70)),
    'jpeg': ({'upsampler': '', 'window_size': 7, 'img_size': 14, 'img_range': 255.0},
             (1, 3, 30, 43)),
}
TOLD = ('embed_dim', 'depths', 'num_heads', 'window_size', 'upscale', 'in_chans')


def main():
    if len(sys.argv) != 2:
        print('usage: make-swinir.py NETWORK_SWINIR.PY', file=sys.stderr)
        return 2
    definition = rule.load(sys.argv[1], 'network_swinir')
    for case, (sizes, shape) in CASES.items():
        config = {**BASE, **sizes}
        network = definition.SwinIR(**config)
        golden = rule.Golden(network, shape, {k: config[k] for k in TOLD})
        golden.fill()
        golden.compute(f'image/swinir-{case}.safetensors')
        if case == 'direct':
            torch.save({'params': network.state_dict()},
                       os.path.join(rule.HERE, 'image', 'swinir-direct.pth'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
