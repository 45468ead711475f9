# SPDX-License-Identifier: MIT
"""The folder of a film that tasks of a cluster share, as vrtctl makes it, and tasks run by hand."""
import json
import os
import signal
import subprocess
import time

import harness

DONE, FAILED, AGAIN = 0, 1, 75


def small_disk(case, path, size):
    """Makes a folder that is a disk of so many bytes, until the test's end."""
    os.mkdir(path)
    mount = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', path],
                           capture_output=True, check=False)
    if mount.returncode != 0:
        case.skipTest('nobody may mount a small file system here')
    case.addCleanup(subprocess.run, ['umount', path], check=True)
    return path


class Film:
    """A film's folder, beside its result."""

    def __init__(self, source, target, config=None, **request):
        self.folder, self.target, self.config = target + '.vrtd', target, config
        if source is None:      # vrtctl has made it
            return
        os.mkdir(self.folder, 0o700)
        request.setdefault('device', 'cpu')
        request['input'] = {'name': os.path.basename(source), 'path': source}
        request['output'] = {'name': os.path.basename(target), 'path': target}
        for role in {'model', 'reference'} & set(request):
            request[role] = {'name': role, 'path': request[role]}
        self.write('request.json', request)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, value):
        with open(self.path(name), 'w', encoding='utf-8') as f:
            json.dump(value, f)

    def read(self, *names):
        with open(self.path(*names), encoding='utf-8') as f:
            return json.load(f)

    def note(self, task):
        return self.read('tasks', task + '.json')

    def segments(self):
        return sorted(n for n in os.listdir(self.path('segments')) if n.endswith('.seg'))

    def begin(self, part, level='warning'):
        """Starts a task; its process."""
        command = [harness.VRTD, '--once', self.folder, '--part', part, '--log-level', level]
        if self.config:
            command += ['--config', self.config]
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                text=True)

    def run(self, part, level='warning'):
        """Does a task. Its exit status and what it wrote to standard error."""
        process = self.begin(part, level)
        said = process.communicate(timeout=harness.PATIENCE_S)[1]
        return process.returncode, said

    def run_until_segment(self, part, n, number):
        """Starts a task, and sends it a signal when the result has n segments."""
        process = self.begin(part)
        deadline = time.monotonic() + harness.PATIENCE_S
        while len(self.segments()) < n and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(number)
        if number != signal.SIGSTOP:
            process.communicate(timeout=harness.PATIENCE_S)
        return process
