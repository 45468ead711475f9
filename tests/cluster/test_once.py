#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tasks of a film that a cluster restores, begun by hand: whatever becomes of them, the result is
that of one vrtd, to the last byte."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest.mock

import harness
from film import AGAIN, DONE, FAILED, Film, small_disk
from harness import clip, digest

LONG = os.environ.get('VRTD_LONG', '') not in ('', '0')

SEI = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'media', 'sei.py')
MAKE_VRT = os.path.join(harness.BUILD, 'tests', 'bench', 'make-vrt')

# A shard of the built-in network to a segment.
SEGMENT_FRAMES = 8


class Once(harness.Case):
    few_jobs = True
    config = {'jobs': {'segment_frames': SEGMENT_FRAMES}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.conf = os.path.join(cls.folder, 'task.conf')
        with open(cls.conf, 'w', encoding='utf-8') as f:
            f.write(f'[jobs]\nsegment_frames = {SEGMENT_FRAMES}\n')
        cls.source = clip(os.path.join(cls.folder, 'in.mp4'), '-shortest', frames=44, audio=True)

    def film(self, name, source=None, **request):
        return Film(source or self.source, self.path(name), self.conf, **request)

    def wanted(self, source, name, *options):
        """What one vrtd makes of it."""
        target = self.path('wanted-' + name)
        if not os.path.exists(target):
            self.follow(source, target, '--device', 'cpu', *options)
        return digest(target)

    def expect(self, made, part, status=DONE, says=None, level='warning'):
        exit_status, said = made.run(part, level)
        self.assertEqual(exit_status, status, said)
        if says:
            self.assertIn(says, said)
        return said

    def expect_joined(self, made, wanted):
        """What the last job of Slurm's does."""
        self.expect(made, '0/1')
        self.expect(made, 'join')
        self.assertEqual(digest(made.target), wanted)
        self.assertEqual(sorted(os.listdir(made.folder)),
                         ['attempts', 'plan.json', 'request.json', 'tasks'])
        self.assertEqual(os.listdir(made.path('attempts')), [])

    def test_parts(self):
        """In any order, twice; more parts than there are segments."""
        made = self.film('parts.mp4')
        self.expect(made, '0/3', FAILED, "hasn't made it")
        self.expect(made, 'plan')
        self.assertEqual([s['n_frames'] for s in made.read('plan.json')['segments']],
                         [8, 8, 8, 8, 8, 4])
        for part in ('2/3', '0/3', '1/3'):
            self.expect(made, part)
        # Another cut, of later parts with less to make: what there is of it is there.
        made.write('plan.json', dict(made.read('plan.json'), read_share=500))
        before = [os.stat(made.path('segments', name)).st_ino for name in made.segments()]
        self.expect(made, '1/3')
        self.expect(made, '9/10')
        self.assertEqual(len(before), 6)
        self.assertEqual([os.stat(made.path('segments', name)).st_ino for name in made.segments()],
                         before)
        # Joining needs no device, and none of those that made it is here.
        plan = made.read('plan.json')
        plan['request'] = json.dumps(dict(json.loads(plan['request']), device='cuda:7'))
        made.write('plan.json', plan)
        self.expect_joined(made, self.wanted(self.source, 'in.mp4'))
        self.assertEqual(made.note('join')['state'], 'done')
        self.expect(made, 'join')

    def test_interrupted(self):
        """By SIGTERM, by kill -9; with two attempts at a part; of segments that were lost."""
        made = self.film('interrupted.mp4')
        self.expect(made, 'plan')
        killed = made.run_until_segment('0/2', 1, signal.SIGKILL)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertEqual(len(os.listdir(made.path('attempts'))), 1)
        # One that was thought to be dead goes on when another has done its part.
        stopped = made.run_until_segment('1/2', len(made.segments()) + 1, signal.SIGSTOP)
        self.expect(made, '1/2')
        stopped.send_signal(signal.SIGCONT)
        stopped.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(stopped.returncode, DONE)
        self.assertEqual([made.note('1')[k] for k in ('state', 'error', 'starts')],
                         ['done', '', 0])
        ended = made.run_until_segment('0/2', 0, signal.SIGTERM)
        self.assertIn(ended.returncode, (AGAIN, DONE, -signal.SIGTERM))
        os.unlink(made.path('segments', made.segments()[-2]))
        self.expect_joined(made, self.wanted(self.source, 'in.mp4'))

    def test_told_twice(self):
        """By Slurm, and by the shell that it tells, too: that doesn't hurry it, as Ctrl-C does."""
        slow = self.path('slow.conf')
        with open(self.conf, encoding='utf-8') as f, open(slow, 'w', encoding='utf-8') as slower:
            slower.write(f.read() + '[devices]\nfault = cpu submit:1- delay=250ms\n')
        made = Film(self.source, self.path('twice.mp4'), slow)
        self.expect(made, 'plan')
        for again, state in ((signal.SIGINT, 'running'), (signal.SIGTERM, 'interrupted')):
            n = len(made.segments())
            process = made.begin('0/2')
            self.wait_until(lambda n=n: len(made.segments()) > n)
            for number in signal.SIGTERM, again:
                process.send_signal(number)
                time.sleep(0.1)
            said = process.communicate(timeout=harness.PATIENCE_S)[1]
            self.assertEqual(process.returncode, AGAIN, said)
            self.assertEqual(made.note('0')['state'], state)

    def test_damaged(self):
        """A segment of the result is found out when it is joined, and made anew."""
        made = self.film('damaged.mp4')
        self.expect(made, 'plan')
        self.expect(made, '0/1')
        with open(made.path('segments', made.segments()[2]), 'r+b') as f:
            f.write(bytes(64))
        self.expect(made, 'join', AGAIN, 'damaged or missing')
        self.assertEqual(len(made.segments()), 5)
        self.expect(made, 'join', FAILED, 'segment 2 of the result is not there')
        self.expect_joined(made, self.wanted(self.source, 'in.mp4'))

    def test_shared_frames(self):
        """Clips that share frames across what two parts make, in each way of blending."""
        model = os.path.join(self.folder, 'small.safetensors')
        subprocess.run([MAKE_VRT, '0', model], check=True, stdout=subprocess.DEVNULL)
        source = clip(self.path('vrt.mkv'), '-c:v', 'ffv1', frames=17, size='32x32')
        for tiling in ('blend', 'official') if LONG else ('blend',):
            made = self.film(tiling + '.mkv', source, model=model, clip=3, clip_overlap=1,
                             precision='f32', tiling=tiling, codec='ffv1')
            self.expect(made, 'plan')
            plan = made.read('plan.json')['segments']
            self.assertTrue(any(s['prime_shard'] < s['next_shard'] and s['prime']['first']
                                for s in plan), plan)
            for part in ('1/2', '0/2'):
                self.expect(made, part)
            self.expect_joined(made, self.wanted(
                source, tiling + '.mkv', '-m', model, '--clip', 3, '--clip-overlap', 1,
                '--precision', 'f32', '--tiling', tiling, '--codec', 'ffv1'))

    def test_decodes_little(self):
        """A part begins to decode near where it begins, whatever refers to what: two groups of
        pictures earlier, and what a decoder takes in hand."""
        group, frames, in_hand = 6, 64, 16
        videos = [
            ('open.mkv', 'libx264', '-x264-params', f'open-gop=1:keyint={group}:bframes=3'),
            ('b.mp4', 'libx264', '-bf', 3, '-g', group),
            ('hevc.mkv', 'libx265', '-x265-params',
             f'keyint={group}:open-gop=1:log-level=0:pools=none'),
            ('vp9.webm', 'libvpx-vp9', '-cpu-used', 8, '-lag-in-frames', 5, '-g', group),
            ('mpeg2.ts', 'mpeg2video', '-bf', 2, '-g', group),
            ('vfr.mkv', 'libx264', '-vf', "setpts='N/25/TB+floor(N/7)*0.013/TB'", '-fps_mode',
             'passthrough', '-bf', 2, '-g', group),
        ]
        for name, *encoder in videos if LONG else videos[:1]:
            source = clip(self.path(name), '-c:v', *encoder, frames=frames)
            made = self.film('of-' + name + '.mkv', source)
            self.expect(made, 'plan')
            said = self.expect(made, '2/3', level='debug')
            first = int(re.search(r'decoding goes on at frame (\d+)', said).group(1))
            decoded = int(re.search(r'(\d+) pictures of its input were decoded', said).group(1))
            self.assertGreater(first, frames // 2 - group)
            self.assertLessEqual(decoded, frames - first + 2 * group + in_hand, f'{name}\n{said}')
            for part in ('1/3', '0/3'):
                self.expect(made, part)
            self.expect_joined(made, self.wanted(source, name + '.mkv'))

    def expect_all_decoded(self, made, wanted):
        """By the second part, which doesn't find what is at its bookmark: the film is what it is
        all the same."""
        said = self.expect(made, '1/2', level='info')
        self.assertIn("all of its input is decoded, since what it holds where decoding should go "
                      "on isn't what it was", said)
        self.expect_joined(made, wanted)

    def prime(self, made):
        """The bookmark of the second of two parts, in the plan, and that."""
        plan = made.read('plan.json')
        prime = plan['segments'][len(plan['segments']) // 2 - 1]['prime']
        self.assertGreater(prime['n_read'] - prime['first'], 1)
        return prime, plan

    def test_other_numbers(self):
        """Each of a bookmark's is as it was, or it is of no use."""
        source = clip(self.path('numbers.mkv'), '-c:v', 'ffv1', frames=48)
        wanted = self.wanted(source, 'numbers.mkv')
        for name, more in ('clip', 1), ('scene_start', 3), ('n_new', 8), ('begin_pts', 1):
            made = self.film(f'{name}.mkv', source)
            self.expect(made, 'plan')
            prime, plan = self.prime(made)
            prime[name] += more
            made.write('plan.json', plan)
            self.expect_all_decoded(made, wanted)

    def test_other_frames(self):
        """Not the last alone of those at a bookmark counts; nor only what frames show."""
        source = clip(self.path('frames.y4m'), '-pix_fmt', 'yuv420p', frames=48,
                      source='mandelbrot')
        text = self.path('spoken')
        clip(text + '.h264', '-c:v', 'libx264', '-bf', 0, '-g', 4, frames=48)
        subprocess.run([sys.executable, SEI, 'h264', text + '.h264', text + '.said.h264',
                        'captions'], check=True)
        harness.ffmpeg('-i', text + '.said.h264', '-c', 'copy', text + '.mp4')
        for path, begin, skipped in ((source, b'FRAME\n', 6), (text + '.mp4', b'GA94', 8)):
            made = self.film(os.path.basename(path) + '.was.mp4', path)
            self.expect(made, 'plan')
            was = self.prime(made)[0]
            with open(path, 'rb') as f:
                data = bytearray(f.read())
            at = [match.start() for match in re.finditer(begin, data)]
            self.assertEqual(len(at), 48)
            data[at[was['first']] + skipped] ^= 8
            with open(path, 'wb') as f:
                f.write(data)
            made = self.film(os.path.basename(path) + '.is.mp4', path)
            self.expect(made, 'plan')
            self.assertEqual({name for name, value in self.prime(made)[0].items()
                              if value != was[name]}, {'checksum'})

    def test_key_frames_that_are_none(self):
        """An MP4 without a list of them, of which each is one, then: of those at the bookmark the
        last is right, since it is one indeed, and others aren't."""
        source = clip(self.path('listed.mp4'), '-c:v', 'libx265', '-x265-params',
                      'log-level=0:keyint=1000:min-keyint=1:bframes=0', '-force_key_frames',
                      'expr:eq(n,23)', frames=48)
        with open(source, 'rb') as f:
            data = f.read()
        self.assertEqual(data.count(b'stss'), 1)
        with open(source, 'wb') as f:
            f.write(data.replace(b'stss', b'free'))
        made = self.film('unlisted.mp4', source)
        self.expect(made, 'plan')
        self.assertEqual(self.prime(made)[0]['n_read'], 24)
        self.expect_all_decoded(made, self.wanted(source, 'unlisted.mp4'))

    def test_refused(self):
        """One sentence, which is in the folder too."""
        made = self.film('refused.mp4')
        self.expect(Film(None, self.path('none')), 'plan', FAILED, "can't be opened")
        os.chmod(made.folder, 0o750)
        self.expect(made, 'plan', FAILED, 'chmod 700')
        os.chmod(made.folder, 0o700)
        made.write('request.json', dict(made.read('request.json'), target_size_bytes=10 ** 6))
        self.expect(made, 'plan', FAILED, '--target-size needs')
        self.assertIn('--target-size needs', made.note('plan')['error'])
        self.expect(made, '0/1', FAILED, '--target-size needs')
        with open(made.path('request.json'), 'w', encoding='utf-8') as f:
            f.write('{')
        self.expect(made, 'plan', FAILED, "request.json can't be read: ")

    def test_no_place(self):
        """Where the node has none for what is its own, or the result none for a segment."""
        made = self.film('place.mp4')
        with unittest.mock.patch.dict(os.environ, TMPDIR='/nowhere'):
            self.expect(made, 'plan', AGAIN, 'no folder can be made as /nowhere/vrtd-task-')
        self.assertEqual((made.note('plan')['error_id'], os.listdir(made.path('attempts'))),
                         ('store.failed', []))
        self.expect(made, 'plan')
        os.rmdir(made.path('segments'))
        small_disk(self, made.path('segments'), '1m')
        self.expect(made, '0/2', AGAIN, 'on a file system that has hard links')
        self.assertEqual(made.note('0')['error_id'], 'cluster.folder')

    def test_reference(self):
        """The film is compared when it is joined; one that is gone by then is a warning."""
        truth, gone = self.path('truth.mkv'), self.path('gone.mkv')
        harness.ffmpeg('-i', self.source, '-vf', 'scale=2*iw:2*ih', '-an', '-c:v', 'ffv1', truth)
        os.link(truth, gone)
        made = self.film('like.mp4', reference=truth)
        self.expect(made, 'plan')
        self.expect_joined(made, self.wanted(self.source, 'in.mp4'))
        wanted = json.loads(self.vrtctl('compare', '--json', made.target, truth).stdout)
        found = made.note('join')['comparison']
        self.assertEqual(found, {key: wanted[key] for key in found})

        made = self.film('gone.mp4', reference=gone)
        self.expect(made, 'plan')
        os.unlink(gone)
        self.expect(made, '0/1')
        self.expect(made, 'join', says="can't be opened any more")
        note = made.note('join')
        self.assertIsNone(note['comparison'])
        self.assertIn("can't be opened any more", note['warnings'][-1])
        self.assertEqual(digest(made.target), self.wanted(self.source, 'in.mp4'))
        for name, reference, says in (('none.mp4', gone, "gone.mkv can't be opened"),
                                      ('small.mp4', self.source, 'pixels')):
            self.expect(self.film(name, reference=reference), 'plan', FAILED, says)

    def test_full(self):
        """The disk that tasks share: one sentence, and it goes on when there is room."""
        shared = small_disk(self, self.path('shared'), '1m')
        made = Film(self.source, os.path.join(shared, 'full.mp4'), self.conf)
        self.expect(made, 'plan')
        self.expect(made, '0/2')
        made.write('tasks/1.json', {'state': 'interrupted', 'starts': 0, 'node': 'x'})
        filler = os.path.join(shared, 'filler')
        with contextlib.suppress(OSError), open(filler, 'wb', buffering=0) as f:
            while True:
                f.write(bytes(4096))
        self.expect(made, '1/2', AGAIN, 'is full')
        note = made.note('1')
        self.assertEqual((note['state'], note['error_id']), ('interrupted', 'spool.full'))
        os.unlink(filler)
        self.expect_joined(made, self.wanted(self.source, 'in.mp4'))

    def test_list(self):
        """Films beside the daemon's jobs; Slurm's programs, which aren't asked, would note it."""
        folder, asked = self.path('bin'), self.path('asked')
        os.mkdir(folder)
        for name in ('sbatch', 'squeue', 'scancel', 'scontrol'):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(f'#!/bin/sh\necho {name} >>{asked}\n')
                if name == 'sbatch':
                    f.write('cat >/dev/null; echo 7\n')
                os.fchmod(f.fileno(), 0o755)

        def ctl(*arguments, **more):
            return self.vrtctl(*arguments, PATH=folder + os.pathsep + os.environ['PATH'],
                               XDG_STATE_HOME=self.path('films'), **more)

        target, truth = self.path('a film.mp4'), self.path('truth.mkv')
        harness.ffmpeg('-i', self.source, '-vf', 'scale=2*iw:2*ih', '-an', '-c:v', 'ffv1', truth)
        ctl('submit', '--cluster', '-d', 'cpu', '--nodes', 2, '--reference', truth, '-o', target,
            self.source)
        with open(asked, encoding='utf-8') as f:
            self.assertEqual(f.read().count('sbatch'), 4)
        os.unlink(asked)
        made = Film(None, target, self.conf)

        def expect_listed(*wanted, options=()):
            """Its state, segments made and planned; or nothing."""
            films = [f for f in map(json.loads, ctl('list', '--json', *options).stdout.splitlines())
                     if f.get('kind') == 'film']
            self.assertEqual([f[k] for f in films for k in ('output', 'state', 'segments_done',
                                                            'segments_total')],
                             [target, *wanted] if wanted else [])
            self.assertFalse(os.path.exists(asked))

        expect_listed('waiting', 0, None)
        self.expect(made, 'plan')
        self.expect(made, '0/2')
        n, n_all = len(made.segments()), len(made.read('plan.json')['segments'])
        self.assertTrue(0 < n < n_all)
        expect_listed('waiting', n, n_all)
        # No daemon takes part: those that are known are listed, and that it is gone is said.
        gone = ctl('list', status=3, VRTD_SOCKET='/nowhere')
        self.assertRegex(gone.stdout, rf'waiting +\d\d% +{n}/{n_all} .*a film\.mp4\n')
        self.assertIn('/nowhere', gone.stderr)

        for verb, *operands in (('retry', '-o', 'x', target), ('show', '--history', target)):
            ctl(verb, *operands, status=2)
        for part in ('1/2', '0/1', 'join'):
            self.expect(made, part)
        expect_listed('done', n_all, n_all, options=['--all'])
        self.assertRegex(ctl('wait', target).stdout, r'done, 100% of it done; PSNR [\d.]+ dB')
        self.assertEqual(digest(target), self.wanted(self.source, 'in.mp4'))
        self.assertEqual(os.listdir(self.path('films/vrtd/films')), [])


if __name__ == '__main__':
    harness.main()
