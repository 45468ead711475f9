# SPDX-License-Identifier: MIT
"""The common networks for pictures in plain PyTorch, x4, as a user of PyTorch would write them;
RIFE and SwinIR by their public definitions (published.py, above).

Shapes: N pictures, C channels, H rows, W columns. Parameters have the names of the published
checkpoints.
"""
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import published        # pylint: disable=wrong-import-position


class Compact(nn.Module):
    """SRVGGNetCompact: convolutions at the input's size, then a pixel shuffle."""

    def __init__(self, features=64, convs=16, scale=4):
        super().__init__()
        self.scale = scale
        layers = []
        for i in range(convs + 1):
            layers += [nn.Conv2d(features if i else 3, features, 3, padding=1),
                       nn.PReLU(features)]
        layers.append(nn.Conv2d(features, 3 * scale * scale, 3, padding=1))
        self.body = nn.ModuleList(layers)

    def forward(self, x):
        y = x
        for layer in self.body:
            y = layer(y)
        return F.pixel_shuffle(y, self.scale) + F.interpolate(x, scale_factor=self.scale)


class DenseBlock(nn.Module):
    """Five convolutions, each of which sees what all before it made."""

    def __init__(self, features, growth):
        super().__init__()
        for i in range(5):
            setattr(self, f'conv{i + 1}', nn.Conv2d(features + i * growth,
                                                    features if i == 4 else growth, 3, padding=1))

    def forward(self, x):
        known = [x]
        for i in range(1, 5):
            known.append(F.leaky_relu(getattr(self, f'conv{i}')(torch.cat(known, 1)), 0.2))
        return x + 0.2 * self.conv5(torch.cat(known, 1))


class Block(nn.Module):
    def __init__(self, features, growth):
        super().__init__()
        for i in range(1, 4):
            setattr(self, f'rdb{i}', DenseBlock(features, growth))

    def forward(self, x):
        return x + 0.2 * self.rdb3(self.rdb2(self.rdb1(x)))


class Esrgan(nn.Module):
    """RRDBNet."""

    def __init__(self, features=64, blocks=23, growth=32):
        super().__init__()
        self.conv_first = nn.Conv2d(3, features, 3, padding=1)
        self.body = nn.Sequential(*(Block(features, growth) for _ in range(blocks)))
        for name in ('conv_body', 'conv_up1', 'conv_up2', 'conv_hr'):
            setattr(self, name, nn.Conv2d(features, features, 3, padding=1))
        self.conv_last = nn.Conv2d(features, 3, 3, padding=1)

    def forward(self, x):
        x = self.conv_first(x)
        x = x + self.conv_body(self.body(x))
        for conv in (self.conv_up1, self.conv_up2):
            x = F.leaky_relu(conv(F.interpolate(x, scale_factor=2)), 0.2)
        return self.conv_last(F.leaky_relu(self.conv_hr(x), 0.2))


class Rife(nn.Module):
    """RIFE 4.26: [2,3,H,W] to the frame in the middle."""

    MULTIPLE = 64

    def __init__(self):
        super().__init__()
        # Published files have this name before each other.
        self.module = published.draw(published.rife_definition('v4_26').IFNet())

    def forward(self, pair):
        return published.between(self.module, self.MULTIPLE, pair)


def swinir():
    """SwinIR-M x4 as for pictures from the world: [N,3,H,W] to [N,3,4H,4W]."""
    return published.swinir(upsampler='nearest+conv', upscale=4, embed_dim=180, depths=[6] * 6,
                            num_heads=[6] * 6, window_size=8, mlp_ratio=2.0, img_size=64,
                            img_range=1.0, in_chans=3, resi_connection='1conv')
