#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job on a disk that is full goes on when there is room for all that it still has to write; and
what of the input is copied counts as a user's, however little of the disk it took there."""
import json
import os
import subprocess
import time
import unittest

import harness
from harness import clip, ffmpeg, video_stream

FRAMES = 120
SEGMENT = 8


def mount(*arguments):
    return subprocess.run(['mount', *arguments], capture_output=True).returncode == 0


class Room(harness.Case):
    config = {'jobs': {'segment_frames': SEGMENT}}
    few_jobs = True

    @classmethod
    def start_daemon(cls, folder, **options):
        cls.spool = os.path.join(folder, 'state', 'spool')
        os.makedirs(cls.spool, mode=0o700)
        os.chmod(os.path.dirname(cls.spool), 0o700)
        if not mount('-t', 'tmpfs', '-o', 'size=5m,mode=700', 'tmpfs', cls.spool):
            raise unittest.SkipTest('no disk can be mounted here')
        cls.addClassCleanup(subprocess.run, ['umount', '--lazy', cls.spool], check=True)
        return super().start_daemon(folder, **options)

    def show(self, job):
        return self.daemon.job(job)

    def await_state(self, job, state):
        self.wait_until(lambda: self.show(job)['state'] in (state, 'done', 'failed'))
        shown = self.show(job)
        self.assertEqual(shown['state'], state, self.daemon.log_text())
        return shown

    def test_room_for_the_rest(self):
        source = clip(self.path('noise.mp4'), '-vf', 'noise=alls=80:allf=t', '-qp', '8',
                      frames=FRAMES, size='128x96')
        target = self.path('noise.out.mkv')
        done = self.vrtctl('submit', '--json', '--codec', 'ffv1', '--output', target, source)
        job = json.loads(done.stdout)['id']
        shown = self.await_state(job, 'disk_full')
        self.assertEqual(shown['error']['id'], 'spool.full')
        self.assertGreater(shown['segments_done'], 2)
        checks = json.loads(self.vrtctl('doctor', '--json', status=None).stdout)['checks']
        self.assertEqual([c['status'] for c in checks if c['id'] == 'folder.spool'], ['warning'])
        # Room for the next segments, but not for all, and for none of them joined.
        self.assertTrue(mount('-o', 'remount,size=10m', self.spool))
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            time.sleep(0.5)
            self.assertEqual(self.show(job)['n_starts'], shown['n_starts'], self.daemon.log_text())
        self.assertTrue(mount('-o', 'remount,size=64m', self.spool))
        self.vrtctl('wait', job)
        self.assertEqual(self.show(job)['n_starts'], shown['n_starts'] + 1)
        self.assertEqual(int(video_stream(target)['nb_read_frames']), FRAMES)
        # It was no more than what was asked for, and more than what there had been.
        self.assertGreater(2 * os.path.getsize(target), 10 << 20)


class Copied(harness.Case):
    config = {'access': {'spool_per_user': '2M'}}

    def show(self, source):
        target = os.path.splitext(source)[0] + '.out.mkv'
        done = self.vrtctl('submit', '--json', '--output', target, source)
        job = json.loads(done.stdout)['id']
        self.vrtctl('wait', job, status=None)
        return self.daemon.job(job)

    def film(self, name, seconds):
        """With sound of which a second takes 750 KiB."""
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=25:d=0.4', '-f', 'lavfi', '-i',
               f'anullsrc=r=96000:cl=quad:d={seconds}', '-c:a', 'pcm_s16le', self.path(name))
        return self.path(name)

    def test_sound(self):
        shown = self.show(self.film('short.mkv', 2))
        self.assertEqual(shown['state'], 'done')
        shown = self.show(self.film('long.mkv', 20))
        self.assertEqual((shown['state'], shown['error']['id']), ('failed', 'spool.too_large'))
        self.assertEqual(os.path.getsize(self.path('long.out.mkv')), 0)
        # What it wrote is gone: a job with less is done.
        shown = self.show(self.film('again.mkv', 2))
        self.assertEqual(shown['state'], 'done')


if __name__ == '__main__':
    harness.main()
