# SPDX-License-Identifier: MIT
"""What a daemon leaves behind in its store."""
import json
import os
import shutil
import sqlite3
import tempfile


class Store:
    """What is on the disk, while no daemon runs: read from a copy, so that it stays as it is."""

    def __init__(self, folder):
        with tempfile.TemporaryDirectory() as copy:
            for name in ('vrtd.db', 'vrtd.db-wal'):
                if os.path.exists(os.path.join(folder, name)):
                    shutil.copy(os.path.join(folder, name), copy)
            db = sqlite3.connect(os.path.join(copy, 'vrtd.db'))
            self.jobs, self.cancelled = {}, set()
            for id, state, starts, work in db.execute('SELECT id, state, starts, work FROM jobs'):
                self.jobs[id] = state, starts
                # Or are to be: their segments may go at any time.
                if state == 'cancelled' or json.loads(work).get('is_cancelled'):
                    self.cancelled.add(id)
            self.segments = {}
            for id, *segment in db.execute('SELECT job, number, n_frames, next_shard, size_bytes, '
                                           'tail_bytes FROM segments ORDER BY job, number'):
                self.segments.setdefault(id, []).append(tuple(segment))
            self.sound = db.execute('PRAGMA integrity_check').fetchone()[0]
            db.close()

    def next_shard(self, job):
        return self.segments[job][-1][2] if job in self.segments else 0
