# SPDX-License-Identifier: MIT
"""VRT in plain PyTorch, as a user of PyTorch would write it: eager, one operation after the other.

Written from the network's description; parameters have the names of the released checkpoints, so
that a state dictionary is such a checkpoint. What runs is common code: torch.nn.functional and
matrix products, windows cut by views and permutes, softmax over whole score matrices. PyTorch has
no deformable convolution: it is torchvision's where that is installed, else positions by
grid_sample, then one matrix product. It runs on the device that the network and its input are on.

Shapes: D frames, H rows, W columns, C channels. Activations are [D,H,W,C]; convolutions see the
same memory as [D,C,H,W].
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

try:
    from torchvision.ops import deform_conv2d
except ImportError:
    deform_conv2d = None


class Config:
    """What a task's network is made of."""

    def __init__(self, scale=4, window=(6, 8, 8), dims=(120, 180), depths=(8,) * 7 + (4,) * 6,
                 heads=6, pa_frames=2, deform_groups=12, independent=2, nonblind=False):
        self.scale, self.window, self.dims, self.heads = scale, window, dims, heads
        self.depths, self.depths8 = depths[:7], depths[7:]
        self.pa_frames, self.deform_groups = pa_frames, deform_groups
        self.independent = independent          # groups of stage 8 that see every frame by itself
        self.nonblind = nonblind


_DEBLUR = dict(scale=1, dims=(96, 120), depths=(8,) * 7 + (4,) * 4, deform_groups=16)
TASKS = {
    1: Config(),
    2: Config(window=(8, 8, 8), pa_frames=6, deform_groups=24),
    3: Config(window=(8, 8, 8), pa_frames=4, deform_groups=16),
    4: Config(window=(8, 8, 8), pa_frames=4, deform_groups=16),
    5: Config(**_DEBLUR),
    6: Config(**_DEBLUR),
    7: Config(**_DEBLUR),
    8: Config(**_DEBLUR, nonblind=True),
    9: Config(**{**_DEBLUR, 'window': (4, 8, 8), 'pa_frames': 0, 'independent': 0}),
}


# Images and positions


def channels_first(x):
    """[D,H,W,C] as [D,C,H,W]."""
    return x.permute(0, 3, 1, 2)


def channels_last(x):
    """[D,C,H,W] as [D,H,W,C]."""
    return x.permute(0, 2, 3, 1)


def sample_at(image, positions, mode='bilinear', padding='zeros'):
    """`image` [N,C,H,W] at `positions` [N,H',W',2], pixels, x first."""
    height, width = image.shape[-2:]
    x = positions[..., 0] * 2 / max(width - 1, 1) - 1
    y = positions[..., 1] * 2 / max(height - 1, 1) - 1
    grid = torch.stack((x, y), -1)
    return F.grid_sample(image.to(grid.dtype), grid, mode, padding, align_corners=True)


def pixel_grid(image):
    """The position of every pixel of `image` [...,H,W], [H,W,2]."""
    axes = [torch.arange(n, dtype=torch.float32, device=image.device) for n in image.shape[-2:]]
    y, x = torch.meshgrid(*axes, indexing='ij')
    return torch.stack((x, y), -1)


def warp(image, flow, padding='zeros'):
    """`image` [N,C,H,W] sampled where `flow` [N,2,H,W] points."""
    positions = pixel_grid(image) + channels_last(flow)
    return sample_at(image, positions, padding=padding)


def warp_nearest4(image, flow):
    """The four pixels around where `flow` points, one after the other in the channels."""
    positions = pixel_grid(image) + channels_last(flow)
    low, high = positions.floor(), positions.ceil()
    corners = ((low, low), (low, high), (high, low), (high, high))
    return torch.cat([sample_at(image, torch.stack((x[..., 0], y[..., 1]), -1), 'nearest')
                      for x, y in corners], 1)


def deform_conv(x, offset, mask, weight, bias):
    """A modulated deformable 3x3 convolution of one frame `x` [C,H,W].

    offset [G*9,2,H,W], y first; mask [G*9,H,W]; weight [O,C/n,3,3]: n groups of input channels,
    each giving its share of the output channels.
    """
    channels, height, width = x.shape
    if deform_conv2d:
        if x.device.type == 'cpu':      # where torchvision's knows neither bf16 nor autocast
            x, offset, mask = x.float(), offset.float(), mask.float()
        return deform_conv2d(x[None], offset.reshape(1, -1, height, width), weight, bias,
                             padding=1, mask=mask[None])[0]
    groups = mask.shape[0] // 9
    taps = torch.tensor([(r - 1, c - 1) for r in range(3) for c in range(3)], dtype=torch.float32,
                        device=x.device)
    offset = offset.view(groups, 9, 2, height, width) + taps.view(9, 2, 1, 1)
    positions = offset.permute(0, 1, 3, 4, 2).flip(-1) + pixel_grid(x)
    columns = sample_at(x.view(groups, channels // groups, height, width),
                        positions.reshape(groups, 9 * height, width, 2))
    columns = columns.view(groups, channels // groups, 9, height * width)
    columns = columns * mask.view(groups, 1, 9, height * width)
    n_shares = channels // weight.shape[1]
    columns = columns.view(n_shares, weight.shape[1] * 9, height * width)
    out = weight.reshape(n_shares, weight.shape[0] // n_shares, -1) @ columns
    return out.view(-1, height, width) + bias.view(-1, 1, 1)


# Flow


class FlowLevel(nn.Module):
    """The network of one level of the pyramid."""

    def __init__(self):
        super().__init__()
        sizes = (8, 32, 64, 32, 16, 2)
        layers = []
        for i in range(5):
            layers += [nn.Conv2d(sizes[i], sizes[i + 1], 7, padding=3), nn.ReLU()]
        self.basic_module = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return self.basic_module(x)


class SpyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.basic_module = nn.ModuleList(FlowLevel() for _ in range(6))
        self.register_buffer('mean', torch.tensor((0.485, 0.456, 0.406)).view(1, 3, 1, 1))
        self.register_buffer('std', torch.tensor((0.229, 0.224, 0.225)).view(1, 3, 1, 1))

    def pyramid(self, images, size):
        x = F.interpolate(images, size, mode='bilinear', align_corners=False)
        levels = [(x - self.mean) / self.std]
        for _ in range(5):
            levels.append(F.avg_pool2d(levels[-1], 2))
        return levels[::-1]

    def forward(self, reference, other):
        """Flows [N,2,H/s,W/s] from `reference` to `other` [N,3,H,W], for s = 1, 2, 4, 8."""
        n, _, height, width = reference.shape
        size = [math.ceil(v / 32) * 32 for v in (height, width)]
        flow = reference.new_zeros(n, 2, size[0] // 64, size[1] // 64)
        flows = {}
        levels = zip(self.pyramid(reference, size), self.pyramid(other, size))
        for level, (a, b) in enumerate(levels):
            flow = self.enlarge(flow, a.shape[-2:])
            flow = self.basic_module[level](torch.cat((a, warp(b, flow, 'border'), flow), 1)) + flow
            if level >= 2:
                flows[5 - level] = self.fit(flow, (height, width), size, 2 ** (5 - level))
        return [flows[i] for i in range(4)]

    @staticmethod
    def enlarge(flow, size):
        up = F.interpolate(flow, scale_factor=2, mode='bilinear', align_corners=True) * 2
        rest = (0, size[1] - up.shape[-1], 0, size[0] - up.shape[-2])
        return F.pad(up, rest, 'replicate') if any(rest) else up

    @staticmethod
    def fit(flow, image_size, padded_size, scale):
        """From the size of the padded pyramid to the image's, at 1/scale."""
        height, width = (v // scale for v in image_size)
        out = F.interpolate(flow, (height, width), mode='bilinear', align_corners=False)
        ratios = (width / (padded_size[1] // scale), height / (padded_size[0] // scale))
        return out * torch.tensor(ratios, device=out.device).view(1, 2, 1, 1)


def chain_flows(flows, distance):
    """Flows to neighbours 1, 2 .. `distance` frames on, from those to the next: [k][scale]."""
    result = [flows]
    for k in range(1, distance):
        result.append([longer[:-1] + warp(step[k:], longer[:-1])
                       for longer, step in zip(result[-1], flows)])
    return result


def chain_flows_back(flows, distance):
    """The same towards the past: flow i leads from frame i + k to frame i."""
    result = [flows]
    for k in range(1, distance):
        result.append([longer[1:] + warp(step[:-k], longer[1:])
                       for longer, step in zip(result[-1], flows)])
    return result


# Attention


def relative_index(window):
    """The row of the bias table for every pair of tokens of a window, [N,N]."""
    d, h, w = window
    axes = torch.meshgrid(torch.arange(d), torch.arange(h), torch.arange(w), indexing='ij')
    at = torch.stack(axes).flatten(1)
    delta = at[:, :, None] - at[:, None, :]
    return ((delta[0] + d - 1) * (2 * h - 1) * (2 * w - 1) + (delta[1] + h - 1) * (2 * w - 1)
            + delta[2] + w - 1)


def sine_position(height, width, channels):
    """[1,H*W,C]: half of the channels tell the row, half the column."""
    half = channels // 2
    wavelength = 10000 ** (2 * (torch.arange(half, dtype=torch.float32) // 2) / half)

    def features(count):
        at = torch.arange(1, count + 1, dtype=torch.float32) / (count + 1e-6) * 2 * math.pi
        angle = at[:, None] / wavelength
        return torch.where(torch.arange(half) % 2 == 0, angle.sin(), angle.cos())

    rows = features(height)[:, None].expand(height, width, half)
    columns = features(width)[None].expand(height, width, half)
    return torch.cat((rows, columns), 2).reshape(1, height * width, channels)


def cut_windows(x, window):
    """[D,H,W,C] in windows [n,N,C]."""
    d, h, w = window
    depth, height, width, channels = x.shape
    x = x.view(depth // d, d, height // h, h, width // w, w, channels)
    return x.permute(0, 2, 4, 1, 3, 5, 6).reshape(-1, d * h * w, channels)


def join_windows(x, window, size):
    """cut_windows() undone, for `size` (D,H,W)."""
    d, h, w = window
    x = x.view(size[0] // d, size[1] // h, size[2] // w, d, h, w, -1)
    return x.permute(0, 3, 1, 4, 2, 5, 6).reshape(*size, -1)


class Masks:
    """The masks of shifted windows, each made once."""

    def __init__(self):
        self.made = {}

    def get(self, size, window, shift, device):
        key = (size, window, shift, device)
        if key not in self.made:
            self.made[key] = self.make(size, window, shift).to(device)
        return self.made[key]

    @staticmethod
    def make(size, window, shift):
        label = torch.zeros(*size, 1)
        count = 0
        for d in Masks.slices(window[0], shift[0]):
            for h in Masks.slices(window[1], shift[1]):
                for w in Masks.slices(window[2], shift[2]):
                    label[d, h, w] = count
                    count += 1
        label = cut_windows(label, window).squeeze(2)
        differs = label[:, None, :] != label[:, :, None]
        return differs.float() * -100

    @staticmethod
    def slices(window, shift):
        return slice(-window), slice(-window, -shift), slice(-shift, None)


class Attention(nn.Module):
    """Attention within windows: of all tokens, and between the windows' two frames if mutual."""

    def __init__(self, dim, window, heads, mutual):
        super().__init__()
        self.heads, self.mutual = heads, mutual
        rows = (2 * window[0] - 1) * (2 * window[1] - 1) * (2 * window[2] - 1)
        self.relative_position_bias_table = nn.Parameter(torch.empty(rows, heads))
        self.register_buffer('relative_position_index', relative_index(window))
        self.qkv_self = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(2 * dim if mutual else dim, dim)
        if mutual:
            self.register_buffer('position_bias', sine_position(*window[1:], dim))
            self.qkv_mut = nn.Linear(dim, 3 * dim)

    def split_heads(self, qkv):
        """[n,N,3C] as q, k, v [n,heads,N,C/heads]."""
        n, tokens, channels = qkv.shape
        qkv = qkv.view(n, tokens, 3, self.heads, channels // (3 * self.heads))
        return qkv.permute(2, 0, 3, 1, 4)

    def attend(self, q, k, v, mask, bias=None):
        n, heads, tokens, width = q.shape
        scores = (q * width ** -0.5) @ k.transpose(-2, -1)
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.view(-1, mask.shape[0], heads, tokens, tokens) + mask.unsqueeze(1)
            scores = scores.view(-1, heads, tokens, tokens)
        out = scores.softmax(-1) @ v
        return out.transpose(1, 2).reshape(n, tokens, heads * width)

    def forward(self, x, mask):
        """x [n,N,C], mask [n,N,N] or None."""
        tokens = x.shape[1]
        index = self.relative_position_index[:tokens, :tokens].reshape(-1)
        bias = self.relative_position_bias_table[index].view(tokens, tokens, self.heads)
        out = self.attend(*self.split_heads(self.qkv_self(x)), mask,
                          bias.permute(2, 0, 1).unsqueeze(0))
        if self.mutual:
            out = torch.cat((self.between_frames(x, mask), out), 2)
        return self.proj(out)

    def between_frames(self, x, mask):
        position = self.position_bias.repeat(1, 2, 1)
        qkv = self.split_heads(self.qkv_mut(x + position))
        (q1, q2), (k1, k2), (v1, v2) = (t.chunk(2, 2) for t in qkv)
        half = x.shape[1] // 2
        mask = None if mask is None else mask[:, :half, :half]
        return torch.cat((self.attend(q2, k1, v1, mask), self.attend(q1, k2, v2, mask)), 1)


class GatedMlp(nn.Module):
    def __init__(self, dim, hidden, out):
        super().__init__()
        self.fc11 = nn.Linear(dim, hidden)
        self.fc12 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc11(x)) * self.fc12(x))


class Block(nn.Module):
    def __init__(self, dim, heads, window, shifted, mutual, masks):
        super().__init__()
        self.window, self.shifted, self.masks = window, shifted, masks
        self.norm1 = nn.LayerNorm(dim)
        self.attn = Attention(dim, window, heads, mutual)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = GatedMlp(dim, 2 * dim, dim)

    def attention(self, x):
        size = x.shape[:3]
        window = tuple(min(s, w) for s, w in zip(size, self.window))
        shift = tuple(w // 2 if self.shifted and s > w else 0 for s, w in zip(size, self.window))
        x = self.norm1(x)
        far = [-s % w for s, w in zip(size, window)]
        x = F.pad(x, (0, 0, 0, far[2], 0, far[1], 0, far[0]))
        padded, mask = tuple(x.shape[:3]), None
        if any(shift):
            x = torch.roll(x, [-s for s in shift], (0, 1, 2))
            mask = self.masks.get(padded, window, shift, x.device)
        x = join_windows(self.attn(cut_windows(x, window), mask), window, padded)
        if any(shift):
            x = torch.roll(x, shift, (0, 1, 2))
        return x[:size[0], :size[1], :size[2]]

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(self.norm2(x))


class Group(nn.Module):
    """Blocks, every second one shifted."""

    def __init__(self, dim, depth, heads, window, mutual, masks):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim, heads, window, i % 2 == 1, mutual, masks)
                                    for i in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


# Stages


class Align(nn.Module):
    """What neighbours show, brought to where a frame shows it."""

    def __init__(self, dim, distance, groups, max_residue):
        super().__init__()
        self.distance, self.max_residue = distance, max_residue
        self.weight = nn.Parameter(torch.empty(dim, dim, 3, 3))
        self.bias = nn.Parameter(torch.empty(dim))
        layers = []
        for channels in ((1 + distance) * dim + 2 * distance, dim, dim):
            layers += [nn.Conv2d(channels, dim, 3, padding=1), nn.LeakyReLU(0.1)]
        self.conv_offset = nn.Sequential(*layers, nn.Conv2d(dim, 27 * groups, 3, padding=1))

    def forward(self, x, neighbours, flows):
        """x [C,H,W]; of `distance` neighbours, x and the flow [2,H,W] to it; zeros for None."""
        size = x.shape[1:]
        neighbours = [torch.zeros_like(x) if n is None else n for n in neighbours]
        flows = [x.new_zeros(2, *size) if f is None else f for f in flows]
        warped = [warp(n[None], f[None])[0] for n, f in zip(neighbours, flows)]
        out = self.conv_offset(torch.cat(warped + [x] + flows)[None])[0]
        offset, mask = out.split((out.shape[0] // 3 * 2, out.shape[0] // 3))
        offset = self.max_residue * torch.tanh(offset)
        offset = offset.view(self.distance, -1, 2, *size)
        offset = offset + torch.stack(flows).flip(1).unsqueeze(1)
        return deform_conv(torch.cat(neighbours), offset.view(-1, 2, *size), torch.sigmoid(mask),
                           self.weight, self.bias)


class Rearrange(nn.Module):
    """Between scales: 2x2 pixels into channels ('down'), channels into 2x2 pixels ('up')."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x):
        depth, height, width, channels = x.shape
        if self.way == 'down':
            x = x.view(depth, height // 2, 2, width // 2, 2, channels).permute(0, 1, 3, 4, 2, 5)
            return x.reshape(depth, height // 2, width // 2, 4 * channels)
        if self.way == 'up':
            x = x.view(depth, height, width, 2, 2, channels // 4).permute(0, 1, 4, 2, 3, 5)
            return x.reshape(depth, 2 * height, 2 * width, channels // 4)
        return x


class Stage(nn.Module):
    def __init__(self, config, index, way, scale, masks):
        super().__init__()
        dim, depth = config.dims[0], config.depths[index]
        wide = {'none': dim, 'down': 4 * dim, 'up': dim // 4}[way]
        self.reshape = nn.Sequential(Rearrange(way), nn.LayerNorm(wide),
                                     *([] if way == 'none' else [nn.Linear(wide, dim)]))
        mutual = int(depth * 0.75)
        self.residual_group1 = Group(dim, mutual, config.heads, (2, *config.window[1:]), True,
                                     masks)
        self.linear1 = nn.Linear(dim, dim)
        self.residual_group2 = Group(dim, depth - mutual, config.heads, config.window, False, masks)
        self.linear2 = nn.Linear(dim, dim)
        self.distance = config.pa_frames // 2
        if self.distance:
            self.pa_deform = Align(dim, self.distance, config.deform_groups, 10 / scale)
            self.pa_fuse = GatedMlp(3 * dim, 3 * dim, dim)

    def aligned(self, x, flows, way):
        """For every frame what its neighbours on one side show, [D,C,H,W]."""
        result = []
        for i in range(len(x)):
            at = [i + way * k for k in range(1, self.distance + 1)]
            if not 0 <= at[0] < len(x):
                result.append(torch.zeros_like(x[i]))
                continue
            inside = [0 <= j < len(x) for j in at]
            result.append(self.pa_deform(
                x[i], [x[j] if ok else None for j, ok in zip(at, inside)],
                [f[min(i, j)] if ok else None for f, j, ok in zip(flows, at, inside)]))
        return torch.stack(result)

    def forward(self, x, flows_on, flows_back):
        """x [D,H,W,C]; flows by distance, [D-k,2,H,W] each."""
        x = self.reshape(x)
        x = self.linear1(self.residual_group1(x)) + x
        x = self.linear2(self.residual_group2(x)) + x
        if self.distance:
            frames = channels_first(x).contiguous()
            x = torch.cat((x, channels_last(self.aligned(frames, flows_on, 1)),
                           channels_last(self.aligned(frames, flows_back, -1))), 3)
            x = self.pa_fuse(x)
        return x


class LastGroup(nn.Module):
    """A group of stage 8."""

    def __init__(self, config, depth, window, masks):
        super().__init__()
        dim = config.dims[1]
        self.residual_group = Group(dim, depth, config.heads, window, False, masks)
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.linear(self.residual_group(x))


class FrameConv(nn.Conv3d):
    """A 3x3 convolution of every frame; its weights have a depth of one in the checkpoints."""

    def __init__(self, in_c, out_c):
        super().__init__(in_c, out_c, (1, 3, 3), padding=(0, 1, 1))

    def forward(self, x):
        return F.conv2d(x, self.weight.squeeze(2), self.bias, padding=1)


class Vrt(nn.Module):
    WAYS = (('none', 1), ('down', 2), ('down', 4), ('down', 8), ('up', 4), ('up', 2), ('up', 1))

    def __init__(self, config):
        super().__init__()
        self.config, self.taps, masks = config, None, Masks()
        dim, wide = config.dims
        in_c = 27 + config.nonblind if config.pa_frames else 3
        self.conv_first = FrameConv(in_c, dim)
        if config.pa_frames:
            self.spynet = SpyNet()
        for i, (way, scale) in enumerate(self.WAYS):
            setattr(self, f'stage{i + 1}', Stage(config, i, way, scale, masks))
        windows = [config.window] * len(config.depths8)
        for i in range(config.independent):
            windows[-1 - i] = (1, *config.window[1:])
        self.stage8 = nn.ModuleList(
            [nn.Sequential(Rearrange('none'), nn.LayerNorm(dim), nn.Linear(dim, wide))]
            + [LastGroup(config, depth, window, masks)
               for depth, window in zip(config.depths8, windows)])
        self.norm = nn.LayerNorm(wide)
        self.conv_after_body = nn.Linear(wide, dim)
        self.make_tail(config, dim)

    def make_tail(self, config, dim):
        if not config.pa_frames:
            self.linear_fuse = nn.Conv2d(dim * config.window[0], 64, 1)
            self.conv_last = nn.Conv2d(64, 3, 7)
        elif config.scale == 1:
            self.conv_last = FrameConv(dim, 3)
        else:
            self.conv_before_upsample = nn.Sequential(FrameConv(dim, 64), nn.LeakyReLU(0.01))
            self.upsample = nn.ModuleDict({'0': FrameConv(64, 256), '5': FrameConv(64, 256),
                                           '10': FrameConv(64, 64)})
            self.conv_last = FrameConv(64, 3)

    def tap(self, name, value):
        """Keeps what is computed in the middle, where somebody asked for it."""
        if self.taps is not None:
            self.taps[name] = value
        return value

    def flows(self, images):
        """By distance and scale: from every frame to those after it, and to those before."""
        distance = self.config.pa_frames // 2
        on = chain_flows(self.spynet(images[:-1], images[1:]), distance)
        back = chain_flows_back(self.spynet(images[1:], images[:-1]), distance)
        for name, chains in (('backward', on), ('forward', back)):
            for k, scales in enumerate(chains):
                for s, flow in enumerate(scales):
                    self.tap(f'flow_{name}.{4 * k + s}', flow)
        return on, back

    def features(self, x, on, back):
        """[D,H,W,C] through all stages."""
        kept = {}
        for i, (_, scale) in enumerate(self.WAYS, 1):
            if i >= 6:
                x = x + kept.pop(9 - i)
            s = (1, 2, 4, 8).index(scale)
            x = getattr(self, f'stage{i}')(x, [f[s] for f in on], [f[s] for f in back])
            self.tap(f'stage{i}', x)
            if i <= 3:
                kept[i] = x
        x = x + kept.pop(1)
        for i, group in enumerate(self.stage8):
            x = self.tap(f'stage8.{i}', group(x))
        return x

    def body(self, x, on=(), back=()):
        """From the first convolution's input to the last ones', [D,C,H,W]."""
        x = self.tap('conv_first', channels_last(self.conv_first(x)))
        y = self.tap('norm', self.norm(self.features(x, on, back)))
        return channels_first(x + self.tap('conv_after_body', self.conv_after_body(y)))

    def forward(self, x):
        """A clip [D,3,H,W], values 0 to 1; with a 4th channel for the noise where that is known."""
        if not self.config.pa_frames:
            return self.between(x)
        images = x[:, :3]
        on, back = self.flows(images)
        none = x.new_zeros(1, 12, *x.shape[2:])
        ahead = torch.cat((warp_nearest4(images[1:], on[0][0]), none))
        behind = torch.cat((none, warp_nearest4(images[:-1], back[0][0])))
        y = self.body(torch.cat((images, ahead, behind, x[:, 3:]), 1), on, back)
        if self.config.scale == 1:
            return self.conv_last(y) + images
        return self.enlarge(y) + F.interpolate(images, scale_factor=4, mode='bilinear',
                                               align_corners=False)

    def enlarge(self, y):
        y = self.conv_before_upsample(y)
        for name in ('0', '5'):
            y = F.leaky_relu(F.pixel_shuffle(self.upsample[name](y), 2), 0.1)
        return self.conv_last(self.upsample['10'](y))

    def between(self, x):
        """The frame in the middle of the clip."""
        mean = x.mean((0, 2, 3), keepdim=True)
        y = self.body(x - mean)
        y = F.leaky_relu(self.linear_fuse(y.reshape(1, -1, *y.shape[2:])), 0.2)
        return self.conv_last(F.pad(y, (3, 3, 3, 3), 'reflect')) + mean
