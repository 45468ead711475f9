#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs with VRT: a small one of every part, from a file, through the daemon."""
import json
import math
import os
import struct
import subprocess

import harness
from harness import clip, digest, video_stream

MAKE_VRT = os.path.join(harness.BUILD, 'tests', 'bench', 'make-vrt')


def change(source, target, changes):
    """Writes the .safetensors file `source` again with other shapes; None: without that tensor."""
    with open(source, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data = f.read()
    shapes = {name: tensor['shape'] for name, tensor in header.items()}
    shapes.update(changes)
    entries, values = {}, []
    at = 0
    for name, shape in shapes.items():
        if shape is None:
            continue
        size = 4 * math.prod(shape)
        first, last = header[name]['data_offsets'] if name in header else (0, 0)
        values.append(data[first:last][:size].ljust(size, b'\0'))
        entries[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(entries).encode()
    with open(target, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + b''.join(values))
    return target


class Vrt(harness.Case):
    few_jobs = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.path.join(cls.folder, 'small.safetensors')
        subprocess.run([MAKE_VRT, '0', cls.model], check=True, stdout=subprocess.DEVNULL)

    def made(self, n, *options, size='64x64'):
        """The job's JSON, of a video of n frames whose result is as long and twice as large."""
        source, target = self.path(f'{n}-{size}.mkv'), self.path(f'{n}-{size}.out.mkv')
        clip(source, '-c:v', 'ffv1', frames=n, size=size)
        job = self.follow(source, target, '-m', self.model, '--codec', 'ffv1', '--overwrite',
                          *options)
        stream = video_stream(target)
        width, height = map(int, size.split('x'))
        self.assertEqual(job['state'], 'done')
        self.assertEqual((job['frames_total'], job['frames_done']), (n, n))
        self.assertEqual((stream['width'], stream['height']), (2 * width, 2 * height))
        self.assertEqual(int(stream['nb_read_frames']), n)
        return job

    def test_as_planned(self):
        """In clips that share frames; twice the same."""
        options = ('--clip', 3, '--precision', 'f32')
        job = self.made(5, *options)
        self.assertEqual(job['model']['architecture'], 'vrt')
        self.assertEqual((job['recipe']['clip_frames'], job['recipe']['clip_overlap']), (3, 1))
        self.assertEqual((job['recipe']['tiling'], job['recipe']['sigma']), ('blend', None))
        self.assertEqual(job['devices'][0]['shards_done'], 2)
        source, first = self.path('5-64x64.mkv'), digest(self.path('5-64x64.out.mkv'))
        done = self.vrtctl('submit', '--dry-run', '--json', '-m', self.model, '--codec', 'ffv1',
                           *options, source)
        plan = json.loads(done.stdout)
        self.assertEqual(plan['recipe'], job['recipe'])
        self.assertEqual((plan['frames_total'], plan['shards']), (5, 2))
        self.assertEqual(plan['devices'][0]['peak_bytes'], job['devices'][0]['workspace_bytes'])
        self.assertGreater(plan['estimated_s'], 0)
        self.made(5, *options)
        self.assertEqual(digest(self.path('5-64x64.out.mkv')), first)

    def test_fewer_frames_than_a_window(self):
        """And a precision that the network was measured in."""
        self.assertIn(self.made(1)['recipe']['precision'], ('f32', 'bf16'))
        self.made(2, '--precision', 'f32', size='66x40')

    def test_official(self):
        job = self.made(4, '--precision', 'f32', '--clip', 3, '--tiling', 'official')
        self.assertEqual(job['recipe']['tiling'], 'official')
        self.assertEqual(job['devices'][0]['shards_done'], 2)

    def test_damaged_checkpoints(self):
        source = clip(self.path('r.mkv'), frames=3)
        cases = (('missing', {'stage3.pa_deform.weight': None}, 'stage3.pa_deform.weight'),
                 ('extra', {'stage9.weight': [7, 2]}, 'stage9.weight'),
                 ('misshapen', {'conv_last.weight': [3, 63, 1, 3, 3]}, 'conv_last.weight'))
        for name, changes, says in cases:
            model = change(self.model, self.path(name + '.safetensors'), changes)
            for options in ((), ('--dry-run',)):
                line = self.refused('submit', *options, '-m', model, source, says=says)
                self.assertIn(name + '.safetensors', line)
        same = change(self.model, self.path('same.safetensors'), {})
        self.vrtctl('submit', '--dry-run', '-m', same, source)

    def test_not_for_this_network(self):
        source = clip(self.path('n.mkv'), frames=3)
        self.refused('submit', '-m', self.model, '--sigma', 20, source, says='sigma')
        self.refused('submit', '-m', self.model, '--clip', 1, source, says='clip')
        self.refused('submit', '-m', self.model, '--tile', 32, source, says='tile')


if __name__ == '__main__':
    harness.main()
