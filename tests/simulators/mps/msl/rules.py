# SPDX-License-Identifier: MIT
"""What MSL has not, and C++ has: each is refused, in the words of a compiler."""
import re

import tokens

SPACES = {'device', 'constant', 'threadgroup', 'thread', 'threadgroup_imageblock', 'ray_data'}
SCALARS = {'bool', 'char', 'uchar', 'short', 'ushort', 'int', 'uint', 'long', 'ulong', 'half',
           'float', 'bfloat'}
VECTORS = {f'{packed}{scalar}{n}' for packed in ('', 'packed_') for scalar in SCALARS
           for n in (2, 3, 4)}
OTHERS = {'void', 'unsigned', 'signed', 'size_t', 'vec', 'simdgroup_matrix',
          'simdgroup_float8x8', 'simdgroup_half8x8', 'simdgroup_bfloat8x8'} | {
              f'{sign}int{bits}_t' for sign in ('', 'u') for bits in (8, 16, 32, 64)}
TYPES = SCALARS | VECTORS | OTHERS

FORBIDDEN = {
    'double': "'double' is not supported in Metal",
    'virtual': 'virtual functions are not supported in Metal',
    'new': "'new' is not supported in Metal",
    'delete': "'delete' is not supported in Metal",
    'goto': "'goto' is not supported in Metal",
    'thread_local': 'thread-local storage is not supported in Metal',
    'dynamic_cast': 'run-time type information is not supported in Metal',
    'typeid': 'run-time type information is not supported in Metal',
    'asm': 'inline assembly is not supported in Metal',
    'try': 'exceptions are not supported in Metal',
    'catch': 'exceptions are not supported in Metal',
    'throw': 'exceptions are not supported in Metal',
}
INSIDE_OUT = re.compile(r'vrt_msl|VRT_MSL|__builtin_|__attribute__')
BACK = {';', '{', '}', '(', ',', '<', '=', ')'}


def check_words(program):
    code = program.code
    for i, token in enumerate(code):
        if token.text in FORBIDDEN and token.kind == 'word':
            if token.text == 'delete' and code[i - 1].text == '=':
                continue
            raise tokens.Refused(token, FORBIDDEN[token.text])
        if token.kind == 'word' and INSIDE_OUT.match(token.text):
            raise tokens.Refused(token, f"use of undeclared identifier '{token}'")
        if token.text == '[' and is_lambda(code, i):
            raise tokens.Refused(token, 'lambda expressions are not supported in Metal')


def is_lambda(code, i):
    """A bracket that begins an expression, and is no attribute."""
    before, after = code[i - 1], code[i + 1]
    if '[' in (before.text, after.text):
        return False
    is_operand = before.kind in ('word', 'number') or before.text in (')', ']', '>')
    return not is_operand or before.text == 'return'


def check_pointers(program):
    """Pointers and references say what they point into."""
    code, types = program.code, TYPES | program.types
    for i, token in enumerate(code):
        if token.text not in types or token.kind != 'word':
            continue
        k = i + 1
        if program.text(k) == '<':
            k = tokens.end_of_angle(code, k, program.partner) + 1
        while program.text(k) in ('const', 'volatile'):
            k += 1
        if program.text(k) in ('*', '&') and not has_space(code, i):
            raise tokens.Refused(token, 'pointer or reference type must have an explicit address '
                                        'space qualifier')


def has_space(code, i):
    while i >= 0 and code[i].text not in BACK:
        if code[i].text in SPACES:
            return True
        i -= 1
    return False


def check_parameters(program):
    """The same of parameters, whatever their type."""
    code = program.code
    for function in program.functions:
        begin, end = function.parameters
        for first, last in tokens.split_list(code, begin + 1, end, program.partner):
            texts = [t.text for t in code[first:last]]
            if '=' in texts:
                texts = texts[:texts.index('=')]
            if {'*', '&'} & set(texts) and not SPACES & set(texts):
                raise tokens.Refused(code[first], 'parameter must have an explicit address space '
                                                  'qualifier')


def check_variables(program):
    code = program.code
    for variable in program.variables:
        texts = [t.text for t in code[variable.begin:variable.end]]
        if variable.is_member and 'static' not in texts:
            continue
        if 'constant' not in texts:
            raise tokens.Refused(code[variable.begin], 'program scope variable must reside in '
                                                       'constant address space')
        if '=' not in texts and '{' not in texts:
            raise tokens.Refused(code[variable.begin], 'variable in constant address space must '
                                                       'be initialized')


def check_bodies(program):
    """What may not be in functions, or only in kernels."""
    code = program.code
    for function in program.functions:
        if not function.body:
            continue
        for i in range(*function.body):
            if code[i].text == 'static' and 'constant' not in (code[i + 1].text, code[i + 2].text):
                raise tokens.Refused(code[i], "'static' variable in a function must be constant")
            if is_threadgroup_variable(program, i) and not function.is_kernel:
                raise tokens.Refused(code[i], 'variable in threadgroup address space must be '
                                              'declared in a kernel function')


def is_threadgroup_variable(program, i):
    """Whether the declaration at `i` is one of memory of the threadgroup, not of what points."""
    code = program.code
    # (What is declared before has notes behind its semicolon.)
    if code[i].text != 'threadgroup' or code[i - 1].text[:1] not in ('{', '}', ';', ':'):
        return False
    end = program.find(i, len(code), (';',))
    texts = [t.text for t in code[i:program.find(i, end, ('=',))]]
    return not {'*', '&'} & set(texts[:texts.index('[')] if '[' in texts else texts)


def check(program):
    """Raises Refused for the first thing that isn't MSL."""
    check_words(program)
    check_pointers(program)
    check_parameters(program)
    check_variables(program)
    check_bodies(program)
