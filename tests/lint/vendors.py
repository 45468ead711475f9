#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Vendors stay inside their backends: fails where other C code has the name of one.

usage: vendors.py SOURCE_ROOT

Comments may name whom they like. A name in code means that adding or removing a backend changes
that place as well, which docs/adding-a-backend.md promises it doesn't.
"""
import re
import sys

import tree

TOPS = ('proto', 'workers', 'daemon', 'client', 'config', 'models')

# What stands for a backend, or for whose libraries it calls; the folders of others have none of it.
NAMES = {
    'cpu': re.compile(r'dnnl', re.I),
    'cuda': re.compile(r'cuda|cudnn|cublas|nccl|nvml|nvidia|tf32', re.I),
    'mps': re.compile(r'(?<![a-z])mps(?![a-z])|metal', re.I),
    'xpu': re.compile(r'(?i:xpu|level_?zero|intel)|\bze[A-Z]|\bZE_'),
}

# Where one may stand all the same.
ALLOWED = {
    'workers/backend/registry.c': 'the list of backends',
    'proto/host/vendors.c': 'told by vrtctl where no daemon answers, and it has no backend',
    'proto/base/macro.h': 'the compiler of the kernels reads it as well',
    'workers/backend/kernels/language.h': 'what its languages have different words for',
    'workers/engine/checkpoint/pickle-globals.c': 'a module of PyTorch, in files that it wrote',
    'workers/frames/hwaccel/hwaccel.c': 'codecs of cards, by FFmpeg, which no backend knows',
    'workers/frames/process/os/sandbox-linux.c': 'nodes of cards that encode and decode',
    'client/commands/cmd_doctor.c': 'an example in --help',
    'client/commands/cmd_profile.c': 'an example in --help',
    'client/submit/cmd_submit.c': 'an example in --help',
}

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
FOLDER = re.compile(r'workers/backend/(\w+)/')


def without_comments(text):
    """The same lines, with blanks for comments."""
    return TOKEN.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r'[^\n]', ' ', m[0]), text)


def look_at(path, text):
    """The lines that have a name which isn't of the file's own backend: (number, name)."""
    own = FOLDER.match(path)
    for number, line in enumerate(without_comments(text).split('\n'), 1):
        for backend, names in NAMES.items():
            found = names.search(line)
            if found and not (own and own[1] == backend):
                yield number, found[0]


def main():
    root = sys.argv[1]
    problems, unused, n_files = [], dict(ALLOWED), 0
    for path, text in tree.sources(root, TOPS, ('.c', '.h')):
        found = list(look_at(path, text))
        n_files += 1
        if path in ALLOWED and found:
            unused.pop(path)
        elif path not in ALLOWED:
            problems += [f'{path}:{number}: "{word}" belongs into its backend'
                         for number, word in found]
    problems += [f'{path} names no vendor any more: take it off the list' for path in unused]
    return tree.report(problems, n_files, f'{n_files} files, {len(ALLOWED)} of which name a vendor')


if __name__ == '__main__':
    sys.exit(main())
