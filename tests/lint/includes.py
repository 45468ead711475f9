#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom: fails where a file includes against the layers.

usage: includes.py SOURCE_ROOT

The folder is the layer. LAYERS names, for each, the layers whose headers it may include besides
its own; no two layers may include each other, by way of others neither. A vendor's header may
appear in one folder only (VENDOR).

Whatever the layers, no two files include each other, by way of others neither, and no two folders;
a folder holds at most FOLDER_FILES sources, a header at most HEADER_PROTOTYPES prototypes.
"""
import collections
import os
import re
import sys

import tree

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
    'web': {'access', 'http', 'store'},
    'uploads': {'access'},
    'log': set(),
    'remote': {'models'},
    'devices': {'sched', 'store'},
    'pipeline': {'devices', 'sched'},
    'jobs': {'access', 'devices', 'models', 'pipeline', 'remote', 'sched', 'store', 'systemd',
             'uploads'},
    'api': {'access', 'devices', 'http', 'jobs', 'models', 'pipeline', 'remote', 'uploads',
            'web'},
    'cluster': {'access', 'devices', 'jobs', 'models', 'pipeline', 'remote', 'sched', 'store',
                'systemd', 'uploads'},
    'service': {'access', 'api', 'cluster', 'devices', 'http', 'jobs', 'log', 'models', 'remote',
                'store', 'systemd', 'uploads', 'web'},
}

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
    r'nettle/.*': ('daemon/remote/', 'daemon/web/'),
    r'ini\.h': ('config/',),
    r'sqlite3\.h': ('daemon/store/',),
    r'libav.*|libsw.*': ('workers/frames/',),
    r'seccomp\.h|linux/landlock\.h': ('workers/frames/process/',),
    r'(oneapi/)?dnnl.*': ('workers/backend/cpu/',),
    r'(cuda|cublas|cudnn|nccl).*': ('workers/backend/cuda/',),
    r'level_zero/.*': ('workers/backend/xpu/',),
    r'zip\.h': ('workers/engine/checkpoint/',),
    r'protobuf-c/.*': ('workers/engine/dag/',),
    r'systemd/.*|launch\.h': ('daemon/systemd/',),
}

SOURCES = ('.c', '.h', '.cu', '.cuh', '.cl', '.clh', '.m', '.metal')
HEADERS = ('.h', '.cuh', '.clh')
PRODUCT = ('proto', 'workers', 'daemon', 'client', 'config', 'models')

FOLDER_FILES = 25           # scripts count as well
HEADER_PROTOTYPES = 20
PROTOTYPE = re.compile(r'^\w[^;{}()=#]*\bvrt_\w+\([^;{}]*\)[^;{}]*;', re.MULTILINE)
COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)

# Headers with more, and how many: none may grow, and one that needn't be here any more goes.
LARGE_HEADERS = {
    'workers/backend/backend.h': 31,
    'workers/backend/cuda/device.h': 29,
    'workers/backend/cuda/kernels/kernels.h': 36,
    'workers/backend/kernels/ops.h': 35,
    'workers/backend/mps/device.h': 23,
    'workers/backend/ref/ops.h': 33,
    'workers/backend/xpu/device.h': 28,
}

# It knows all backends, which all know the folder that it is in.
REGISTRY = 'workers/backend/registry.c'

# The pure modules: no loop, no I/O.
PURE = ('daemon/jobs/job.', 'daemon/access/turns.', 'daemon/sched/', 'daemon/access/quota.',
        'daemon/remote/address.')

# The other vendors of the tree; each folder but op/ and kernels/ holds one, and none looks into
# another's.
BACKENDS = re.compile(r'^workers/backend/(?!op/|kernels/)([a-z]+)/')


def layer_of(path):
    return next((layer for prefix, layer in FOLDERS if path.startswith(prefix)), None)


def resolve(root, path, name):
    for base in ('', 'proto/', 'workers/', os.path.dirname(path) + '/'):
        if os.path.isfile(os.path.join(root, base + name)):
            return base + name
    return None


def check(root, path, text, problems):
    """Returns the files that it includes."""
    layer = layer_of(path)
    targets = set()
    for number, line in enumerate(text.split('\n'), 1):
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
        target = resolve(root, path, name)
        if not target:
            continue            # made by the build
        targets.add(target)
        other = layer_of(target)
        if other != layer and other not in LAYERS[layer]:
            problems.append(f'{where}: {layer} may not include {other} ("{name}")')
        mine, theirs = BACKENDS.match(path), BACKENDS.match(target)
        if theirs and (not mine or mine.group(1) != theirs.group(1)):
            if path != REGISTRY:
                problems.append(f'{where}: "{name}" is private to its backend')
    return targets


def reach(layer):
    """All layers that it may include, by way of others too."""
    seen, ahead = set(), set(LAYERS[layer])
    while ahead:
        seen |= ahead
        ahead = set().union(*(LAYERS[other] for other in ahead)) - seen
    return seen


def check_layers(problems):
    for layer in LAYERS:
        if layer in reach(layer):
            problems.append(f'{layer} may include itself, by way of others')


def circle_of(graph):
    """Nodes that lead to each other, the first again at the end; none: there is no circle."""
    left = set(graph)
    while leaves := {node for node in left if not graph[node] & left}:
        left -= leaves
    if not left:
        return []
    path = [min(left)]
    while len(path) == len(set(path)):
        path.append(min(graph[path[-1]] & left))
    return path[path.index(path[-1]):]


def check_circles(included, problems):
    files = circle_of(included)
    if files:
        problems.append('a circle of files: ' + ' -> '.join(files))
    folders = collections.defaultdict(set)
    by = {}
    for path, targets in included.items():
        for target in targets if path != REGISTRY else ():
            mine, theirs = os.path.dirname(path), os.path.dirname(target)
            if mine != theirs:
                folders[mine].add(theirs)
                by[mine, theirs] = f'{path} -> {target}'
    circle = circle_of(folders)
    problems += [f'in a circle of folders: {by[hop]}' for hop in zip(circle, circle[1:])]


def check_header(path, text, problems):
    n = len(PROTOTYPE.findall(COMMENT.sub('', text)))
    known = LARGE_HEADERS.get(path, HEADER_PROTOTYPES)
    if n > known:
        problems.append(f'{path}: {n} prototypes, over {known}')
    elif path in LARGE_HEADERS and n < known:
        problems.append(f'{path}: {n} prototypes: say so in LARGE_HEADERS')


def check_folders(root, problems):
    for top in (*PRODUCT, 'tests'):
        for folder, _, names in os.walk(os.path.join(root, top)):
            n = sum(name.endswith((*SOURCES, '.cpp', '.py', '.sh')) for name in names)
            if n > FOLDER_FILES:
                problems.append(f'{os.path.relpath(folder, root)}: {n} files, over {FOLDER_FILES}')


def main():
    root = sys.argv[1]
    problems, included = [], {}
    check_layers(problems)
    check_folders(root, problems)
    for path, text in tree.sources(root, PRODUCT, SOURCES):
        if layer_of(path):
            included[path] = check(root, path, text, problems)
        if path.endswith(HEADERS):
            check_header(path, text, problems)
    check_circles(included, problems)
    problems += [f'LARGE_HEADERS: there is no {path}' for path in LARGE_HEADERS
                 if path not in included]
    return tree.report(problems, len(included), f'{len(included)} files include along the layers')


if __name__ == '__main__':
    sys.exit(main())
