#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A daemon's life: starting, a second one, signals, cancelling, being killed."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import harness
from harness import clip


SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


class Life(harness.FolderCase):
    def start(self, config=None):
        daemon = harness.Daemon(self.folder, config)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def vrtd(self, *arguments, **environment):
        return subprocess.run([harness.VRTD, *arguments], capture_output=True, text=True,
                              timeout=harness.PATIENCE_S, env=dict(os.environ, **environment))

    def vrtctl(self, daemon, *arguments):
        return subprocess.run([harness.VRTCTL, '--socket', daemon.socket, *map(str, arguments)],
                              capture_output=True, text=True, timeout=harness.PATIENCE_S)

    def wait_until(self, happens):
        deadline = time.monotonic() + harness.PATIENCE_S
        while not happens():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_options(self):
        self.assertIn('vrtd', self.vrtd('--version').stdout)
        said = self.vrtd('--help').stdout
        for words in '--socket', '$XDG_RUNTIME_DIR/vrtd.sock', 'root on /run/vrtd/vrtd.sock,', \
                '~/.local/state/vrtd/vrtd.sock':
            self.assertIn(words, said)
        done = self.vrtd('--frobnicate')
        self.assertEqual(done.returncode, 2)
        self.assertIn('--help', done.stderr)

    def test_check_config(self):
        good, bad = self.path('good.conf'), self.path('bad.conf')
        with open(good, 'w', encoding='utf-8') as f:
            f.write('[cpu]\ndevices = 2\n')
        with open(bad, 'w', encoding='utf-8') as f:
            f.write('[cpu]\ndevices = 2\n\n[cpu]\nthreds = 1\n')
        self.assertEqual(self.vrtd('--check-config', '--config', good).returncode, 0)
        done = self.vrtd('--check-config', '--config', bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn('bad.conf:5', done.stderr)
        self.assertIn('threds', done.stderr)

    def installed(self, source):
        """Where the build would install one of its files."""
        with open(os.path.join(harness.BUILD, 'meson-info', 'intro-installed.json'),
                  encoding='utf-8') as f:
            return next(to for name, to in json.load(f).items() if name.endswith(source))

    def test_what_is_installed_is_read(self):
        """After the user's own, which --check-config names."""
        places = {'XDG_CONFIG_HOME': self.path('etc'), 'HOME': self.folder}
        asked = '--check-config', '--state-dir', self.path('state')
        installed, system = self.installed('config/vrtd.conf.in'), '/etc/vrtd/vrtd.conf'
        found = next(filter(os.path.exists, (installed, system)), None)
        done = self.vrtd(*asked, **places)
        if found:
            self.assertEqual(done.stdout, f'vrtd: {found} is right\n')
        else:
            self.assertIn(f'(looked for: {self.path("etc/vrtd/vrtd.conf")}, {installed}',
                          done.stdout)
        os.makedirs(self.path('etc/vrtd'))
        shutil.copy(os.path.join(SOURCES, 'config', 'vrtd.conf.in'),
                    self.path('etc/vrtd/vrtd.conf'))
        done = self.vrtd(*asked, **places)
        self.assertEqual(done.stdout, f'vrtd: {self.path("etc/vrtd/vrtd.conf")} is right\n',
                         done.stderr)

    @unittest.skipUnless(os.environ.get('VRTD_SYSTEMD') == '1', 'built without systemd')
    @unittest.skipUnless(shutil.which('meson'), 'no meson to configure with')
    def test_units_are_installed_where_systemd_looks(self):
        """For oneself units of one's own, and nothing of the system's."""
        home = self.path('home')
        environ = {**os.environ, 'HOME': home}
        for prefix, wanted in (
                (home + '/.local', ['share/systemd/user']),
                ('/usr/local', ['lib/systemd/system', 'lib/systemd/user', 'lib/sysusers.d',
                                'lib/tmpfiles.d'])):
            build = self.path('build' + prefix.replace('/', '-'))
            subprocess.run(['meson', 'setup', build, SOURCES, '--prefix', prefix,
                            '-Dauto_features=disabled', '-Dsystemd=enabled'], env=environ,
                           check=True, stdout=subprocess.DEVNULL)
            with open(os.path.join(build, 'meson-info', 'intro-installed.json'),
                      encoding='utf-8') as f:
                folders = {os.path.dirname(to) for to in json.load(f).values()
                           if '/systemd/' in to or '/sysusers.d/' in to or '/tmpfiles.d/' in to}
            self.assertEqual(folders, {os.path.join(prefix, folder) for folder in wanted})

    def test_parts_of_the_build(self):
        """What runs from where it was built looks there for its catalogue and its plugin."""
        daemon = self.start()
        models = self.vrtctl(daemon, 'models').stdout
        self.assertRegex(models, r'compact-x2 .* built in, 179 KiB +MIT +small and fast: twice')
        self.assertRegex(models, r'RealESRGAN_x4plus +esrgan +x4  not here, 64 MiB +BSD-3-Clause +'
                         'Real-ESRGAN: ')
        self.assertRegex(models, r'009_VRT_videofi_Vimeo_4frames .* VRT: twice the frames')
        log = daemon.log_text()
        if 'there is no plugin libvrt-cuda' in log:
            self.assertIn(f'in {os.path.realpath(harness.BUILD)}/workers/backend/cuda\n', log)
        self.assertEqual(daemon.stop(), 0)

    def test_log(self):
        """Times; what loading took, of the file and of each device; how far a job is."""
        model = os.path.join(SOURCES, 'models', 'compact-x2.safetensors')
        daemon = self.start({'cpu': {'devices': 2, 'threads': 1}, **harness.SLOW})
        source = clip(self.path('long.mp4'), frames=320)
        self.vrtctl(daemon, 'submit', '-m', model, source)
        self.wait_until(lambda: daemon.job(1)['frames_done'] > 0)
        # It says so each tenth, and each minute.
        self.wait_until(lambda: ' of 320 frames (2' in daemon.log_text())
        log = daemon.log_text()
        for line in log.splitlines():
            self.assertRegex(line, r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (info|warning) \w')
        self.assertRegex(log, r'the model compact-x2.safetensors was read in \d+\.\d\d s: .*, '
                         r'\d+\.\d million parameters, \d+\.\d MiB\n')
        for device in 'cpu:0', 'cpu:1':
            self.assertRegex(log, rf'{device}: SRVGG.* in (f32|bf16): \d+\.\d MiB of weights in '
                             r'\d+\.\d\d s; vrtd holds \d+\.\d MiB of the device, \d+\.\d before\n')
        self.assertRegex(log, r'job 1: \d+ of 320 frames \(1\d\.\d %\), [\d.]+ fps, '
                         r'cpu:0 [\d.]+, cpu:1 [\d.]+; \d+ s left\n')
        self.assertEqual(len(re.findall(r' of 320 frames \(1\d\.\d %\)', log)), 1)
        self.vrtctl(daemon, 'cancel', 1)
        self.assertEqual(daemon.stop(), 0)

    def test_decoder_threads(self):
        """As many as are configured."""
        source = clip(self.path('long.mp4'), frames=300, size='320x240')
        daemon = self.start({'jobs': {'decoder_threads': 3}, **harness.SLOW})
        self.vrtctl(daemon, 'submit', source)
        self.wait_until(lambda: daemon.job(1)['frames_done'] > 0)
        # Beside its first, and the one that watches whether vrtd is there.
        threads = [len(os.listdir(f'/proc/{child}/task')) for child in daemon.children()]
        self.assertIn(2 + 3, threads)
        self.vrtctl(daemon, 'cancel', 1)
        self.assertEqual(daemon.stop(), 0)

    def test_own_daemon_without_arguments(self):
        runtime = self.path('run')
        os.mkdir(runtime, 0o700)
        environment = dict(os.environ, XDG_RUNTIME_DIR=runtime, XDG_STATE_HOME=self.path('state'),
                           HOME=self.folder)
        process = subprocess.Popen([harness.VRTD], env=environment, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + harness.PATIENCE_S
            while not os.path.exists(os.path.join(runtime, 'vrtd.sock')):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            done = subprocess.run([harness.VRTCTL, 'status'], env=environment, capture_output=True,
                                  text=True, timeout=harness.PATIENCE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(harness.PATIENCE_S), 0)
        self.assertFalse(os.path.exists(os.path.join(runtime, 'vrtd.sock')))

    def test_second_daemon_is_refused(self):
        daemon = self.start()
        done = self.vrtd('--socket', daemon.socket, '--state-dir', self.path('state2'))
        self.assertEqual(done.returncode, 1)
        self.assertIn(daemon.socket, done.stderr)
        self.assertTrue(daemon.answers())
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(os.path.exists(daemon.socket))

    def test_serves_once_it_does(self):
        """That it serves is said when its jobs were read, not where that fails."""
        state = self.path('state')
        os.makedirs(os.path.join(state, 'vrtd.db'), mode=0o700)
        os.chmod(state, 0o700)
        done = self.vrtd('--socket', self.path('vrtd.sock'), '--state-dir', state)
        self.assertEqual(done.returncode, 1)
        self.assertIn('vrtd.db', done.stderr)
        self.assertNotIn('serves', done.stderr)
        os.rmdir(os.path.join(state, 'vrtd.db'))
        daemon = self.start(harness.SLOW)
        self.assertIn(f'vrtd serves {daemon.socket}', daemon.log_text())
        source = clip(self.path('kill.mp4'), frames=48)
        self.vrtctl(daemon, 'submit', '--output', self.path('kill.out.mp4'), source)
        while daemon.job(1)['state'] != 'running':
            time.sleep(0.02)
        daemon.kill()
        daemon = self.start()
        log = daemon.log_text().rsplit(' starts, and keeps its files in', 1)[1]
        self.assertLess(log.index('was interrupted'), log.index('vrtd serves'))
        self.assertEqual(daemon.stop(), 0)

    def test_terminated_in_the_middle_of_a_job(self):
        daemon = self.start(harness.SLOW)
        source = clip(self.path('long.mp4'), frames=96)
        target = self.path('long.out.mp4')
        self.assertEqual(self.vrtctl(daemon, 'submit', '--output', target, source).returncode, 0)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual([n for n in os.listdir(self.path('state')) if 'segment' in n], [])

    def test_cancel(self):
        daemon = self.start(harness.SLOW)
        source = clip(self.path('long.mp4'), frames=160)
        target = self.path('c.out.mp4')
        done = self.vrtctl(daemon, 'submit', '--json', '--output', target, source)
        job = json.loads(done.stdout)
        while daemon.job(job['id'])['frames_done'] < 5:
            time.sleep(0.05)
        self.assertEqual(self.vrtctl(daemon, 'cancel', job['id']).returncode, 0)
        self.assertEqual(self.vrtctl(daemon, 'wait', job['id']).returncode, 1)
        shown = daemon.job(job['id'])
        self.assertEqual(shown['state'], 'cancelled')
        self.assertLess(shown['frames_done'], 160)
        # Its place is free again; and what is empty blocks nobody.
        self.assertFalse(os.path.exists(target))
        open(target, 'wb').close()
        small = clip(self.path('small.mp4'), frames=3)
        done = self.vrtctl(daemon, 'submit', '--follow', '--output', target, small)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.vrtctl(daemon, 'submit', '--follow', '--output', target, small)
        self.assertIn('exists', done.stderr)
        _, answer = daemon.request('GET', '/v1/devices')
        self.assertTrue(all(d['state'] == 'ready' for d in answer['devices']))
        self.assertEqual(daemon.stop(), 0)

    def test_signals_go_to_the_loop(self):
        """No thread that decodes, computes or encodes takes a signal; the loop's, and libuv's own,
        that bear its name or libuv's, may."""
        daemon = self.start({'cpu': {'threads': 2}, **harness.SLOW})
        source = clip(self.path('s.mp4'), frames=160)
        done = self.vrtctl(daemon, 'submit', '--json', '--output', self.path('s.out.mp4'), source)
        job = json.loads(done.stdout)['id']
        while daemon.job(job)['frames_done'] < 5:
            time.sleep(0.02)
        tasks = f'/proc/{daemon.process.pid}/task'
        seen = set()
        for task in os.listdir(tasks):
            try:
                with open(f'{tasks}/{task}/status', encoding='utf-8') as f:
                    status = dict(line.rstrip('\n').split(':\t', 1) for line in f)
            except OSError:
                continue        # it has ended
            seen.add(status['Name'])
            blocked = int(status['SigBlk'], 16)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                if status['Name'] != 'vrtd' and not status['Name'].startswith('libuv-'):
                    self.assertTrue(blocked >> (number - 1) & 1, status['Name'])
                elif int(task) == daemon.process.pid:
                    self.assertFalse(blocked >> (number - 1) & 1)
        self.assertLessEqual({'vrtd', 'cpu:0', 'vrt-cpu-pool', 'vrt-encode'}, seen)
        self.assertEqual(daemon.stop(), 0)

    def test_interrupted_follow_leaves_the_job(self):
        daemon = self.start(harness.SLOW)
        source = clip(self.path('f.mp4'), frames=96)
        process = subprocess.Popen([harness.VRTCTL, '--socket', daemon.socket, 'submit', '--follow',
                                    '--output', self.path('f.out.mp4'), source],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + harness.PATIENCE_S
        while not json.loads(self.vrtctl(daemon, 'status', '--json').stdout)['jobs']['running']:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn('cancel', errors)
        self.assertEqual(self.vrtctl(daemon, 'wait', '1').returncode, 0)
        self.assertEqual(daemon.stop(), 0)


if __name__ == '__main__':
    harness.main()
