# SPDX-License-Identifier: MIT
"""Packages of PyPI's that a test needs, for the time of the test."""
import importlib.util
import subprocess
import sys


class Absent(Exception):
    """What the test needs isn't there."""


def call(why, *command):
    """Runs it. Without it there is no test: `why` says what is missed."""
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise Absent(f'{why}: {(done.stderr.strip() or "it failed").splitlines()[-1]}')


def install(folder, *packages):
    if not importlib.util.find_spec('pip'):
        raise Absent(f'{sys.executable} has no pip to fetch packages from PyPI by')
    call('PyPI gives no packages', sys.executable, '-m', 'pip', 'install', '--no-input', '-q',
         '--disable-pip-version-check', '--retries', '1', '--timeout', '30', '--no-deps',
         '--only-binary', ':all:', '--target', folder, *packages)
