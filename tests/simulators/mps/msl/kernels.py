# SPDX-License-Identifier: MIT
"""Kernels: what their attributes say, and the C++ that calls them by it."""
from dataclasses import dataclass, field

import rules
import tokens

# Attribute: what of struct vrt_msl_thread it is, and as what of launch.h it is given.
INDICES = {
    'thread_position_in_grid': ('in_grid', 'position'),
    'thread_position_in_threadgroup': ('in_threadgroup', 'position'),
    'threadgroup_position_in_grid': ('threadgroup_in_grid', 'position'),
    'threads_per_threadgroup': ('threads_per_threadgroup', 'position'),
    'threads_per_grid': ('threads_per_grid', 'position'),
    'threadgroups_per_grid': ('threadgroups_per_grid', 'position'),
    'thread_index_in_threadgroup': ('index_in_threadgroup', 'number'),
    'thread_index_in_simdgroup': ('index_in_simdgroup', 'number'),
    'simdgroup_index_in_threadgroup': ('simdgroup', 'number'),
    'simdgroups_per_threadgroup': ('n_simdgroups', 'number'),
    'threads_per_simdgroup': (None, 'number'),
}
WIDTH = 32                          # of a simdgroup
MAX_INDEX = 30
MAX_THREADS = 'max_total_threads_per_threadgroup'


def room_of(index):
    """The namespace that a kernel is put into: what it declares there is not another's."""
    return f'vrt_kernel{index}'


@dataclass
class Kernel:
    name: str
    index: int
    arguments: list = field(default_factory=list)       # C++, in the order of the parameters
    parameters: list = field(default_factory=list)      # (space, index, place among arguments)
    max_threads: str = '0'
    has_matrices: bool = False


def take_attributes(program, begin, end):
    """The attributes between two places, {name: tokens of its argument}; they become blanks."""
    found, i = {}, begin
    while i < end - 1:
        if program.text(i) != '[' or program.text(i + 1) != '[':
            i += 1
            continue
        last = program.partner[i]
        for first, stop in tokens.split_list(program.code, i + 2, last - 1, program.partner):
            argument = [t.text for t in program.code[first + 2:stop - 1]]
            found[program.text(first)] = argument
        for token in program.code[i:last + 1]:
            token.text = ''
        i = last + 1
    return found


def take_index(token, argument, what):
    try:
        index = int(''.join(argument), 0)
    except ValueError:
        raise tokens.Refused(token, f"'{what}' attribute needs a number") from None
    if not 0 <= index <= MAX_INDEX:
        raise tokens.Refused(token, f"'{what}' attribute parameter is out of bounds: must be "
                                    f"between 0 and {MAX_INDEX}")
    return index


def add_buffer(kernel, token, texts, argument):
    index = take_index(token, argument, 'buffer')
    space = {'device', 'constant'} & set(texts)
    if not space or not {'*', '&'} & set(texts):
        raise tokens.Refused(token, "'buffer' attribute only applies to pointers and references "
                                    'into constant or device')
    if any(index == other for _, other, _ in kernel.parameters):
        raise tokens.Refused(token, f"'buffer' attribute has a duplicate index {index}")
    kind = 'reference' if '&' in texts else 'pointer'
    kernel.parameters.append((space.pop().upper(), index, len(kernel.arguments)))
    kernel.arguments.append(f'vrt_msl::{kind}{{t->buffers[{index}]}}')


def add_parameter(kernel, program, first, last):
    token = program.code[first]
    attributes = take_attributes(program, first, last)
    texts = [t.text for t in program.code[first:last]]
    known = [name for name in attributes if name in INDICES or name == 'buffer']
    if len(known) != 1 or len(attributes) != 1:
        raise tokens.Refused(token, f"invalid attributes of a parameter of kernel '{kernel.name}': "
                                    f"{', '.join(attributes) or 'there is none'}")
    name = known[0]
    if name not in INDICES:
        add_buffer(kernel, token, texts, attributes[name])
        return
    of, kind = INDICES[name]
    kernel.arguments.append(f'vrt_msl::{kind}{{{"t->" + of if of else WIDTH}}}')


def declare_threadgroup(kernel, program, function):
    """Its variables of the threadgroup: storage that the machine knows, and their size."""
    n = 0
    for i in [i for i in range(*function.body) if rules.is_threadgroup_variable(program, i)]:
        end = program.find(i, function.body[1], (';',))
        notes = ''
        for first, last in tokens.split_list(program.code, i, end, program.partner):
            if program.find(first, last, ('=',)) != last:
                raise tokens.Refused(program.code[i], 'variable in threadgroup address space '
                                                      'cannot have an initializer')
            name = program.text(program.find(first, last, ('[',)) - 1)
            notes += f' VRT_MSL_DECLARED({kernel.index}, {n}, {name})'
            n += 1
        program.code[i].text = 'VRT_MSL_GROUP_STORAGE'
        program.code[end].text = ';' + notes


def take_kernel(program, function, index):
    """Reads one, and takes from the program's text what C++ doesn't know."""
    token = program.code[function.begin]
    if function.is_template or not function.body:
        raise tokens.Refused(token, f"kernel '{function.name}' is a template, or has no body")
    kernel = Kernel(function.name, index)
    paren, close = function.parameters
    head = take_attributes(program, function.begin, paren)
    if MAX_THREADS in head:
        kernel.max_threads = ''.join(head[MAX_THREADS])
    texts = [t.text for t in program.code[function.begin:paren] if t.text]
    if texts[-2] != 'void':
        raise tokens.Refused(token, f"kernel '{function.name}' must return void")
    for first, last in tokens.split_list(program.code, paren + 1, close, program.partner):
        add_parameter(kernel, program, first, last)
    declare_threadgroup(kernel, program, function)
    first, last = program.code[function.begin], program.code[function.body[1]]
    first.text = f'namespace {room_of(index)} {{ {first.text}'
    last.text += f' }} using {room_of(index)}::{kernel.name};'
    return kernel


def take_all(program):
    found = [f for f in program.functions if f.is_kernel]
    names = [f.name for f in found]
    for function in found:
        if names.count(function.name) > 1:
            raise tokens.Refused(program.code[function.begin],
                                 f"redefinition of kernel '{function.name}'")
    return [take_kernel(program, function, i) for i, function in enumerate(found)]


def emit_kernel(kernel):
    name = kernel.name
    rows = [f'    {{VRT_MSL_{space}, {index}, vrt_msl::parameter<{place}, '
            f'decltype(::{name})>::bytes}},' for space, index, place in kernel.parameters]
    return '\n'.join([
        f'static void run_{name}(const vrt_msl_thread *t)',
        '{', '    (void)t;', f'    ::{name}({", ".join(kernel.arguments)});', '}',
        f'static const vrt_msl_parameter parameters_{name}[] = {{', *rows, '    {},', '};', ''])


def emit(found):
    """The C++ behind the program: the library that the simulator loads."""
    rows = [f'    {{"{k.name}", run_{k.name}, parameters_{k.name}, {len(k.parameters)}, '
            f'{k.max_threads}, {int(k.has_matrices)}, &vrt_msl::declared<{k.index}>::bytes}},'
            for k in found]
    return '\n'.join([
        '', '#line 1 "kernels"', 'const vrt_msl_machine *vrt_msl_the_machine;', 'namespace {',
        *map(emit_kernel, found), 'const vrt_msl_kernel all_kernels[] = {', *rows, '    {},', '};',
        '}', 'extern "C" const vrt_msl_library vrt_msl_library = {',
        f'    &vrt_msl_the_machine, all_kernels, {len(found)}', '};', ''])
