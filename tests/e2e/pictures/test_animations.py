#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Results that are GIF and APNG: pixels, times, how often they are played, transparency."""
import re
import struct

import harness
from harness import clip, ffmpeg, pixels, timestamps, video_stream
from test_pictures import read


def chunks(path, kind):
    found, data, at = [], read(path), 8
    while at < len(data):
        size, name = struct.unpack('>I4s', data[at:at + 8])
        found += [data[at + 8:at + 8 + size]] if name == kind else []
        at += 12 + size
    return found


class Animations(harness.Case):
    # Files are compared: in one precision, however fast each was when it was measured.
    config = {'jobs': {'precision': 'f32'}}
    few_jobs = True

    def animation(self, target, *options, name='in.mkv', **more):
        """Of a video of 12 frames, 64x48."""
        source = clip(self.path(name), *options, frames=12, **more)
        self.job = self.restore(source, self.path(target), '--overwrite')
        return self.path(target)

    def test_animations(self):
        """A GIF has the pixels that ffmpeg makes of the same pictures with its filters for that,
        and all of them are there, at their times."""
        for kind, options in (('color', ()), ('gray', ('-pix_fmt', 'gray')),
                              ('deep', ('-pix_fmt', 'yuv420p10le'))):
            with self.subTest(kind=kind):
                options = ('-c:v', 'ffv1', *options)
                plain = self.animation('plain.apng', *options)
                reduced = self.animation('reduced.gif', *options)
                ffmpeg('-i', plain, '-lavfi',
                               'split[a][b];[a]palettegen[p];[b][p]paletteuse',
                               self.path('wanted.gif'))
                # Of deep ones vrtd rounds to 8 bits, and ffmpeg cuts off.
                if kind != 'deep':
                    self.assertEqual(pixels(reduced, 'bgra'),
                                     pixels(self.path('wanted.gif'), 'bgra'))
                for path in plain, reduced:
                    self.assertEqual(video_stream(path)['nb_read_frames'], '12')
                    for i, time in enumerate(timestamps(path)):
                        self.assertAlmostEqual(time, i / 25, places=4)
        self.assertEqual(video_stream(plain)['pix_fmt'], 'rgb48be')
        # Nothing is lost on the way to an APNG.
        self.animation('plain.apng', '-c:v', 'ffv1')
        self.restore(self.path('in.mkv'), self.path('same.mkv'), '--codec', 'ffv1', '--pix-fmt',
                     'gbrp')
        self.assertEqual(pixels(self.path('plain.apng'), 'rgb24'),
                         pixels(self.path('same.mkv'), 'rgb24'))

    def test_times_of_animations(self):
        """A third of a tick is rounded, but never away; the last frame stays as long as it did."""
        path = self.animation('a.gif', '-c:v', 'ffv1', rate=30)
        [warning] = self.own_warnings(self.job)
        self.assertIn('hundredths', warning)
        self.assertEqual([round(t * 100) for t in timestamps(path)],
                         [round(i * 100 / 30 + 1e-6) for i in range(12)])
        path = self.animation('b.apng', '-c:v', 'ffv1', rate='30000/1001', name='in.nut')
        self.assertEqual([struct.unpack('>HH', body[20:24]) for body in chunks(path, b'fcTL')],
                         [(1001, 30000)] * 12)

    def test_uneven_times(self):
        """Numbers of an APNG's times have 16 bits, and the last frame is shown as long as the
        others. A GIF's frames that come too soon are shown later, and the job says so."""
        for ticks in 3331, 100000:
            path = self.animation('a.apng', '-bf', '0', '-video_track_timescale', '90000',
                                  rate=f'90000/{ticks}', name='in.mp4')
            times = [struct.unpack('>HH', body[20:24]) for body in chunks(path, b'fcTL')]
            self.assertEqual(len(times), 12)
            for num, den in times:
                self.assertAlmostEqual(num / den, ticks / 90000, places=6)
        path = self.animation('b.gif', '-vf',
                              "settb=1/1000,setpts='if(lt(N,6),N*100,600+(N-6)*5)'", '-fps_mode',
                              'passthrough', '-enc_time_base', '1/1000', '-c:v', 'ffv1')
        self.assertIn('5 frames follow others too soon', ' '.join(self.own_warnings(self.job)))
        self.assertEqual([round(t * 100) for t in timestamps(path)],
                         [0, 10, 20, 30, 40, 50, 60, 62, 64, 66, 68, 70])

    def test_loops(self):
        """How often an animation is played stays: 0 is for ever."""
        for plays in 0, 1, 3:
            loop = {0: 0, 1: -1, 3: 2}[plays]
            path = self.animation(f'of-gif-{plays}.apng', '-loop', str(loop), name='in.gif')
            [count] = chunks(path, b'acTL')
            self.assertEqual(struct.unpack('>II', count), (12, plays))
            for name, options in (('in.gif', ('-loop', str(loop))),
                                  ('in.apng', ('-plays', str(plays), '-f', 'apng'))):
                path = self.animation(f'{name}-{plays}.gif', *options, name=name)
                found = re.search(rb'NETSCAPE2\.0\x03\x01(..)', read(path), re.DOTALL)
                self.assertEqual(found and struct.unpack('<H', found[1])[0],
                                 None if loop < 0 else loop)

    def test_transparent_animations(self):
        """A GIF's is there or not, an APNG's as it was."""
        see_through = "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='if(lt(X,32),0,255)'"
        for target, kept in (('t.gif', 'bgra'), ('t.apng', 'rgba')):
            path = self.animation(target, '-vf', see_through, '-f', 'apng', name='in.apng')
            self.assertEqual(video_stream(path)['pix_fmt'], kept)
            alpha = pixels(path, 'rgba')[3::4]
            for i in range(0, len(alpha), 128):
                self.assertEqual(alpha[i:i + 60] + alpha[i + 68:i + 128], bytes(60) + b'\xff' * 60)


if __name__ == '__main__':
    harness.main()
