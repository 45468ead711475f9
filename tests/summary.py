#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the test logs of check.sh's builds.

usage: summary.py FOLDER
       summary.py --failed NAME.json

FOLDER holds, for each build NAME, NAME.result ("ran 0", or what failed before any test ran) and
meson's NAME.json; NAME.again.json, if there, holds the failed tests' second try, alone: those that
pass it count as passed, and are named as unstable. A build that ran no test counts as one failure.
--failed prints the names of the tests that failed, a line each.
"""
import json
import os
import sys

OUTCOMES = {'OK': 'passed', 'EXPECTEDFAIL': 'passed', 'SKIP': 'skipped'}


def read_log(path):
    """The tests of a log of meson's: [(name, outcome, meson's own word)]."""
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        tests = [json.loads(line) for line in f]
    return [(t['name'].split(' / ')[-1], OUTCOMES.get(t['result'], 'failed'), t['result'])
            for t in tests]


def add_up(folder):
    total = {'passed': 0, 'failed': 0, 'skipped': 0}
    failures = []
    builds = sorted(n[:-len('.result')] for n in os.listdir(folder) if n.endswith('.result'))
    for build in builds:
        with open(os.path.join(folder, build + '.result'), encoding='utf-8') as f:
            result = f.read().strip()
        tests = read_log(os.path.join(folder, build + '.json'))
        again = {n for n, outcome, _ in read_log(os.path.join(folder, build + '.again.json'))
                 if outcome == 'passed'}
        n_failed = 0
        for name, outcome, word in tests:
            if outcome == 'failed':
                n_failed += 1
                if name in again:
                    print(f'unstable: {build}: {name}: {word}, then passed alone')
                    outcome = 'passed'
                else:
                    failures.append(f'{build}: {name}: {word}')
            total[outcome] += 1
        if not tests or (result != 'ran 0' and not n_failed):
            total['failed'] += 1
            failures.append(f'{build}: {result}, {len(tests)} tests')
    if not builds:
        total['failed'] += 1
        failures.append('nothing was built')
    return total, failures


def main():
    if sys.argv[1] == '--failed':
        print('\n'.join(n for n, outcome, _ in read_log(sys.argv[2]) if outcome == 'failed'))
        return 0
    total, failures = add_up(sys.argv[1])
    for failure in failures:
        print('failed:', failure)
    print(f'{total["passed"]} passed, {total["failed"]} failed, {total["skipped"]} skipped')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
