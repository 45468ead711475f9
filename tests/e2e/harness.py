# SPDX-License-Identifier: MIT
"""A vrtd of the test's own, and what the end-to-end tests ask of it.

Each test class gets a daemon on a socket in a temporary folder, run from the build folder that
VRTD_BUILD names; it must end cleanly on SIGTERM, or the class fails. VRTD_FAULT, where it is
set, is the schedule of the fault wrapper that every daemon runs under: the same tests then show
that device failures change nothing a user sees. What Case.restore() restores is then compared, to
the byte, with what an undisturbed daemon makes of it.
"""
import fractions
import functools
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import checkpoints

BUILD = os.environ['VRTD_BUILD']
VRTD = os.path.join(BUILD, 'daemon', 'vrtd')
VRTCTL = os.path.join(BUILD, 'client', 'vrtctl')

# Where clips are kept, from run to run if VRT_KEPT says where, and which ffmpeg made them; of what
# it prints so much at most.
CLIPS = os.path.join(os.environ.get('VRT_KEPT') or os.path.join(BUILD, 'tests', 'e2e'), 'clips')
FFMPEG_MADE = shutil.which('ffmpeg') and os.stat(shutil.which('ffmpeg')).st_mtime_ns
KEPT_BYTES_MAX = 4 << 20

# Sanitizers slow everything down; nothing here is a measurement.
PATIENCE_S = 240

# Jobs that are to be long enough for something to happen to them are so with fewer frames there.
SANITIZED = os.environ.get('VRTD_SANITIZED', '') not in ('', '0')

# Of devices that wait before each piece of work: small jobs take long there, and little of the
# processor.
SLOW = {'devices': {'fault': 'submit:1- delay=15ms'}}

# What devices suffer; '': nothing.
FAULT = os.environ.get('VRTD_FAULT', '')


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the daemon's socket."""

    def __init__(self, path):
        super().__init__('vrtd', timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(self.path)


class Daemon:
    """A running vrtd. Ended by stop(), which returns its exit status. Without `wait` it may not
    have begun to serve yet: await_ready() waits for that. A `small` one takes a network that costs
    next to nothing for jobs that name none."""

    def __init__(self, folder, config=None, arguments=(), fault=FAULT, prefix=(), wait=True,
                 small=False, **options):
        self.folder = folder
        self.socket = os.path.join(folder, 'vrtd.sock')
        self.log_path = os.path.join(folder, 'vrtd.log')
        command = [VRTD, '--socket', self.socket, '--state-dir', os.path.join(folder, 'state')]
        text = {section: dict(keys) for section, keys in (config or {}).items()}
        if fault:
            devices = text.setdefault('devices', {})
            devices['fault'] = '; '.join(filter(None, [devices.get('fault'), fault]))
            devices.setdefault('backoff_s', 1)
        if small:
            models = os.path.join(folder, 'models')
            os.makedirs(models, exist_ok=True)
            checkpoints.write_safetensors(os.path.join(models, 'small.safetensors'),
                                          checkpoints.small())
            text.setdefault('daemon', {})['models_dir'] = models
            text.setdefault('jobs', {})['model'] = 'small'
        if text:
            path = os.path.join(folder, 'vrtd.conf')
            with open(path, 'w', encoding='utf-8') as f:
                for section, keys in text.items():
                    f.write(f'[{section}]\n')
                    f.writelines(f'{k} = {v}\n' for k, v in keys.items())
            command += ['--config', path]
        self.log = open(self.log_path, 'ab')
        environment = dict(options.pop('env', None) or os.environ)
        # What can be made again is kept in the test's own folder, not in its user's.
        environment['XDG_CACHE_HOME'] = os.path.join(folder, 'cache')
        environment.pop('CACHE_DIRECTORY', None)
        self.process = subprocess.Popen([*prefix, *command, *arguments], stderr=self.log,
                                        stdout=self.log, stdin=subprocess.DEVNULL,
                                        env=environment, **options)
        if wait:
            self.await_ready()

    def await_ready(self):
        deadline = time.monotonic() + PATIENCE_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError('vrtd did not start:\n' + self.log_text())
            time.sleep(0.02)

    def answers(self):
        try:
            return self.request('GET', '/v1/status')[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def request(self, method, path, body=None, headers=None):
        """The status and the decoded JSON (or text) of the answer."""
        connection = UnixConnection(self.socket)
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            data = response.read()
            assert response.reason != 'Unknown', response.status
            kind = response.getheader('Content-Type') or ''
            return response.status, json.loads(data) if 'json' in kind else data.decode()
        finally:
            connection.close()

    def job(self, number):
        """What the API tells of it: cheaper to ask again and again than vrtctl."""
        return self.request('GET', f'/v1/jobs/{number}')[1]

    def memory_peak_bytes(self):
        with open(f'/proc/{self.process.pid}/status', encoding='utf-8') as f:
            return next(int(l.split()[1]) * 1024 for l in f if l.startswith('VmHWM'))

    def processes(self, name):
        """Those of vrt-media that are called so."""
        tasks, found = f'/proc/{self.process.pid}/task', []
        for thread in os.listdir(tasks):
            try:
                with open(f'{tasks}/{thread}/children', encoding='ascii') as f:
                    for child in f.read().split():
                        with open(f'/proc/{child}/comm', encoding='ascii') as comm:
                            if comm.read().strip() == name:
                                found.append(int(child))
            except OSError:         # the thread, or the child, is gone
                pass
        return found

    def children(self):
        """What works for jobs."""
        return self.processes('vrt-media')

    def zygotes(self):
        """What divides into them."""
        return self.processes('vrt-zygote')

    def resident_bytes(self):
        with open(f'/proc/{self.process.pid}/statm', encoding='ascii') as f:
            return int(f.read().split()[1]) * os.sysconf('SC_PAGESIZE')

    def n_descriptors(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def log_text(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as f:
            return f.read()

    def kill(self):
        """As a crash would: nothing is cleaned up."""
        self.process.kill()
        self.process.wait()
        self.log.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        return self.process.returncode


class FolderCase(unittest.TestCase):
    """Tests that have a folder each, and start there what they need."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='vrtd-e2e-')
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)


class Case(unittest.TestCase):
    """Tests that share one daemon, whose configuration is `config`."""

    config = None
    small = False           # whether its daemons are
    few_jobs = False        # too few for a schedule to strike

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix='vrtd-e2e-')
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.daemon = cls.start_daemon(cls.folder)
        if FAULT:
            folder = os.path.join(cls.folder, 'undisturbed')
            os.mkdir(folder)
            cls.undisturbed = cls.start_daemon(folder, fault='')
            cls.addClassCleanup(cls.expect_faults)

    @classmethod
    def start_daemon(cls, folder, **options):
        daemon = Daemon(folder, cls.config, small=cls.small, **options)
        cls.addClassCleanup(cls.stop_daemon, daemon)
        return daemon

    @classmethod
    def expect_faults(cls):
        if not cls.few_jobs and 'goes wrong, as scheduled' not in cls.daemon.log_text():
            raise AssertionError('no device ever failed:\n' + cls.daemon.log_text())

    @staticmethod
    def stop_daemon(daemon):
        status = daemon.stop()
        log = daemon.log_text()
        if status != 0 or 'ERROR: ' in log or 'runtime error' in log or 'still open' in log:
            raise AssertionError(f'vrtd ended with {status}:\n{log}')

    def path(self, name):
        return os.path.join(self.folder, name)

    def wait_until(self, happens):
        """Until the function says so."""
        deadline = time.monotonic() + PATIENCE_S
        while not happens():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def vrtctl(self, *arguments, status=0, daemon=None, **options):
        """Runs vrtctl, checks its exit status (None: any), returns what it printed."""
        environment = {**os.environ, 'VRTD_SOCKET': (daemon or self.daemon).socket,
                       'XDG_STATE_HOME': self.path('state-home'), **options}
        done = subprocess.run([VRTCTL, *map(str, arguments)], capture_output=True, text=True,
                              env=environment, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        if status is not None and done.returncode != status:
            self.fail(f'vrtctl {" ".join(map(str, arguments))} ended with {done.returncode}, not '
                      f'{status}:\n{done.stdout}{done.stderr}\n'
                      + (daemon or self.daemon).log_text())
        return done

    def refused(self, *arguments, says, status=1):
        """vrtctl refuses with one line on standard error that contains `says`; vrtd goes on."""
        done = self.vrtctl(*arguments, status=status)
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(says.lower(), lines[0].lower())
        self.assertTrue(self.daemon.answers())
        return lines[0]

    def restore(self, source, target, *options, **more):
        """Submits and follows to the end; the job's last JSON."""
        job = self.follow(source, target, *options, **more)
        if FAULT:
            name, container = os.path.splitext(os.path.basename(target))
            wanted = os.path.join(self.undisturbed.folder, name + '.wanted' + container)
            self.follow(source, wanted, *options, '--overwrite', daemon=self.undisturbed, **more)
            self.assertEqual(digest(target), digest(wanted), self.daemon.log_text())
        return job

    def follow(self, source, target, *options, **more):
        done = self.vrtctl('submit', '--follow', '--json', *options, '--output', target, source,
                           **more)
        return json.loads(done.stdout.strip().splitlines()[-1])

    def own_warnings(self, job):
        """The job's warnings, save that the schedule brought a device down, and it was left out."""
        return [w for w in job['warnings'] if not FAULT or not (
            w.startswith('not every device takes part') or 'is left out until it works again' in w)]


def keep(key, kind, make):
    """The path of what is kept under a key: if it isn't there make(path) makes it."""
    name = hashlib.sha256(repr((FFMPEG_MADE, key)).encode()).hexdigest()
    kept = os.path.join(CLIPS, name + kind)
    if not os.path.exists(kept):
        os.makedirs(CLIPS, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CLIPS) as folder:
            make(os.path.join(folder, 'made' + kind))
            os.replace(os.path.join(folder, 'made' + kind), kept)
    return kept


def ffmpeg(*arguments):
    """Runs it; once for all tests, where it makes one file of nothing but its arguments, and, where
    VRT_KEPT says where such are kept, of files with the same bytes."""
    *options, path = map(str, arguments)

    def run(path):
        subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-y', *options, path], check=True,
                       timeout=PATIENCE_S)

    files = [i for i, option in enumerate(options[1:], 1) if options[i - 1] == '-i'
             and options[max(i - 3, 0):i - 1] != ['-f', 'lavfi']]
    key = [digest(option) if i in files and os.path.isfile(option) else option
           for i, option in enumerate(options)]
    if tempfile.gettempdir() in str(key) or '%' in path or not os.path.isabs(path) or \
            'concat' in options or files and not os.environ.get('VRT_KEPT'):
        run(path)
    else:
        shutil.copyfile(keep(key, os.path.splitext(path)[1], run), path)


def said(program, before, path, after=(), check=True):
    """What ffmpeg or ffprobe prints, with options before the file and after it: once for all files
    of the same bytes, where VRT_KEPT says where that is kept and it isn't much."""
    done = None

    def run(out=None):
        nonlocal done
        done = subprocess.run([program, '-v', 'error', *before, '-i', path, *after], check=check,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
        if out and done.returncode == 0 and len(done.stdout) <= KEPT_BYTES_MAX:
            with open(out, 'wb') as f:
                f.write(done.stdout)

    if not os.environ.get('VRT_KEPT') or not os.path.isfile(path):
        run()
        return done.stdout
    key = program, before, digest(path), os.path.splitext(path)[1], after
    try:
        with open(keep(key, '.out', run), 'rb') as f:
            return f.read()
    except FileNotFoundError:
        return done.stdout


def clip(path, *options, frames=6, size='64x48', source='testsrc2', rate=25, audio=False):
    """A small video made by ffmpeg. Return: its path."""
    inputs = ['-f', 'lavfi', '-i', f'{source}=size={size}:rate={rate}']
    if audio:
        inputs += ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000:duration='
                   f'{float(frames / fractions.Fraction(rate))}']
    # With several threads libx264 makes other bytes now and then, where a processor has AVX-512.
    ffmpeg(*inputs, '-frames:v', frames, '-threads', 1, '-bitexact', *options, path)
    return path


@functools.lru_cache(maxsize=8)
def ffprobe(path, _state):
    """What it says of a file that has not changed since."""
    return json.loads(said('ffprobe', ['-count_frames', '-show_format', '-show_streams',
                                       '-show_chapters', '-show_entries',
                                       'packet=stream_index,pts_time', '-of', 'json'], path))


def probe(path):
    """ffprobe's account of a file: format, streams, chapters, packets, with frames counted."""
    state = os.stat(path)
    return ffprobe(path, (state.st_ino, state.st_size, state.st_mtime_ns))


def video_stream(path):
    return next(s for s in probe(path)['streams'] if s['codec_type'] == 'video'
                and not s['disposition'].get('attached_pic'))


def timestamps(path, stream='v:0'):
    """Presentation times, in seconds, sorted."""
    told, (kind, number) = probe(path), stream.split(':')
    index = [s['index'] for s in told['streams'] if s['codec_type'][0] == kind][int(number)]
    return sorted(float(p['pts_time']) for p in told['packets']
                  if p['stream_index'] == index and 'pts_time' in p)


def pixels(path, pixel_format='yuv420p'):
    """All frames as raw bytes."""
    return said('ffmpeg', [], path, ['-map', '0:v:0', '-fps_mode', 'passthrough', '-f', 'rawvideo',
                                     '-pix_fmt', pixel_format, '-'])


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    if not shutil.which('ffmpeg'):
        print('skipped: the ffmpeg program is not installed')
        sys.exit(77)
    unittest.main(verbosity=2)
