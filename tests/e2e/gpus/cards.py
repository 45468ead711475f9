# SPDX-License-Identifier: MIT
"""What tests with devices of software share: films, and daemons that have such devices.

VRTD_IMAGE_WEIGHTS is the folder of the golden checkpoints of networks of single pictures.
"""
import os
import subprocess

import harness

COMPACT_X4 = os.path.join(os.environ.get('VRTD_IMAGE_WEIGHTS', ''), 'compact-x4.pth')


def film(path, frames, size='24x24'):
    """A small video of which no two frames are alike."""
    return harness.clip(path, '-vf', 'noise=c0s=40:c0f=t:all_seed=6', '-c:v', 'ffv1',
                        frames=frames, size=size)


def frames(path):
    """Each frame's time and the digest of its pixels."""
    done = subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-i', path, '-map', '0:v:0',
                           '-fps_mode', 'passthrough', '-f', 'framemd5', '-'], check=True,
                          capture_output=True, text=True, timeout=harness.PATIENCE_S)
    lines = [line.split(',') for line in done.stdout.splitlines() if not line.startswith('#')]
    return [(int(pts), md5.strip()) for _, _, pts, _, _, md5 in lines]


class Case(harness.Case):
    """Two cards, and daemons beside that have other luck. A subclass says what environment(**more)
    a daemon has, `more` being added to it."""

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=cls.environment(), **options)

    def start(self, name, config=None, fault='', **more):
        """One more daemon, or one of that name once more, with more in its environment."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        daemon = harness.Daemon(folder, env=self.environment(**more), config=config or {},
                                fault=fault)
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

    def ends_well(self, daemon):
        self.assertEqual(daemon.stop(), 0, daemon.log_text())
