#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes image/span*.safetensors and image/spanf3-gray.pth: what the definitions of SPAN and SPANF3
compute with PyTorch (f32, CPU), with weights and input by rule.py.

usage: make-span.py SPAN_ARCH.PY SPANF3_ARCH.PY

These are basicsr/archs/span_arch.py as SPAN's authors published it (github.com/hongyuanyu/SPAN),
and traiNNer/archs/spanf3_arch.py of those who train SPANF3
(github.com/the-database/traiNNer-redux). Of the packages that both
import only a decorator is used, which is given here.
"""
import os
import sys
import types

import torch

import rule

# Both scales, with and without samples folded into channels, gray, sizes that are odd.
CASES = {
    'span-x2': ('SPAN', {'feature_channels': 24, 'upscale': 2}, (2, 3, 24, 18)),
    'span-x4': ('SPAN', {'feature_channels': 20, 'upscale': 4}, (1, 3, 17, 23)),
    'spanf3-x2': ('SPANF3', {'feature_channels': 16, 'num_blocks': 5, 'upscale': 2,
                             'unshuffle_mod': True}, (1, 3, 29, 37)),
    'spanf3-x4': ('SPANF3', {'feature_channels': 12, 'num_blocks': 1, 'upscale': 4},
                  (2, 3, 16, 22)),
    'spanf3-gray': ('SPANF3', {'feature_channels': 8, 'num_blocks': 3, 'upscale': 1, 'num_in_ch': 1,
                               'num_out_ch': 1, 'unshuffle_mod': True}, (1, 1, 61, 70)),
}


def stand_in(name):
    """A package whose registry takes classes and functions, and gives them back."""
    module = types.ModuleType(name)
    registry = types.SimpleNamespace(register=lambda: lambda definition: definition)
    module.ARCH_REGISTRY = registry
    parts = name.split('.')
    for i in range(1, len(parts)):
        sys.modules.setdefault('.'.join(parts[:i]), types.ModuleType('.'.join(parts[:i])))
    sys.modules[name] = module


def main():
    if len(sys.argv) != 3:
        print('usage: make-span.py SPAN_ARCH.PY SPANF3_ARCH.PY', file=sys.stderr)
        return 2
    stand_in('basicsr.utils.registry')
    stand_in('traiNNer.utils.registry')
    definitions = {'SPAN': rule.load(sys.argv[1], 'span_arch').SPAN,
                   'SPANF3': rule.load(sys.argv[2], 'spanf3_arch').SPANF3}
    for case, (kind, sizes, shape) in CASES.items():
        config = {'num_in_ch': 3, 'num_out_ch': 3, **sizes}
        network = definitions[kind](**config).eval()
        golden = rule.Golden(network, shape, config)
        golden.fill(made='.eval_conv.', hidden=('.sk.', '.conv.'))
        for module in network.modules():
            if hasattr(module, 'update_params'):
                module.update_params()
        for name, parameter in network.named_parameters():
            if '.eval_conv.' in name:
                golden.tell(name, parameter)
        golden.compute(f'image/{case}.safetensors')
        if case == 'spanf3-gray':
            torch.save({'params_ema': network.state_dict()},
                       os.path.join(rule.HERE, 'image', 'spanf3-gray.pth'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
