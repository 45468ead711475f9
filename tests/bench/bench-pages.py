#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What open pages cost a job.

usage: bench-pages.py BUILD [--pages 50] [--seconds 60] [--details]

A vrtd of its own restores a video. In turns of --seconds nobody looks, and --pages do: each has the
stream of events open and asks for the devices' history every 4 seconds, as the page does, and with
--details for the job, its history and a frame before and after, as one whose details are unfolded.
The cost is what vrtd's loop thread, which does all of that, takes more of the processor then, as a
share of what all of vrtd takes for the job meanwhile; vrt-media's is left out. BUILD should be an
optimised build.
"""
import argparse
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

TICKS = os.sysconf('SC_CLK_TCK')
LOOK_S, DETAILS_S, PREVIEW_S = 4, 60, 5


def cpu_s(path):
    with open(path, encoding='ascii') as f:
        fields = f.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Page(threading.Thread):
    """A page that somebody looks at, until `over` is set."""

    def __init__(self, port, token, job, over):
        super().__init__(daemon=True)
        self.port, self.token, self.job, self.over = port, token, job, over
        self.n_bytes, self.n_answers = 0, 0

    def ask(self, connection, path):
        connection.request('GET', path, headers={'Authorization': f'Bearer {self.token}'})
        answer = connection.getresponse()
        body = answer.read()
        self.n_bytes += len(body)
        self.n_answers += answer.status < 300
        return body

    def run(self):
        reader = threading.Thread(target=self.read, daemon=True)
        reader.start()
        connection = http.client.HTTPConnection('127.0.0.1', self.port)
        after, due = 0, {'devices': time.monotonic(), 'job': 0, 'preview': 0}
        if not self.job:
            due = {'devices': due['devices']}
        while not self.over.wait(max(0, min(due.values()) - time.monotonic())):
            what = min(due, key=due.get)
            if what == 'devices':
                history = self.ask(connection, f'/v1/devices/history?after={after}')
                after = json.loads(history)['last']
                due[what] = time.monotonic() + LOOK_S
            elif what == 'job':
                self.ask(connection, f'/v1/jobs/{self.job}')
                self.ask(connection, f'/v1/jobs/{self.job}/history')
                due[what] = time.monotonic() + DETAILS_S
            else:
                self.ask(connection, f'/v1/jobs/{self.job}/preview')
                due[what] = time.monotonic() + PREVIEW_S
        connection.close()
        reader.join()

    def read(self):
        with socket.create_connection(('127.0.0.1', self.port)) as s:
            s.sendall(f'GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n'
                      f'Authorization: Bearer {self.token}\r\n\r\n'.encode())
            s.settimeout(1)
            while not self.over.is_set():
                try:
                    self.n_bytes += len(s.recv(65536))
                except TimeoutError:
                    pass


def measure(pid, seconds):
    """CPU seconds of the loop's thread and of all of it, in so long a time."""
    def now():
        return cpu_s(f'/proc/{pid}/task/{pid}/stat'), cpu_s(f'/proc/{pid}/stat')
    before = now()
    time.sleep(seconds)
    return tuple(b - a for a, b in zip(before, now()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build')
    parser.add_argument('--pages', type=int, default=50)
    parser.add_argument('--seconds', type=int, default=60)
    parser.add_argument('--details', action='store_true')
    options = parser.parse_args()
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix='vrtd-bench-') as folder:
        path = os.path.join(folder, 'vrtd.conf')
        with open(path, 'w', encoding='ascii') as f:
            f.write(f'[web]\nlisten = 127.0.0.1:{port}\n')
        video = os.path.join(folder, 'video.mkv')
        subprocess.run(['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=640x360', '-t',
                        '600', '-c:v', 'libx264', '-preset', 'ultrafast', video], check=True)
        socket_path = os.path.join(folder, 'vrtd.sock')
        environment = dict(os.environ, VRTD_SOCKET=socket_path)
        daemon = subprocess.Popen(
            [os.path.join(options.build, 'daemon', 'vrtd'), '--socket', socket_path, '--state-dir',
             os.path.join(folder, 'state'), '--config', path], stderr=subprocess.DEVNULL)
        try:
            bench(options, daemon.pid, port, video, environment)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def bench(options, pid, port, video, environment):
    def vrtctl(*arguments):
        return subprocess.run([os.path.join(options.build, 'client', 'vrtctl'), *arguments],
                              env=environment, check=True, capture_output=True, text=True).stdout
    while not os.path.exists(environment['VRTD_SOCKET']):
        time.sleep(0.1)
    token = re.search(r'vrtd_[\w-]+', vrtctl('token', 'new', 'bench', '--admin')).group()
    job = json.loads(vrtctl('submit', '--json', video).splitlines()[-1])['id']
    time.sleep(5)
    costs = []
    for _ in range(2):
        idle_loop, idle_all = measure(pid, options.seconds)
        over = threading.Event()
        pages = [Page(port, token, options.details and job, over) for _ in range(options.pages)]
        for page in pages:
            page.start()
        time.sleep(LOOK_S)
        loop, everything = measure(pid, options.seconds)
        over.set()
        for page in pages:
            page.join()
        costs.append(100 * (loop - idle_loop) / everything)
        print(f'{options.seconds} s each: loop {idle_loop:.2f} s of {idle_all:.2f} s CPU with no '
              f'page, {loop:.2f} s of {everything:.2f} s with {options.pages} '
              f'({sum(p.n_bytes for p in pages) / 1e6:.1f} MB, '
              f'{sum(p.n_answers for p in pages)} answers): {costs[-1]:.2f} %')
    vrtctl('cancel', str(job))
    print(f'{options.pages} pages cost {max(costs):.2f} % of the job at most')


if __name__ == '__main__':
    main()
