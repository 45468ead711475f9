#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Says what is to be built for a build folder's tests of some suites, for ninja.

usage: targets.py BUILD SUITE...

That is what these need, and all that is installed.
"""
import json
import os
import subprocess
import sys


def introspect(what, build):
    return json.loads(subprocess.run(['meson', 'introspect', what, build], check=True,
                                     capture_output=True, text=True).stdout)


def main():
    build, *suites = sys.argv[1:]
    needed = set()
    for test in introspect('--tests', build):
        if not set(suites).isdisjoint(suite.split(':')[-1] for suite in test['suite']):
            needed.update(test['depends'])
    for target in introspect('--targets', build):
        if target['installed'] or target['id'] in needed:
            print('\n'.join(os.path.relpath(path, build) for path in target['filename']))


if __name__ == '__main__':
    main()
