# SPDX-License-Identifier: MIT
"""A process that stays and answers requests, each a line of JSON: for benches that take turns."""
import json
import selectors
import subprocess
import time

HELLO_S = 120


class Failed(Exception):
    """What could not be measured, and why."""


class Served:
    def __init__(self, name, command, errors=None, env=None):
        """errors: a file for what it says on standard error."""
        self.name, self.command, self.errors, self.env = name, command, errors, env
        self.child, self.about = None, {}

    def start(self):
        self.child = subprocess.Popen(self.command, bufsize=0, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.errors, env=self.env)
        self.about = self.read_object(HELLO_S)

    def read_line(self, seconds):
        """A line of its output, which isn't buffered: what has come is what can be waited for."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            if not selector.select(max(seconds, 0)):
                self.stop()
                raise Failed(f'{self.name} took more than {seconds:.0f} s')
        line = self.child.stdout.readline()
        if not line:
            self.stop()
            raise Failed(f'{self.name} ended')
        return line

    def read_object(self, seconds):
        ends, line = time.monotonic() + seconds, b''
        while not line.startswith(b'{'):    # compilers may talk in between
            line = self.read_line(ends - time.monotonic())
        return json.loads(line)

    def ask(self, request, seconds):
        if not self.child:
            self.start()
        self.child.stdin.write(json.dumps(request).encode() + b'\n')
        self.child.stdin.flush()
        answer = self.read_object(seconds)
        if 'error' in answer:
            raise Failed(answer['error'])
        return answer

    def peak_bytes(self):
        """The most memory it had so far."""
        with open(f'/proc/{self.child.pid}/status', encoding='utf-8') as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith('VmHWM'))

    def stop(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child.stdin.close()
            self.child.stdout.close()
            self.child = None
