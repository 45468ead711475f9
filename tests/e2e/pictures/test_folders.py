#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A folder of pictures goes in, as a video, and a folder comes out; or one of them is a video."""
import itertools
import json
import os
import shutil
import struct
import unittest

import harness
from harness import clip, digest, ffmpeg, pixels, probe, video_stream


class Folders(harness.Case):
    config = {'cpu': {'devices': 2, 'threads': 1}}
    few_jobs = True

    def frames(self, name, *options, n=7, size='64x48', start=1, pattern='%04d.png'):
        """A folder of pictures."""
        folder = self.path(name)
        os.mkdir(folder)
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={size}:rate=25', '-frames:v', n,
               '-start_number', start, *options, os.path.join(folder, pattern))
        return folder

    def submit(self, *arguments, **more):
        done = self.vrtctl('submit', '--follow', '--json', *arguments, **more)
        return json.loads(done.stdout.strip().splitlines()[-1])

    def assert_frames_alike(self, folder, film, limit=2):
        """Whether the pictures are the frames of a video, one by one."""
        names = sorted(os.listdir(folder))
        frames = pixels(film, 'rgb24')
        size = len(frames) // len(names)
        for i, name in enumerate(names):
            picture = pixels(os.path.join(folder, name), 'rgb24')
            self.assertEqual(len(picture), size)
            off = sum(abs(a - b) for a, b in zip(picture, frames[i * size:(i + 1) * size]))
            self.assertLess(off / size, limit, name)

    def test_folder_to_folder(self):
        source = self.frames('plain')
        job = self.submit(source + '/')
        self.assertEqual((job['state'], job['frames_total'], job['frames_done']), ('done', 7, 7))
        self.assertEqual(self.own_warnings(job), [])
        target = self.path('plain.restored')
        self.assertEqual(sorted(os.listdir(target)), sorted(os.listdir(source)))
        for name in os.listdir(target):
            stream = video_stream(os.path.join(target, name))
            self.assertEqual((stream['width'], stream['pix_fmt']), (128, 'rgb24'))
        film = self.path('plain.mkv')
        ffmpeg('-i', os.path.join(source, '%04d.png'), '-c:v', 'ffv1', '-pix_fmt', 'gbrp', film)
        self.restore(film, self.path('plain.out.mkv'), '--codec', 'ffv1')
        self.assert_frames_alike(target, self.path('plain.out.mkv'))

    def series(self, *arguments, **more):
        """The jobs that submit makes of a folder, as pairs of their paths in self.folder; warnings
        and refusals."""
        done = self.vrtctl('submit', '--json', '--recursive', *arguments, **more)
        jobs = [json.loads(line) for line in done.stdout.splitlines()]
        return ({tuple(os.path.relpath(job[key], os.path.realpath(self.folder))
                       for key in ('input_path', 'output_path')) for job in jobs},
                [list(json.loads(line).values())[0]['message']
                 for line in done.stderr.splitlines()])

    def test_all_below_a_folder(self):
        """The same folders again; results are no inputs; what is done, or has a job, is passed."""
        top = self.path('top')
        os.makedirs(os.path.join(top, 'a', '.hidden'))
        os.mkdir(os.path.join(top, 'b c'))
        film = clip(os.path.join(top, 'film.mkv'))
        for name in ('a/two.MKV', 'a/.hidden/no.mkv', 'b c/three.avi', 'a/.no.mkv', 'a/notes.txt'):
            shutil.copy(film, os.path.join(top, name))
        os.symlink('../film.mkv', os.path.join(top, 'a', 'link.mkv'))
        os.symlink('..', os.path.join(top, 'a', 'up'))
        done = os.path.join(top, 'done')
        wanted = {('top/film.mkv', 'top/done/film.mkv'), ('top/a/two.MKV', 'top/done/a/two.MKV'),
                  ('top/a/link.mkv', 'top/done/a/link.mkv'),
                  ('top/b c/three.avi', 'top/done/b c/three.avi.mkv')}
        options = (top, '--output-dir', done, '--skip-done')
        self.vrtctl('submit', '-r', *options, '--dry-run')
        self.assertFalse(os.path.exists(done))
        self.assertEqual(self.series(*options, '--priority', '-5'), (wanted, []))
        self.assertEqual(self.series(*options)[0], set())
        self.vrtctl('wait', '--all')
        self.assertEqual(self.series(*options),
                         (set(), ['of 4 videos 4 are done and 0 have a job: they are left out']))
        self.assertEqual({os.path.relpath(os.path.join(at, name), self.folder)
                          for at, _, names in os.walk(done) for name in names},
                         {target for _, target in wanted})
        self.assertEqual(video_stream(os.path.join(done, 'b c', 'three.avi.mkv'))['width'], 128)
        # By its job, where the result was taken away; anew, where that is forgotten.
        os.remove(os.path.join(done, 'film.mkv'))
        self.assertEqual(self.series(*options)[0], set())
        self.vrtctl('clean')
        self.assertEqual(self.series(*options)[0], {('top/film.mkv', 'top/done/film.mkv')})
        self.vrtctl('wait', '--all')

    def test_some_below_a_folder(self):
        top = self.path('some')
        os.mkdir(top)
        film = clip(os.path.join(top, 'one.mkv'))
        shutil.copy(film, os.path.join(top, 'two.mkv'))
        with open(os.path.join(top, 'three.mkv'), 'w', encoding='utf-8') as f:
            f.write('no video')
        options = (top, '--output-dir', self.path('some-done/deep'))
        self.assertEqual(self.series(*options, '--match', 'o*.mkv')[0],
                         {('some/one.mkv', 'some-done/deep/one.mkv')})
        self.assertEqual(self.series(*options, '--match', '*.avi'),
                         (set(), ['nothing in it, or below it, is called as *.avi']))
        self.assertEqual(self.series(*options, '--settled', '9000'),
                         (set(), ['3 of the files changed less than 9000 s ago: they are left out '
                                  'until they rest']))
        # A folder for pictures that is there, and empty, is no result.
        os.makedirs(self.path('some-pictures/one.mkv'))
        self.assertEqual(self.series(top, '--output-dir', self.path('some-pictures'), '--codec',
                                     'png', '--match', 'o*', '--skip-done'),
                         ({('some/one.mkv', 'some-pictures/one.mkv')}, []))
        # One that is refused holds up no other.
        self.vrtctl('wait', '--all')
        jobs, said = self.series(*options, '--skip-done', status=1)
        self.assertEqual(jobs, {('some/two.mkv', 'some-done/deep/two.mkv')})
        self.assertIn('three.mkv is not a video', said[-1])
        self.vrtctl('wait', '--all')

    def test_videos_that_are_called_alike(self):
        """Each has a folder of its own for its pictures: in a series by its whole name, whatever
        others there are, else where the other one's is taken."""
        top = self.path('alike')
        os.mkdir(top)
        films = [clip(os.path.join(top, 'film.mkv'))]
        for name in ('film.avi', 'film.mkv.avi'):
            films.append(shutil.copy(films[0], os.path.join(top, name)))
        self.assertEqual(self.series(top, '--output-dir', self.path('alike-done'), '--codec',
                                     'png')[0],
                         {(f'alike/{name}', f'alike-done/{name}')
                          for name in ('film.mkv', 'film.avi', 'film.mkv.avi')})
        os.mkdir(self.path('several'))
        done = self.vrtctl('submit', '--json', '--codec', 'png', '-o', self.path('several') + '/',
                           *films, films[0])
        self.assertEqual([os.path.basename(json.loads(line)['output_path'])
                          for line in done.stdout.splitlines()],
                         ['film', 'film.avi', 'film.mkv', 'film.mkv.2'])
        self.vrtctl('wait', '--all')
        for folder in ('alike-done/film.avi', 'several/film.mkv.2'):
            self.assertEqual(sorted(os.listdir(self.path(folder))),
                             sorted(os.listdir(self.path('several/film'))))

    def test_series_that_are_refused(self):
        top = self.path('refused')
        os.mkdir(top)
        film = clip(os.path.join(top, 'film.mkv'))
        for arguments, status, says in (
                (('-r', film, '--output-dir', 'x'), 2, '--recursive takes one folder'),
                (('-r', top, top, '--output-dir', 'x'), 2, '--recursive takes one folder'),
                (('-r', top), 2, '--recursive needs --output-dir'),
                (('-r', top, '-o', 'x/'), 2, 'say --output-dir'),
                ((film, '--skip-done'), 2, '--skip-done goes with --recursive'),
                ((film, '--match', '*'), 2, '--match goes with --recursive'),
                (('-r', top, '--output-dir', top + '/.'), 1, 'the folder of the inputs'),
                (('-r', top, '--output-dir', film + '/x'), 1, 'Not a directory')):
            self.refused('submit', *arguments, says=says, status=status)

    def test_order_and_gaps(self):
        """2 comes before 10, as a network that sees clips has to have it."""
        source = self.frames('order', n=12, pattern='f%d.png')
        os.remove(os.path.join(source, 'f4.png'))
        with open(os.path.join(source, 'notes.txt'), 'w', encoding='utf-8') as f:
            f.write('no picture\n')
        job = self.submit(source, '--output', self.path('order.out'))
        self.assertEqual(job['frames_done'], 11)
        self.assertEqual([w for w in job['warnings'] if 'missing' in w],
                         ['1 number is missing, the first between f3.png and f5.png: the pictures '
                          'follow one another as if nothing were'])
        # By its content: the tenth in order is f11.
        film = self.path('order.out.mkv')
        self.submit(source, '--output', film, '--fps', '24', '--codec', 'ffv1')
        stream = video_stream(film)
        self.assertEqual((stream['nb_read_frames'], stream['r_frame_rate']), ('11', '24/1'))
        frames = pixels(film, 'rgb24')
        size = len(frames) // 11
        for i, number in enumerate([1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]):
            picture = pixels(self.path(f'order.out/f{number}.png'), 'rgb24')
            off = sum(abs(a - b) for a, b in zip(picture, frames[i * size:(i + 1) * size]))
            self.assertLess(off / size, 2, number)

    def test_pattern(self):
        source = self.frames('pattern', n=3, pattern='a%03d.png')
        ffmpeg('-i', os.path.join(source, 'a001.png'), os.path.join(source, 'other.png'))
        job = self.submit(os.path.join(source, 'a%03d.png'), '-o', self.path('pattern.out'))
        self.assertEqual(job['frames_done'], 3)
        self.assertEqual(sorted(os.listdir(self.path('pattern.out'))),
                         ['a001.png', 'a002.png', 'a003.png'])
        self.refused('submit', os.path.join(source, 'b%03d.png'), says='holds no picture')

    def test_names_of_the_testers(self):
        """VRT's own: a folder for each of several, PNG by the names of the inputs."""
        sources = [self.frames(f'clip{i}', n=2, pattern='%08d.png', start=0) for i in range(2)]
        os.mkdir(self.path('results'))
        self.vrtctl('submit', '--follow', '-o', self.path('results') + '/', *sources)
        for name in ('clip0', 'clip1'):
            self.assertEqual(sorted(os.listdir(self.path('results/' + name))),
                             ['00000000.png', '00000001.png'])

    def test_kinds(self):
        source = self.frames('jpegs', '-q:v', '2', n=2, pattern='%d.jpeg')
        self.submit(source, '-o', self.path('jpegs.out'))
        self.assertEqual(sorted(os.listdir(self.path('jpegs.out'))), ['1.jpeg', '2.jpeg'])
        self.submit(source, '-o', self.path('jpegs.tiffs'), '--codec', 'tiff')
        self.assertEqual(sorted(os.listdir(self.path('jpegs.tiffs'))), ['1.tiff', '2.tiff'])

    def test_transparency(self):
        """Each picture's own."""
        source = self.path('alpha')
        os.mkdir(source)
        for i in range(2):
            ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48', '-frames:v', 1, '-vf',
                   f"format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='{100 + 50 * i}'",
                   os.path.join(source, f'{i}.png'))
        self.submit(source)
        for i in range(2):
            alpha = pixels(self.path(f'alpha.restored/{i}.png'), 'rgba')[3::4]
            self.assertEqual(set(alpha), {100 + 50 * i})

    def test_video_to_folder(self):
        film = clip(self.path('film.mp4'), frames=5, audio=True)
        job = self.submit(film, '--codec', 'png', '-o', self.path('film.frames/'))
        self.assertEqual(sorted(os.listdir(self.path('film.frames'))),
                         [f'{i:08}.png' for i in range(1, 6)])
        self.assertRegex('\n'.join(self.own_warnings(job)),
                         "^a folder of pictures has no place for the video's sound[^\n]*$")
        self.restore(film, self.path('film.out.mkv'), '--codec', 'ffv1')
        self.assert_frames_alike(self.path('film.frames'), self.path('film.out.mkv'), 4)

    def test_turned_video_to_folder(self):
        film, turned = clip(self.path('upright.mp4'), frames=2), self.path('turned.mp4')
        ffmpeg('-i', film, '-c', 'copy', '-metadata:s:v', 'rotate=90', turned)
        job = self.submit(turned, '--codec', 'png', '-o', self.path('turned.frames/'))
        self.assertRegex('\n'.join(self.own_warnings(job)), r'^[^\n]*stored unturned$')
        job = self.submit(film, '--codec', 'png', '-o', self.path('upright.frames/'))
        self.assertEqual(self.own_warnings(job), [])
        self.assertEqual(*(pixels(self.path(f'{name}.frames/00000001.png'), 'rgb24')
                           for name in ('turned', 'upright')))

    def test_plan(self):
        source = self.frames('plan', n=3)
        done = self.vrtctl('submit', '--dry-run', '--json', source)
        plan = json.loads(done.stdout)
        self.assertEqual(plan['frames_total'], 3)
        self.assertFalse(os.path.exists(self.path('plan.restored')))
        # One that has no name of its own.
        self.submit(source + '/.')
        self.assertEqual(len(os.listdir(os.path.join(source, 'restored'))), 3)

    def test_refusals(self):
        source = self.frames('bad', n=3)
        full = self.frames('full', n=1)
        film, target = clip(self.path('bad-in.mp4')), self.path('bad.mp4')
        for arguments, says in (((source, '-o', full), 'holds something'),
                                ((source, '-o', source), 'folder of the input'),
                                ((source, '-o', target), '(fps)'),
                                ((source, '-o', target, '--fps', '0.0001'), 'from 0.001 on'),
                                ((film, '--fps', '24'), 'for folders of pictures'),
                                ((source, '--codec', 'vp9', '-o', self.path('vp9/')),
                                 'a folder takes pictures, not VP9'),
                                (('--start', '1', source), 'for videos'),
                                (('--duration', '1', source), 'for videos'),
                                (('--streams', 'a', source), 'no streams to choose from')):
            self.refused('submit', *arguments, says=says)
        self.assertFalse(os.path.exists(self.path('bad.restored')))
        os.symlink('/etc/hostname', os.path.join(source, '0009.png'))
        self.refused('submit', source, says='0009.png')
        os.remove(os.path.join(source, '0009.png'))
        # What was left of a picture that was being written stands in nobody's way.
        shutil.copy(os.path.join(source, '0002.png'), os.path.join(full, '.0001.png.part'))
        self.submit(source, '-o', full, '--overwrite')
        self.assertEqual(sorted(os.listdir(full)), sorted(os.listdir(source)))

    def test_unlike_pictures(self):
        """Known before anything is restored."""
        source = self.frames('unlike', n=30)
        other = os.path.join(source, '0023.png')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=32x32', '-frames:v', 1, other)
        self.refused('submit', source, says='0023.png is 32x32')
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=64x48', '-frames:v', 3, '-f', 'apng', other)
        self.refused('submit', source, says='0023.png is a video')
        os.remove(other)
        os.symlink('0022.png', other)
        self.refused('submit', source, says='a symbolic link, which vrtd doesn\'t follow')
        os.remove(other)
        for how in ('field', 'frame', 'telecine'):
            self.refused('submit', '--deinterlace', how, source, says='deinterlaced')
        self.assertFalse(os.path.exists(self.path('unlike.restored')))

    def test_damaged_picture(self):
        """The one before it once more, as in a damaged video, and said; unless strict."""
        source = self.frames('broken', n=4)
        good = self.path('broken.good')
        self.submit(source, '-o', good)
        damaged = os.path.join(source, '0003.png')
        os.truncate(damaged, os.path.getsize(damaged) // 2)
        self.refused('submit', '--strict', source, says='0003.png is damaged')
        said = ['0003.png is damaged: the picture before it stands in its place',
                'what else the files of damaged pictures hold (EXIF, a colour profile, '
                'transparency) is left out']
        for ending, options, n in (('', (), 2), ('.mkv', ('--fps', '25', '--codec', 'ffv1'), 1)):
            job = self.submit(source, '-o', self.path('broken.out' + ending), *options)
            self.assertEqual((job['frames_done'], self.own_warnings(job)), (4, said[:n]))
        for name, shows in (('0002.png', '0002.png'), ('0003.png', '0002.png'),
                            ('0004.png', '0004.png')):
            self.assertEqual(pixels(self.path('broken.out/' + name), 'rgb24'),
                             pixels(os.path.join(good, shows), 'rgb24'))
        os.truncate(os.path.join(source, '0001.png'), 70)
        self.refused('submit', source, says='0001.png is damaged')

    def test_changes_meanwhile(self):
        """A picture that changes before it is read ends the job; what else comes into the folder
        doesn't, the results of others among it."""
        source = self.frames('changes', n=60, size='160x120')
        for change, state in (('none', 'done'), ('picture', 'failed')):
            target = self.path('changes.' + change)
            job = json.loads(self.vrtctl('submit', '--json', '-o', target, source).stdout)['id']
            self.wait_until(lambda job=job: self.daemon.job(job)['frames_done'])
            if change == 'none':
                os.mkdir(os.path.join(source, 'results'))
            else:
                with open(os.path.join(source, '0060.png'), 'r+b') as f:
                    f.write(b'\x89')
            self.vrtctl('wait', job, status=None)
            job = self.daemon.job(job)
            self.assertEqual(job['state'], state, job['error'])
        self.assertIn('0060.png was changed after the job was submitted', job['error']['message'])
        self.assertNotIn('0060.png', os.listdir(target))

    def test_pictures_of_others(self):
        """What somebody puts into the folder of the results meanwhile stays, and is said; what the
        job wrote itself before it was tried again is no hindrance."""
        source, target = self.frames('others', n=60, size='160x120'), self.path('others.restored')
        job = json.loads(self.vrtctl('submit', '--json', source).stdout)['id']
        self.wait_until(lambda: self.daemon.job(job)['frames_done'])
        theirs = os.path.join(target, '0030.png')
        with open(theirs, 'w', encoding='utf-8') as f:
            f.write('precious')
        for _ in range(2):
            self.vrtctl('wait', job, status=1)
            failed = self.daemon.job(job)
            self.assertIn('0030.png came into the folder of the results meanwhile',
                          failed['error']['message'])
            with open(theirs, encoding='utf-8') as f:
                self.assertEqual(f.read(), 'precious')
            self.assertEqual(len(os.listdir(target)), 30)
            self.vrtctl('retry', job)
        self.vrtctl('wait', job, status=1)
        self.vrtctl('retry', '--overwrite', job)
        self.vrtctl('wait', job)
        self.assertEqual(sorted(os.listdir(target)), sorted(os.listdir(source)))
        self.assertEqual(video_stream(theirs)['width'], 320)


@unittest.skipIf(os.geteuid() != 0, 'only root can be several users')
class OtherUsers(harness.FolderCase):
    """A daemon of one user, a folder of another's: both must be allowed."""

    DAEMON, USER, STRANGER = 61001, 61002, 61003

    @staticmethod
    def as_user(uid, *command):
        return ['setpriv', f'--reuid={uid}', f'--regid={uid}', '--clear-groups', *command]

    def submit(self, daemon, uid, *arguments):
        return harness.subprocess.run(
            self.as_user(uid, harness.VRTCTL, '--socket', daemon.socket, 'submit', '--follow',
                         *arguments), text=True, capture_output=True,
            timeout=harness.PATIENCE_S, stdin=harness.subprocess.DEVNULL)

    def make_folder(self, path, mode):
        os.mkdir(path)
        os.chown(path, self.USER, self.USER)
        os.chmod(path, mode)
        return path

    def let_in(self, path, uid):
        """As setfacl -m u:UID:rwx does."""
        everyone = 0xffffffff
        entries = [(1, 7, everyone), (2, 7, uid), (4, 0, everyone), (0x10, 7, everyone),
                   (0x20, 0, everyone)]
        try:
            os.setxattr(path, 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(
                struct.pack('<HHI', *entry) for entry in entries))
        except OSError:         # the file system has no lists
            os.chmod(path, 0o777)

    def test_rights(self):
        os.chmod(self.folder, 0o777)
        home = self.make_folder(self.path('home'), 0o700)
        source = self.make_folder(home + '/in', 0o755)
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=32x24', '-frames:v', 2, source + '/%d.png')
        daemon = harness.Daemon(self.folder, prefix=self.as_user(self.DAEMON))
        self.addCleanup(daemon.stop)
        os.chmod(daemon.socket, 0o666)
        target = self.make_folder(home + '/out', 0o700)
        done = self.submit(daemon, self.USER, '-o', target, source)
        self.assertIn('may not make files in this folder', done.stderr)
        self.let_in(target, self.DAEMON)
        done = self.submit(daemon, self.USER, '-o', target, source)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = harness.subprocess.run(self.as_user(self.USER, 'cat', target + '/1.png'),
                                      capture_output=True)
        self.assertEqual(read.stdout[1:4], b'PNG')
        # Who may list a folder may not read by way of the daemon what it alone may.
        os.chmod(home, 0o755)
        secret = source + '/2.png'
        os.chown(secret, self.DAEMON, self.DAEMON)
        os.chmod(secret, 0o600)
        stolen = self.make_folder(self.path('stolen'), 0o777)
        os.chown(stolen, self.STRANGER, self.STRANGER)
        done = self.submit(daemon, self.STRANGER, '-o', stolen, source)
        self.assertIn('2.png: you may not open it', done.stderr)
        self.assertEqual(daemon.stop(), 0)


class Interrupted(harness.FolderCase):
    """A crash at any time leaves a job that goes on to the same bytes."""

    def test_killed_and_resumed(self):
        n = 160
        source = self.path('in')
        os.mkdir(source)
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=32x24:rate=25', '-frames:v', n,
               os.path.join(source, '%04d.png'))
        config = {'cpu': {'devices': 1, 'threads': 1}, 'jobs': {'segment_frames': 16},
                  **harness.SLOW}
        daemon = harness.Daemon(self.folder, config)

        def vrtctl(*arguments):
            return harness.subprocess.run(
                [harness.VRTCTL, '--socket', daemon.socket, '--json', *arguments], text=True,
                check=True, capture_output=True, timeout=harness.PATIENCE_S).stdout

        vrtctl('submit', '--follow', '-o', self.path('whole'), source)
        for attempt in itertools.count():
            target = self.path(f'out{attempt}')
            job = json.loads(vrtctl('submit', '-o', target, source))['id']
            for segments in (2, 5):
                while daemon.job(job)['segments_done'] < segments:
                    harness.time.sleep(0.02)
                daemon.kill()
                daemon = harness.Daemon(self.folder, config)
                vrtctl('resume', str(job))
            # While they are written, too; that may be over before it is seen.
            while not os.listdir(target):
                harness.time.sleep(0.001)
            daemon.kill()
            daemon = harness.Daemon(self.folder, config)
            if len(os.listdir(target)) < n:
                break
        vrtctl('resume', str(job))
        vrtctl('wait', str(job))
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(sorted(os.listdir(target)), sorted(os.listdir(source)))
        for name in os.listdir(target):
            self.assertEqual(digest(os.path.join(target, name)),
                             digest(self.path('whole/' + name)), name)


if __name__ == '__main__':
    harness.main()
