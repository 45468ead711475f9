# SPDX-License-Identifier: MIT
"""PTX as nvcc writes it, taken apart: a module has entries, an entry has statements.

Names and forms are those of the PTX ISA ("PTX Module Scoping", "Instruction Statements"). What is
not known here is an error that names it: nothing is skipped but what says nothing of the result
(comments, line numbers, hints of performance).
"""
import dataclasses
import re


class Unknown(Exception):
    """Something that the translator doesn't know, or that the ISA doesn't allow."""

    def __init__(self, line, what):
        super().__init__(f'line {line}: {what}')
        self.line = line


@dataclasses.dataclass
class Symbol:
    name: str
    align: int
    n_bytes: int            # 0: what the launch asks for
    offset: int = 0         # of a parameter, in the parameters' space


@dataclasses.dataclass
class Instruction:
    line: int
    guard: str              # '', '%p1' or '!%p1'
    opcode: str
    operands: list


@dataclasses.dataclass
class Label:
    line: int
    name: str


@dataclasses.dataclass
class Entry:
    line: int
    name: str
    params: list
    max_threads: int = 1024
    registers: dict = dataclasses.field(default_factory=dict)   # prefix, or name: type
    body: list = dataclasses.field(default_factory=list)
    shared: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Module:
    target: int = 0
    shared: list = dataclasses.field(default_factory=list)
    entries: list = dataclasses.field(default_factory=list)


HINTS = ('nounroll', 'used_bytes_mask')
SIZES = {'b8': 1, 'u8': 1, 's8': 1, 'b16': 2, 'u16': 2, 's16': 2, 'b32': 4, 'u32': 4, 's32': 4,
         'f32': 4, 'b64': 8, 'u64': 8, 's64': 8, 'f64': 8}
REGISTER_TYPES = ('pred', 'b16', 'b32', 'b64', 'f32', 'f64')
VARIABLE = re.compile(r'(?:\.align (\d+) )?\.([bsuf]\d+) ([\w$]+)(?:\[(\d*)\])?$')


def variable(line, text):
    """`.align 8 .b8 name[72]` or `.u64 name`."""
    match = VARIABLE.match(text)
    if not match or match[2] not in SIZES:
        raise Unknown(line, f'a variable: {text}')
    n_bytes = SIZES[match[2]]
    align = int(match[1] or n_bytes)
    if match[4] is not None:
        n_bytes *= int(match[4] or 0)
    return Symbol(match[3], align, n_bytes)


def split(text):
    """Operands: at commas outside of brackets."""
    parts, depth = [''], 0
    for c in text:
        depth += (c in '{[(') - (c in '}])')
        if c == ',' and not depth:
            parts.append('')
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


class Parser:
    """One pass over the text, a statement at a time."""

    def __init__(self, text):
        plain = re.sub(r'/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m[0]), text, flags=re.S)
        # What debuggers read is no part of the program; its sections come last.
        self.text = re.split(r'^\s*\.section', re.sub(r'//[^\n]*', '', plain), flags=re.M)[0]
        self.at = 0
        self.module = Module()
        self.entry = None
        self.depth = 0

    def line(self):
        return self.text.count('\n', 0, self.at) + 1

    def take(self, pattern):
        match = re.compile(pattern, re.S).match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def parse(self):
        line, last = 1, 0
        while True:
            self.take(r'\s+')
            if self.at == len(self.text):
                break
            line += self.text.count('\n', last, self.at)
            last = self.at
            if self.depth:
                self.inner(line)
            else:
                self.outer(line)
        if self.depth:
            raise Unknown(line, 'the text ends within a function')
        return self.module

    def outer(self, line):
        if self.take(r'\.version [\d.]+|\.address_size 64|\.file\s[^\n]*'):
            return
        if match := self.take(r'\.target sm_(\d+)[^\n]*'):
            self.module.target = int(match[1])
        elif match := self.take(r'(?:\.extern )?\.shared ([^;]*);'):
            self.module.shared.append(variable(line, ' '.join(match[1].split())))
        elif match := self.take(r'(?:\.visible |\.weak )?\.entry ([\w$]+)\s*(?:\(([^)]*)\))?'):
            self.begin(line, match[1], match[2] or '')
        else:
            raise Unknown(line, self.text[self.at:].split('\n')[0])

    def begin(self, line, name, params):
        self.entry = Entry(line, name, [])
        offset = 0
        for text in split(params):
            one = variable(line, ' '.join(text.split()).removeprefix('.param '))
            offset = (offset + one.align - 1) // one.align * one.align
            one.offset = offset
            offset += one.n_bytes
            self.entry.params.append(one)
        while match := self.take(r'\s*\.(maxntid|reqntid|minnctapersm|maxnreg) ([\d, ]+)'):
            if match[1] in ('maxntid', 'reqntid'):
                self.entry.max_threads = 1
                for n in match[2].split(','):
                    self.entry.max_threads *= int(n)
        if not self.take(r'\s*\{'):
            raise Unknown(line, f'{name} has no body')
        self.depth = 1

    def inner(self, line):
        if self.take(r'\{'):
            self.depth += 1
        elif self.take(r'\}'):
            self.depth -= 1
            if not self.depth:
                self.module.entries.append(self.entry)
        elif match := self.take(r'([\w$]+):(?!:)'):
            self.entry.body.append(Label(line, match[1]))
        elif self.take(r'\.loc\s[^\n]*'):
            pass
        elif match := self.take(r'([^;]*);'):
            self.statement(line, ' '.join(match[1].split()))
        else:
            raise Unknown(line, self.text[self.at:].split('\n')[0])

    def statement(self, line, text):
        if text.startswith('.pragma'):
            if not any(hint in text for hint in HINTS):
                raise Unknown(line, text)
        elif text.startswith('.reg'):
            self.declare(line, text)
        elif text.startswith('.shared'):
            self.entry.shared.append(variable(line, text.removeprefix('.shared ')))
        else:
            match = re.match(r'(?:@(!?%[\w$]+) )?([a-z][\w.:]*) ?(.*)$', text)
            if not match:
                raise Unknown(line, text)
            self.entry.body.append(
                Instruction(line, match[1] or '', match[2], split(match[3])))

    def declare(self, line, text):
        match = re.match(r'\.reg \.(\w+) (.*)$', text)
        if not match or match[1] not in REGISTER_TYPES or self.depth != 1:
            raise Unknown(line, text)
        for name in split(match[2]):
            many = re.match(r'(%[A-Za-z_$]+)<\d+>$', name)
            if not many and not re.match(r'%[\w$]+$', name):
                raise Unknown(line, text)
            self.entry.registers[many[1] if many else name] = match[1]


def parse(text):
    """The module that `text` is. Raises Unknown."""
    return Parser(text).parse()
