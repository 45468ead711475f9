#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What many jobs cost: one after the other, and all at a time.

usage: bench-jobs.py BUILD [--jobs N] [soak] [many]

  soak        N small jobs (500) one after the other: memory and descriptors of vrtd when they are
              done, over those after the first ten
  many        N queued jobs (10000) behind one that runs: how long it takes to submit one more,
              while nothing computes and beside a job that does, to list them, to start with them
              in the store, and the memory that they need

Without names: both. Each prints its figures and one line "NAME: FIGURES (wanted ...)". BUILD should
be an optimised build; the machine should be idle.
"""
import array
import json
import os
import resource
import shutil
import socket
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Two to a queued job, some for everything else; of the last quarter, at most so many, jobs that
# wait get none.
DESCRIPTORS_ELSE, DESCRIPTORS_RESERVED = 500, 2048

# Jobs of a list, see vrtd-api(7).
PAGE = 500


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p / 100))]


def milliseconds(values):
    p50, p99, longest = (t * 1e3 for t in (percentile(values, 50), percentile(values, 99),
                                           max(values)))
    return f'p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {longest:.2f} ms'


def resident_bytes(daemon):
    with open(f'/proc/{daemon.process.pid}/status', encoding='utf-8') as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith('VmRSS'))


def cpu_seconds(daemon):
    """All that it has used so far."""
    with open(f'/proc/{daemon.process.pid}/stat', encoding='utf-8') as f:
        fields = f.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def n_descriptors(daemon):
    return len(os.listdir(f'/proc/{daemon.process.pid}/fd'))


class Bench:
    def __init__(self, build, n_jobs, folder):
        os.environ['VRTD_BUILD'] = build
        sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
        import harness
        self.harness = harness
        self.n_jobs, self.folder = n_jobs, folder
        self.n_outputs = 0
        self.small = harness.clip(self.path('small.mp4'), frames=8)

    def path(self, name):
        return os.path.join(self.folder, name)

    def exchange(self, daemon, head, body=b'', files=()):
        """One request on a connection of its own: the seconds that it took, and the answer's JSON.
        By bare sockets: a client that computes would be what is measured."""
        text = f'{head} HTTP/1.1\r\nHost: vrtd\r\nConnection: close\r\n'
        if body:
            text += f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n'
        data, received = text.encode() + b'\r\n' + body, []
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            began = time.monotonic()
            s.connect(daemon.socket)
            if files:
                s.sendmsg([b'\r\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                       array.array('i', files))])
            s.sendall(data)
            while chunk := s.recv(1 << 20):
                received.append(chunk)
            took = time.monotonic() - began
        answer = b''.join(received)
        if not answer.startswith(b'HTTP/1.1 20'):
            raise RuntimeError(f'{head}: {answer[:2000]!r}\n' + daemon.log_text()[-2000:])
        return took, json.loads(answer.split(b'\r\n\r\n', 1)[1])

    def submit(self, daemon, source, target, **more):
        """Seconds to the answer, and the job."""
        with open(source, 'rb') as i, open(target, 'w+b') as o:
            body = dict({'input': {'fd': 0, 'name': os.path.basename(source)},
                         'output': {'fd': 1, 'name': os.path.basename(target)}}, **more)
            return self.exchange(daemon, 'POST /v1/jobs', json.dumps(body).encode(),
                                 (i.fileno(), o.fileno()))

    def wait(self, daemon, job):
        while True:
            _, shown = self.exchange(daemon, f'GET /v1/jobs/{job}')
            if shown['state'] == 'done':
                return
            if shown['state'] in ('failed', 'cancelled'):
                raise RuntimeError(f'{shown["error"]}\n' + daemon.log_text()[-2000:])
            time.sleep(0.005)

    # soak

    def soak(self):
        """With a short history: what it holds is known, and is not what is looked for."""
        n_jobs = self.n_jobs or 500
        daemon = self.harness.Daemon(tempfile.mkdtemp(dir=self.folder), {'jobs': {'history': 10}})
        at, began = {}, time.monotonic()
        for i in range(1, n_jobs + 1):
            _, job = self.submit(daemon, self.small, self.path('soak.mkv'), overwrite=True)
            self.wait(daemon, job['id'])
            if i in (10, n_jobs // 10, n_jobs):
                # Its connections are to be closed, and its working files gone.
                time.sleep(0.5)
                at[i] = resident_bytes(daemon), n_descriptors(daemon)
                print(f'  after {i} jobs: {at[i][0] / 2**20:.1f} MiB, {at[i][1]} descriptors',
                      flush=True)
        took = time.monotonic() - began
        left = os.listdir(os.path.join(daemon.folder, 'state', 'spool'))
        daemon.stop()
        print(f'soak: {n_jobs} jobs in {took:.0f} s, memory {at[n_jobs][0] / at[10][0]:.3f} '
              f'(wanted at most 1.02), {at[n_jobs][1] - at[10][1]} descriptors more (wanted 0), '
              f'{len(left)} working files left (wanted 0)')

    # many

    def long_clip(self):
        """Hours of work, made in a moment."""
        part, path = self.path('part.mp4'), self.path('long.mp4')
        self.harness.clip(part, frames=500, size='160x120')
        self.harness.ffmpeg('-stream_loop', 1000, '-i', part, '-c', 'copy', path)
        return path

    def fill(self, daemon, n):
        """Each job has an output of its own: no two may share one. What precision suits them isn't
        asked of the device, which may be busy for an hour."""
        took = []
        for _ in range(n):
            self.n_outputs += 1
            took.append(self.submit(daemon, self.small, self.path(f'{self.n_outputs}.mkv'),
                                    precision='f32')[0])
        return took

    def list_all(self, daemon):
        """Seconds of each page, and how many jobs there were."""
        took, n, after = [], 0, 0
        while after is not None:
            seconds, answer = self.exchange(daemon, f'GET /v1/jobs?limit={PAGE}&after={after}')
            took.append(seconds)
            n += len(answer['jobs'])
            after = answer.get('next')
        return took, n

    def start(self, folder, config):
        """A daemon, how long it took until it served, and what of that it computed."""
        began = time.monotonic()
        daemon = self.harness.Daemon(folder, config)
        return daemon, time.monotonic() - began, cpu_seconds(daemon)

    # What waits is kept waiting by a job whose every shard takes an hour.
    IDLE = {'devices': {'fault': 'cpu submit:every=1 delay=3600s'}}

    def started(self, folder, config, long):
        """A daemon that runs the long job, and none of those that wait."""
        daemon, *_ = self.start(folder, config)
        self.submit(daemon, long, self.path('long.mkv'), priority=100, precision='f32',
                    overwrite=True)
        return daemon

    def pages(self, daemon):
        """Seconds of each page, twenty times all."""
        pages = []
        for _ in range(20):
            took, n = self.list_all(daemon)
            pages += took
        print(f'  {len(pages)} pages of {PAGE} out of {n} jobs: {milliseconds(pages)}; all pages '
              f'{sum(pages) / 20 * 1e3:.0f} ms')
        return pages

    def restarts(self, folder, config):
        """Seconds of five starts, and the largest memory after one."""
        starts, memory = [], 0
        for _ in range(5):
            daemon, *seconds = self.start(folder, config)
            starts.append(seconds)
            memory = max(memory, resident_bytes(daemon))
            daemon.kill()
        print('  starts: ' + ', '.join(f'{s:.2f} s ({cpu:.2f} s of CPU)' for s, cpu in starts))
        return sorted(starts)[2][0], memory

    def many(self):
        n_jobs = self.n_jobs or 10000
        config = {'jobs': {'max_running': 1, 'max_queued': 100000}, 'cpu': {'threads': 1}}
        long = self.long_clip()
        folder = tempfile.mkdtemp(dir=self.folder)
        # The daemon's own limit is this one's.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        most = n_jobs if hard == resource.RLIM_INFINITY else (
            hard - min(hard // 4, DESCRIPTORS_RESERVED) - DESCRIPTORS_ELSE) // 2
        n_left = n_jobs
        while True:
            daemon = self.started(folder, {**config, **self.IDLE}, long)
            self.fill(daemon, min(n_left, most))
            n_left -= min(n_left, most)
            if not n_left:
                break
            # Those from before then wait for their files, and hold none.
            print(f'  a start after {most} jobs, as {hard} descriptors are allowed')
            daemon.kill()
        idle = self.fill(daemon, 500)
        print(f'  500 more while nothing computes: {milliseconds(idle)}')
        memory = resident_bytes(daemon)
        daemon.kill()
        daemon = self.started(folder, config, long)
        busy = self.fill(daemon, 500)
        print(f'  500 more beside a job that computes: {milliseconds(busy)}')
        pages = self.pages(daemon)
        memory = max(memory, resident_bytes(daemon))
        daemon.kill()
        store = os.path.getsize(os.path.join(folder, 'state', 'vrtd.db'))
        start, after = self.restarts(folder, config)
        print(f'  store {store / 2**20:.1f} MiB, memory {memory / 2**20:.1f} MiB, after a start '
              f'{after / 2**20:.1f} MiB')
        print(f'many: {n_jobs + 1000} jobs, submit p99 {percentile(idle, 99) * 1e3:.2f} ms and '
              f'{percentile(busy, 99) * 1e3:.2f} ms beside a job that computes, list p99 '
              f'{percentile(pages, 99) * 1e3:.2f} ms (wanted under 10), memory '
              f'{max(memory, after) / 1e6:.0f} MB (wanted under 200), start {start:.2f} s '
              '(wanted under 1)')


def main():
    arguments, n_jobs = sys.argv[1:], None
    if '--jobs' in arguments[:-1]:
        at = arguments.index('--jobs')
        n_jobs = int(arguments[at + 1])
        del arguments[at:at + 2]
    names = ['soak', 'many']
    if not arguments or arguments[0].startswith('-') or set(arguments[1:]) - set(names):
        print(__doc__)
        return 2
    folder = tempfile.mkdtemp(prefix='vrtd-bench-')
    try:
        bench = Bench(os.path.abspath(arguments[0]), n_jobs, folder)
        for name in arguments[1:] or names:
            getattr(bench, name)()
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == '__main__':
    sys.exit(main())
