#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl submit, of files and folders, against a server of the test's own.

usage: test_vrtctl_submit.py VRTCTL [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import unittest

from fake_vrtd import answer, refusal
from vrtctl_case import PATIENCE_S, Answered, Case, job


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
            'input': {'fd': 0, 'name': 'video.mp4', 'path': self.path('video.mp4'), 'url': None,
                      'upload': None},
            'output': {'fd': 1, 'name': 'video.restored.mp4',
                       'path': self.path('video.restored.mp4')},
            'model': {'fd': None, 'name': '', 'path': None},
            'reference': {'fd': None, 'name': '', 'path': None, 'upload': None},
            'device': 'cpu:0,cpu:1', 'precision': None,
            'tile': 64, 'overlap': None, 'clip': None, 'clip_overlap': None, 'tiling': 'blend',
            'scene_cuts': None, 'sigma': None, 'strength': None, 'denoise': None,
            'codec': 'hevc', 'quality': None, 'preset': None,
            'bitrate': None, 'target_size_bytes': None, 'scale': None, 'pixel_format': None,
            'encoder_options': None, 'streams': None,
            'start_s': None, 'duration_s': None, 'pictures': None, 'fps': None,
            'deinterlace': 'auto', 'times': None, 'alpha': 'auto', 'tonemap': 'off',
            'hwaccel': None, 'hwdec': None,
            'priority': -3, 'strict': True, 'overwrite': False, 'dry_run': False,
            'webhook': None})
        self.assertEqual(self.text_of('video.restored.mp4'), 'result')

    def test_options(self):
        """How they are written, and what is asked for by them."""
        self.serve(self.accepts)
        for options, wanted in (
                ('--clip 16 --clip-overlap 0 --tiling official --sigma 12.5 --scene-cuts off',
                 {'clip': 16, 'clip_overlap': 0, 'tiling': 'official', 'sigma': 12.5,
                  'scene_cuts': 0}),
                ('--scene-cuts on', {'scene_cuts': 0.08}),
                ('--scene-cuts 0.3', {'scene_cuts': 0.3}),
                ('--codec auto --bitrate 8M --pix-fmt yuv420p10le --enc tune=film --enc bf=2',
                 {'codec': 'auto', 'bitrate': 8000000, 'pixel_format': 'yuv420p10le',
                  'encoder_options': 'tune=film bf=2'}),
                ('--bitrate 2500k', {'bitrate': 2500000}), ('--bitrate 1e6', {'bitrate': 1000000}),
                ('--target-size 700M', {'target_size_bytes': 700000000}),
                ('--target-size 4Gi', {'target_size_bytes': 4 << 30}),
                ('--target-size 1.5k', {'target_size_bytes': 1500}),
                ('--start 1:00 --end 1:30.5', {'start_s': 60, 'duration_s': 30.5}),
                ('--end 8', {'start_s': None, 'duration_s': 8}),
                ('--start 2 --duration 3', {'start_s': 2, 'duration_s': 3})):
            self.run_it('submit', *options.split(), '--overwrite', 'video.mp4')
            seen = self.seen.json()
            self.assertEqual({key: seen[key] for key in wanted}, wanted)
        for option, values, says in (
                ('--bitrate', '8X 1 nan 3000M M', ': expected a number from 1000 to 2000000000'),
                ('--target-size', '12 -7M 7MB Mi 9999T', ': expected a number'),
                ('--scene-cuts', '0 1.5 0.5x nan often', ': expected off, on or a number'),
                ('--end', '0 9', ': the part would end before it begins'),
                ('--duration', '0', ': nothing lasts so long')):
            for value in values.split():
                self.complaint('submit', '--start', 9, option, value, '--overwrite', 'video.mp4',
                               status=2, says=option + says)
        self.complaint('submit', '--duration', 3, '--end', 9, 'video.mp4', status=2,
                       says='leave one of them out')

    def test_warnings(self):
        """Who leaves after submitting is told what was found so far."""
        self.serve(lambda _: answer(job(7, 'queued', warnings=['alpha is dropped']), 201))
        out, err = self.run_it('submit', 'video.mp4')
        self.assertEqual(out, 'job 7: video.mp4 -> video.restored.mp4\n')
        self.assertEqual(err, 'vrtctl: video.mp4: warning: alpha is dropped\n')
        out, err = self.run_it('submit', '--json', '-o', 'other.mkv', 'video.mp4')
        self.assertEqual(json.loads(out)['id'], 7)
        self.assertEqual(json.loads(err), {'warning': {'input': 'video.mp4',
                                                       'message': 'alpha is dropped'}})

    def test_model_file(self):
        self.serve(self.accepts)
        self.write('x4.pth', 'weights')
        words = {'preset': 'slow', 'webhook': 'https://h/x', 'streams': 'v:0,a', 'scale': '1080p'}
        self.run_it('submit', '-m', 'x4.pth', '--reference', self.write('gt.mkv', 'truth'),
                    *(f'--{name}={word}' for name, word in words.items()), '-o', 'a.mkv',
                    'video.mp4')
        self.assertEqual(self.read, [b'moving pictures', b'weights', b'truth'])
        seen = self.seen.json()
        self.assertEqual({name: seen[name] for name in words}, words)
        self.assertEqual(seen['model'], {'fd': 2, 'name': 'x4.pth', 'path': self.path('x4.pth')})
        self.assertEqual(seen['reference'], {'fd': 3, 'name': 'gt.mkv', 'upload': None,
                                             'path': self.path('gt.mkv')})
        self.run_it('submit', '-m', 'compact-x2', '--reference', 'gt.mkv', '-o', 'b.mkv',
                    'video.mp4')
        self.assertEqual(self.read, [b'moving pictures', b'truth'])
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
        self.assertIn('missing.mp4: No such file or directory; nothing is called so in '
                      + self.folder, err)
        self.complaint('submit', '-o', 'new/', 'b.avi', status=1, says='make it first')
        self.complaint('submit', '-o', 'x.mkv', 'video.mp4', 'b.avi', status=2,
                       says='--output names one file, and there are 2 inputs')

    def test_called_alike(self):
        """Inputs of one name have results of their own."""
        self.serve(lambda r: answer(job(7, 'queued'), 201))
        os.mkdir(self.path('made'))
        inputs = ['a.mkv', 'a.avi', './a.avi', 'b/a.mkv']
        os.mkdir(self.path('b'))
        for name in inputs:
            shutil.copy(self.path('video.mp4'), self.path(name))
        for options, names in (
                ([], ['a.restored.mkv', 'a.avi.restored.mkv', 'a.avi.2.restored.mkv',
                      'a.mkv.restored.mkv']),
                (['--codec', 'png'], ['a', 'a.avi', 'a.avi.2', 'a.mkv'])):
            del self.server.requests[:]
            self.run_it('submit', *options, '-o', 'made/', *inputs)
            self.assertEqual([r.json()['output']['path'] for r in self.server.requests],
                             [self.path('made/' + name) for name in names])

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
        self.write('old.mp4', 'precious')
        self.complaint('submit', '-o', 'old.mp4', 'video.mp4', status=1, says='--overwrite')
        self.complaint('submit', '-o', 'old.mp4', '--overwrite', 'video.mp4', status=1,
                       says='video.mp4: the queue is full')
        self.assertEqual(self.text_of('old.mp4'), 'precious')

    def test_a_refused_job_leaves_no_output(self):
        for given, status in [(refusal(422, 'job.input', 'not a video'), 1), (None, 3),
                              (answer({}, 201), 3), (answer('?', 201), 3), (answer('', 500), 3)]:
            with self.subTest(given=given):
                self.serve(lambda _, given=given: given)
                self.complaint('submit', 'video.mp4', status=status, says='vrtctl: ')
                self.assertFalse(os.path.exists(self.path('video.restored.mp4')))

    def test_no_more_room(self):
        """Of many files the first that finds no room ends it: the others would find none either."""
        taken = []

        def respond(request):
            if len(taken) == 2:
                return refusal(503, 'job.queue_full', 'as many jobs wait as are allowed')
            taken.append(request)
            return answer(job(len(taken), 'queued'), 201)
        for n, rest in ((4, '1 file was'), (300, '297 files were')):
            taken.clear()
            self.serve(respond)
            names = [f'{n}.{i}.mp4' for i in range(n)]
            for name in names:
                shutil.copy(self.path('video.mp4'), self.path(name))
            out, err = self.run_it('submit', *names, status=1)
            self.assertEqual(len(out.splitlines()), 2)
            self.assertEqual(err, f'vrtctl: {n}.2.mp4: as many jobs wait as are allowed\n'
                                  f'vrtctl: {rest} not submitted, from {n}.3.mp4 on; submit them '
                                  'when there is room\n')
            self.assertEqual(len(self.server.requests), 3)
            self.assertFalse(os.path.exists(self.path(f'{n}.2.restored.mp4')))

    def test_unprintable_names(self):
        self.serve(self.accepts)
        name = os.fsencode(self.folder) + b'/a\xff\nb.mp4'
        shutil.copy(self.path('video.mp4'), name)
        done = subprocess.run([*map(os.fsencode, self.command('submit')), name],
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, b'job 7: a??b.mp4 -> a??b.restored.mp4\n')


class Series(Answered):
    """What is in a folder, and below it."""

    def setUp(self):
        super().setUp()
        self.posted, self.known, self.room = [], [], 100

        def respond(request):
            path = request.path
            if path.startswith('/v1/jobs?'):
                return answer({'jobs': self.known})
            if request.method == 'GET':
                return answer(self.known[int(path.split('/')[3]) - 1])
            q = request.json()
            if q['dry_run']:
                return answer({})
            if len(self.posted) == self.room:
                return refusal(503, 'job.queue_full', 'no more')
            self.posted.append(tuple(os.path.relpath(q[key]['path'], self.folder)
                                     for key in ('input', 'output')))
            return answer(job(9, 'queued'), 201)
        self.serve(respond)
        for name in ('top/.no.mkv', 'top/b.mkv', 'top/a/two.MKV', 'top/a/.no.mkv',
                     'top/a/.x/no.mkv', 'top/a/notes.txt', 'top/mkv', 'top/c/d/e.3gp',
                     'top/out/old.mkv'):
            self.write(name)
        os.symlink('../b.mkv', self.path('top/a/link.mkv'))
        os.symlink('..', self.path('top/a/up.mkv'))
        os.symlink('nowhere', self.path('top/a/none.mkv'))

    def submit(self, *more, folder='top', out='top/out/', **options):
        del self.posted[:]
        return self.run_it('submit', folder, '-r', '--output-dir', out, *more, **options)

    def test_all(self):
        for folder, out in (('top', 'top/out/'), ('top///', 'top/out'),
                            (self.path('top'), self.path('top/out'))):
            self.submit('--overwrite', folder=folder, out=out)
            self.assertEqual(self.posted, [
                ('top/a/link.mkv', 'top/out/a/link.mkv'), ('top/a/two.MKV', 'top/out/a/two.MKV'),
                ('top/b.mkv', 'top/out/b.mkv'), ('top/c/d/e.3gp', 'top/out/c/d/e.3gp.mkv')])
        self.submit('--match', '*.[0-3]gp', out='new/deep')
        self.assertEqual(self.posted, [('top/c/d/e.3gp', 'new/deep/c/d/e.3gp.mkv')])
        _, err = self.submit('--match', 'x*')
        self.assertEqual(err, 'vrtctl: top: warning: nothing in it, or below it, is called as x*\n')
        _, err = self.submit(folder='top/a/.x', out='new')
        self.assertEqual(self.posted, [('top/a/.x/no.mkv', 'new/no.mkv')])
        for i in range(65):
            self.write(f'many/{i}.mkv')
        self.submit(folder='many', out='new')
        self.assertEqual(len(set(self.posted)), 65)
        self.submit('--match', '*.3gp', folder='top/c/d/../..', out='top/c')
        self.assertEqual(self.posted, [])
        self.assertIn('4 of the files changed less than 9000 s ago: they are left out until',
                      self.submit('--settled', 9000)[1])
        self.assertEqual(self.posted, [])

    def test_done(self):
        """By its newest job; where there is none, by what is there."""
        def left_out(n_done, n_has, *more):
            return (f'vrtctl: warning: of 3 videos {n_done} {"is" if n_done == 1 else "are"} done '
                    f'and {n_has} {"has" if n_has == 1 else "have"} a job: they are left out\n')
        os.remove(self.path('top/a/link.mkv'))
        self.known = [
            job(i + 1, state, output_name=os.path.basename(path), output_path=self.path(path))
            for i, (state, path) in enumerate((
                ('failed', 'top/out/b.mkv'), ('done', 'top/out/b.mkv'),
                ('running', 'elsewhere/b.mkv'), ('paused', 'top/out/a/two.MKV')))]
        self.assertEqual(self.submit('--skip-done')[1], left_out(1, 1))
        self.assertEqual(self.posted, [('top/c/d/e.3gp', 'top/out/c/d/e.3gp.mkv')])
        self.write('top/out/c/d/e.3gp.mkv', '')
        self.submit('--skip-done', '--overwrite')
        self.assertEqual(len(self.posted), 1)
        self.write('top/out/c/d/e.3gp.mkv', 'result')
        self.assertEqual(self.submit('--skip-done')[1], left_out(2, 1))
        self.known.append(dict(self.known[1], id=5, state='cancelled'))
        self.known.append(dict(self.known[3], id=6, state='failed'))
        _, err = self.submit('--skip-done')
        self.assertEqual(err.splitlines(True), [
            'vrtctl: two.MKV: warning: left out, since job 6 failed: vrtctl retry 6 tries it '
            'again, vrtctl clean 6 forgets it\n',
            'vrtctl: b.mkv: warning: left out, since job 5 was cancelled: vrtctl retry 5 tries it '
            'again, vrtctl clean 5 forgets it\n', left_out(1, 0)])
        self.assertEqual(self.posted, [])
        # Where there is no more room, those that are left out aren't among the rest.
        self.known, self.room = [dict(self.known[1], id=1)], 0
        self.assertEqual(self.submit('--skip-done', status=1)[1],
                         left_out(2, 0) + 'vrtctl: two.MKV: no more\n')

    def test_misused(self):
        for arguments, says in (
                (['-r', 'video.mp4', '--output-dir', 'x'], '--recursive takes one folder'),
                (['-r', 'top', 'top', '--output-dir', 'x'], '--recursive takes one folder'),
                (['-r', 'top'], '--recursive needs --output-dir'),
                (['-r', 'top', '--output-dir', ''], '--recursive needs --output-dir'),
                (['-r', 'top', '-o', 'x/'], 'say --output-dir'),
                (['video.mp4', '--output-dir', 'x'], '--output-dir goes with --recursive'),
                (['video.mp4', '--skip-done'], '--skip-done goes with'),
                (['video.mp4', '--settled', 1], '--settled goes with'),
                (['video.mp4', '--match', '*'], '--match goes with')):
            self.complaint('submit', *arguments, status=2, says=says)
        self.complaint('submit', '-r', 'top', '--output-dir', 'top/.', status=1,
                       says='the folder of the inputs')
        self.complaint('submit', '-r', 'top', '--output-dir', 'video.mp4/x', status=1,
                       says='Not a directory')

    def test_unreadable(self):
        """It is told, and holds up no others."""
        os.mkdir(self.path('top/b'), 0)
        self.assertIn('vrtctl: top/b: Permission denied\n',
                      self.submit('--match', 'b.mkv', '--dry-run', status=1, **self.as_nobody())[1])
        self.assertEqual(len(self.server.requests), 1)


if __name__ == '__main__':
    unittest.main(verbosity=2)
