#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl pause, resume, retry, priority and cancel against a server of the test's own.

usage: test_vrtctl_control.py VRTCTL [unittest arguments]
"""
import json
import os
import time
import unittest

from fake_vrtd import answer, refusal
from vrtctl_case import Case, job


class Simple(Case):
    """Requests without files."""

    def answers(self, *bodies):
        queue = list(bodies)
        self.serve(lambda _: queue.pop(0))

    def asked(self):
        return [(r.method, r.path, r.body.decode()) for r in self.server.requests]

    def test_pause(self):
        self.answers(answer(job(7, 'paused', devices=[])), answer(job(8, 'running')),
                     answer(job(9, 'paused')))
        out, _ = self.run_it('pause', 7, 8, 9)
        self.assertEqual(out, 'job 7 (video.mp4) is paused\njob 8 (video.mp4) is being paused\n'
                              'job 9 (video.mp4) is being paused: 2 shards are under way\n')
        self.assertEqual(self.asked()[:2], [('POST', '/v1/jobs/7/pause', ''),
                                            ('POST', '/v1/jobs/8/pause', '')])

    def test_cancel(self):
        made = self.write('made.mp4', '')
        at_s = os.stat(made).st_mtime
        self.answers(answer(job(7, 'cancelled', output_path=made, created_at=time.strftime(
            '%Y-%m-%dT%H:%M:%SZ', time.gmtime(at_s)))), answer(job(8, 'running')))
        out, _ = self.run_it('cancel', 7, 8)
        self.assertEqual(out, 'job 7 (video.mp4) was cancelled\n'
                              'job 8 (video.mp4) is being cancelled\n')
        self.assertEqual(self.asked()[0], ('DELETE', '/v1/jobs/7', ''))
        self.assertFalse(os.path.exists(made))

    def test_priority(self):
        self.answers(answer(job(7, 'paused', priority=-3)), answer(job(7, priority=100)),
                     answer(job(7)))
        out, _ = self.run_it('priority', 7, -3)
        self.assertEqual(out, 'job 7 (video.mp4) has priority -3 now\n')
        self.assertEqual(self.asked(), [('PATCH', '/v1/jobs/7', '{"priority":-3}')])
        out, _ = self.run_it('priority', '--json', 7, 100)
        self.assertEqual(json.loads(out)['priority'], 100)
        self.run_it('priority', 7, -100)
        for value in ('101', '-101', 'high', '', '1.5', '99999999999999999999'):
            self.complaint('priority', 7, value, status=2, says='an integer from -100 to 100')
        self.complaint('priority', 7, status=2, says='needs ID N')

    def test_all(self):
        """One word for all of a user's own jobs that it is for."""
        states = ('queued', 'fetching', 'running', 'paused', 'needs_input', 'disk_full', 'done',
                  'failed', 'cancelled')
        jobs = [job(i, state) for i, state in enumerate(states, 1)]
        hidden = [dict(j, id=j['id'] + 9, input_name=None) for j in jobs]
        self.serve(lambda r: answer({'jobs': jobs + hidden} if '?' in r.path else
                                    jobs[int(r.path.split('/')[3]) - 1]))
        for word, method, numbers in (('pause', 'POST', '123'), ('resume', 'POST', '456'),
                                      ('retry', 'POST', '8'), ('cancel', 'DELETE', '123456')):
            del self.server.requests[:]
            self.run_it(word, '--all')
            self.assertEqual(''.join(r.path.split('/')[3] for r in self.server.requests
                                     if r.method == method), numbers)
        del jobs[:]
        self.assertEqual(self.run_it('wait', '--all')[0], 'no job of yours waits or runs\n')

    def test_refused(self):
        """One that is refused doesn't hold up the others; the last that went wrong decides."""
        said = 'job 7 is done: there is nothing left to pause'
        self.answers(refusal(409, 'job.state', said), answer(job(8, 'paused', devices=[])),
                     refusal(404, 'job.not_found', 'no job has the number 9'))
        out, err = self.run_it('pause', 7, 8, 9, status=4)
        self.assertEqual(out, 'job 8 (video.mp4) is paused\n')
        self.assertEqual(err, f'vrtctl: {said}\nvrtctl: no job has the number 9\n')

    def test_going_away(self):
        self.answers(refusal(503, 'shutting_down', 'vrtd is about to end'))
        self.complaint('pause', 7, 8, status=3, says='about to end')
        self.assertEqual(len(self.asked()), 1)

    def test_names_of_others(self):
        """Another user's job has no names: whose it is stands for them."""
        hidden = job(7, 'needs_input', input_name=None, output_name=None, owner='anna')
        self.answers(answer(hidden), answer({'jobs': [hidden], 'next': None}), answer(hidden))
        self.assertEqual(self.run_it('pause', 7)[0], "job 7 (anna's) is being paused\n")
        self.assertTrue(self.run_it('list')[0].endswith("  anna's\n"))
        out, _ = self.run_it('show', 7)
        self.assertIn('  Input      -\n', out)
        self.assertNotIn('vrtctl resume', out)
        self.assertIn(', by anna\n', out)


class Revive(Case):
    """Resume and retry: which files are opened and sent."""

    shown = None

    def setUp(self):
        super().setUp()
        self.posted, self.contents = None, []
        self.refuse = None
        for name, text in (('x4.pth', 'weights'), ('moved.mp4', 'moving pictures')):
            self.write(name, text)
        self.serve(self.respond)

    def respond(self, request):
        if request.method == 'GET':
            return answer(self.shown)
        self.posted = request
        self.contents = [os.pread(fd, 100, 0) for fd in request.files]
        return self.refuse or answer(dict(self.shown, state='queued', error=None))

    def lost(self, state='needs_input', **more):
        paths = {'input_path': self.path('video.mp4'), 'model_path': None,
                 'output_path': self.path('video.restored.mp4')}
        self.shown = job(7, state, **{**paths, **more})

    def test_paused(self):
        """Who has its files is given none."""
        for state in ('paused', 'disk_full'):
            self.lost(state)
            out, _ = self.run_it('resume', 7)
            self.assertEqual(out, 'job 7 (video.mp4) goes on\n')
            self.assertEqual((self.posted.method, self.posted.path, self.posted.files),
                             ('POST', '/v1/jobs/7/resume', []))
            self.assertEqual(self.posted.json(), {
                **{part: {'fd': None, 'name': '', 'path': None} for part in
                   ('input', 'output', 'model', 'reference')}, 'overwrite': False})
        out, _ = self.run_it('resume', '--json', 7)
        self.assertEqual(json.loads(out), dict(self.shown, state='queued', error=None))

    def test_needs_input(self):
        self.lost(model_path=self.path('x4.pth'), reference_path=self.path('moved.mp4'))
        out, _ = self.run_it('resume', 7)
        self.assertEqual(out, 'job 7 (video.mp4) goes on\n')
        self.assertEqual(self.contents, [b'moving pictures', b'', b'weights', b'moving pictures'])
        self.assertEqual(self.posted.json(), {
            'input': {'fd': 0, 'name': 'video.mp4', 'path': self.path('video.mp4')},
            'output': {'fd': 1, 'name': 'video.restored.mp4',
                       'path': self.path('video.restored.mp4')},
            'model': {'fd': 2, 'name': 'x4.pth', 'path': self.path('x4.pth')},
            'reference': {'fd': 3, 'name': 'moved.mp4', 'path': self.path('moved.mp4')},
            'overwrite': False})
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))

    def test_moved(self):
        """The user knows better; what he says is taken from his folder."""
        self.lost(input_path='/nowhere/video.mp4')
        self.complaint('resume', 7, status=1, says='job 7: /nowhere/video.mp4: No such file or '
                       'directory; there is no folder /nowhere/; say where it is: vrtctl resume 7 '
                       'INPUT')
        self.assertIsNone(self.posted)
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
        self.run_it('resume', 7, 'moved.mp4', '-o', 'else.mp4', '--model', 'x4.pth')
        self.assertEqual([self.posted.json()[part]['path']
                          for part in ('input', 'output', 'model')],
                         [self.path(name) for name in ('moved.mp4', 'else.mp4', 'x4.pth')])
        for named in (['gone.mp4'], ['-o', 'x.mp4'], ['-m', 'x4.pth'], ['--reference', 'x4.pth']):
            self.assertNotIn('say where', self.complaint('resume', 7, *named, status=1,
                                                         says='.mp4: No such file'))
        self.lost(model_path='/nowhere/x4.pth')
        self.complaint('resume', 7, status=1, says='No such file or directory; there is no '
                       'folder /nowhere/; say where it is: vrtctl resume 7 --model FILE')
        self.lost(reference_path='/nowhere/gt.mkv')
        self.complaint('resume', 7, status=1, says='say where it is: vrtctl resume 7 '
                       '--reference FILE')
        self.run_it('resume', 7, '--reference', 'moved.mp4')
        self.assertEqual(self.posted.json()['reference']['name'], 'moved.mp4')
        self.lost(output_path='/nowhere/out.mp4')
        self.complaint('resume', 7, status=1, says='the folder for it does not exist')

    def test_another_input(self):
        """Its size says so, before anything is said of an output that holds something."""
        self.write('video.restored.mp4', 'precious')
        size = os.path.getsize(self.path('video.mp4'))
        self.lost(input_bytes=size + 1)
        self.complaint('resume', 7, status=1, says='video.mp4 is not the file that this job was '
                       f'submitted for: that had {size + 1} bytes, and this has {size}: vrtctl '
                       'resume 7 INPUT')
        self.lost(input_bytes=size)
        self.complaint('resume', 7, status=1, says='holds something by now')
        self.lost(output_path=self.path('video.mp4'))
        self.complaint('resume', 7, '--overwrite', status=1, says='same file as the input')

    def test_output_that_is_there(self):
        """Empty, or half written by the daemon: it goes on. Anything else is somebody's."""
        for text, fine in (('', True), ('\0' * 5000 + 'end', True), ('\0' * 4095 + 'x', False),
                           ('x' + '\0' * 5000, False), ('precious', False)):
            with self.subTest(text=text[-8:]):
                self.write('video.restored.mp4', text)
                self.lost()
                if fine:
                    self.run_it('resume', 7)
                else:
                    self.complaint('resume', 7, status=1, says='holds something by now; replace '
                                   'it with --overwrite')
                    self.run_it('resume', 7, '--overwrite')
                    self.assertTrue(self.posted.json()['overwrite'])
                self.assertEqual(self.text_of('video.restored.mp4'), text)

    def test_output_of_a_refused_one(self):
        """What was made for it is gone again, what was there stays."""
        self.lost()
        said = 'video.mp4 is not the file that the job began with'
        self.refuse = refusal(422, 'input.other', said)
        self.complaint('resume', 7, status=1, says=said)
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
        self.write('video.restored.mp4', '')
        self.complaint('resume', 7, status=1, says=said)
        self.assertTrue(os.path.exists(self.path('video.restored.mp4')))

    def test_unknown_places(self):
        self.lost(input_path=None, output_path=None)
        self.refuse = refusal(409, 'job.needs_input', 'vrtd has the input of job 7 no more: give '
                              'its files again')
        self.complaint('resume', 7, status=1, says='the input of job 7 no more: give its files '
                       'again: vrtctl resume 7 INPUT -o OUTPUT')
        self.assertEqual(self.contents, [])
        self.refuse = None
        self.lost(input_path=None)      # it was fetched: only the output is lacking
        self.run_it('resume', 7)
        self.assertEqual(self.contents, [b''])
        self.run_it('resume', 7, 'moved.mp4', '-o', 'b.mp4')
        self.assertEqual(self.contents, [b'moving pictures', b''])

    def test_retry(self):
        """The daemon keeps no files of what is over: they are always sent."""
        for state in ('failed', 'cancelled'):
            self.lost(state)
            out, _ = self.run_it('retry', 7)
            self.assertEqual(out, 'job 7 (video.mp4) is tried again\n')
            self.assertEqual(self.posted.path, '/v1/jobs/7/retry')
            self.assertEqual(self.contents, [b'moving pictures', b''])
        self.lost('failed', input_path=None, output_path=None)
        self.run_it('retry', 7)
        self.assertEqual(self.contents, [])

    def test_wrong_state(self):
        """Of a job that cannot be revived the daemon says so, whatever became of its files."""
        self.write('video.restored.mp4', 'the result')
        for verb, state in (('retry', 'done'), ('retry', 'queued'), ('resume', 'done')):
            with self.subTest(verb=verb, state=state):
                self.lost(state)
                said = f'job 7 is {state}: there is nothing to {verb}'
                self.refuse = refusal(409, 'job.state', said)
                _, err = self.run_it(verb, 7, '-o', '/nowhere/x.mp4', status=1)
                self.assertEqual(err, f'vrtctl: {said}\n')
                self.assertEqual(self.contents, [])

    def test_several(self):
        self.lost('paused')
        out, err = self.run_it('resume', 7, 8, status=3)
        self.assertEqual(out, 'job 7 (video.mp4) goes on\n')
        self.assertEqual(err, "vrtctl: vrtd's answer isn't about job 8\n")
        out, _ = self.run_it('resume', 7, 7, 7)
        self.assertEqual(len(out.splitlines()), 3)
        self.complaint('resume', 7, 8, '-o', 'x.mp4', status=2, says='--output names the file of '
                       'one job, and there are 2')
        self.complaint('retry', 7, 8, '-m', 'x.pth', status=2, says='--model names')
        self.complaint('resume', 7, 'a.mp4', 8, status=2, says='"a.mp4" is not a job\'s number')
        os.rename(self.path('moved.mp4'), self.path('8'))
        self.run_it('resume', 7, './8')
        self.assertEqual(self.contents, [b'moving pictures'])

    def test_broken(self):
        for shown in ({}, {'id': 7, 'state': 3}, []):
            self.shown = shown
            self.complaint('resume', 7, status=3, says='vrtd')


if __name__ == '__main__':
    unittest.main(verbosity=2)
