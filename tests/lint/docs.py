#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the documentation names is there: fails where a page names a file or a function that isn't,
and where prose is wider than 100 columns (tables and code may be).

usage: docs.py SOURCE_ROOT

Looked at are the targets of links, and what stands in backticks: paths with a folder in them, of
which the tree has one that ends so; functions(), VRT_CONSTANTS, structs and enums. A word in
capitals, as in NAME.c, stands for several.
"""
import glob
import os
import re
import sys

FOLDERS = ('proto', 'workers', 'daemon', 'client', 'config', 'systemd', 'launchd', 'debian',
           'container', 'models', 'docs', 'tests')
MAX_COLUMNS = 100
SOURCES = ('.c', '.h', '.cu', '.cuh', '.cpp', '.cl', '.clh', '.metal', '.py')

PATH = re.compile(r'(?:[a-z0-9_.-]+/)+'
                  r'(?:[A-Za-z0-9_-]+\.(?:c|h|cl|clh|metal|cu|cuh|cpp|py|sh|md|json))?')
MANY = re.compile(r'[A-Z]{2,}')
NAME = re.compile(r'(?:struct |enum )(\w+)|(\w+)\(\)|(VRT_[A-Z0-9_]+)')


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def look_around(root):
    """The tree's paths, folders with a slash behind them, and all words of its sources."""
    paths, words = set(), set()
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            inside = '/' + os.path.relpath(folder, root) + '/'
            paths.add(inside)
            for file in files:
                paths.add(inside + file)
                if file.endswith(SOURCES):
                    words.update(re.findall(r'\w+', read(os.path.join(folder, file))))
    return paths, words


def check(root, page, paths, words):
    problems = []
    for number, line in enumerate(read(page).split('\n'), 1):
        where = f'{os.path.relpath(page, root)}:{number}'
        if len(line) > MAX_COLUMNS and not line.startswith(('|', '    ')):
            problems.append(f'{where}: {len(line)} columns, over {MAX_COLUMNS}')
        for target in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', line):
            if not os.path.exists(os.path.join(os.path.dirname(page), target)):
                problems.append(f'{where}: there is no {target} for the link')
        for code in re.findall(r'`([^`]+)`', line):
            if MANY.search(code) and not code.startswith('VRT_'):
                continue
            name = NAME.fullmatch(code)
            if name and not words.issuperset(filter(None, name.groups())):
                problems.append(f'{where}: nothing is called {code}')
            if PATH.fullmatch(code) and not code.startswith(('./', 'build')) and \
                    not any(path.endswith('/' + code) for path in paths):
                problems.append(f'{where}: there is no {code}')
    return problems


def main():
    root = sys.argv[1]
    pages = [page for pattern in ('*.md', 'docs/*.md', 'models/*.md')
             for page in sorted(glob.glob(os.path.join(root, pattern)))]
    paths, words = look_around(root)
    problems = [problem for page in pages for problem in check(root, page, paths, words)]
    print('\n'.join(problems) or f'{len(pages)} pages name what is there')
    return 1 if problems or not pages or not words else 0


if __name__ == '__main__':
    sys.exit(main())
