#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl submit --follow, watch and wait against a server of the test's own.

usage: test_vrtctl_follow.py VRTCTL [unittest arguments]
"""
import json
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from fake_vrtd import STREAM, answer, event, refusal
from vrtctl_case import DEVICE, PATIENCE_S, Case, job


class FollowCase(Case):
    """A daemon with a job that runs, and ends as `final`."""

    final = job(7, 'done', frames_done=200, warnings=['frame 3 was concealed'])
    leave_output_empty = False
    gate = None                 # an event that the stream waits for before the end

    def stream(self):
        yield STREAM + b':\n\n' + event('device', DEVICE)
        yield event('job', job(7, 'queued'))
        yield event('job', job(99, 'running', input_name='other.mp4'))
        yield 20 * event('job', job(7, 'running')) + b'event: nov'
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
        self.final = dict(self.final, output_path=self.path('made', 'x.mp4'))
        self.serve(self.respond)
        out, err = self.run_it('submit', '--follow', 'video.mp4')
        self.assertEqual(out.splitlines(), [
            '7 video.mp4: queued',
            '7 video.mp4: 84 of 200 frames (42%), 12.3 fps, 0:09 left, cpu:0',
            '7 video.mp4 -> made/x.mp4: 200 frames in 0:07 (28.6 fps) on cpu:0'])
        self.assertEqual(err, 'vrtctl: video.mp4: warning: frame 3 was concealed\n')
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))

    def test_json(self):
        self.serve(self.respond)
        out, _ = self.run_it('submit', '--follow', '--json', 'video.mp4')
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line['state'] for line in lines],
                         ['queued', *20 * ['running'], 'done'])
        self.assertEqual(lines[-1], self.final)

    def warned(self, commands):
        """What is said of a job with warnings that come one after the other; and how often it was
        asked for. One that comes again after a restart of the daemon is no news."""
        hot, late = 'cpu:1 is left out until it works again: hot', 'frame 3 was concealed'
        told, asked = [], []

        def stream():
            for warnings in [], [], [hot], [hot], [hot, late], [], [hot]:
                told.append(warnings)
                yield STREAM if len(told) == 1 else b''
                yield event('job', job(7, 'running', frames_done=len(told),
                                       warnings_total=len(warnings)))
                # What is known of the job by now was asked for, before it goes on.
                end = time.monotonic() + PATIENCE_S
                while len(asked) < [0, 0, 1, 1, 2, 2, 3][len(told) - 1]:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.01)
            told.append([hot, late, 'the end'])
            yield event('job', job(7, 'done', warnings_total=3))

        def respond(request):
            if request.method == 'POST':
                return answer(job(7, 'queued'), 201)
            if request.path.startswith('/v1/events'):
                return stream()
            if request.path == '/v1/status':
                return answer({'instance': 'a'})
            asked.append(request.path)
            is_over = len(told[-1]) == 3
            return answer(job(7, 'done' if is_over else 'running', frames_done=200,
                              warnings=told[-1], warnings_total=len(told[-1])))
        self.serve(respond)
        out, err = self.run_it(*commands)
        self.assertEqual(err.splitlines(), ['vrtctl: video.mp4: warning: ' + warning
                                            for warning in (hot, late, 'the end')])
        self.assertEqual(len(asked), 4)
        return out

    def test_warnings(self):
        """Each is said when it comes, once, and not at the end again."""
        for command in (['submit', '--follow', '--overwrite', 'video.mp4'], ['watch', 7],
                        ['wait', 7]):
            with self.subTest(command=command):
                self.assertIn('200 frames', self.warned(command))

    def test_wait(self):
        self.serve(self.respond)
        out, _ = self.run_it('wait', 7)
        self.assertEqual(len(out.splitlines()), 1)
        out, _ = self.run_it('wait', '--json', 7)
        self.assertEqual(json.loads(out), self.final)

    def test_failure(self):
        self.final = job(7, 'failed', error={'id': 'job.input', 'message': 'x', 'field': None})
        self.leave_output_empty = True
        self.serve(self.respond)
        _, err = self.run_it('submit', '--follow', 'video.mp4', status=1)
        self.assertEqual(err, 'vrtctl: video.mp4: x\n')
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
        self.leave_output_empty = False
        self.run_it('submit', '--follow', 'video.mp4', status=1)
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))
        self.final = job(7, 'cancelled')
        _, err = self.run_it('wait', 7, status=1)
        self.assertEqual(err, 'vrtctl: video.mp4: the job was cancelled\n')

    def test_job_that_ended_before(self):
        """Of several, those that are over don't appear on the stream: they are asked for, once,
        and their end."""
        streams = [[job(8, 'running')], [job(8, 'running'), job(8, 'done')]]

        def respond(request):
            if request.path.startswith('/v1/events'):
                return iter([STREAM, *(event('job', j) for j in streams.pop(0))])
            if request.path == '/v1/status':
                return answer({'instance': 'a'})
            number = int(request.path.rsplit('/', 1)[1])
            if number == 8 and sum(r.path == request.path for r in self.server.requests) < 3:
                return answer(job(8, 'running'))
            return answer(job(number, 'done', frames_done=200))
        self.serve(respond)
        out, _ = self.run_it('wait', 7, 8, 7)
        self.assertEqual([line[0] for line in out.splitlines()], ['7', '8'])
        self.assertEqual(sum(r.path == '/v1/jobs/7' for r in self.server.requests), 2)

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
        warned = event('job', job(7, warnings_total=1))
        for sent, status, says in (
                (b'', 3, 'closes its stream'), (b'data: x\n' * 20000, 1, 'events'),
                (b'event: job\ndata: {"id":\n\n', 3, 'JSON'), (warned, 3, 'not understood')):
            self.serve(lambda r, sent=sent: iter([STREAM + sent]) if 'events' in r.path else
                       answer({'id': 'x'}))
            self.complaint('wait', 7, status=status, says=says)
            self.assertEqual(sum('events' in r.path for r in self.server.requests),
                             1 if sent else 3)
        # More than comes at once.
        refused = json.dumps({'error': {'id': 'x', 'message': 'no more'}})
        self.serve(lambda r: iter([answer(refused + 10 ** 7 * ' ', 503)])
                   if 'events' in r.path else answer(job(7)))
        self.complaint('wait', 7, status=1, says='no more')
        self.serve(lambda r: None)
        self.complaint('wait', 7, status=3, says='closed')

    @staticmethod
    def lasting(sent, begins=event('job', job(7))):
        """A stream with one event, that goes on until its server is closed."""
        yield STREAM + begins
        sent.set()
        time.sleep(PATIENCE_S)

    def restarted(self, state):
        """A daemon that goes away in the middle, and comes back with the job in `state` when
        run_restarted() lets it."""
        sent, posted = threading.Event(), []
        come_back = self.come_back = threading.Event()
        first = self.serve(lambda r: answer(job(7, 'queued'), 201) if r.method == 'POST' else
                           self.lasting(sent) if '/events' in r.path else answer(job(7)))

        def second(request):
            if request.method == 'POST':
                posted.append((request.path, [os.pread(fd, 99, 0) for fd in request.files]))
                return answer(job(7, 'queued'))
            if request.path.startswith('/v1/events'):
                return iter([STREAM + event('job', job(7, state)), event('job', self.final)])
            return answer(self.final)

        def swap():
            sent.wait(PATIENCE_S)
            first.close()
            if come_back.wait(PATIENCE_S):
                self.serve(second)
        threading.Thread(target=swap, daemon=True).start()
        return posted

    def run_restarted(self, *arguments):
        """Runs it; the daemon comes back when it was missed. Return: what it printed."""
        process = self.start(*arguments, stdin=subprocess.DEVNULL)
        said = process.stderr.readline()
        self.assertIn('went away', said)
        self.come_back.set()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said + err)
        return out, said + err

    def test_restart_without_files(self):
        """Who follows what he submitted has the files at hand."""
        posted = self.restarted('needs_input')
        out, err = self.run_restarted('submit', '--follow', 'video.mp4')
        self.assertEqual(posted, [('/v1/jobs/7/resume', [b'moving pictures', b''])])
        self.assertNotIn('resume', out + err)
        posted = self.restarted('needs_input')
        out, err = self.run_restarted('wait', 7)
        self.assertEqual(posted, [])
        self.assertIn('vrtctl: video.mp4: needs files: vrtctl resume 7\n', err)

    def test_restart_without_files_of_several(self):
        """Each job is given its own; what refuses them is told."""
        self.write('b.mp4', 'other pictures')
        posted = []

        def respond(request):
            number = request.path.rsplit('/', 1)[1]
            if request.method == 'POST':
                posted.append((request.path, os.pread(request.files[0], 99, 0)))
                return answer(job(6 + len(posted), 'queued'), 201) if number != 'resume' else \
                    refusal(409, 'job.state', 'not now')
            if request.path.startswith('/v1/events'):
                return iter([STREAM + event('job', job(7, 'done')) +
                             event('job', job(8, 'needs_input')) + event('job', job(8, 'done'))])
            return answer({} if number == 'status' else
                          job(int(number), 'done' if len(posted) > 2 else 'running'))
        self.serve(respond)
        _, err = self.run_it('submit', '--follow', 'video.mp4', 'b.mp4')
        self.assertIn('vrtctl: not now\n', err)
        self.assertEqual(posted, [('/v1/jobs', b'moving pictures'), ('/v1/jobs', b'other pictures'),
                                  ('/v1/jobs/8/resume', b'other pictures')])

    def test_another_one_returns(self):
        """With a state folder of its own: its job of the same number is another's, or none."""
        for instance, command in ((None, ['wait', 7]), ('b', ['watch', 7]), ('b', ['wait', 7, 8])):
            with self.subTest(instance=instance, command=command):
                sent, there = threading.Event(), []

                def respond(request, sent=sent, there=there, instance=instance):
                    if request.path == '/v1/status':
                        there.extend(there)
                        if len(there) == 2:
                            return None         # nothing is known of it yet
                        return answer({'instance': instance if there else 'a'})
                    return self.lasting(sent) if not there and 'events' in request.path else \
                        iter([STREAM, event('job', self.final)]) if 'events' in request.path else \
                        answer(job(int(request.path.rsplit('/', 1)[1]), 'done'))
                first = self.serve(respond)
                process = self.start(*command, stdin=subprocess.DEVNULL)
                self.assertTrue(sent.wait(PATIENCE_S))
                first.close()
                self.assertIn('went away', process.stderr.readline())
                there.append(True)
                self.serve(respond)
                _, err = process.communicate(timeout=PATIENCE_S)
                if instance:
                    self.assertEqual(process.returncode, 3)
                    self.assertIn('another vrtd answers at', err)
                else:
                    self.assertEqual(process.returncode, 0, err)    # an older one doesn't say

    def test_no_return(self):
        self.restarted('running')
        out, err = self.run_it('wait', '--timeout', 1, 7, status=3)
        self.assertEqual(out, '')
        self.assertIn('went away', err)
        self.assertIn('not running: nothing listens', err)

    def test_interrupted_while_it_is_away(self):
        """Also where systemd holds the socket, and takes connections that nobody answers."""
        for held in (False, True):
            sent = threading.Event()
            server = self.serve(lambda r, sent=sent: self.lasting(sent) if 'events' in r.path else
                                answer({'instance': 'a'}))
            process = self.start('wait', 7)
            self.assertTrue(sent.wait(PATIENCE_S))
            server.close()
            if held:
                os.unlink(server.path)
                listener = socket.socket(socket.AF_UNIX)
                self.addCleanup(listener.close)
                listener.bind(server.path)
                listener.listen(8)
            if not held:
                self.assertIn('went away', process.stderr.readline())
            time.sleep(1)
            _, err = self.stop(process)
            self.assertIn('the job goes on in vrtd; to cancel: vrtctl cancel 7\n', err)
            os.unlink(server.path)

    def test_stalled(self):
        """What doesn't go on by itself is told even to who only waits, once."""
        full = {'id': 'output.full', 'message': 'the disk of /v is full: 2 GiB are needed',
                'field': None}

        def stream():
            paused = job(7, 'paused', devices=[])
            yield STREAM + event('job', paused) + event('job', paused)
            yield event('job', job(7, 'disk_full', error=full)) + event('job', job(7))
            yield event('job', dict(paused, frames_done=0)) + event('job', self.final)
        self.serve(lambda r: stream() if 'events' in r.path else answer(self.final))
        _, err = self.run_it('wait', 7)
        self.assertEqual(err.splitlines(), [
            'vrtctl: video.mp4: paused at 42%: vrtctl resume 7',
            'vrtctl: video.mp4: the disk of /v is full: 2 GiB are needed',
            'vrtctl: video.mp4: paused: vrtctl resume 7',
            'vrtctl: video.mp4: warning: frame 3 was concealed'])

    def start(self, *arguments, **options):
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def stop(self, process):
        """By Ctrl-C. Return: what it prints yet."""
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)
        return told

    def interrupt(self, *arguments):
        self.gate = threading.Event()
        self.serve(self.respond)
        process = self.start(*arguments)
        while '84 of 200' not in process.stdout.readline():
            self.assertIsNone(process.poll())
        _, err = self.stop(process)
        self.gate.set()
        return err

    def test_interrupted_of_many(self):
        """What goes on is named, as far as there aren't too many."""
        def respond(request):
            number = request.path.rsplit('/', 1)[1]
            return self.lasting(threading.Event(), b'') if 'events' in request.path else \
                answer({} if number == 'status' else
                       job(int(number), 'done' if number == '1' else 'running'))
        for n, named in ((23, ' '.join(map(str, range(2, 22))) + ' ...'), (3, '2 3'), (2, '2')):
            self.serve(respond)
            process = self.start('wait', *range(1, n + 1))
            self.assertIn('1 video.mp4 -> ', process.stdout.readline())
            _, err = self.stop(process)
            self.assertEqual(err, f'vrtctl: the job{" goes" if n == 2 else "s go"} on in vrtd; to '
                                  f'cancel: vrtctl cancel {named}\n')
            self.assertEqual({r.method for r in self.server.requests}, {'GET'})

    def test_tried_again_meanwhile(self):
        """A job that was over goes on, when it is asked how it ended."""
        again = [job(7), self.final]
        self.serve(lambda r: iter([STREAM] + 2 * [event('job', self.final)])
                   if 'events' in r.path else answer(again.pop(0) if len(again) > 1 else again[0]))
        out, _ = self.run_it('wait', 7)
        self.assertIn('200 frames', out)
        self.assertEqual(len(again), 1)

    def test_interrupted(self):
        err = self.interrupt('submit', '--follow', 'video.mp4')
        self.assertEqual(err, 'vrtctl: the job goes on in vrtd; to cancel: vrtctl cancel 7\n')
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))
        self.assertEqual(self.interrupt('watch', 7), '')

    def test_picture_that_exists(self):
        """It is found out before the job, not after it."""
        self.serve(self.respond)
        self.write('video.restored.png', 'precious')
        self.complaint('submit', '-f', '--preview', 'video.mp4', status=1,
                       says='video.restored.png: the picture of --preview exists; replace it with '
                       '--overwrite, or make it later: vrtctl preview -o FILE ID')
        self.assertEqual(self.server.requests, [])
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))

    def test_nothing_to_watch(self):
        self.serve(lambda r: self.lasting(threading.Event(), b'') if 'events' in r.path else
                   answer({}))
        process = self.start('watch')
        self.assertEqual(process.stdout.readline(), 'no job waits or runs; Ctrl-C ends this\n')
        self.assertEqual(self.stop(process), ('', ''))


FULL, EMPTY = '\u2588\u2591'    # parts of a bar


def seen(output):
    """The lines that a terminal shows in the end."""
    lines, at, column = [''], 0, 0
    for piece in re.findall('\x1b\\[[AJK]|[\r\n]|[^\x1b\r\n]+', output):
        if piece == '\n':
            at += 1
            lines += [''] * (at == len(lines))
        elif piece == '\x1b[A':
            at -= 1
        elif piece in ('\x1b[J', '\x1b[K'):
            lines[at] = lines[at][:column]
            del lines[at + 1 if piece == '\x1b[J' else len(lines):]
        elif piece != '\r':
            lines[at] = lines[at][:column] + piece + lines[at][column + len(piece):]
        column = 0 if piece in '\r\n' else column + len(piece) * (piece[0] != '\x1b')
    return lines


class Terminal(FollowCase):
    """The same on a terminal: a bar that is drawn over again, and taken away at the end."""

    def follow(self, until='84/200', **options):
        """What it prints that follows a job, which goes on once it has printed `until`."""
        self.gate = threading.Event()
        self.serve(self.respond)
        return self.on_terminal(100, 'submit', '--follow', 'video.mp4', **options,
                                err='vrtctl: video.mp4: warning: frame 3 was concealed\n',
                                on_output=lambda output: until in output and self.gate.set())

    def test_lines(self):
        output = self.follow()
        self.assertEqual(seen(output), [
            '7 video.mp4 -> video.restored.mp4: 200 frames in 0:07 (28.6 fps) on cpu:0', ''])
        self.assertLess(output.count('84/200'), 10)

    def test_what_is_said_meanwhile(self):
        """It stands above the bars, which are drawn again below it."""
        outputs, expected, instance = queue.Queue(), ['84/200'], ['a']
        lost = dict(DEVICE, state='lost', last_error='hot')

        def drawn(*said):
            """Until what is said is there, and behind it the bar of a job."""
            expected.extend([*said, '84/200'] if said else [])
            while not re.search('.*'.join(expected), outputs.get(timeout=PATIENCE_S), re.S):
                pass

        def stream():
            yield STREAM + event('job', job(7))
            if 'went away' in expected:
                drawn('is back')
                instance[0] = 'b'
                return
            drawn()
            for said, sent in (
                    ('is lost', event('device', lost)),
                    ('quarantined', event('device', dict(lost, state='quarantined'))),
                    ('too hot', event('job', job(7, warnings_total=1)))):
                yield sent
                drawn(said)
            self.server.close()
            drawn('went away')
            self.serve(respond)

        def respond(request):
            return stream() if 'events' in request.path else \
                answer(job(7, warnings=['too hot'], instance=instance[0]))
        self.serve(respond)
        output = self.on_terminal(70, 'watch', status=3, err=None,
                                  on_output=outputs.put)
        self.assertEqual(seen(output)[:-2], [
            'device cpu:0 is lost: hot',
            'device cpu:0 is quarantined: hot',
            'vrtctl: video.mp4: warning: too hot',
            'vrtctl: vrtd went away; its jobs go on when it is back, and are followed then',
            'vrtctl: vrtd is back',
            f'video.mp4  {5 * FULL}{9 * EMPTY}   42%   84/200   12.3 fps  0:09 left  cpu:0'])
        self.assertIn('vrtctl: another vrtd answers at ', seen(output)[-2])
        self.assertTrue(output.startswith('\rno job waits or runs; Ctrl-C ends this\x1b[K\n'))

    def test_more_than_fit(self):
        """Those at work first, with bars of one width; what is over is none of them."""
        self.gate = threading.Event()
        states = ['done', 'queued', 'running', 'disk_full', 'running', 'queued', 'running']
        jobs = [job(i + 1, state, input_name=f'{i + 1:0{i + 1}}.mp4', fps=10 ** i / 1000,
                    error={'id': 'x', 'message': 60 * 'x', 'field': None},
                    devices=job()['devices'] * (i != 2)) for i, state in enumerate(states)]

        def stream():
            yield STREAM
            self.gate.wait(PATIENCE_S)
            yield b''.join(event('job', dict(j, state='done')) for j in jobs)

        def respond(request):
            if request.path.startswith('/v1/events'):
                return stream()
            if request.path == '/v1/status':
                return answer({})
            known = jobs[int(request.path.rsplit('/', 1)[1]) - 1]
            return answer(dict(known, state='done') if self.gate.is_set() else known)
        self.serve(respond)
        output = self.on_terminal(
            76, 'watch', *range(1, 8), rows=6,
            on_output=lambda output: 'and 2 more' in output and self.gate.set())
        bar = 7 * FULL + 11 * EMPTY
        self.assertEqual(seen(output.partition('and 2 more')[0])[-5:-1], [
            f'003.mp4      {bar}   42%   84/200    0.1 fps  0:09 left',
            f'00005.mp4    {bar}   42%   84/200   10.0 fps  0:09 left  cpu:0',
            f'0000007.mp4  {bar}   42%   84/200   1000 fps  0:09 left  cpu:0',
            f'02.mp4       {bar}  queued'])

    def test_dumb_terminal_gets_lines(self):
        output = self.follow('84 of 200', kind='dumb')
        self.assertIn('84 of 200', output)
        self.assertNotIn('\x1b', output)

    def test_list_fits(self):
        long = 'x' * 200 + '.mp4'
        self.serve(lambda r: answer({'jobs': [job(input_name=long)]}))
        output = self.on_terminal(90, 'list')
        self.assertEqual(max(map(len, output.split('\n'))), 90)
        self.assertIn('xxx...', output)


if __name__ == '__main__':
    unittest.main(verbosity=2)
