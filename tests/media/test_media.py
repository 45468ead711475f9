#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Videos of all kinds through a whole vrtd: what comes out is judged against what went in.

usage: test_media.py [--long] [NAME...]

Without --long, or VRTD_LONG, a fourth of the cases of which there are many alike. NAME is a part
of cases' names.
"""
import concurrent.futures
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading

import cases
import harness
import judge
import sei
from kit import CASES, MANY

LONG = '--long' in sys.argv or os.environ.get('VRTD_LONG', '') not in ('', '0')
NAMES = [a for a in sys.argv[1:] if not a.startswith('--')]
EVERY = 4

# Of each input.
LOCKS, LOCK = {}, threading.Lock()


def make(case, folder):
    """The input's path, in a folder of its own: several cases may have the same, and other runs,
    where VRT_KEPT says where they find it."""
    with open(sei.__file__, 'rb') as f:
        name = hashlib.sha256(repr(case['make']).encode() + f.read()).hexdigest()
    place = harness.CLIPS if os.environ.get('VRT_KEPT') else folder
    made = os.path.join(place, name)
    with LOCK:
        lock = LOCKS.setdefault(name, threading.Lock())
    with lock:
        if not os.path.exists(made):
            os.makedirs(place, exist_ok=True)
            begun = tempfile.mkdtemp(prefix='vrtd-media-', dir=place)
            for command in case['make']:
                subprocess.run(['bash', '-c', command], cwd=begun, check=True,
                               timeout=judge.PATIENCE_S, stdin=subprocess.DEVNULL)
            os.rename(begun, made)
    return os.path.join(made, case['input'])


def judge_words(case, warnings):
    """Complaints about what was said."""
    found = [f'nothing says "{part}": {warnings}' for part in case['warns']
             if not any(part in w for w in warnings)]
    if not case.get('any_warning'):
        found += [f'says "{w}"' for w in warnings if not any(p in w for p in case['warns'])]
    return found


def run(case, daemon, vrtctl):
    """Complaints about the case."""
    with tempfile.TemporaryDirectory(prefix='vrtd-media-', dir=daemon.folder) as folder:
        source, result = make(case, daemon.folder), os.path.join(folder, 'result' + case['output'])
        done = vrtctl('submit', '--follow', '--json', *case.get('arguments', ()), '-o', result,
                      source, status=None)
        if case['refused']:
            said = (done.stderr + done.stdout).replace('\\"', '"')
            return [] if done.returncode == 1 and case['refused'] in said \
                else [f'is not refused by "{case["refused"]}": {done.stdout}{done.stderr}']
        if done.returncode != 0:
            return [f'ends with {done.returncode}: {done.stdout}{done.stderr}']
        job = harness.json.loads(done.stdout.strip().splitlines()[-1])
        return judge_words(case, job['warnings']) + judge.judge(source, result, case)


def chosen():
    if NAMES:
        return [c for c in CASES if any(n in c['name'] for n in NAMES)]
    many = [c for c in CASES if c['group'] in MANY]
    return [c for c in CASES if LONG or c not in many or many.index(c) % EVERY == 0]


cases.fill()


class Media(harness.Case):
    def test_cases(self):
        def attempt(case):
            try:
                return case, run(case, self.daemon, self.vrtctl)
            except (subprocess.SubprocessError, ValueError, KeyError) as e:
                return case, [repr(e)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for case, complaints in pool.map(attempt, chosen()):
                with self.subTest(case['name']):
                    self.assertEqual(complaints, [])
        self.assertTrue(self.daemon.answers())
        print(f'{len(chosen())} of {len(CASES)} cases')


if __name__ == '__main__':
    if not shutil.which('ffmpeg'):
        print('skipped: the ffmpeg program is not installed')
        sys.exit(77)
    harness.unittest.main(argv=sys.argv[:1], verbosity=2)
