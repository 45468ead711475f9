#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How results are tested and where failure leaves: fails where CONTRIBUTING.md's rule is broken.

A result is called r. What is seen here: that it is compared, not taken for a truth, and that what
follows a success isn't made conditional on it where the function could have left.

usage: idioms.py SOURCE_ROOT
"""
import re
import sys

import tree

TOPS = ('proto', 'workers', 'daemon', 'client', 'config')

COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
TRUTH = re.compile(r'!r\b(?!\s*(?:->|[.\[(]))'
                   r'|\b(?:if|while) \(r\)'
                   r'|(?:\(|&& |\|\| )r(?= (?:&&|\|\|) )|(?:&& |\|\| )r(?=[);])'
                   r'|(?<![\w.>*])r \? ')
GUARDED = re.compile(r'if \(r == 0\b')
FAILED = re.compile(r'if \(r (?:< 0|!= 0)\)$')
LEAVES = re.compile(r'return (?:r|vrt_fold\(r\));')
LEAVES_LOOP = re.compile(r'(?:break|continue);')


def without_text(source):
    """The source, line by line, with no comments or strings in it."""
    return COMMENT_OR_TEXT.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]), source).split('\n')


def indent(line):
    return len(line) - len(line.lstrip())


def find_next(lines, i):
    """The line of the statement after the if at lines[i]; None: it has an else, or is the last."""
    depth = indent(lines[i])
    for j in range(i + 1, len(lines)):
        text = lines[j].strip()
        if not text or indent(lines[j]) > depth or (indent(lines[j]) == depth and text == '}'):
            continue
        return j if indent(lines[j]) == depth and 'else' not in text else None
    return None


def find_end(lines, i):
    """The line of what comes after the ifs on a success that begin at lines[i], or None."""
    while i is not None and GUARDED.match(lines[i].strip()):
        i = find_next(lines, i)
    return i


def leaves(lines, i):
    """Whether a failure does nothing else at lines[i] but leave."""
    text, then = lines[i].strip(), lines[i + 1].strip()
    return LEAVES.match(text) or (FAILED.match(text) and
                                  (LEAVES.match(then) or LEAVES_LOOP.match(then)))


def check(path, lines, problems):
    for i, line in enumerate(lines):
        text = line.strip()
        if TRUTH.search(line):
            problems.append(f'{path}:{i + 1}: r taken for a truth, not compared: {text[:60]}')
        if GUARDED.match(text):
            end = find_end(lines, i)
            if end is not None and leaves(lines, end):
                problems.append(f'{path}:{i + 1}: leave at once where it failed: {text[:60]}')


def main():
    root = sys.argv[1]
    problems, n_files = [], 0
    for path, text in tree.sources(root, TOPS, ('.c', '.cu', '.h')):
        check(path, without_text(text), problems)
        n_files += 1
    return tree.report(problems, n_files, f'{n_files} files test their results in one way')


if __name__ == '__main__':
    sys.exit(main())
