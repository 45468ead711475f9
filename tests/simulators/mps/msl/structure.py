# SPDX-License-Identifier: MIT
"""What a program declares: its functions, variables and types, by the places of their tokens."""
from dataclasses import dataclass

import tokens

AGGREGATES = {'struct', 'class', 'union', 'enum'}
SKIPPED = {'using', 'typedef', 'static_assert', 'friend'}
ACCESS = {'public', 'private', 'protected'}


@dataclass
class Function:
    name: str
    begin: int                  # of its head
    parameters: tuple           # the places of its parentheses
    body: tuple                 # those of its braces; None: only declared
    is_kernel: bool
    is_template: bool


@dataclass
class Variable:
    begin: int
    end: int
    is_member: bool


class Program:
    """The declarations of a program; `types` are the names that stand for types."""

    def __init__(self, code):
        self.code, self.partner = code, tokens.match_brackets(code)
        self.functions, self.variables = [], []
        self.types, self.made_types = set(), set()      # all; those that may be vectors
        self.parse(0, len(code), False)

    def text(self, i):
        return self.code[i].text if i < len(self.code) else ''

    def find(self, i, end, stops):
        """The first of `stops` from `i` on, outside of brackets; `end` where there is none."""
        while i < end and self.text(i) not in stops:
            i = self.partner[i] + 1 if self.text(i) in tokens.PARTNERS else i + 1
        return min(i, end)

    def parse(self, i, end, is_member):
        while i < end:
            i = self.parse_one(i, end, is_member)

    def parse_one(self, i, end, is_member):
        """What is declared at `i`. Return: the place behind it."""
        text = self.text(i)
        if text == ';':
            return i + 1
        if text in ACCESS and self.text(i + 1) == ':':
            return i + 2
        if text in SKIPPED:
            return self.parse_alias(i, end, is_member)
        if text == 'namespace' or (text == 'extern' and self.text(i + 2) == '{'):
            i = self.find(i, end, ('{', ';', '='))
            if self.text(i) != '{':
                return self.find(i, end, (';',)) + 1
            self.parse(i + 1, self.partner[i], False)
            return self.partner[i] + 1
        is_template = text == 'template'
        if is_template:
            i = self.parse_template(i, end)
        return self.parse_declaration(i, end, is_member, is_template)

    def parse_alias(self, i, end, is_member):
        """using, typedef; what has no name of its own is skipped."""
        last = self.find(i, end, (';',))
        name = None
        if self.text(i) == 'using' and self.text(i + 2) == '=':
            name = self.text(i + 1)
        elif self.text(i) == 'typedef':
            braces = self.find(i, last, ('{',))
            if self.text(braces) == '{':
                self.parse(braces + 1, self.partner[braces], True)
            name = self.text(last - 1)
        if name:
            self.types.add(name)
            self.made_types.add(name)
        return last + 1

    def parse_template(self, i, end):
        """template <...>: notes its types. Return: the place behind it."""
        if self.text(i + 1) != '<':
            raise tokens.Refused(self.code[i], 'explicit instantiations are not known here')
        last = tokens.end_of_angle(self.code, i + 1, self.partner)
        for k in range(i, last):
            if self.text(k) in ('typename', 'class') and self.code[k + 1].kind == 'word':
                self.types.add(self.text(k + 1))
                self.made_types.add(self.text(k + 1))
        i = last + 1
        return self.parse_template(i, end) if self.text(i) == 'template' else i

    def parse_declaration(self, i, end, is_member, is_template):
        if self.text(i) in SKIPPED:
            return self.parse_alias(i, end, is_member)
        stop = self.find_head(i, end)
        head = [t.text for t in self.code[i:stop]]
        if self.text(stop) == '{' and AGGREGATES & set(head):
            return self.parse_aggregate(i, stop, end)
        if self.text(stop) == '(':
            return self.parse_function(i, stop, end, is_template)
        last = self.find(stop, end, (';',))
        if not AGGREGATES & set(head[:1]) or len(head) > 2:
            self.variables.append(Variable(i, last, is_member))
        elif len(head) == 2:
            self.types.add(head[1])
        return last + 1

    def find_head(self, i, end):
        """Where a declaration's parentheses, braces or initialiser begin, or its end."""
        while i < end and self.text(i) not in ('(', '{', ';', '='):
            if self.text(i) == 'operator':
                return self.find(i + (3 if self.text(i + 1) == '(' else 1), end, (';',)) \
                    if self.text(i + 1) == ';' else self.find_operator(i)
            if self.text(i) == '<' and self.code[i - 1].kind == 'word':
                i = tokens.end_of_angle(self.code, i, self.partner)
            i = self.partner[i] + 1 if self.text(i) == '[' else i + 1
        return min(i, end)

    def find_operator(self, i):
        """Where the parameters of an operator begin."""
        i += 3 if self.text(i + 1) == '(' else 1
        while self.text(i) != '(':
            i += 1
        return i

    def parse_aggregate(self, i, braces, end):
        words = [t.text for t in self.code[i:braces] if t.kind == 'word']
        kind = next(k for k, word in enumerate(words) if word in AGGREGATES)
        names = [w for w in words[kind + 1:] if w not in AGGREGATES]
        if names:
            self.types.add(names[0])
        if words[kind] != 'enum':
            self.parse(braces + 1, self.partner[braces], True)
        return self.find(self.partner[braces] + 1, end, (';',)) + 1

    def parse_function(self, i, paren, end, is_template):
        close = self.partner[paren]
        stop = self.find_body(close + 1, end)
        has_body = self.text(stop) == '{'
        head = [t.text for t in self.code[i:paren]]
        self.functions.append(Function(
            self.text(paren - 1), i, (paren, close),
            (stop, self.partner[stop]) if has_body else None, 'kernel' in head, is_template))
        return self.partner[stop] + 1 if has_body else stop + 1

    def find_body(self, i, end):
        """Behind a function's parameters: where its braces begin, or its semicolon is."""
        while i < end and self.text(i) not in ('{', ';'):
            if self.text(i) == ':':                 # what a constructor begins with
                return self.find_constructor_body(i + 1, end)
            i = self.partner[i] + 1 if self.text(i) in tokens.PARTNERS else i + 1
        return min(i, end)

    def find_constructor_body(self, i, end):
        while i < end:
            while self.text(i) not in ('(', '{'):
                i += 1
            i = self.partner[i] + 1
            if self.text(i) != ',':
                return i
        return end
