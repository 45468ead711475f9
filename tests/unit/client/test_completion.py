#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl's completions and manual: all know every command and option that the program has.

usage: test_completion.py VRTCTL SOURCE_ROOT [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from fake_vrtd import FakeVrtd, answer

VRTCTL, ROOT = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
SCRIPT = os.path.join(ROOT, 'client', 'vrtctl.bash')


def complete(line):
    """What Tab offers at the end of `line`, split as readline does."""
    words = re.findall(r'[:=]|[^\s:=]+', line) + ([''] if line.endswith(' ') else [])
    program = f'''
        compopt() {{ :; }}
        COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        source {SCRIPT}
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        COMP_LINE=$LINE COMP_POINT=${{#LINE}}
        _vrtctl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    '''
    done = subprocess.run(['bash', '-c', program, 'bash', *words], capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, LINE=line), check=False)
    assert done.stderr == '', done.stderr
    return set(done.stdout.split())


def help_of(*command):
    return subprocess.run([VRTCTL, *command, '--help'], capture_output=True, text=True, timeout=60,
                          check=True).stdout


def options_of(*command):
    return set(re.findall(r'--[a-z][a-z0-9-]+', help_of(*command)))


def words_of(command):
    """Those that its usage has in the place of operands."""
    operands = re.search(rf'"command":"{command}","operands":"([^"]*)"', help_of('--json'))
    return set(re.findall('[a-z]+', operands[1]))


COMMANDS = set(re.findall(r'^  ([a-z]+)  ', help_of(), re.MULTILINE))


class Case(unittest.TestCase):
    """A daemon that has something of everything, and a folder for films."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='vrtctl-')
        self.addCleanup(shutil.rmtree, self.folder)
        os.environ['XDG_STATE_HOME'] = self.folder
        self.server = server = FakeVrtd(self.folder, lambda r: answer({
            '/v1/jobs': {'jobs': [{'id': 7, 'state': 'queued'}, {'id': 71, 'state': 'paused'}]},
            '/v1/devices': {'devices': [{'name': 'cpu:0'}, {'name': 'cpu:1'}]},
            '/v1/models': {'models': [{'name': 'compact-x2'}]}}[r.path.partition('?')[0]]))
        self.addCleanup(server.close)
        self.start = f'{VRTCTL} --socket {server.path}'


class Completion(Case):
    def test_commands_and_options(self):
        self.assertGreaterEqual(len(COMMANDS), 10)
        self.assertEqual(complete('vrtctl '), COMMANDS)
        self.assertEqual(complete('vrtctl -'), options_of())
        self.assertIn('--socket', options_of())
        self.assertIn('"values":["', help_of('submit', '--json'))
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(complete(f'vrtctl {command} -'), options_of(command))
        self.assertEqual(complete('vrtctl submit --pre'), {'--precision', '--preset', '--preview'})

    def test_values(self):
        self.assertEqual(complete('vrtctl submit --codec '),
                         {'h264', 'hevc', 'ffv1', 'av1', 'vp9', 'prores', 'dnxhr', 'mjpeg', 'png',
                          'jpeg', 'tiff', 'webp', 'exr', 'gif', 'apng', 'auto'})
        self.assertEqual(complete('vrtctl submit --precision b'), {'bf16'})
        self.assertEqual(complete('vrtctl top --sort '), {'state', 'priority', 'progress'})
        self.assertEqual(complete('vrtctl list --sort p'), {'priority'})
        for option in re.findall(r'^  ... --([a-z-]+) [A-Z]', help_of('submit'), re.MULTILINE):
            with self.subTest(option=option):
                self.assertNotIn('--dry-run', complete(f'vrtctl submit --{option} -'))
        self.assertEqual(complete('vrtctl submit --tile '), set())

    def test_what_the_daemon_has(self):
        for command in ('show', 'watch', 'wait', 'pause', 'resume', 'retry', 'priority', 'cancel',
                        'logs'):
            self.assertEqual(complete(f'{self.start} {command} '), {'7', '71'})
            over = command in ('show', 'retry', 'logs')
            self.assertIn(f'active={str(not over).lower()}', self.server.requests[-1].path)
        self.assertEqual(complete(f'{self.start} show 3 71'), {'71'})
        for command in ('cluster', 'token'):
            self.assertEqual(complete(f'vrtctl {command} '), words_of(command))
        self.assertEqual(complete(f'{self.start} devices '), {'cpu:0', 'cpu:1'})
        self.assertEqual(complete(f'{self.start} submit --model c'), {'compact-x2'})
        self.assertLessEqual({'cpu:0', 'cpu:1', 'auto'}, complete(f'{self.start} submit -d '))
        self.assertEqual(complete(f'{self.start} submit -d cpu:'), {'0', '1', '-1'})
        self.assertEqual(complete(f'{self.start} submit -d cpu:0,cpu:'), {'0', '1', '-1'})
        self.assertEqual(complete(f'{self.start} submit -d cpu:0,al'), {'0,all'})

    def test_without_a_daemon(self):
        self.assertEqual(complete(f'{VRTCTL} --socket {self.folder}/none show '), set())


def make_film(folder):
    """A cluster's film, in an index of films below; the path of its result."""
    result, index = os.path.join(folder, 'a film.mkv'), os.path.join(folder, 'vrtd/films')
    os.mkdir(result + '.vrtd')
    os.makedirs(index)
    os.symlink(result + '.vrtd', os.path.join(index, 'vrtd:1.a'))
    with open(result + '.vrtd/slurm.json', 'w', encoding='utf-8') as f:
        json.dump({'tag': 'vrtd:1.a', 'input': '/in.mkv', 'output': result, 'nodes': 1}, f)
    return result


def offered(shell, program, line, *arguments):
    """What a shell prints that runs `program` with `line`, without what it says of each word."""
    done = subprocess.run([*shell, program, *arguments], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, LINE=line,
                                   PATH=os.path.dirname(VRTCTL) + ':' + os.environ['PATH']),
                          check=False)
    assert done.stderr == '', done.stderr
    return {word.split('\t')[0] for word in done.stdout.splitlines() if word}


def complete_fish(line):
    return offered(['fish', '--no-config', '-c'],
                   f'source {ROOT}/client/vrtctl.fish; complete -C $LINE', line)


def complete_zsh(line):
    """zsh's own part of it, which takes what begins as the word does, is left out, or done here."""
    program = f'''
        compadd() {{ shift; print -rl -- "$@" }}
        compset() {{ : }}
        _files() {{ print -rl -- *(N) }}
        _describe() {{ [[ $1 != -o ]] || shift; print -rl -- ${{${{(P)2}}/:/$'\t'}} }}
        words=(${{(z)LINE}}) CURRENT=$#words
        if [[ $LINE == *' ' ]]; then words+=(''); CURRENT=$#words; fi
        source {ROOT}/client/vrtctl.zsh
    '''
    word = '' if line.endswith(' ') else re.split('[ ,]', line)[-1]
    return {found for found in offered(['zsh', '-f', '-c'], program, line)
            if found.startswith(word)}


class Asking(Case):
    """Shells that ask vrtctl for all that it has."""

    def check(self, complete, list_before):
        commands = sorted(COMMANDS)
        self.assertEqual(complete('vrtctl '), COMMANDS)
        self.assertEqual(complete('vrtctl -'), options_of())
        for command in ('submit', 'doctor', 'list', 'version'):
            with self.subTest(command=command):
                self.assertEqual(complete(f'vrtctl {command} -'), options_of(command))
        self.assertEqual(complete('vrtctl submit --pre'), {'--precision', '--preset', '--preview'})
        self.assertEqual(complete('vrtctl submit --precision b'), {'bf16'})
        self.assertEqual(complete('vrtctl submit --codec mj'), {'mjpeg'})
        self.assertEqual(complete('vrtctl submit --tile '), set())
        self.assertIn(commands[0], complete('vrtctl help '))
        start = f'vrtctl --socket {self.server.path}'
        films = {make_film(self.folder)}
        for command in ('pause', 'show', 'watch', 'resume', 'retry'):
            # Behind the number of a job that is revived its input may be named.
            files = {name + end for name in os.listdir() for end in ('', '/')
                     if command in ('resume', 'retry')}
            self.assertEqual(complete(f'{start} {command} ') - files, {'7', '71'} | films)
            active = command not in ('show', 'retry')
            self.assertIn(f'active={str(active).lower()}', self.server.requests[-1].path)
        for command in ('cluster', 'token'):
            self.assertLessEqual(words_of(command), complete(f'vrtctl {command} '))
        self.assertEqual(complete(f'{start} submit --model compa'), {'compact-x2'})
        self.assertEqual(complete(f'{start} submit -d al,cpu:'),
                         {list_before + name for name in ('cpu:0', 'cpu:1', 'cpu:-1')})
        self.assertEqual(complete(f'vrtctl --socket {self.folder}/none show '), films)

    @unittest.skipUnless(shutil.which('fish'), 'fish is not installed')
    def test_fish(self):
        self.check(complete_fish, 'al,')

    @unittest.skipUnless(shutil.which('zsh'), 'zsh is not installed')
    def test_zsh(self):
        self.check(complete_zsh, '')


class Manual(unittest.TestCase):
    def test_everything_is_described(self):
        with open(os.path.join(ROOT, 'client', 'vrtctl.1.scd'), encoding='utf-8') as f:
            manual = f.read()
        for command in COMMANDS:
            self.assertRegex(manual, rf'\n\*{command}\*')
            for option in options_of(command):
                self.assertRegex(manual, rf'\n(\*-[a-z]\*, )?\*{option}\*')


if __name__ == '__main__':
    if not shutil.which('bash'):
        print('skipped: bash is not installed')
        sys.exit(77)
    unittest.main(verbosity=2)
