#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice plausible mistakes? Makes them, one at a time, in a copy of the tree.

usage: mutate.py [--seed N] [--count N] [--minutes M] [--limit S] [--suites NAMES] [--copies N]
                 [--again] [--sanitize] [--report] [FILE-PATTERN...]

  --seed N      which mistakes are taken (default 1)
  --count N     how many (default 50)
  --minutes M   stop after so long; the same command goes on from there
  --limit S     a mistake's tests are stopped after S seconds (default 180)
  --suites A,B  only tests of these suites (default: all that need no simulated card)
  --copies N    so many copies of the tree, in each of which a mistake is tried (default 2)
  --again       try those anew that survived or were uncovered, with the tests as they are now
  --sanitize    try them in a build with check.sh's sanitizers: --again --sanitize --limit 1200
                says which of those that survived check.sh notices
  --report      only print what was found so far with this seed

FILE-PATTERN is for example 'daemon/jobs/*.c'; without one all of daemon/, workers/, proto/ and
client/ are meant, but the kernels, which conformance holds bit by bit. The first run builds the
copies and a further one, in which it runs each test once to learn which lines it passes (clang's
coverage, half an hour on two cores, resumable); --count 0 does only that, and without
build-mutate/map.jsonl it is done anew.
All is kept in build-mutate/. Of a mistake the tests that pass its line run, those named alike and
the quickest first, until one fails, and does so twice. Printed is what became of it: killed (by
which test), hung (a test outlasted five times its time), survived, uncovered (no test passes the
line); and, not counted, same (the compiler makes the same programs of it), broken (it doesn't
compile). What makes no difference stands in equivalent.txt, with the reason.
"""
import argparse
import concurrent.futures
import fnmatch
import functools
import glob
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from mutants import Source

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(TOP, 'build-mutate')
TREE = os.path.join(WORK, 'tree')
# As in check.sh: whole programs wait for time to pass and compute for a third of it.
JOBS = 2 * len(os.sched_getaffinity(0))
COPIES = 2                      # while one is built, tests of the other wait for time to pass

SUITES = 'unit,unit-slow,client,flow,conformance,fuzz,e2e,e2e-twice,fault'
PRODUCT = 'daemon', 'workers', 'proto', 'client'
KERNELS = ['workers/backend/*']
QUICK = 2.0                     # seconds: of the tests below so many run, and all the others
QUICK_MAX = 30

OPTIONS = ['-Dcuda=disabled', '-Dsimulated_cuda=disabled', '-Dsimulated_mps=disabled',
           '-Dxpu=disabled', '-Dsimulated_xpu=disabled', '-Ddebug=false', '-Doptimization=1']
SANITIZED = ['-Db_sanitize=address,undefined', '-Db_lundef=false']
LINKER = {'CC_LD': 'lld'} if shutil.which('ld.lld') else {}     # quick: each mistake is linked
SLOWER = 4                      # times as long as without sanitizers
COVERAGE = ['-fprofile-instr-generate', '-fcoverage-mapping', '-mllvm',
            '-runtime-counter-relocation']


def copy_tree(tree):
    """Brings a copy up to date; what has not changed keeps its time."""
    os.makedirs(tree, exist_ok=True)
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=TOP,
                           text=True, check=True, capture_output=True).stdout.split('\0')
    names = {n for n in names if n and os.path.exists(os.path.join(TOP, n))}
    for name in names:
        source, target = os.path.join(TOP, name), os.path.join(tree, name)
        if not (os.path.exists(target) and open(source, 'rb').read() == open(target, 'rb').read()):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target)
    for folder, folders, files in os.walk(tree):
        folders[:] = [f for f in folders if not f.startswith('build-')]
        for file in files:
            path = os.path.join(folder, file)
            if os.path.relpath(path, tree) not in names:
                os.unlink(path)


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_what_is_left(folder):
    """Daemons of a test that was killed, which have sessions of their own: by their TMPDIR."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                if f'TMPDIR={folder}'.encode() in f.read().split(b'\0'):
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass


class Build:
    def __init__(self, name, cc, suites, tree=TREE, flags=(), options=()):
        # Where builds usually are: what is logged names sources by their place.
        self.folder, self.running = os.path.join(tree, 'build-' + name), set()
        self.is_stopped = False
        if not os.path.exists(os.path.join(self.folder, 'build.ninja')):
            subprocess.run(['meson', 'setup', self.folder, tree, *OPTIONS, *options,
                            '-Dc_args=' + ' '.join(flags), '-Dc_link_args=' + ' '.join(flags)],
                           check=True, env=dict(os.environ, CC=cc, **LINKER),
                           stdout=subprocess.DEVNULL)
        assert self.ninja('all', 'meson-test-prereq'), f'{self.folder} does not build: see ninja'
        files = {t['id']: t['filename'] for t in self.introspect('--targets')}
        self.tests = {}
        for test in self.introspect('--tests'):
            if suites & {s.split(':')[-1] for s in test['suite']}:
                test['files'] = [os.path.relpath(f, self.folder) for d in test['depends']
                                 for f in files[d]]
                self.tests[test['name']] = test

    def introspect(self, what):
        return json.loads(subprocess.run(['meson', 'introspect', self.folder, what], check=True,
                                         capture_output=True, text=True).stdout)

    def ninja(self, *targets):
        return subprocess.run(['ninja', '-C', self.folder, *targets],
                              capture_output=True).returncode == 0

    def stop(self):
        """Of what runs nothing is to be believed from now on, and no more does."""
        self.is_stopped = True
        for process in list(self.running):
            kill(process)

    def run(self, name, limit, more=None):
        """Return: (exit status; None: it took longer than `limit` seconds; seconds)."""
        if self.is_stopped:
            return 0, 0
        test, started = self.tests[name], time.monotonic()
        folder = tempfile.mkdtemp(prefix='vrt-')
        os.chmod(folder, 0o711)     # for tests that become other users
        environment = dict(os.environ, **test['env'], **(more or {}), TMPDIR=folder)
        process = subprocess.Popen(test['cmd'], env=environment, cwd=test['workdir'] or self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        self.running.add(process)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            self.running.discard(process)
            kill(process)
            process.wait()
            kill_what_is_left(folder)
            shutil.rmtree(folder, ignore_errors=True)
        return status, time.monotonic() - started


@functools.cache
def behind_assertions(file):
    """[(first line of an assertion, the line behind it)]: llvm-cov says that wasn't passed."""
    found, first = [], None
    with open(os.path.join(TREE, file), encoding='utf-8') as f:
        for n, line in enumerate(f, 1):
            first = first or (n if re.match(r'\s+vrt_assert', line) else None)
            if first and line.rstrip().endswith(';'):
                found.append((first, n + 1))
                first = None
    return found


def lines_passed(build, name, profiles):
    """Which lines of the tree a test passed: {file: [[passed], [not passed]]}."""
    raw, merged = glob.glob(os.path.join(profiles, '*')), os.path.join(profiles, 'merged')
    if not raw or subprocess.run(['llvm-profdata', 'merge', '-sparse', '-failure-mode=all', *raw,
                                  '-o', merged], capture_output=True).returncode:
        return {}
    programs = [os.path.join(build.folder, f) for f in build.tests[name]['files']]
    programs += glob.glob(os.path.join(build.folder, 'workers', 'frames', '**', 'vrt-media'),
                          recursive=True)
    programs = [p for p in programs if os.access(p, os.X_OK) and os.path.isfile(p)]
    if not programs:
        return {}
    objects = [word for p in programs[1:] for word in ('-object', p)]
    told = subprocess.run(['llvm-cov', 'export', '-format=lcov', '-instr-profile', merged,
                           programs[0], *objects], capture_output=True, text=True).stdout
    found, lines = {}, None
    for line in told.splitlines():
        if line.startswith('SF:'):
            lines = found.setdefault(os.path.relpath(line[3:], TREE), [[], []])
        elif line.startswith('DA:'):
            number, count = map(int, line[3:].split(',')[:2])
            lines[0 if count else 1].append(number)
    found = {f: v for f, v in found.items() if not f.startswith('..')}
    for file, (passed, missed) in found.items():
        for first, n in behind_assertions(file) if file.endswith('.c') else ():
            if first in passed and n in missed:
                missed.remove(n)
                passed.append(n)
    return found


def read_lines(name):
    path = os.path.join(WORK, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def make_map(suites):
    """Runs each test once that didn't yet. Return: {test: (seconds, lines as lines_passed())} of
    those that pass."""
    build = Build('cover', 'clang', suites, flags=COVERAGE)
    told = {name: (seconds, lines) for name, seconds, lines in read_lines('map.jsonl')}

    def learn(name):
        with tempfile.TemporaryDirectory(prefix='vrt-profile-') as folder:
            os.chmod(folder, 0o777)     # for tests that become other users
            profile = os.path.join(folder, '%c%m.profraw')
            status, seconds = build.run(name, 1200, {'LLVM_PROFILE_FILE': profile})
            lines = lines_passed(build, name, folder) if status in (0, 77) else None
        told[name] = seconds, lines
        found = 'not used' if lines is None else f'{len(lines)} files'
        print(f'map: {name}: {seconds:.1f} s, {found}', flush=True)
        return json.dumps([name, seconds, lines]) + '\n'

    new = [name for name in build.tests if name not in told]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool, \
            open(os.path.join(WORK, 'map.jsonl'), 'a', encoding='utf-8') as f:
        for line in pool.map(learn, new):
            f.write(line)
            f.flush()
    return {name: told[name] for name in build.tests if told[name][1] is not None}


def choose(told, patterns, seed, count):
    """A seeded choice of mistakes, spread evenly over the lines that compilers know of."""
    with open(os.path.join(HERE, 'equivalent.txt'), encoding='utf-8') as f:
        equivalent = {line.rsplit(' -- ', 1)[0] for line in f}
    lines = {(file, n) for _, t in told.values() for file, sides in t.items()
             for side in sides for n in side
             if file.endswith('.c') and file.split('/')[0] in PRODUCT
             and (any(fnmatch.fnmatch(file, p) for p in patterns) if patterns
                  else not any(fnmatch.fnmatch(file, p) for p in KERNELS))}
    lines, sources, chosen = sorted(lines), {}, []
    dice = random.Random(seed)
    dice.shuffle(lines)
    for file, number in lines:
        if len(chosen) == count:
            break
        if file not in sources:
            with open(os.path.join(TREE, file), encoding='utf-8') as f:
                sources[file] = Source(file, f.read())
        possible = [m for m in sources[file].mutants(number) if m.key() not in equivalent]
        if possible:
            chosen.append(dice.choice(possible))
    return chosen


class Mill:
    """The plain build of a copy, which gets one mistake after the other."""

    def __init__(self, told, arguments, tree):
        self.told, self.limit, self.tree = told, arguments.limit, tree
        self.jobs = max(JOBS // arguments.copies + 1, 2)
        self.slower = SLOWER if arguments.sanitize else 1
        copy_tree(tree)
        self.build = Build('sanitized', 'clang', arguments.suites, tree, options=SANITIZED) \
            if arguments.sanitize else Build('plain', 'gcc', arguments.suites, tree)
        self.sound = {f: self.digest(f) for t in self.build.tests.values() for f in t['files']}

    def digest(self, file):
        with open(os.path.join(self.build.folder, file), 'rb') as f:
            return hashlib.sha256(f.read()).digest()

    def tests_for(self, mutant):
        names = [n for n, (_, lines) in self.told.items() if n in self.build.tests
                 and mutant.line in lines.get(mutant.source.name, [[]])[0]]
        words = set(re.findall('[a-z]{4,}', mutant.source.name))
        names.sort(key=lambda n: (words.isdisjoint(re.findall('[a-z]+', n)), self.told[n][0]))
        quick = [n for n in names if self.told[n][0] < QUICK]
        return [n for n in names if n not in quick[QUICK_MAX:]]

    def confirm(self, name, patience):
        """Runs a test once more: what passes now failed by chance."""
        status, _ = self.build.run(name, patience)
        return {None: ('hung', name), 0: ('survived', ''), 77: ('survived', '')}.get(
            status, ('killed', name))

    def noticed(self, names):
        """What the tests say: ('killed' or 'hung', by which), or ('survived', '')."""
        end, verdict = time.monotonic() + self.limit, ['survived', '']

        def try_one(name):
            left = end - time.monotonic()
            if verdict[0] != 'survived' or left <= 0:
                return
            patience = self.slower * (30 + 5 * self.told[name][0])
            status, _ = self.build.run(name, min(patience, left + 30))
            if status is None and patience <= left + 30 or status not in (None, 0, 77):
                with one:
                    if verdict[0] == 'survived':
                        verdict[:] = self.confirm(name, patience)
                if verdict[0] != 'survived':
                    for process in list(self.build.running):
                        kill(process)

        one = threading.Lock()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(try_one, names))
        return verdict

    def try_mutant(self, mutant):
        names, path = self.tests_for(mutant), os.path.join(self.tree, mutant.source.name)
        if not names:
            return ['uncovered', '']
        files = {f for n in names for f in self.build.tests[n]['files']}
        try:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(mutant.apply())
            if not self.build.ninja(*files):
                return ['broken', '']
            if all(self.digest(f) == self.sound[f] for f in files):
                return ['same', '']
            return self.noticed(names)
        finally:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(mutant.source.text)


def report(results):
    counts = {}
    for _, verdict, _ in results:
        counts[verdict] = counts.get(verdict, 0) + 1
    noticed = counts.get('killed', 0) + counts.get('hung', 0)
    counted = noticed + counts.get('survived', 0) + counts.get('uncovered', 0)
    print(', '.join(f'{n} {verdict}' for verdict, n in sorted(counts.items())))
    if counted:
        print(f'noticed: {noticed} of {counted} ({100 * noticed / counted:.0f} %)')


def work(arguments, told, found):
    """Tries what was not tried yet; found: {key: (verdict, by)}."""
    mutants = choose(told, arguments.patterns, arguments.seed, arguments.count)
    again = ('survived', 'uncovered') if arguments.again else ()
    todo = [m for m in mutants if m.key() not in found or found[m.key()][0] in again]
    end = time.monotonic() + (arguments.minutes or 1e6) * 60
    n_mills = min(arguments.copies, len(todo)) if not arguments.report else 0
    mills = [Mill(told, arguments, TREE + (f'-{i}' if i else '')) for i in range(n_mills)]
    left, one = iter(todo), threading.Lock()

    def turn(mill):
        while time.monotonic() < end:
            with one:
                mutant = next(left, None)
            if not mutant:
                break
            started = time.monotonic()
            verdict = mill.try_mutant(mutant)
            if mill.build.is_stopped:
                break
            with one:
                found[mutant.key()] = verdict
                log.write(json.dumps([mutant.key(), *verdict]) + '\n')
                log.flush()
                print(f'{verdict[0]:9} {mutant.source.name}:{mutant.line}: {mutant.kind}: '
                      f'{mutant.changed()}  [{verdict[1]} {time.monotonic() - started:.0f} s]',
                      flush=True)

    with open(os.path.join(WORK, 'found.jsonl'), 'a', encoding='utf-8') as log, \
            concurrent.futures.ThreadPoolExecutor(max(n_mills, 1)) as pool:
        try:
            list(pool.map(turn, mills))
        except KeyboardInterrupt:
            for mill in mills:
                mill.build.stop()
            raise
    return [(m, *found[m.key()]) for m in mutants if m.key() in found]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=50)
    parser.add_argument('--minutes', type=float)
    parser.add_argument('--suites', type=lambda s: set(s.split(',')), default=SUITES)
    parser.add_argument('--limit', type=float, default=180)
    parser.add_argument('--copies', type=int, default=COPIES)
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--sanitize', action='store_true')
    parser.add_argument('--report', action='store_true')
    parser.add_argument('patterns', nargs='*')
    arguments = parser.parse_args()
    # In the background it is ignored, by what is started too, and tests end programs by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if arguments.sanitize:      # as in check.sh
        os.environ['ASAN_OPTIONS'] = 'detect_leaks=1:strict_string_checks=1'
        os.environ['UBSAN_OPTIONS'] = 'halt_on_error=1'
    # Of programs that run while others are built nothing is kept.
    os.environ['LLVM_PROFILE_FILE'] = os.devnull
    copy_tree(TREE)
    told = make_map(arguments.suites)
    found = {key: verdict for key, *verdict in read_lines('found.jsonl')}
    results = work(arguments, told, found)
    for mutant, verdict, _ in results:
        if verdict in ('survived', 'uncovered'):
            print(f'{verdict}: {mutant.source.name}:{mutant.line}: {mutant.kind}:\n'
                  f'    {mutant.source.lines[mutant.line - 1].strip()}\n    {mutant.changed()}')
    report(results)


if __name__ == '__main__':
    sys.exit(main())
