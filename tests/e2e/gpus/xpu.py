# SPDX-License-Identifier: MIT
"""What tests with XPU devices share: daemons whose GPUs are made of software.

VRTD_XPU_DRIVER is the driver in the place of Intel's (tests/simulators/xpu), VRT_XPU_CACHE where it
keeps what it compiled, VRTD_IMAGE_WEIGHTS the folder of the golden checkpoints of networks
of single pictures. A daemon that uses the driver against the specification doesn't end well.
"""
import os
import subprocess

import harness

DRIVER = os.environ.get('VRTD_XPU_DRIVER', '')
COMPACT_X4 = os.path.join(os.environ.get('VRTD_IMAGE_WEIGHTS', ''), 'compact-x4.pth')


def environment(**more):
    """Of a daemon whose GPUs are the driver's: two, unless it is told."""
    env = os.environ | {'ZE_ENABLE_ALT_DRIVERS': DRIVER, 'VRT_XPU_DEVICES': '2'} | more
    if 'ZE_AFFINITY_MASK' not in more:
        env.pop('ZE_AFFINITY_MASK', None)
    return env


def figures(path):
    """What the driver counted, in its report of a process: by card and name."""
    with open(path, encoding='utf-8') as f:
        return {tuple(line.split()[:2]): int(line.split()[2]) for line in f}


def film(path, frames, size='32x32'):
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
    """Two cards, and daemons beside that have other luck."""

    @classmethod
    def start_daemon(cls, folder, **options):
        return super().start_daemon(folder, env=environment(), **options)

    def start(self, name, config=None, fault='', **more):
        """One more daemon, or one of that name once more, with more in its environment."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        daemon = harness.Daemon(folder, env=environment(**more), config=config or {}, fault=fault)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def job(self, daemon, number):
        return daemon.request('GET', f'/v1/jobs/{number}')[1]

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
