#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a simulated card copies and computes at once: runs a program and looks at its timeline.

usage: timeline.py VARIABLE SHARE PROGRAM [ARGUMENT]...

VARIABLE names the variable of the environment by which the simulator is told of a file for lines
"device engine begin end" (engines: up, run, down; nanoseconds). While the middle half of the
kernels runs, the card must compute for SHARE of the time, and most of the copies then must fall
into times of kernels; where SHARE is "alone" there must be no copies. A line for each engine shows
what it does, in 100 parts.
"""
import os
import subprocess
import sys
import tempfile

PARTS = 100


def merged(spans):
    result = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([begin, end])
    return result


def clipped(spans, begin, end):
    return [(max(a, begin), min(b, end)) for a, b in spans if a < end and b > begin]


def total(spans):
    return sum(b - a for a, b in spans)


def common(spans, others):
    return sum(total(clipped(others, a, b)) for a, b in spans)


def picture(spans, begin, end):
    part = (end - begin) / PARTS
    return ''.join('#' if total(clipped(spans, begin + i * part, begin + (i + 1) * part)) > part / 2
                   else '.' for i in range(PARTS))


def main():
    variable, share, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'timeline')
        done = subprocess.run(command, env=dict(os.environ, **{variable: path}))
        if done.returncode:
            sys.exit(done.returncode)
        with open(path, encoding='ascii') as f:
            lines = [line.split() for line in f]
    engines = {name: sorted((int(begin), int(end)) for device, engine, begin, end in lines
                            if device == '0' and engine == name)
               for name in ('up', 'run', 'down')}
    n_kernels = len(engines['run'])
    begin, end = (engines['run'][n_kernels * i // 4][0] for i in (1, 3))
    engines = {name: merged(spans) for name, spans in engines.items()}
    for name, spans in engines.items():
        print(f'{name:5}', picture(spans, begin, end))
    runs = clipped(engines['run'], begin, end)
    copies = {name: clipped(engines[name], begin, end) for name in ('up', 'down')}
    computing = total(runs) / (end - begin)
    at_once = {name: common(spans, runs) / max(total(spans), 1) for name, spans in copies.items()}
    print(f'computing {computing:.3f} of the time (wanted at least {share}); of copies up '
          f'{at_once["up"]:.2f} beside that, of copies down {at_once["down"]:.2f}')
    if share == 'alone' and any(copies.values()):
        sys.exit('something is copied')
    if share != 'alone' and (not all(copies.values()) or computing < float(share) or
                             min(at_once.values()) < 0.5):
        sys.exit('copies and kernels wait for each other')


if __name__ == '__main__':
    main()
