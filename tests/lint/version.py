#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""meson.build, debian/changelog and CHANGELOG.md name one version, the newest first.

usage: version.py SOURCE_ROOT
"""
import os
import re
import sys

PLACES = {
    'meson.build': r"^ *version: '([^']*)'",
    'debian/changelog': r'^vrtd \(([^)]*)\)',
    'CHANGELOG.md': r'^## (\S+)',
}


def main(root):
    versions = {}
    for path, pattern in PLACES.items():
        with open(os.path.join(root, path), encoding='utf-8') as f:
            found = re.search(pattern, f.read(), re.MULTILINE)
        versions[path] = found.group(1) if found else 'none'
    told = ', '.join(f'{path}: {version}' for path, version in versions.items())
    print(told)
    return 0 if len(set(versions.values())) == 1 and 'none' not in versions.values() else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
