#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""VRT at full size on the CPU, beside what the machine could do.

usage: bench-vrt.py BUILD [OPTION]... [speed] [growth]

  speed   seconds of one clip by vrt-infer in f32 and bf16, in turns, and what share that is of the
          best rate of matrix products: of those measured right before and after, the median of the
          rounds' own; and of the best of all
  growth  by how much a process grows in a run, over the plan, for a plan of more than 1 GB

Without names: both. The weights follow from their names (make-vrt), so no checkpoint is needed.
BUILD should be an optimised build (meson setup --buildtype=release); the machine should be idle.
What PyTorch needs for the same: bench-peers.py.
"""
import argparse
import array
import json
import math
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

GROWTH_PLAN_BYTES = 1.15e9


def write_npy(path, shape, values):
    """In NumPy's format, without NumPy."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header = header.ljust(117) + '\n'
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode())
        array.array('f', values).tofile(f)


def write_clip(path, frames, channels, width, height):
    """Moving waves and noise, values 0 to 1."""
    noise = random.Random(1)
    values = array.array('f')
    for d in range(frames):
        for c in range(channels):
            for y in range(height):
                for x in range(width):
                    wave = (0.5 + 0.22 * math.sin(0.31 * (x + 1.3 * d) + 0.7 * c)
                            + 0.18 * math.cos(0.23 * (y - 0.9 * d) + 0.19 * x + 1.1 * c))
                    values.append(min(max(wave + 0.1 * (noise.random() - 0.5), 0), 1))
    write_npy(path, (frames, channels, height, width), values)


def run(command):
    """Runs it. Return: what it printed; the largest size it had, in bytes."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f'{command[0]} failed')
    return text, usage.ru_maxrss * 1024


class Ours:
    def __init__(self, bench, precision):
        self.bench, self.precision = bench, precision
        self.output = bench.path(f'{precision}.npy')
        self.seconds, self.shares, self.peak_bytes, self.report = [], [], 0, None

    def once(self, before):
        """before: the best products until now. Return: those since."""
        self.report, peak = self.bench.infer(self.bench.clip, self.output, self.precision,
                                             self.bench.options.repeat)
        after = self.bench.measure_products()
        self.seconds.append(self.report['median_s'])
        self.peak_bytes = max(self.peak_bytes, peak)
        if before[self.precision] and after[self.precision]:
            beside = (before[self.precision] + after[self.precision]) / 2
            self.shares.append(self.report['gflop'] / self.report['median_s'] / beside)
        return after


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.model, self.clip = self.path('vrt.safetensors'), self.path('clip.npy')
        run([self.program('tests', 'bench', 'make-vrt'), str(options.task), self.model])
        self.channels = 4 if options.task == 8 else 3
        write_clip(self.clip, options.frames, self.channels, *options.size)
        self.best = {'f32': 0, 'bf16': 0}

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, *names):
        return os.path.join(self.options.build, *names)

    def infer(self, clip, output, precision, repeat):
        """Return: what vrt-infer reports; its peak memory."""
        text, peak = run([self.program('workers', 'infer', 'vrt-infer'), '--model', self.model,
                          '--input', clip, '--output', output, '--device', 'cpu', '--precision',
                          precision, '--threads', str(self.options.threads), '--repeat',
                          str(repeat), '--json'])
        return json.loads(text), peak

    def leave_out_precisions(self):
        """Those that this processor doesn't multiply."""
        self.measure_products()
        for precision in [p for p in self.options.precision
                          if self.best['f32'] and not self.best[p]]:
            print(f'{precision}: this processor has no products in it')
            self.options.precision.remove(precision)

    def measure_products(self):
        """Return: the best rates in GFLOP/s, 0 where there is none; those so far are self.best."""
        program = self.program('tests', 'bench', 'bench-gemm')
        if not os.path.exists(program):
            return dict.fromkeys(self.best, 0)
        words = run([program, str(self.options.threads), '0.3'])[0].split()
        now = {name: float(words[len(words) - 1 - words[::-1].index(name) + 1])
               for name in self.best}
        for name, rate in now.items():
            self.best[name] = max(self.best[name], rate)
        return now

    # speed

    def speed(self):
        options = self.options
        ours = [Ours(self, p) for p in options.precision]
        beside = self.measure_products()
        for _ in range(options.rounds):
            for contestant in ours:
                beside = contestant.once(beside)
        gflop = ours[0].report['gflop']
        print(f'  {gflop / 1000:.3f} TFLOP; best products '
              + ', '.join(f'{k} {v:.0f} GFLOP/s' for k, v in self.best.items()))
        print('  | | seconds | GFLOP/s | of the product beside it | of the best | peak MiB |\n'
              '  | --- | --- | --- | --- | --- | --- |')
        for c in ours:
            seconds, best = statistics.median(c.seconds), self.best[c.precision]
            beside = f'{statistics.median(c.shares):.0%}' if c.shares else 'not measured'
            share = f'{gflop / seconds / best:.0%}' if best else 'not measured'
            print(f'  | {c.precision} | {seconds:.3f} | {gflop / seconds:.1f} | {beside} | {share} '
                  f'| {c.peak_bytes / 2**20:.0f} |')
        for c in ours:
            print(f'  {c.precision}: ' + ', '.join(f'{s:.3f}' for s in c.seconds) + ' s')

    # growth

    def square(self, side, precision):
        """What vrt-infer reports of a clip of this size."""
        clip = self.path('square.npy')
        write_clip(clip, self.options.frames, self.channels, side, side)
        return self.infer(clip, self.path('y.npy'), precision, 1)[0]

    def growth(self):
        """At a size that needs more than 1 GB, by the line through the plans of two small ones."""
        for precision in self.options.precision:
            low, high = self.square(64, precision), self.square(96, precision)
            slope = ((high['planned_peak_bytes'] - low['planned_peak_bytes'])
                     / (96 * 96 - 64 * 64))
            pixels = 64 * 64 + (GROWTH_PLAN_BYTES - low['planned_peak_bytes']) / slope
            side = math.ceil(math.sqrt(pixels) / 8) * 8
            large = self.square(side, precision)
            planned, measured = large['planned_peak_bytes'], large['measured_peak_bytes']
            if measured is None:
                print('growth: nobody knows the memory of a process here')
                return
            print(f'growth {precision}: {measured / 2**20:.1f} MiB, planned {planned / 2**20:.1f} '
                  f'MiB, {self.options.frames} frames of {side}x{side}: {measured / planned:.3f} '
                  f'(wanted 0.95 to 1.05); {large["median_s"]:.1f} s, '
                  f'{large["gflop_per_s"]:.0f} GFLOP/s')


def name(text):
    if text not in ('speed', 'growth'):
        raise argparse.ArgumentTypeError(f"'{text}' is neither 'speed' nor 'growth'")
    return text


def size(text):
    width, _, height = text.partition('x')
    return int(width), int(height or width)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('names', nargs='*', type=name, metavar='speed|growth')
    parser.add_argument('--task', type=int, choices=range(1, 10), default=1,
                        help='the released network with this number (1)')
    parser.add_argument('--frames', type=int, default=6)
    parser.add_argument('--size', type=size, default=(64, 64), help='WxH or W (64)')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--repeat', type=int, default=3, help='runs of ours in a round (3)')
    parser.add_argument('--precision', default='f32,bf16', type=lambda text: text.split(','))
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(prefix='vrtd-bench-') as folder:
        try:
            bench = Bench(options, folder)
            bench.leave_out_precisions()
            for each in options.names or ('speed', 'growth'):
                getattr(bench, each)()
                sys.stdout.flush()
        except (OSError, RuntimeError) as error:
            print(f'bench-vrt: {error}', file=sys.stderr)
            return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
