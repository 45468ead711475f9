#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The types of the messages that Metal is sent, as Apple's own headers have them.

usage: selectors.py METAL_CPP

METAL_CPP is a checkout of Apple's metal-cpp, which wraps each message in a function of C++. The
table beside this script, selectors.tsv, has a line for each: class, selector, the type returned
and those of the arguments. Classes and selectors are the table's own; the types are made anew. To
add a message write a line of its first two columns, and run this. What metal-cpp doesn't wrap is
said, and stays as it is.

The types: object, bool, u64, i64, size (three u64), void, and pointer (to anything else).
"""
import os
import re
import sys

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'selectors.tsv')
HEAD = ['# SPDX-License-Identifier: MIT', '# class\tselector\treturns\targuments: see selectors.py']

# Where a class has a method from, if it isn't its own.
PARENTS = {'MTLComputeCommandEncoder': 'MTLCommandEncoder',
           'MTLBlitCommandEncoder': 'MTLCommandEncoder'}

SELECTOR = re.compile(r'_(?:NS|MTL)_PRIVATE_DEF_SEL\(\s*(\w+),\s*"([^"]+)"')
ENUM = re.compile(r'_(?:NS|MTL)_(?:ENUM|OPTIONS)\(([\w:]+),\s*(\w+)\)')
ALIAS = re.compile(r'using (\w+) = ([\w: ]+\*)')
METHOD = re.compile(
    r'_(?:NS|MTL)_INLINE\s+(?P<returns>[^;{}()]*?)\s+(?P<space>NS|MTL)::(?P<class>\w+)'
    r'(?:<[^>]*>)?::\w+\((?P<arguments>[^{}]*?)\)(?:\s*const)?\s*'
    r'\{[^{}]*?sendMessage(?:Safe)?<[^{}]*?_(?:NS|MTL)_PRIVATE_SEL\((?P<name>\w+)\)')
NUMBERS = {'bool': 'bool', 'void': 'void', 'uint64_t': 'u64', 'UInteger': 'u64', 'Integer': 'i64',
           'Size': 'size'}


class Headers:
    """What the headers say: types of enums, aliases of pointers, names of selectors, methods."""

    def __init__(self, root):
        text = ''
        for folder in ('Foundation', 'Metal'):
            for name in sorted(os.listdir(os.path.join(root, folder))):
                with open(os.path.join(root, folder, name), encoding='utf-8') as f:
                    text += re.sub(r'//[^\n]*', '', f.read())
        self.enums = {name: base.split('::')[-1] for base, name in ENUM.findall(text)}
        self.aliases = dict(ALIAS.findall(text))
        self.selectors = dict(SELECTOR.findall(text))
        self.methods = {}
        for m in METHOD.finditer(text):
            self.add(m)

    def add(self, m):
        owner = m['space'] + m['class']
        if m['class'] in ('Referencing', 'Object'):
            owner = 'NSObject'
        arguments = [self.kind(re.sub(r'(?<=[\w*&]) ?\b\w+$', '', a.strip()))
                     for a in m['arguments'].split(',') if a.strip()]
        if owner == 'NSObject' and m['name'] == 'alloc':
            arguments = arguments[1:]           # it is a function there: the receiver
        if (owner, m['name']) not in self.methods or 'Function&' not in m['arguments']:
            self.methods[owner, m['name']] = [self.kind(m['returns']), *arguments]

    def kind(self, text):
        """A type of C++ by the table's name."""
        for name, meaning in self.aliases.items():
            text = re.sub(rf'(?:\w+::)?\b{name}\b', meaning, text)
        words = [w for w in re.findall(r'[\w:]+', text) if w not in ('const', 'class')]
        word = words[-1].split('::')[-1]
        word = self.enums.get(word, word)
        if '*' not in text:
            return NUMBERS.get(word, 'pointer')
        is_plain = word in ('void', 'char', 'unichar') or word in NUMBERS
        return 'pointer' if is_plain or text.count('*') > 1 else 'object'

    def find(self, owner, selector):
        """The types of a method, the one returned first; None: it isn't wrapped."""
        names = [name for name, text in self.selectors.items() if text == selector]
        for candidate in (owner, PARENTS.get(owner), 'NSObject'):
            for name in names:
                if (candidate, name) in self.methods:
                    return self.methods[candidate, name]
        return None


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        raise SystemExit(__doc__)
    headers = Headers(sys.argv[1])
    with open(TABLE, encoding='utf-8') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    lines = []
    for owner, selector, *kept in rows:
        types = headers.find(owner, selector)
        if not types:
            print(f'metal-cpp does not wrap {owner} {selector}')
            types = ' '.join(kept).split()
        lines.append('\t'.join([owner, selector, types[0], ' '.join(types[1:])]).rstrip())
    with open(TABLE, 'w', encoding='utf-8') as f:
        f.write('\n'.join(HEAD + lines) + '\n')


if __name__ == '__main__':
    main()
