# SPDX-License-Identifier: MIT
"""Loads, stores, and copies that are not waited for

Each access asks the machine for the host's place of its address, which is where alignment and
bounds are looked at (machine.h).
"""
import re

from operands import TYPES
from parse import Unknown

# Of each state space: bits of an address, and the function that finds the place.
SPACES = {
    '': (64, 'vrt_ptx_global'),         # no kernel makes a generic address of another space
    '.global': (64, 'vrt_ptx_global'),
    '.shared': (32, 'vrt_ptx_shared'),
    '.param': (64, 'vrt_ptx_param'),
}
TYPED = r'(\.v2|\.v4)?\.([bsuf](?:8|16|32|64))$'
LOAD = re.compile(r'ld(|\.global|\.shared|\.param)(\.nc)?' + TYPED)
STORE = re.compile(r'st(|\.global|\.shared)' + TYPED)
COPY = re.compile(r'cp\.async\.(ca|cg)\.shared\.global$')
COPY_BYTES = {'ca': (4, 8, 16), 'cg': (16,)}


def place(emitter, one, space, kind, n, text):
    """C++ for a pointer to n of the type."""
    width, function = SPACES[space]
    n_bytes = n * (TYPES[kind][1] // 8)
    if space == '.param' and (offset := emitter.operands.param_offset(text)) is not None:
        if offset % n_bytes or not 0 <= offset <= emitter.n_param_bytes - n_bytes:
            raise Unknown(one.line, f'{one.opcode} {text}: misaligned, or no parameter')
        return f'(l->params + {offset})'
    address = emitter.operands.address(one.line, text, width)
    return f'{function}(l, {address}, {n_bytes}, {emitter.site(one)})'


def count(one, vector, parts):
    n = int(vector[2:]) if vector else 1
    if len(parts) != n or n > 1 and len(one.operands) != 2:
        raise Unknown(one.line, f'{one.opcode} of {len(parts)} registers')
    return n


def load(emitter, one):
    match = LOAD.match(one.opcode)
    if not match or match[2] and match[1] != '.global' or len(one.operands) != 2:
        return False
    space, nc, vector, kind = match.groups()
    parts = emitter.operands.vector(one.line, one.operands[0])
    n = count(one, vector, parts)
    cxx = TYPES[kind][0]
    if nc:
        emitter.has_constant = True
    at = place(emitter, one, space, kind, n, one.operands[1])
    lines = [f'const {cxx} *at = (const {cxx} *){at};']
    # The address may be one of the registers that are written: it has been read by now.
    for i, part in enumerate(parts):
        lines.append(emitter.operands.write(one.line, part, kind, f'at[{i}]'))
    if nc:
        lines.append(f'vrt_ptx_constant(l, at, {n * TYPES[kind][1] // 8}, {emitter.site(one)});')
    emitter.add('{ ' + ' '.join(lines) + ' }')
    return True


def store(emitter, one):
    match = STORE.match(one.opcode)
    if not match or len(one.operands) != 2:
        return False
    space, vector, kind = match.groups()
    parts = emitter.operands.vector(one.line, one.operands[1])
    n = count(one, vector, parts)
    cxx = TYPES[kind][0]
    at = place(emitter, one, space, kind, n, one.operands[0])
    lines = [f'{cxx} *at = ({cxx} *){at};']
    for i, part in enumerate(parts):
        lines.append(f'at[{i}] = {emitter.operands.read(one.line, part, kind)};')
    if space != '.shared':
        lines.append(f'vrt_ptx_written(l, at, {n * TYPES[kind][1] // 8}, {emitter.site(one)});')
    emitter.add('{ ' + ' '.join(lines) + ' }')
    return True


def copy(emitter, one):
    match = COPY.match(one.opcode)
    if not match or len(one.operands) not in (3, 4):
        return False
    if one.operands[2] not in map(str, COPY_BYTES[match[1]]):
        raise Unknown(one.line, f'{one.opcode} of {one.operands[2]} bytes')
    to = emitter.operands.address(one.line, one.operands[0], 32)
    source = emitter.operands.address(one.line, one.operands[1], 64)
    n = emitter.operands.read(one.line, (one.operands + one.operands[2:])[3], 'u32')
    emitter.add(f'vrt_ptx_copy(l, {to}, {source}, {one.operands[2]}, {n}, {emitter.site(one)});')
    return True


def finish(emitter, one):
    if one.opcode == 'cp.async.commit_group' and not one.operands:
        emitter.add('vrt_sim_cp_async_commit();')
    elif one.opcode == 'cp.async.wait_group' and len(one.operands) == 1:
        n = emitter.operands.read(one.line, one.operands[0], 'u32')
        emitter.add(f'vrt_sim_cp_async_wait({n});')
    else:
        return False
    return True


FORMS = (load, store, copy, finish)
