#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever call of memory, files, sockets or codecs fails, wherever a program makes it, once: what
was asked for is done as ever, or refused in a sentence, and vrtd goes on.

VRT_FAILING_LIBRARY names the library made of failing.c.
"""
import mmap
import os
import re
import struct
import subprocess
import time

import harness
from harness import BUILD, clip, digest
from web_server import Server

N_PLACES = 8192
PROGRAMS = {'d': 'daemon/vrtd', 'l': 'client/vrtctl', 'a': 'workers/frames/vrt-media'}
CONFIG = {'devices': {'backoff_s': 1},
          'remote': {'inputs': 'on', 'private_addresses': 'on'}}
ENDED = 'done', 'failed', 'cancelled'
SAID = 'memory|Input/output error|closed the connection|nothing listens'
LEFT_OUT = 'unlock mailbox.c'      # writes into a pipe of its own, where it can only be full


class Calls:
    """What programs share with the library that is loaded into them."""

    def __init__(self, path):
        with open(path, 'w+b') as f:
            f.truncate(8 * (2 + N_PLACES))
            self.map = mmap.mmap(f.fileno(), 0)
        self.environment = {**os.environ, 'LD_PRELOAD': os.environ['VRT_FAILING_LIBRARY'],
                            'VRT_FAILING': path}

    def places(self):
        return set(struct.unpack(f'{N_PLACES}Q', self.map[16:])) - {0}

    def forget(self):
        self.map[16:] = bytes(8 * N_PLACES)

    def arm(self, place):
        self.map[:16] = struct.pack('2Q', place, 0)

    def disarm(self):
        """Return: whether the call failed."""
        failed = self.map[8:16] != bytes(8)
        self.map[:8] = bytes(8)
        return failed


def named(place):
    """The line of the program that a place is."""
    program = os.path.join(BUILD, PROGRAMS[chr(place & 255)])
    return subprocess.run(['addr2line', '-sfe', program, hex((place >> 8) - 1)],
                          capture_output=True, text=True, check=True).stdout.replace('\n', ' ')


class Failing(harness.FolderCase):
    def setUp(self):
        super().setUp()
        self.failing = Calls(self.path('places'))
        self.source = clip(self.path('a.mp4'), frames=3, audio=True)
        self.submission = ('submit', '--follow', '--output', self.path('b.mp4'), self.source)
        self.daemon, self.newest = None, 0
        self.wanted, self.known = {}, set()

    def start(self):
        self.daemon = harness.Daemon(self.folder, CONFIG, small=True,
                                     env=self.failing.environment)
        self.addCleanup(self.daemon.stop)

    def stop(self):
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log_text())
        self.assertNotIn('by signal', self.daemon.log_text())

    def new_jobs(self):
        """Those that were not there when it was asked last, once none is under way."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while True:
            self.assertLess(time.monotonic(), deadline)
            jobs = [job for job in self.daemon.request('GET', '/v1/jobs')[1]['jobs']
                    if job['id'] > self.newest]
            if all(job['state'] in ENDED for job in jobs):
                self.newest = max([self.newest, *(job['id'] for job in jobs)])
                return [self.daemon.job(job['id']) for job in jobs]

    def ask(self, *arguments):
        """As a user does who looks at what comes of it: the same as ever, or a sentence."""
        done = subprocess.run([harness.VRTCTL, '--socket', self.daemon.socket, *arguments],
                              env=self.failing.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=harness.PATIENCE_S)
        self.assertIsNone(self.daemon.process.poll())
        said, told, made = done.stderr + done.stdout, '', ''
        for job in self.new_jobs():
            self.assertEqual(job['state'], 'failed' if job['error'] else 'done')
            said += str(job['error']) + str(job['warnings'])
        self.assertNotIn('by signal', said)
        # Progress comes as it comes, and doctor tells what it met.
        if arguments[0] not in ('submit', 'doctor'):
            told = re.sub(r'[\d.]+( ms| s|%)?', '0', done.stdout)
        if arguments[0] == 'submit' and os.path.exists(arguments[-2]):
            made = digest(arguments[-2])
            os.unlink(arguments[-2])
        if done.returncode == 0:
            self.assertEqual((told, made), self.wanted.setdefault(arguments, (told, made)))
        else:
            self.assertRegex(said, SAID)
            self.assertIn(made, ('', self.wanted[arguments][1]))

    def restore(self):
        self.ask(*self.submission)

    def passed(self, *arguments):
        """The places that are passed whenever this is asked."""
        self.ask(*arguments)
        self.failing.forget()
        self.ask(*arguments)
        return self.failing.places()

    def sweep(self, places, attempt):
        """Has the call of each place fail. Return: how often one did."""
        n_failed = 0
        for place in sorted(places):
            where = named(place)
            if where.startswith(LEFT_OUT):
                continue
            self.failing.arm(place)
            try:
                attempt()
            except (AssertionError, OSError, subprocess.TimeoutExpired) as e:
                raise AssertionError(f'{where}: {e}\n{self.daemon.log_text()[-2000:]}') from e
            n_failed += self.failing.disarm()
        return n_failed

    def try_all(self, *arguments):
        """The sweep of what this passes, and nothing before it did."""
        places = self.passed(*arguments) - self.known
        self.known |= places
        return self.sweep(places, lambda: self.ask(*arguments))

    def test_job(self):
        """... while something is restored."""
        self.start()
        picture = self.path('a.png')
        clip(picture, frames=1)
        for arguments in self.submission, (*self.submission[:3], self.path('b.png'), picture):
            self.assertGreater(self.try_all(*arguments), 10)
        self.assertGreater(len(self.known), 230)
        self.stop()

    def test_start(self):
        """... while vrtd begins, and at what only its first job needs."""
        def begin():
            try:
                self.start()
            except RuntimeError as e:       # it did not start
                self.assertRegex('\n'.join(str(e).splitlines()[-3:]), SAID)
                return
            self.restore()
            self.stop()

        self.start()
        self.restore()
        places = self.failing.places()
        again = self.passed(*self.submission)
        self.stop()
        self.assertGreater(self.sweep(places - again, begin), 100)

    def test_others(self):
        """... while other things are asked for."""
        rich, picture, animation = map(self.path, ('a.mkv', 'a.jpg', 'a.gif'))
        text = self.path('a.srt')
        with open(text, 'w', encoding='utf-8') as f:
            f.write('1\n00:00:00,000 --> 00:00:01,000\nHello\n')
        harness.ffmpeg('-i', clip(self.path('a.avi'), audio=True), '-i', text, '-c:v', 'mpeg2video',
                       '-flags', '+ilme+ildct', '-vf', 'setfield=tff', '-bitexact', rich)
        clip(picture, frames=1)
        clip(animation, frames=3, rate=10)
        server = Server()
        self.addCleanup(server.stop)
        with open(self.source, 'rb') as f:
            server.files = {'/a.mp4': f.read()}
        self.start()
        self.restore()
        self.known = self.failing.places()
        for source, target, *options in (
                (rich, 'b.mkv', '--deinterlace', 'frame'), (rich, 'b.webm', '--codec', 'vp9'),
                (picture, 'b.jpg'), (animation, 'b.gif'), (server.url('/a.mp4'), 'c.mp4')):
            self.try_all('submit', '--follow', *options, '--output', self.path(target), source)
        for arguments in ['info', self.source], ['devices'], ['models'], ['codecs'], ['doctor']:
            self.try_all(*arguments)
        self.assertGreater(len(self.known), 450)
        self.stop()


if __name__ == '__main__':
    harness.main()
