# SPDX-License-Identifier: MIT
"""What the lanes of a warp do together

Each instruction is a meeting of its own, so that lanes that come to different ones never meet
("all threads in the warp must execute the same instruction"). Products and loads of matrices that
follow each other, and of which none needs what another gives, are one meeting: the lanes then
change turns once.
"""
import dataclasses
import re

from parse import Unknown

# Products: how many registers a, b and c have, and the function that computes them.
PRODUCTS = {
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32': (4, 2, 'vrt_sim_mma_f16'),
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32': (4, 2, 'vrt_sim_mma_bf16'),
    'mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32': (2, 1, 'vrt_sim_mma_bf16_8'),
    'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32': (4, 2, 'vrt_sim_mma_tf32'),
    'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32': (2, 1, 'vrt_sim_mma_f16_8'),
}
LDMATRIX = re.compile(r'ldmatrix\.sync\.aligned\.m8n8\.x([24])(\.trans)?\.shared\.b16$')
MOST = 16


@dataclasses.dataclass
class Part:
    """One instruction of a meeting: what is read before it, and written after it."""
    sources: list
    results: list
    before: list
    after: list


def product(emitter, one, i):
    n_a, n_b, _ = PRODUCTS[one.opcode]
    parts = [emitter.operands.vector(one.line, text) for text in one.operands]
    if [len(p) for p in parts] != [4, n_a, n_b, 4]:
        raise Unknown(one.line, f'{one.opcode} of {[len(p) for p in parts]} registers')
    d, a, b, c = parts

    def values(of, kind):
        return ', '.join(emitter.operands.read(one.line, text, kind) for text in of)

    before = [f'float d{i}[4] = {{{values(c, "f32")}}};',
              f'const uint32_t a{i}[{n_a}] = {{{values(a, "b32")}}};',
              f'const uint32_t b{i}[{n_b}] = {{{values(b, "b32")}}};',
              f'all[{i}] = {{d{i}, a{i}, b{i}}};']
    after = [emitter.operands.write(one.line, text, 'f32', f'd{i}[{k}]')
             for k, text in enumerate(d)]
    return Part(a + b + c, d, before, after)


def matrices(emitter, one, i):
    n = int(LDMATRIX.match(one.opcode)[1])
    results = emitter.operands.vector(one.line, one.operands[0])
    if len(one.operands) != 2 or len(results) != n:
        raise Unknown(one.line, f'{one.opcode} of {len(results)} registers')
    address = emitter.operands.address(one.line, one.operands[1], 32)
    source = re.match(r'\[\s*([%\w$.]+)', one.operands[1])[1]
    before = [f'uint32_t r{i}[{n}];',
              f'all[{i}] = {{r{i}, vrt_ptx_row(l, {address}, {n}, {emitter.site(one)})}};']
    after = [emitter.operands.write(one.line, text, 'b32', f'r{i}[{k}]')
             for k, text in enumerate(results)]
    return Part([source], results, before, after)


def form(one):
    """(what makes a part, the type of its argument, what computes) or None."""
    if one.opcode in PRODUCTS:
        return product, 'vrt_sim_mma_arg', PRODUCTS[one.opcode][2]
    if match := LDMATRIX.match(one.opcode):
        name = f'vrt_sim_ldmatrix_x{match[1]}{"_trans" if match[2] else ""}'
        return matrices, 'vrt_sim_ldmatrix_arg', name
    return None


def meeting(emitter, body, at):
    """Emits the instructions from body[at] on that are one meeting; returns how many."""
    first = body[at]
    found = form(first)
    if not found:
        return 0
    make, argument, function = found
    parts, written = [], set()
    for one in body[at:at + MOST]:
        if getattr(one, 'opcode', None) != first.opcode or one.guard:
            break
        part = make(emitter, one, len(parts))
        if written & set(part.sources) or written & set(part.results):
            break
        parts.append(part)
        written |= set(part.results)
    if not parts:
        raise Unknown(first.line, f'{first.opcode} by some lanes only')
    n = len(parts)
    run = f'vrt_ptx_each(args, mask, {function}.run, {n}, sizeof({argument}))'
    collective = emitter.collective(first, run)
    lines = [f'{argument} all[{n}];']
    for part in parts:
        lines += part.before
    lines.append(f'vrt_sim_meet(&{collective}, 0xffffffffu, all);')
    for part in parts:
        lines += part.after
    emitter.add('{\n    ' + '\n    '.join(lines) + '\n}')
    return n


def shuffle(emitter, one):
    if one.opcode != 'shfl.sync.bfly.b32' or len(one.operands) != 5:
        return False
    target, _, valid = one.operands[0].partition('|')
    a, b, c, mask = (emitter.operands.read(one.line, text, 'b32') for text in one.operands[1:])
    collective = emitter.collective(one, 'vrt_sim_shuffle.run(args, mask)')
    lines = ['bool within;',
             f'vrt_sim_shuffle_arg arg = {{{a}, vrt_ptx_butterfly({b}, {c}, &within)}};',
             f'vrt_sim_meet(&{collective}, {mask}, &arg);',
             emitter.operands.write(one.line, target, 'b32', '(uint32_t)arg.value')]
    if valid:
        lines.append(emitter.operands.write(one.line, valid, 'pred', 'within'))
    emitter.add('{ ' + ' '.join(lines) + ' }')
    return True


def barrier(emitter, one):
    if one.opcode == 'bar.sync' and one.operands == ['0']:
        emitter.add(f'vrt_sim_syncthreads_at(&{emitter.collective(one, "")});')
    elif one.opcode == 'bar.warp.sync' and len(one.operands) == 1:
        mask = emitter.operands.read(one.line, one.operands[0], 'b32')
        emitter.add(f'vrt_sim_meet(&vrt_sim_syncwarp, {mask}, nullptr);')
    elif one.opcode == 'trap' and not one.operands:
        emitter.add(f'vrt_ptx_trap({emitter.site(one)});')
    else:
        return False
    return True


FORMS = (shuffle, barrier)
