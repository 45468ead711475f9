#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that others touch while a job waits or runs."""
import json
import os
import resource
import shutil
import subprocess

import harness
from harness import clip, video_stream

FRAMES = 48


class Files(harness.Case):
    config = {'jobs': {'max_running': 1}, **harness.SLOW}

    def submit(self, source, target, *options):
        done = self.vrtctl('submit', '--json', *options, '--output', target, source)
        return json.loads(done.stdout)['id']

    def show(self, job):
        return self.daemon.job(job)

    def begin(self, name, *options):
        """A job that has done some of its frames: its number, input and output."""
        source = clip(self.path(f'{name}.mp4'), frames=FRAMES)
        target = self.path(f'{name}.out.mp4')
        job = self.submit(source, target, *options)
        self.wait_until(lambda: self.show(job)['frames_done'] > 0)
        self.assertLess(self.show(job)['frames_done'], FRAMES, self.daemon.log_text())
        return job, source, target

    def fails(self, job, says):
        self.vrtctl('wait', job, status=1)
        shown = self.show(job)
        self.assertEqual(shown['state'], 'failed')
        self.assertIn(says, shown['error']['message'])

    def reaches(self, job, state):
        self.wait_until(lambda: self.show(job)['state'] in (state, 'done', 'failed'))
        self.assertEqual(self.show(job)['state'], state, self.daemon.log_text())

    def test_input_that_is_written_to(self):
        job, source, target = self.begin('written')
        with open(source, 'ab') as f:
            f.write(b'more')
        self.fails(job, 'was changed after')
        self.assertEqual(os.path.getsize(target), 0)

    def test_input_that_is_cut_short(self):
        job, source, _ = self.begin('cut')
        os.truncate(source, 1000)
        self.fails(job, 'was changed after')

    def test_output_to_be_replaced_keeps_what_it_holds(self):
        for name in ['cancelled', 'failed']:
            with open(self.path(f'{name}.out.mp4'), 'wb') as f:
                f.write(b'precious')
        job, _, target = self.begin('cancelled', '--overwrite')
        self.vrtctl('cancel', job)
        self.vrtctl('wait', job, status=1)
        with open(target, 'rb') as f:
            self.assertEqual(f.read(), b'precious')
        job, source, target = self.begin('failed', '--overwrite')
        os.truncate(source, 1000)
        self.fails(job, 'was changed after')
        with open(target, 'rb') as f:
            self.assertEqual(f.read(), b'precious')

    def test_output_to_be_replaced_on_a_full_disk(self):
        disk = self.path('disk')
        os.mkdir(disk)
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', disk],
                          capture_output=True).returncode:
            self.skipTest('no disk can be mounted here')
        self.addCleanup(subprocess.run, ['umount', '--lazy', disk], check=True)
        source, target = clip(self.path('full.mp4'), frames=FRAMES), os.path.join(disk, 'out.mp4')
        with open(target, 'wb') as f:
            f.write(b'precious')
        job = self.submit(source, target, '--overwrite', '--quality', '1')
        self.reaches(job, 'disk_full')
        self.assertIn('is full', self.show(job)['error']['message'])
        with open(target, 'rb') as f:
            self.assertEqual(f.read(), b'precious')
        # It goes on by itself, and encodes nothing again.
        subprocess.run(['mount', '-o', 'remount,size=32m', disk], check=True)
        self.vrtctl('wait', job)
        self.assertEqual(int(video_stream(target)['nb_read_frames']), FRAMES)

    def test_output_over_the_limit_on_file_sizes(self):
        job, _, target = self.begin('limit', '--quality', '1')
        for child in self.daemon.children():
            resource.prlimit(child, resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        self.fails(job, 'limit on file sizes')
        self.assertEqual(os.path.getsize(target), 0)
        self.assertTrue(self.daemon.answers())

    def test_output_that_is_deleted(self):
        job, _, target = self.begin('deleted')
        os.unlink(target)
        self.fails(job, 'was deleted before')
        self.assertFalse(os.path.exists(target))

    def test_input_that_is_renamed_or_deleted(self):
        job, source, target = self.begin('renamed')
        os.rename(source, source + '.elsewhere')
        os.unlink(source + '.elsewhere')
        self.vrtctl('wait', job)
        self.assertEqual(int(video_stream(target)['nb_read_frames']), FRAMES)

    def test_input_that_another_video_replaces_while_it_waits(self):
        first, _, _ = self.begin('first')
        source = clip(self.path('waiting.mp4'), frames=FRAMES)
        other = clip(self.path('other.mp4'), '-pix_fmt', 'yuv444p', frames=FRAMES, size='322x182')
        job = self.submit(source, self.path('waiting.out.mp4'))
        shutil.copyfile(other, source)
        self.reaches(job, 'needs_input')
        self.assertIn('is not the file that this job was submitted for',
                      self.show(job)['error']['message'])
        self.assertIn(f'job {job}: needs files: vrtctl resume {job} INPUT (waiting.mp4 is not the '
                      'file that', self.vrtctl('list').stdout)
        self.vrtctl('wait', first)
        devices = json.loads(self.vrtctl('devices', '--json').stdout.splitlines()[0])
        if not harness.FAULT:
            self.assertEqual((devices['state'], devices['shards_failed']), ('ready', 0))


if __name__ == '__main__':
    harness.main()
