#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs that are paused, resumed, tried again, and that outlast a daemon and their files."""
import json
import os
import subprocess
import time

import harness
from harness import clip, digest

CONFIG = {'jobs': {'max_running': 1, 'segment_frames': 16}, **harness.SLOW}

# Of a job that is not over soon.
FRAMES = 96

# The digests of what undisturbed runs made of inputs, by the digests of these.
references = {}


class Control(harness.FolderCase):
    def setUp(self):
        super().setUp()
        self.daemon = None
        self.start()

    def start(self):
        self.daemon = harness.Daemon(self.folder, CONFIG)
        self.addCleanup(self.stop, self.daemon)

    def stop(self, daemon=None):
        daemon = daemon or self.daemon
        if daemon.process.poll() is None:
            self.assertEqual(daemon.stop(), 0, daemon.log_text())

    def restart(self):
        self.stop()
        self.start()

    def vrtctl(self, *arguments, status=0):
        done = subprocess.run([harness.VRTCTL, '--socket', self.daemon.socket,
                               *map(str, arguments)], capture_output=True, text=True,
                              timeout=harness.PATIENCE_S, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, f'{arguments}: {done.stdout}{done.stderr}\n'
                         + self.daemon.log_text())
        return done

    def show(self, job):
        return self.daemon.job(job)

    def wait_for(self, job, what):
        """Until `what` holds of the job; the job."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while not what(shown := self.show(job)):
            self.assertLess(time.monotonic(), deadline, shown)
            time.sleep(0.02)
        return shown

    def submit(self, name, *options, frames=FRAMES):
        source = self.path(f'{name}.mp4')
        if not os.path.exists(source):
            clip(source, frames=frames)
        done = self.vrtctl('submit', '--json', *options, source)
        return json.loads(done.stdout)['id']

    def submit_begun(self, name, *options, frames=FRAMES):
        """A job that has begun, and is far from its end."""
        job = self.submit(name, *options, frames=frames)
        self.wait_for(job, lambda j: j['state'] == 'running' and j['frames_done'] > 0)
        return job

    def undisturbed(self, name):
        """The digest of what an undisturbed run makes of the same input."""
        source, target = self.path(f'{name}.mp4'), self.path('undisturbed.mp4')
        key = digest(source)
        if key not in references:
            self.vrtctl('submit', '--follow', '--overwrite', '-o', target, source)
            references[key] = digest(target)
        return references[key]

    def expect_done(self, job, name):
        self.vrtctl('wait', job)
        self.assertEqual(digest(self.path(f'{name}.restored.mp4')), self.undisturbed(name))

    def put_down(self, job):
        """The job, when devices have none of it, and what they had is encoded."""
        shown = {'frames_done': -1}
        while True:
            before = shown['frames_done']
            shown = self.wait_for(job, lambda j: not any(d['shards_running']
                                                         for d in j['devices']))
            if shown['frames_done'] == before:
                return shown
            time.sleep(1)

    def test_pause(self):
        """Nothing is computed meanwhile, others go on, and the result is the same."""
        job = self.submit_begun('a')
        self.assertRegex(self.vrtctl('pause', job).stdout, 'is (being )?paused')
        before = self.put_down(job)
        self.assertEqual(before['state'], 'paused')
        other = self.submit('b', frames=6)
        self.vrtctl('wait', other)
        after = self.show(job)
        self.assertEqual((after['state'], after['frames_done']), ('paused', before['frames_done']))
        self.assertIn('paused', self.vrtctl('list').stdout)
        self.assertIn('goes on', self.vrtctl('resume', job).stdout)
        self.expect_done(job, 'a')

    def test_retry(self):
        """A cancelled job is begun anew, with files opened again; nobody says otherwise."""
        job = self.submit('a')
        self.wait_for(job, lambda j: j['segments_done'] > 0)
        self.vrtctl('cancel', job)
        self.assertEqual(self.wait_for(job, lambda j: j['state'] == 'cancelled')['segments_done'],
                         0)
        shown = self.vrtctl('show', job).stdout
        self.assertIn(f'vrtctl retry {job} begins it anew', shown)
        self.assertNotIn('Stored', shown)
        self.assertIn(f'vrtctl retry {job} INPUT', self.vrtctl(
            'retry', job, clip(self.path('wrong.mp4')), status=1).stderr)
        self.assertEqual(self.show(job)['input_name'], 'a.mp4')
        # Nothing of the first try is told as the second's.
        again = json.loads(self.vrtctl('retry', '--json', job).stdout)
        self.assertEqual((again['frames_done'], again['fps'], again['elapsed_s'], again['devices'],
                          again['bottleneck']), (0, None, 0, [], None))
        self.expect_done(job, 'a')
        self.assertNotIn('behind what is stored', self.daemon.log_text())
        self.assertIn('nothing to retry', self.vrtctl('retry', '--overwrite', job,
                                                      status=1).stderr)

    def test_needs_input(self):
        """Without systemd the descriptors are gone: who submitted them gives them again."""
        running, waiting = self.submit_begun('a'), self.submit('b', frames=6)
        self.restart()
        self.assertIn('stopping; 1 running job may finish, or end a segment',
                      self.daemon.log_text())
        for job in (running, waiting):
            self.assertEqual(self.show(job)['state'], 'needs_input')
        self.assertIn(f'job {running}: needs files: vrtctl resume {running}\n',
                      self.vrtctl('list').stdout)
        self.vrtctl('resume', running, waiting)
        self.vrtctl('wait', waiting)
        self.expect_done(running, 'a')

    def test_needs_input_that_moved(self):
        job = self.submit_begun('a')
        self.restart()
        os.rename(self.path('a.mp4'), self.path('moved.mp4'))
        os.unlink(self.path('a.restored.mp4'))
        done = self.vrtctl('resume', job, status=1)
        self.assertIn(f'No such file or directory; nothing is called so in {self.folder}/; say '
                      f'where it is: vrtctl resume {job} INPUT', done.stderr)
        self.assertFalse(os.path.exists(self.path('a.restored.mp4')))
        done = self.vrtctl('resume', job, self.path('moved.mp4'), '-o', self.path('b.mkv'),
                           status=1)
        self.assertIn('writes .mp4:', done.stderr)
        self.assertFalse(os.path.exists(self.path('b.mkv')))
        with open(self.path('b.mp4'), 'w', encoding='utf-8') as f:
            f.write('of no use any more')
        self.vrtctl('resume', job, self.path('moved.mp4'), '-o', self.path('b.mp4'), status=1)
        self.vrtctl('resume', job, self.path('moved.mp4'), '-o', self.path('b.mp4'),
                    '--overwrite')
        self.restart()          # where they are now is known from now on, and what was allowed
        self.vrtctl('resume', job)
        self.vrtctl('wait', job)
        self.assertEqual(digest(self.path('b.mp4')), self.undisturbed('moved'))

    def test_another_input(self):
        """Of the same name, size and frames, and another video all the same."""
        job = self.submit_begun('a')
        self.restart()
        os.rename(self.path('a.mp4'), self.path('right.mp4'))
        clip(self.path('a.mp4'), frames=FRAMES, source='testsrc')
        os.truncate(self.path('a.mp4'), os.path.getsize(self.path('right.mp4')))
        os.link(self.path('a.mp4'), self.path('wrong.mp4'))
        for given, name in (([], 'a.mp4'), ([self.path('wrong.mp4')], 'wrong.mp4')):
            self.assertRegex(self.vrtctl('resume', job, *given, status=1).stderr,
                             f'{name} is not the file .*: vrtctl resume {job} INPUT\n')
            # Nothing has come of it: the job is called as before, and waits as before.
            shown = self.show(job)
            self.assertEqual((shown['state'], shown['error'], shown['input_name'],
                              shown['input_path']),
                             ('needs_input', None, 'a.mp4', self.path('a.mp4')))
        self.assertEqual(os.path.getsize(self.path('a.restored.mp4')), 0)
        # What is stored of it waits for the right one.
        os.rename(self.path('right.mp4'), self.path('a.mp4'))
        self.vrtctl('resume', job)
        self.vrtctl('wait', job)
        self.assertEqual(digest(self.path('a.restored.mp4')), self.undisturbed('a'))

    def test_overwrite_is_remembered(self):
        """What was allowed once is; and an input that is another one is said before the output."""
        with open(self.path('a.restored.mp4'), 'w', encoding='utf-8') as f:
            f.write('of no use any more')
        job = self.submit_begun('a', '--overwrite')
        self.restart()
        os.rename(self.path('a.mp4'), self.path('right.mp4'))
        clip(self.path('a.mp4'), frames=FRAMES, source='testsrc')
        with open(self.path('other.mp4'), 'w', encoding='utf-8') as f:
            f.write('precious')
        done = self.vrtctl('resume', job, self.path('a.mp4'), '-o', self.path('other.mp4'),
                           status=1)
        self.assertIn('a.mp4 is not the file that this job was submitted for', done.stderr)
        os.rename(self.path('right.mp4'), self.path('a.mp4'))
        self.vrtctl('resume', job)
        self.expect_done(job, 'a')

    def test_follow_into_another_folder(self):
        """What answers at the socket then has a job of the same number, which is another."""
        process = subprocess.Popen([harness.VRTCTL, '--socket', self.daemon.socket, 'submit', '-f',
                                    clip(self.path('a.mp4'), frames=FRAMES)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.assertIn('1 a.mp4: ', process.stdout.readline())
        self.daemon.kill()
        os.rename(self.path('state'), self.path('state.old'))
        self.start()
        self.assertEqual(self.submit('b', frames=6), 1)
        out, err = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 3, out + err)
        self.assertIn('another vrtd answers at', err)
        self.assertNotIn('->', out)

    def test_wait_over_a_crash(self):
        """The same for a daemon that is killed, and somebody else who only waits."""
        job = self.submit('a')
        process = subprocess.Popen([harness.VRTCTL, '--socket', self.daemon.socket, 'wait',
                                    str(job)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        before = self.wait_for(job, lambda j: j['segments_done'] > 0)
        self.daemon.kill()
        self.start()
        shown = self.wait_for(job, lambda j: j['state'] == 'needs_input')
        # What the frames that are stored took isn't forgotten: they are counted, too.
        self.assertGreater(shown['frames_done'], 0)
        self.assertGreater(shown['elapsed_s'], 0)
        if before['segments_done'] == shown['segments_done']:
            self.assertLessEqual(shown['elapsed_s'], before['elapsed_s'])
        self.vrtctl('resume', job)
        out, err = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn(f'{FRAMES} frames in', out)
        self.assertGreater(self.show(job)['elapsed_s'], shown['elapsed_s'])
        self.assertEqual(digest(self.path('a.restored.mp4')), self.undisturbed('a'))

    def test_clean(self):
        """What is over is listed, sorted, and removed; the results stay."""
        good = self.submit('good', frames=8)
        self.vrtctl('wait', good)
        running = self.submit_begun('long')
        failed = self.submit('film', '--strict', '--overwrite', '-o', self.path('f.mp4'), frames=8)
        self.vrtctl('cancel', failed)
        self.wait_for(failed, lambda j: j['state'] == 'cancelled')
        rows = self.vrtctl('list', '--all', '--sort', 'created', '--reverse').stdout.splitlines()
        self.assertEqual([row.split()[0] for row in rows[1:]],
                         [str(failed), str(running), str(good)])
        self.assertRegex(rows[3], r' 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +good\.mp4$')
        listed = self.vrtctl('list', '--json', '--state', 'done,cancelled').stdout.splitlines()
        self.assertEqual([json.loads(line)['id'] for line in listed], [good, failed])

        self.assertIn('only jobs that are over', self.vrtctl('clean', running, status=1).stderr)
        self.assertEqual(self.vrtctl('clean').stdout, '1 job was removed from the list\n')
        self.assertTrue(os.path.getsize(self.path('good.restored.mp4')))
        self.vrtctl('show', good, status=4)
        self.assertEqual(self.show(failed)['state'], 'cancelled')
        self.vrtctl('clean', '--all')
        self.restart()
        for job in good, failed:
            error = json.loads(self.vrtctl('show', '--json', job, status=4).stderr)['error']
            self.assertEqual(error['id'], 'job.not_found')

    def test_estimated(self):
        """How many frames there are: Matroska has a duration, mp4 an index."""
        told, counted = (json.loads(self.vrtctl('submit', '--json', clip(self.path(name))).stdout)
                         for name in ('v.mkv', 'v.mp4'))
        self.assertEqual([told['frames_estimated'], counted['frames_estimated']], [True, False])
        self.vrtctl('wait', told['id'], counted['id'])
        self.assertFalse(self.show(told['id'])['frames_estimated'])


if __name__ == '__main__':
    harness.main()
