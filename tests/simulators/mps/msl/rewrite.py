# SPDX-License-Identifier: MIT
"""What MSL writes in another way than C++: constructors of vectors, numbers of half precision,
copies out of other address spaces."""
import re

import rules
import tokens

HALF = re.compile(r"((?!0[xX])[\d.].*?)(h|H|bf|BF)$")


def rewrite_numbers(program):
    for token in program.code:
        match = HALF.match(token.text) if token.kind == 'number' else None
        if match:
            kind = 'half' if match[2] in 'hH' else 'bfloat'
            token.text = f'{kind}({match[1]}{"f" if "." in match[1] else ""})'


def is_declared(program, i, paren):
    """Whether the type at `i` begins a declaration: of a reference to an array, say."""
    return (program.text(i - 1) in rules.SPACES | {'const'} and
            program.text(program.partner[paren] + 1) == '[')


def rewrite_vector(program, i):
    """T(...) at `i`, of a type that is or may be a vector."""
    code = program.code
    last = i
    if program.text(i) == 'vec':
        last = tokens.end_of_angle(code, i + 1, program.partner)
        if program.text(i - 1) == '::' and program.text(i - 2) == 'metal':
            code[i - 1].text = code[i - 2].text = ''
    if program.text(last + 1) != '(' or is_declared(program, i, last + 1):
        return
    name = 'metal::vec' if program.text(i) == 'vec' else code[i].text
    code[last].text += '>'
    code[i].text = 'vrt_msl::make<' + name + ('>' if last == i else '')


def rewrite_copy(program, i):
    """struct s a = b; at `i`, where b may be in another space: C++ has no constructor for that."""
    code, last = program.code, program.find(i, len(program.code), (';',))
    if code[i + 1].kind != 'word' or program.text(i + 2) != '=' or program.text(i + 3) == '{' or \
            program.find(i, last, (',',)) != last:
        return
    code[i + 2].text = f'= VRT_MSL_COPY({code[i].text}, '
    code[last].text = ')' + code[last].text


def rewrite_copies(program):
    for function in program.functions:
        for i in range(*(function.body or (0, 0))):
            if program.text(i) in program.types - program.made_types:
                rewrite_copy(program, i)


def rewrite(program):
    rewrite_copies(program)
    made = rules.VECTORS | program.made_types
    for i, token in enumerate(program.code):
        if token.kind == 'word' and program.text(i - 1) not in ('operator', '::', '.', '->'):
            if token.text in made or (token.text == 'vec' and program.text(i + 1) == '<'):
                rewrite_vector(program, i)
        elif token.text == 'vec' and program.text(i + 1) == '<' and program.text(i - 2) == 'metal':
            rewrite_vector(program, i)
    rewrite_numbers(program)
