# SPDX-License-Identifier: MIT
"""BasicVSR++ in plain PyTorch, as a user of PyTorch would write it.

Shapes: D frames, C channels, H rows, W columns. Parameters have the names of the published
checkpoints, without their "generator.".
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

from torch_vrt_net import SpyNet, deform_conv, warp

BRANCHES = ('backward_1', 'forward_1', 'backward_2', 'forward_2')


def conv3(n_in, n_out, stride=1):
    return nn.Conv2d(n_in, n_out, 3, stride, 1)


def activate(x):
    return F.leaky_relu(x, 0.1)


class Named(nn.Module):
    """A layer below another name."""

    def __init__(self, name, layer):
        super().__init__()
        self.name = name
        setattr(self, name, layer)

    def forward(self, x):
        return getattr(self, self.name)(x)


class FlowLevel(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = (8, 32, 64, 32, 16, 2)
        self.basic_module = nn.ModuleList(
            Named('conv', nn.Conv2d(sizes[i], sizes[i + 1], 7, padding=3)) for i in range(5))

    def forward(self, x):
        for layer in self.basic_module[:-1]:
            x = F.relu(layer(x))
        return self.basic_module[-1](x)


class Flow(SpyNet):
    def __init__(self):
        super().__init__()
        self.basic_module = nn.ModuleList(FlowLevel() for _ in range(6))

    def forward(self, reference, other):
        """The flow [N,2,H,W] from `reference` to `other`."""
        height, width = reference.shape[-2:]
        size = [math.ceil(v / 32) * 32 for v in (height, width)]
        flow = None
        for level, (a, b) in enumerate(zip(self.pyramid(reference, size),
                                           self.pyramid(other, size))):
            flow = a.new_zeros(len(a), 2, *a.shape[-2:]) if flow is None else F.interpolate(
                flow, scale_factor=2, mode='bilinear', align_corners=True) * 2
            flow = self.basic_module[level](torch.cat((a, warp(b, flow, 'border'), flow), 1)) + flow
        return self.fit(flow, (height, width), size, 1)


class Residual(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1, self.conv2 = conv3(features, features), conv3(features, features)

    def forward(self, x):
        return x + self.conv2(F.relu(self.conv1(x)))


class Blocks(nn.Module):
    def __init__(self, n_in, features, n):
        super().__init__()
        self.main = nn.Sequential(conv3(n_in, features), nn.LeakyReLU(0.1),
                                  nn.Sequential(*(Residual(features) for _ in range(n))))

    def forward(self, x):
        return self.main(x)


class Align(nn.Module):
    """What was made of two frames, moved to where things are in this one."""

    def __init__(self, features, groups):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features, 2 * features, 3, 3))
        self.bias = nn.Parameter(torch.zeros(features))
        sizes = (3 * features + 4, features, features, features, 27 * groups)
        layers = []
        for i in range(4):
            layers += [conv3(sizes[i], sizes[i + 1]), nn.LeakyReLU(0.1)]
        self.conv_offset = nn.Sequential(*layers[:-1])

    def forward(self, last, before, frame, flows):
        evidence = torch.cat((warp(last, flows[0]), frame, warp(before, flows[1]), *flows), 1)
        offsets, mask = self.conv_offset(evidence)[0].split((18 * self.groups, 9 * self.groups))
        by_flow = torch.stack([flow[0].flip(0) for flow in flows]).repeat_interleave(
            9 * self.groups // 2, 0)
        offsets = 10 * torch.tanh(offsets.view(-1, 2, *offsets.shape[-2:])) + by_flow
        return deform_conv(torch.cat((last, before), 1)[0], offsets, torch.sigmoid(mask),
                           self.weight, self.bias)[None]

    @property
    def groups(self):
        return self.conv_offset[-1].out_channels // 27


class BasicVsr(nn.Module):
    def __init__(self, features=64, blocks=7, keeps_size=False, groups=16):
        super().__init__()
        self.features, self.keeps_size = features, keeps_size
        self.spynet = Flow()
        self.feat_extract = nn.Sequential(
            conv3(3, features, 2), nn.LeakyReLU(0.1), conv3(features, features, 2),
            nn.LeakyReLU(0.1), Blocks(features, features, 5)) if keeps_size else Blocks(
                3, features, 5)
        self.deform_align = nn.ModuleDict({name: Align(features, groups) for name in BRANCHES})
        self.backbone = nn.ModuleDict({name: Blocks((2 + i) * features, features, blocks)
                                       for i, name in enumerate(BRANCHES)})
        self.reconstruction = Blocks(5 * features, features, 5)
        self.upsample1 = Named('upsample_conv', conv3(features, 4 * features))
        self.upsample2 = Named('upsample_conv', conv3(features, 4 * 64))
        self.conv_hr, self.conv_last = conv3(64, 64), conv3(64, 3)

    def propagate(self, name, made, flows):
        """What the branch makes of each frame, from what `made` has of it; the flow i of `flows`
        leads from frame i of the way to the one before it."""
        align, backbone = self.deform_align[name], self.backbone[name]
        nothing = torch.zeros_like(made[0][:1])
        way = []
        for i in range(len(made[0])):
            frame = [x[i:i + 1] for x in made]
            aligned = nothing
            if i:
                flow = flows[i - 1:i]
                further = flow + warp(flows[i - 2:i - 1], flow) if i > 1 else flow * 0
                aligned = align(way[-1], way[-2] if i > 1 else nothing, frame[0], (flow, further))
            way.append(aligned + backbone(torch.cat((*frame, aligned), 1)))
        return torch.cat(way)

    def enlarge(self, x):
        for layer in (self.upsample1, self.upsample2):
            x = activate(F.pixel_shuffle(layer(x), 2))
        return self.conv_last(activate(self.conv_hr(x)))

    def forward(self, clip):
        """[D,3,H,W] to [D,3,4H,4W], or to the same size."""
        small = F.interpolate(clip, scale_factor=0.25, mode='bicubic') if self.keeps_size else clip
        on, back = self.spynet(small[:-1], small[1:]), self.spynet(small[1:], small[:-1])
        made = [self.feat_extract(clip)]
        for name in BRANCHES:
            if name.startswith('backward'):
                way = self.propagate(name, [x.flip(0) for x in made], on.flip(0))
                made.append(way.flip(0))
            else:
                made.append(self.propagate(name, made, back))
        base = clip if self.keeps_size else F.interpolate(clip, scale_factor=4, mode='bilinear')
        return torch.cat([base[i:i + 1] + self.enlarge(self.reconstruction(
            torch.cat([x[i:i + 1] for x in made], 1))) for i in range(len(clip))])


def fill(network, seed):
    """Weights of a size at which features neither vanish nor grow, and flows of 1.5 pixels."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() < 2:
                parameter.zero_()
            else:
                nn.init.kaiming_normal_(parameter, 0.1)
            if '.conv2.' in name:
                parameter *= 0.1
            if name.startswith('spynet.') and '.basic_module.4.conv.' in name:
                parameter.mul_(0.02).add_(1.5 / 63 if parameter.dim() == 1 else 0)
