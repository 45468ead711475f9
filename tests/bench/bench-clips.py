#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far a video that is restored in shards is from the same video restored as one clip.

usage: bench-clips.py BUILD [--network NUMBER] [--size WxH] [--frames N] [--clip N] [--tile N]

A natural clip (natural-clip.sh) is restored by a daemon of the bench's own three times: as one
whole clip, in shards whose overlaps are blended, and by the authors' rule. Differences are those
of the samples that are encoded, without loss.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def restore(harness, daemon, folder, name, options):
    """The restored samples, and the job's JSON."""
    target = os.path.join(folder, name + '.mkv')
    done = subprocess.run([harness.VRTCTL, 'submit', '--follow', '--json', '--codec', 'ffv1',
                           '--precision', 'f32', '-m', os.path.join(folder, 'vrt.safetensors'),
                           '--scene-cuts', 'off', *options, '-o', target,
                           os.path.join(folder, 'clip.mp4')],
                          env=dict(os.environ, VRTD_SOCKET=daemon.socket), text=True,
                          stdout=subprocess.PIPE, check=True)
    return harness.pixels(target), json.loads(done.stdout.splitlines()[-1])


def compare(a, b):
    """PSNR in dB, the largest difference, and the share of samples that differ."""
    counts = [0] * 256
    for x, y in zip(a, b, strict=True):
        counts[abs(x - y)] += 1
    squares = sum(n * d * d for d, n in enumerate(counts))
    psnr = 10 * math.log10(255 * 255 * len(a) / squares) if squares else math.inf
    return psnr, max(d for d, n in enumerate(counts) if n), 1 - counts[0] / len(a)


def measure(harness, args, folder):
    width, height = args.size.split('x')
    subprocess.run([os.path.join(args.build, 'tests/bench/make-vrt'), str(args.network),
                    os.path.join(folder, 'vrt.safetensors')], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(['bash', os.path.join(HERE, 'natural-clip.sh'),
                    os.path.join(folder, 'clip.mp4'), width, height, str(args.frames)], check=True)
    daemon = harness.Daemon(folder)
    try:
        whole, _ = restore(harness, daemon, folder, 'whole', ['--clip', str(args.frames)])
        tile = ['--tile', str(args.tile)] if args.tile else []
        for tiling in ('blend', 'official'):
            options = ['--clip', str(args.clip), '--tiling', tiling, *tile]
            shards, job = restore(harness, daemon, folder, tiling, options)
            psnr, most, share = compare(whole, shards)
            recipe = job['recipe']
            print(f'{tiling:8}  {recipe["clip_frames"]} frames sharing {recipe["clip_overlap"]}, '
                  f'tiles of {recipe["tile_width"]}x{recipe["tile_height"]}: {psnr:.1f} dB, '
                  f'largest difference {most}, {100 * share:.1f} % of samples differ, '
                  f'{job["elapsed_s"]:.1f} s', flush=True)
    finally:
        if daemon.stop() != 0:
            print(daemon.log_text(), file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build')
    parser.add_argument('--network', type=int, default=0)
    parser.add_argument('--size', default='128x72')
    parser.add_argument('--frames', type=int, default=24)
    parser.add_argument('--clip', type=int, default=12)
    parser.add_argument('--tile', type=int, default=0)
    args = parser.parse_args()
    os.environ['VRTD_BUILD'] = os.path.abspath(args.build)
    sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
    import harness
    with tempfile.TemporaryDirectory(prefix='vrtd-bench-') as folder:
        measure(harness, args, folder)


if __name__ == '__main__':
    main()
