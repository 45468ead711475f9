#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What many clients, and hostile ones, cost the others.

usage: bench-edge.py BUILD [--rounds N] [flood] [readers]

  flood    one user floods the daemon in every way there is; how long another one's submissions
           take, against those before the flood. Two real users where root runs it, else one
  readers  200 clients that ask once a second and 50 streams of events, of which 10 are never
           read: throughput of a job with them over that without, by turns of seconds; what the
           clients took of the machine themselves is in it, and said; the daemon's memory

Without names: both. The machine should be idle; clients are niced, and share it with the daemon.
"""
import array
import http.client
import json
import multiprocessing
import os
import select
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FLOODER, OTHER = 61001, 61002
HOST = b'Host: x\r\n'


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)          # waits, where too many others do
    sock.settimeout(60)
    return sock


def submit(path, source, target, name='clip.mkv', **more):
    """Submits by descriptors. The status, the body, and the seconds that it took."""
    body = json.dumps({'input': {'fd': 0, 'name': name}, 'output': {'fd': 1, 'name': 'out.mkv'},
                       'overwrite': True, **more}).encode()
    started = time.monotonic()
    sock = connect(path)
    fds = [os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR | os.O_CREAT, 0o600)]
    try:
        sock.sendmsg([b'\r\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))])
        sock.sendall(b'POST /v1/jobs HTTP/1.1\r\n' + HOST + b'Content-Type: application/json\r\n'
                     b'Content-Length: %d\r\n\r\n' % len(body) + body)
        response = http.client.HTTPResponse(sock)
        response.begin()
        data = response.read()
        return response.status, json.loads(data), time.monotonic() - started
    finally:
        for fd in fds:
            os.close(fd)
        sock.close()


def get(path, target):
    """The seconds that a GET took, and its decoded body."""
    started = time.monotonic()
    sock = connect(path)
    sock.sendall(b'GET %s HTTP/1.1\r\n' % target.encode() + HOST + b'\r\n')
    response = http.client.HTTPResponse(sock)
    response.begin()
    data = response.read()
    sock.close()
    return time.monotonic() - started, json.loads(data)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def told(values):
    return (f'median {statistics.median(values) * 1e3:.1f} ms, '
            f'p99 {percentile(values, 0.99) * 1e3:.1f} ms, worst {max(values) * 1e3:.1f} ms')


# What the flooder's processes do, until they are ended.

def flood_submit(path, folder, source):
    """Videos, and what only looks like one, faster than they are admitted."""
    target = os.path.join(folder, f'flood-{os.getpid()}.mkv')
    while True:
        try:
            status, job, _ = submit(path, source, target)
            if status == 201:
                cancel = connect(path)
                cancel.sendall(b'DELETE /v1/jobs/%d HTTP/1.1\r\n' % job['id'] + HOST + b'\r\n')
                cancel.recv(65536)
                cancel.close()
        except OSError:
            pass


def flood_connect(path, *_):
    while True:
        try:
            connect(path).close()
        except OSError:
            pass


def flood_pipeline(path, *_):
    """The longest list, asked for as often as a connection takes it, and read."""
    requests = (b'GET /v1/jobs HTTP/1.1\r\n' + HOST + b'\r\n') * 50
    while True:
        try:
            socks = [connect(path) for _ in range(40)]
            for sock in socks:
                sock.setblocking(False)
            for _ in range(2000):
                readable, writable, _ = select.select(socks, socks, [], 1)
                for sock in writable:
                    try:
                        sock.send(requests)
                    except BlockingIOError:
                        pass
                for sock in readable:
                    sock.recv(1 << 20)
        except OSError:
            pass


def flood_unread(path, *_):
    """Streams and lists that nobody ever reads."""
    socks = []
    while True:
        try:
            sock = connect(path)
            sock.sendall(b'GET %s HTTP/1.1\r\n' % (b'/v1/events', b'/v1/jobs')[len(socks) % 2]
                         + HOST + b'\r\n')
            socks = socks[-60:] + [sock]
            time.sleep(0.005)
        except OSError:
            socks = []


FLOODS = [flood_submit, flood_submit, flood_connect, flood_pipeline, flood_unread]


def become(uid):
    os.nice(10)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def run_as(uid, function, *arguments):
    """Runs the function in a process of the user's. Its result comes by the queue."""
    def body(queue):
        become(uid)
        queue.put(function(*arguments))
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=body, args=(queue,))
    process.start()
    result = queue.get(timeout=120)
    process.join()
    return result


def submit_some(path, folder, source, n):
    """Seconds of n submissions, cancelled at once, a few a second."""
    times = []
    for i in range(n):
        target = os.path.join(folder, f'some-{os.geteuid()}-{i}.mkv')
        status, job, seconds = submit(path, source, target)
        if status != 201:
            raise RuntimeError(f'{status}: {job}')
        times.append(seconds)
        sock = connect(path)
        sock.sendall(b'DELETE /v1/jobs/%d HTTP/1.1\r\n' % job['id'] + HOST + b'\r\n')
        sock.recv(65536)
        sock.close()
        time.sleep(0.05)
    return times


# What the readers' processes do.

def poll_status(path, n, n_answered):
    """n clients that ask once a second, each with a connection of its own. They look at no more
    than the first line: a client that computes would be what is measured."""
    become(FLOODER)
    requests = [b'GET %s HTTP/1.1\r\nConnection: close\r\n' % target + HOST + b'\r\n'
                for target in (b'/v1/status', b'/v1/jobs')]
    while True:
        started = time.monotonic()
        for i in range(n):
            sock = connect(path)
            sock.sendall(requests[i % 2])
            if not sock.recv(1 << 16).startswith(b'HTTP/1.1 200 '):
                raise RuntimeError('a client was refused')
            while sock.recv(1 << 20):
                pass
            sock.close()
            n_answered.value += 1
            time.sleep(max(0, started + (i + 1) / n - time.monotonic()))


def read_events(path, n, n_mute):
    become(OTHER)
    socks = [connect(path) for _ in range(n)]
    for sock in socks:
        sock.sendall(b'GET /v1/events HTTP/1.1\r\n' + HOST + b'\r\n')
    while True:
        for sock in select.select(socks[n_mute:], [], [], 10)[0]:
            if not sock.recv(1 << 16):
                raise RuntimeError('a stream that was read was ended')


class Bench:
    def __init__(self, build, n_rounds, folder):
        os.environ['VRTD_BUILD'] = build
        sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
        import harness
        self.harness, self.folder = harness, folder
        self.n_rounds = n_rounds
        self.small = harness.clip(os.path.join(folder, 'small.mkv'), frames=2, size='32x32')
        os.chmod(folder, 0o777)
        os.chmod(self.small, 0o644)

    def daemon(self, config, folder=None):
        if not folder:
            folder = tempfile.mkdtemp(dir=self.folder)
            os.chmod(folder, 0o777)
        daemon = self.harness.Daemon(folder, config)
        os.chmod(daemon.socket, 0o666)
        return daemon

    def memory(self, daemon, key):
        with open(f'/proc/{daemon.process.pid}/status', encoding='utf-8') as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith(key))

    def flood(self):
        daemon = self.daemon({'jobs': {'max_running': 1, 'max_queued': 2000}})
        if os.geteuid() != 0:
            print('  not root: the flooder and the other are one user, who has one share of all')
        submit_some(daemon.socket, self.folder, self.small, 3)
        before = run_as(OTHER, submit_some, daemon.socket, self.folder, self.small, 60)
        bad = os.path.join(self.folder, 'noise.mkv')
        with open(bad, 'wb') as f:
            f.write(b'\x1aE\xdf\xa3' + os.urandom(4 << 20))
        os.chmod(bad, 0o644)

        def body(function, source):
            become(FLOODER)
            function(daemon.socket, self.folder, source)
        processes = [multiprocessing.Process(target=body, args=(f, bad if i else self.small))
                     for i, f in enumerate(FLOODS)]
        for process in processes:
            process.start()
        time.sleep(2)
        during = run_as(OTHER, submit_some, daemon.socket, self.folder, self.small, 60)
        rss = self.memory(daemon, 'VmHWM')
        for process in processes:
            process.kill()
            process.join()
        assert daemon.answers()
        daemon.stop()
        print(f'  before: {told(before)}\n  during: {told(during)}; memory at most {rss:.0f} MB')
        more = statistics.median(during) - statistics.median(before)
        print(f'flood: {more * 1e3:.1f} ms more (wanted at most 50)')

    def cpu_seconds(self, processes):
        """What they have computed so far; on this machine the job would have had it otherwise."""
        total = 0
        for process in processes:
            with open(f'/proc/{process.pid}/stat', encoding='utf-8') as f:
                fields = f.read().rpartition(')')[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
        return total

    def frames_done(self, daemon, job):
        job = get(daemon.socket, f'/v1/jobs/{job}')[1]
        assert job['state'] == 'running', job
        return job['frames_done'], time.monotonic()

    def frames_a_second(self, daemon, job, seconds=4):
        done, since = self.frames_done(daemon, job)
        time.sleep(seconds)
        now, until = self.frames_done(daemon, job)
        return (now - done) / (until - since)

    def among_readers(self, daemon, job):
        """Frames a second beside them all, what share of the machine they took themselves, and how
        many of their questions were answered a second."""
        n_answered = multiprocessing.Value('q', 0, lock=False)
        processes = [
            multiprocessing.Process(target=poll_status, args=(daemon.socket, 200, n_answered)),
            multiprocessing.Process(target=read_events, args=(daemon.socket, 50, 10))]
        for process in processes:
            process.start()
        time.sleep(0.5)
        since, n_before, before = time.monotonic(), n_answered.value, self.cpu_seconds(processes)
        frames = self.frames_a_second(daemon, job)
        seconds = time.monotonic() - since
        share = (self.cpu_seconds(processes) - before) / seconds / os.cpu_count()
        rate = (n_answered.value - n_before) / seconds
        for process in processes:
            assert process.is_alive()
            process.kill()
            process.join()
        return frames, share, rate

    def readers(self):
        """By turns within one job: whole jobs differ by more than what is looked for."""
        part, source = (os.path.join(self.folder, f'{name}.mkv') for name in ('part', 'large'))
        self.harness.clip(part, frames=300, size='320x240')
        self.harness.ffmpeg('-stream_loop', 100, '-i', part, '-c', 'copy', source)
        daemon = self.daemon({})
        status, job, _ = submit(daemon.socket, source, os.path.join(daemon.folder, 'out.mkv'))
        assert status == 201, job
        while not get(daemon.socket, f'/v1/jobs/{job["id"]}')[1].get('frames_done'):
            time.sleep(0.1)
        rounds = []
        for _ in range(self.n_rounds):
            alone = self.frames_a_second(daemon, job['id'])
            frames, share, rate = self.among_readers(daemon, job['id'])
            rounds.append((frames / alone, share, rate))
        ratio, share, rate = (statistics.median(column) for column in zip(*rounds))
        print(f'  {alone:.1f} frames a second without, {frames:.1f} with readers in the last '
              f'round; {rate:.0f} answers a second; the clients themselves took {share:.3f} of '
              f'the machine; memory at most {self.memory(daemon, "VmHWM"):.0f} MB')
        daemon.kill()
        print(f'readers: throughput {ratio:.3f} (wanted at least 0.98)')


def main():
    arguments = sys.argv[1:]
    options = {'--rounds': 15}
    for option in options:
        if option in arguments:
            at = arguments.index(option)
            options[option] = int(arguments[at + 1])
            del arguments[at:at + 2]
    names = arguments[1:] or ['flood', 'readers']
    if not arguments or not set(names) <= {'flood', 'readers'}:
        print(__doc__)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix='vrtd-edge-')
    try:
        bench = Bench(arguments[0], options['--rounds'], folder)
        for name in names:
            getattr(bench, name)()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    sys.exit(main())
