# SPDX-License-Identifier: MIT
"""What an instruction computes of its operands, as a table

Each line: opcodes, the type of the result, those of the sources, and an expression in which {0},
{1}, ... are the sources. An opcode stands for itself alone, with all its modifiers: the table has
what nvcc makes of the kernels. Functions are in number.h.
"""

RULES = {}


def rule(opcode, result, sources, expression):
    RULES[opcode] = (result, sources.split(), expression)


def rules(opcode, kinds, sources, expression, result='T'):
    """For each of the types: T is the type."""
    for kind in kinds.split():
        rule(f'{opcode}.{kind}', result.replace('T', kind), sources.replace('T', kind), expression)


INTEGERS = 's16 u16 s32 u32 s64 u64'

rules('add', 's16 s32 s64 u32 u64', 'T T', '{0} + {1}')
rules('sub', 's16 s32 s64 u32 u64', 'T T', '{0} - {1}')
rules('mul.lo', 's16 s32 u32 s64 u64', 'T T', '{0} * {1}')
rules('mad.lo', 's32 u32 s64', 'T T T', '{0} * {1} + {2}')
rule('mul.wide.s32', 's64', 's32 s32', '(int64_t){0} * {1}')
rule('mul.wide.u32', 'u64', 'u32 u32', '(uint64_t){0} * {1}')
rule('mul.wide.u16', 'u32', 'u16 u16', '(uint32_t){0} * {1}')
rule('mul.wide.s16', 's32', 's16 s16', '(int32_t){0} * {1}')
rule('mul.hi.s32', 's32', 's32 s32', '(int64_t){0} * {1} >> 32')
rule('mul.hi.u32', 'u32', 'u32 u32', '(uint64_t){0} * {1} >> 32')
rules('div', 's32 u32 s64 u64', 'T T', 'vrt_ptx_quotient({0}, {1})')
rules('rem', 's32 u32 s64 u64', 'T T', 'vrt_ptx_remainder({0}, {1})')
rules('min', 's32 u32 s64', 'T T', '{1} < {0} ? {1} : {0}')
rules('max', 's32 u32 s64', 'T T', '{0} < {1} ? {1} : {0}')
rules('neg', 's32 s64', 'T', '-{0}')
rules('abs', 's32', 'T', '{0} < 0 ? -{0} : {0}')
rules('and', 'b16 b32 b64 pred', 'T T', '{0} & {1}')
rules('or', 'b16 b32 b64 pred', 'T T', '{0} | {1}')
rules('xor', 'b16 b32 b64 pred', 'T T', '{0} ^ {1}')
rules('not', 'b16 b32 b64', 'T', '~{0}')
rule('not.pred', 'pred', 'pred', '!{0}')
rules('shl', 'b16 b32 b64', 'T u32', 'vrt_ptx_shl({0}, {1})')
rules('shr', 's16 u16 s32 u32 s64 u64', 'T u32', 'vrt_ptx_shr({0}, {1})')
rule('prmt.b32', 'b32', 'b32 b32 b32', 'vrt_ptx_permute({0}, {1}, {2})')
rule('bfi.b32', 'b32', 'b32 b32 u32 u32', 'vrt_ptx_insert({0}, {1}, {2}, {3})')
rules('selp', 'b16 u16 s16 b32 u32 s32 b64 u64 f32', 'T T pred', '{2} ? {0} : {1}')
rules('mov', 'b16 u16 b32 u32 s32 b64 u64 f32 f64 pred', 'T', '{0}')

for name, operator in {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>',
                       'ge': '>='}.items():
    rules(f'setp.{name}', 'b16 s16 u16 s32 u32 s64 u64', 'T T', '{0} %s {1}' % operator, 'pred')
    # With NaN only != holds in C++, and in PTX nothing does.
    rules(f'setp.{name}', 'f32 f64', 'T T',
          '{0} < {1} || {0} > {1}' if name == 'ne' else '{0} %s {1}' % operator, 'pred')
rules('setp.eq', 'b32', 'T T', '{0} == {1}', 'pred')
rules('setp.ne', 'b32', 'T T', '{0} != {1}', 'pred')
# "u": or one of them is NaN.
for name, opposite in {'equ': '({0} < {1} || {0} > {1})', 'neu': '({0} == {1})',
                       'ltu': '({0} >= {1})', 'leu': '({0} > {1})', 'gtu': '({0} <= {1})',
                       'geu': '({0} < {1})'}.items():
    rules(f'setp.{name}', 'f32 f64', 'T T', '!' + opposite, 'pred')

for plain in ('', '.rn'):
    rules('add' + plain, 'f32', 'T T', 'vrt_ptx_one_nan({0} + {1})')
    rules('sub' + plain, 'f32', 'T T', 'vrt_ptx_one_nan({0} - {1})')
    rules('mul' + plain, 'f32', 'T T', 'vrt_ptx_one_nan({0} * {1})')
rule('fma.rn.f32', 'f32', 'f32 f32 f32', 'vrt_ptx_one_nan(fmaf({0}, {1}, {2}))')
rule('fma.rm.f32', 'f32', 'f32 f32 f32', 'vrt_ptx_fma_down({0}, {1}, {2})')
rule('div.rn.f32', 'f32', 'f32 f32', 'vrt_ptx_one_nan({0} / {1})')
rule('rcp.rn.f32', 'f32', 'f32', 'vrt_ptx_one_nan(1.0f / {0})')
rule('sqrt.rn.f32', 'f32', 'f32', 'vrt_ptx_one_nan(sqrtf({0}))')
rule('rcp.approx.ftz.f32', 'f32', 'f32', 'vrt_ptx_rcp_approx_ftz({0})')
rule('rsqrt.approx.f32', 'f32', 'f32', 'vrt_ptx_rsqrt_approx({0})')
rule('ex2.approx.ftz.f32', 'f32', 'f32', 'vrt_ptx_ex2_approx_ftz({0})')
rule('abs.f32', 'f32', 'f32', 'vrt_ptx_f32(vrt_ptx_bits({0}) & 0x7fffffffu)')
rule('neg.f32', 'f32', 'f32', 'vrt_ptx_f32(vrt_ptx_bits({0}) ^ 0x80000000u)')
rule('copysign.f32', 'f32', 'f32 f32',
     'vrt_ptx_f32((vrt_ptx_bits({0}) & 0x80000000u) | (vrt_ptx_bits({1}) & 0x7fffffffu))')
rule('min.f32', 'f32', 'f32 f32', 'vrt_ptx_min({0}, {1})')
rule('max.f32', 'f32', 'f32 f32', 'vrt_ptx_max({0}, {1})')

# Between integers a conversion is C++'s.
for kinds in ('s64 s32', 's64 s64', 'u16 u32', 'u16 u64', 'u32 u16', 'u32 u64', 'u64 u32',
              's32 s8'):
    to, source = kinds.split()
    rule(f'cvt.{to}.{source}', to, source, '{0}')
rule('cvt.rmi.f32.f32', 'f32', 'f32', 'vrt_ptx_one_nan(floorf({0}))')
rule('cvt.rpi.f32.f32', 'f32', 'f32', 'vrt_ptx_one_nan(ceilf({0}))')
rule('cvt.rni.f32.f32', 'f32', 'f32', 'vrt_ptx_one_nan(rintf({0}))')
rule('cvt.rzi.s32.f32', 's32', 'f32', 'vrt_ptx_s32_of({0})')
rule('cvt.rzi.u32.f32', 'u32', 'f32', 'vrt_ptx_u32_of({0})')
rule('cvt.sat.f32.f32', 'f32', 'f32', 'vrt_ptx_saturate({0})')
for kind in ('s32', 'u32', 'u16', 'u64'):
    rule(f'cvt.rn.f32.{kind}', 'f32', kind, '(float){0}')
rule('cvt.rn.f64.u64', 'f64', 'u64', '(double){0}')
rule('cvt.rn.f32.f64', 'f32', 'f64', 'vrt_ptx_one_nan((float){0})')
rule('cvt.f32.f16', 'f32', 'f16', 'vrt_ptx_f32_of_f16({0})')
rule('cvt.f32.bf16', 'f32', 'bf16', 'vrt_ptx_f32((uint32_t){0} << 16)')
rule('cvt.rn.f16.f32', 'f16', 'f32', 'vrt_ptx_f16_of({0})')
rule('cvt.rn.bf16.f32', 'bf16', 'f32', 'vrt_ptx_bf16_of({0})')
rule('cvt.rn.f16x2.f32', 'b32', 'f32 f32',
     '(uint32_t)vrt_ptx_f16_of({0}) << 16 | vrt_ptx_f16_of({1})')
rule('cvt.rn.bf16x2.f32', 'b32', 'f32 f32',
     '(uint32_t)vrt_ptx_bf16_of({0}) << 16 | vrt_ptx_bf16_of({1})')
# Addresses of global memory are generic ones.
rule('cvta.to.global.u64', 'u64', 'u64', '{0}')


def expression(operands, line, opcode, texts):
    """(type, C++ expression) of an opcode of the table and its sources; None of others."""
    if opcode not in RULES:
        return None
    result, kinds, text = RULES[opcode]
    if len(texts) != len(kinds):
        return None
    return result, text.format(*(operands.read(line, t, k) for t, k in zip(texts, kinds)))
