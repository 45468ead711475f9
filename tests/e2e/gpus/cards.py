# SPDX-License-Identifier: MIT
"""What tests with devices of software share: films, and daemons that have such devices.

VRTD_IMAGE_WEIGHTS is the folder of the golden checkpoints of networks of single pictures.
"""
import os

import harness

COMPACT_X4 = os.path.join(os.environ.get('VRTD_IMAGE_WEIGHTS', ''), 'compact-x4.pth')


def film(path, frames, size='24x24'):
    """A small video of which no two frames are alike."""
    return harness.clip(path, '-vf', 'noise=c0s=40:c0f=t:all_seed=6', '-c:v', 'ffv1',
                        frames=frames, size=size)


def frames(path):
    """Each frame's time and the digest of its pixels."""
    told = harness.said('ffmpeg', [], path, ['-map', '0:v:0', '-fps_mode', 'passthrough', '-f',
                                             'framemd5', '-'])
    lines = [line.split(',') for line in told.decode().splitlines() if line[:1] != '#']
    return [(int(pts), md5.strip()) for _, _, pts, _, _, md5 in lines]


class Case(harness.Case):
    """Two cards, and daemons beside that have other luck. A subclass says of which kind they are,
    and what environment(**more) a daemon has, `more` being added to it."""

    kind = None

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=cls.environment(), **options)

    def start(self, name, config=None, fault='', **more):
        """One more daemon, or one of that name once more, with more in its environment."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        daemon = harness.Daemon(folder, env=self.environment(**more), config=config or {},
                                fault=fault, small=self.small)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def devices(self, daemon=None):
        """Once every device has been opened."""
        def list_devices():
            return (daemon or self.daemon).request('GET', '/v1/devices')[1]['devices']
        self.wait_until(lambda: all(d['state'] != 'starting' for d in list_devices()))
        return list_devices()

    def await_log(self, daemon, text, n=1):
        """Until the daemon has logged the text so often."""
        self.wait_until(lambda: daemon.log_text().count(text) >= n)

    def jobs_agree(self, daemon, name, precision='f32', devices=None):
        """The same film by the first card of the well, once for all, and by devices of `daemon`,
        its first two if no others are named. Return: the latter's job."""
        source, target = film(self.path(name + '.mkv'), 20), self.path(name + '-out.mkv')
        alone = self.path(f'alone-{precision}.mkv')
        options = ('--precision', precision, '--codec', 'ffv1')
        if not os.path.exists(alone):
            job = self.follow(source, alone, '--device', f'{self.kind}:0', *options)
            self.assertEqual([d['name'] for d in job['devices']], [f'{self.kind}:0'])
        both = self.follow(source, target, '--device',
                           devices or f'{self.kind}:0,{self.kind}:1', *options, daemon=daemon)
        self.assertEqual(both['state'], 'done')
        self.assertEqual(sum(d['frames_done'] for d in both['devices']), 20)
        self.same_files(target, alone)
        return both

    def same_files(self, target, wanted):
        """To the byte; where they aren't, which frames are others is told."""
        if harness.digest(target) != harness.digest(wanted):
            self.assertEqual(frames(target), frames(wanted))
            self.fail(f'{target} has the frames of {wanted}, and other bytes')

    def ends_well(self, daemon):
        self.assertEqual(daemon.stop(), 0, daemon.log_text())
