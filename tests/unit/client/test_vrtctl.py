#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl against a server of the test's own: what it sends, what it prints, how it ends.

usage: test_vrtctl.py VRTCTL [unittest arguments]
"""
import json
import os
import re
import socket
import subprocess
import threading
import unittest

from fake_vrtd import answer, refusal
from vrtctl_case import (CARD, CUDA, DEVICE, MODEL, PATIENCE_S, SENSORS, SHOWN, STATUS, VRTCTL,
                         WHOLE, Case, job)


class Unreachable(Case):
    def test_nobody_listens(self):
        for name in ('status', 'list', 'devices', 'models', 'watch', 'top'):
            self.complaint(name, status=3, says='start it with: vrtd')
        self.complaint('submit', 'video.mp4', status=3, says=self.path('fake.sock'))
        self.complaint('wait', 1, 2, status=3, says='not running')
        self.complaint('profile', '-d', 'all', 'compact-x2', status=3, says='not running')
        self.assertEqual(os.listdir(self.folder), ['video.mp4'])
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(self.path('fake.sock'))
        self.complaint('status', status=3, says='nothing listens at')

    def test_nobody_accepts(self):
        with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX) as other:
            s.bind(self.path('fake.sock'))
            s.listen(0)
            other.connect(self.path('fake.sock'))
            self.complaint('status', status=3, says='takes no connection: too many wait')

    def test_version_needs_no_daemon(self):
        self.assertIn('vrtd does not answer', self.run_it('version')[0])
        self.assertIsNone(json.loads(self.run_it('version', '--json')[0])['vrtd'])

    def test_help(self):
        """Also of what hands type that know other programs."""
        for name, command in (('list', 'list'), ('ls', 'list'), ('ps', 'status'),
                              ('rm', 'cancel')):
            for arguments in (['help', name], [name, '--help']):
                self.assertTrue(self.run_it(*arguments)[0].startswith(f'usage: vrtctl {command} '))
        for arguments in (['help'], ['--help'], ['help', '--json']):
            self.assertIn('restore', self.run_it(*arguments)[0])
        self.assertRegex(self.run_it('--version')[0], '^vrtctl [0-9.]+\n$')
        for arguments in (['sumbit'], ['help', 'sumbit']):
            self.complaint(*arguments, status=2, says='"sumbit" (did you mean submit?); see vrtctl')
        self.assertRegex(self.run_it('logs', '--help')[0],
                         "^usage: vrtctl logs .*]... ID\n\nShow what vrtd logged about a job.\n\n"
                         "  -s, --socket PATH           the daemon's socket\n(  .*\n)*"
                         "      --version               print the version\n$")
        self.complaint(status=2, says='a command is missing')
        self.complaint('wait', '--all', 7, status=2, says='--all names the jobs: leave "7" out')
        self.complaint('status', 7, status=2, says='"7" is one too many; see vrtctl status --help')
        self.complaint('--nosuch', 'list', status=2, says='unknown option --nosuch')

    def test_long_path(self):
        self.complaint('--socket', 'x' * 200, 'status', status=2, says='107 bytes')


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
                self.serve(lambda _, given=given: given)
                says = {answer('[1,2]'): 'no JSON object', huge: 'is over 16 MiB'}
                self.complaint('status', status=3,
                               says=says.get(given, 'vrtd' if given else 'closed'))

    def test_wrong_lists(self):
        for path, body in [('list', {}), ('list', {'jobs': 3}), ('list', {'jobs': [3]}),
                           ('list', {'jobs': [job(frames_done='many')]}), ('devices', {}),
                           ('devices', {'devices': ['cpu']}), ('models', {'models': [{'name': 1}]}),
                           ('show 1', {'id': []}), ('devices --trim', {}), ('devices cpu:0', {})]:
            with self.subTest(path=path, body=str(body)[:60]):
                self.serve(lambda _, body=body: answer(body))
                self.complaint(*path.split(), status=3, says='')

    def test_strange_but_bearable(self):
        """A newer daemon: more fields, words nobody knows, missing ones."""
        self.serve(lambda r: answer({'jobs': [{'id': 1, 'state': 'paused', 'novel': {}}, {}]}))
        out, _ = self.run_it('list')
        self.assertIn('unknown', out)
        self.assertEqual(len(out.splitlines()), 3)

    def test_slow(self):
        """What computes is waited for, however long it takes; what is only told isn't."""
        asked, told = threading.Semaphore(0), threading.Event()
        self.addCleanup(told.set)

        def later():
            asked.release()
            told.wait(PATIENCE_S)
            yield answer(STATUS)
        self.serve(lambda r: later() if r.path != '/v1/jobs/7' else
                   answer(job(7, 'done', input_path=VRTCTL, output_path=VRTCTL)))
        patient = [subprocess.Popen(self.command('--timeout', 1, *words), cwd=self.folder,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for words in (['compare', 'video.mp4', VRTCTL], ['profile', 'compact-x2'],
                                 ['submit', '--dry-run', 'video.mp4'], ['preview', 7])]
        for _ in patient:
            self.assertTrue(asked.acquire(timeout=PATIENCE_S))
        self.complaint('status', '--timeout', 1, status=3, says='no answer within 1 s')
        self.assertEqual({process.poll() for process in patient}, {None})
        told.set()
        self.assertNotIn(None, [process.wait(PATIENCE_S) for process in patient])

    def test_control_characters(self):
        evil = '\x1b[2J\x07\u202evideo'
        self.serve(lambda r: answer({'jobs': [job(input_name=evil)]}) if '?' in r.path
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
            '/v1/devices': lambda: answer({'devices': [DEVICE], 'auto': {
                'devices': ['cpu:0', 'cpu:\x1b1'], 'reason': 'fast'}}),
            '/v1/models': lambda: answer({'models': [MODEL]}),
            '/v1/jobs?active=true&after=0': lambda: answer({'jobs': [job(12)], 'next': None}),
            '/v1/jobs?active=false&after=0':
                lambda: answer({'jobs': [job(
                    3, 'done', frames_done=200, fps=0, finished_at='2026-01-02T04:04:06Z')],
                                'next': 3}),
            '/v1/jobs?active=false&after=3': lambda: answer({'jobs': [job(12)], 'next': None}),
            '/v1/jobs/12': lambda: answer(job(12)),
            '/v1/jobs/14': lambda: answer(WHOLE),
        }.get(request.path, lambda: refusal(404, 'job.not_found', 'there is no job 13', 'id'))()

    def setUp(self):
        super().setUp()
        self.serve(self.respond)

    def test_status(self):
        out, _ = self.run_it('status')
        self.assertEqual(out, 'vrtd 9.9, process 42, up for 1:01:01\n'
                              'jobs: 2 running, 1 queued, 3 done, 4 failed, 5 cancelled\n'
                              'devices: cpu:0 busy, cpu:1 ready\n')
        self.assertEqual(json.loads(self.run_it('status', '--json')[0]), STATUS)
        self.assertIn('vrtd 9.9', self.run_it('version')[0])
        self.assertEqual(json.loads(self.run_it('version', '--json')[0])['vrtd'], '9.9')
        waiting = dict(STATUS, jobs={'paused': 1, 'needs_input': 3, 'fetching': 0})
        self.serve(lambda _: answer(waiting))
        self.assertIn('jobs: 0 running, 0 queued, 1 paused, 3 needs_input, 0 done, 0 failed, 0 '
                      'cancelled\n', self.run_it('status')[0])

    def test_devices(self):
        self.assertEqual(self.run_it('devices')[0],
                         'DEVICE  STATE  SHARDS  FAILED  S/SHARD   IN USE     PEAK  FREE    TOTAL  '
                         'DESCRIPTION\n'
                         'cpu:0   ready      40       1      0.2  2.0 MiB  3.0 MiB     -  8.0 GiB  '
                         'Two cores\nauto takes cpu:0, cpu:?1: fast\n')
        self.assertEqual(json.loads(self.run_it('devices', '-j')[0]), DEVICE)

    def test_devices_by_name(self):
        out, _ = self.run_it('devices', 'cpu:0')
        self.assertEqual(out, 'cpu:0: ready\n'
                              '  Description  Two cores\n'
                              '  Threads      2\n'
                              '  Memory       - of 8.0 GiB free\n'
                              '               2.0 MiB held: models 1.0 MiB, workspace 1.0 MiB; '
                              '3.0 MiB at most\n'
                              '  Shards       40 done, 1 failed, 0.2 s each\n')
        self.assertEqual(json.loads(self.run_it('devices', '-j', 'cpu:0')[0]), DEVICE)
        self.complaint('devices', 'gpu\x1b', status=1, says='there is no device gpu?;')
        for kind in 'cpu', 'all':
            self.assertEqual(self.run_it('devices', kind)[0], out)
        self.complaint('devices', 'cuda', status=1, says='there is no device cuda;')
        self.complaint('devices', '', status=1, says='there is no device ;')

    def test_devices_trimmed(self):
        """What is asked goes as one request; one that didn't do it fails the command."""
        memory = dict(DEVICE['memory'], replica_bytes=0, peak_bytes=1 << 20)
        trimmed = {'name': 'cpu:0', 'state': 'ready', 'done': True, 'freed_bytes': 1 << 20,
                   'former_peak_bytes': 3 << 20, 'memory': memory, 'message': None}
        lost = {'name': 'cpu:1', 'state': 'lost', 'done': False, 'freed_bytes': None,
                'former_peak_bytes': None, 'memory': {}, 'message': 'it is\x1b lost'}
        reply = [trimmed]
        self.serve(lambda _: answer({'devices': reply}))
        for options, body in [(('--trim', '--reset-peak'), ('', True, True)),
                              (('cpu:0', '--trim', 'cuda'), ('cpu:0,cuda', True, False)),
                              (('--reset-peak', 'all'), ('all', False, True))]:
            out, _ = self.run_it('devices', *options)
            self.assertEqual(out, 'cpu:0: 1.0 MiB freed, 1.0 MiB in use; the peak was 3.0 MiB, '
                                  'and is 1.0 MiB now\n')
            request = self.server.requests[-1]
            self.assertEqual((request.method, request.path), ('POST', '/v1/devices'))
            sent = json.loads(request.body)
            self.assertEqual((sent['device'] or '', sent['trim'], sent['reset_peak']), body)
        del trimmed['former_peak_bytes']
        reply[:] = [trimmed, lost]
        out, err = self.run_it('devices', '--trim', status=1)
        self.assertEqual(out, 'cpu:0: 1.0 MiB freed, 1.0 MiB in use\n')
        self.assertEqual(err, 'vrtctl: cpu:1: not done: it is? lost\n')
        out, _ = self.run_it('devices', '--trim', '--json', status=1)
        self.assertEqual([json.loads(line) for line in out.splitlines()], reply)
        reply[:] = [dict(trimmed, freed_bytes=None, former_peak_bytes=3 << 20)]
        self.assertEqual(self.run_it('devices', '--reset-peak')[0],
                         'cpu:0: 1.0 MiB in use; the peak was 3.0 MiB, and is 1.0 MiB now\n')
        self.complaint('devices', '--trim', *['cuda:1000'] * 30, status=2, says='name their kinds')

    def test_card_that_is_several_devices(self):
        cards = [dict(CUDA, name=f'cuda:{card}.{worker}', sensors=dict.fromkeys(SENSORS),
                      card=dict(CARD, number=card, **{lacks: ''}))
                 for card, lacks in enumerate(('runtime_version', 'driver_version'))
                 for worker in (0, 1)]
        third = dict(CUDA, name='cuda:3', card=dict(CARD, number=3), state='quarantined',
                     last_error='hot', retry_in_s=7.6,
                     sensors=dict(SENSORS, memory_utilization_percent=8))
        del third['threads']
        self.serve(lambda _: answer({'devices': cards + [third]}))
        model = ('  UUID         GPU-01020304-0506-0708-090a-0b0c0d0e0f10\n'
                 '  PCI address  0000:01:00.0\n'
                 '  Capability   8.6\n')
        use = ('  Memory       - of 8.0 GiB free\n'
               '               2.0 MiB held: models 1.0 MiB, workspace 1.0 MiB; 3.0 MiB at most\n'
               '  Shards       40 done, 1 failed, 0.2 s each\n')
        for card, driver in ((0, '  Driver       13.0\n'), (1, '')):
            self.assertEqual(self.run_it('devices', f'cuda:{card}')[0], ''.join(
                f'cuda:{card}.{worker}: ready\n  Description  A card\n'
                f'  Card         number {card}, shared with cuda:{card}.{1 - worker}\n'
                f'{model}{driver}{use}' for worker in (0, 1)))
        lines = self.run_it('devices', '--json', 'cuda:0.1', 'cuda:1')[0].splitlines()
        self.assertEqual([json.loads(line)['name'] for line in lines],
                         ['cuda:0.1', 'cuda:1.0', 'cuda:1.1'])
        self.assertEqual(self.run_it('devices', 'cuda:3')[0],
                         'cuda:3: quarantined, and asked again in 8 s\n'
                         '  Description  A card\n'
                         '  Last error   hot\n'
                         '  Card         number 3\n' + model +
                         '  CUDA         12.4; the driver is for 13.0 and older\n'
                         '  Utilization  computing 97%, memory 8% of the time\n'
                         '  Temperature  71 C\n'
                         '  Power        320 of 350 W\n'
                         '  Throttling   power limit\n' + use)
        third.update(state='ready', last_error=None, sensors=dict(SENSORS, power_limit_watts=None))
        self.assertIn('  Power        320 W\n', self.run_it('devices', 'cuda:3')[0])
        self.assertTrue(self.run_it('devices')[0].endswith('  A card, 97% busy, 71 C, 320 W\n'))
        self.complaint('devices', 'cuda:0.', status=1, says='there is no device cuda:0.;')

    def test_errors_of_devices(self):
        """What is wrong with a device is told while it is wrong, not for ever."""
        for state, told in [('ready', 'Two cores'), ('busy', 'Two cores'), ('lost', 'too hot'),
                            ('quarantined', 'too hot')]:
            device = dict(DEVICE, state=state, last_error='too hot')
            self.serve(lambda _, d=device: answer({'devices': [d]}))
            out, _ = self.run_it('devices')
            self.assertTrue(out.rstrip().endswith(told), out)

    def test_replicas(self):
        """Below the models, by name where there is one; lines of their own as JSON."""
        held = {'device': 'cpu:0', 'model': 'compact-x2', 'checksum': 16 * '1', 'precision': 'f32',
                'bytes': 3 << 20, 'state': 'in_use'}
        brought = dict(held, device='cuda:1', model=None, precision='bf16', state='packing')
        later = dict(held, state='moved')       # of a newer daemon
        self.serve(lambda _: answer({'models': [MODEL], 'replicas': [held, brought, later]}))
        lines = self.run_it('models')[0].splitlines()
        self.assertTrue(lines.pop().startswith("a replica is a model's weights in a device's"))
        self.assertEqual([line.split() for line in lines[-5:]], [
            [], ['DEVICE', 'REPLICA', 'OF', 'PRECISION', 'SIZE', 'STATE'],
            ['cpu:0', 'compact-x2', 'f32', '3.0', 'MiB', 'in_use'],
            ['cuda:1', 16 * '1', 'bf16', '3.0', 'MiB', 'packing'],
            ['cpu:0', 'compact-x2', 'f32', '3.0', 'MiB', 'unknown']])
        lines = self.run_it('--json', 'models')[0].splitlines()
        self.assertEqual([json.loads(line) for line in lines], [MODEL, held, brought, later])

    def test_failed_pull(self):
        """The sentence stands below the table, whole; the rows stay as narrow as they were."""
        why = 'https://models.example.org/other.pth: ' + 18 * 'there is no such file, '
        failed = dict(MODEL, name='other', state='failed', error=why + '\x1b', is_default=False,
                      size_bytes=3 << 20, description='x')
        self.serve(lambda _: answer({'models': [failed, dict(MODEL, state='ready')]}))
        lines = self.run_it('models')[0].splitlines()
        self.assertEqual(len(lines), 5)
        column = lines[0].index('PLACE')
        self.assertEqual([line[column:] for line in lines[1:3]],
                         ['pull failed, 3.0 MiB  MIT      x',
                          'built in              MIT      for any video'])
        self.assertEqual(lines[3:], ['other: ' + why + '?',
                                     "to fetch what isn't here: vrtctl models pull MODEL"])

    def test_list(self):
        out, _ = self.run_it('list')
        self.assertEqual([line.split()[0] for line in out.splitlines()], ['ID', '12'])
        self.assertEqual(self.run_it('list', '--all')[0],
                         'ID  STATE    DONE   FPS  ELAPSED  LEFT  MODEL       ENDED OR QUEUED      '
                         'INPUT\n'
                         ' 3  done     100%     -     0:07     -  compact-x2  2026-01-02 04:04:06  '
                         'video.mp4\n'
                         '12  running   42%  12.3     0:07  0:09  compact-x2  2026-01-02 03:04:05  '
                         'video.mp4\n')
        jobs = [json.loads(line) for line in self.run_it('list', '--all', '--json')[0].splitlines()]
        self.assertEqual(jobs[1], job(12))

    def test_pausing(self):
        """As long as devices have something of it, it isn't paused yet."""
        busy, idle = (job(12 + i, 'paused', devices=[dict(job()['devices'][0], shards_running=n)])
                      for i, n in enumerate((1, 0)))
        self.serve(lambda request: answer(busy if request.path.endswith('/12') else idle
                                          if request.path.endswith('/13')
                                          else {'jobs': [busy, idle], 'next': None}))
        self.assertEqual([line.split()[1] for line in self.run_it('list')[0].splitlines()],
                         ['STATE', 'pausing', 'paused'])
        out, _ = self.run_it('show', 12, 13)
        self.assertEqual([line for line in out.splitlines() if line.startswith('Job')],
                         ['Job 12: pausing', 'Job 13: paused'])

    def test_cancelling(self):
        """What only waits for its devices to put it down isn't told as if it went on."""
        going = job(cancelling=True)
        self.serve(lambda r: answer({'jobs': [going], 'next': None} if r.path.startswith(
            '/v1/jobs?') else going))
        out, _ = self.run_it('list')
        self.assertRegex(out.splitlines()[1], r'^12  cancelling  .* -  compact-x2 ')
        out, _ = self.run_it('show', 12)
        self.assertIn('Job 12: cancelling\n', out)
        self.assertNotIn('left', out)

    def test_list_without_jobs_or_end(self):
        self.serve(lambda _: answer({'jobs': [], 'next': None}))
        self.assertEqual(self.run_it('list')[0], 'no job is waiting or running; vrtctl list --all '
                                                 'shows those that are over\n')
        self.assertEqual(len(self.run_it('list', '--all')[0].splitlines()), 1)
        self.assertEqual(self.run_it('list', '--json')[0], '')
        self.serve(lambda _: answer({'jobs': [job(12)], 'next': 12}))
        self.complaint('list', status=3, says='where its list goes on')
        self.assertEqual(len(self.server.requests), 2)

    def test_show(self):
        bare = job(15, 'failed', recipe=None, stages=None, bottleneck=None, devices=[], n_starts=1,
                   segments_done=2, frames_total=None,
                   model={'name': 'm', 'architecture': 'a', 'scale': 1, 'checksum': 'c'},
                   video=dict(job()['video'], pixel_format='x', output_width=None))
        self.serve(lambda _: answer(bare))
        self.assertEqual(self.run_it('show', 15)[0], '''\
Job 15: failed
  Next       vrtctl retry 15 tries again, from what is stored
  Input      video.mp4
             640x360, 25.0 fps, 0:08, h264 x
  Output     video.restored.mp4
  Model      m
             a x1, checksum c
  Requested  device auto, priority 0
  Progress   84 frames (-), 12.3 fps, 0:07 elapsed
  Stored     2 segments of the result; begun 1 time
  Created    2026-01-02 03:04:05
  Started    2026-01-02 03:04:06
''')
        self.serve(lambda _: answer({'id': 15, 'state': 'queued'}))
        self.assertIn('Output     -\n  Model      -\n  Requested', self.run_it('show', 15)[0])
        self.serve(self.respond)
        self.assertEqual(self.run_it('show', 14)[0], SHOWN)
        self.assertEqual(json.loads(self.run_it('show', '--json', 12)[0]), job(12))
        self.complaint('show', 13, status=4, says='there is no job 13')
        for words, status, error_id, field in (
                (['frob'], 2, 'usage', None), (['show', 13], 4, 'job.not_found', 'id'),
                (['submit', 'nothing.mp4'], 1, 'client.file', None)):
            error = json.loads(self.run_it('--json', *words, status=status)[1])['error']
            self.assertEqual((error['id'], error['field']), (error_id, field))
            self.assertTrue(error['message'])
        self.run_it('show', 12, 13, status=4)
        self.complaint('show', 'x', status=2, says="not a job's number")
        self.complaint('wait', 13, status=4, says='there is no job 13')

    def test_history(self):
        """A line for each point; plots where there is a terminal, as wide as that is."""
        points = [{'elapsed_s': i, 'frames': i * i / 10, 'fps': (2 * i - 1) / 2,
                   'memory_bytes': None if i < 3 else 5 << 30} for i in range(1, 101)]
        history = {'period_s': 1, 'points': points}
        self.serve(lambda r: answer({'period_s': 0, 'points': []} if '/13/' in r.path else
                                    history if r.path == '/v1/jobs/12/history' else 'no'))
        out, _ = self.run_it('show', '--history', 12)
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual(lines[:3], [['ELAPSED_S', 'FRAMES', 'FPS', 'MEMORY_BYTES'],
                                     ['1.000', '0.100', '0.500', '-'],
                                     ['2.000', '0.400', '1.500', '-']])
        self.assertEqual(lines[100], ['100.000', '1000.000', '99.500', str(5 << 30)])
        self.assertEqual(json.loads(self.run_it('show', '--history', '--json', 12)[0]), history)
        self.assertEqual(self.run_it('show', '--history', 13)[0], 'job 13 has not run yet\n')
        for columns in (30, 80, 200):
            for locale, cell in (('C.UTF-8', '[\u2801-\u28ff]'), ('C', '#')):
                lines = self.on_terminal(columns, 'show', '--history', 12,
                                         locale=locale).splitlines()
                self.assertEqual(len(lines), 14, lines)
                self.assertEqual(lines[0], 'Job 12: frames a second in the 1:40 that it ran')
                self.assertEqual(len(lines[6]), columns - 1, lines)
                self.assertRegex(lines[1], f'^ *9[0-9]\\.[0-9] .*{cell}$')
                self.assertRegex(lines[6], f'^ *0 .*{cell}$')
                self.assertLess(len(re.findall(cell, lines[1])),
                                len(re.findall(cell, lines[6])) / 4)
                self.assertRegex(lines[8], f'^ *5.0 GiB .*{cell}$')

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


if __name__ == '__main__':
    unittest.main(verbosity=2)
