#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom: fails where a file includes against the layers.

usage: includes.py SOURCE_ROOT

The folder is the layer. LAYERS names, for each, the layers whose headers it may include besides
its own; a vendor's header may appear in one folder only (VENDOR).
"""
import os
import re
import sys

ENGINE = {'base', 'backend', 'engine'}
LAYERS = {
    'base': set(),
    'proto': {'base'},
    'config': {'base', 'proto'},
    'backend': {'base'},
    'engine': {'base', 'backend'},
    'models': set(),
    'model': ENGINE | {'models'},
    'frames': {'base'},
    'workers': ENGINE | {'models', 'model', 'frames'},
    'daemon': ENGINE | {'models', 'model', 'frames', 'workers', 'proto', 'config'},
    'client': {'base', 'proto'},
}

# Longest prefix first.
FOLDERS = [('proto/base/', 'base'), ('proto/', 'proto'), ('workers/backend/', 'backend'),
           ('workers/engine/', 'engine'), ('workers/model/', 'model'),
           ('workers/frames/', 'frames'), ('workers/infer/', 'model'), ('workers/', 'workers'),
           ('daemon/', 'daemon'), ('client/', 'client'), ('config/', 'config'),
           ('models/', 'models')]

VENDOR = {
    r'uv\.h': ('daemon/', 'workers/mailbox'),
    r'llhttp\.h': ('daemon/',),
    r'jansson\.h': ('proto/', 'daemon/', 'client/'),
    r'curl/.*': ('client/', 'daemon/'),
    r'nettle/.*': ('daemon/',),
    r'ini\.h': ('config/',),
    r'sqlite3\.h': ('daemon/store',),
    r'libav.*|libsw.*': ('workers/frames/',),
    r'(oneapi/)?dnnl.*': ('workers/backend/cpu/',),
    r'(cuda|cublas|cudnn|nccl).*': ('workers/backend/cuda/',),
    r'level_zero/.*': ('workers/backend/xpu/',),
    r'zip\.h': ('workers/engine/checkpoint/',),
    r'systemd/.*': ('daemon/',),
}

SOURCES = ('.c', '.h', '.cu', '.cuh', '.cl', '.clh', '.m')

# The pure modules: no loop, no I/O.
PURE = ('daemon/job.', 'daemon/sched.', 'daemon/sched-', 'daemon/quota.', 'daemon/address.')

# The other vendors of the tree; each folder holds one, and none looks into another's.
BACKENDS = re.compile(r'^workers/backend/([a-z]+)/')


def layer_of(path):
    return next((layer for prefix, layer in FOLDERS if path.startswith(prefix)), None)


def resolve(root, name):
    for base in ('', 'proto/', 'workers/'):
        if os.path.isfile(os.path.join(root, base + name)):
            return base + name
    return None


def check(root, path, problems):
    layer = layer_of(path)
    with open(os.path.join(root, path), encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not m:
                continue
            where = f'{path}:{number}'
            name = m.group(2)
            if m.group(1) == '<':
                for pattern, allowed in VENDOR.items():
                    if re.fullmatch(pattern, name) and not path.startswith(allowed):
                        problems.append(f'{where}: <{name}> belongs to {" and ".join(allowed)}')
                if name == 'uv.h' and path.startswith(PURE):
                    problems.append(f'{where}: a pure module includes uv.h')
                continue
            target = resolve(root, name)
            if not target:
                continue            # made by the build
            other = layer_of(target)
            if other != layer and other not in LAYERS[layer]:
                problems.append(f'{where}: {layer} may not include {other} ("{name}")')
            mine, theirs = BACKENDS.match(path), BACKENDS.match(target)
            if theirs and (not mine or mine.group(1) != theirs.group(1)):
                if path != 'workers/backend/registry.c':
                    problems.append(f'{where}: "{name}" is private to its backend')


def main():
    root = sys.argv[1]
    problems, n_files = [], 0
    for top in ('proto', 'workers', 'daemon', 'client', 'config', 'models'):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(SOURCES) and layer_of(path):
                    check(root, path, problems)
                    n_files += 1
    print('\n'.join(problems) or f'{n_files} files include along the layers')
    return 1 if problems or not n_files else 0


if __name__ == '__main__':
    sys.exit(main())
