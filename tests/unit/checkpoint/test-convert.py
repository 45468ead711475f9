#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""models/convert.py: makes the fixture again, and runs nothing that a checkpoint holds.

usage: test-convert.py SOURCE_ROOT
"""
import os
import subprocess
import sys
import tempfile


def convert(root, name, output, folder):
    command = [sys.executable, os.path.join(root, 'models/convert.py'),
               os.path.join(root, 'tests/data/pth', name), output, 'format=pt',
               'made-by=convert.py']
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def main(root):
    with open(os.path.join(root, 'tests/data/pth/converted.safetensors'), 'rb') as f:
        wanted = f.read()
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, 'out.safetensors')
        for name in ('zip-bare.pth', 'zip-module-prefix.pth', 'deflated.pth'):
            done = convert(root, name, output, folder)
            assert done.returncode == 0, done.stderr
            with open(output, 'rb') as f:
                assert f.read() == wanted, f'{name} gave another file'
            os.unlink(output)
        for name, part in (('evil-reduce.pth', 'posix.system'), ('truncated.pth', 'zip'),
                           ('short-storage.pth', 'another size'), ('README.md', 'zip')):
            done = convert(root, name, output, folder)
            assert done.returncode == 1 and part in done.stderr, (name, done)
            assert 'Traceback' not in done.stderr, done.stderr
            assert os.listdir(folder) == [], os.listdir(folder)


if __name__ == '__main__':
    main(sys.argv[1])
