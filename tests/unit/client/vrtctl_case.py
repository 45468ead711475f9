# SPDX-License-Identifier: MIT
"""What the tests of vrtctl share: what a daemon would answer, and how the program is run."""
import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

from fake_vrtd import FakeVrtd, answer

VRTCTL = os.path.abspath(sys.argv.pop(1))
PATIENCE_S = 60


def job(number=12, state='running', **more):
    """A job's JSON as the daemon has it."""
    base = {
        'id': number, 'state': state, 'input_name': 'video.mp4',
        'output_name': 'video.restored.mp4',
        'model': {'name': 'compact-x2', 'architecture': 'compact', 'scale': 2,
                  'checksum': '0123456789abcdef'},
        'device': 'auto', 'priority': 0, 'created_at': '2026-01-02T03:04:05.678Z',
        'started_at': '2026-01-02T03:04:06.000Z', 'finished_at': None, 'elapsed_s': 7.0,
        'frames_total': 200, 'frames_done': 84, 'fps': 12.34, 'left_s': 9.4,
        'bottleneck': 'compute',
        'devices': [{'name': 'cpu:0', 'shards_done': 4, 'shards_running': 2, 'frames_done': 84,
                     'replica_bytes': 2500000, 'workspace_bytes': None, 'peak_bytes': 99000000}],
        'error': None,
        'stages': {'decode': 0.03, 'upload': None, 'compute': 0.99, 'download': None,
                   'encode': 0.2},
        'recipe': {'clip_frames': 8, 'clip_overlap': 0, 'tile_width': 640, 'tile_height': 360,
                   'overlap': 16, 'strength': 1, 'precision': 'f32', 'codec': 'h264',
                   'quality': 18, 'preset': 'medium', 'encoder_threads': 2},
        'video': {'width': 640, 'height': 360, 'output_width': 1280, 'output_height': 720,
                  'fps': 25, 'duration_s': 8, 'codec': 'h264', 'pixel_format': 'yuv420p'},
        'reproducible': True, 'warnings': [],
    }
    base.update(more)
    return base


DEVICE = {'name': 'cpu:0', 'kind': 'cpu', 'description': 'Two cores', 'state': 'ready',
          'threads': 2, 'memory': {'total_bytes': 8 << 30, 'free_bytes': None,
                                   'replica_bytes': 1 << 20, 'workspace_bytes': 1 << 20,
                                   'peak_bytes': 3 << 20},
          'shards_done': 40, 'shards_failed': 1, 'seconds_per_shard': 0.25, 'last_error': None}
CARD = {'number': 0, 'uuid': 'GPU-01020304-0506-0708-090a-0b0c0d0e0f10',
        'pci_address': '0000:01:00.0', 'compute_capability': '8.6', 'driver_version': '13.0',
        'runtime_version': '12.4'}
SENSORS = {'utilization_percent': 97, 'memory_utilization_percent': None,
           'temperature_celsius': 71, 'power_watts': 319.5, 'power_limit_watts': 350,
           'throttling': 'power limit'}
CUDA = dict(DEVICE, name='cuda:0', kind='cuda', threads=None, card=CARD, sensors=SENSORS,
            description='A card')
MODEL = {'name': 'compact-x2', 'architecture': 'compact', 'scale': 2, 'parameters': 65000,
         'source': 'built-in', 'description': 'for any video', 'license': 'MIT',
         'checksum': '0123456789abcdef', 'is_default': True}
STATUS = {'version': '9.9', 'pid': 42, 'uptime_s': 3661.4,
          'jobs': {'queued': 1, 'running': 2, 'done': 3, 'failed': 4, 'cancelled': 5},
          'devices': [{'name': 'cpu:0', 'state': 'busy'}, {'name': 'cpu:1', 'state': 'ready'}],
          'requests': 7, 'connections': 1}
# A job of which there is much to tell.
WHOLE = job(
    14, owner='anna', n_starts=2, segments_done=1, frames_estimated=True, frames_repeated=1,
    error={'id': 'x', 'message': 'it is hot', 'field': None}, warnings=['one', 'two'],
    finished_at='2026-01-02T04:04:06Z', input_path='/v/video.mp4', reference_name='gt.mkv',
    reference_path='/v/gt.mkv', model_path='/v/x4.pth', video=dict(job()['video'], start_s=61),
    comparison={'psnr_rgb': 30.5, 'psnr_y': None, 'ssim_rgb': 0.9, 'ssim_y': 0.95, 'worst_s': 1.25,
                'worst_psnr_y': 28.5, 'frames_equal': 2, 'frames_total': 84},
    devices=[job()['devices'][0], dict(job()['devices'][0], name='cpu:1', shards_running=0, fps=1.5,
                                       shards_done=1, frames_done=1, workspace_bytes=1 << 20)])
SHOWN = """Job 14: running
  Error      it is hot
  Input      /v/video.mp4
             640x360, 25.0 fps, 0:08 from 1:01, h264 yuv420p
  Output     video.restored.mp4
             1280x720
  Model      /v/x4.pth
             compact x2, checksum 0123456789abcdef
  Reference  /v/gt.mkv
             PSNR RGB 30.50 dB, Y equal; SSIM RGB 0.9000, Y 0.9500
             worst at 1.250 s: Y 28.50 dB; 2 of 84 frames equal
  Requested  device auto, priority 0, by anna
  Progress   84 of about 200 frames (42%), 12.3 fps, 0:07 elapsed, 0:09 left
  Repeated   1 frame like the one before, not computed
  Stored     1 segment of the result; begun 2 times
  Stages     decode 3%, compute 99%, encode 20%
  Bottleneck compute
  Devices    cpu:0: 84 frames, 4 shards, 2 under way, - fps
             model 2.4 MiB, workspace -, peak 94 MiB
             cpu:1: 1 frame, 1 shard, 0 under way, 1.5 fps
             model 2.4 MiB, workspace 1.0 MiB, peak 94 MiB
  Recipe     clips of 8 frames, not tiled, f32
             h264 CRF 18 medium, 2 encoder threads; reproducible
  Created    2026-01-02 03:04:05
  Started    2026-01-02 03:04:06
  Finished   2026-01-02 04:04:06
  Warnings   one
             two
"""


class Case(unittest.TestCase):
    program = VRTCTL

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix='vrtctl-'))
        self.addCleanup(shutil.rmtree, self.folder)
        # Where whoever runs the tests has no films.
        os.environ.update(XDG_STATE_HOME=self.path('state-home'), TZ='UTC')
        self.server = None
        self.write('video.mp4', 'moving pictures')

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text='pictures'):
        """Writes a file, an object as JSON. Return: its path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'w', encoding='utf-8') as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return self.path(name)

    def text_of(self, name):
        with open(self.path(name), encoding='utf-8') as f:
            return f.read()

    def serve(self, respond):
        """From now on; who answered before doesn't any more."""
        if self.server:
            self.server.close()
        self.server = FakeVrtd(self.folder, respond)
        self.addCleanup(self.server.close)
        return self.server

    def command(self, *arguments):
        return [self.program, '--socket', self.path('fake.sock'), *map(str, arguments)]

    def run_it(self, *arguments, status=0, **options):
        done = subprocess.run(self.command(*arguments), capture_output=True, cwd=self.folder,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, **options)
        out, err = done.stdout.decode(), done.stderr.decode()
        if status is not None:
            self.assertEqual(done.returncode, status, f'{arguments}\n{out}{err}')
        return out, err

    def as_nobody(self):
        """Options of run_it() for what root may always do: somebody else does it."""
        if os.geteuid() != 0:
            return {}
        os.chmod(self.folder, 0o755)
        place = self.folder
        while (place := os.path.dirname(place)) != '/':
            if not os.stat(place).st_mode & 1:
                self.skipTest('nobody else may look into ' + place)
        if self.server:
            os.chmod(self.server.path, 0o777)
        self.program = shutil.copy(VRTCTL, self.path('vrtctl'))
        return {'user': 65534, 'group': 65534, 'extra_groups': []}

    def on_terminal(self, columns, *arguments, status=0, err='', locale='C.UTF-8', rows=24,
                    kind='xterm', on_output=lambda output: None):
        """What it prints on a terminal of that size, errors too where `err` is None; on_output()
        is told what it is by then."""
        try:
            terminal, end = pty.openpty()
        except OSError as e:            # a bare container
            self.skipTest(str(e))
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, stdout=end,
                                   stderr=end if err is None else subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, TERM=kind, LC_ALL=locale))
        os.close(end)
        out = self.read_to_end(terminal, on_output)
        said = process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual((process.returncode, said), (status, err))
        return out.decode().replace('\r\n', '\n')

    def watched(self, *arguments, status=0):
        """What it prints, and what somebody sees whose terminal standard error is."""
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        done = subprocess.run(self.command(*arguments), stdout=subprocess.PIPE, stderr=end,
                              cwd=self.folder, timeout=PATIENCE_S, check=False)
        os.close(end)
        self.assertEqual(done.returncode, status)
        return done.stdout.decode(), self.read_to_end(terminal).decode().replace('\r\n', '\n')

    def read_to_end(self, terminal, on_output=lambda output: None):
        """What came by then, which isn't all there at once."""
        out = b''
        try:
            while data := os.read(terminal, 65536):
                out += data
                on_output(out.decode(errors='replace'))
        except OSError:                 # the other end is closed
            pass
        return out

    def complaint(self, *arguments, status, says):
        """One line on standard error, nothing else."""
        out, err = self.run_it(*arguments, status=status)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertTrue(err.startswith('vrtctl: '), err)
        self.assertIn(says, err)
        return err


class Answered(Case):
    """What was asked is in self.asked: method, path and body; self.answers has what is answered to
    a method and path, a list one after the other."""

    def setUp(self):
        super().setUp()
        self.asked, self.answers = [], {}

        def respond(request):
            self.read = [os.pread(fd, 100, 0) for fd in request.files]
            self.asked.append((request.method, request.path, request.body and request.json()))
            known = self.answers[f'{request.method} {request.path}']
            if isinstance(known, list):
                known = known.pop(0) if len(known) > 1 else known[0]
            return known if isinstance(known, bytes) else answer(known)
        self.serve(respond)
