# SPDX-License-Identifier: MIT
"""A module as C++: a function for each entry, called once for each thread."""
import json
import re

import arithmetic
import memory
import warp
from operands import TYPES, Operands
from parse import Label, Unknown

# Where a block's shared memory begins: no valid address is 0.
SHARED_BASE = 1024


def round_up(n, unit):
    return (n + unit - 1) // unit * unit


def moves(emitter, one):
    """mov with {a, b} on one side: registers packed and taken apart."""
    if one.opcode not in ('mov.b32', 'mov.b64') or len(one.operands) != 2:
        return False
    target, source = one.operands
    kind = one.opcode[4:]
    half = {'b32': 'b16', 'b64': 'b32'}[kind]
    bits = TYPES[half][1]
    read, write = emitter.operands.read, emitter.operands.write
    if source.startswith('{'):
        low, high = emitter.operands.vector(one.line, source)
        value = (f'({TYPES[kind][0]}){read(one.line, high, half)} << {bits} | '
                 f'{read(one.line, low, half)}')
        emitter.add(write(one.line, target, kind, value))
        return True
    if target.startswith('{'):
        parts = emitter.operands.vector(one.line, target)
        lines = [f'const {TYPES[kind][0]} whole = {read(one.line, source, kind)};']
        for i, part in enumerate(parts):
            if part != '_':
                lines.append(write(one.line, part, half, f'whole >> {i * bits}'))
        emitter.add('{ ' + ' '.join(lines) + ' }')
        return True
    return False


def table(emitter, one):
    if not one.operands:
        return False
    found = arithmetic.expression(emitter.operands, one.line, one.opcode, one.operands[1:])
    if found:
        emitter.add(emitter.operands.write(one.line, one.operands[0], *found))
    return bool(found)


def branch(emitter, one):
    if one.opcode in ('bra', 'bra.uni') and len(one.operands) == 1:
        emitter.add(f'goto {emitter.label(one.line, one.operands[0])};')
    elif one.opcode in ('ret', 'exit') and not one.operands:
        emitter.add('return;')
    else:
        return False
    return True


FORMS = (branch, moves, table) + memory.FORMS + warp.FORMS


class Emitter:
    """Of one entry."""

    def __init__(self, module, entry, index):
        self.entry = entry
        self.index = index
        self.sites = []
        self.collectives = []
        self.lines = []
        self.labels = {one.name for one in entry.body if isinstance(one, Label)}
        self.n_shared, symbols = 0, {}
        self.dynamic_align = 0
        self.has_constant = False
        for one in module.shared + entry.shared:
            if one.n_bytes:
                self.n_shared = round_up(self.n_shared, one.align)
                symbols[one.name] = f'({SHARED_BASE} + {self.n_shared})'
                self.n_shared += one.n_bytes
            else:
                self.dynamic_align = max(self.dynamic_align, one.align)
                symbols[one.name] = 'l->dynamic'
        self.operands = Operands(entry, symbols)
        self.n_param_bytes = max((p.offset + p.n_bytes for p in entry.params), default=0)

    def add(self, text):
        self.lines.append(text)

    def site(self, one):
        """What a message says of an instruction."""
        if not self.sites or self.sites[-1] != (one.opcode, one.line):
            self.sites.append((one.opcode, one.line))
        return f'&sites_{self.index}[{len(self.sites) - 1}]'

    def collective(self, one, run):
        self.collectives.append((one.opcode, one.line, run))
        return f'meet_{self.index}[{len(self.collectives) - 1}]'

    def label(self, line, text):
        if text not in self.labels:
            raise Unknown(line, f'the label {text}')
        return text.replace('$', '_')

    def instruction(self, one):
        n = len(self.lines)
        if not any(form(self, one) for form in FORMS):
            operands = ', '.join(one.operands)
            raise Unknown(one.line, f'{one.opcode} {operands}: no instruction known here')
        if one.guard:
            value = self.operands.read(one.line, one.guard.lstrip('!'), 'pred')
            condition = f'!{value}' if one.guard.startswith('!') else value
            self.lines[n:] = [f'if ({condition}) {{ ' + ' '.join(self.lines[n:]) + ' }']

    def body(self):
        at = 0
        while at < len(self.entry.body):
            one = self.entry.body[at]
            at += 1
            if isinstance(one, Label):
                self.add(f'{one.name.replace("$", "_")}:;')
                continue
            n = warp.meeting(self, self.entry.body, at - 1)
            if n:
                at += n - 1
            else:
                self.instruction(one)

    def function(self, file):
        """The lines of the entry's function, and the tables that it needs."""
        self.body()
        i = self.index
        lines = [f'static const vrt_ptx_site sites_{i}[] = {{']
        for opcode, line in self.sites + [('', 0)]:
            lines.append(f'    {{"{opcode}", "{file}", {line}}},')
        lines += ['};', f'static const vrt_sim_collective meet_{i}[] = {{']
        for opcode, line, run in self.collectives + [('', 0, '')]:
            name = json.dumps(f'{opcode} (line {line} of {file})')
            lines.append(f'    {{{name}, [](void *const *args, unsigned mask) '
                         f'{{ (void)args; (void)mask; {run}; }}}},')
        lines += ['};', f'static void entry_{i}(const vrt_ptx_launch *l)', '{']
        by_type = {}
        for name, kind in self.operands.used.items():
            by_type.setdefault(TYPES[kind][0], []).append(name)
        for cxx, names in sorted(by_type.items()):
            lines.append(f'{cxx} {", ".join(names)};')
        return lines + ['(void)l;'] + self.lines + ['}', '']


def module_text(module, file):
    """The whole file; `file` is what messages call it."""
    lines = ['/* Made by translate.py. */', '#include "machine.h"', '#include "number.h"', '']
    entries = []
    for i, entry in enumerate(module.entries):
        emitter = Emitter(module, entry, i)
        try:
            lines += emitter.function(file)
        except Unknown as error:
            error.args = (f'{entry.name}: {error}',)
            raise
        lines.append(f'static const vrt_ptx_size params_{i}[] = {{')
        for one in entry.params:
            lines.append(f'    {{{one.offset}, {one.n_bytes}}},')
        lines += ['    {0, 0},', '};', '']
        entries.append(f'    {{"{entry.name}", entry_{i}, params_{i}, {len(entry.params)}, '
                       f'{emitter.n_shared}, {emitter.dynamic_align}, {entry.max_threads}, '
                       f'{"true" if emitter.has_constant else "false"}, sites_{i}}},')
    lines.append('static const vrt_ptx_entry entries[] = {')
    lines += entries + ['    {nullptr, nullptr, nullptr, 0, 0, 0, 0, false, nullptr},', '};', '']
    name = re.sub(r'\W', '_', file)
    lines += [f'__attribute__((constructor)) static void add_{name}()', '{',
              f'    vrt_ptx_add(entries, {len(entries)}, {module.target}, "{file}");', '}']
    return '\n'.join(lines) + '\n'
