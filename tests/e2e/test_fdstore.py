#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs go on over a restart of the daemon with no help from their clients, where the service
manager keeps their files."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import clip
from manager import Manager

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'unit', 'model'))
import graph_files  # noqa: E402  pylint: disable=wrong-import-position

CONFIG = {'jobs': {'segment_frames': 8, 'max_running': 1}, **harness.SLOW}
FRAMES = 96


class Keep(harness.FolderCase):
    @classmethod
    def setUpClass(cls):
        cls.sources = tempfile.mkdtemp(prefix='vrtd-e2e-')
        cls.addClassCleanup(shutil.rmtree, cls.sources)
        cls.source = clip(os.path.join(cls.sources, 's.mkv'), frames=FRAMES, audio=True)
        wanted = os.path.join(cls.sources, 'wanted.mkv')
        daemon = harness.Daemon(cls.sources, CONFIG)
        done = cls.vrtctl(daemon, 'submit', '--follow', '--output', wanted, cls.source)
        status = daemon.stop()
        if done.returncode != 0 or status != 0:
            raise AssertionError(done.stderr + daemon.log_text())
        cls.wanted = harness.digest(wanted)

    def setUp(self):
        super().setUp()
        self.manager = Manager(self.folder)
        self.addCleanup(self.manager.close)

    def start(self, config=None):
        daemon = self.manager.start(self.folder, config or CONFIG)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    @staticmethod
    def vrtctl(daemon, *arguments):
        return subprocess.run([harness.VRTCTL, '--socket', daemon.socket, *map(str, arguments)],
                              capture_output=True, text=True, timeout=harness.PATIENCE_S)

    def submit(self, daemon, name, *options):
        done = self.vrtctl(daemon, 'submit', '--json', *options, '--output', self.path(name),
                           self.source)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)['id']

    def wait_for_frames(self, daemon, job, n):
        deadline = time.monotonic() + harness.PATIENCE_S
        while daemon.job(job)['frames_done'] < n:
            self.assertLess(time.monotonic(), deadline, daemon.log_text())
            time.sleep(0.02)

    def expect_done(self, daemon, job, name):
        self.assertEqual(self.vrtctl(daemon, 'wait', job).returncode, 0, daemon.log_text())
        self.assertEqual(daemon.job(job)['state'], 'done')
        self.assertEqual(harness.digest(self.path(name)), self.wanted)

    def test_killed(self):
        """Twice in the middle of a job; another one waits all the time, a third is cancelled."""
        daemon = self.start()
        jobs = [self.submit(daemon, f'{i}.mkv') for i in range(3)]
        self.manager.wait_for_store([f'{j}{r}' for j in jobs for r in 'io'])
        self.assertEqual(self.vrtctl(daemon, 'cancel', jobs[2]).returncode, 0)
        kept = [f'{j}{r}' for j in jobs[:2] for r in 'io']
        self.manager.wait_for_store(kept)
        for frames in (FRAMES // 4, FRAMES // 2):
            self.wait_for_frames(daemon, jobs[0], frames)
            daemon.kill()
            daemon = self.start()
            self.manager.wait_for_store(kept)
            # It goes on, and what was stored isn't done again.
            shown = daemon.job(jobs[0])
            self.assertNotEqual(shown['state'], 'needs_input')
            self.assertGreaterEqual(shown['frames_done'], frames // 3)
        self.expect_done(daemon, jobs[0], '0.mkv')
        self.expect_done(daemon, jobs[1], '1.mkv')
        self.assertEqual(daemon.job(jobs[2])['state'], 'cancelled')
        self.manager.wait_for_store([])
        self.assertEqual(daemon.stop(), 0)

    def test_killed_comparing(self):
        """All is there but the figures: the next daemon has the reference, too, and tells them."""
        source, truth = (os.path.join(self.sources, name) for name in ('c.mkv', 'truth.mkv'))
        clip(source, frames=6, size='256x192')
        harness.ffmpeg('-i', source, '-vf', 'scale=512:384', '-c:v', 'ffv1', truth)
        daemon = self.start()
        found = {}
        for name in ('plain.mkv', 'killed.mkv'):
            done = self.vrtctl(daemon, 'submit', '--json', '--reference', truth, '-o',
                               self.path(name), source)
            self.assertEqual(done.returncode, 0, done.stderr)
            job = json.loads(done.stdout)['id']
            if name == 'killed.mkv':
                joined = os.path.join(self.folder, 'state', 'spool', str(job), 'joined.mkv')
                self.manager.wait_for_store([f'{job}{r}' for r in 'ior'])
                deadline = time.monotonic() + harness.PATIENCE_S
                while not os.path.exists(joined):
                    self.assertLess(time.monotonic(), deadline, daemon.log_text())
                    time.sleep(0.002)
                daemon.kill()
                self.assertEqual(os.path.getsize(self.path(name)), 0)
                daemon = self.start()
            self.assertEqual(self.vrtctl(daemon, 'wait', job).returncode, 0, daemon.log_text())
            found[name] = daemon.job(job)['comparison'], harness.digest(self.path(name))
        self.assertIsNotNone(found['plain.mkv'][0])
        self.assertEqual(found['plain.mkv'], found['killed.mkv'])
        self.assertEqual(daemon.stop(), 0)

    def test_terminated(self):
        """The segment in work is finished first: then nothing is done twice."""
        daemon = self.start()
        job = self.submit(daemon, '0.mkv')
        self.wait_for_frames(daemon, job, 20)
        self.assertEqual(daemon.stop(), 0)
        self.manager.wait_for(lambda n: n.get('STOPPING') == '1')
        self.manager.wait_for(lambda n: 'EXTEND_TIMEOUT_USEC' in n)
        self.manager.wait_for_store([f'{job}i', f'{job}o'])
        daemon = self.start()
        self.assertGreaterEqual(daemon.job(job)['frames_done'], 20)
        self.expect_done(daemon, job, '0.mkv')
        self.manager.wait_for_store([])
        self.assertEqual(daemon.stop(), 0)

    def test_terminated_without_patience(self):
        config = dict(CONFIG, daemon={'stop_timeout': 0})
        config['jobs'] = dict(CONFIG['jobs'], segment_frames=100000)
        daemon = self.start(config)
        job = self.submit(daemon, '0.mkv')
        self.wait_for_frames(daemon, job, 5)
        began = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - began, 20)
        daemon = self.start(config)
        self.assertEqual(self.vrtctl(daemon, 'wait', job).returncode, 0, daemon.log_text())
        self.assertEqual(daemon.stop(), 0)

    def test_hurried(self):
        """A second signal doesn't wait, and loses no more than a kill would."""
        daemon = self.start()
        job = self.submit(daemon, '0.mkv')
        self.wait_for_frames(daemon, job, 20)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.send_signal(signal.SIGINT)
        self.assertIn(daemon.process.wait(harness.PATIENCE_S), (0, 1))
        daemon.log.close()
        daemon = self.start()
        self.expect_done(daemon, job, '0.mkv')
        self.assertEqual(daemon.stop(), 0)

    def test_model_is_kept(self):
        """A checkpoint that came with the job is as much its file as the video."""
        models = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'models')
        model = self.path('mine.safetensors')
        shutil.copy(os.path.join(models, 'compact-x2.safetensors'), model)
        daemon = self.start()
        job = self.submit(daemon, '0.mkv', '--model', model)
        self.manager.wait_for_store([f'{job}i', f'{job}o', f'{job}m'])
        os.unlink(model)
        self.wait_for_frames(daemon, job, 20)
        daemon.kill()
        daemon = self.start()
        self.expect_done(daemon, job, '0.mkv')
        self.manager.wait_for_store([])
        self.assertEqual(daemon.stop(), 0)

    def test_other_denoise(self):
        """Both networks that are mixed are read anew: another one of them is noticed, and the job
        goes on to the same bytes when the right one is there again."""
        folder = self.path('state/models')
        os.makedirs(folder)
        nets = [graph_files.compact(scale=4) for _ in range(2)]
        nets[1].names = {name: (shape, [-value / 2 for value in values])
                         for name, (shape, values) in nets[0].names.items()}
        paths = [os.path.join(folder, f'realesr-general-{name}x4v3.safetensors')
                 for name in ('', 'wdn-')]
        for net, path in zip(nets, paths):
            with open(path, 'wb') as f:
                f.write(graph_files.safetensors(net))
        source = clip(self.path('d.mkv'), frames=96)
        options = ['-m', 'realesr-general-x4v3', '--denoise', 0.25]
        daemon = self.start()
        found = {}
        for name in ('plain.mkv', 'killed.mkv'):
            done = self.vrtctl(daemon, 'submit', '--json', *options, '-o', self.path(name), source)
            self.assertEqual(done.returncode, 0, done.stderr)
            job = json.loads(done.stdout)['id']
            if name == 'killed.mkv':
                self.manager.wait_for_store([f'{job}i', f'{job}o'])
                self.wait_for_frames(daemon, job, 16)
                daemon.kill()
                os.rename(paths[1], self.path('away'))
                shutil.copy(paths[0], paths[1])
                daemon = self.start()
                self.assertNotEqual(self.vrtctl(daemon, 'wait', job).returncode, 0)
                error = daemon.job(job)['error']
                self.assertEqual(error['id'], 'model.other')
                self.assertIn('what it is mixed with by denoise', error['message'])
                os.unlink(paths[1])
                self.assertIn('wdn-x4v3 beside it', self.retried(daemon, job)['error']['message'])
                os.rename(self.path('away'), paths[1])
                self.retried(daemon, job)
            self.assertEqual(self.vrtctl(daemon, 'wait', job).returncode, 0, daemon.log_text())
            found[name] = harness.digest(self.path(name))
        self.assertGreaterEqual(daemon.job(job)['n_starts'], 3)
        self.assertEqual(found['plain.mkv'], found['killed.mkv'])
        self.assertEqual(daemon.stop(), 0)

    def retried(self, daemon, job):
        done = self.vrtctl(daemon, 'retry', job)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.vrtctl(daemon, 'wait', job)
        return daemon.job(job)

    def test_not_kept(self):
        """A store that lost everything, as after systemctl stop: the job says what it needs."""
        daemon = self.start()
        job = self.submit(daemon, '0.mkv')
        self.wait_for_frames(daemon, job, 20)
        daemon.kill()
        for fd in self.manager.store.values():
            os.close(fd)
        self.manager.store.clear()
        daemon = self.start()
        self.assertEqual(daemon.job(job)['state'], 'needs_input')
        self.assertEqual(daemon.stop(), 0)


if __name__ == '__main__':
    harness.main()
