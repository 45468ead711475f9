# SPDX-License-Identifier: MIT
"""The tokens of a preprocessed program, and where they stand."""
import re

TOKEN = re.compile(r'''
    (?P<space>\s+)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<mark>::|->|.)
''', re.VERBOSE | re.DOTALL)
MARKER = re.compile(r'\s*#\s*(\d+)\s+"([^"]*)"')
PARTNERS = {'(': ')', '[': ']', '{': '}'}


class Refused(Exception):
    """What the Metal compiler would refuse."""

    def __init__(self, token, why):
        super().__init__(f'{token.file}:{token.line}:1: error: {why}')


class Token:
    def __init__(self, kind, text, file, line):
        self.kind, self.text, self.file, self.line = kind, text, file, line

    def __repr__(self):
        return self.text


def split(text):
    """All tokens; lines of the preprocessor are one each, of the kind 'space'."""
    tokens, file, line = [], 'program_source', 1
    for row in text.split('\n'):
        marker = MARKER.match(row)
        if marker:
            line, file = int(marker[1]) - 1, marker[2]
        if row.lstrip().startswith('#'):
            tokens.append(Token('space', row, file, line))
        else:
            tokens += [Token(m.lastgroup, m[0], file, line) for m in TOKEN.finditer(row)]
        tokens.append(Token('space', '\n', file, line))
        line += 1
    return tokens


def without_space(tokens):
    return [t for t in tokens if t.kind != 'space']


def match_brackets(code):
    """Where the bracket ends that begins at each place, and begins that ends there."""
    partner, open_at = {}, []
    for i, token in enumerate(code):
        if token.kind != 'mark':
            continue
        if token.text in PARTNERS:
            open_at.append(i)
        elif token.text in PARTNERS.values():
            if not open_at or PARTNERS[code[open_at[-1]].text] != token.text:
                raise Refused(token, f"no bracket that '{token}' would end")
            j = open_at.pop()
            partner[i], partner[j] = j, i
    if open_at:
        raise Refused(code[open_at[-1]], f"'{code[open_at[-1]]}' never ends")
    return partner


def end_of_angle(code, i, partner):
    """Where the template arguments end whose '<' is at `i`: the place of their '>'."""
    depth = 0
    while i < len(code):
        text = code[i].text
        depth += (text == '<') - (text == '>')
        if depth == 0:
            return i
        i = partner[i] + 1 if text in PARTNERS else i + 1
    raise Refused(code[-1], "'<' never ends")


def split_list(code, begin, end, partner):
    """The ranges that commas separate, outside of all brackets."""
    ranges, start, i = [], begin, begin
    while i < end:
        text = code[i].text
        if text == ',':
            ranges.append((start, i))
            start = i + 1
        if text == '<' and i > begin and code[i - 1].kind == 'word':
            i = end_of_angle(code, i, partner)
        elif text in PARTNERS:
            i = partner[i]
        i += 1
    if start < end:
        ranges.append((start, end))
    return ranges
