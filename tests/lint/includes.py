#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom: fails where a file includes against the layers.

usage: includes.py SOURCE_ROOT

The folder is the layer. LAYERS names, for each, the layers whose headers it may include besides
its own; no two layers may include each other, by way of others neither. A vendor's header may
appear in one folder only (VENDOR). A room, a layer with a slash in its
name, holds at most ROOM_FILES files.
"""
import os
import re
import sys

ENGINE = {'base', 'backend', 'engine'}
PLAN = ENGINE | {'models', 'model', 'frames', 'workers'}
DAEMON = PLAN | {'workers/plan', 'workers/device', 'workers/media', 'proto', 'config'}

# The rooms of the daemon: which others each may look into.
ROOMS = {
    'access': set(),
    'sched': set(),
    'systemd': set(),
    'store': set(),
    'models': set(),
    'http': {'access'},
    'remote': {'models'},
    'devices': {'sched', 'store'},
    'pipeline': {'devices', 'sched'},
    'jobs': {'access', 'devices', 'models', 'pipeline', 'remote', 'sched', 'store', 'systemd'},
    'api': {'access', 'devices', 'http', 'jobs', 'models', 'pipeline', 'remote'},
    'service': {'access', 'api', 'devices', 'http', 'jobs', 'models', 'remote', 'store', 'systemd'},
}
ROOM_FILES = 25

LAYERS = {
    'base': set(),
    'proto': {'base'},
    'config': {'base', 'proto'},
    'backend': {'base'},
    'engine': {'base', 'backend'},
    'models': set(),
    'model': ENGINE | {'models'},
    'frames': {'base'},
    'workers': {'base'},
    'workers/plan': PLAN,
    'workers/device': PLAN | {'workers/plan'},
    'workers/media': PLAN | {'workers/plan', 'workers/device'},
    'daemon': DAEMON | {'daemon/' + room for room in ROOMS},
    'client': {'base', 'proto'},
} | {'daemon/' + room: DAEMON | {'daemon/' + other for other in others}
     for room, others in ROOMS.items()}

# Longest prefix first.
FOLDERS = [(f'daemon/{room}/', f'daemon/{room}') for room in ROOMS] + [
           ('proto/base/', 'base'), ('proto/', 'proto'), ('workers/backend/', 'backend'),
           ('workers/engine/', 'engine'), ('workers/model/', 'model'),
           ('workers/frames/', 'frames'), ('workers/infer/', 'model'),
           ('workers/plan/', 'workers/plan'),
           ('workers/device/', 'workers/device'), ('workers/media/', 'workers/media'),
           ('workers/', 'workers'),
           ('daemon/', 'daemon'), ('client/', 'client'), ('config/', 'config'),
           ('models/', 'models')]

VENDOR = {
    r'uv\.h': ('daemon/', 'workers/mailbox'),
    r'llhttp\.h': ('daemon/http/',),
    r'jansson\.h': ('proto/', 'daemon/', 'client/'),
    r'curl/.*': ('client/', 'daemon/remote/', 'daemon/service/'),
    r'nettle/.*': ('daemon/remote/',),
    r'ini\.h': ('config/',),
    r'sqlite3\.h': ('daemon/store/',),
    r'libav.*|libsw.*': ('workers/frames/',),
    r'(oneapi/)?dnnl.*': ('workers/backend/cpu/',),
    r'(cuda|cublas|cudnn|nccl).*': ('workers/backend/cuda/',),
    r'level_zero/.*': ('workers/backend/xpu/',),
    r'zip\.h': ('workers/engine/checkpoint/',),
    r'systemd/.*': ('daemon/systemd/',),
}

SOURCES = ('.c', '.h', '.cu', '.cuh', '.cl', '.clh', '.m')

# The pure modules: no loop, no I/O.
PURE = ('daemon/jobs/job.', 'daemon/sched/', 'daemon/access/quota.', 'daemon/remote/address.')

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


def reach(layer):
    """All layers that it may include, by way of others too."""
    seen, ahead = set(), set(LAYERS[layer])
    while ahead:
        seen |= ahead
        ahead = set().union(*(LAYERS[other] for other in ahead)) - seen
    return seen


def check_rooms(root, problems):
    for layer in LAYERS:
        if layer in reach(layer):
            problems.append(f'{layer} may include itself, by way of others')
    for prefix, layer in FOLDERS:
        n = sum(name.endswith(SOURCES) for name in os.listdir(os.path.join(root, prefix)))
        if '/' in layer and n > ROOM_FILES:
            problems.append(f'{prefix}: {n} files, over {ROOM_FILES}')


def main():
    root = sys.argv[1]
    problems, n_files = [], 0
    check_rooms(root, problems)
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
