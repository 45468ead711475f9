#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the loops with matrix units are made of, as Intel's compiler has them for an Arc A770.

usage: mix.py OCLOC MODULE.spv ...

A line for each innermost loop that has the most dpas of all: how many instructions of which sort,
and which part of the cycles in which something is issued is dpas'. It counts 16 cycles for a
dpas.8x8 (2048 operations; an A770 has 137.6 T of them a second, on 512 units at 2.1 GHz: 128 a
cycle), for the others 1 for each 32 bytes of what they write, all at once.
Waiting isn't counted: what memory takes, nobody knows from a listing. An instruction that a branch
leaves out counts all the same.
"""
import re
import sys
import tempfile

import listing

DPAS_CYCLES = 16
LABEL = re.compile(r'(L\d+):')
INSTRUCTION = re.compile(r'\s*(?:\([^)]*\)\s+)?([a-z][\w.]*)\s+(?:\((\d+)\|M\d+\))?')
BRANCHES = ('goto', 'while', 'jmpi', 'brc', 'brd')
SIZES = {'b': 1, 'w': 2, 'hf': 2, 'bf': 2, 'd': 4, 'f': 4, 'q': 8, 'df': 8}


def read(lines):
    """Instructions, as (operation, width, text), and where each label stands."""
    code, labels = [], {}
    for line in lines:
        label, instruction = LABEL.match(line), INSTRUCTION.match(line)
        if label:
            labels[label.group(1)] = len(code)
        elif instruction:
            code.append((instruction.group(1), int(instruction.group(2) or 1), line))
    return code, labels


def loops_of(code, labels):
    """From where to where those loops go, made by backward branches, that have dpas, and have none
    in a loop that they contain."""
    ends = []
    for at, (operation, _, text) in enumerate(code):
        if operation.split('.')[0] in BRANCHES:
            targets = [labels[t] for t in re.findall(r'\bL\d+\b', text) if t in labels]
            ends += [(t, at + 1) for t in targets if t <= at]
    ends = [(a, b) for a, b in ends if any(o.startswith('dpas') for o, _, _ in code[a:b])]
    return [a for a in set(ends)
            if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in ends)]


def cycles_of(operation, width, text):
    if operation.startswith('dpas'):
        return DPAS_CYCLES
    if operation.startswith(('send', 'sync') + BRANCHES):
        return 1
    types = [SIZES.get(t.lstrip('u'), 4) for t in re.findall(r':(u?[bwdq]|h?f|bf|df)\b', text)]
    return max(1, (width * (types[0] if types else 4) + 31) // 32)


def sort_of(operation):
    for sort in ('dpas', 'send', 'sync'):
        if operation.startswith(sort):
            return sort
    return 'other'


def next_of(code, labels, at):
    """Which instructions may come after this one, items not parting at a branch."""
    operation, _, text = code[at]
    if operation.split('.')[0] not in BRANCHES:
        return [at + 1]
    target = labels.get(re.findall(r'\bL\d+\b', text)[-1], len(code))
    return [at + 1, target] if '(' in text.split(operation)[0].replace('(W)', '') else [target]


def shortest(code, labels, start, end):
    """The instructions of a turn of the loop with all of its dpas, and as little else as can be."""
    def cost_of(at):
        return -code[at][0].startswith('dpas'), cycles_of(*code[at])

    best = {end - 1: (cost_of(end - 1), None)}
    for at in range(end - 2, start - 1, -1):
        following = [(best[n][0], n) for n in next_of(code, labels, at) if at < n and n in best]
        if following:
            cost, n = min(following)
            best[at] = (tuple(map(sum, zip(cost, cost_of(at)))), n)
    at, path = start, []
    while at is not None:
        path.append(code[at])
        at = best[at][1]
    return path


def mix_of(code):
    counts, cycles = dict.fromkeys(('dpas', 'send', 'sync', 'other'), 0), 0
    for operation, width, text in code:
        counts[sort_of(operation)] += 1
        cycles += cycles_of(operation, width, text)
    return counts, cycles


def mixes_of(lines):
    """(counts by sort, cycles, cycles with all) of each loop with dpas, the best one first."""
    code, labels = read(lines)
    mixes = [(*mix_of(shortest(code, labels, start, end)), mix_of(code[start:end])[1])
             for start, end in loops_of(code, labels)]
    return sorted(mixes, key=lambda m: (-m[0]['dpas'], m[1]))


def main(ocloc, *modules):
    heads = ('dpas', 'send', 'sync', 'other', 'a dpas', 'cycles', 'share', 'all')
    print(' ' * 24 + ''.join(map('{:>8}'.format, heads)))
    status = 0
    for module in modules:
        with tempfile.TemporaryDirectory() as folder:
            problem = listing.compile_module(ocloc, module, folder)
            lines = None if problem else listing.disassemble(ocloc, module, folder)
        if lines is None:
            print(f'{listing.name_of(module)}: {problem or "ocloc has no disassembler"}')
            status = 1
            continue
        for counts, cycles, all_cycles in mixes_of(lines):
            dpas = counts['dpas']
            row = (*counts.values(), f'{sum(counts.values()) / dpas - 1:.1f}', cycles,
                   f'{100 * dpas * DPAS_CYCLES / cycles:.0f}%',
                   f'{100 * dpas * DPAS_CYCLES / all_cycles:.0f}%')
            print(f'{listing.name_of(module):24}' + ''.join(map('{:>8}'.format, row)))
    return status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
