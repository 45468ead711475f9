#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes image/basicvsr-*.safetensors: what BasicVSR++'s definition computes with PyTorch (f32,
CPU), with weights and input by rule.py.

usage: make-basicvsr.py

The definition is ../bench/torch_basicvsr.py. It gives the same bits as mmagic's
BasicVSRPlusPlusNet (mmagic/models/editors/basicvsr_plusplus_net/ of github.com/open-mmlab/mmagic)
with torchvision's deformable convolution.
"""
import os
import sys

import torch

import rule

sys.path.insert(0, os.path.join(rule.HERE, '..', 'bench'))

import torch_basicvsr   # noqa: E402, pylint: disable=wrong-import-position

# Features, blocks, whether the size stays, and the input: with flows at a size of their own, and
# sizes that are no multiples; long enough for every kind of neighbour.
CASES = {
    'x4': (16, 2, False, (4, 3, 32, 32)),
    'x4-odd': (8, 1, False, (3, 3, 21, 35)),
    'same': (8, 1, True, (4, 3, 64, 128)),
    'same-odd': (8, 1, True, (3, 3, 45, 70)),
}


def run(network, clip):
    """Pictures are mirrored up to whole squares of 4 where it has them."""
    h, w = clip.shape[-2:]
    if network.keeps_size:
        clip = torch.cat((clip, clip.flip(-1)[..., :-w % 4]), -1)
        clip = torch.cat((clip, clip.flip(-2)[..., :-h % 4, :]), -2)
    result = network(clip)
    return result[..., :h, :w] if network.keeps_size else result


def main():
    if len(sys.argv) != 1:
        print('usage: make-basicvsr.py', file=sys.stderr)
        return 2
    for case, (features, blocks, keeps_size, shape) in CASES.items():
        network = torch_basicvsr.BasicVsr(features, blocks, keeps_size)
        golden = rule.Golden(network, shape, {'features': [features], 'blocks': [blocks]})
        # Convolutions of stride 2 are kept otherwise.
        golden.fill(hidden=('feat_extract.0.weight', 'feat_extract.2.weight'))
        golden.compute(f'image/basicvsr-{case}.safetensors', lambda x: run(network, x))
    return 0


if __name__ == '__main__':
    sys.exit(main())
