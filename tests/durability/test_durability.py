#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What vrtd has promised is on the disk: of everything that a crash may leave, at each moment of a
job, what the store says of segments and results is true of the files.

VRT_RECORDER names the library made of record.c.
"""
import functools
import os
import sqlite3
import subprocess
import tempfile
from unittest import mock

import checkpoints
import crash_states
import harness
from film import DONE, Film
from harness import clip

PLAN = 'b.mp4.vrtd/plan.json'

@functools.cache
def told(database, log):
    """Of a store: ({job: state}, [(job, segment, bytes, bytes of its tail)]); None: there is none
    yet."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in ('vrtd.db', database), ('vrtd.db-wal', log):
            if data:
                with open(os.path.join(folder, name), 'wb') as f:
                    f.write(data)
        if not os.path.exists(os.path.join(folder, 'vrtd.db')):
            return None
        db = sqlite3.connect(os.path.join(folder, 'vrtd.db'))
        try:
            jobs = dict(db.execute('SELECT id, state FROM jobs'))
            segments = db.execute('SELECT job, number, size_bytes, tail_bytes FROM segments '
                                  'ORDER BY job, number').fetchall()
            assert db.execute('PRAGMA integrity_check').fetchone()[0] == 'ok'
            return jobs, segments
        except sqlite3.OperationalError as e:
            if 'no such table' not in str(e):
                raise
            return None
        finally:
            db.close()


def results_of(files, target):
    """The file `target`, or those of a folder of this name."""
    return [path for path in files if path == target or path.startswith(target + '/')]


class Durability(harness.FolderCase):
    def record(self, source, target, *options, segment_frames=8):
        """Restores under the recorder. Return: (the disk before it, the changes)."""
        os.mkdir(self.path('state'))
        disk = crash_states.Disk(self.folder)
        recorder = crash_states.Recorder(os.environ['VRT_RECORDER'])
        environment = recorder.environment
        daemon = harness.Daemon(self.folder, {'jobs': {'segment_frames': segment_frames}},
                                env=environment)
        try:
            done = subprocess.run([harness.VRTCTL, '--socket', daemon.socket, 'submit', '--follow',
                                   '--output', target, *options, source], env=environment,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr + daemon.log_text())
        finally:
            status, changes = daemon.stop(), recorder.stop()
        self.assertEqual(status, 0, daemon.log_text())
        return disk, changes

    def hold(self, disk, changes, target):
        """Whether in each state that a crash may leave the files are what its store says of them.
        Return: (segments, results) that were looked at."""
        seen, kinds = (set(), set()), set()
        for kind, files, now, where in disk.after(changes):
            known = told(files.get('state/vrtd.db'), files.get('state/vrtd.db-wal'))
            if known is None:
                continue
            kinds.add(kind)
            jobs, segments = known
            for path in files:
                # This name says that it is complete.
                if '/joined.' in path and path in now:
                    self.look_at(files, now, path, where)
            for job in (job for job, state in jobs.items() if state == 'done'):
                seen[1].add(job)
                results = results_of(now, target)
                self.assertTrue(results)
                for path in results:
                    self.look_at(files, now, path, where)
            last = {job: number for job, number, *_ in segments}
            for job, number, size, tail in segments:
                if jobs[job] == 'done':
                    continue
                seen[0].add((job, number))
                path = f'state/spool/{job}/{number:05}'
                self.look_at(files, now, path + '.seg', where, size)
                if tail and number == last[job]:
                    self.look_at(files, now, path + '.tail', where, tail)
        self.assertEqual(len(kinds), 3)
        return seen

    def look_at(self, files, now, path, where, size=None):
        """It is there, whole: as it was when the store came to speak of it, and hasn't changed."""
        self.assertIn(path, sorted(files), where)
        self.assertEqual(len(files[path]), len(now[path]) if size is None else size,
                         f'{path} {where}')
        self.assertTrue(files[path] == now[path][:len(files[path])], f'{path} {where}')

    def restore(self, source, target, *options, n_segments, **more):
        disk, changes = self.record(source, target, *options, **more)
        segments, results = self.hold(disk, changes, os.path.basename(target.rstrip('/')))
        self.assertEqual(len(segments), n_segments)
        self.assertEqual(results, {1})

    def test_film(self):
        self.restore(clip(self.path('a.mp4'), frames=30, audio=True), self.path('b.mkv'),
                     n_segments=4)

    def test_overwritten(self):
        """What was there before, longer than the result, is gone when the job is done."""
        with open(self.path('b.mkv'), 'wb') as f:
            f.write(bytes(200000))
        self.restore(clip(self.path('a.mp4'), frames=10), self.path('b.mkv'), '--overwrite',
                     n_segments=2)

    def test_pictures(self):
        self.restore(clip(self.path('a.mp4'), frames=10), self.path('b') + '/', '--codec', 'png',
                     n_segments=2)

    def test_clips_that_share_frames(self):
        """What waits for the next clip is stored beside each segment."""
        model = checkpoints.write_safetensors(self.path('m'), checkpoints.basicvsr())
        source = clip(self.path('a.mkv'), '-c:v', 'ffv1', frames=9, size='32x24')
        self.restore(source, self.path('b.mkv'), '-m', model, '--clip', '4', '--clip-overlap', '2',
                     n_segments=4, segment_frames=2)

    def test_film_of_a_cluster(self):
        """What has its name in the folder that machines share is whole; the result is, too, before
        anybody says so."""
        with open(self.path('conf'), 'w', encoding='utf-8') as f:
            f.write('[jobs]\nsegment_frames = 8\n')
        made = Film(clip(self.path('a.mp4'), frames=24), self.path('b.mp4'), self.path('conf'))
        disk = crash_states.Disk(self.folder)
        recorder = crash_states.Recorder(os.environ['VRT_RECORDER'])
        with mock.patch.dict(os.environ, recorder.environment):
            ends = [made.run(part) for part in ('plan', '1/2', '0/2', 'join')]
        changes, seen = recorder.stop(), set()
        self.assertEqual([status for status, _ in ends], [DONE] * 4, ends)
        for kind, files, now, where in disk.after(changes):
            for path in files:
                if path in now and path.startswith(('b.mp4.vrtd/segments/', PLAN)):
                    self.look_at(files, now, path, where)
                    seen.add((kind, path))
            if b'"done"' in files.get('b.mp4.vrtd/tasks/join.json', b''):
                self.look_at(files, now, 'b.mp4', where)
                seen.add((kind, 'b.mp4'))
        # Three segments, the plan and the result, in three states.
        self.assertEqual(len(seen), 15, seen)


if __name__ == '__main__':
    harness.main()
