#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Videos that take over what decodes them, and processes of vrt-media that are killed.

VRTD_DOUBLE is tests/hostile/double.c, which by an input's name is what becomes of a decoder then.
"""
import contextlib
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import crafted
import harness
from harness import clip, digest, ffmpeg, probe

FRAMES = 48
RUN = 8                 # frames of a shard, of such small ones
MEDIA = os.path.join(harness.BUILD, 'workers', 'frames', 'vrt-media')

# So often a process is killed, and so many jobs are lied to, unless VRTD_KILLS and VRTD_LIES say.
N_KILLS = int(os.environ.get('VRTD_KILLS', '6'))
N_LIES = int(os.environ.get('VRTD_LIES', '40'))
FIRST_LIE = int(os.environ.get('VRTD_LIES_FIRST', '0'))     # to play one again


class Jobs(harness.Case):
    """What tests do with jobs."""

    def submit(self, source, target):
        return json.loads(self.vrtctl('submit', '--json', '--output', target, source).stdout)['id']

    def show(self, job):
        return self.daemon.job(job)

    def made_alone(self, source):
        target = self.path('alone.mp4')
        if not os.path.exists(target):
            self.follow(source, target)
        return digest(target)


class Hostile(Jobs):
    config = {**harness.SLOW, 'jobs': {'max_running': 3}}
    environment = dict(os.environ, VRTD_MEDIA_PROGRAM=os.environ.get('VRTD_DOUBLE', ''),
                       VRT_DOUBLE=MEDIA)

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=cls.environment, **options)

    def setUp(self):
        self.source = self.path('good.mp4')
        if not os.path.exists(self.source):
            clip(self.source, frames=FRAMES)

    def hostile(self, name):
        """Another film under a name that tells what becomes of who reads it; and its output."""
        source = shutil.copy(self.source, self.path(f'{name}.mp4'))
        return source, self.path(f'{name}.out.mp4')

    def fails_beside_another(self, name, says):
        wanted = self.made_alone(self.source)
        job = self.submit(*self.hostile(name))
        target = self.path(f'beside-{name}.mp4')
        self.follow(self.source, target)
        self.vrtctl('wait', job, status=1)
        shown = self.show(job)
        self.assertEqual((shown['state'], shown['error']['id']), ('failed', 'media.crashed'))
        self.assertIn(says, shown['error']['message'])
        self.assertIn('the job went on from its last segment', str(shown['warnings']))
        self.assertEqual(digest(target), wanted)
        self.assertEqual(os.path.getsize(self.path(f'{name}.out.mp4')), 0)

    def test_crash(self):
        self.fails_beside_another('crash', 'was ended by signal 11')

    def test_memory(self):
        self.fails_beside_another('fill', 'was ended by signal 6')

    def test_crowd(self):
        """Threads are counted for all decoders together: none keeps the others from having some."""
        self.fails_beside_another('crowd', 'made more threads than any codec needs')

    def test_hang(self):
        """What hangs can be cancelled, and others go on."""
        wanted = self.made_alone(self.source)
        job = self.submit(*self.hostile('hang'))
        self.wait_until(lambda: self.show(job)['state'] == 'running')
        target = self.path('beside-hang.mp4')
        self.follow(self.source, target)
        self.assertEqual(digest(target), wanted)
        self.assertEqual(self.show(job)['state'], 'running')
        self.vrtctl('cancel', job)
        self.vrtctl('wait', job, status=1)
        self.assertEqual(self.show(job)['state'], 'cancelled')

    def test_stop(self):
        """SIGTERM ends vrtd, whatever decoders do."""
        folder = self.path('stopped')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, {'daemon': {'stop_timeout': 1}}, env=self.environment)
        self.addCleanup(daemon.stop)
        source, target = self.hostile('hang')
        submitted = self.vrtctl('submit', '--json', '--output', target, source, daemon=daemon)
        job = json.loads(submitted.stdout)['id']
        self.wait_until(lambda: daemon.job(job)['state'] == 'running')
        children = daemon.children() + daemon.zygotes()
        self.assertEqual(daemon.stop(), 0, daemon.log_text())
        self.wait_until(lambda: not any(os.path.exists(f'/proc/{child}') for child in children))


class Lies(Jobs):
    """All of a job's processes lie: in what vrtd makes of it, not only in what it is asked."""

    config = {'jobs': {'segment_frames': 12}}

    @classmethod
    def start_daemon(cls, folder, **options):
        cls.seed = os.path.join(folder, 'seed')
        environment = dict(os.environ, VRTD_MEDIA_PROGRAM=os.environ.get('VRTD_DOUBLE', ''),
                           VRT_DOUBLE=MEDIA, VRT_DOUBLE_SEED=cls.seed)
        return super().start_daemon(folder, env=environment, **options)

    def ends(self, done):
        """What became of a job that was submitted, or was not."""
        if done.returncode != 0:
            error = json.loads(done.stderr)['error']
            self.assertTrue(error['message'])
            return error['id']
        job = json.loads(done.stdout)['id']
        self.wait_until(lambda: self.show(job)['state'] not in ('queued', 'running', 'finishing'))
        shown = self.show(job)
        if shown['state'] == 'disk_full':           # it was told so
            self.vrtctl('cancel', job)
            self.vrtctl('wait', job, status=1)
        elif shown['state'] == 'failed':
            self.assertTrue(shown['error']['message'])
            return shown['error']['id']
        else:
            self.assertEqual(shown['state'], 'done')
        return shown['state']

    def test_lies(self):
        source, outcomes = clip(self.path('film.mkv'), '-c:v', 'ffv1', frames=40), {}
        honest = self.made_alone(source)
        n_files = self.daemon.n_descriptors()
        for seed in range(FIRST_LIE, FIRST_LIE + N_LIES):
            with self.subTest(seed=seed):
                with open(self.seed, 'w', encoding='ascii') as f:
                    f.write(str(seed))
                outcome = self.ends(self.vrtctl('submit', '--json', '--output',
                                                self.path(f'{seed}.mkv'), source, status=None))
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(outcomes)
        self.assertTrue(N_LIES < 10 or len(outcomes) > 1)
        # No device may have got a bad name.
        self.assertNotIn('device.failed', outcomes)
        self.assertNotIn('failed on cpu', self.daemon.log_text())
        os.unlink(self.seed)
        target = self.path('honest.mp4')
        self.follow(source, target)
        self.assertEqual(digest(target), honest)
        self.wait_until(lambda: self.daemon.n_descriptors() <= n_files)


class Resumed(Jobs):
    config = {**harness.SLOW, 'jobs': {'segment_frames': 4}}

    @classmethod
    def start_daemon(cls, folder, **options):
        cls.once = os.path.join(folder, 'once')
        cls.environment = dict(os.environ, VRTD_MEDIA_PROGRAM=os.environ.get('VRTD_DOUBLE', ''),
                               VRT_DOUBLE=MEDIA, VRT_DOUBLE_ONCE=cls.once)
        return super().start_daemon(folder, env=cls.environment, **options)

    def arm(self, word):
        with open(self.once, 'w', encoding='ascii') as f:
            f.write(word)

    def kill_all(self):
        for child in self.daemon.children():
            os.kill(child, signal.SIGKILL)

    def test_segments_made_anew(self):
        """They are no progress for which one more crash is forgiven."""
        job = self.submit(clip(self.path('long.mp4'), frames=12 * RUN), self.path('long.out.mp4'))
        self.wait_until(lambda: self.show(job)['segments_done'] > 8)
        segments = sorted(glob.glob(self.path(f'state/**/{job}/*.seg'), recursive=True))
        for segment in segments:
            os.unlink(segment)
        self.kill_all()
        self.wait_until(lambda: os.path.exists(segments[3]))
        self.kill_all()
        self.vrtctl('wait', job, status=1)
        self.assertEqual(self.show(job)['error']['id'], 'media.crashed')

    def test_crash_while_segments_are_read(self):
        """That says nothing about them: none is made again."""
        source = clip(self.path('film.mp4'), frames=FRAMES)
        wanted, target = self.made_alone(source), self.path('film.out.mp4')
        job = self.submit(source, target)
        self.wait_until(lambda: self.show(job)['segments_done'] > 2)
        self.arm('crash')
        # So that it begins anew behind its segments, which are looked at then.
        self.kill_all()
        self.vrtctl('wait', job)
        self.assertFalse(os.path.exists(self.once))
        self.assertNotIn('are good', self.daemon.log_text())
        self.assertEqual(digest(target), wanted)

    def test_crash_where_decoding_goes_on(self):
        """That says nothing about the video: it is read from its beginning."""
        source = clip(self.path('late.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuv420p10le', '-g', 4,
                      frames=FRAMES)
        wanted, target = self.path('late.wanted.mkv'), self.path('late.out.mkv')
        self.follow(source, wanted)
        job = self.submit(source, target)
        self.wait_until(lambda: self.show(job)['segments_done'] > 2)
        self.arm('late')
        self.kill_all()
        self.vrtctl('wait', job)
        self.assertFalse(os.path.exists(self.once))
        self.assertIn(f'job {job}: all of its input is decoded', self.daemon.log_text())
        self.assertEqual(str(self.show(job)['warnings']).count('went on from its last segment'), 1)
        self.assertEqual(digest(target), digest(wanted))

    def test_zygote_killed_while_it_divides(self):
        """What it was about to make is vrtd's then, which takes leave of it."""
        def dead():
            found = []
            for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
                with contextlib.suppress(OSError):
                    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
                        state, parent = f.read().rsplit(')', 1)[1].split()[:2]
                    if state == 'Z' and int(parent) == self.daemon.process.pid:
                        found.append(pid)
            return found
        self.arm('orphan')
        os.kill(self.daemon.zygotes()[0], signal.SIGKILL)
        source = clip(self.path('orphan.mp4'), frames=4)
        self.follow(source, self.path('orphan.out.mp4'))
        self.wait_until(lambda: not os.path.exists(self.once) and dead() and self.daemon.zygotes())
        os.kill(self.daemon.zygotes()[0], signal.SIGKILL)
        self.follow(source, self.path('orphan.again.mp4'))
        self.wait_until(lambda: not dead())

    def test_segment_written_to_later(self):
        """By an encoder that kept its descriptor: nobody would have counted that."""
        source = clip(self.path('grown.mp4'), frames=FRAMES)
        wanted, target = self.made_alone(source), self.path('grown.out.mp4')
        self.arm('grow')
        job = self.submit(source, target)
        self.vrtctl('wait', job)
        self.assertIn('wrote to a segment that was complete', str(self.show(job)['warnings']))
        self.assertEqual(digest(target), wanted)

    @unittest.skipUnless(os.environ.get('VRTD_LONG'), 'takes two minutes: with VRTD_LONG=1')
    def test_dawdling(self):
        """Who waits for the end of a segment doesn't wait for an encoder without end."""
        folder = self.path('dawdling')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, {**self.config, 'daemon': {'stop_timeout': 600}},
                                env=self.environment)
        self.addCleanup(daemon.stop)
        self.arm('dawdle')
        self.vrtctl('submit', '--json', '--output', self.path('dawdling.out.mp4'),
                    clip(self.path('dawdling.mp4'), frames=FRAMES), daemon=daemon)
        self.wait_until(lambda: daemon.job(1)['segments_done'] > 0)
        time.sleep(2)           # so that it has been given the next frames
        began = time.monotonic()
        daemon.process.terminate()
        self.assertEqual(daemon.process.wait(250), 0)
        self.assertGreater(time.monotonic() - began, 100)
        self.assertIn('job 1 is put back', daemon.log_text())


class Crafted(Jobs):
    """Films with more in them than any has, or later."""

    config = {'jobs': {'max_running': 2}}

    def setUp(self):
        self.source = clip(self.path('good.mkv'), '-c:v', 'ffv1', frames=25)

    def test_a_million_chapters(self):
        """FFmpeg's muxers would take hours for them."""
        source = crafted.with_element(self.source, self.path('million.mkv'),
                                      crafted.chapters(1000000))
        self.refused('submit', source, says='million.mkv has 1000000 chapters')

    def test_many_chapters(self):
        source = crafted.with_element(self.source, self.path('chapters.mkv'),
                                      crafted.chapters(20000))
        job = self.follow(source, self.path('chapters.out.mkv'))
        self.assertEqual(job['warnings'], [
            'the first 10000 chapters are kept, and the other 10000 left out: no more are '
            'carried over'])
        self.assertEqual(len(probe(self.path('chapters.out.mkv'))['chapters']), 10000)

    def test_a_million_tags(self):
        """In which avformat_open_input() never asks whether it is to end: it is ended after half a
        minute, in which others are served. Some seconds show that it would compute on."""
        def computed_s(pid):
            with open(f'/proc/{pid}/stat', encoding='ascii') as f:
                times = f.read().rsplit(')', 1)[1].split()[11:13]
            return sum(map(int, times)) / os.sysconf('SC_CLK_TCK')
        source = crafted.with_element(self.source, self.path('tags.mkv'), crafted.tags(1000000))
        refusals = []

        def submit():
            refusals.append(self.vrtctl('submit', '--json', source, status=None))
        submitter = threading.Thread(target=submit)
        submitter.start()
        self.follow(self.source, self.path('beside-tags.mkv'))
        self.assertFalse(refusals)
        self.wait_until(lambda: len(self.daemon.children()) == 1)
        child, = self.daemon.children()
        self.wait_until(lambda: computed_s(child) > 3)
        os.kill(child, signal.SIGSTOP)
        submitter.join()
        self.assertEqual(refusals[0].returncode, 1)
        error = json.loads(refusals[0].stderr)['error']
        self.assertEqual(error['id'], 'media.timeout')
        self.assertIn('while reading tags.mkv', error['message'])

    def test_too_much(self):
        """Of tags, of attached files: left out, and named."""
        for name, more, says in (('tags', crafted.tags(1001), '100[12] tags are left out'),
                                 ('files', crafted.attached_files(1001), 'no more than 1000 str')):
            source = crafted.with_element(self.source, self.path(f'many-{name}.mkv'), more)
            job = self.follow(source, self.path(f'many-{name}.out.mkv'))
            self.assertRegex(str(job['warnings']), says)

    def test_the_end_of_time(self):
        """Whatever becomes of it, it is no crash."""
        for time_ms in (2 ** 62, 2 ** 63 - 2000, 2 ** 63 - 1):
            source = crafted.beginning_at(self.source, self.path('late.mkv'), time_ms)
            for options in ((), ('--start', '0.5')):
                done = self.vrtctl('submit', '--follow', '--json', '--overwrite', '-o',
                                   self.path('late.out.mkv'), *options, source, status=None)
                self.assertNotIn('media.crashed', done.stdout + done.stderr)
                self.assertIn(done.returncode, (0, 1))
        self.follow(self.source, self.path('beside-late.mkv'))

    def test_a_rich_film(self):
        """With 500 chapters and 40 fonts."""
        with open(self.path('rich.txt'), 'w', encoding='utf-8') as f:
            f.write(';FFMETADATA1\n')
            f.writelines(f'[CHAPTER]\nTIMEBASE=1/1000\nSTART={i}\nEND={i + 1}\ntitle={i}\n'
                         for i in range(500))
        fonts = []
        for i in range(40):
            with open(self.path(f'{i}.ttf'), 'wb') as f:
                f.write(random.Random(i).randbytes(100000))
            fonts += ['-attach', self.path(f'{i}.ttf'), f'-metadata:s:t:{i}', 'mimetype=font/ttf']
        source = self.path('rich.mkv')
        ffmpeg('-i', self.source, '-i', self.path('rich.txt'), '-map_metadata', 1, *fonts, '-c',
               'copy', source)
        for container in ('mkv', 'mp4'):
            target = self.path(f'rich.out.{container}')
            job = self.follow(source, target)
            made = probe(target)
            self.assertEqual(len(made['chapters']), 500)
            kinds = [stream['codec_type'] for stream in made['streams']]
            self.assertEqual(kinds.count('attachment'), 40 if container == 'mkv' else 0)
            if container == 'mkv':
                self.assertEqual(job['warnings'], [])


class Kills(Jobs):
    config = {**harness.SLOW, 'jobs': {'segment_frames': 12}}

    def at_work(self):
        """Processes that were asked for something; any, where there is no such."""
        children, busy = self.daemon.children(), []
        for child in children:
            try:
                if len(os.listdir(f'/proc/{child}/task')) > 2:
                    busy.append(child)
            except OSError:
                pass
        return busy or children

    def test_kills(self):
        """At any moment, and nobody resumes the job: the bytes are those of a quiet run."""
        source = clip(self.path('film.mp4'), frames=FRAMES, audio=True)
        started = time.monotonic()
        wanted = self.made_alone(source)
        lasts_s = time.monotonic() - started
        for seed in range(N_KILLS):
            dice = random.Random(seed)
            target = self.path(f'{seed}.mp4')
            with self.subTest(seed=seed):
                follower = threading.Thread(target=self.follow, args=(source, target))
                follower.start()
                time.sleep(dice.uniform(0, lasts_s))
                self.wait_until(lambda: self.at_work() or not follower.is_alive())
                for child in dice.sample(working := self.at_work(), min(len(working), 1)):
                    try:
                        os.kill(child, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                follower.join()
                self.assertEqual(digest(target), wanted)

    def test_zygote(self):
        """Where it ends, those that it made go on, others are started, and it is, too."""
        source, target = clip(self.path('z.mp4'), frames=FRAMES), self.path('z.out.mp4')
        wanted = self.path('z.wanted.mp4')
        self.follow(source, wanted)
        zygotes = self.daemon.zygotes()
        self.assertEqual(len(zygotes), 1)
        job = self.submit(source, target)
        self.wait_until(lambda: self.show(job)['frames_done'] > 0)
        for child in self.daemon.children():
            said = subprocess.run(['cat', *(f'/proc/{child}/{name}' for name in (
                'cmdline', 'status', 'limits'))], stdout=subprocess.PIPE, check=True).stdout
            self.assertNotIn(b'zygote', said)
            if not harness.SANITIZED and 'seccomp' not in self.daemon.log_text():
                self.assertRegex(said, rb'(?s)Seccomp:\t2\n.*Max file size +\d')
        os.kill(zygotes[0], signal.SIGKILL)
        self.follow(source, self.path('z.beside.mp4'))
        self.vrtctl('wait', job)
        for path in (target, self.path('z.beside.mp4')):
            self.assertEqual(digest(path), digest(wanted))
        self.assertEqual(self.show(job)['warnings'], [])
        self.wait_until(lambda: self.daemon.zygotes() not in ([], zygotes))

    def test_signals_of_a_terminal(self):
        """What a terminal or systemd sends to all processes ends vrtd in order, by vrtd alone."""
        source, target = clip(self.path('t.mp4'), frames=FRAMES), self.path('t.out.mp4')
        wanted = self.path('t.wanted.mp4')
        self.follow(source, wanted)
        job = self.submit(source, target)
        self.wait_until(lambda: self.show(job)['frames_done'] > 0)
        for child in self.daemon.children():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(child, number)
        self.vrtctl('wait', job)
        self.assertEqual(self.show(job)['warnings'], [])
        self.assertEqual(digest(target), digest(wanted))


@unittest.skipUnless(shutil.which('strace'), 'strace is not installed')
@unittest.skipIf(harness.SANITIZED, 'a sanitizer looks at files')
class Calls(Jobs):
    def test_nothing_is_opened(self):
        """From the moment that the walls stand no file, network or program is reached (-z)."""
        folder, trace = self.path('traced'), self.path('trace')
        os.mkdir(folder)
        daemon = harness.Daemon(folder, prefix=('strace', '-f', '-z', '-qq', '-o', trace, '-e',
                                                'trace=%file,%network,%process,seccomp'))
        source = clip(self.path('s.mkv'), frames=4, audio=True)
        done = subprocess.run([harness.VRTCTL, 'submit', '--follow', source], text=True,
                              capture_output=True, timeout=harness.PATIENCE_S,
                              env=dict(os.environ, VRTD_SOCKET=daemon.socket))
        if 'attach' in daemon.log_text():
            self.skipTest('nothing can be traced here')
        self.assertEqual(done.returncode, 0, done.stderr)
        # strace ends with what it started, and not by a signal of ours.
        with open(trace, encoding='utf-8') as f:
            first = f.readline().split()[0]
        os.kill(int(first), signal.SIGTERM)
        daemon.process.wait(harness.PATIENCE_S)
        daemon.stop()
        self.assertEqual(self.calls_behind_walls(trace), [])

    def calls_behind_walls(self, trace):
        locked, wrong = set(), []
        harmless = ('sendmsg(', 'recvmsg(', 'exit(', 'exit_group(', 'clone(', '+++', '---', '<...',
                    'newfstatat(', 'fstatfs(', 'clone3(')
        with open(trace, encoding='utf-8', errors='replace') as f:
            for line in f:
                thread, _, call = line.strip().partition(' ')
                call = call.strip()
                if call.startswith('seccomp(SECCOMP_SET_MODE_FILTER') and ' = 0' in call:
                    locked.add(thread)
                elif thread in locked and not call.startswith(harmless):
                    wrong.append(line)
        self.assertGreater(len(locked), 3)
        return wrong


if __name__ == '__main__':
    if 'VRTD_DOUBLE' not in os.environ:
        print('skipped: there is no VRTD_DOUBLE')
        sys.exit(77)
    harness.main()
