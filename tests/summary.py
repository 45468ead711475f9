#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the test logs of check.sh's builds.

usage: summary.py FOLDER

FOLDER holds, for each build NAME, NAME.result ("ran 0", or what failed before any test ran) and
meson's NAME.json. A build that ran no test counts as one failure.
"""
import json
import os
import sys

OUTCOMES = {'OK': 'passed', 'EXPECTEDFAIL': 'passed', 'SKIP': 'skipped'}


def add_up(folder):
    total = {'passed': 0, 'failed': 0, 'skipped': 0}
    failures = []
    builds = sorted(n[:-len('.result')] for n in os.listdir(folder) if n.endswith('.result'))
    for build in builds:
        with open(os.path.join(folder, build + '.result'), encoding='utf-8') as f:
            result = f.read().strip()
        log = os.path.join(folder, build + '.json')
        n_run = 0
        if os.path.exists(log):
            with open(log, encoding='utf-8') as f:
                for line in f:
                    test = json.loads(line)
                    outcome = OUTCOMES.get(test['result'], 'failed')
                    total[outcome] += 1
                    n_run += 1
                    if outcome == 'failed':
                        failures.append(f'{build}: {test["name"]}: {test["result"]}')
        if not n_run or (result != 'ran 0' and not any(f.startswith(build) for f in failures)):
            total['failed'] += 1
            failures.append(f'{build}: {result}, {n_run} tests')
    if not builds:
        total['failed'] += 1
        failures.append('nothing was built')
    return total, failures


def main():
    total, failures = add_up(sys.argv[1])
    for failure in failures:
        print('failed:', failure)
    print(f'{total["passed"]} passed, {total["failed"]} failed, {total["skipped"]} skipped')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
