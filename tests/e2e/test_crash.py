#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs that survive: daemons killed at any moment and begun again, clocks that jump, full disks.

The moments are random but seeded: VRTD_SEED repeats a run's choices, though no machine repeats its
own timing. VRTD_LONG=1, or --long, kills a hundred times instead of a dozen.

What is computed is read from the log, where each shard that goes to a device has a line, and what
is stored from a copy of the store that is made between a daemon's end and the next one's start.
"""
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

import checkpoints
import harness
from harness import clip, digest
from manager import Manager
from store import Store

LONG = '--long' in sys.argv or os.environ.get('VRTD_LONG', '') not in ('', '0')
SEED = os.environ.get('VRTD_SEED', '20')

# Of 8 frames each, as pictures of this size are given to devices.
SHARDS = 40 if LONG and not harness.SANITIZED else 20
SIZE, FRAMES = '48x32', 8 * SHARDS

# Kills of what is but a variant.
FEW = 20 if LONG else 2

# Two shards to a segment, and devices that wait rather than compute: some seconds.
CONFIG = {'log': {'level': 'debug'}, 'jobs': {'segment_frames': 16},
          'devices': {'fault': 'submit:1- delay=2ms'}}

MAKE_VRT = os.path.join(harness.BUILD, 'tests', 'bench', 'make-vrt')

JUMPING = '-500000000,900000000,0.05'

STARTED = re.compile(r'job (\d+) starts')
COMPUTED = re.compile(r'job (\d+): shard (\d+) goes to ')
STORED = re.compile(r'job (\d+): segment \d+ is stored, up to shard (\d+)')

MS_REC, MS_PRIVATE, CLONE_NEWNS = 0x4000, 1 << 18, 0x20000

# Of the jobs that nothing happened to, see undisturbed().
references = {}


def merged(*configs):
    result = {}
    for config in configs:
        for section, keys in config.items():
            result.setdefault(section, {}).update(keys)
    return result


class Crashes(harness.FolderCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED + self.id())
        self.manager = Manager(self.folder)
        self.addCleanup(self.manager.close)
        self.daemon = None
        self.n_log = 0              # bytes of the log of lives that were looked at
        self.store = None           # as the last daemon left it
        self.computed = {}          # of each job: how many shards, in all its lives

    def source(self):
        return clip(self.path('s.mp4'), frames=FRAMES, size=SIZE, audio=True)

    def start(self, config, **options):
        self.manager.settle()
        self.daemon = self.manager.start(self.folder, config, small=True, **options)
        self.addCleanup(lambda d: d.process.poll() is None and d.kill(), self.daemon)
        return self.daemon

    def vrtctl(self, *arguments, status=0):
        done = subprocess.run([harness.VRTCTL, '--socket', self.daemon.socket,
                               *map(str, arguments)], capture_output=True, text=True,
                              timeout=harness.PATIENCE_S, stdin=subprocess.DEVNULL)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr
                             + self.daemon.log_text()[-4000:])
        return done

    def submit(self, source, target, *options):
        done = self.vrtctl('submit', '--json', *options, '--output', target, source)
        return json.loads(done.stdout)['id']

    def until(self, job, wanted):
        """Waits until the job's JSON is as wanted, and returns it."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while not wanted(shown := self.daemon.job(job)):
            self.assertLess(time.monotonic(), deadline, f'{shown}\n{self.daemon.log_text()}')
            time.sleep(0.02)
        return shown

    def until_state(self, job, *states):
        shown = self.until(job, lambda j: j['state'] in (*states, 'failed', 'done', 'cancelled'))
        self.assertIn(shown['state'], states, f'{shown["error"]}\n{self.daemon.log_text()}')
        return shown

    def undisturbed(self, config, source, target, *options):
        """What a job gives that nothing happens to: its digest, and how long it took. Files of one
        name are the same in all tests."""
        key = str(config), os.path.basename(source), os.path.basename(target), options
        if key in references:
            return references[key]
        folder = tempfile.mkdtemp(dir=self.folder)
        daemon = harness.Daemon(folder, config, small=True)
        try:
            began = time.monotonic()
            done = subprocess.run([harness.VRTCTL, '--socket', daemon.socket, 'submit', '--follow',
                                   '--overwrite', *map(str, options), '--output', target, source],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr + daemon.log_text())
            references[key] = digest(target), time.monotonic() - began
            return references[key]
        finally:
            self.assertEqual(daemon.stop(), 0, daemon.log_text())

    # What was computed, and what was kept.

    def look_at_life(self):
        """What the daemon that has ended just now has computed, and left in the store: nothing
        that was stored is computed again, and nothing of it is gone, but of what was cancelled."""
        log = self.daemon.log_text()
        before, self.store = self.store, Store(self.path('state'))
        gone = self.store.cancelled | (before.cancelled if before else set())
        jobs = before.jobs.keys() - gone if before else ()
        stored = {job: before.next_shard(job) for job in jobs}
        seen = {}                   # of each job: what was computed since its start
        for line in log[self.n_log:].splitlines():
            if match := STARTED.search(line):
                seen[int(match.group(1))] = set()
            if match := STORED.search(line):
                job, shard = map(int, match.groups())
                stored[job] = max(stored.get(job, 0), shard)
            if match := COMPUTED.search(line):
                job, shard = map(int, match.groups())
                self.assertGreaterEqual(shard, stored.get(job, 0), f'{line}\n{log}')
                self.assertNotIn(shard, seen[job], log)
                seen[job].add(shard)
                self.computed[job] = self.computed.get(job, 0) + 1
        self.n_log = len(log)
        self.assertEqual(self.store.sound, 'ok')
        for job in stored.keys() - gone:
            old = before.segments.get(job, []) if before else []
            self.assertEqual(self.store.segments.get(job, [])[:len(old)], old, log)
            if job in self.store.jobs:
                self.assertGreaterEqual(self.store.next_shard(job), stored[job], log)

    def look_at_output(self, target, wanted):
        """It is whole, or nobody takes it for a video."""
        with open(target, 'rb') as f:
            begin = f.read(4096)
        if begin.strip(b'\0'):
            self.assertEqual(digest(target), wanted)

    def kill_after(self, seconds):
        time.sleep(seconds)
        self.daemon.kill()
        self.look_at_life()

    def live(self, config, job, seconds):
        """One more life, ended after `seconds` of it; one that may not be in vain, after a segment
        or the job's end."""
        fruitless = self.store.jobs[job][1]
        n_segments = len(self.store.segments.get(job, ()))
        daemon = self.start(config, wait=False)
        # Until then it is the interpreter that hands over the descriptors.
        while os.readlink(f'/proc/{daemon.process.pid}/exe') != os.path.realpath(harness.VRTD):
            self.assertIsNone(daemon.process.poll(), daemon.log_text())
            time.sleep(0.001)
        if fruitless >= 2:
            daemon.await_ready()
            self.until(job, lambda j: j['state'] == 'done' or j['segments_done'] > n_segments)
            seconds /= 4
        self.kill_after(seconds)

    def suffer(self, config, n_kills, source, target, *options, calm=CONFIG, shards=SHARDS):
        """Kills daemons until the job is done or it is enough; returns how many."""
        kind = os.path.splitext(target)[1]
        wanted, whole_s = self.undisturbed(calm, source, self.path('wanted' + kind), *options)
        longest_s = 2 * whole_s / 12
        self.start(config)
        job = self.submit(source, target, *options)
        self.kill_after(self.random.uniform(0, longest_s))
        n = 1
        while n < n_kills and self.store.jobs[job][0] != 'done':
            self.assertIn(self.store.jobs[job][0], ('queued', 'running', 'finishing'))
            self.look_at_output(target, wanted)
            self.live(config, job, self.random.uniform(0, longest_s))
            n += 1
        self.start(config)
        shown = self.until_state(job, 'done')
        self.assertEqual(shown['frames_done'], shown['frames_total'])
        self.assertEqual(digest(target), wanted, self.daemon.log_text())
        self.finish()
        print(f'  {os.path.basename(target)}: {n} kills, {shown["n_starts"]} starts, '
              f'{self.computed[job]} shards computed for {shards}, {whole_s:.1f} s undisturbed',
              flush=True)
        self.assertGreaterEqual(self.computed[job], shards)
        return n

    def suffer_often(self, n_kills, source, *options, config=CONFIG):
        """As many kills as that, of as many jobs as it takes."""
        n = 0
        while n < n_kills:
            target = self.path(f'{options[-1] if options else ""}{n}.mkv')
            n += self.suffer(config, n_kills - n, source, target, *options)

    def finish(self):
        """The daemon ends well, and nothing is left."""
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log_text())
        self.look_at_life()
        self.assertEqual(os.listdir(self.path('state/spool')), [])
        for word in ('ERROR: ', 'runtime error', 'ThreadSanitizer', 'still open'):
            self.assertNotIn(word, self.daemon.log_text())
        self.manager.settle()
        self.assertEqual(self.manager.store, {})


class Kills(Crashes):
    def test_killed(self):
        source = self.source()
        variants = [('h264', 'mp4'), ('gif', 'gif'), ('av1', 'webm'), ('ffv1', 'mkv'),
                    ('apng', 'apng'), ('hevc', 'mkv'), ('prores', 'mov'), ('vp9', 'mkv')]
        n_kills, n = 80 if LONG else 8, 0
        while n < n_kills:
            codec, kind = variants.pop(0)
            variants.append((codec, kind))
            # All variants have their share of a long run.
            n += self.suffer(CONFIG, min(n_kills - n, 4), source, self.path(f'{n}.{kind}'),
                             '--codec', codec)

    def test_killed_while_deinterlacing(self):
        """Fields are frames of their own, and those at a restart's end have the same neighbours."""
        source = clip(self.path('s.mkv'), '-vf', 'tinterlace=interleave_top,setfield=tff', '-c:v',
                      'ffv1', '-flags', '+ildct+ilme', frames=FRAMES // 2, size=SIZE, rate=50)
        self.suffer_often(FEW, source, '--deinterlace', 'field', '--codec', 'ffv1')

    def test_killed_while_a_size_is_kept(self):
        """Each segment's bitrate follows from those before it."""
        source = clip(self.path('s.mkv'), '-c:v', 'ffv1', frames=FRAMES, size=SIZE)
        self.suffer_often(FEW, source, '--target-size', '60k')

    def test_killed_with_metadata(self):
        """What goes with frames goes with the same ones, also those that wait in a tail."""
        sei = [sys.executable, os.path.join(os.path.dirname(__file__), '..', 'media', 'sei.py')]
        hdr = 'transfer=smpte2084:colorprim=bt2020:colormatrix=bt2020nc:' \
              'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)' \
              'L(10000000,50):max-cll=1000,400:repeat-headers=1:bframes=0:log-level=none'
        raw = clip(self.path('s.hevc'), '-c:v', 'libx265', '-preset', 'ultrafast', '-pix_fmt',
                   'yuv420p10le', '-x265-params', hdr, frames=FRAMES, size='64x48')
        plus, source = self.path('plus.hevc'), self.path('s.mkv')
        subprocess.run([*sei, 'hevc', raw, plus, 'hdr10plus'], check=True)
        subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-r', '25', '-i', plus, '-c', 'copy',
                        source], check=True)
        for options in (['hevc'], ['av1'], ['h264', '--tonemap', 'hable']):
            self.suffer_often(FEW // 2, source, '--preset', 'ultrafast', '--codec', *options)

    def test_killed_while_telecine_is_undone(self):
        """Cycles of five frames begin where they did."""
        source = clip(self.path('s.mkv'), '-vf', 'telecine=pattern=23,setfield=tff', '-c:v', 'ffv1',
                      '-flags', '+ildct+ilme', '-pix_fmt', 'yuv420p', frames=FRAMES * 5 // 4,
                      size=SIZE, rate='24000/1001')
        self.suffer(CONFIG, FEW, source, self.path('t.mkv'), '--deinterlace', 'telecine',
                    '--codec', 'ffv1')

    def test_killed_while_frames_are_made_between(self):
        """Each segment's last frame was made beside one of the next."""
        drawn, model = self.path('drawn.safetensors'), self.path('mean.safetensors')
        subprocess.run([MAKE_VRT, 'between', drawn], check=True, stdout=subprocess.DEVNULL)
        checkpoints.write_safetensors(model, checkpoints.mean_of_neighbours(
            checkpoints.read_safetensors(drawn)))
        source = clip(self.path('s.mp4'), frames=24, size=SIZE, audio=True)
        config = merged(CONFIG, {'jobs': {'segment_frames': 4}})
        self.suffer(config, FEW, source, self.path('t.mkv'), '-m', model,
                    calm=config, shards=24)

    def test_killed_while_frames_are_made_at_any_time(self):
        model = checkpoints.write_safetensors(self.path('m'), checkpoints.mixing_rife(-4, 2))
        source = clip(self.path('s.mp4'), frames=16, size=SIZE, audio=True, rate=24)
        config = merged(CONFIG, {'jobs': {'segment_frames': 7}})
        self.suffer(config, FEW, source, self.path('t.mkv'), '-m', model,
                    '--fps', 60, calm=config, shards=16)

    def test_killed_between_clips_that_share_frames(self):
        """What waits for the next clip is stored with each segment; two devices make the same."""
        model = checkpoints.write_safetensors(self.path('m'), checkpoints.basicvsr())
        source = clip(self.path('s.mkv'), '-c:v', 'ffv1', frames=9, size='32x24')
        config = merged(CONFIG, {'jobs': {'segment_frames': 2}})
        options = '-m', model, '--clip', '4', '--clip-overlap', '2', '--precision', 'f32'
        self.suffer(config, FEW, source, self.path('t.mkv'), *options, calm=config, shards=4)
        two = merged(config, {'cpu': {'devices': 2, 'threads': 1}}), source, self.path('two.mkv')
        self.assertEqual(self.undisturbed(*two, *options)[0], digest(self.path('t.mkv')))

    def test_killed_with_transparency(self):
        """It is decoded beside the frames, and found again from the beginning."""
        source = clip(self.path('s.mkv'), '-vf', 'format=rgba,geq=r=128:g=X:b=Y:a=X+Y+N', '-c:v',
                      'ffv1', '-pix_fmt', 'yuva420p', frames=FRAMES, size=SIZE)
        for codec in 'ffv1', 'vp9':
            self.suffer_often(FEW // 2, source, '--alpha', 'resize', '--codec', codec)

    def test_killed_while_the_clock_jumps(self):
        source = clip(self.path('s.mkv'), '-vf', 'loop=3:1:7', frames=FRAMES, size=SIZE)
        config = merged(CONFIG, {'daemon': {'wall_clock': JUMPING}})
        self.suffer_often(FEW, source, '--strength', '0.5', '--scale', '1.25', config=config)


class Lives(Crashes):
    """What a job goes through when its daemon ends."""

    def test_crash_loop(self):
        """Three starts in vain, and a job is left alone, until somebody wants it again."""
        config = merged(CONFIG, {'jobs': {'segment_frames': FRAMES, 'max_running': 1}})
        source = self.source()
        wanted, _ = self.undisturbed(config, source, self.path('wanted.mp4'))
        target = self.path('t.mp4')
        for starts in range(1, 4):
            self.start(config)
            job = self.submit(source, target) if starts == 1 else 1
            self.until(job, lambda j: j['state'] == 'running' and j['frames_done'] > 0)
            self.kill_after(0)
            self.assertEqual(self.store.jobs[job], ('running', starts))
        self.start(config)
        shown = self.daemon.job(job)
        self.assertEqual((shown['state'], shown['error']['id']), ('failed', 'job.crash_loop'))
        self.look_at_output(target, None)
        small = clip(self.path('small.mp4'), frames=8, size=SIZE)
        self.vrtctl('submit', '--follow', '--output', self.path('small.out.mp4'), small)
        self.vrtctl('retry', job)
        self.until_state(job, 'done')
        self.assertEqual(digest(target), wanted)
        self.finish()

    def crash_beside(self, culprit_first):
        """A job that takes the daemon with it whenever it runs, beside one that doesn't and one
        that is paused: only the first is given up."""
        config = merged(CONFIG, {'jobs': {'segment_frames': FRAMES, 'max_running': 3}})
        source, targets = self.source(), {}
        wanted, _ = self.undisturbed(config, source, self.path('wanted.mp4'))
        self.start(config)

        def submit():
            target = self.path(f't{len(targets)}.mp4')
            job = self.submit(source, target)
            targets[job] = target
            return job

        resting = submit()
        self.until(resting, lambda j: j['state'] == 'running' and j['frames_done'] > 0)
        self.vrtctl('pause', resting)
        first, second = submit(), submit()
        culprit, innocent = (first, second) if culprit_first else (second, first)
        # Not before the store knows of their starts.
        for job in (culprit, innocent):
            self.until(job, lambda j: j['state'] == 'running' and j['frames_done'] > 0)
        self.kill_after(0)
        self.assertEqual(self.store.jobs, {resting: ('paused', 0), culprit: ('running', 1),
                                           innocent: ('running', 1)})
        for starts in range(2, 4):
            self.start(config)
            self.until(culprit, lambda j: j['state'] == 'running' and j['frames_done'] > 0)
            # It is alone: the other one waits for its turn, or had it and made room.
            self.assertEqual(self.daemon.job(innocent)['state'], 'queued')
            self.kill_after(0)
            self.assertEqual(self.store.jobs, {resting: ('paused', 0),
                                               culprit: ('running', starts),
                                               innocent: ('queued', int(culprit_first))})
        self.start(config)
        shown = self.daemon.job(culprit)
        self.assertEqual((shown['state'], shown['error']['id']), ('failed', 'job.crash_loop'))
        self.vrtctl('resume', resting)
        self.vrtctl('retry', culprit)
        for job, target in targets.items():
            self.until_state(job, 'done')
            self.assertEqual(digest(target), wanted)
        self.finish()

    def test_crash_loop_before_an_innocent_job(self):
        self.crash_beside(True)

    def test_crash_loop_behind_an_innocent_job(self):
        self.crash_beside(False)

    def test_stopped_in_good_order(self):
        """However often, it is no crash; and what was under way is not lost."""
        config = merged(CONFIG, {'cpu': {'threads': 1}, 'daemon': {'stop_timeout': 30}})
        source = self.source()
        target = self.path('t.mp4')
        wanted, _ = self.undisturbed(config, source, self.path('wanted.mp4'))
        self.start(config)
        job = self.submit(source, target)
        for _ in range(5):
            self.until(job, lambda j: j['state'] == 'done' or j['frames_done'] % 16)
            self.assertEqual(self.daemon.stop(), 0, self.daemon.log_text())
            self.look_at_life()
            self.assertIn(self.store.jobs[job], (('queued', 0), ('done', 0)))
            self.start(config)
        self.until_state(job, 'done')
        self.assertEqual(digest(target), wanted)
        self.finish()
        # Every stop waited for the segment in work: what was lost was under way behind it.
        self.assertLessEqual(self.computed[job], SHARDS + 5 * 4)

    def test_what_was_answered_is_kept(self):
        """The daemon dies the moment it has said that it did what was asked."""
        source, target = self.source(), self.path('t.mp4')
        wanted, _ = self.undisturbed(CONFIG, source, self.path('wanted.mp4'))
        self.start(CONFIG)
        job = self.submit(source, target)
        going = ('queued', 'running', 'finishing')
        for method, path, states in (('POST', '/pause', ('paused',)), ('POST', '/resume', going),
                                     ('DELETE', '', ('cancelled',))):
            self.until(job, lambda j: j['state'] == 'paused' or j['frames_done'] > 0)
            status, answer = self.daemon.request(method, f'/v1/jobs/{job}{path}')
            self.assertEqual(status, 200, answer)
            self.kill_after(0)
            self.start(CONFIG)
            self.assertIn(self.daemon.job(job)['state'], states, self.daemon.log_text())
        self.vrtctl('retry', job)
        self.kill_after(0)
        self.start(CONFIG)
        self.assertIn(self.daemon.job(job)['state'], going, self.daemon.log_text())
        self.until_state(job, 'done')
        self.assertEqual(digest(target), wanted)
        self.finish()

    def test_nothing_is_left_behind(self):
        """No descriptor, and no working file, after many jobs."""
        source = clip(self.path('tiny.mp4'), frames=16, size=SIZE)
        self.start(merged(CONFIG, {'jobs': {'history': 4}}))
        n_fds = 0
        for _ in range(5):
            for i in range(6):
                job = self.submit(source, self.path(f'{i}.mkv'), '--overwrite')
            for other in range(job - 3, job + 1):
                self.until_state(other, 'done')
            self.until(job, lambda j: os.listdir(self.path('state/spool')) == [])
            n_fds = n_fds or self.daemon.n_descriptors()
            # A connection may not be closed yet.
            self.until(job, lambda j: self.daemon.n_descriptors() <= n_fds)
        self.finish()


def own_mounts():
    """Goes where nobody else sees what is mounted. Returns whether that is possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    return os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0 and \
        libc.mount(None, b'/', None, MS_REC | MS_PRIVATE, None) == 0


class FullDisks(Crashes):
    """Each on a small disk of the test's own."""

    def disk(self, name, mebibytes):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        size = f'size={mebibytes}m'.encode()
        self.assertEqual(ctypes.CDLL(None).mount(b'none', path.encode(), b'tmpfs', 0, size), 0)
        self.addCleanup(ctypes.CDLL(None).umount2, path.encode(), 2)
        return path

    def fill(self, disk):
        """Until not a byte goes in. Returns the file to be removed."""
        path = os.path.join(disk, 'ballast')
        with open(path, 'ab', buffering=0) as f:
            for size in (1 << 20, 4096, 1):
                try:
                    while f.write(bytes(size)):
                        pass
                except OSError:
                    pass
        return path

    def suffer_full(self, disk, says, while_full, ballast_in='.'):
        """Fills the disk in the middle of a job, sees it wait, kills the daemon even so, makes
        room, and sees it go on by itself."""
        source = self.source()
        target = self.path('output/t.mp4')
        wanted, _ = self.undisturbed(CONFIG, source, self.path('wanted.mp4'))
        self.start(CONFIG)
        job = self.submit(source, target)
        self.until(job, lambda j: j['segments_done'] >= 4)
        ballast = self.fill(os.path.join(disk, ballast_in))
        for _ in range(2):
            shown = self.until_state(job, 'disk_full')
            self.assertEqual(shown['error']['id'], says)
            self.look_at_output(target, wanted)
            while_full()
            self.assertEqual(self.daemon.request('GET', '/v1/status')[1]['jobs']['disk_full'], 1)
            self.kill_after(0)
            self.start(CONFIG)
        os.unlink(ballast)
        for each in self.store.jobs:
            self.until_state(each, 'done')
        self.assertEqual(digest(target), wanted)
        self.finish()
        return self.computed[job]

    def other_job(self):
        """Another job, while there is no room for the first."""
        source, target = self.path('s.mp4'), self.path('other.mp4')
        return self.vrtctl('submit', '--overwrite', '--output', target, source, status=None)

    def setUp(self):
        super().setUp()
        self.disk('output', 32)
        self.disk('state', 32)
        self.disk('state/spool', 32)

    def test_store(self):
        """It goes on in what it took ahead of need."""
        source = self.source()
        target = self.path('t.mp4')
        wanted, _ = self.undisturbed(CONFIG, source, self.path('wanted.mp4'))
        self.start(CONFIG)
        job = self.submit(source, target)
        self.until(job, lambda j: j['segments_done'] >= 4)
        self.fill(self.path('state'))
        self.kill_after(0)
        self.start(CONFIG)
        self.until_state(job, 'done')
        self.assertEqual(digest(target), wanted)
        self.finish()

    def test_store_without_room_ahead(self):
        """No job is taken that could be lost."""
        # Too little for that, enough for a job to begin.
        with open(self.path('state/ballast'), 'wb') as f:
            f.write(bytes((32 << 20) - (1 << 20)))

        def while_full():
            done = self.other_job()
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1),
                             f"{done}\n{self.daemon.log_text()[-4000:]}")
            self.assertIn('make room', done.stderr)

        self.suffer_full(self.path('state'), 'store.full', while_full)

    def test_spool(self):
        self.suffer_full(self.path('state/spool'), 'spool.full', lambda: None, ballast_in='1')

    def test_output(self):
        """All that is left is to copy the result; and other disks have room."""
        def while_full():
            # The same output may not be written by two jobs at a time.
            if len(self.store.jobs if self.store else ()) < 2:
                done = self.other_job()
                self.assertEqual(done.returncode, 0, done.stderr)

        n_computed = self.suffer_full(self.path('output'), 'output.full', while_full)
        self.assertEqual(n_computed, SHARDS)


if __name__ == '__main__':
    sys.argv = [a for a in sys.argv if a != '--long']
    if not own_mounts():
        FullDisks = unittest.skip('only root may mount disks of his own')(FullDisks)
    harness.main()
