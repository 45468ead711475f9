#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the translator doesn't know is an error that names it, and what it knows is all written.

What translated instructions compute is test-ptx.cpp's.
"""
import unittest

import arithmetic
import emit
import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 kernel_at)
{
    .reg .b16 %rs<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<9>;
    .reg .pred %p<9>;
"""
FIRST_LINE = HEAD.count('\n') + 1


def translate(*statements):
    text = HEAD + ''.join(f'{one}\n' for one in statements) + 'ret;\n}\n'
    return emit.module_text(parse.parse(text), 'test.ptx')


class Unknown(unittest.TestCase):
    def refuse(self, part, *statements):
        with self.assertRaises(parse.Unknown) as caught:
            translate(*statements)
        self.assertIn(part, str(caught.exception))
        self.assertIn(f'line {FIRST_LINE + len(statements) - 1}', str(caught.exception))

    def test_instructions(self):
        self.refuse('frobnicate.b32', 'frobnicate.b32 %r1, %r2;')
        self.refuse('call', 'call f;')
        self.refuse('fma.rz.f32', 'fma.rz.f32 %f1, %f2, %f3, %f4;')

    def test_modifiers(self):
        self.refuse('add.ftz.f32', 'add.ftz.f32 %f1, %f2, %f3;')
        self.refuse('ld.volatile.global.u32', 'ld.volatile.global.u32 %r1, [%rd1];')
        self.refuse('ld.shared.nc.u32', 'ld.shared.nc.u32 %r1, [%r2];')
        self.refuse('shfl.sync.up.b32', 'shfl.sync.up.b32 %r1, %r2, 1, 0, -1;')
        self.refuse('mma.sync.aligned.m16n8k16.row.row',
                    'mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};')
        self.refuse('bar.sync 1', 'bar.sync 1;')

    def test_operands(self):
        self.refuse('mov.u32', 'mov.u32 %r1, %r2, %r3;')
        self.refuse('%q1', 'mov.u32 %q1, 0;')
        self.refuse('%clock', 'mov.u32 %r1, %clock;')
        self.refuse('elsewhere', 'bra elsewhere;')
        self.refuse('read as .b64', 'mov.b64 %rd1, %r1;')
        self.refuse('read as .s32', 'add.s32 %r1, %p1, 1;')
        self.refuse('of 2 registers', 'ld.global.v4.u32 {%r1, %r2}, [%rd1];')
        self.refuse('of 8 bytes', 'cp.async.cg.shared.global [%r1], [%rd1], 8;')
        self.refuse('as an address', 'ld.global.u32 %r1, [%r2];')

    def test_parameters(self):
        self.refuse('misaligned', 'ld.param.u64 %rd1, [kernel_at+4];')
        self.refuse('no parameter', 'ld.param.u32 %r1, [kernel_at+8];')

    def test_statements(self):
        self.refuse('.pragma "other"', '.pragma "other";')
        self.refuse('.local', '.local .b8 depot[16];')
        self.refuse('by some lanes',
                    '@%p1 ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];')

    def test_modules(self):
        for text in ('.func f() { ret; }', '.const .b8 table[4];', '.target other\n'):
            with self.assertRaises(parse.Unknown):
                parse.parse('.version 8.0\n' + text)


class Meetings(unittest.TestCase):
    PRODUCT = 'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%%f%d,%%f5,%%f6,%%f7}, ' \
              '{%%r1,%%r2}, {%%r3}, {%%f%d,%%f8,%%f8,%%f8};'

    def count(self, *statements):
        return translate(*statements).count('vrt_sim_meet(')

    def test_of_several(self):
        """One meeting, unless a product needs what another gives, or writes it again."""
        load = 'ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r6];'
        again = 'ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r7, %r8}, [%r6];'
        self.assertEqual(self.count(load, again), 1)
        self.assertEqual(self.count(load, load), 2)
        self.assertEqual(self.count(load, 'add.s32 %r1, %r1, 1;', again), 2)
        self.assertEqual(self.count(self.PRODUCT % (1, 1), self.PRODUCT % (2, 1)), 2)
        self.assertEqual(self.count(load, self.PRODUCT % (1, 1)), 2)


class Table(unittest.TestCase):
    def test_all_are_expressions(self):
        """Each line of the table takes as many sources as its expression has."""
        for opcode, (_, sources, text) in arithmetic.RULES.items():
            for i in range(4):
                self.assertEqual(f'{{{i}}}' in text, i < len(sources), opcode)

    def test_layout(self):
        """Parameters lie as the ABI has them."""
        module = parse.parse('.version 8.0\n.target sm_90\n.visible .entry k(.param .u8 a, '
                             '.param .align 8 .b8 b[12], .param .u16 c, .param .f64 d)\n{\nret;\n}')
        self.assertEqual([one.offset for one in module.entries[0].params], [0, 8, 20, 24])


if __name__ == '__main__':
    unittest.main()
