#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs with VRT: a small one of every part, from a file, through the daemon."""
import json
import os
import subprocess

import checkpoints
import harness
from harness import clip, digest, ffmpeg, pixels, video_stream

MAKE_VRT = os.path.join(harness.BUILD, 'tests', 'bench', 'make-vrt')


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
        for key in ('replica_bytes', 'workspace_bytes', 'peak_bytes'):
            self.assertEqual(plan['devices'][0][key], job['devices'][0][key], key)
        self.assertGreater(plan['estimated_s'], 0)
        self.made(5, *options)
        self.assertEqual(digest(self.path('5-64x64.out.mkv')), first)

    def test_folder(self):
        """Pictures are seen as a video's frames are: clips, and what they share."""
        options = ('-m', self.model, '--clip', 3, '--precision', 'f32')
        folder, film, target = self.path('pictures'), self.path('p.mkv'), self.path('p.out.mkv')
        os.mkdir(folder)
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x64', '-frames:v', 5, folder + '/%d.png')
        ffmpeg('-i', folder + '/%d.png', '-c:v', 'ffv1', film)
        self.vrtctl('submit', '--follow', *options, folder)
        self.follow(film, target, *options, '--codec', 'ffv1')
        self.assertEqual(pixels(folder + '.restored/%d.png', 'rgb24'), pixels(target, 'rgb24'))

    def test_fewer_frames_than_a_window(self):
        """And a precision that the network was measured in."""
        self.assertIn(self.made(1)['recipe']['precision'], ('f32', 'bf16'))
        self.made(2, '--precision', 'f32', size='66x40')

    def test_official(self):
        job = self.made(4, '--precision', 'f32', '--clip', 3, '--tiling', 'official')
        self.assertEqual(job['recipe']['tiling'], 'official')
        self.assertEqual(job['devices'][0]['shards_done'], 2)
        # Weights at random recolour what they see, and no processor is blamed for it.
        self.assertTrue(any('recolours' in w for w in job['warnings']), job['warnings'])

    def test_whole(self):
        """--clip 0 is all of the video, as far as a clip goes; --tile 0 all of a frame."""
        job = self.made(9, '--clip', 0, '--tile', 0, '--precision', 'f32')
        self.assertGreaterEqual(job['recipe']['clip_frames'], 9)
        self.assertEqual(job['devices'][0]['shards_done'], 1)
        source = clip(self.path('whole.mkv'), frames=140)
        self.refused('submit', '-m', self.model, '--clip', 0, source, says='clips of')

    def test_pth_as_published(self):
        """Buffers and all: the same network; with another's buffer, refused."""
        source = clip(self.path('p.mkv'), frames=3)
        tensors = checkpoints.read_safetensors(self.model)
        tensors.update(checkpoints.vrt_buffers(tensors))
        self.assertIn('stage1.residual_group1.blocks.0.attn.position_bias', tensors)
        pth = checkpoints.write_pth(self.path('small.pth'), tensors)
        plans = [json.loads(self.vrtctl('submit', '--dry-run', '--json', '-m', model,
                                        '--precision', 'f32', source).stdout)
                 for model in (self.model, pth)]
        self.assertEqual(plans[0]['model']['checksum'], plans[1]['model']['checksum'])
        name = 'stage1.residual_group2.blocks.0.attn.relative_position_index'
        shape, data = tensors[name]
        tensors[name] = (shape, data[:-8] + bytes(8))
        self.refused('submit', '-m', checkpoints.write_pth(self.path('other.pth'), tensors),
                     source, says=name)


if __name__ == '__main__':
    harness.main()
