#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl submit --dry-run and vrtctl profile against a server of the test's own.

usage: test_vrtctl_plan.py VRTCTL [unittest arguments]
"""
import json
import os
import shutil
import unittest

from fake_vrtd import answer, refusal
from vrtctl_case import Case, job

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


class DryRun(Case):
    def plans(self, request):
        self.seen = request
        self.read = [os.pread(fd, 100, 0) for fd in request.files]
        return answer(PLAN)

    def test_plan(self):
        self.serve(self.plans)
        out, err = self.run_it('submit', '--dry-run', 'video.mp4')
        self.assertEqual(self.read, [b'moving pictures'])
        body = self.seen.json()
        self.assertTrue(body['dry_run'])
        self.assertEqual(body['output'], {'fd': None, 'name': 'video.restored.mp4',
                                          'path': None})
        self.assertFalse(os.path.exists(self.path('video.restored.mp4')))
        self.assertEqual(err, 'vrtctl: video.mp4: warning: no seat for the sound\n')
        self.assertIn('video.mp4 -> video.restored.mp4\n', out)
        self.assertIn('  Frames     240 in 60 shards of up to 8\n', out)
        self.assertIn('  Tiles      6 of 640x360, overlapping by 16\n', out)
        self.assertIn('  Takes      about 2:00 for the devices', out)
        rows = [line.split() for line in out.splitlines()[-3:]]
        self.assertEqual(rows[0], ['DEVICE', 'PRECISION', 'MODEL', 'WORKSPACE', 'PEAK', 'ALLOWED',
                                   'GFLOP/S', 'S/SHARD'])
        self.assertEqual(rows[1], ['cuda:0', 'bf16', '32', 'MiB', '2.0', 'GiB', '2.0', 'GiB',
                                   '7.0', 'GiB', '41234', '2.0'])
        self.assertEqual(rows[2], ['cpu:0', 'f32', '64', 'MiB', '-', '-', '-', '-', '-'])

    def test_json_and_model_file(self):
        self.serve(self.plans)
        with open(self.path('x4.pth'), 'w', encoding='utf-8') as f:
            f.write('weights')
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

    def test_refused_as_it_would_be(self):
        self.serve(self.plans)
        with open(self.path('old.mp4'), 'w', encoding='utf-8') as f:
            f.write('precious')
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
        self.serve(lambda _: refusal(422, 'input.not_media', 'video.mp4 is not a video'))
        self.complaint('submit', '--dry-run', '-o', 'old.mp4', 'video.mp4', status=1,
                       says='is not a video')


PROFILE = {
    'model': {'name': 'compact-x2', 'architecture': 'compact', 'scale': 2, 'checksum': 'ab'},
    'description': 'SRVGGNetCompact, x2', 'parameters': 45156, 'device': 'cpu:0',
    'device_description': 'Two cores', 'precision': 'bf16', 'width': 640, 'height': 360,
    'output_width': 1280, 'output_height': 720, 'clip_frames': 4, 'tile_width': 352,
    'tile_height': 360, 'overlap': 16, 'tiles': 2, 'frames': 26, 'frame_mean_s': 0.0213,
    'frame_p50_s': 0.0201, 'frame_p95_s': 1.2345, 'frame_p99_s': 2.5, 'upload_s': 0.00009,
    'compute_s': 0.02, 'download_s': 0.00121, 'fps': 46.9, 'gflop_per_frame': 20.6,
    'gflop_per_s': 967.4,
    'replica_bytes': 92 << 10, 'workspace_bytes': 37 << 20, 'peak_bytes': (37 << 20) + (92 << 10),
    'allowed_bytes': 7 << 30,
    'ops': [{'kind': 'conv2d', 'count': 20, 'seconds': 0.0199, 'share': 0.982,
             'gflop_per_s': 1004.0},
            {'kind': 'range', 'count': 1, 'seconds': 0.0004, 'share': 0.018, 'gflop_per_s': 0}],
    'warnings': ['jobs ran meanwhile'],
}


class Profile(Case):
    def profiles(self, request):
        self.seen = request
        self.read = [os.pread(fd, 100, 0) for fd in request.files]
        return answer(PROFILE)

    def test_table(self):
        self.serve(self.profiles)
        out, err = self.run_it('profile', 'compact-x2')
        self.assertEqual(self.seen.json(), {
            'model': {'fd': None, 'name': 'compact-x2', 'path': None}, 'device': None,
            'precision': None,
            'width': 640, 'height': 360, 'tile': None, 'overlap': None, 'clip': None,
            'batch': None, 'keep': False, 'frames': None})
        self.assertEqual(err, 'vrtctl: warning: jobs ran meanwhile\n')
        for text in ('compact-x2 on cpu:0, bf16\n', '640x360 to 1280x720, 26 timed',
                     'clips of 4 frames, 2 tiles of 352x360, overlapping by 16',
                     '21.3 ms a frame: p50 20.1 ms, p95 1.23 s, p99 2.50 s',
                     'upload 90 us, compute 20.0 ms, download 1.2 ms',
                     '46.9 frames/s, 967 GFLOP/s (20.6 GFLOP a frame)',
                     'peak 37 MiB (model 92 KiB, workspace 37 MiB) of 7.0 GiB allowed'):
            self.assertIn(text, out)
        self.assertIn('\n\nEach op of one more frame, waited for by itself: their sum', out)
        rows = [line.split() for line in out.splitlines()[-3:]]
        self.assertEqual(rows[0], ['OP', 'COUNT', 'TIME', 'SHARE', 'GFLOP/S'])
        self.assertEqual(rows[1], ['conv2d', '20', '19.9', 'ms', '98.2%', '1004'])
        self.assertEqual(rows[2], ['range', '1', '400', 'us', '1.8%', '-'])

    def test_request(self):
        self.serve(self.profiles)
        with open(self.path('x4.pth'), 'w', encoding='utf-8') as f:
            f.write('weights')
        out, _ = self.run_it('profile', '--json', '-d', 'cuda:1', '--size', '1920x1080', '-n', 7,
                             '--precision', 'f16', '--tile', 512, '--overlap', 0, '--batch', 8,
                             './x4.pth')
        self.assertEqual(json.loads(out), PROFILE)
        self.assertEqual(self.read, [b'weights'])
        self.assertEqual(self.seen.json(), {
            'model': {'fd': 0, 'name': 'x4.pth', 'path': None}, 'device': 'cuda:1',
            'precision': 'f16',
            'width': 1920, 'height': 1080, 'tile': 512, 'overlap': 0, 'clip': None,
            'batch': 8, 'keep': False, 'frames': 7})

    def test_wrong_usage(self):
        self.serve(self.profiles)
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
        self.serve(lambda _: answer({'ops': [{'kind': '\033[31mconv', 'share': None}]}))
        out, _ = self.run_it('profile', 'compact-x2')
        self.assertIn('?[31mconv', out)
        self.serve(lambda _: answer({'ops': 7}))
        self.complaint('profile', 'compact-x2', status=3, says='not understood')


if __name__ == '__main__':
    unittest.main(verbosity=2)
