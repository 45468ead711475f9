#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good models are: natural clips are halved, enlarged again, and compared with what they were.

bench-quality.py [--build DIR] [--model NAME|FILE]... CLIP...

Each clip's first frames are reduced to half their sides by ffmpeg's bicubic filter, without loss.
vrtd enlarges them: plainly (--strength 0, bicubic), with the built-in network, with half of its
strength, and with each model that is named, whose result becomes twice the sides whatever its
scale. `vrtctl compare` then tells PSNR and SSIM, of luma and of RGB, without 8 pixels at each edge.
docs/models.md keeps what came of it.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time


def ffmpeg(*arguments):
    subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-y', *map(str, arguments)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', default='build')
    parser.add_argument('--model', action='append', default=[])
    parser.add_argument('--frames', type=int, default=24)
    parser.add_argument('clips', nargs='+', metavar='CLIP')
    args = parser.parse_args()
    kinds = [('bicubic', ['--strength', '0']), ('built-in', []),
             ('built-in, strength 0.5', ['--strength', '0.5'])]
    kinds += [(os.path.basename(m), ['--model', m, '--scale', '2']) for m in args.model]
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, 'vrtd.sock')
        path = os.path.join(folder, '').__add__

        def vrtctl(*arguments):
            return subprocess.run([os.path.join(args.build, 'client', 'vrtctl'), '--socket', socket,
                                   *map(str, arguments)], check=True, capture_output=True,
                                  text=True).stdout

        with subprocess.Popen([os.path.join(args.build, 'daemon', 'vrtd'), '--socket', socket,
                               '--state-dir', path('state')],
                              stderr=subprocess.DEVNULL) as daemon:
            try:
                while not os.path.exists(socket):
                    time.sleep(0.1)
                print('| clip | how | PSNR Y | PSNR RGB | SSIM Y |')
                print('| --- | --- | --- | --- | --- |')
                for clip in args.clips:
                    judge(clip, args.frames, kinds, path, vrtctl)
            finally:
                daemon.terminate()


def judge(clip, frames, kinds, path, vrtctl):
    truth, small, large = path('truth.mkv'), path('small.mkv'), path('large.mkv')
    ffmpeg('-i', clip, '-frames:v', frames, '-an', '-sn', '-vf',
           "crop='floor(iw/4)*4':'floor(ih/4)*4',format=yuv420p", '-c:v', 'ffv1', truth)
    ffmpeg('-i', truth, '-vf', 'scale=iw/2:ih/2:flags=bicubic+accurate_rnd', '-c:v', 'ffv1', small)
    for name, options in kinds:
        vrtctl('submit', '--follow', '--overwrite', '--codec', 'ffv1', '-o', large, *options, small)
        found = json.loads(vrtctl('compare', '--json', '--crop', 8, truth, large))
        print(f'| {os.path.basename(clip)} | {name} | {found["psnr_y"]:.2f} | '
              f'{found["psnr_rgb"]:.2f} | {found["ssim_y"]:.4f} |', flush=True)


if __name__ == '__main__':
    main()
