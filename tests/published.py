# SPDX-License-Identifier: MIT
"""RIFE and SwinIR in PyTorch by their public definitions, which PyPI's packages vsrife and spandrel
(both MIT) have, with weights drawn at random."""
import importlib
import importlib.util
import sys
import types

# Each with the package that has it.
PACKAGES = {'vsrife': 'vsrife==5.7.0', 'spandrel': 'spandrel==0.4.2'}


def rife_definition(version):
    """The module with IFNet and IFBlock. Its package itself wants VapourSynth."""
    if 'vsrife' not in sys.modules:
        package = types.ModuleType('vsrife')
        package.__path__ = list(importlib.util.find_spec('vsrife').submodule_search_locations)
        sys.modules['vsrife'] = package
    return importlib.import_module('vsrife.IFNet_HDv3_' + version)


def swinir(**config):
    definition = importlib.import_module('spandrel.architectures.SwinIR.__arch.SwinIR')
    return draw(definition.SwinIR(**config))


def draw(network):
    """Weights that keep numbers in their range, exact in f16."""
    import torch        # pylint: disable=import-outside-toplevel
    for name, p in network.named_parameters():
        scale = (2 / max(p[0].numel(), 1)) ** 0.5 if p.dim() > 1 else 0.1
        if 'table' in name:
            scale = 0.5
        drawn = (torch.rand_like(p) * 2 - 1) * scale
        is_norm = 'norm' in name and name.endswith('weight')
        p.data.copy_((drawn + (1 if is_norm else 0)).half().float())
    return network.eval()


def grid(like):
    """Coordinates from -1 to 1, and how many pixels one of them is."""
    import torch        # pylint: disable=import-outside-toplevel
    h, w = like.shape[2], like.shape[3]
    x = torch.linspace(-1, 1, w).view(1, 1, 1, w).expand(1, 1, h, w)
    y = torch.linspace(-1, 1, h).view(1, 1, h, 1).expand(1, 1, h, w)
    return torch.cat([x, y], 1), [(w - 1) / 2, (h - 1) / 2]


def between(network, multiple, pair):
    """RIFE's frame in the middle of [2,3,H,W], as its authors' own program goes about it."""
    import torch        # pylint: disable=import-outside-toplevel
    h, w = pair.shape[2:]
    frames = [torch.nn.functional.pad(x[None], (0, -w % multiple, 0, -h % multiple)) for x in pair]
    coordinates, steps = grid(frames[0])
    time = torch.full_like(frames[0][:, :1], 0.5)
    y = network(*frames, time, steps, coordinates, *[network.encode(x) for x in frames])
    return y[:, :, :h, :w]
