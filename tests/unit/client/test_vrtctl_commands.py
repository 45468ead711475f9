#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl token, models pull, compare, preview, clean and logs against a server of the test's own.

usage: test_vrtctl_commands.py VRTCTL [unittest arguments]
"""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from fake_vrtd import refusal
from vrtctl_case import MODEL, PATIENCE_S, Answered, job

SHA256 = 'ab' * 32


class Token(Answered):
    def test_new(self):
        self.answers['POST /v1/tokens'] = {'id': 1, 'name': 'anna', 'token': 'abc\x1b'}
        out, err = self.run_it('token', 'new', 'anna')
        self.assertEqual(out, 'abc?\n')
        self.assertIn('who comes as anna', err)
        self.assertEqual(self.asked.pop(), ('POST', '/v1/tokens', {
            'name': 'anna', 'admin': False, 'expires_s': None}))
        out, err = self.run_it('token', 'new', '--json', '--admin', 'x' * 32)
        self.assertEqual((json.loads(out)['id'], err), (1, ''))
        self.assertTrue(self.asked[-1][2]['admin'])
        for text, seconds in (('1', 1), ('90s', 90), ('30m', 1800), ('12h', 43200),
                              ('30d', 2592000), ('4w', 2419200), ('315360000', 315360000),
                              ('3650d', 315360000)):
            self.run_it('token', 'new', '--expires', text, 'anna')
            self.assertEqual(self.asked.pop()[2]['expires_s'], seconds)
        del self.asked[:]
        for text in ('', '0', '-1', ' 5', '1y', '1dd', 'h', '315360001', '3651d', '522w',
                     '99999999999999999999'):
            self.complaint('token', 'new', '--expires', text, 'anna', status=2, says='--expires')
        self.complaint('token', 'new', 'x' * 33, status=2, says='at most 32 letters')
        for arguments in (['new'], ['list', 'x'], ['revoke'], ['old', 'anna']):
            self.complaint('token', *arguments, status=2, says='expected new TOKEN')
        self.assertEqual(self.asked, [])
        self.answers['POST /v1/tokens'] = refusal(409, 'token.exists', 'there is one')
        self.complaint('token', 'new', 'anna', status=1, says='there is one')
        self.answers['POST /v1/tokens'] = {'id': 'x'}
        self.complaint('token', 'new', 'anna', status=3, says='not understood')

    def test_list_and_revoke(self):
        tokens = [{'id': 4, 'name': 'anna', 'admin': True, 'created_at': '2026-01-02T03:04:05Z',
                   'expires_at': '2026-02-02T03:04:05Z'},
                  {'id': 7, 'name': 'ben', 'created_at': '2026-01-02T03:04:05Z', 'expired': True,
                   'expires_at': '2026-02-02T03:04:05Z'},
                  {'id': 9, 'name': 'eve', 'created_at': '2026-01-02T03:04:05Z'}]
        self.answers = {'GET /v1/tokens': {'tokens': tokens}, 'DELETE /v1/tokens/7': {'id': 7}}
        self.assertEqual(self.run_it('token', 'list')[0],
                         'ID  TOKEN  ADMIN  CREATED                   EXPIRES\n'
                         ' 4  anna   yes    2026-01-02T03:04:05.000Z  2026-02-02T03:04:05.000Z\n'
                         ' 7  ben    no     2026-01-02T03:04:05.000Z  has expired\n'
                         ' 9  eve    no     2026-01-02T03:04:05.000Z  never\n')
        self.assertIn('token ben is revoked', self.run_it('token', 'revoke', 'ben')[0])
        self.assertEqual(self.asked[-1], ('DELETE', '/v1/tokens/7', b''))
        self.assertEqual(json.loads(self.run_it('token', 'revoke', '--json', 'ben')[0]), {'id': 7})
        self.complaint('token', 'revoke', 'be\x1bn', status=4, says='there is no token be?n')
        self.answers['DELETE /v1/tokens/7'] = refusal(403, 'token.forbidden', 'not yours')
        self.complaint('token', 'revoke', 'ben', status=1, says='not yours')
        tokens.append({'id': []})
        self.complaint('token', 'revoke', 'ben', status=3, says='not understood')
        self.complaint('token', 'list', status=3, says='not understood')


class Pull(Answered):
    """Models that are fetched, or might be."""

    def model(self, state, **more):
        return dict(MODEL, name='other', is_default=False, state=state, **{
            'size_bytes': 3 << 20, 'sha256': SHA256, **more})

    def test_pull(self):
        """What comes is told once, as is each reason for which nothing comes."""
        began = self.model('pulling', done_bytes=0)
        comes = self.model('pulling', done_bytes=1 << 20)
        self.answers = {
            'POST /v1/models': began,
            'GET /v1/models': [{'models': [MODEL, m]} for m in (
                dict(began, error='no route'), dict(began, error='no route'),
                dict(began, error='no name'), comes, comes, self.model('ready', verified=True))]}
        out, err = self.run_it('models', 'pull', 'other')
        self.assertEqual(err, 'vrtctl: warning: no route\nvrtctl: warning: no name\n'
                              f'pulling other: 3.0 MiB, SHA-256 {SHA256}\n')
        self.assertEqual(out, f'other: 3.0 MiB, SHA-256 {SHA256}, as expected\n')
        self.assertEqual(self.asked[0], ('POST', '/v1/models', {'name': 'other', 'url': None,
                                                                'sha256': None}))
        self.assertEqual(len(self.asked), 7)
        # Somebody looks on.
        self.answers['GET /v1/models'] = [{'models': [m]} for m in (
            comes, dict(comes, error='slow'), self.model('ready'))]
        _, err = self.watched('models', 'pull', 'other')
        self.assertEqual(re.sub(' +', ' ', err), ''.join(f'\r\x1b[K{text}' for text in (
            'other: pulling, 0% of 3.0 MiB', f'pulling other: 3.0 MiB, SHA-256 {SHA256}\n',
            'other: pulling, 33% of 3.0 MiB', 'vrtctl: warning: slow\n',
            'other: pulling, 33% of 3.0 MiB', '')))
        ready = self.answers['POST /v1/models'] = self.model('ready')
        url = 'https://example.org/x.pth'
        out, _ = self.run_it('models', 'pull', url, '--sha256', 'f' * 64)
        self.assertIn('could not be verified', out)
        self.assertEqual(self.asked[-1][2], {'name': None, 'url': url, 'sha256': 'f' * 64})
        out, err = self.run_it('models', 'pull', '--json', 'other')
        self.assertEqual((json.loads(out), err), (ready, ''))

    def test_failures(self):
        self.answers = {'POST /v1/models': self.model('failed', error='gone'),
                        'GET /v1/models': {'models': [MODEL]}}
        self.complaint('models', 'pull', 'other', status=1, says='gone')
        self.assertEqual(json.loads(self.run_it('models', 'pull', '-j', 'other', status=1)[0]),
                         self.answers['POST /v1/models'])
        self.answers['POST /v1/models'] = self.model('pulling', size_bytes=None, sha256=None,
                                                     done_bytes=5)
        _, err = self.run_it('models', 'pull', 'other', status=3)
        self.assertEqual(err, 'pulling other: size unknown, SHA-256 unknown\n'
                              'vrtctl: vrtd tells nothing of the model other any more\n')
        self.answers['POST /v1/models'] = refusal(404, 'model.not_found', 'unknown')
        self.complaint('models', 'pull', 'other', status=1, says='unknown')
        del self.asked[:]
        for arguments in (['pull', 'x' * 5000], ['pull', 'https://' + 'x' * 9000],
                          ['pull', 'other', '--sha256', 'f' * 500]):
            self.complaint('models', *arguments, status=2, says='is too long')
        for arguments in (['pull'], ['push', 'other'], ['other']):
            self.complaint('models', *arguments, status=2, says='expected nothing, or pull NAME')
        self.assertEqual(self.asked, [])

    def test_places(self):
        models = [self.model('available'), self.model('pulling', done_bytes=1 << 20),
                  self.model('ready', source='/m/x.pth', scale=1, license='', description=''),
                  self.model('ready', architecture=None, scale=0),
                  self.model('available', size_bytes=None), MODEL]
        self.answers['GET /v1/models'] = {'models': models}
        self.assertEqual(self.run_it('models')[0], """\
MODEL                 NETWORK  SCALE  PLACE                    LICENSE  DESCRIPTION
other                 compact     x2  not here, 3.0 MiB        MIT      for any video
other                 compact     x2  pulling, 33% of 3.0 MiB  MIT      for any video
other                 compact     x1  here, 3.0 MiB            -        /m/x.pth
other                              -  no model                 MIT      for any video
other                 compact     x2  not here                 MIT      for any video
compact-x2 (default)  compact     x2  built in                 MIT      for any video
to fetch what isn't here: vrtctl models pull MODEL
""")
        del models[0], models[3]
        self.assertEqual(len(self.run_it('models')[0].splitlines()), 5)

    def test_commands_that_lack_one(self):
        """A job's or profile's model that isn't here: how it comes to be."""
        missing = refusal(404, 'model.not_found', 'no model is called so')
        self.answers = {f'POST /v1/{what}': missing for what in ('jobs', 'profile', 'doctor')}
        for command in (['profile', 'other'], ['tune', '-m', 'other', 'video.mp4'],
                        ['doctor', '-m', 'other'], ['submit', '-m', 'other', 'video.mp4']):
            self.answers['GET /v1/models'] = {'models': [self.model('available')]}
            with self.subTest(command=command):
                self.complaint(*command, status=1, says="isn't here yet, 3.0 MiB: vrtctl models "
                               'pull other')
        for name, model, says in (
                ('other', self.model('failed', error='gone'), 'pull other tries again (gone)'),
                ('other', self.model('ready'), 'no model is called so'),
                ('another', self.model('ready'), 'no model is called so'),
                ('other.pth', self.model('ready'), 'the model of that name is called other'),
                ('other.ncnn', self.model('available'), 'models pull other fetches it'),
                ('another.onnx', self.model('ready'), 'no file another.onnx, and no model of')):
            self.answers['GET /v1/models'] = {'models': [{}, model]}
            self.answers['POST /v1/doctor'] = missing
            with self.subTest(name=name, state=model['state']):
                _, err = self.run_it('submit', '-m', name, '-o', 'x.mkv', 'video.mp4', status=None)
                self.assertIn(says, err)


class Compare(Answered):
    """Of both videos, and of the worst frames."""

    def setUp(self):
        super().setUp()
        self.write('b.mkv')
        self.frames = [{'time_s': i / 25, 'psnr_y': psnr} for i, psnr in
                       enumerate((40, None, 33.5, 31, 35, 31.5))]
        self.report = {'width': 64, 'height': 48, 'frames_total': 6, 'frames_equal': 1,
                       'psnr_rgb': 34, 'psnr_y': 35, 'psnr_rgb_overall': 33,
                       'psnr_y_overall': None, 'ssim_rgb': 0.9, 'ssim_y': 0.95, 'fvd': None,
                       'fvd_clips': None, 'frames': self.frames}
        self.answers = {'POST /v1/compare': self.report, 'POST /v1/preview': {}}

    def test_report(self):
        out, _ = self.run_it('compare', '--crop', 4, 'video.mp4', 'b.mkv')
        self.assertEqual(self.asked, [('POST', '/v1/compare', {
            'a': {'fd': 0, 'name': 'video.mp4'}, 'b': {'fd': 1, 'name': 'b.mkv'}, 'crop': 4,
            'fvd': None})])
        self.assertEqual(self.read, [b'moving pictures', b'pictures'])
        self.assertEqual(out.partition('    40 dB ')[0], """\
video.mp4 and b.mkv: 6 frames of 64x48, 1 of them equal
  PSNR       RGB 34.00 dB, Y 35.00 dB, the mean of all frames
             RGB 33.00 dB, Y equal, of all errors together
  SSIM       RGB 0.9000, Y 0.9500
  Worst      0.120 s (Y 31.00 dB), 0.200 s (Y 31.50 dB), 0.080 s (Y 33.50 dB)
  Not told   VMAF: ask for it (--vmaf); FVD: name I3D's weights (--fvd FILE)
PSNR of Y over the time
""")
        self.assertEqual(json.loads(self.run_it('compare', '-j', 'video.mp4', 'b.mkv')[0]),
                         self.report)
        for columns, wide in ((30, 40), (100, 99)):
            for locale, cell in (('C.UTF-8', '[\u2801-\u28ff]'), ('C', '#')):
                out = self.on_terminal(columns, 'compare', 'video.mp4', 'b.mkv', locale=locale)
                plot = out.partition('over the time\n')[2].splitlines()
                self.assertEqual(max(map(len, plot)), wide)
                # Six frames, of which one is equal; the first is the best.
                self.assertRegex(plot[0], f'^    40 dB .{cell}+ *$')
                self.assertRegex(plot[-1], f'^     0 dB .{cell}+ +{cell}+$')
                self.assertAlmostEqual(len(plot[0]) - 11, (wide - 11) / 6, delta=1)
                self.assertEqual('\u28f6' in plot[1], cell != '#')      # three quarters of a cell
        self.report['frames_equal'] = 0
        for n in (2, 1):
            del self.frames[n:]
            out, _ = self.run_it('compare', 'video.mp4', 'b.mkv')
            self.assertIn('64x48\n', out)
            self.assertEqual('over the time' in out, n == 2)

    def test_fvd(self):
        self.report.update(fvd=12.345, fvd_clips=9, fvd_warning='few clips')
        out, _ = self.run_it('compare', '--fvd', self.write('i3d.pt', 'weights'), 'video.mp4',
                             'b.mkv')
        self.assertEqual(self.read, [b'moving pictures', b'pictures', b'weights'])
        self.assertEqual(self.asked[0][2]['fvd'], {'fd': 2, 'name': 'i3d.pt'})
        self.assertIn('FVD        12.35, of 9 clips of 16 frames\n  Note       few clips\n', out)
        self.assertIn('Not told   VMAF: ask for it (--vmaf)\n', out)

    def test_picture(self):
        def compare(*more, **options):
            return self.run_it('compare', *more, 'video.mp4', 'b.mkv', **options)
        compare('--picture', 'worst.png')
        self.assertEqual(self.asked[1][1:], ('/v1/preview', {
            'before': {'fd': 0, 'name': 'video.mp4'}, 'after': {'fd': 1, 'name': 'b.mkv'},
            'picture': {'fd': 2, 'name': 'worst.png'}, 'streams': None, 'start_s': None,
            'time_s': 3 / 25}))
        self.assertEqual(len(self.read), 3)
        self.assertTrue(os.path.exists(self.path('worst.png')))
        self.write('worst.png', 'precious')
        for picture in ('worst.png', 'b.mkv'):
            self.assertIn('--overwrite', compare('--picture', picture, status=1)[1])
        compare('--picture', 'worst.png', '--overwrite')
        for name in ('video.mp4', 'b.mkv'):
            self.assertIn('same file', compare('--picture', name, '--overwrite', status=1)[1])
        self.answers['POST /v1/preview'] = refusal(422, 'job.input', 'no picture')
        self.assertIn('no picture', compare('--picture', 'new.png', status=1)[1])
        self.assertFalse(os.path.exists(self.path('new.png')))
        # The first of those that are as bad; without errors, the first of all.
        self.frames[:] = [dict(frame, psnr_y=None) for frame in self.frames]
        self.frames[0]['time_s'] = -0.5
        compare('--picture', 'new.png', status=1)
        self.assertEqual(self.asked[-1][2]['time_s'], 0)

    def test_refused(self):
        for names in (('none.mp4', 'b.mkv'), ('video.mp4', 'none.mp4')):
            self.complaint('compare', *names, status=1, says='none.mp4: No such file')
        self.complaint('compare', '--fvd', 'x.pt', 'video.mp4', 'b.mkv', status=1,
                       says='x.pt: No such file')
        self.assertEqual(self.asked, [])
        self.answers['POST /v1/compare'] = refusal(422, 'job.input', 'they differ')
        self.complaint('compare', 'video.mp4', 'b.mkv', status=1, says='they differ')
        for strange in (dict(self.report, frames=[]), dict(self.report, width=[])):
            self.answers['POST /v1/compare'] = strange
            self.complaint('compare', 'video.mp4', 'b.mkv', status=3, says='not understood')

    def test_vmaf(self):
        """By an ffmpeg whose libvmaf logs what it is told to."""
        scores, odd = [90, 95, 70.5, 80, 75, 85], 'http:b.mkv'
        os.rename(self.path('b.mkv'), self.path(odd))
        log = {'frames': [{'metrics': {'vmaf': score}} for score in scores],
               'pooled_metrics': {'vmaf': {'mean': 82.58, 'harmonic_mean': 81.5, 'min': 70.5}}}
        self.write('bin/ffmpeg', '#!/bin/sh\ncase "$*" in *-filters*) cat filters;; *) printf '
                   '"%s\\n" "$@" >asked; cat log; [ ! -s slow ] || { echo "$$ ." >slow; exec '
                   'sleep 600; };; esac; cat said >&2; exit $(cat code)\n')
        os.chmod(self.path('bin/ffmpeg'), 0o755)
        environment = dict(os.environ, PATH=self.path('bin') + ':' + os.environ['PATH'])

        def compare(*options, status=0, **files):
            for name, text in dict({'filters': ' .. libvmaf VV->V \n', 'log': json.dumps(log),
                                    'said': '', 'code': '0'}, **files).items():
                self.write(name, text)
            return self.run_it('compare', '--vmaf', *options, 'video.mp4', odd, status=status,
                               env=environment)
        out, _ = compare('--crop', 3)
        self.assertIn('VMAF       82.58, harmonic mean 81.50, worst 70.50 at 0.080 s, of the second'
                      ' against the first\n', out)
        self.assertIn('Not told   FVD: name', out)
        part = 'crop=iw-6:ih-6:3:3:exact=1,settb=1/25,setpts=N'
        self.assertEqual(re.sub(r'\d+\n-f', 'N\n-f', self.text_of('asked')).splitlines(), [
            '-nostdin', '-hide_banner', '-nostats', '-v', 'error', '-noautorotate', '-i',
            'file:' + odd, '-noautorotate', '-i', 'file:video.mp4', '-lavfi', f'[0:V:0]{part}[a];'
            f'[1:V:0]{part}[b];[a][b]libvmaf=log_fmt=json:log_path=/dev/stdout:n_threads=N', '-f',
            'null', '-'])
        self.report['fvd_clips'] = 0
        self.assertNotIn('Not told', compare()[0])
        got = json.loads(compare('--json')[0])
        self.assertEqual([got[key] for key in ('vmaf', 'vmaf_harmonic_mean', 'vmaf_min',
                                               'vmaf_worst_s')], [82.58, 81.5, 70.5, 0.08])
        self.assertEqual([frame['vmaf'] for frame in got['frames']], scores)
        for more, says in (
                ({'filters': ' .. vmafmotion V->V\n'}, 'has no VMAF'),
                ({'filters': ''}, 'has no VMAF'),
                ({'code': '3'}, 'VMAF: ffmpeg: it ended with status 3 and said nothing\n'),
                ({'code': '1', 'said': '[x @ 0x1] no way\nat all\n'}, 'ffmpeg: no way\n')):
            del self.asked[:]
            out, err = compare(status=1, **more)
            self.assertIn(says, err)
            self.assertEqual((self.asked, out, err.count('\n')), ([], '', 1))
        # What else was asked for is told, where it is known by then.
        for text in ('{}', '', '{', json.dumps(log).replace('90', 'nan'),
                     json.dumps(log).replace('90', '"x"'), *(json.dumps(dict(log, **other))
                     for other in ({'frames': [{}] * 6}, {'frames': log['frames'][1:]},
                                   {'pooled_metrics': {}}))):
            out, err = compare(status=1, log=text)
            self.assertIn("isn't the log of libvmaf 2 or later on 6 frames\n", err)
            self.assertIn('SSIM', out)
            self.assertNotIn('VMAF', out)
            self.assertEqual(err.count('\n'), 1)
        self.report['height'] = 39
        self.assertIn('a side needs 32', compare('--crop', 4, status=1)[1])
        self.report['height'] = 40
        compare('--crop', 4)
        # Ctrl-C ends ffmpeg as well.
        self.write('slow', '-')
        with subprocess.Popen(self.command('compare', '--vmaf', 'video.mp4', odd), env=environment,
                              stdout=subprocess.PIPE, cwd=self.folder) as process:
            while not self.text_of('slow').endswith('.\n'):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=PATIENCE_S)[0], b'')
            self.assertEqual(process.returncode, 130)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.text_of('slow').split()[0]), 0)
        self.write('slow', '')
        os.remove(self.path('bin/ffmpeg'))
        environment['PATH'] = self.path('bin')
        self.assertIn('there is no ffmpeg in $PATH', compare(status=1)[1])


class Preview(Answered):
    def setUp(self):
        super().setUp()
        paths = {'input_path': self.path('video.mp4'), 'output_path': self.write('a.b/result.mkv')}
        self.job = job(7, 'done', **paths)
        self.job['video'] = dict(self.job['video'], start_s=1.5)
        self.job['recipe'] = dict(self.job['recipe'], streams='0:1')
        self.answers = {'GET /v1/jobs/7': self.job,
                        'POST /v1/preview': {'time_s': 4.25, 'width': 640, 'height': 180}}

    def test_picture(self):
        picture = self.path('a.b/result.png')
        out, _ = self.run_it('preview', '--at', '0:04', 7)
        self.assertEqual(out, picture + ': before and after at 4.25 s, 640x180\n')
        self.assertEqual(self.asked[-1][2], {
            'before': {'fd': 0, 'name': 'video.mp4'}, 'after': {'fd': 1, 'name': 'result.mkv'},
            'picture': {'fd': 2, 'name': 'result.png'}, 'streams': '0:1', 'start_s': 1.5,
            'time_s': 4})
        self.assertEqual(self.read, [b'moving pictures', b'pictures', b''])
        self.assertTrue(os.path.exists(picture))
        out, _ = self.run_it('preview', '--json', '-o', 'x.png', 7)
        self.assertEqual(json.loads(out)['width'], 640)
        self.assertIsNone(self.asked[-1][2]['time_s'])
        # Without an ending of its own the folder's is none.
        self.job['output_path'] = self.write('a.b/result')
        os.remove(picture)
        self.run_it('preview', 7)
        self.assertTrue(os.path.exists(picture))

    def test_refused(self):
        self.write('old.png', 'precious')
        for options, says in ((['-o', 'old.png'], '--overwrite'),
                              (['-o', 'video.mp4', '--overwrite'], 'same file'),
                              (['-o', 'a.b/result.mkv', '--overwrite'], 'same file')):
            self.complaint('preview', *options, 7, status=1, says=says)
        self.run_it('preview', '-o', 'old.png', '--overwrite', 7)
        self.answers['POST /v1/preview'] = refusal(422, 'job.input', 'not a video')
        self.complaint('preview', 7, status=1, says='not a video')
        self.assertFalse(os.path.exists(self.path('a.b/result.png')))
        self.answers['POST /v1/preview'] = {'width': []}
        self.complaint('preview', 7, status=3, says='not understood')
        for more, says in (({'state': 'running'}, 'job 7 is running: a preview is of a job'),
                           ({'input_path': 'https://x/y'}, 'where the input of job 7 is'),
                           ({'output_path': None}, 'where the result of job 7 is'),
                           ({'input_path': '/none.mp4'}, '/none.mp4: No such file'),
                           ({'output_path': '/none.mp4'}, '/none.mp4: No such file')):
            self.answers['GET /v1/jobs/7'] = dict(self.job, **more)
            self.complaint('preview', '-o', 'x.png', 7, status=1, says=says)
        self.complaint('preview', 'x', status=2, says="not a job's number")
        self.answers['GET /v1/jobs/7'] = refusal(404, 'job.not_found', 'there is no job 7')
        self.complaint('preview', 7, status=4, says='there is no job 7')


class Lists(Answered):
    """Jobs that are over, and others, in another order."""

    def setUp(self):
        super().setUp()
        states = ('done', 'failed', 'cancelled', 'running', 'done')
        self.jobs = [job(i + 1, state, input_name=f'{"bcade"[i]}.mp4', priority=-i,
                         percent=(5, 50, None, 7, 5)[i]) for i, state in enumerate(states)]
        self.jobs[1]['error'] = {'id': 'x', 'message': 'c.mp4 is broken', 'field': None}
        self.jobs[2]['finished_at'] = '2026-01-02T03:05:00Z'
        self.answers = {
            'GET /v1/jobs?active=false&after=0': {'jobs': self.jobs[:1], 'next': 1},
            'GET /v1/jobs?active=false&after=1': {'jobs': self.jobs[1:], 'next': None},
            'GET /v1/jobs?active=true&after=0': {'jobs': [self.jobs[3]], 'next': None},
            **{f'POST /v1/jobs/{i}/forget': {'id': i} for i in range(1, 6)}}

    def forgotten(self, *arguments, **options):
        del self.asked[:]
        out, _ = self.run_it('clean', *arguments, **options)
        return [int(path.split('/')[3]) for method, path, _ in self.asked if method == 'POST'], out

    def test_clean(self):
        self.jobs[4]['input_name'] = None       # another user's
        for options, numbers in ((), [1]), (('--all',), [1, 2, 3]), (
                ('--state', 'failed,cancelled'), [2, 3]), (('--all', '--state', 'done'), [1]), (
                (2, 5), [2, 5]):
            with self.subTest(options=options):
                found, out = self.forgotten(*options)
                self.assertEqual(found, numbers)
                self.assertEqual(out, '1 job was removed from the list\n' if len(found) == 1 else
                                 f'{len(found)} jobs were removed from the list\n')
        found, out = self.forgotten('--json', 1, 2)
        self.assertEqual([json.loads(line)['id'] for line in out.splitlines()], [1, 2])
        for state, says in (('running', 'only jobs that are over'),
                            ('done,paused', 'only jobs that are over'),
                            ('old', '"old" is no state; there are queued, '), ('', '"" is no')):
            self.complaint('clean', '--state', state, status=2, says=says)
        self.answers['POST /v1/jobs/1/forget'] = refusal(404, 'job.not_found', 'none')
        self.assertEqual(self.forgotten(1, 2, status=4),
                         ([1, 2], '1 job was removed from the list\n'))
        self.answers['POST /v1/jobs/1/forget'] = refusal(503, 'shutting_down', 'about to end')
        self.assertEqual(self.forgotten(1, 2, status=3), ([1], ''))
        del self.jobs[:]
        self.answers['GET /v1/jobs?active=false&after=0'] = {'jobs': []}
        self.assertEqual(self.forgotten(), ([], 'there is nothing to remove\n'))
        self.assertEqual(self.forgotten('--json'), ([], ''))

    def test_sorted(self):
        for options, numbers in ((['input'], '31245'), (['input', '--reverse'], '54213'),
                                 (['done'], '15423'), (['priority'], '54321'), (['id'], '12345'),
                                 (['state'], '31524'), (['finished'], '31245')):
            for form in ([], ['--json']):
                out, _ = self.run_it('list', '--all', '--sort', *options, *form)
                lines = out.splitlines()
                found = [json.loads(line)['id'] for line in lines] if form else \
                    [line.split()[0] for line in lines[1:]]
                self.assertEqual(''.join(map(str, found)), numbers, options)
        lines = self.run_it('list', '--state', 'failed,running')[0].splitlines()
        self.assertEqual([line.split()[:2] for line in lines[1:]],
                         [['2', 'failed'], ['4', 'running']])
        # A reason that names the input is enough.
        self.assertTrue(lines[1].endswith('  c.mp4 is broken'))
        self.jobs[1]['error']['message'] = 'it is broken'
        lines = self.run_it('list', '--state', 'failed')[0].splitlines()
        self.assertTrue(lines[1].endswith('  c.mp4: it is broken'))
        self.jobs[3] = dict(job(4, 'disk_full'), error={'id': 'x', 'message': 'it is full'})
        self.answers['GET /v1/jobs?active=true&after=0'] = {'jobs': [self.jobs[3]]}
        self.assertEqual(self.run_it('list')[0].splitlines()[2], 'job 4: it is full')
        self.jobs[3]['cancelling'] = True
        self.assertEqual(len(self.run_it('list')[0].splitlines()), 2)

    def test_logs(self):
        line = {'at': '2026-01-02T03:04:05Z', 'level': 'warning', 'topic': 'jo\x1bb',
                'text': 'it is\x07 slow'}
        self.answers['GET /v1/jobs/7/log'] = log = {'lines': [line, dict(line, level='moon')]}
        lines = self.run_it('logs', 7)[0].splitlines()
        self.assertEqual([text.split(' ', 2)[-1] for text in lines],
                         ['warning jo?b: it is? slow', 'unknown jo?b: it is? slow'])
        self.assertEqual(json.loads(self.run_it('logs', '--json', 7)[0]), log)
        log['lines'] = []
        self.assertIn('nothing about job 7', self.run_it('logs', 7)[0])
        log['lines'] = 7
        self.complaint('logs', 7, status=3, says='not understood')
        self.complaint('logs', 'x', status=2, says="not a job's number")
        self.answers['GET /v1/jobs/7/log'] = refusal(404, 'job.not_found', 'there is no job 7')
        self.complaint('logs', 7, status=4, says='there is no job 7')


if __name__ == '__main__':
    unittest.main(verbosity=2)
