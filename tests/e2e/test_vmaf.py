#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl compare --vmaf with a real ffmpeg: the figures are those of its filter by itself.

The program is that of PyPI's package imageio-ffmpeg (BSD-2-Clause; the program GPL-3.0), of which
nothing is kept. Where PyPI or pip isn't there, the test is skipped, and says so.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import harness
import pypi
from harness import clip, ffmpeg

FFMPEG = 'imageio-ffmpeg==0.6.0'
KEYS = {'vmaf': 'mean', 'vmaf_harmonic_mean': 'harmonic_mean', 'vmaf_min': 'min'}


class Vmaf(harness.Case):
    few_jobs = True
    program = None

    def by_filter(self, distorted, reference):
        """What the filter logs of two files whose frames have the same times."""
        log = self.path('log.json')
        subprocess.run([self.program, '-nostdin', '-v', 'error', '-i', distorted, '-i', reference,
                        '-lavfi', f'libvmaf=log_fmt=json:log_path={log}', '-f', 'null', '-'],
                       check=True, timeout=harness.PATIENCE_S)
        with open(log, encoding='utf-8') as f:
            return json.load(f)

    def expect(self, log, *arguments):
        path = f'{os.path.dirname(self.program)}:{os.environ["PATH"]}'
        found = json.loads(self.vrtctl('compare', '--vmaf', '--json', *arguments, PATH=path).stdout)
        for ours, theirs in KEYS.items():
            self.assertAlmostEqual(found[ours], log['pooled_metrics']['vmaf'][theirs], 5, ours)
        scores = [f['metrics']['vmaf'] for f in log['frames']]
        self.assertEqual(len(found['frames']), len(scores))
        for frame, score in zip(found['frames'], scores):
            self.assertAlmostEqual(frame['vmaf'], score, 5)
        self.assertEqual(found['vmaf_worst_s'],
                         found['frames'][scores.index(min(scores))]['time_s'])
        return found['vmaf']

    def test_as_filter(self):
        truth, bad = self.path('-i http:truth.mp4'), self.path('bad,[x]=\'%d.mkv')
        clip(self.path('truth.mp4'), '-c:v', 'libx264', '-qp', '4', '-pix_fmt', 'yuv420p',
             source='mandelbrot', size='320x180', frames=20, rate=25)
        os.rename(self.path('truth.mp4'), truth)
        ffmpeg('-i', f'file:{truth}', '-c:v', 'libx264', '-qp', '38', '-bf', '2', f'file:{bad}')
        far = self.expect(self.by_filter(f'file:{bad}', f'file:{truth}'), truth, bad)
        same = self.expect(self.by_filter(f'file:{truth}', f'file:{truth}'), truth, truth)
        self.assertLess(far, same - 10)
        # Which is measured by which matters.
        log = self.by_filter(f'file:{truth}', f'file:{bad}')
        self.assertGreater(abs(self.expect(log, bad, truth) - far), 1)
        # Frames are paired by their number.
        ffmpeg('-itsoffset', '2', '-i', f'file:{bad}', '-c', 'copy', self.path('late.mkv'))
        self.assertAlmostEqual(self.expect(self.by_filter(f'file:{bad}', f'file:{truth}'), truth,
                                           self.path('late.mkv')), far, 5)
        # An odd crop is exact: chroma, which isn't cropped so in 4:2:0, doesn't count.
        small = [self.path('small.mkv'), self.path('small.bad.mkv')]
        for source, target in zip((truth, bad), small):
            ffmpeg('-i', f'file:{source}', '-vf', 'format=yuv444p,crop=iw-6:ih-6:3:3', '-c:v',
                   'ffv1', target)
        self.expect(self.by_filter(small[1], small[0]), '--crop', 3, truth, bad)
        clip(self.path('tiny.mkv'), '-c:v', 'ffv1', size='32x32', frames=3)
        self.expect(self.by_filter(self.path('tiny.mkv'), self.path('tiny.mkv')),
                    self.path('tiny.mkv'), self.path('tiny.mkv'))


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            pypi.install(folder, FFMPEG)
            found = glob.glob(os.path.join(folder, 'imageio_ffmpeg', 'binaries', 'ffmpeg-*'))
            Vmaf.program = os.path.join(folder, 'ffmpeg')
            os.symlink(found[0], Vmaf.program)
            told = subprocess.run([Vmaf.program, '-v', 'error', '-filters'], check=True,
                                  capture_output=True, text=True).stdout
            if ' libvmaf ' not in told:
                raise pypi.Absent(f'the ffmpeg of {FFMPEG} has no libvmaf on this kind of machine')
        except pypi.Absent as reason:
            print(f'skipped: {reason}')
            sys.exit(77)
        harness.main()


if __name__ == '__main__':
    main()
