#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a reviewer should not have to say: fails where the code breaks CONTRIBUTING.md's shape.

usage: style.py SOURCE_ROOT
"""
import os
import re
import sys

import tree

TOPS = ('proto', 'workers', 'daemon', 'client', 'config', 'models', 'tests')
C = ('.c', '.h', '.cpp', '.cu', '.cuh')
MAX_COLUMNS, MAX_LINES = 100, 600

# A .c file that is shorter needs no head, nor one whose header has it.
MIN_LINES_HEAD = 60
SYSTEMS = re.compile(r'-(?:linux|bsd|glibc|none)$')
BEFORE_HEAD = re.compile(r'#pragma once|#include|#define|\s*$')

# What may not stand in C code, where it may all the same, and what to do instead.
FORBIDDEN = [
    (r'\b(?:TODO|FIXME|XXX|HACK)\b', (), 'unfinished work goes into the issue tracker'),
    (r'\b(?:strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof)\s*\(', (), 'unbounded, unchecked'),
    (r'\b(?:exit|_exit|abort)\s*\(', ('main.c', 'error.c', 'zygote-linux.c', 'tests/'),
     'main.c alone may end'),
    (r'\bfork\s*\(', ('zygote-linux.c', 'tests/'), 'no fork in a process that may hold a driver'),
    (r'^\s*typedef\s+(?:struct|enum|union)\b', ('tests/',), 'structs and enums keep their tag'),
    (r'\t', (), 'a tab'),
    (r'[ \t]+$', (), 'trailing space'),
]

# A function of the daemon or its workers that anybody may call, and its body.
PUBLIC = re.compile(r'^(?!static)[a-z][^;{}#]*?\b(vrt_\w+)\([^;{}]*\)\n\{\n(.*?)^\}',
                    re.MULTILINE | re.DOTALL)

# Rooms whose headers say at their head on which thread they are used, and how they say it.
THREADED = ('daemon/', 'workers/device/', 'workers/media/', 'workers/plan/')
THREAD = re.compile(r'\bThread: |\bPure\b')

# It ends what lives on the loop, or begins it: by a handle, or by a thread that answers there.
LOOP_END = re.compile(r'_stop$')
LOOP_BEGIN = re.compile(r'\b(?:uv_(?!loop_)\w+_init|vrt_mailbox_new)\(')


# What a file's lines of the log are under, and the file with the table of all such words.
TOPIC = re.compile(r'^#define VRT_LOG_TOPIC "([^"]+)"', re.MULTILINE)
TOPICS = 'proto/base/log.c'


def check_topic(path, text, topics, problems):
    for topic in TOPIC.findall(text):
        if topic not in topics and f'/backend/{topic}/' not in path:
            problems.append(f'{path}: the topic {topic} isn\'t in the table of {TOPICS}')


def check_text(path, lines, problems):
    if len(lines) > MAX_LINES:
        problems.append(f'{path}: {len(lines)} lines, over {MAX_LINES}: find the missing concept')
    if not any('SPDX-License-Identifier: MIT' in line for line in lines[:2]):
        problems.append(f'{path}:1: no SPDX line')
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            problems.append(f'{path}:{number}: {len(line)} columns, over {MAX_COLUMNS}')


def check_c(path, lines, problems):
    if path.endswith(('.h', '.cuh')) and '#pragma once' not in lines[:6]:
        problems.append(f'{path}: no #pragma once at its head')
    for number, line in enumerate(lines, 1):
        for pattern, allowed, why in FORBIDDEN:
            if re.search(pattern, line) and not any(a in path for a in allowed):
                problems.append(f'{path}:{number}: {why}: {line.strip()[:60]}')


def has_head(path):
    """Whether the first thing in a file, but for what the preprocessor reads, is a comment."""
    if not os.path.exists(path):
        return False
    with open(path, encoding='utf-8') as f:
        lines = f.read().split('\n')[1:]
    first = next((line for line in lines if not BEFORE_HEAD.match(line)), '')
    return first.startswith(('/*', '//'))


def check_head(root, path, lines, problems):
    """Files of the product say at their head what they are for."""
    stem, ending = os.path.splitext(os.path.join(root, path))
    if ending == '.c' and (len(lines) < MIN_LINES_HEAD or has_head(stem + '.h') or
                           has_head(SYSTEMS.sub('', stem) + '.h')):
        return
    if not has_head(stem + ending):
        problems.append(f'{path}:2: no comment that says what the file is for')


def check_threads(path, text, problems):
    if path.endswith('.h'):
        if path.startswith(THREADED) and not THREAD.search(text.partition('#include')[0]):
            problems.append(f'{path}:4: its head names no thread (Thread: ...), nor is it Pure')
        return
    for name, body in PUBLIC.findall(text):
        if 'vrt_assert_thread(' not in body and (LOOP_END.search(name) or LOOP_BEGIN.search(body)):
            problems.append(f'{path}: {name}() does not say that it is the loop\'s')


def main():
    root = sys.argv[1]
    problems, n_files = [], 0
    with open(os.path.join(root, TOPICS), encoding='utf-8') as f:
        table = f.read().partition('*topics[VRT_LOG_TOPICS_MAX + 1] = {')[2].partition('}')[0]
    topics = set(re.findall('"([^"]+)"', table))
    for path, text in tree.sources(root, TOPS, (*C, '.py', '.sh')):
        lines = text.split('\n')
        check_text(path, lines, problems)
        if path.endswith(C):
            check_c(path, lines, problems)
            if not path.startswith('tests/'):
                check_head(root, path, lines, problems)
        if not path.startswith('tests/'):
            check_topic(path, text, topics, problems)
        if path.startswith(('daemon/', 'workers/')) and path.endswith(('.c', '.h')):
            check_threads(path, text, problems)
        n_files += 1
    return tree.report(problems, n_files, f'{n_files} files keep the style')


if __name__ == '__main__':
    sys.exit(main())
