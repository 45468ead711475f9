#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl submit --dry-run, profile and tune against a server of the test's own.

usage: test_vrtctl_plan.py VRTCTL [unittest arguments]
"""
import json
import os
import re
import shutil
import unittest

from fake_vrtd import answer, refusal
from vrtctl_case import CUDA, DEVICE, Case, job

PLAN = {
    'input_name': 'video.mp4', 'output_name': 'video.restored.mp4',
    'model': {'name': 'x4plus.pth', 'architecture': 'esrgan', 'scale': 4, 'checksum': 'ab'},
    'device': 'all', 'video': job()['video'], 'recipe': job()['recipe'], 'frames_total': 240,
    'shards': 60, 'tiles': 6, 'gflop': 1e5, 'estimated_s': 119.2,
    'devices': [{'name': 'cuda:0', 'precision': 'bf16', 'replica_bytes': 32 << 20,
                 'workspace_bytes': 2 << 30, 'peak_bytes': (2 << 30) + (32 << 20),
                 'allowed_bytes': 7 << 30, 'gflop_per_s': 41234.5, 'seconds_per_shard': 1.98},
                {'name': 'cpu:0', 'precision': 'f32', 'replica_bytes': 64 << 20,
                 'workspace_bytes': None, 'peak_bytes': None, 'allowed_bytes': None,
                 'gflop_per_s': None, 'seconds_per_shard': None}],
    'reproducible': False, 'warnings': ['no seat for the sound'],
}

PLANNED = """video.mp4 -> video.restored.mp4
  Input      640x360, 25.0 fps, 0:08, h264
  Output     1280x720, h264 CRF 18 medium
  Model      x4plus.pth (esrgan x4)
  Frames     240 in 60 shards of up to 8
  Tiles      6 of 640x360, overlapping by 16
  Takes      about 2:00 for the devices, if they have nothing else to do

DEVICE  PRECISION   MODEL  WORKSPACE     PEAK  ALLOWED  GFLOP/S  S/SHARD
cuda:0  bf16       32 MiB    2.0 GiB  2.0 GiB  7.0 GiB    41234      2.0
cpu:0   f32        64 MiB          -        -        -        -        -
"""


class Told(Case):
    body = PLAN

    def tells(self, request):
        self.seen = request
        self.read = [os.pread(fd, 100, 0) for fd in request.files]
        return answer(self.body)


class DryRun(Told):
    def test_plan(self):
        self.serve(self.tells)
        out, err = self.run_it('submit', '--dry-run', 'video.mp4')
        self.assertEqual(self.read, [b'moving pictures'])
        body = self.seen.json()
        self.assertTrue(body['dry_run'])
        self.assertEqual(body['output'], {'fd': None, 'name': 'video.restored.mp4',
                                          'path': None})
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
        self.assertEqual(err, 'vrtctl: video.mp4: warning: no seat for the sound\n')
        self.assertEqual(out, PLANNED)

    def test_json_and_model_file(self):
        self.serve(self.tells)
        self.write('x4.pth', 'weights')
        out, _ = self.run_it('submit', '--dry-run', '--json', '-m', 'x4.pth', 'video.mp4')
        self.assertEqual(json.loads(out), PLAN)
        self.assertEqual(self.read, [b'moving pictures', b'weights'])
        self.assertEqual(self.seen.json()['model'], {'fd': 1, 'name': 'x4.pth',
                                                     'path': self.path('x4.pth')})

    def test_unknown(self):
        recipe = dict(PLAN['recipe'], target_size_bytes=700 * 10 ** 6)
        self.serve(lambda _: answer(dict(PLAN, frames_total=None, shards=None, tiles=1,
                                         estimated_s=None, devices=[], warnings=[],
                                         recipe=recipe)))
        out, _ = self.run_it('submit', '--dry-run', 'video.mp4')
        self.assertIn(' for 700 MB', out)
        self.assertIn('as many as there turn out to be, in shards of up to 8', out)
        self.assertIn('none: whole frames fit', out)
        self.assertIn('cannot be estimated', out)

    def test_whole_recipe(self):
        recipe = dict(PLAN['recipe'], clip_overlap=2, tiling='official', scene_cuts=0.25,
                      strength=0.5, denoise=0.25, sigma=12.5, codec='hevc', quality=None,
                      preset='slow', bitrate=2500500, pixel_format='yuv420p10le',
                      encoder_options='tune=film bf=2', alpha='resize', deinterlace='field',
                      times=5, times_every=2, tonemap='hable', hwaccel='vaapi', hwdec='nvdec',
                      streams='0:v,0:a', tile_width=640, tile_height=360)
        encoding = 'hevc by vaapi slow 2500.5 kbit/s yuv420p10le tune=film bf=2, alpha resize'
        self.serve(lambda r: answer(job(12, recipe=recipe) if r.method == 'GET' else
                                    dict(PLAN, recipe=recipe, reference_name='gt.mkv')))
        out, _ = self.run_it('submit', '--dry-run', 'video.mp4')
        for line in ('h264 by nvdec\n', f'1280x720, {encoding}\n', '  Streams    0:v,0:a\n',
                     '  Reference  gt.mkv, which', 'of up to 8, sharing 2, deinterlaced by field, '
                     '5/2 times those of the video, strength 0.5, denoise 0.25, HDR to SDR by '
                     'hable\n'):
            self.assertIn(line, out)
        out, _ = self.run_it('show', 12)
        for line in ('clips of 8 frames sharing 2, not tiled, official, scene cuts from 0.25, '
                     'deinterlaced by field, 5/2 times the frames, HDR to SDR by hable, strength '
                     f'0.5, denoise 0.25, sigma 12.5, f32\n             {encoding}, decoded by '
                     'nvdec, 2 encoder threads;', '  Streams    0:v,0:a\n'):
            self.assertIn(line, out)
        # What is as usual isn't told.
        recipe = dict(PLAN['recipe'], strength=1, times=1, denoise=0, sigma=0)
        out, _ = self.run_it('submit', '--dry-run', 'video.mp4')
        self.assertIn('of up to 8, denoise 0\n', out)
        self.assertIn('1280x720, h264 CRF 18 medium\n', out)
        self.assertIn('clips of 8 frames, not tiled, denoise 0, sigma 0, f32\n',
                      self.run_it('show', 12)[0])
        recipe.update(tile_height=359, denoise=None, sigma=None)
        self.assertIn('tiles of 640x359 overlapping by 16, f32', self.run_it('show', 12)[0])

    def test_streams(self):
        """What is in a video, and what becomes of it."""
        streams = [{'index': i, **more} for i, more in enumerate((
            {'kind': 'video', 'codec': 'h264', 'width': 640, 'height': 360, 'fps': 25,
             'bitrate': 1500400, 'fate': 'restored'},
            {'kind': 'audio', 'codec': 'aac', 'sample_rate': 1, 'channels': 1,
             'language': 'e', 'title': 'a\x1bb', 'disposition': 'default', 'fate': 'copied'},
            {'kind': 'subtitles', 'codec': 'ass', 'fate': 'no_place'},
            {'kind': 'video', 'codec': 'png', 'width': 64, 'height': 1, 'fate': 'not_chosen'},
            {'kind': 'data', 'codec': 'x', 'fate': 'new'}))]
        plan = dict(PLAN, streams=streams, streams_total=6)
        self.serve(lambda _: answer(plan))
        out, err = self.run_it('info', 'video.mp4')
        self.assertEqual(err, 'vrtctl: video.mp4: warning: no seat for the sound\n')
        lines = out.splitlines()
        self.assertEqual(lines[0], 'video.mp4: 0:08, about 240 frames; as video.restored.mp4:')
        self.assertEqual([re.split('  +', line.strip()) for line in lines[2:]], [
            ['0', 'video', 'h264', '640x360, 25.0 fps', '1500 kbit/s', '-', '-', '-',
             'restored, to 1280x720 h264'],
            ['1', 'audio', 'aac', '1 Hz, 1 channel', '-', 'e', 'a?b', 'default', 'copied'],
            ['2', 'subtitles', 'ass', '-', '-', '-', '-', '-',
             'left out: .mp4 files have no place for it'],
            ['3', 'video', 'png', '64x1', '-', '-', '-', '-', 'left out by --streams'],
            ['4', 'data', 'x', '-', '-', '-', '-', '-', '-'],
            ['and 1 more, of which nothing is told']])
        self.assertEqual(json.loads(self.run_it('info', '--json', 'video.mp4')[0]), plan)
        plan['streams_total'] = 5
        self.assertNotIn('and ', self.run_it('info', 'video.mp4')[0].splitlines()[-1])
        plan.update(streams=[], streams_total=0, frames_total=None)
        out, _ = self.run_it('info', 'video.mp4')
        self.assertIn('0:08, - frames;', out)
        self.assertIn('pictures, of which there are no streams', out)

    def test_refused_as_it_would_be(self):
        self.serve(self.tells)
        self.write('old.mp4', 'precious')
        for options, says in ((['old.mp4'], '--overwrite'),
                              (['video.mp4', '--overwrite'], 'same file'),
                              (['none/x.mp4'], 'the folder for it does not exist')):
            # The plan all the same.
            out, err = self.run_it('submit', '--dry-run', '-o', *options, 'video.mp4', status=1)
            self.assertIn('240 in 60 shards', out)
            self.assertIn(says, err.splitlines()[-1])
        self.complaint('submit', '--dry-run', '--follow', 'video.mp4', status=2,
                       says='--dry-run makes no job')
        self.run_it('submit', '--dry-run', '-o', 'old.mp4', '--overwrite', 'video.mp4')
        self.write('made/1.png')
        self.serve(lambda _: answer(PLAN))
        self.run_it('submit', '--dry-run', '-o', 'made', '.')       # a folder is looked at later
        self.serve(lambda _: refusal(422, 'input.not_media', 'video.mp4 is not a video'))
        self.complaint('submit', '--dry-run', '-o', 'old.mp4', 'video.mp4', status=1,
                       says='is not a video')


PROFILE = {
    'model': {'name': 'compact-x2', 'architecture': 'compact', 'scale': 2, 'checksum': 'ab'},
    'description': 'SRVGGNetCompact, x2', 'parameters': 45156, 'device': 'cpu:0',
    'device_description': 'Two cores', 'precision': 'bf16', 'width': 640, 'height': 360,
    'output_width': 1280, 'output_height': 720, 'clip_frames': 4, 'clip_overlap': 0,
    'tile_width': 352, 'tile_height': 360, 'overlap': 16, 'tiles': 2, 'frames': 26,
    'frame_mean_s': 0.0213, 'frame_p50_s': 0.0201, 'frame_p95_s': 1, 'frame_p99_s': 2.5,
    'upload_s': 0.001, 'compute_s': 0.02, 'download_s': 0.1, 'fps': 46.9,
    'gflop_per_frame': 20.6, 'gflop_per_s': 967.4,
    'replica_bytes': 92 << 10, 'workspace_bytes': 37 << 20, 'peak_bytes': (37 << 20) + (92 << 10),
    'allowed_bytes': 7 << 30,
    'ops': [{'kind': 'conv2d', 'count': 20, 'seconds': 0.0199, 'share': 0.982,
             'gflop_per_s': 1004.0},
            {'kind': 'range', 'count': 1, 'seconds': 0.0004, 'share': 0.018, 'gflop_per_s': 0}],
    'warnings': ['jobs ran meanwhile'],
}

PROFILED = """compact-x2 on cpu:0, bf16
  Network    SRVGGNetCompact, x2, 45156 parameters
  Device     Two cores
  Frames     640x360 to 1280x720, 26 timed
  Recipe     clips of 4 frames, 2 tiles of 352x360, overlapping by 16
  Time       21.3 ms a frame: p50 20.1 ms, p95 1.00 s, p99 2.50 s
             upload 1.0 ms, compute 20.0 ms, download 100 ms
  Speed      46.9 frames/s, 967 GFLOP/s (20.6 GFLOP a frame)
  Memory     peak 37 MiB (model 92 KiB, workspace 37 MiB) of 7.0 GiB allowed

Each op of one more frame, waited for by itself: their sum is not the time above
OP      COUNT     TIME  SHARE  GFLOP/S
conv2d     20  19.9 ms  98.2%     1004
range       1   400 us   1.8%        -
"""


class Profile(Told):
    body = PROFILE

    def test_table(self):
        self.serve(self.tells)
        out, err = self.run_it('profile', 'compact-x2')
        self.assertEqual(self.seen.json(), {
            'model': {'fd': None, 'name': 'compact-x2', 'path': None}, 'device': None,
            'precision': None,
            'width': 640, 'height': 360, 'tile': None, 'overlap': None, 'clip': None,
            'batch': None, 'keep': False, 'frames': None})
        self.assertEqual(err, 'vrtctl: warning: jobs ran meanwhile\n')
        self.assertEqual(out, PROFILED)

    def test_request(self):
        self.serve(self.tells)
        self.write('x4.pth', 'weights')
        out, _ = self.run_it('profile', '--json', '-d', 'cuda:1', '--size', '16384x8', '-n', 7,
                             '--precision', 'f16', '--tile', 512, '--overlap', 0, '--batch', 8,
                             './x4.pth')
        self.assertEqual(json.loads(out), PROFILE)
        self.assertEqual(self.read, [b'weights'])
        self.assertEqual(self.seen.json(), {
            'model': {'fd': 0, 'name': 'x4.pth', 'path': None}, 'device': 'cuda:1',
            'precision': 'f16',
            'width': 16384, 'height': 8, 'tile': 512, 'overlap': 0, 'clip': None,
            'batch': 8, 'keep': False, 'frames': 7})

    def test_wrong_usage(self):
        self.serve(self.tells)
        for size in ('640', '640x', 'x360', '7x360', '640x16385', '640X360', '640x360x2', ' 8x8',
                     '-8x8', '99999999999999999999x8', ''):
            with self.subTest(size=size):
                self.complaint('profile', '--size', size, 'compact-x2', status=2,
                               says='--size: expected WIDTHxHEIGHT')
        self.complaint('profile', '--batch', 9, 'compact-x2', status=2, says='--batch')
        self.complaint('profile', '', status=2, says='"" is no model')
        self.complaint('profile', '-d', '', 'compact-x2', status=2, says='"" is no device')
        self.complaint('profile', status=2, says='profile needs MODEL')
        self.complaint('profile', './none.pth', status=1, says='./none.pth: No such file')

    def test_strange_answers(self):
        self.serve(lambda _: refusal(503, 'profile.busy', 'another model is being profiled'))
        self.complaint('profile', 'compact-x2', status=1, says='another model')
        self.serve(lambda _: answer({}))
        out, _ = self.run_it('profile', 'compact-x2')
        self.assertIn('- frames/s, - GFLOP/s', out)
        self.serve(lambda _: answer({'ops': [{'kind': '\033[31mconv', 'share': None}],
                                     'clip_frames': 1, 'clip_overlap': 1, 'tiles': 1}))
        out, _ = self.run_it('profile', 'compact-x2')
        self.assertIn('?[31mconv', out)
        self.assertIn('clips of 1 frame sharing 1, not tiled\n', out)
        self.serve(lambda _: answer({'ops': 7}))
        self.complaint('profile', 'compact-x2', status=3, says='not understood')


class Compared(Case):
    """Profiles of several devices, one after the other."""

    def test_devices(self):
        devices = [CUDA, dict(CUDA, name='cuda:1', state='lost'), dict(DEVICE, state='busy'),
                   dict(CUDA, name='cuda:2', state='quarantined'),
                   dict(CUDA, name='xpu:0'), dict(CUDA, name='xpu:1', state='starting')]
        timed = []

        def respond(request):
            if request.path == '/v1/devices':
                return answer({'devices': devices})
            timed.append(name := request.json()['device'])
            if name == 'xpu:0':
                return refusal(422, 'device.unsupported', 'no device computes in f64')
            times = {'cuda:0': 5, 'xpu:1': 2}.get(name, 1)
            return answer(dict(PROFILE, device=name, fps=10 * times, frame_mean_s=0.1 / times))
        self.serve(respond)
        for wanted, names in (('all', ['cuda:0', 'cpu:0', 'xpu:0', 'xpu:1']),
                              ('xpu, cpu:0', ['cpu:0', 'xpu:0', 'xpu:1']),
                              ('cuda:0,xpu:1', ['cuda:0', 'xpu:1'])):
            del timed[:]
            out, err = self.run_it('profile', '-d', wanted, 'compact-x2')
            self.assertEqual(timed, names)
            self.assertEqual(err, ('vrtctl: cuda:1: is left out: it is lost\n'
                                   'vrtctl: cuda:2: is left out: it is quarantined\n'
                                   if wanted == 'all' else '') +
                             ('vrtctl: xpu:0: no device computes in f64\n'
                              if 'xpu:0' in names else ''))
            rows = {line.split()[0]: line.split() for line in out.splitlines()[1:]}
            self.assertEqual(list(rows), [name for name in names if name != 'xpu:0'])
            self.assertEqual(rows['xpu:1'], ['xpu:1', 'bf16', '50.0', 'ms', '20.1', 'ms', '2.50',
                                             's', '20.0', '2.0' if 'cpu:0' in names else '-'])
        out, _ = self.run_it('profile', '--json', '-d', 'all', 'compact-x2')
        self.assertEqual([json.loads(line)['device'] for line in out.splitlines()],
                         ['cuda:0', 'cpu:0', 'xpu:1'])
        for name in ('cuda:1', 'cud', 'cuda:00', 'xpu,mps:0'):
            self.complaint('profile', '-d', name + ',cpu', 'compact-x2', status=1,
                           says='there is no device ' + name.rsplit(',', maxsplit=1)[-1])
        _, err = self.run_it('profile', '-d', 'xpu:0,', 'compact-x2', status=1)
        self.assertIn('no device could be timed', err)
        self.serve(lambda r: answer({'devices': devices}) if r.method == 'GET' else
                   refusal(404, 'model.not_found', 'no model is called so'))
        self.complaint('profile', '-d', 'xpu,cpu', 'none', status=1, says='called so')
        del devices[:]
        self.complaint('profile', '-d', 'all', 'none', status=1, says='no device could be timed')


class Tune(Case):
    """Each way is as fast as `factors` say, as often as it is asked for."""

    # Of types; of edges of tiles, those of 512 and 384 are one grid; of batches.
    base = {'f32': 10, 'f16': 20, 'bf16': 40}
    tiles = {None: 1, 512: 1.1, 384: 1.1, 256: 1.3, 192: 1.31, 128: 9, 96: 9}
    batches = {1: 1, 2: 1.5, 4: 1.6, 8: 1.61}
    auto, own_batch = 'f16', 1
    refused, trial = (), answer(job(7, 'queued'))
    names = ('cuda:0',)
    ends = job(7, 'done', frames_done=100, elapsed_s=5)

    def setUp(self):
        super().setUp()
        self.ways, self.asked, self.read = [], [], []
        self.plan = dict(PLAN, frames_total=100100, warnings=[])
        self.looks = [job(7, frames_done=10, elapsed_s=1), job(7, frames_done=52, elapsed_s=4),
                      job(7, frames_done=90, frames_underway=2, elapsed_s=5), self.ends]

    def respond(self, request):
        if request.path == '/v1/profile':
            return self.profile(request.json(), request)
        self.asked.append((request.method, request.path))
        if request.path == '/v1/jobs':
            self.read.append([os.pread(fd, 100, 0) for fd in request.files])
            self.posted = request.json()
            if not self.posted['dry_run']:
                return self.trial
            return answer(dict(self.plan, devices=[{'name': name} for name in self.names]))
        if request.method != 'GET':
            return answer({})
        return answer(self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])

    def profile(self, q, request):
        self.ways.append((q['device'], q['precision'], q['tile'], q['batch'], q['frames'],
                          q['keep']))
        self.assertEqual((q['width'], q['height'], q['model']['fd']),
                         (640, 360, 0 if request.files else None))
        self.read.append([os.pread(fd, 100, 0) for fd in request.files])
        precision = self.auto if q['precision'] == 'auto' else q['precision']
        for way, error_id in self.refused:
            if way in (precision, q['tile'], q['batch'], q['device'], (q['device'], q['batch']),
                       'kept' * q['keep']):
                return refusal(422, error_id, 'this can\'t be')
        edge = 512 if q['tile'] == 384 else q['tile']
        batch = q['batch'] or self.own_batch
        fps = self.base[precision] * self.tiles[edge] * (self.batches[batch] if batch else 1)
        fps *= 100 if q['device'] == 'xpu:0' else 1
        return answer(dict(PROFILE, device=q['device'], device_description=q['device'][:4],
                           precision=precision, tile_width=edge or 640, tile_height=edge or 360,
                           tiles=1 if edge is None else 2, batch=batch, clip_frames=1,
                           # Half of it is hidden behind the other half.
                           frame_p50_s=2 / fps, upload_s=1, compute_s=2, download_s=1,
                           fidelity_db={'f16': 60.04, 'bf16': 49.9}.get(precision), ops=[]))

    def test_search(self):
        """From the fastest that is faithful on to smaller tiles, and then to larger batches."""
        self.serve(self.respond)
        self.plan['warnings'] = ['no seat for the sound']
        os.mkdir(folder := self.path('tmp'))
        out, err = self.run_it('tune', 'video.mp4', env=dict(os.environ, TMPDIR=folder))
        self.assertEqual(os.listdir(folder), [])
        self.assertEqual(err, 'vrtctl: warning: no seat for the sound\n')
        way = ('cuda:0', 'f16', 192)
        self.assertEqual(self.ways, [
            ('cuda:0', 'auto', None, None, None, False), ('cuda:0', 'f32', None, None, 60, False),
            ('cuda:0', 'bf16', None, None, 60, False), ('cuda:0', 'f16', 512, None, 60, False),
            ('cuda:0', 'f16', 384, None, 60, False), ('cuda:0', 'f16', 256, None, 60, False),
            (*way, None, 60, False), (*way, 2, 60, False), (*way, 4, 60, False),
            (*way, 8, 60, False), (*way, 8, 60, True)])
        lines = out.splitlines()
        # The grid that had been timed before stands there once.
        self.assertEqual([line.split()[3] for line in lines[1:10]],
                         ['none', 'none', 'none', '512x512', '256x256'] + 4 * ['192x192'])
        self.assertEqual(lines[1].split(), ['cuda:0', 'f16', '1', 'none', '1', '20.0', '1:23:25',
                                            '60.0'])
        self.assertEqual(lines[2].split()[7:], ['-'])
        self.assertEqual([line for line in lines if line.endswith('fastest')], [lines[9]])
        self.assertEqual(lines[9].split()[4:6], ['8', '42.2'])
        self.assertEqual(lines[10:], [
            '', 'The fastest is kept for jobs with this model on videos of 640x360.',
            # The rest at the 40 frames/s of the later half.
            'The whole video takes about 41:45, all included, as 100 frames of it did.'])
        self.assertEqual(self.posted['start_s'], 0)
        self.assertAlmostEqual(self.posted['duration_s'], 20 * 20 * 1.31 * 1.61 / 25)
        self.assertEqual(self.asked, [('POST', '/v1/jobs')] * 2 + [('GET', '/v1/jobs/7')] * 4 +
                         [('DELETE', '/v1/jobs/7'), ('GET', '/v1/jobs/7'),
                          ('POST', '/v1/jobs/7/forget')])

    def test_smaller_batches(self):
        """Where larger ones aren't possible, or no faster."""
        self.own_batch, self.batches = 8, {8: 1, 4: 1.5, 2: 1.6, 1: 1.7}
        self.tiles = {None: 1, 512: 1.01}
        self.refused = [('f32', 'device.memory'), ('bf16', 'device.unsupported'),
                        (1, 'device.memory')]
        self.plan['frames_total'] = None
        self.serve(self.respond)
        out, _ = self.run_it('tune', '--json', 'video.mp4')
        self.assertEqual([way[1:4] for way in self.ways], [
            ('auto', None, None), ('f32', None, None), ('bf16', None, None), ('f16', 512, None),
            ('f16', 512, 4), ('f16', 512, 2), ('f16', 512, 1), ('f16', 512, 2)])
        got = json.loads(out)
        self.assertIsNone(got['estimated_s'])
        self.assertEqual(got['frames_tried'], 100)
        self.assertEqual([(way['batch'], way['tile_width'], way['tiles'], way['fastest'])
                          for way in got['ways']],
                         [(8, 640, 1, False), (8, 512, 2, False), (4, 512, 2, False),
                          (2, 512, 2, True)])
        self.assertAlmostEqual(got['ways'][3]['fps'], 20 * 1.01 * 1.6)
        self.assertIsNone(self.posted['duration_s'])
        self.assertIn("can't be said", self.run_it('tune', 'video.mp4')[0])

    def test_twins(self):
        """What is fastest on a device is timed once on those like it; clips keep to large tiles."""
        self.names = ('cuda:0', 'cuda:1', 'xpu:0')
        self.own_batch, self.tiles = None, {None: 1, 512: 1.1, 256: 1.2}
        self.auto, self.base = 'f32', {'f32': 1, 'f16': 100, 'bf16': 0.5}
        self.refused = [('f16', 'request.field')]
        self.serve(self.respond)
        out, _ = self.run_it('tune', '-d', 'all', 'video.mp4')
        self.assertEqual(self.posted['device'], 'all')
        wide = [None, None, None, 512, 384, 256, 256]
        self.assertEqual([way[2] for way in self.ways], wide + [None, 256] + wide)
        self.assertEqual([way[5] for way in self.ways], [False] * 6 + [True] + [False] * 8 + [True])
        self.assertEqual({way[4] for way in self.ways}, {None, 5, 200})
        best = [line.split() for line in out.splitlines() if line.endswith('fastest')]
        self.assertEqual([line[:4] for line in best], [[name, 'f32', '1', '256x256']
                                                       for name in self.names])
        self.assertAlmostEqual(self.posted['duration_s'], 102 * 1.2 * 20 / 25)
        # That it can be done as it is already, or in which way it differs.
        self.names, self.tiles = ('cuda:0', 'cuda:1'), {None: 1, 512: 1, 384: 1}
        self.refused = ()
        for self.base, self.own_batch, more in (
                ({'f32': 4, 'f16': 2, 'bf16': 1}, 8, []),
                ({'f32': 4, 'f16': 5, 'bf16': 1}, 8, [('f16', None, None)]),
                ({'f32': 4, 'f16': 2, 'bf16': 1}, 4, [('f32', None, 8)])):
            del self.ways[:]
            self.run_it('tune', 'video.mp4')
            self.assertEqual([way[1:4] for way in self.ways if way[0] == 'cuda:1'],
                             [('auto', None, None)] + more)
        self.refused = [(('cuda:1', 8), 'device.lost')]
        self.run_it('tune', 'video.mp4', status=1)

    def test_length_of_trial(self):
        """A video that isn't half as long again is restored as a whole."""
        self.base = {'f32': 1, 'f16': 1, 'bf16': 1}
        self.serve(self.respond)
        for frames, seconds in ((95, None), (96, 64 / 25)):
            self.plan['frames_total'] = frames
            self.run_it('tune', 'video.mp4')
            self.assertEqual(self.posted['duration_s'], seconds)

    def test_estimate(self):
        """By the later half, as far as there are looks at it, else by all: 100 frames in 5 s."""
        self.plan['frames_total'] = 300
        self.tiles = {None: 1, 512: 1, 384: 1}
        self.serve(self.respond)
        for looks, rate in (
                ([(50, 1), (90, 2)], 40), ([(49, 1), (50, 2), (90, 3)], 40),
                ([(60, 4), (50, 5)], 20), ([(60, 4), (90, 4.5)], 20), ([(90, 4)], 20),
                ([(99, None), (50, 1), (90, 2)], 40), ([(50, 1), (90, 2), (99, 9)], 40)):
            self.looks = [job(7, 'finishing' if s == 9 else 'running', frames_done=n, elapsed_s=s)
                          for n, s in looks] + [self.ends]
            out, _ = self.run_it('tune', '--json', 'video.mp4')
            self.assertEqual(json.loads(out)['estimated_s'], 5 + 200 / rate)

    def test_refused(self):
        """What is kept by then is told; a trial that ends otherwise isn't taken for one."""
        self.names = ('cuda:0', 'xpu:0')
        self.refused = [('xpu:0', 'device.failed')]
        self.serve(self.respond)
        out, err = self.run_it('tune', 'video.mp4', status=1)
        self.assertIn('The fastest is kept for jobs', out)
        self.assertEqual(err, "vrtctl: this can't be\n")
        self.assertEqual(self.asked, [('POST', '/v1/jobs')])
        for way, self.own_batch in (('bf16', 1), (384, 1), (4, 1), (2, 4), ('kept', 4)):
            self.refused = [(way, 'device.lost')]
            self.assertEqual(self.run_it('tune', 'video.mp4', status=1)[0], '')
            self.assertIn(way, (*self.ways[-1], 'kept' * self.ways[-1][5]))
        self.names, self.refused = ('cuda:0',), ()
        full = {'id': 'output.full', 'message': 'the disk is full', 'field': None}
        for state, error, says in (('disk_full', full, "the trial can't go on: the disk is full"),
                                   ('needs_input', None, "can't go on: vrtd was started anew"),
                                   ('failed', full, 'the trial has failed: the disk is full'),
                                   ('cancelled', None, 'the trial was cancelled')):
            self.looks = [job(7, state, error=error), job(7), job(7, 'cancelled')]
            _, err = self.run_it('tune', 'video.mp4', status=1)
            self.assertIn(says, err)
            self.assertEqual(self.asked[-4:], [
                ('DELETE', '/v1/jobs/7'), ('GET', '/v1/jobs/7'), ('GET', '/v1/jobs/7'),
                ('POST', '/v1/jobs/7/forget')])
        self.trial = refusal(503, 'job.queue_full', 'the queue is full')
        self.complaint('tune', 'video.mp4', status=1, says='the queue is full')
        self.plan = {'frames_total': 'many'}
        self.complaint('tune', 'video.mp4', status=3, says='not understood')
        self.complaint('tune', 'none.mp4', status=1, says='none.mp4: No such file')
        self.complaint('tune', '-m', './none.pth', 'video.mp4', status=1, says='none.pth: No such')

    def test_model_file(self):
        self.write('x4.pth', 'weights')
        self.serve(self.respond)
        self.run_it('tune', '-m', 'x4.pth', 'video.mp4')
        self.assertEqual(self.read[0], [b'moving pictures', b'weights'])
        self.assertEqual(self.read[1:-1], [[b'weights']] * 11)
        self.assertEqual(self.read[-1], [b'moving pictures', b'', b'weights'])
        self.assertEqual([self.posted[name] for name in ('input', 'output', 'model')], [
            {'fd': 0, 'name': 'video.mp4', 'path': None, 'upload': None, 'url': None},
            {'fd': 1, 'name': 'tune.mkv', 'path': None},
            {'fd': 2, 'name': 'x4.pth', 'path': None}])

    def test_terminal(self):
        """How far it is; what is being done is worth more than the bar."""
        self.serve(self.respond)
        for columns, bar in ((77, True), (40, False)):
            self.looks = [job(7, frames_done=84, frames_underway=16), self.ends]
            out = self.on_terminal(columns, 'tune', 'video.mp4')
            lines = re.findall('\r(?:\x1b\\[A)?([^\r\x1b]*%  [^\x1b]*)\x1b\\[K', out)
            self.assertEqual(['\u2591' in line for line in lines], [bar] * 12)
            self.assertEqual(max(map(len, lines)), columns - 1)
            self.assertTrue(lines[0].endswith('  0%  timing cuda:0: auto, no tiles'), lines)
            self.assertIn('timing cuda:0: f16, tiles of 192', lines[8])
            self.assertEqual('2 frames at a time' in lines[7], bar)
            # Of twelve steps, five are the trial's.
            self.assertEqual([int(line.split('%')[0].split()[-1]) for line in lines],
                             [0, 8, 16, 25, 33, 41, 50, 58, 58, 58, 58, 79])
            self.assertTrue(lines[-1].endswith('restoring its beginning'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
