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
    match = re.match(r'_ZL?(\d+)', mangled)
    return mangled[match.end():match.end() + int(match[1])] if match else mangled


def find_kernel(graph, name):
    return next((f for f in graph if short_name(f) == name and f.startswith('_Z')), None)
