# SPDX-License-Identifier: MIT
"""Who calls whom, as LLVM's text of a program says it."""
import re

DEFINE = re.compile(r'^define [^@]*@"?([\w.$]+)"?\(')
CALL = re.compile(r'\bcall\b[^@]*@"?([\w.$]+)"?\(')


def read(text):
    """{function: those that it calls}, by their mangled names."""
    graph, current = {}, None
    for line in text.split('\n'):
        define = DEFINE.match(line)
        if define:
            current = graph.setdefault(define[1], set())
        elif current is not None:
            current.update(CALL.findall(line))
    return graph


def reachable(graph, start):
    seen, left = set(), [start]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += graph.get(name, ())
    return seen


def find_recursion(graph):
    """A function that comes to call itself, or None."""
    return next((name for name, called in graph.items()
                 if any(name in reachable(graph, other) for other in called)), None)


def short_name(mangled):
    """The name of a function as the program has it."""
    match = re.match(r'_ZL?(N?)(\d+)', mangled)
    if not match:
        return mangled
    name = mangled[match.end():]
    if match[1] and name.startswith('vrt_kernel'):
        name = name[int(match[2]):]
        match = re.match(r'()(\d+)', name)
        name = name[match.end():]
    return name[:int(match[2])]


def find_kernel(graph, room, name):
    start = f'_ZN{len(room)}{room}{len(name)}{name}E'
    return next(function for function in graph if function.startswith(start))
