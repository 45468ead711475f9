#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Standard input as a job's input, and standard output as its result."""
import json
import os
import pty
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import VRTCTL, clip, digest, ffmpeg, pixels, probe, timestamps, video_stream

# A job of it goes on for as long as somebody writes.
LONG = ['-re', '-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=25:duration=600', '-f',
        'yuv4mpegpipe', '-']
IS_LONG = os.environ.get('VRTD_LONG', '') not in ('', '0')


def resident_bytes(pid):
    try:
        with open(f'/proc/{pid}/status', encoding='ascii') as f:
            return next((int(l.split()[1]) * 1024 for l in f if l.startswith('VmRSS')), 0)
    except OSError:
        return 0


class Case(harness.Case):
    small = True

    def environment(self, **more):
        return dict(os.environ, VRTD_SOCKET=self.daemon.socket, TMPDIR=self.folder, **more)

    def start(self, *arguments, stdin, **options):
        """vrtctl submit, under way."""
        options = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options}
        done = subprocess.Popen([VRTCTL, 'submit', *map(str, arguments)], stdin=stdin,
                                env=self.environment(), **options)
        self.addCleanup(done.wait)
        self.addCleanup(done.kill)
        return done

    def piped(self, data, *arguments, status=0):
        """What vrtctl submit writes of these bytes, which come by a pipe; and what it says."""
        done = subprocess.run([VRTCTL, 'submit', *map(str, arguments)], input=data,
                              capture_output=True, env=self.environment(),
                              timeout=harness.PATIENCE_S)
        self.assertEqual(done.returncode, status, done.stderr.decode() + self.daemon.log_text())
        return done.stdout, done.stderr.decode()

    def bytes_of(self, path):
        with open(path, 'rb') as f:
            return f.read()

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)
        return self.path(name)

    def begin_long(self, *arguments, **options):
        """A job whose writer goes on: the writer, vrtctl and the job's number."""
        writer = subprocess.Popen(['ffmpeg', '-v', 'quiet', '-nostdin', *LONG],
                                  stdout=subprocess.PIPE)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        before = self.last_job()
        submitted = self.start('-', *arguments, stdin=writer.stdout, **options)
        writer.stdout.close()
        self.wait_until(lambda: self.last_job() > before and
                        self.show(self.last_job())['frames_done'] > 0)
        return writer, submitted, self.last_job()

    def last_job(self):
        jobs = self.daemon.request('GET', '/v1/jobs?limit=500')[1]['jobs']
        return max((job['id'] for job in jobs), default=0)

    def show(self, job):
        return self.daemon.job(job)

    def films(self):
        """By their names' endings: what a pipe may hold, with sound where it can have that."""
        source = clip(self.path('film.mkv'), '-c:v', 'libx264', '-c:a', 'aac', '-metadata',
                      'title=Film', frames=30, audio=True)
        made = {'mkv': source}
        for ending, options in [('nut', ['-c', 'copy']), ('ts', ['-c', 'copy']),
                                ('y4m', ['-an', '-fps_mode', 'passthrough', '-pix_fmt',
                                         'yuv420p'])]:
            made[ending] = self.path('film.' + ending)
            ffmpeg('-i', source, *options, made[ending])
        return made


class Room(Case):
    """What is stored of a pipe is charged to its user, and jobs wait for their turn with it."""

    config = {'jobs': {'max_running': 1}, 'access': {'spool_per_user': '1M'}}

    def test_too_much_is_stored(self):
        """Of a transport stream all is."""
        source = clip(self.path('noise.ts'), '-vf', 'noise=alls=80:allf=t', '-c:v', 'libx264',
                      '-qp', 10, frames=200, size='128x96')
        self.assertGreater(os.path.getsize(source), 2 << 20)
        _, said = self.piped(self.bytes_of(source), '-', '-o', self.path('room.mkv'), '--quality',
                             51, status=1)
        self.assertIn('take more than one user may have', said)
        shown = self.show(self.last_job())
        self.assertEqual(shown['state'], 'failed')
        self.assertEqual(shown['error']['id'], 'spool.too_large')
        # What of it was restored is much less than that.
        self.assertFalse(os.path.exists(self.path('room.mkv')))

    def test_writers_wait_for_their_turn(self):
        source = self.films()['nut']
        _, first, _ = self.begin_long('-o', self.path('first.mkv'))
        with open(source, 'rb') as f:
            writer = subprocess.Popen(['cat'], stdin=f, stdout=subprocess.PIPE)
        second = self.start('-', '-o', self.path('second.mkv'), stdin=writer.stdout)
        writer.stdout.close()
        self.wait_until(lambda: self.show(self.last_job())['state'] == 'queued')
        first.send_signal(signal.SIGINT)
        self.assertEqual(first.wait(harness.PATIENCE_S), 130)
        self.assertEqual(second.wait(harness.PATIENCE_S), 0, second.stderr.read())
        self.assertEqual(writer.wait(harness.PATIENCE_S), 0)
        self.assertEqual(int(video_stream(self.path('second.mkv'))['nb_read_frames']), 30)

    def test_no_other_input(self):
        """What a job reads stays what it reads."""
        source = self.films()['mkv']
        _, first, _ = self.begin_long('-o', self.path('reads.mkv'))
        with open(source, 'rb') as f, subprocess.Popen(['cat'], stdin=f,
                                                       stdout=subprocess.PIPE) as writer:
            second = self.start('-', '-o', self.path('kept.mkv'), stdin=writer.stdout)
            writer.stdout.close()
            self.wait_until(lambda: self.show(self.last_job())['state'] == 'queued')
            self.vrtctl('pause', self.last_job())
            self.refused('resume', self.last_job(), source, says='without another input')
            self.vrtctl('resume', self.last_job())
            first.send_signal(signal.SIGINT)
            self.assertEqual(second.wait(harness.PATIENCE_S), 0, second.stderr.read())
        self.assertEqual(first.wait(harness.PATIENCE_S), 130)
        self.follow(source, self.path('kept.wanted.mkv'))
        self.assertEqual(digest(self.path('kept.mkv')), digest(self.path('kept.wanted.mkv')))


class Pipes(Case):
    config = {'cpu': {'devices': 2, 'threads': 1}}

    def test_same_bytes_as_of_the_file(self):
        for ending, path in self.films().items():
            with self.subTest(ending=ending):
                wanted = self.path(f'{ending}.wanted.mkv')
                self.follow(path, wanted)
                self.piped(self.bytes_of(path), '-', '-o', self.path(f'{ending}.out.mkv'))
                self.assertEqual(digest(self.path(f'{ending}.out.mkv')), digest(wanted))
                got, _ = self.piped(self.bytes_of(path), '-', '-o', '-')
                self.assertEqual(got, self.bytes_of(wanted))
                got, _ = self.piped(b'', path, '-o', '-')
                self.assertEqual(got, self.bytes_of(wanted))

    def test_between_programs(self):
        """ffmpeg | vrtctl | ffmpeg: frames, times and sound arrive."""
        source = self.films()['mkv']
        writer = subprocess.Popen(['ffmpeg', '-v', 'error', '-nostdin', '-i', source, '-c', 'copy',
                                   '-f', 'matroska', '-'], stdout=subprocess.PIPE)
        restored = self.start('-', '-o', '-', stdin=writer.stdout)
        writer.stdout.close()
        target = self.path('between.mkv')
        subprocess.run(['ffmpeg', '-v', 'error', '-y', '-i', '-', '-c', 'copy', target],
                       stdin=restored.stdout, check=True, timeout=harness.PATIENCE_S)
        self.assertEqual((writer.wait(), restored.wait()), (0, 0), restored.stderr.read())
        stream = video_stream(target)
        self.assertEqual((stream['width'], stream['height'], int(stream['nb_read_frames'])),
                         (128, 96, 30))
        self.assertEqual(timestamps(target), timestamps(source))
        self.assertEqual(timestamps(target, 'a:0'), timestamps(source, 'a:0'))
        self.assertEqual(probe(target)['format']['tags']['title'], 'Film')

    def test_report(self):
        data = self.bytes_of(self.films()['y4m'])
        _, said = self.piped(data, '-', '--json', '-o', '-')
        job = json.loads(said.strip().splitlines()[-1])
        self.assertEqual((job['state'], job['input_piped'], job['frames_total']),
                         ('done', True, 30))
        self.assertEqual((job['input_name'], job['output_name'], job['input_path']),
                         ('standard input', 'stdout.mkv', None))
        plan, _ = self.piped(data, '-', '-o', '-', '--dry-run')
        self.assertIn('standard input', plan.decode())

    def test_regular_file_as_standard_input(self):
        """Which is no pipe: it can be read again."""
        source = self.films()['mkv']
        with open(source, 'rb') as f:
            done = self.start('-', '--json', '-o', self.path('regular.mkv'), stdin=f)
            out, err = done.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(done.returncode, 0, err)
        self.assertFalse(json.loads(out.decode().strip().splitlines()[-1])['input_piped'])
        self.follow(source, self.path('regular.wanted.mkv'))
        self.assertEqual(digest(self.path('regular.mkv')), digest(self.path('regular.wanted.mkv')))

    def test_output_formats(self):
        source = self.films()['mkv']
        for name, codec in [('mp4', 'h264'), ('mov', 'prores'), ('webm', 'vp9'), ('ts', 'hevc')]:
            with self.subTest(name=name):
                got, _ = self.piped(b'', source, '-o', '-', '--output-format', name, '--codec',
                                    codec)
                stream = video_stream(self.write('format.' + name, got))
                self.assertEqual((stream['codec_name'], int(stream['nb_read_frames'])),
                                 (codec, 30))
        picture = self.path('picture.png')
        ffmpeg('-i', source, '-frames:v', 1, picture)
        got, _ = self.piped(self.bytes_of(picture), '-', '-o', '-', '--output-format', 'png')
        self.assertEqual(got[:8], b'\x89PNG\r\n\x1a\n')

    def test_picture_with_transparency(self):
        """Which is read a second time when it is written: of a pipe it is still there."""
        source = self.path('alpha.png')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48', '-frames:v', 1, '-vf',
               "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a=100", source)
        got, said = self.piped(self.bytes_of(source), '-', '-o', '-', '--output-format', 'png',
                               '--alpha', 'resize')
        self.assertEqual(set(pixels(self.write('alpha.out.png', got), 'rgba')[3::4]), {100})
        other, said = self.piped(self.bytes_of(source), '-', '-o', '-', '--output-format', 'png')
        self.assertNotIn('transparency', said)
        self.assertEqual(other, got)

    def test_folder_into_a_pipe(self):
        """Of pictures a video becomes, as in a file."""
        source, wanted = self.path('numbered'), self.path('numbered.mkv')
        os.mkdir(source)
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48', '-frames:v', 5,
               os.path.join(source, '%d.png'))
        self.follow(source, wanted, '--fps', 10)
        got, _ = self.piped(b'', source, '-o', '-', '--fps', 10)
        self.assertEqual(got, self.bytes_of(wanted))

    def test_reader_that_lets_nobody_wait(self):
        """A pipe whose writes don't wait, and which is full most of the time."""
        source, wanted = self.films()['mkv'], self.path('large.mkv')
        options = ['--codec', 'ffv1']
        self.follow(source, wanted, *options)
        self.assertGreater(os.path.getsize(wanted), 1 << 17)
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.set_blocking(writing, False)
        done = self.start(source, '-o', '-', *options, stdin=subprocess.DEVNULL, stdout=writing)
        os.close(writing)
        got = b''
        while data := os.read(reading, 50000):
            got += data
            time.sleep(0.01)
        self.assertEqual(done.wait(harness.PATIENCE_S), 0, done.stderr.read())
        self.assertEqual(got, self.bytes_of(wanted))

    def test_slow_writer(self):
        """Pieces of any size, with pauses between them."""
        source = self.films()['nut']
        data = self.bytes_of(source)
        target = self.path('slow.mkv')
        done = self.start('-', '-o', target, stdin=subprocess.PIPE)
        at, size = 0, 1
        while at < len(data):
            done.stdin.write(data[at:at + size])
            done.stdin.flush()
            at, size = at + size, min(2 * size, 3000)
            time.sleep(0.02)
        done.stdin.close()
        done.stdin = None
        _, err = done.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(done.returncode, 0, err)
        self.follow(source, self.path('slow.wanted.mkv'))
        self.assertEqual(digest(target), digest(self.path('slow.wanted.mkv')))

    def test_nothing_and_nonsense(self):
        target = self.path('nothing.mkv')
        for data, says in [(b'', 'standard input is empty'), (b'hello\n', 'is not a video'),
                           (os.urandom(1 << 20), 'is not a video'),
                           (b'YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\n', 'standard input'),
                           (b'YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\nFRAME\n' + b'x' * 100,
                            'standard input')]:
            with self.subTest(says=says, size=len(data)):
                _, said = self.piped(data, '-', '-o', target, status=1)
                self.assertEqual(len(said.strip().splitlines()), 1, said)
                self.assertIn(says, said)
                self.assertFalse(os.path.exists(target))

    def test_cut_off(self):
        """A y4m that ends in the midst of a frame: what came is restored, which is said."""
        data = self.bytes_of(self.films()['y4m'])
        target = self.path('cut.mkv')
        _, said = self.piped(data[:-100], '-', '-o', target)
        self.assertIn('cannot be read beyond frame 29', said)
        self.assertEqual(int(video_stream(target)['nb_read_frames']), 29)
        _, said = self.piped(data[:-100], '-', '-o', self.path('strict.mkv'), '--strict', status=1)
        self.assertIn('cannot be read beyond frame 29', said)
        self.assertFalse(os.path.exists(self.path('strict.mkv')))

    def test_command_line(self):
        source = self.films()['mkv']
        for arguments, says in [
                (['-'], 'no name that the result could have'),
                (['-', source, '-o', self.folder + '/'], 'one input at a time'),
                ([source, source, '-o', '-'], 'one input at a time'),
                (['-', '-o', 'x.mkv', '--preview'], 'a pipe is read once'),
                ([source, '-o', 'x.mkv', '--output-format', 'mkv'], 'is for --output -'),
                ([source, '-o', '-', '--output-format', 'y4m'], 'expected mp4')]:
            with self.subTest(arguments=arguments):
                _, said = self.piped(b'', *arguments, status=2)
                self.assertIn(says, said)
        veiled = clip(self.path('veiled.mkv'), '-c:v', 'ffv1', '-pix_fmt', 'yuva420p', frames=3)
        for film, options, says in [
                (source, ['--start', '1'], 'restored whole'),
                (source, ['--duration', '1'], 'restored whole'),
                (veiled, ['--alpha', 'resize', '--codec', 'ffv1'], 'read a second time')]:
            _, said = self.piped(self.bytes_of(film), '-', '-o', '-', *options, status=1)
            self.assertIn(says, said)

    def test_terminals(self):
        main, terminal = pty.openpty()
        self.addCleanup(os.close, main)
        self.addCleanup(os.close, terminal)
        for arguments, says in [(['-', '-o', self.path('terminal.mkv')], b'input is a terminal'),
                                ([self.films()['mkv'], '-o', '-'], b'output is a terminal')]:
            done = self.start(*arguments, stdin=terminal, stdout=terminal)
            self.assertIn(says, done.communicate(timeout=harness.PATIENCE_S)[1])
            self.assertEqual(done.returncode, 1)

    def test_reader_goes_away(self):
        writer, done, job = self.begin_long('-o', '-')
        done.stdout.close()
        self.assertEqual(done.wait(harness.PATIENCE_S), 1)
        self.assertIn(b'the program that read standard output has ended', done.stderr.read())
        self.wait_until(lambda: self.show(job)['state'] == 'cancelled')
        self.assertNotEqual(writer.wait(harness.PATIENCE_S), 0)

    def test_interrupted(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            target = self.path('interrupted.mkv')
            writer, done, job = self.begin_long('-o', target)
            done.send_signal(number)
            self.assertEqual(done.wait(harness.PATIENCE_S), 130)
            self.wait_until(lambda: self.show(job)['state'] == 'cancelled')
            self.assertNotEqual(writer.wait(harness.PATIENCE_S), 0)
            self.assertFalse(os.path.exists(target))

    def test_neither_paused_nor_retried(self):
        _, done, job = self.begin_long('-o', self.path('held.mkv'))
        self.refused('pause', job, says='reads a pipe')
        self.vrtctl('cancel', job)
        self.assertEqual(done.wait(harness.PATIENCE_S), 1)
        self.wait_until(lambda: self.show(job)['state'] == 'cancelled')
        self.refused('retry', job, says='run the command again')

    def test_media_process_ends(self):
        """Which another job would survive: here it is what has read the pipe."""
        writer, done, job = self.begin_long('-o', self.path('killed.mkv'))
        for child in self.daemon.children():
            os.kill(child, signal.SIGKILL)
        self.assertEqual(done.wait(harness.PATIENCE_S), 1)
        shown = self.show(job)
        self.assertEqual((shown['state'], shown['error']['id']), ('failed', 'media.crashed'))
        self.assertFalse(any('went on' in w for w in shown['warnings']), shown['warnings'])
        self.assertNotEqual(writer.wait(harness.PATIENCE_S), 0)

    def test_daemon_is_killed(self):
        """Another one knows that nothing of the pipe comes again."""
        target = self.path('orphan.mkv')
        folder = tempfile.mkdtemp(dir=self.folder)
        daemon, self.daemon = self.daemon, harness.Daemon(folder)
        try:
            _, done, job = self.begin_long('-o', target)
            self.daemon.kill()
            self.daemon = harness.Daemon(folder)
            self.assertEqual(done.wait(harness.PATIENCE_S), 1)
            self.assertIn(b'read a pipe', done.stderr.read())
            self.assertEqual(self.show(job)['error']['id'], 'input.pipe')
            self.refused('retry', job, says='run the command again')
            self.assertNotIn('retry', self.vrtctl('show', job).stdout)
        finally:
            self.daemon.stop()
            self.daemon = daemon

    def test_files_are_given_again(self):
        """A daemon that was restarted without them gets them once more, from who follows the
        job: a file that is standard input, and what standard output is copied from."""
        source = clip(self.path('again.mkv'), '-c:v', 'ffv1', frames=300, size='128x96')
        folder = tempfile.mkdtemp(dir=self.folder)
        daemon, self.daemon = self.daemon, harness.Daemon(folder)
        try:
            with open(source, 'rb') as f:
                done = self.start('-', '-o', '-', '--codec', 'ffv1', stdin=f)
            self.wait_until(lambda: self.last_job() and self.show(1)['frames_done'] > 0)
            self.daemon.kill()
            self.daemon = harness.Daemon(folder)
            got, said = done.communicate(timeout=harness.PATIENCE_S)
            self.assertEqual(done.returncode, 0, said)
            shown = self.show(1)
            self.assertEqual((shown['input_name'], shown['input_path'], shown['output_path']),
                             ('standard input', None, None))
            self.follow(source, self.path('again.wanted.mkv'), '--codec', 'ffv1')
            self.assertEqual(got, self.bytes_of(self.path('again.wanted.mkv')))
        finally:
            self.daemon.stop()
            self.daemon = daemon

    @unittest.skipUnless(IS_LONG, 'takes minutes: VRTD_LONG=1')
    def test_memory(self):
        """Ten minutes of y4m: of no process grows what it has in memory."""
        writer = subprocess.Popen(['ffmpeg', '-v', 'quiet', '-nostdin', '-f', 'lavfi', '-i',
                                   'testsrc2=size=160x90:rate=30:duration=600', '-f',
                                   'yuv4mpegpipe', '-'], stdout=subprocess.PIPE)
        with tempfile.TemporaryFile(dir=self.folder) as result:
            done = self.start('-', '-o', '-', '--preset', 'ultrafast', stdin=writer.stdout,
                              stdout=result)
            writer.stdout.close()
            peaks = []
            while done.poll() is None:
                time.sleep(1)
                now = [resident_bytes(pid) for pid in
                       [self.daemon.process.pid, done.pid, *self.daemon.children()]]
                peaks.append((sum(now[:1]), sum(now[1:2]), max(now[2:], default=0)))
            self.assertEqual(done.returncode, 0, done.stderr.read())
            path = self.write('long.mkv', b'')
            result.seek(0)
            with open(path, 'wb') as f:
                while data := result.read(1 << 20):
                    f.write(data)
        self.assertEqual(int(video_stream(path)['nb_read_frames']), 18000)
        third = len(peaks) // 3
        for i, name in enumerate(('vrtd', 'vrtctl', 'vrt-media')):
            early, late = (max(p[i] for p in part) for part in (peaks[:third], peaks[third:]))
            print(f'  {name}: {early / 2**20:.1f} MiB in the first third, {late / 2**20:.1f} then')
            self.assertLess(late, early + (16 << 20))


if __name__ == '__main__':
    harness.main()
