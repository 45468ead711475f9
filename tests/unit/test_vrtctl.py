#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl against a server of the test's own: what it sends, what it prints, how it ends.

usage: test_vrtctl.py VRTCTL [unittest arguments]
"""
import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

from fake_vrtd import STREAM, FakeVrtd, answer, event, refusal

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
        'frames_total': 200, 'frames_done': 84, 'fps': 12.34, 'eta_s': 9.4,
        'bottleneck': 'compute',
        'devices': [{'name': 'cpu:0', 'shards_done': 4, 'shards_running': 2, 'frames_done': 84,
                     'replica_bytes': 2500000, 'workspace_bytes': None, 'peak_bytes': 99000000}],
        'error': None,
        'stages': {'decode': 0.03, 'upload': None, 'compute': 0.99, 'download': None,
                   'encode': 0.2},
        'recipe': {'clip_frames': 8, 'tile_width': 640, 'tile_height': 360, 'overlap': 16,
                   'precision': 'f32', 'codec': 'h264', 'quality': 18, 'preset': 'medium',
                   'encoder_threads': 2},
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
MODEL = {'name': 'compact-x2', 'architecture': 'compact', 'scale': 2, 'parameters': 65000,
         'source': 'built-in', 'checksum': '0123456789abcdef', 'is_default': True}
STATUS = {'version': '9.9', 'pid': 42, 'uptime_s': 3661.4,
          'jobs': {'queued': 1, 'running': 2, 'done': 3, 'failed': 4, 'cancelled': 5},
          'devices': [{'name': 'cpu:0', 'state': 'busy'}, {'name': 'cpu:1', 'state': 'ready'}],
          'requests': 7, 'connections': 1}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='vrtctl-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = None
        with open(self.path('video.mp4'), 'w', encoding='utf-8') as f:
            f.write('moving pictures')

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, respond):
        self.server = FakeVrtd(self.folder, respond)
        self.addCleanup(self.server.close)
        return self.server

    def command(self, *arguments):
        return [VRTCTL, '--socket', self.path('fake.sock'), *map(str, arguments)]

    def run_it(self, *arguments, status=0, **options):
        done = subprocess.run(self.command(*arguments), capture_output=True, cwd=self.folder,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, **options)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f'{arguments}\n{out}{err}')
        return out, err

    def complaint(self, *arguments, status, says):
        """One line on standard error, nothing else."""
        out, err = self.run_it(*arguments, status=status)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertTrue(err.startswith('vrtctl: '), err)
        self.assertIn(says, err)
        return err


class Unreachable(Case):
    def test_nobody_listens(self):
        for name in ('status', 'list', 'devices', 'models', 'watch'):
            self.complaint(name, status=3, says='start it with: vrtd')
        self.complaint('submit', 'video.mp4', status=3, says=self.path('fake.sock'))
        self.complaint('wait', 1, 2, status=3, says='not running')
        self.assertEqual(os.listdir(self.folder), ['video.mp4'])

    def test_dead_socket(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(self.path('fake.sock'))
        self.complaint('status', status=3, says='nothing listens at')

    def test_version_needs_no_daemon(self):
        self.assertIn('vrtd does not answer', self.run_it('version')[0])
        self.assertIsNone(json.loads(self.run_it('version', '--json')[0])['vrtd'])

    def test_long_path(self):
        done = subprocess.run([VRTCTL, '--socket', 'x' * 200, 'status'], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn('107 bytes', done.stderr)


class Broken(Case):
    """What answers is no vrtd, or a very sick one: one sentence, never a crash."""

    def test_garbage(self):
        huge = b'HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n' + b' ' * 20000000
        answers = [b'NONSENSE\r\n\r\n', b'\x00\xff' * 1000, b'HTTP/1.1 200 OK\r\n', None, b'',
                   answer('hello'), answer('[1,2]'), answer('{"version":'), answer(''), huge,
                   answer('oops', 500), answer({'error': 'no'}, 503), answer({}, 404),
                   answer('', 302), b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"pid":1',
                   answer('[' * 100000), answer('{"pid":1,"pid":2}'),
                   answer({'pid': 'x'}), answer({'jobs': []}), answer({'devices': [7]}),
                   answer('{"version":"\xff"}'.encode('latin-1'))]
        for given in answers:
            with self.subTest(given=(given or b'')[:60]):
                server = FakeVrtd(self.folder, lambda _, given=given: given)
                self.complaint('status', status=3, says='vrtd' if given else 'closed')
                server.close()

    def test_wrong_lists(self):
        for path, body in [('list', {}), ('list', {'jobs': 3}), ('list', {'jobs': [3]}),
                           ('list', {'jobs': [job(frames_done='many')]}), ('devices', {}),
                           ('devices', {'devices': ['cpu']}), ('models', {'models': [{'name': 1}]}),
                           ('show', {'id': []})]:
            with self.subTest(path=path, body=str(body)[:60]):
                server = FakeVrtd(self.folder, lambda _, body=body: answer(body))
                self.complaint(path, *(['1'] if path == 'show' else []), status=3, says='')
                server.close()

    def test_strange_but_bearable(self):
        """A newer daemon: more fields, words nobody knows, missing ones."""
        self.serve(lambda r: answer({'jobs': [{'id': 1, 'state': 'paused', 'novel': {}}, {}]}))
        out, _ = self.run_it('list')
        self.assertIn('unknown', out)
        self.assertEqual(len(out.splitlines()), 3)

    def test_slow(self):
        def respond(_):
            time.sleep(3)
            yield answer(STATUS)
        self.serve(respond)
        self.complaint('status', '--timeout', 1, status=3, says='no answer within 1 s')

    def test_control_characters(self):
        evil = '\x1b[2J\x07\u202evideo'
        self.serve(lambda r: answer({'jobs': [job(input_name=evil)]}) if r.path == '/v1/jobs'
                   else refusal(422, 'x', 'bad \x1b[31m name') if r.path == '/v1/status'
                   else answer(job(input_name=evil, warnings=[evil])))
        for arguments, status in [(['list'], 0), (['show', '3'], 0), (['status'], 1)]:
            out, err = self.run_it(*arguments, status=status)
            self.assertNotIn('\x1b', out + err)
            self.assertNotIn('\x07', out + err)


class Shown(Case):
    def respond(self, request):
        return {
            '/v1/status': lambda: answer(STATUS),
            '/v1/devices': lambda: answer({'devices': [DEVICE]}),
            '/v1/models': lambda: answer({'models': [MODEL]}),
            '/v1/jobs': lambda: answer({'jobs': [job(3, 'done', frames_done=200), job(12)]}),
            '/v1/jobs/12': lambda: answer(job(12)),
        }.get(request.path, lambda: refusal(404, 'job.not_found', 'there is no job 13'))()

    def setUp(self):
        super().setUp()
        self.serve(self.respond)

    def test_status(self):
        out, _ = self.run_it('status')
        self.assertEqual(out, 'vrtd 9.9, process 42, up for 1:01:01\n'
                              'jobs: 2 running, 1 queued, 3 done, 4 failed, 5 cancelled\n'
                              'devices: cpu:0 busy, cpu:1 ready\n')
        self.assertEqual(json.loads(self.run_it('status', '--json')[0]), STATUS)

    def test_devices(self):
        out, _ = self.run_it('devices')
        self.assertEqual(out.splitlines()[1].split(),
                         ['cpu:0', 'ready', '40', '1', '0.2', '2.0', 'MiB', '3.0', 'MiB', '-',
                          '8.0', 'GiB', 'Two', 'cores'])
        self.assertEqual(json.loads(self.run_it('devices', '-j')[0]), DEVICE)

    def test_errors_of_devices(self):
        """What is wrong with a device is told while it is wrong, not for ever."""
        for state, told in [('ready', 'Two cores'), ('busy', 'Two cores'), ('lost', 'too hot'),
                            ('quarantined', 'too hot')]:
            device = dict(DEVICE, state=state, last_error='too hot')
            server = FakeVrtd(self.folder, lambda _, d=device: answer({'devices': [d]}))
            out, _ = self.run_it('devices')
            self.assertTrue(out.rstrip().endswith(told), out)
            server.close()

    def test_models(self):
        out, _ = self.run_it('models')
        self.assertIn('compact-x2 (default)  compact', out)
        self.assertEqual(json.loads(self.run_it('--json', 'models')[0]), MODEL)

    def test_list(self):
        out, _ = self.run_it('list')
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith('ID  STATE'))
        self.assertTrue(lines[1].startswith(' 3  done'))
        self.assertIn('42%', lines[2])
        self.assertEqual(len({line.index('INPUT' if i == 0 else 'video.mp4')
                              for i, line in enumerate(lines)}), 1)
        jobs = [json.loads(line) for line in self.run_it('list', '--json')[0].splitlines()]
        self.assertEqual(jobs[1], job(12))

    def test_show(self):
        out, _ = self.run_it('show', 12)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        for part in ('Job 12: running', '640x360, 25.0 fps, 0:08, h264 yuv420p\n', '1280x720',
                     'compact x2', '84 of 200 frames (42%)',
                     'decode 3%, compute 99%, encode 20%\n', 'Bottleneck compute\n',
                     'cpu:0: 84 frames, 4 shards', 'workspace -, peak 94 MiB',
                     'h264 CRF 18 medium, 2 encoder threads; reproducible'):
            self.assertIn(part, out)
        self.assertEqual(json.loads(self.run_it('show', '--json', 12)[0]), job(12))
        self.complaint('show', 13, status=4, says='there is no job 13')
        self.run_it('show', 12, 13, status=4)
        self.complaint('show', 'x', status=2, says="not a job's number")
        self.complaint('cancel', 13, status=4, says='there is no job 13')
        self.complaint('wait', 13, status=4, says='there is no job 13')

    def test_version(self):
        self.assertIn('vrtd 9.9', self.run_it('version')[0])

    def test_full_disk(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('no /dev/full')
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run(self.command('list'), stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('No space left', done.stderr)

    def test_proxies_are_not_asked(self):
        environment = dict(os.environ, http_proxy='http://127.0.0.1:9', ALL_PROXY='socks5://x:1')
        self.run_it('status', env=environment)


class Submit(Case):
    def accepts(self, request):
        """As POST /v1/jobs: notes what the descriptors are good for."""
        self.seen = request
        self.read = [os.pread(fd, 100, 0) for fd in request.files if fd != request.files[1]]
        os.pwrite(request.files[1], b'result', 0)
        return answer(job(7, 'queued', input_name=request.json()['input']['name'],
                          output_name=request.json()['output']['name']), 201)

    def test_descriptors_and_body(self):
        self.serve(self.accepts)
        out, _ = self.run_it('submit', '--device', 'cpu:0,cpu:1', '--tile', 64, '--codec', 'hevc',
                             '--priority', -3, '--strict', 'video.mp4')
        self.assertEqual(out, 'job 7: video.mp4 -> video.restored.mp4\n')
        self.assertEqual(self.seen.leading, b'\r\n')
        self.assertEqual(self.read, [b'moving pictures'])
        self.assertEqual(self.seen.json(), {
            'input': {'fd': 0, 'name': 'video.mp4', 'path': None, 'url': None},
            'output': {'fd': 1, 'name': 'video.restored.mp4', 'path': None},
            'model': {'fd': None, 'name': '', 'path': None},
            'device': 'cpu:0,cpu:1', 'precision': 'auto',
            'tile': 64, 'overlap': None, 'clip': None, 'clip_overlap': None, 'tiling': 'blend',
            'scene_cuts': None, 'sigma': None, 'codec': 'hevc', 'quality': None, 'preset': None,
            'priority': -3, 'strict': True, 'overwrite': False, 'dry_run': False,
            'webhook': None})
        with open(self.path('video.restored.mp4'), 'rb') as f:
            self.assertEqual(f.read(), b'result')

    def test_clips(self):
        self.serve(self.accepts)
        for cuts, wanted in (('off', 0), ('on', 0.08), ('0.3', 0.3)):
            self.run_it('submit', '--clip', 16, '--clip-overlap', 0, '--tiling', 'official',
                        '--sigma', 12.5, '--scene-cuts', cuts, '--overwrite', 'video.mp4')
            seen = self.seen.json()
            self.assertEqual([seen['clip'], seen['clip_overlap'], seen['tiling'], seen['sigma'],
                              seen['scene_cuts']], [16, 0, 'official', 12.5, wanted])

    def test_warnings(self):
        """Who leaves after submitting is told what was found so far."""
        self.serve(lambda _: answer(job(7, 'queued', warnings=['alpha is dropped']), 201))
        out, err = self.run_it('submit', 'video.mp4')
        self.assertEqual(out, 'job 7: video.mp4 -> video.restored.mp4\n')
        self.assertEqual(err, 'vrtctl: video.mp4: warning: alpha is dropped\n')
        out, err = self.run_it('submit', '--json', '-o', 'other.mkv', 'video.mp4')
        self.assertEqual(json.loads(out)['id'], 7)
        self.assertEqual(err, 'vrtctl: video.mp4: warning: alpha is dropped\n')

    def test_model_file(self):
        self.serve(self.accepts)
        with open(self.path('x4.pth'), 'w', encoding='utf-8') as f:
            f.write('weights')
        self.run_it('submit', '-m', 'x4.pth', '-o', 'a.mkv', 'video.mp4')
        self.assertEqual(self.read, [b'moving pictures', b'weights'])
        self.assertEqual(self.seen.json()['model'], {'fd': 2, 'name': 'x4.pth', 'path': None})
        self.run_it('submit', '-m', 'compact-x2', '-o', 'b.mkv', 'video.mp4')
        self.assertEqual(self.seen.json()['model'], {'fd': None, 'name': 'compact-x2',
                                                     'path': None})
        self.complaint('submit', '-m', './none.pth', '-o', 'c.mkv', 'video.mp4', status=1,
                       says='./none.pth: No such file')
        self.assertFalse(os.path.exists(self.path('c.mkv')))

    def test_several(self):
        self.serve(self.accepts)
        shutil.copy(self.path('video.mp4'), self.path('b.avi'))
        out, err = self.run_it('submit', '--json', 'video.mp4', 'missing.mp4', 'b.avi', status=1)
        self.assertEqual([json.loads(line)['output_name'] for line in out.splitlines()],
                         ['video.restored.mp4', 'b.restored.mkv'])
        self.assertIn('missing.mp4: No such file', err)
        for cuts in ('0', '1.5', 'nan', 'often'):
            self.complaint('submit', '--scene-cuts', cuts, 'video.mp4', status=2,
                           says='--scene-cuts: expected off, on or a number')
        self.complaint('submit', '-o', 'x.mkv', 'video.mp4', 'b.avi', status=2,
                       says='--output names one file, and there are 2 inputs')

    def test_empty_words(self):
        """As of an unset variable of a shell: it must not be taken for the default."""
        self.serve(self.accepts)
        for arguments, says in [(['-m', '', '-o', 'e.mkv', 'video.mp4'], '--model: "" names'),
                                (['-d', '', '-o', 'e.mkv', 'video.mp4'], '--device: "" names'),
                                (['-o', '', 'video.mp4'], '"": No such file'),
                                ([''], '"": No such file')]:
            with self.subTest(arguments=arguments):
                self.complaint('submit', *arguments, status=1, says=says)
                self.assertFalse(os.path.exists(self.path('e.mkv')))

    def test_overwrite(self):
        self.serve(lambda r: refusal(503, 'job.queue_full', 'the queue is full'))
        with open(self.path('old.mp4'), 'w', encoding='utf-8') as f:
            f.write('precious')
        self.complaint('submit', '-o', 'old.mp4', 'video.mp4', status=1, says='--overwrite')
        self.complaint('submit', '-o', 'old.mp4', '--overwrite', 'video.mp4', status=1,
                       says='video.mp4: the queue is full')
        with open(self.path('old.mp4'), encoding='utf-8') as f:
            self.assertEqual(f.read(), 'precious')

    def test_a_refused_job_leaves_no_output(self):
        for given, status in [(refusal(422, 'job.input', 'not a video'), 1), (None, 3),
                              (answer({}, 201), 3), (answer('?', 201), 3), (answer('', 500), 3)]:
            with self.subTest(given=given):
                server = FakeVrtd(self.folder, lambda _, given=given: given)
                self.complaint('submit', 'video.mp4', status=status, says='vrtctl: ')
                self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
                server.close()

    def test_unprintable_names(self):
        self.serve(self.accepts)
        name = os.fsencode(self.folder) + b'/a\xff\nb.mp4'
        shutil.copy(self.path('video.mp4'), name)
        done = subprocess.run([*map(os.fsencode, self.command('submit')), name],
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, b'job 7: a??b.mp4 -> a??b.restored.mp4\n')


class FollowCase(Case):
    """A daemon with a job that runs, and ends as `final`."""

    final = job(7, 'done', frames_done=200, warnings=['frame 3 was concealed'])
    leave_output_empty = False
    gate = None                 # an event that the stream waits for before the end

    def stream(self):
        yield STREAM + b':\n\n' + event('device', DEVICE)
        yield event('job', job(7, 'queued'))
        yield event('job', job(99, 'running', input_name='other.mp4'))
        yield event('job', job(7, 'running')) + b'event: nov'
        yield b'el\ndata: ?\n\n'
        if self.gate:
            self.gate.wait(PATIENCE_S)
        yield event('job', self.final)

    def respond(self, request):
        if request.method == 'POST':
            if not self.leave_output_empty:
                os.pwrite(request.files[1], b'result', 0)
            return answer(job(7, 'queued'), 201)
        if request.path.startswith('/v1/events'):
            return self.stream()
        return answer(self.final if request.path == '/v1/jobs/7' else job(99, 'running'))


class Follow(FollowCase):
    """The stream of events, and what is made of it."""

    def test_lines(self):
        self.serve(self.respond)
        out, err = self.run_it('submit', '--follow', 'video.mp4')
        self.assertEqual(out.splitlines(), [
            '7 video.mp4: queued',
            '7 video.mp4: 84 of 200 frames (42%), 12.3 fps, 0:09 left, cpu:0',
            '7 video.mp4 -> video.restored.mp4: 200 frames in 0:07 (28.6 fps) on cpu:0'])
        self.assertEqual(err, 'vrtctl: video.mp4: warning: frame 3 was concealed\n')
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))

    def test_json(self):
        self.serve(self.respond)
        out, _ = self.run_it('submit', '--follow', '--json', 'video.mp4')
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line['state'] for line in lines], ['queued', 'running', 'done'])
        self.assertEqual(lines[-1], self.final)

    def test_wait(self):
        self.serve(self.respond)
        out, _ = self.run_it('wait', 7)
        self.assertEqual(len(out.splitlines()), 1)
        out, _ = self.run_it('wait', '--json', 7)
        self.assertEqual(json.loads(out), self.final)

    def test_failure(self):
        self.final = job(7, 'failed', error={'id': 'job.input', 'message': 'the file is truncated',
                                             'field': None})
        self.leave_output_empty = True
        self.serve(self.respond)
        _, err = self.run_it('submit', '--follow', 'video.mp4', status=1)
        self.assertEqual(err, 'vrtctl: video.mp4: the file is truncated\n')
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
        self.leave_output_empty = False
        self.run_it('submit', '--follow', 'video.mp4', status=1)
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))

    def test_cancelled(self):
        self.final = job(7, 'cancelled')
        self.serve(self.respond)
        _, err = self.run_it('wait', 7, status=1)
        self.assertEqual(err, 'vrtctl: video.mp4: the job was cancelled\n')

    def test_job_that_ended_before(self):
        """Of several, those that are over don't appear on the stream: they are asked for."""
        def respond(request):
            if request.path.startswith('/v1/events'):
                return iter([STREAM, event('job', job(8, 'running')), event('job', job(8, 'done'))])
            number = int(request.path.rsplit('/', 1)[1])
            if number == 8 and sum(r.path == request.path for r in self.server.requests) == 1:
                return answer(job(8, 'running'))
            return answer(job(number, 'done', frames_done=200))
        self.serve(respond)
        out, _ = self.run_it('wait', 7, 8, 7)
        self.assertEqual([line[0] for line in out.splitlines()], ['7', '8'])

    def test_stream_that_breaks(self):
        """One that ends early is opened again; one that always does is given up."""
        streams = []

        def respond(request):
            if not request.path.startswith('/v1/events'):
                return answer(self.final)
            streams.append(request)
            return iter([STREAM + event('job', job(7))]) if len(streams) < 5 else self.stream()
        self.serve(respond)
        self.run_it('wait', 7)
        self.assertEqual(len(streams), 5)
        self.server.close()
        self.serve(lambda r: iter([STREAM]) if 'events' in r.path else answer(job(7)))
        self.complaint('wait', 7, status=3, says='closes its stream')
        self.server.close()
        self.serve(lambda r: iter([STREAM + b'event: job\ndata: {"id":\n\n']))
        self.complaint('wait', 7, status=3, says='')
        self.server.close()
        self.serve(lambda r: iter([STREAM + b'data: x\n' * 20000]))
        self.complaint('wait', 7, status=1, says='events')
        self.server.close()
        self.serve(lambda r: None)
        self.complaint('wait', 7, status=3, says='closed')

    def start(self, *arguments, **options):
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def interrupt(self, *arguments):
        self.gate = threading.Event()
        self.serve(self.respond)
        process = self.start(*arguments)
        while '84 of 200' not in process.stdout.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        self.gate.set()
        self.assertEqual(process.returncode, 130)
        return err

    def test_interrupted(self):
        err = self.interrupt('submit', '--follow', 'video.mp4')
        self.assertEqual(err, 'vrtctl: still running in vrtd; to cancel: vrtctl cancel 7\n')
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))
        self.server.close()
        self.assertEqual(self.interrupt('watch', 7), '')

    def test_watch_everything(self):
        def stream():
            yield STREAM + event('device', dict(DEVICE, state='quarantined', last_error='hot'))
            yield event('job', job(3, 'running')) + event('job', job(4, 'queued'))
            yield event('job', job(3, 'done'))
            time.sleep(PATIENCE_S)
        self.serve(lambda r: stream() if 'events' in r.path else answer(job(3, 'done')))
        process = self.start('watch')
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        self.assertIn('3 video.mp4: 84 of 200', lines[0])
        self.assertEqual(lines[1], '4 video.mp4: queued\n')
        self.assertIn('3 video.mp4 -> video.restored.mp4', lines[2])
        self.assertEqual(err, 'device cpu:0 is quarantined: hot\n')
        self.assertEqual(process.returncode, 130)


class Terminal(FollowCase):
    """The same on a terminal: a bar that is drawn over again, and taken away at the end."""

    def on_terminal(self, *arguments, columns=100, kind='xterm'):
        try:
            main, terminal = pty.openpty()
        except OSError as e:            # a bare container
            self.skipTest(str(e))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        environment = dict(os.environ, TERM=kind, LC_ALL='C.UTF-8')
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, stdout=terminal,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   env=environment)
        os.close(terminal)
        output = b''
        try:
            while chunk := os.read(main, 65536):
                output += chunk
                if self.gate and b'84/200' in output:
                    self.gate.set()
        except OSError:         # the other side was closed
            pass
        os.close(main)
        process.stderr.close()
        return process.wait(PATIENCE_S), output.decode()

    def test_lines(self):
        self.gate = threading.Event()
        self.serve(self.respond)
        status, output = self.on_terminal('submit', '--follow', 'video.mp4')
        self.assertEqual(status, 0)
        self.assertIn('\u2588\u2591', output)
        self.assertIn(' 42%   84/200   12.3 fps  ETA 0:09  cpu:0\x1b[K\r\n', output)
        self.assertTrue(output.endswith(
            '\r\x1b[A\x1b[J7 video.mp4 -> video.restored.mp4: 200 frames in 0:07 (28.6 fps) on '
            'cpu:0\r\n'), output[-200:])
        self.assertLess(output.count('84/200'), 10)

    def test_narrow(self):
        self.gate = threading.Event()
        self.serve(self.respond)
        _, output = self.on_terminal('submit', '--follow', 'video.mp4', columns=50)
        line = next(l for l in output.split('\n') if '84/200' in l)
        self.assertLess(len(line.rstrip('\r').replace('\x1b[K', '').replace('\x1b[A', '')
                            .replace('\r', '')), 50)

    def test_dumb_terminal_gets_lines(self):
        self.serve(self.respond)
        _, output = self.on_terminal('submit', '--follow', 'video.mp4', kind='dumb')
        self.assertIn('84 of 200', output)
        self.assertNotIn('\x1b', output)

    def test_list_fits(self):
        long = 'x' * 200 + '.mp4'
        self.serve(lambda r: answer({'jobs': [job(input_name=long)]}))
        _, output = self.on_terminal('list', columns=90)
        self.assertEqual(max(map(len, output.split('\r\n'))), 90)
        self.assertIn('xxx...', output)


if __name__ == '__main__':
    unittest.main(verbosity=2)
