#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GET /metrics and GET /healthz: what Prometheus and who balances load are told.

Counters are compared with what jobs of known frames did, gauges with what vrtctl tells, the text
with promtool's rules where it is installed, and the board in docs/ with the names that there are.
"""
import json
import os
import re
import shutil
import subprocess
import threading
import time

import harness
from harness import clip

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})? (\S+)\Z')

# The devices suffer what these tests say, and nothing else.
CONFIG = {'cpu': {'devices': 2, 'threads': 1}}


def parse(text):
    """The value of each sample, by its name and labels as they stand there; the types."""
    samples, types = {}, {}
    for line in text.splitlines():
        if line.startswith('# TYPE '):
            types[line.split()[2]] = line.split()[3]
        elif not line.startswith('# HELP '):
            name, labels, value = SAMPLE.match(line).groups()
            assert name + (labels or '') not in samples, line
            samples[name + (labels or '')] = float(value)
    return samples, types


def is_counter(sample, types):
    name = sample.partition('{')[0]
    family = re.sub('_(bucket|sum|count)$', '', name)
    return types.get(name) == 'counter' or types.get(family) == 'histogram'


class Metrics(harness.FolderCase):
    def start(self, **options):
        daemon = harness.Daemon(self.folder, {**CONFIG, **options.pop('config', {})},
                                **{'fault': '', **options})
        self.addCleanup(lambda: daemon.process.poll() is not None or daemon.stop())
        return daemon

    def vrtctl(self, daemon, *arguments, status=0):
        done = subprocess.run([harness.VRTCTL, '--socket', daemon.socket, *arguments], text=True,
                              capture_output=True, timeout=harness.PATIENCE_S)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def scrape(self, daemon):
        connection = harness.UnixConnection(daemon.socket)
        try:
            connection.request('GET', '/metrics')
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.getheader('Content-Type'), 'text/plain; version=0.0.4')
            return answer.read().decode()
        finally:
            connection.close()

    def health(self, daemon):
        return daemon.request('GET', '/healthz')

    def await_health(self, daemon, status):
        deadline = time.monotonic() + harness.PATIENCE_S
        while (told := self.health(daemon))[0] != status:
            self.assertLess(time.monotonic(), deadline, told)
            time.sleep(0.02)
        return told[1]

    def test_counts_are_those_of_the_jobs(self):
        daemon = self.start(config={'jobs': {'segment_frames': 8}})
        self.await_health(daemon, 200)
        scrapes, over = [], threading.Event()

        def scrape_on():
            while not over.is_set():
                scrapes.append(self.scrape(daemon))
        thread = threading.Thread(target=scrape_on)
        thread.start()
        try:
            for frames in 50, 30:
                source = clip(self.path(f'{frames}.mkv'), frames=frames)
                self.vrtctl(daemon, 'submit', '--follow', source)
            broken = self.path('broken.mp4')
            with open(broken, 'wb') as f:
                f.write(b'no video' * 100)
            self.vrtctl(daemon, 'submit', broken, status=1)
            self.vrtctl(daemon, 'submit', '--dry-run', '--overwrite', source)
        finally:
            over.set()
            thread.join()
        last = {}
        for text in [*scrapes, self.scrape(daemon)]:
            samples, types = parse(text)
            for sample in last:
                self.assertIn(sample, samples, 'a series went')
                if is_counter(sample, types):
                    self.assertGreaterEqual(samples[sample], last[sample], sample)
            last = samples
        self.assertGreater(len(scrapes), 2)
        self.assertEqual(last['vrtd_frames_done_total'], 80)
        self.assertEqual(last['vrtd_jobs_accepted_total'], 2)
        self.assertEqual(last['vrtd_jobs_ended_total{state="done"}'], 2)
        self.assertEqual(last['vrtd_jobs_ended_total{state="failed"}'], 0)
        self.assertEqual(last['vrtd_jobs_refused_total{error="input.not_media"}'], 1)
        self.assertEqual([s for s in last if s.startswith('vrtd_jobs_failed_total')], [])
        self.assertEqual(last['vrtd_log_lines_total{level="info"}'],
                         daemon.log_text().count(' info '))
        # Of a network of single frames each is done once, but for those that two devices did.
        frames = [last[f'vrtd_device_frames_done_total{{device="cpu:{i}"}}'] for i in (0, 1)]
        self.assertGreaterEqual(sum(frames), 80)
        for stage in 'decode', 'compute', 'encode':
            self.assertGreater(last[f'vrtd_stage_busy_seconds_total{{stage="{stage}"}}'], 0)

    def test_failures_are_counted(self):
        """Devices that fail for good: the job fails by its error, and health says why not."""
        daemon = self.start(fault='submit:1- lost revive=never', config={
            'devices': {'backoff_s': 86400, 'patience_s': 1}})
        self.assertEqual(self.await_health(daemon, 200), 'ok\n')
        source = clip(self.path('s.mkv'), frames=4)
        self.vrtctl(daemon, 'submit', '--follow', source, status=1)
        told = self.await_health(daemon, 503)
        lines = told.splitlines()
        self.assertEqual(lines[0], 'no device takes shards')
        self.assertRegex(lines[1], r'\Acpu:0 is quarantined, to be tried again in \d+ s: .')
        self.assertRegex(lines[2], r'\Acpu:1 is quarantined, to be tried again in \d+ s: .')
        samples = parse(self.scrape(daemon))[0]
        failed = {s: n for s, n in samples.items() if s.startswith('vrtd_jobs_failed_total')}
        job = json.loads(self.vrtctl(daemon, 'show', '--json', '1'))
        self.assertEqual(failed, {f'vrtd_jobs_failed_total{{error="{job["error"]["id"]}"}}': 1})
        self.assertEqual(samples['vrtd_jobs_ended_total{state="failed"}'], 1)
        self.assertEqual(samples['vrtd_frames_done_total'], 0)
        for d in 0, 1:
            name = f'cpu:{d}'
            self.assertEqual(samples[f'vrtd_device_state{{device="{name}",state="quarantined"}}'],
                             1)
            self.assertGreaterEqual(samples[f'vrtd_device_quarantines_total{{device="{name}"}}'],
                                    1)

    def test_promtool_finds_nothing(self):
        promtool = shutil.which('promtool')
        if not promtool:
            self.skipTest('there is no promtool: the package prometheus has it')
        daemon = self.start()
        self.await_health(daemon, 200)
        self.vrtctl(daemon, 'submit', '--follow', clip(self.path('s.mkv'), frames=8))
        done = subprocess.run([promtool, 'check', 'metrics'], input=self.scrape(daemon), text=True,
                              capture_output=True, timeout=harness.PATIENCE_S)
        self.assertEqual([done.returncode, done.stdout, done.stderr], [0, '', ''])

    def test_board_names_what_there_is(self):
        daemon = self.start()
        names = set(parse(self.scrape(daemon))[1])
        with open(os.path.join(ROOT, 'docs', 'grafana.json'), encoding='utf-8') as f:
            board = json.load(f)
        queries = [target['expr'] for panel in board['panels']
                   for target in panel.get('targets', [])]
        self.assertGreater(len(queries), 10)
        for query in queries:
            for name in re.findall(r'\b(?:vrtd|process)_\w+', query):
                self.assertIn(re.sub('_(bucket|sum|count)$', '', name), names, query)


if __name__ == '__main__':
    harness.main()
