# SPDX-License-Identifier: MIT
"""One-line mistakes that a person might make in C: a flipped comparison, a dropped call, another
constant. Text, logs and assertions stay as they are."""
import re

# Comments and literals, which keep their length and lose their content.
OPAQUE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

# Lines of which a mistake changes what is said, or nothing.
UNTOUCHED = re.compile(r'^\s*(#|case |static_assert|\w*assert)|_log_|_LOG|\bPRI\w\d+|snprintf|'
                       r'return r < 0 \? vrt_fold\(r\) : r;|calloc')

# A call on a line of its own; what only gives memory back, or locks, is for a sanitizer to notice.
STATEMENT = re.compile(r'^\s+[a-z_]\w*\([^;{}]*\);$')
RELEASE = re.compile(r'^\s+(?:\w*free\w*|\w*_unref|\w*_decref|\w*_done|\w*_destroy|\w*_discard|'
                     r'f?close|uv_close|pthread_mutex_lock)\(')

# Failures of which only a lack of memory is known: what a buffer may answer, what says ENOMEM.
GROWS = re.compile(r'\br = vrt_(?:buf|table)_\w+\(')

SWAPS = [
    (r'(?<= )<(?= )', '<='), (r'(?<= )<=(?= )', '<'), (r'(?<= )>(?= )', '>='),
    (r'(?<= )>=(?= )', '>'), (r'(?<= )==(?= )', '!='), (r'(?<= )!=(?= )', '=='),
    (r'(?<= )&&', '||'), (r'(?<= )\|\|', '&&'), (r'(?<= )\+(?= )', '-'), (r'(?<=\w )-(?= )', '+'),
    (r'(?<= )\+=', '-='), (r'(?<= )-=', '+='), (r'(?<=\w)\+\+', '--'), (r'(?<=\w)--', '++'),
    (r'(?<= )\|=', '&='), (r'(?<=[( !])!(?=[\w(*])', ''), (r'\btrue\b', 'false'),
    (r'\bfalse\b', 'true'), (r'\bcontinue;', 'break;'), (r'\bMAX\(', 'MIN('), (r'\bMIN\(', 'MAX('),
    (r'\breturn -\w+;', 'return 0;'), (r'\breturn r;', 'return 0;'),
]
NUMBER = re.compile(r'(?<![\w.])(\d+)(?![\w.])')

# Numbers of which the neighbour means the same: descriptors that are there, -1 for none, that all
# went well to those who look for less than 0, the sizes of texts and of what is as simple, how much
# more room there is than is needed, how large a member of an array is, and no error, which is read
# once there is one.
SAME = re.compile(r'\bfds?(?:\[\w+\])? (?:<|>=) 0\b|(?<=[=(?:] )-1\b|\breturn (?:\w+ \? )?0\b|'
                  r'\bchar [^;=]*;|\b(?:u?int\d*(?:_t)?|float|double) \w+\[\d+\](?: = \{ 0 \})?|'
                  r'\bcapacity = [^;]*;|\bstruct vrt_error [^;]*= \{ 0 \}|'
                  r'\bsizeof\([\w.>-]+\[\d+\]\)')


def masked(text):
    """The text with comments and literals blanked out: every character keeps its place."""
    return OPAQUE.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)


def closing(text, at):
    """Where the parenthesis that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if not depth:
            return i
    return -1


class Mutant:
    """A change of one file: (from, to, text) of its characters, the last place first."""

    def __init__(self, source, line, kind, edits):
        self.source, self.line, self.kind = source, line, kind
        self.edits = sorted(edits, reverse=True)

    def apply(self):
        text = self.source.text
        for start, end, new in self.edits:
            text = text[:start] + new + text[end:]
        return text

    def changed(self):
        """The line after the change, without its indentation."""
        return self.apply().split('\n')[self.line - 1].strip()

    def key(self):
        """Names it for as long as the line and its file stay."""
        return f'{self.source.name}: {self.source.lines[self.line - 1].strip()} => {self.changed()}'


class Source:
    def __init__(self, name, text):
        self.name, self.text, self.code = name, text, masked(text)
        self.lines, self.starts, at = text.split('\n'), [], 0
        for line in self.lines:
            self.starts.append(at)
            at += len(line) + 1

    def lacks_memory(self, number):
        """Whether line `number` asks no more than whether there was memory, or gives some back."""
        i = number - 1
        while i > 0 and not self.lines[i - 1].rstrip().endswith((';', '{', '}')):
            i -= 1
        before = i - 1
        while before > 0 and not self.lines[before - 1].rstrip().endswith((';', '{', '}')):
            before -= 1
        then = self.lines[number] if number < len(self.lines) else ''
        return bool('ENOMEM' in self.lines[number - 1] + then or RELEASE.match(then) or
                    GROWS.search(self.lines[before]) and
                    re.search(r'if \(r (?:<|==) 0\)', self.lines[number - 1]))

    def mutants(self, number):
        """All mistakes there are for line `number`, counted from 1."""
        start = self.starts[number - 1]
        code = self.code[start:start + len(self.lines[number - 1])]
        if UNTOUCHED.search(self.lines[number - 1]):
            return []
        found = []
        for pattern, new in SWAPS:
            for m in re.finditer(pattern, code):
                found.append(Mutant(self, number, f'{m.group().strip()} -> {new or "nothing"}',
                                    [(start + m.start(), start + m.end(), new)]))
        same = [m.span() for m in SAME.finditer(code)]
        for m in NUMBER.finditer(code):
            if any(first <= m.start() < end for first, end in same):
                continue
            digits = m.group(1)
            more = f'0{int(digits, 8) + 1:o}' if digits[0] == '0' < digits else str(int(digits) + 1)
            found.append(Mutant(self, number, 'constant', [
                (start + m.start(1), start + m.end(1), more)]))
        for m in [] if self.lacks_memory(number) else re.finditer(r'\bif \(', code):
            opens = start + m.end() - 1
            closes = closing(self.code, opens)
            for kind, new in ('never', '(0 && ('), ('always', '(1 || ('):
                found.append(Mutant(self, number, kind, [(opens, opens + 1, new),
                                                         (closes, closes + 1, '))')]))
        before = self.code[:start].rstrip()[-1:]
        if STATEMENT.match(code) and not RELEASE.match(code) and before in ';{}:)':
            first = len(code) - len(code.lstrip())
            found.append(Mutant(self, number, 'dropped call', [
                (start + first, start + len(code), '(void)0;')]))
        return found
