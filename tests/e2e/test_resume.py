#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much of a video is decoded once more by a job that goes on: by the decode thread's own count,
in the log."""
import os
import re

import harness
from harness import clip, digest
from test_crash import CONFIG, FRAMES, SIZE, Crashes

# Frames from key frame to key frame, and what a decoder takes in hand beside what is asked of it.
GROUP, IN_HAND = 10, 24

GOES_ON = re.compile(r'decoding goes on at frame (\d+)')
DECODED = re.compile(r'(\d+) pictures of its input were decoded')


class Resumes(Crashes):
    def killed_halfway(self, source, target, *options):
        """A job whose daemons are killed when some of it is stored, and when more of it is: what
        the log of the last one says. What comes of it is what it would have been."""
        wanted = self.undisturbed(CONFIG, source, self.path('wanted.mkv'), *options)[0]
        self.start(CONFIG)
        job = self.submit(source, target, *options)
        for n_stored in 2, 5:
            self.until(job, lambda j, n=n_stored: j['segments_done'] >= n)
            self.kill_after(0)
            n_log = self.n_log
            self.start(CONFIG)
        self.until_state(job, 'done')
        self.assertEqual(digest(target), wanted, self.daemon.log_text())
        said = self.daemon.log_text()[n_log:]
        self.finish()
        return said

    def test_killed_decodes_little(self):
        """What is decoded a second time is two groups of pictures at most, whatever refers to
        what; where nobody knows that the rest would be the same it is all."""
        known = ('-g', GROUP)
        joined, damaged = self.path('joined.ts'), self.path('damaged.ts')
        part = clip(self.path('part.ts'), '-c:v', 'mpeg2video', '-bf', 2, *known, size=SIZE,
                    frames=FRAMES // 2)
        with open(part, 'rb') as f:
            data = f.read()
        with open(joined, 'wb') as f:
            f.write(data + data)
        with open(damaged, 'wb') as f:
            f.write(data[:-len(data) // 4] + bytes(400) + data[400 - len(data) // 4:] + data)
        # With threads x265 3.5 spoils its heap at this size, where it uses AVX-512.
        hevc = f'keyint={GROUP}:open-gop=1:log-level=0:pools=none'
        for name, *encoder in (
                ('b.mp4', 'libx264', '-bf', 3, *known),
                ('open.mkv', 'libx264', '-x264-params', f'open-gop=1:keyint={GROUP}:bframes=3'),
                ('hevc.mkv', 'libx265', '-x265-params', hevc),
                ('vp9.webm', 'libvpx-vp9', '-cpu-used', 8, '-lag-in-frames', 8, *known),
                ('mpeg2.ts', 'mpeg2video', '-bf', 2, *known),
                ('vfr.mkv', 'libx264', '-vf', "setpts='N/25/TB+floor(N/7)*0.013/TB'", '-fps_mode',
                 'passthrough', '-bf', 2, *known)):
            source = clip(self.path(name), '-c:v', *encoder, frames=FRAMES, size=SIZE)
            said = self.killed_halfway(source, self.path('of-' + name + '.mkv'))
            first = int(GOES_ON.search(said).group(1))
            self.assertGreater(first, 5 * 16 - GROUP)
            self.assertLessEqual(int(DECODED.search(said).group(1)),
                                 FRAMES - first + 2 * GROUP + IN_HAND, f'{name}\n{said}')
        for source in joined, damaged:
            self.killed_halfway(source, self.path('of-' + os.path.basename(source) + '.mkv'))


if __name__ == '__main__':
    harness.main()
