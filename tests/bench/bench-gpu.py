#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks on a GPU: ours beside PyTorch on the same device, in turns, and beside the best matrix
products that were measured between them.

usage: bench-gpu.py BUILD [OPTION]...

Needs nothing but Python; PyTorch is run by --python, and where that has none, ours is measured
alone. BUILD should be an optimised build. Every measurement is a line of JSON in --log, every
figure that has a goal a line in --rows: what, result, figure, goal, with tabs between. A figure
that nobody measured is no figure: its line says why.
"""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from served import Failed, Served

HERE = os.path.dirname(os.path.abspath(__file__))

# name, network, frames, width, height
VRT_CASES = [('VRT 001, 6 of 320x180', 'vrt:1', 6, 320, 180),
             ('VRT 002, 16 of 320x180', 'vrt:2', 16, 320, 180),
             ('VRT 001, 16 of 320x180', 'vrt:1', 16, 320, 180),
             ('VRT 002, 6 of 320x180', 'vrt:2', 6, 320, 180)]
PICTURE_CASES = [('Compact x4, 1280x720', 'compact', 1, 1280, 720),
                 ('ESRGAN x4, 1280x720', 'esrgan', 1, 1280, 720)]
SMALL_CASES = [('VRT 001, 2 of 64x64', 'vrt:1', 2, 64, 64)], [('Compact x4, 64x64', 'compact', 1,
                                                              64, 64)]
OFF, ALL = 'ours f16 libraries=off', 'ours f16 libraries=all'
VRT_TURNS = ('ours f16', 'ours bf16', 'ours f32', 'ours f32 fma', 'PyTorch f32', 'PyTorch f16', OFF,
             ALL)
PICTURE_TURNS = ('ours f16', 'PyTorch f16', OFF, ALL)
OTHERS = ('PyTorch f16', 'PyTorch f16-compile')
BY_LIBRARIES = re.compile(r"libraries of NVIDIA's compute (\d+) of a program's")
GOAL_EAGER, GOAL_OTHERS, GOAL_RATE, GOAL_PICTURES = 5, 2, 0.35, 1.3


class Bench:
    def __init__(self, options):
        self.options, self.started = options, time.monotonic()
        self.torch = self.make_torch() if self.has_torch() else None
        self.best = {}              # the best product's GFLOP/s, by precision
        self.results = {}           # (name, contestant): seconds of each run
        self.gflop, self.memory = {}, {}    # memory: of (name, contestant), in bytes
        self.by_libraries = {}      # (name, contestant): ops that NVIDIA's libraries computed

    def has_torch(self):
        try:
            return subprocess.run([self.options.python, '-c', 'import numpy, torch'], check=False,
                                  stderr=subprocess.DEVNULL).returncode == 0
        except OSError:
            return False

    def make_torch(self):
        kind = self.options.device.split(':')[0]
        return Served('PyTorch', [self.options.python, os.path.join(HERE, 'torch_serve.py'),
                                  'cuda' if kind == 'cuda' else 'cpu'], self.options.errors)

    def left_s(self):
        return self.options.seconds - (time.monotonic() - self.started)

    def note(self, **what):
        line = json.dumps(what)
        print(line, flush=True)
        self.options.log.write(line + '\n')
        self.options.log.flush()

    def row(self, what, result, figure='', goal=''):
        self.options.rows.write(f'{what}\t{result}\t{figure}\t{goal}\n')
        self.options.rows.flush()

    # One measurement

    def ours(self, network, precision, *arguments):
        if self.left_s() < 5:
            raise Failed('no time was left')
        command = [os.path.join(self.options.build, 'tests', 'bench', 'bench-engine'), '--device',
                   self.options.device, '--precision', precision, '--json', '--debug', *network,
                   *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=self.left_s())
        except subprocess.TimeoutExpired:
            raise Failed('no time was left') from None
        if done.returncode or not done.stdout:
            raise Failed(' '.join(done.stderr.split())[-200:] or f'it ended by {done.returncode}')
        answer = json.loads(done.stdout.splitlines()[0])
        # Of all programs, some of the same ops: whether it is 0 is what matters.
        answer['ops_by_libraries'] = sum(map(int, BY_LIBRARIES.findall(done.stderr)))
        return answer

    def theirs(self, request, seconds=300):
        if not self.torch:
            raise Failed('there is no PyTorch')
        if self.left_s() < 5:
            raise Failed('no time was left')
        return self.torch.ask(request, min(seconds, self.left_s()))

    # Products

    def products(self):
        n = 512 if self.options.small else 8192
        for precision in ('f32', 'f16', 'bf16'):
            rates = []
            for who in ('ours', 'PyTorch'):
                try:
                    if who == 'ours':
                        answer = self.ours(['--product', str(n)], precision)
                        seconds = answer['min_s']
                    else:
                        answer = self.theirs({'network': 'product', 'mode': precision, 'size': n,
                                              'runs': 5})
                        seconds = min(answer['seconds'])
                    rates.append(2 * n**3 / seconds / 1e9)
                    self.note(what='product', size=n, who=who, precision=precision,
                              gflop_per_s=round(rates[-1], 1))
                except Failed as error:
                    self.note(what='product', size=n, who=who, precision=precision,
                              error=str(error))
            if rates:
                self.best[precision] = max(rates)

    # Networks

    def once(self, case, who):
        """One turn of a contestant."""
        name, network, frames, width, height = case
        if who.startswith('ours'):
            answer = self.ours(['--network', network], who.split()[1], '--frames', str(frames),
                               '--size', f'{width}x{height}', '--repeat', '5', '--by-op',
                               *(f'--{option}' for option in who.split()[2:]))
            self.gflop[name] = answer['gflop']
            self.memory[name, who] = answer['planned_peak_bytes']
            self.by_libraries[name, who] = answer['ops_by_libraries']
            seconds = [answer['median_s']]
        else:
            answer = self.theirs({'network': network, 'mode': who.split()[1], 'frames': frames,
                                  'width': width, 'height': height, 'runs': 3})
            seconds = answer['seconds']
            self.memory[name, who] = answer['peak_bytes']
        self.results.setdefault((name, who), []).extend(seconds)
        self.note(what=name, who=who, answer=answer)

    def turns(self, case, contestants):
        """All contestants one after the other, as many rounds as asked for."""
        failed = set()
        for i in range(self.options.rounds):
            for who in contestants:
                # One round is enough to compare these two; each may take long to be ready.
                if who in failed or (i > 0 and who in (OFF, ALL)):
                    continue
                try:
                    self.once(case, who)
                except Failed as error:
                    failed.add(who)
                    self.note(what=case[0], who=who, error=str(error))
                    if who.startswith('ours'):
                        self.row(f'{case[0]}, {who}', 'not measured', str(error)[-60:])

    def compiled(self, case):
        """The same by torch.compile, in a process of its own, which may take long to do so."""
        if not self.torch:
            return
        eager, self.torch = self.torch, PyTorch(self.options)
        eager.stop()
        try:
            name, network, frames, width, height = case
            answer = self.theirs({'network': network, 'mode': 'f16-compile', 'frames': frames,
                                  'width': width, 'height': height, 'runs': 5},
                                 self.options.compile_seconds)
            self.results[name, 'PyTorch f16-compile'] = answer['seconds']
            self.note(what=name, who='PyTorch f16-compile', answer=answer)
        except Failed as error:
            self.note(what=case[0], who='PyTorch f16-compile', error=str(error))
        finally:
            self.torch.stop()
            self.torch = eager

    def median(self, name, who):
        seconds = self.results.get((name, who))
        return statistics.median(seconds) if seconds else None

    def judge(self, what, figure, goal, unit):
        if figure is None:
            self.row(what, 'not measured', '', f'{goal:g}{unit}')
            return
        self.row(what, 'reached' if figure >= goal else 'missed', f'{figure:.2f}{unit}',
                 f'{goal:g}{unit}')

    def best_of(self, name, contestants):
        """The least median, and whose."""
        medians = [(self.median(name, who), who) for who in contestants
                   if self.median(name, who) is not None]
        return min(medians) if medians else (None, None)

    def sizes(self, name, who):
        """What memory it needs, beside PyTorch's at the same precision."""
        text = f', {self.memory[name, who] / 2**30:.2f} GiB'
        theirs = self.memory.get((name, 'PyTorch f16'))
        return f'{text} (PyTorch {theirs / 2**30:.2f})' if theirs else text

    def compare_libraries(self, name):
        """What cuBLASLt and cuDNN are worth: for whoever sets the rule by which they are used."""
        off, everything = self.median(name, OFF), self.median(name, ALL)
        if off and everything and not self.by_libraries[name, ALL]:
            self.row(f'{name}, f16, libraries against own kernels', 'no library computes it')
        elif off and everything:
            self.row(f'{name}, f16, libraries against own kernels', 'measured',
                     f'{off / everything:.2f} x')

    def judge_vrt(self, name):
        ours = ['ours f16', 'ours bf16']
        own, who = self.best_of(name, ours)
        eager, (other, whose) = self.median(name, 'PyTorch f32'), self.best_of(name, OTHERS)
        if own:
            self.row(f'{name}, {who}', 'measured', f'{own * 1000:.1f} ms{self.sizes(name, who)}')
        self.judge(f'{name}, against PyTorch f32 eager', eager / own if own and eager else None,
                   GOAL_EAGER, ' x')
        self.judge(f'{name}, against {whose or "the best of the others"}',
                   other / own if own and other else None, GOAL_OTHERS, ' x')
        split, fma = self.median(name, 'ours f32'), self.median(name, 'ours f32 fma')
        if split and fma:
            self.row(f'{name}, f32, against itself by FMA', 'measured', f'{fma / split:.2f} x')
        self.compare_libraries(name)
        bf16, rate = self.median(name, 'ours bf16'), self.best.get('bf16')
        share = self.gflop[name] / bf16 / rate * 100 if bf16 and rate else None
        self.judge(f'{name}, share of the best bf16 product', share, GOAL_RATE * 100, ' %')

    def judge_picture(self, name):
        own, (other, whose) = self.median(name, 'ours f16'), self.best_of(name, OTHERS)
        if own:
            self.row(f'{name}, ours f16', 'measured',
                     f'{1 / own:.2f} frames/s{self.sizes(name, "ours f16")}')
        self.compare_libraries(name)
        self.judge(f'{name}, against {whose or "PyTorch f16"}',
                   other / own if own and other else None, GOAL_PICTURES, ' x')

    def start_torch(self):
        if not self.torch:
            self.note(what='PyTorch', error=f'{self.options.python} has none: ours alone')
            return
        try:
            self.torch.start()
            self.note(what='PyTorch', **self.torch.about)
        except Failed as error:
            self.note(what='PyTorch', error=str(error))
            self.torch = None

    def measure(self, vrt, pictures):
        """What is wanted most comes first; torch.compile, which may take all the time, last."""
        self.products()
        for case in vrt[:1] + pictures + vrt[1:]:
            self.turns(case, PICTURE_TURNS if case in pictures else VRT_TURNS)
        for case in () if self.options.quick else pictures + vrt[:1]:
            self.compiled(case)

    def run(self):
        vrt, pictures = SMALL_CASES if self.options.small else (VRT_CASES, PICTURE_CASES)
        if self.options.quick:
            vrt, pictures = vrt[:1], pictures[:1]
        self.start_torch()
        try:
            self.measure(vrt, pictures)
        finally:
            # Also when somebody stops us.
            for case in vrt:
                self.judge_vrt(case[0])
            for case in pictures:
                self.judge_picture(case[0])
            if self.torch:
                self.torch.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--device', default='cuda:0')
    parser.add_argument('--python', default='python3', help='a Python that may have PyTorch')
    parser.add_argument('--seconds', type=float, default=240, help='to be done within (240)')
    parser.add_argument('--compile-seconds', type=float, default=90,
                        help='what torch.compile may take (90)')
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--quick', action='store_true', help='the first of each kind only')
    parser.add_argument('--small', action='store_true', help='sizes for a CPU, to try this itself')
    parser.add_argument('--log', type=argparse.FileType('w'), default=os.devnull)
    parser.add_argument('--rows', type=argparse.FileType('w'), default=sys.stdout)
    parser.add_argument('--errors', type=argparse.FileType('w'), default=sys.stderr,
                        help='where PyTorch\'s messages go')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    Bench(options).run()
    return 0


if __name__ == '__main__':
    sys.exit(main())
