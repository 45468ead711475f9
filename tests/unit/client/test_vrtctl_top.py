#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl top on a terminal of the test's own, against a server that answers as a daemon would.

usage: test_vrtctl_top.py VRTCTL [unittest arguments]
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

from fake_vrtd import STREAM, answer, event, refusal
from vrtctl_case import CUDA, DEVICE, PATIENCE_S, Case, job

ENTER, LEAVE = '\x1b[?1049h', '\x1b[?1049l'
UP, DOWN, PAGE_UP, PAGE_DOWN = b'\x1b[A', b'\x1b[B', b'\x1b[5~', b'\x1b[6~'


class Terminal:
    """A program on a terminal, whose screen can be looked at."""

    def __init__(self, case, command, columns=80, rows=24, locale='C.UTF-8'):
        try:
            self.main, self.side = pty.openpty()
        except OSError as e:            # a bare container
            case.skipTest(str(e))
        self.case, self.output = case, ''
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.side)
        environment = dict(os.environ, TERM='xterm', LC_ALL=locale)
        self.process = subprocess.Popen(command, stdin=self.side, stdout=self.side,
                                        stderr=subprocess.PIPE, env=environment, text=True)
        case.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.main)
        os.close(self.side)

    def resize(self, columns, rows):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.main, keys)

    def pump(self):
        if select.select([self.main], [], [], 0.05)[0]:
            self.output += os.read(self.main, 65536).decode(errors='replace')

    def frame(self):
        """What was drawn last, as far as it was drawn to its end."""
        return self.output.rpartition('\x1b[J')[0].rpartition('\x1b[H')[2]

    def lines(self):
        """What the screen shows, without attributes."""
        last = self.frame()
        return [re.sub('\x1b\\[[0-9;?]*[a-zA-Z]', '', line).rstrip() for line in
                last.split('\r\n')]

    def selected(self):
        """The line of the job that is selected; the foot is inverse, too."""
        found = re.findall('\x1b\\[7m(.*?)\x1b\\[m', self.frame())
        return found[0] if len(found) == 2 else ''

    def wait(self, is_there):
        """Until the screen is as it should be."""
        end = time.monotonic() + PATIENCE_S
        while not is_there():
            self.pump()
            if time.monotonic() > end:
                self.case.fail('\n'.join(self.lines()))
            if self.process.poll() is not None:
                self.pump()
                self.case.fail(self.process.stderr.read())

    def wait_for(self, text):
        self.wait(lambda: text in '\n'.join(self.lines()))

    def end(self):
        """It ends, and leaves the terminal as it was. Return: exit status, standard error."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.pump()
        self.pump()
        self.case.assertEqual(self.output.count(ENTER), self.output.count(LEAVE))
        self.case.assertTrue(self.output.endswith('\x1b[?25h' + LEAVE), repr(self.output[-80:]))
        self.case.assertEqual(termios.tcgetattr(self.side), self.before)
        return self.process.wait(PATIENCE_S), self.process.stderr.read()

    def quit(self):
        self.type(b'q')
        self.case.assertEqual(self.end(), (0, ''))


class TopCase(Case):
    def setUp(self):
        super().setUp()
        self.asked = []
        self.is_over = threading.Event()
        self.addCleanup(self.is_over.set)
        self.jobs = [job(7, 'queued', priority=3, frames_done=0, fps=None, left_s=None),
                     job(8, 'paused', input_name='other.mp4', frames_done=0, fps=None, devices=[]),
                     job(9, 'running', input_name='third.mp4')]

    def stream(self):
        yield STREAM + b''.join(event('job', j) for j in self.jobs)
        self.is_over.wait(PATIENCE_S)

    def respond(self, request):
        if request.path == '/v1/status':
            return answer({'instance': 'a'})
        if request.path.startswith('/v1/events'):
            return self.stream()
        if request.path == '/v1/devices':
            return answer({'devices': [CUDA, DEVICE]})
        if request.path.startswith('/v1/jobs?'):
            return answer({'jobs': self.jobs, 'next': None})
        number = int(request.path.split('/')[3])
        known = next(j for j in self.jobs if j['id'] == number)
        if request.method != 'GET':
            self.asked.append((request.method, request.path, request.body.decode()))
        return answer(dict(known, **(request.json() if request.method == 'PATCH' else {})))

    def top(self, *arguments, **size):
        self.serve(self.respond)
        return Terminal(self, self.command('top', *arguments), **size)


class Top(TopCase):
    def numbers(self, terminal):
        """The jobs' numbers, from above."""
        lines = terminal.lines()
        titles = [i for i, line in enumerate(lines) if line.lstrip().startswith('ID ')]
        found = []
        for line in lines[titles[0] + 1:] if titles else []:
            if not re.match(r' *\d+ ', line):
                break
            found.append(int(line.split()[0]))
        return found

    def test_sizes(self):
        """Nothing is wider or higher than the terminal, from the smallest one on."""
        terminal = self.top(columns=100, rows=30)
        terminal.wait_for('12.3 \u2502')
        self.assertRegex(terminal.lines()[2], '^cuda:0  ready .* 2.0 MiB  8.0 GiB .* 97%  A card$')
        for columns, rows in ((200, 50), (80, 24), (40, 12), (20, 6), (3, 3), (1, 1), (60, 9)):
            terminal.output = ENTER
            terminal.resize(columns, rows)
            terminal.wait(lambda c=columns, r=rows: '\x1b[J' in terminal.output and
                          len(terminal.lines()) == r and
                          max(map(len, terminal.lines())) < max(c, 2))
        self.assertIn('third.mp4', '\n'.join(terminal.lines()))
        terminal.quit()

    def test_sorting(self):
        terminal = self.top('--sort', 'priority')
        terminal.wait(lambda: self.numbers(terminal) == [7, 8, 9])
        terminal.type(b's')
        terminal.wait_for('by progress')
        self.assertEqual(self.numbers(terminal), [9, 7, 8])
        terminal.type(b's')
        terminal.wait_for('by state')
        terminal.quit()

    def test_keys(self):
        terminal = self.top()
        terminal.wait(lambda: ' 9  running' in terminal.selected())
        for keys, number, method, path, body, says in (
                (b'p', 9, 'POST', '/pause', '', 'job 9 (third.mp4) is being paused'),
                (DOWN + b'+', 7, 'PATCH', '', '{"priority":4}', 'job 7 (video.mp4) has priority 4'),
                (b'j-', 8, 'PATCH', '', '{"priority":-1}', 'job 8 (other.mp4) has priority -1'),
                (b'r', 8, 'POST', '/resume', '{', 'job 8 (other.mp4) goes on'),
                (UP + b'cy', 7, 'DELETE', '', '', 'job 7 (video.mp4) is being cancelled')):
            with self.subTest(keys=keys):
                del self.asked[:]
                terminal.type(keys)
                terminal.wait_for(says)
                self.assertEqual([a[:2] for a in self.asked],
                                 [(method, f'/v1/jobs/{number}{path}')])
                self.assertTrue(self.asked[0][2].startswith(body), self.asked)
        terminal.type(PAGE_DOWN)
        terminal.wait(lambda: ' 8  paused' in terminal.selected())
        terminal.quit()

    def test_cancelling_is_asked(self):
        terminal = self.top()
        terminal.wait(lambda: ' 9  running' in terminal.selected())
        for no in (b'n', b'\x1b', b'p', DOWN):
            terminal.type(b'c')
            terminal.wait_for('cancel job 9, and remove what is done of it? y n')
            terminal.type(no)
            terminal.wait(lambda: 'remove what' not in '\n'.join(terminal.lines()))
        self.assertEqual(self.asked, [])
        self.assertIn(' 9  running', terminal.selected())
        terminal.type(b'?')
        terminal.wait_for('sort by state, by priority, by progress')
        terminal.type(b'?')
        terminal.wait(lambda: self.numbers(terminal) == [9, 7, 8])
        terminal.type(b'cq')
        self.assertEqual(terminal.end(), (0, ''))
        self.assertEqual(self.asked, [])

    def test_refusal(self):
        before = self.respond
        self.respond = lambda r: before(r) if r.method == 'GET' else \
            refusal(409, 'job.state', 'job 9 is \x1b[2Jnot yours')
        terminal = self.top()
        terminal.wait(lambda: ' 9  running' in terminal.selected())
        terminal.type(b'p')
        terminal.wait_for('not yours')
        self.assertNotIn('\x1b[2J', terminal.output)
        terminal.quit()
        self.respond = lambda r: before(r) if 'devices' not in r.path else refusal(500, 'x', 'odd')
        terminal = self.top()
        terminal.wait_for('odd')
        terminal.quit()

    def test_nothing_to_do(self):
        """No job is there; or what it has is the most that there is."""
        self.jobs = []
        terminal = self.top()
        for key in (b'p', b'r', b'c', b'+'):
            terminal.wait_for('no job waits or runs')
            terminal.type(b'j' + key)
            terminal.wait_for('no job is selected: none waits or runs')
            terminal.type(b'??')
        terminal.quit()
        for key, priority in ((b'+', 100), (b'-', -100)):
            self.jobs = [job(7, 'queued', priority=priority)]
            terminal = self.top()
            terminal.wait_for('video.mp4')
            terminal.type(key)
            terminal.wait_for('priorities go from -100 to 100')
            terminal.quit()
        self.assertEqual(self.asked, [])

    def test_many_jobs(self):
        """As many as there is room for; the selected one is among them."""
        self.jobs = [job(i, 'queued' if i > 1 else 'running') for i in range(1, 101)]
        terminal = self.top()
        terminal.wait_for('99 queued')
        for keys, number, last in ((b'\x1b[F', 100, 100), (UP, 99, 100), (PAGE_UP, 85, 98),
                                   (b'\x1b[H', 1, 8), (PAGE_DOWN, 9, 14), (PAGE_DOWN, 23, 23),
                                   (DOWN, 24, 24)):
            terminal.type(keys)
            terminal.wait(lambda n=number: terminal.selected().split()[:1] == [str(n)])
            terminal.wait(lambda n=last: self.numbers(terminal)[-1] == n)
            self.assertIn(f'\n{number} video.mp4: ', '\n'.join(terminal.lines()))
        terminal.quit()


class Ends(TopCase):
    """The terminal is as it was, however it ends."""

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                terminal = self.top()
                terminal.wait_for('third.mp4')
                terminal.process.send_signal(number)
                self.assertEqual(terminal.end(), (130, ''))

    def test_stop(self):
        """Ctrl-Z gives the terminal back until it is continued."""
        terminal = self.top()
        terminal.wait_for('third.mp4')
        terminal.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        terminal.wait(lambda: terminal.output.endswith(LEAVE))
        self.assertEqual(termios.tcgetattr(terminal.side), terminal.before)
        terminal.output = ''
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for('third.mp4')
        terminal.quit()

    def test_daemon_that_goes(self):
        """It is waited for as by watch: it comes back, or it doesn't."""
        terminal = self.top('--timeout', 5)
        terminal.wait_for('third.mp4')
        self.server.close()
        terminal.wait_for('vrtd went away')
        self.jobs[2]['input_name'] = 'fourth.mp4'
        self.serve(self.respond)
        terminal.wait_for('vrtd is back')
        terminal.wait_for('fourth.mp4')
        self.server.close()
        terminal.wait_for('vrtd went away')
        status, err = terminal.end()
        self.assertEqual(status, 3)
        self.assertIn('not running: nothing listens', err)

    def test_job_that_ends(self):
        before, warned = self.stream, threading.Event()
        ended = job(9, 'done', input_name='third.mp4', frames_done=200)

        def stream():
            yield from [next(before())]
            self.jobs[2] = dict(self.jobs[2], warnings=['it is\x1b hot'], warnings_total=1)
            yield event('job', self.jobs[2])
            warned.wait(PATIENCE_S)
            self.jobs[2] = ended
            yield event('job', ended)
            self.is_over.wait(PATIENCE_S)
        self.stream = stream
        terminal = self.top()
        terminal.wait_for('third.mp4: it is? hot')
        warned.set()
        terminal.wait_for('9 third.mp4 -> video.restored.mp4: 200 frames in 0:07')
        self.assertNotIn(' 9  ', '\n'.join(terminal.lines()))
        terminal.quit()


class Plain(TopCase):
    """Where nobody looks, how things are is printed once."""

    def test_tables(self):
        self.serve(self.respond)
        devices = ('DEVICE  STATE  FPS   MEMORY       OF  BUSY  DESCRIPTION\n'
                   'cuda:0  ready    -  2.0 MiB  8.0 GiB   97%  A card\n'
                   'cpu:0   ready    -  2.0 MiB  8.0 GiB     -  Two cores\n')
        self.assertEqual(self.run_it('top', '--sort', 'priority'), (
            '1 queued, 1 running, 1 paused, 12.3 frames/s, by priority\n' + devices +
            '\nID  STATE    PRIO  DONE   FPS   MEMORY  LEFT  INPUT\n'
            ' 7  queued      3    0%     -        -     -  video.mp4\n'
            ' 8  paused      0    0%     -        -  0:09  other.mp4\n'
            ' 9  running     0   42%  12.3  2.4 MiB  0:09  third.mp4\n', ''))
        self.jobs = []
        self.assertEqual(self.run_it('top')[0], 'no job waits or runs, by state\n' + devices)

    def test_json(self):
        self.serve(self.respond)
        out, _ = self.run_it('top', '--json')
        self.assertEqual(json.loads(out), {'devices': [CUDA, DEVICE],
                                           'jobs': [self.jobs[i] for i in (2, 0, 1)]})

    def test_broken(self):
        for devices in ({}, {'devices': [{'state': []}]}):
            self.serve(lambda r, d=devices: answer(d) if 'devices' in r.path else
                       answer({'jobs': [], 'next': None}))
            self.complaint('top', status=3, says='')
        self.complaint('top', '--sort', 'name', status=2, says='priority')


if __name__ == '__main__':
    unittest.main()
