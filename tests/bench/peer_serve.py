#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What bench-peers.py holds ours against and isn't PyTorch: ncnn, ONNX Runtime, OpenVINO.

usage: peer_serve.py ncnn|onnxruntime|openvino
       peer_serve.py clip torch|openvino MODE FILE INPUT OUTPUT WIDTH HEIGHT RATE PRESET CRF

The first runs networks on request, as torch_serve.py does. A request has "mode" ("f32", "bf16"),
"file" (the network: .onnx, or for ncnn without .param and .bin), "input", "output" (arrays
[1,C,H,W] of NumPy's) and "runs". A network stays until another is asked for.

The second is what one writes who has ffmpeg and such a library, and a video to restore: ffmpeg
decodes, each frame goes through the network, ffmpeg encodes. FILE is a .safetensors of a compact
network x4 for torch (MODE may end in "-compile"), an .onnx for openvino.

Both compute with as many threads as there are cores for them.
"""
import importlib
import json
import os
import subprocess
import sys
import time

import numpy

CORES = len(os.sched_getaffinity(0))


class Ncnn:
    def __init__(self):
        self.library = importlib.import_module('ncnn')

    def load(self, path, mode):
        """Gives a function from an array [1,C,H,W] to one."""
        net = self.library.Net()
        net.opt.num_threads = CORES
        net.opt.use_vulkan_compute = False
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.opt.use_bf16_storage = net.opt.use_bf16_packed = mode == 'bf16'
        if net.load_param(path + '.param') or net.load_model(path + '.bin'):
            raise ValueError(f'ncnn cannot load {path}')

        def run(x):
            extractor = net.create_extractor()
            # A copy: a Mat of an array refers to it, with rows that aren't as ncnn aligns them.
            extractor.input('data', self.library.Mat(x[0]).clone())
            failed, y = extractor.extract('output')
            if failed:
                raise RuntimeError('ncnn failed')
            return numpy.array(y)[None]
        return run


class OnnxRuntime:
    def __init__(self):
        self.library = importlib.import_module('onnxruntime')

    def load(self, path, mode):
        if mode != 'f32':
            raise ValueError('its CPU provider has no convolutions in bf16')
        options = self.library.SessionOptions()
        options.intra_op_num_threads = CORES
        session = self.library.InferenceSession(path, options, providers=['CPUExecutionProvider'])
        name = session.get_inputs()[0].name
        return lambda x: session.run(None, {name: x})[0]


class OpenVino:
    def __init__(self):
        self.library = importlib.import_module('openvino')

    def load(self, path, mode):
        core = self.library.Core()
        if mode == 'bf16' and 'BF16' not in core.get_property('CPU', 'OPTIMIZATION_CAPABILITIES'):
            raise ValueError('it has no bf16 on this processor')
        model = core.compile_model(path, 'CPU', {
            'INFERENCE_PRECISION_HINT': mode, 'INFERENCE_NUM_THREADS': CORES,
            'PERFORMANCE_HINT': 'LATENCY'})
        request = model.create_infer_request()
        return lambda x: request.infer({0: x})[model.output(0)]


class Torch:
    """For the clip alone: networks on request are torch_serve.py's."""

    def load(self, path, mode):
        import torch        # pylint: disable=import-outside-toplevel
        import torch_serve  # pylint: disable=import-outside-toplevel
        torch.set_num_threads(CORES)
        server = torch_serve.Server('cpu')
        server.prepare('compact', mode, path)
        dtype = server.dtype(mode)

        def run(x):
            with torch.no_grad():
                return server.network(server.lay(torch.from_numpy(x), dtype)).float().numpy()
        return run


PEERS = {'ncnn': Ncnn, 'onnxruntime': OnnxRuntime, 'openvino': OpenVino}


# Networks on request


class Server:
    def __init__(self, peer):
        self.peer, self.key, self.run = peer, None, None

    def answer(self, request):
        key = request['file'], request['mode']
        if self.key != key:
            self.key, self.run = None, None
            self.run = self.peer.load(*key)
            self.key = key
        x = numpy.load(request['input'])
        y, first_s = self.timed(x)
        numpy.save(request['output'], y)
        del y
        return {'first_s': first_s, 'seconds': [self.timed(x)[1] for _ in range(request['runs'])]}

    def timed(self, x):
        started = time.monotonic()
        y = self.run(x)
        return y, time.monotonic() - started


def serve(name):
    peer = PEERS[name]()
    print(json.dumps({'version': peer.library.__version__}), flush=True)
    server = Server(peer)
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        # Whatever a library may throw: the next request may do.
        except Exception as error:      # pylint: disable=broad-except
            answer = {'error': ' '.join(str(error).split())[:300]}
        print(json.dumps(answer), flush=True)


# A clip


def restore(run, arguments, width, height):
    """From decoder to encoder, frame by frame."""
    source, target, rate, preset, crf = arguments
    ffmpeg = ['ffmpeg', '-v', 'error', '-nostdin', '-y']
    raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24']
    with subprocess.Popen([*ffmpeg, '-i', source, *raw, '-'], stdout=subprocess.PIPE) as decoder, \
            subprocess.Popen([*ffmpeg, *raw, '-s', f'{4 * width}x{4 * height}', '-r', rate, '-i',
                              '-', '-c:v', 'libx264', '-preset', preset, '-crf', crf, '-pix_fmt',
                              'yuv420p', target], stdin=subprocess.PIPE) as encoder:
        while data := decoder.stdout.read(3 * width * height):
            frame = numpy.frombuffer(data, 'u1').reshape(height, width, 3)
            x = numpy.ascontiguousarray(frame.transpose(2, 0, 1)[None], 'f4') / 255
            y = (run(x)[0].transpose(1, 2, 0) * 255).round().clip(0, 255).astype('u1')
            encoder.stdin.write(y.tobytes())
        encoder.stdin.close()
        if decoder.wait() or encoder.wait():
            raise RuntimeError('ffmpeg failed')


def main(argv):
    if len(argv) == 2 and argv[1] in PEERS:
        serve(argv[1])
    elif len(argv) == 12 and argv[1] == 'clip':
        peer, mode, path, source, target, width, height, *rest = argv[2:]
        run = {'torch': Torch, 'openvino': OpenVino}[peer]().load(path, mode)
        restore(run, [source, target, *rest], int(width), int(height))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(sys.argv)
