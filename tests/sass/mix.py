#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the loops that multiply are made of, as NVIDIA's assembler has them.

usage: mix.py [--markdown | --check] OBJECT.cu.o | libvrt-cuda13.so ...
       mix.py --all OBJECT.cu.o | libvrt-cuda13.so ...

For the hot kernels (hot.py), as built for sm_80 and sm_90: how many instructions of which sort a
warp issues in a turn of its loop, and for how many cycles that keeps the parts of a
multiprocessor's quarter busy. Of the ways through the loop it's the one with most of what hot.py
asks for, tensor instructions and copies of 16 bytes to shared memory, and as little else as can be.

    serial    the share of tensor cores in their cycles and the number of other instructions: as if
              nothing ran beside anything
    reach     tensor cores' cycles by those of the busiest part: as if all ran beside each other
    --check   fails where a hot kernel has less than hot.py wants; 77 where nothing is to be checked
    --all     any kernel, its loops one by one: without what hot.py knows of them

Waiting isn't counted, nor is memory beyond shared memory. What is assumed:

- tensor cores: NVIDIA's white papers on A100 and H100. 312 T operations of f16 a second on 108
  multiprocessors at 1.41 GHz are 512 a cycle of each of 4 tensor cores; 989.4 T on 132 at 1.83 GHz
  are 1024; of TF32 half as many. A mma.m16n8k16 is 4096 operations, a m16n8k8 2048. On 9.0 that is
  the rate of wgmma; mma.sync was measured at about 63 % of it (Luo et al., arXiv:2402.13499).
- others: the table "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming
  Guide, a quarter of it for each 32 lanes; one instruction is issued in a cycle
- shared memory: 32 banks of 4 bytes a cycle, which all four quarters share (the same guide). No
  conflict is counted.
- blocks at a time: the guide's table of compute capabilities; registers come by 8 a thread
"""
import re
import sys

import hot
import listing

# Cycles that a quarter's part is busy with an instruction of a warp: {arch: {sort: (part, cycles)}}
COMMON = {
    'ldsm': ('shared', 4), 'lds': ('shared', 4), 'sts': ('shared', 4), 'ldgsts': ('shared', 4),
    'shfl': ('shared', 4), 'int': ('alu', 2), 'imad': ('fma', 2), 'cvt': ('alu', 2),
    'mufu': ('xu', 8),
}
PARTS = {80: {**COMMON, 'mma': ('tensor', 8), 'f32': ('fma', 2)},
         90: {**COMMON, 'mma': ('tensor', 4), 'f32': ('fma', 1)}}

# {arch: (warps, bytes of shared memory, blocks) of a multiprocessor}
MULTIPROCESSOR = {80: (64, 164 << 10, 32), 90: (64, 228 << 10, 32)}

SORTS = {
    'mma': ('HMMA', 'IMMA'), 'ldsm': ('LDSM',), 'lds': ('LDS',), 'sts': ('STS',),
    'ldgsts': ('LDGSTS',), 'mem': ('LDG', 'STG', 'LD', 'ST', 'LDC', 'LDL', 'STL'),
    'int': ('IADD3', 'LEA', 'LOP3', 'SHF', 'ISETP', 'SEL', 'PRMT', 'VIADD', 'MOV', 'IABS', 'PLOP3',
            'IMNMX', 'VIMNMX', 'FMNMX', 'FSETP', 'FSEL', 'P2R', 'R2P', 'LOP', 'POPC', 'FLO', 'CS2R',
            'VIADDMNMX', 'IADD'),
    'imad': ('IMAD',), 'cvt': ('F2FP', 'F2F', 'I2F', 'F2I', 'I2FP', 'HADD2', 'FRND'),
    'mufu': ('MUFU',), 'f32': ('FFMA', 'FADD', 'FMUL'), 'bar': ('BAR', 'DEPBAR', 'LDGDEPBAR'),
    'shfl': ('SHFL',),
}
SORT_OF = {name: sort for sort, names in SORTS.items() for name in names}
COLUMNS = ('mma', 'ldsm', 'lds', 'sts', 'ldgsts', 'mem', 'int', 'imad', 'cvt', 'mufu', 'f32',
           'shfl', 'bar', 'other')
BYTES = re.compile(r'\.(64|128|U8|U16|S8|S16)\b|\.M88\.(\d)')


def sort_of(instruction):
    """What is guarded by !PT is issued, and does nothing."""
    return 'other' if instruction.guard == '!PT' else SORT_OF.get(instruction.name, 'other')


def shared_words(operation):
    """How often 128 bytes of shared memory, for a warp."""
    found = BYTES.search(operation)
    if not found:
        return 1
    return {'64': 2, '128': 4, '2': 2, '4': 4}.get(found.group(1) or found.group(2), 1)


def busy_of(code, arch):
    """{part: cycles} of a warp's instructions; `issue`: how many they are."""
    busy = {'tensor': 0, 'issue': sum(times for _, times in code)}
    for i, times in code:
        sort = sort_of(i)
        part, cycles = PARTS[arch].get(sort, (None, 0))
        if not part:
            continue
        if part == 'shared' and sort != 'shfl':
            cycles *= shared_words(i.operation)
        if sort == 'mma' and '16816' not in i.operation and 'TF32' not in i.operation:
            cycles //= 2            # m16n8k8 of halves
        busy[part] = busy.get(part, 0) + cycles * times
    return busy


def wanted_of(kernel):
    """Which instructions a loop is looked for by."""
    names = {i.name for block in kernel.blocks for i in block}
    return 'HMMA' if 'HMMA' in names else 'FFMA'


def times_of(kernel, loops, head, wanted, trips):
    """{block: how often it is run in a turn of the loop}: as often as `trips` has it for the sort
    of the loops in it that it is in."""
    times = dict.fromkeys(loops[head], 1)
    for within, blocks in loops.items():
        if within == head or not blocks < loops[head]:
            continue
        code = [i for n in blocks for i in kernel.blocks[n]]
        sort = 'multiply' if any(i.name == wanted for i in code) else \
            'copy' if any(i.name == 'LDGSTS' for i in code) else 'other'
        for n in blocks:
            times[n] *= trips.get(sort, 1)
    return times


def way_through(kernel, head, times, prefer):
    """The instructions of a turn from `head` on, as (instruction, times), with as many of each of
    `prefer` in turn as can be, and then as few as can be."""
    def cost_of(n):
        block = kernel.blocks[n]
        return *(-sum(bool(p.match(i.operation)) for i in block) * times[n] for p in prefer), \
            len(block) * times[n]

    best, stack = {}, [head]
    while stack:
        at = stack[-1]
        to = [t for t in kernel.following[at] if t in times and t != head]
        todo = [t for t in to if t not in best and t not in stack]
        if todo:
            stack.append(todo[0])
            continue
        stack.pop()
        ways = [(best[t][0], t) for t in to if best.get(t)]
        if head in kernel.following[at]:
            ways.append(((0,) * (len(prefer) + 1), None))
        best[at] = None
        if ways:
            cost, t = min(ways, key=lambda w: w[0])
            best[at] = tuple(map(sum, zip(cost, cost_of(at)))), t
    at, code = head, []
    while at is not None:
        code += [(i, times[at]) for i in kernel.blocks[at]]
        at = best[at][1]
    return code


def hot_loop(kernel, loops, wanted, is_whole):
    """The first block of the loop with most of such instructions: the innermost one that has such,
    or, where `is_whole`, the outermost. None: there is none."""
    def count(head):
        return sum(i.name == wanted for n in loops[head] for i in kernel.blocks[n])

    def is_best(head):
        others = [h for h in loops if h != head and count(h)]
        return not any(loops[head] < loops[h] if is_whole else loops[h] < loops[head]
                       for h in others)

    return max((h for h in loops if count(h) and is_best(h)), key=count, default=None)


def turn_of(kernel, prefer=(), trips=None, is_whole=False):
    """A turn of the kernel's hot loop; None: it has none."""
    wanted, loops = wanted_of(kernel), listing.loops_of(kernel)
    head = hot_loop(kernel, loops, wanted, is_whole)
    if head is None:
        return None
    patterns = [re.compile(p) for p in (*prefer, wanted, r'LDGSTS.*\.128')]
    return way_through(kernel, head, times_of(kernel, loops, head, wanted, trips or {}), patterns)


def blocks_at_once(registers, threads, shared, arch):
    """Blocks of so many threads and bytes that a multiprocessor has room for."""
    warps, memory, most = MULTIPROCESSOR[arch]
    of_warp, of_block = (registers + 7) // 8 * 8 * 32, (threads + 31) // 32
    return min(65536 // of_warp // of_block, warps // of_block, memory // (shared + 1024), most)


def counts_of(code):
    counts = dict.fromkeys(COLUMNS, 0)
    for i, times in code:
        counts[sort_of(i)] += times
    return counts


def shares_of(code, arch):
    """(serial, reach, the busiest part), in percent; of a loop of FFMA they are that part's."""
    busy = busy_of(code, arch)
    tensor = busy['tensor'] or sum(PARTS[arch]['f32'][1] * n for i, n in code if i.name == 'FFMA')
    others = sum(n for i, n in code if sort_of(i) != 'mma' and (busy['tensor'] or i.name != 'FFMA'))
    busiest = max(busy, key=busy.get)
    return 100 * tensor / (tensor + others), 100 * tensor / busy[busiest], busiest


def short(name):
    """A mangled name, shortened to what tells it from others."""
    kernel = re.search(r'N3vrt(?:L)?\d+([a-z_0-9]+?)(?:I|E)', name)
    kind = 'f16' if '6__half' in name else 'bf16' if 'bfloat16' in name else \
        'split' if 'split_tf32' in name else 'tf32' if '4tf32' in name else ''
    numbers = 'x'.join(re.findall(r'Li(\d+)E', name))
    return f'{kernel.group(1) if kernel else name} {kind} {numbers}'


def show(label, kernel, code, shared, is_markdown):
    counts, (serial, reach, busiest) = counts_of(code), shares_of(code, kernel.arch)
    n = blocks_at_once(kernel.registers, kernel.threads, shared, kernel.arch)
    held = f'{kernel.registers}, {shared / 1024:.0f} KiB, {n} x {kernel.threads}'
    cells = [f'{counts[c]:.0f}' if counts[c] else '' for c in COLUMNS]
    cells += [f'{sum(n for _, n in code):.0f}', f'{serial:.0f} %', f'{reach:.0f} % {busiest}',
              held]
    if is_markdown:
        print('| ' + ' | '.join([label, str(kernel.arch), *cells]) + ' |')
    else:
        print(f'{label:44}{kernel.arch:4}' + ''.join(f'{c:>7}' for c in cells[:-2]) +
              f'{cells[-2]:>14}  {cells[-1]}')


def show_heads(is_markdown):
    heads = ('', 'sm', *COLUMNS, 'all', 'serial', 'reach', 'registers, shared, blocks')
    if is_markdown:
        print('| ' + ' | '.join(heads) + ' |\n|' + ' --- |' * len(heads))
    else:
        print(f'{"":44}  sm' + ''.join(f'{h:>7}' for h in heads[2:-2]) + f'{heads[-2]:>14}  ' +
              heads[-1])


def problems_of(row, arch, code):
    """What is less than it was."""
    serial, reach, _ = shares_of(code, arch)
    least = row.least.get(arch)
    if row.multiplies and not any(sort_of(i) == 'mma' for i, _ in code):
        return [f'{row.label}, sm_{arch}: no tensor instruction']
    if least and (round(serial) < least[0] or round(reach) < least[1]):
        return [f'{row.label}, sm_{arch}: serial {serial:.0f} %, reach {reach:.0f} %; '
                f'{least[0]} % and {least[1]} % are wanted']
    return []


def look_at(kernels, is_markdown):
    """Prints the hot kernels' rows. Returns (how many, what is wrong)."""
    n, problems = 0, []
    for row in hot.ROWS:
        for kernel in kernels:
            if kernel.arch in PARTS and re.search(row.pattern, kernel.name):
                code = turn_of(kernel, row.prefer, row.trips, row.is_whole)
                if code is None:
                    problems.append(f'{row.label}, sm_{kernel.arch}: no loop multiplies')
                    continue
                show(row.label, kernel, code, row.shared, is_markdown)
                problems += problems_of(row, kernel.arch, code)
                n += 1
    return n, problems


def main(*arguments):
    options = {a for a in arguments if a.startswith('--')}
    tools = listing.find_tool('cuobjdump'), listing.find_tool('nvdisasm')
    if None in tools:
        print('cuobjdump and nvdisasm are not here')
        return 77
    kernels = []
    for path in (a for a in arguments if a not in options):
        found = listing.kernels_of(*tools, path, PARTS)
        if found is None:
            print(f'{path}: cuobjdump and nvdisasm cannot read it')
            return 1
        kernels += found
    show_heads('--markdown' in options)
    if '--all' in options:
        for kernel in kernels:
            code = turn_of(kernel)
            if code:
                show(short(kernel.name), kernel, code, 0, False)
        return 0
    n, problems = look_at(kernels, '--markdown' in options)
    if '--check' not in options:
        return 0
    print('\n'.join(problems) or f'{n} loops are as they were')
    return 1 if problems else 0 if n else 77


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
