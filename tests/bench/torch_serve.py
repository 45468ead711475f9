#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks in PyTorch, run on request: what bench-gpu.py and bench-peers.py hold ours against.

usage: torch_serve.py [DEVICE]

Each line of standard input is one request, a JSON object, each line of standard output the answer
to it. A request has

  network  "vrt:1" to "vrt:9", "basicvsr", "rife", "swinir", "compact", "esrgan"; or "product", of
           two matrices of "size" rows
  mode     "f32": eager, without TF32; "f16", "bf16": eager, clips by autocast, pictures in that
           type and channels last; "f32-compile", "f16-compile", ...: the same by torch.compile
  frames, width, height
  runs     how many are timed, after those of WARM_UP_S, one at least
  weights, input, output    files, each of which may be left out: a picture network's weights, as
                            ncnn_weights.py writes them, and arrays [D,C,H,W] of NumPy's
  export   instead of "runs": the file that gets the network for ONNX
  save     instead of "runs": the file that gets its weights

and the answer "seconds" (of each run), "first_s", "peak_bytes", "finite"; or "error". A network
stays until another is asked for. VRT's weights follow from names, as ours do; those of BasicVSR++,
RIFE and SwinIR are random, and the same each time, unless they are given some.
"""
import json
import sys
import time

import numpy
import torch

import ncnn_weights
import torch_basicvsr
import torch_pictures
import torch_vrt
import torch_vrt_net

SEED = 1234
WARM_UP_S = 0.3     # as bench-engine has it
NETWORKS = {'compact': torch_pictures.Compact, 'esrgan': torch_pictures.Esrgan,
            'basicvsr': torch_basicvsr.BasicVsr, 'rife': torch_pictures.Rife,
            'swinir': torch_pictures.swinir}
OF_CLIPS = 'basicvsr', 'rife'
DTYPES = {'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16}


def is_of_clips(network):
    return network in OF_CLIPS or network.startswith('vrt:')


class Server:
    def __init__(self, device):
        self.device, self.key, self.network = torch.device(device), None, None
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True

    def hello(self):
        return {'torch': torch.__version__, 'cuda': torch.version.cuda,
                'torchvision': torch_vrt_net.deform_conv2d is not None,
                'compile': hasattr(torch, 'compile')}

    def wait(self):
        if self.device.type == 'cuda':
            torch.cuda.synchronize()

    def dtype(self, mode):
        dtype = DTYPES[mode.split('-')[0]]
        # A CPU's PyTorch has few operations in f16.
        return torch.bfloat16 if self.device.type == 'cpu' and dtype is torch.float16 else dtype

    def forget(self):
        self.key = self.network = None
        if self.device.type == 'cuda':
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def prepare(self, name, mode, weights=None):
        """The network on the device. One of clips has weights of f32 in every mode."""
        key = (name, torch.float32 if is_of_clips(name) else self.dtype(mode),
               mode.endswith('-compile'), weights)
        if self.key == key:
            return
        self.forget()
        if name.startswith('vrt:'):
            network = torch_vrt_net.Vrt(torch_vrt_net.TASKS[int(name[4:])])
            torch_vrt.fill(network, SEED)
        else:
            torch.manual_seed(SEED)
            network = NETWORKS[name]()
            if name == 'basicvsr':
                torch_basicvsr.fill(network, SEED)
            if weights:
                known = ncnn_weights.load(weights)
                network.load_state_dict({k: torch.tensor(v) for k, v in known.items()},
                                        strict=name != 'swinir')
        network = network.eval().to(self.device)
        if key[1] is not torch.float32:
            network = network.to(self.dtype(mode), memory_format=torch.channels_last)
        if mode.endswith('-compile'):
            network = torch.compile(network)
        self.key, self.network = key, network

    def make_input(self, request, mode):
        channels = 4 if request['network'] == 'vrt:8' else 3
        if 'input' in request:
            x = numpy.load(request['input'])
        else:
            x = torch_vrt.video(SEED, (request['frames'], channels, request['height'],
                                       request['width']), channels == 4)
        x = torch.from_numpy(x).to(self.device)
        return x if is_of_clips(request['network']) else self.lay(x, self.dtype(mode))

    @staticmethod
    def lay(x, dtype):
        """Pictures as their networks take them."""
        return x if dtype is torch.float32 else x.to(dtype, memory_format=torch.channels_last)

    def network_run(self, request):
        mode = request['mode']
        self.prepare(request['network'], mode, request.get('weights'))
        x, dtype = self.make_input(request, mode), self.dtype(mode)
        casts = is_of_clips(request['network']) and dtype is not torch.float32

        def run():
            with torch.no_grad(), torch.autocast(self.device.type, dtype if casts else
                                                 torch.bfloat16, enabled=casts):
                return self.network(x)
        return run

    def product_run(self, request):
        self.forget()
        n, dtype = request['size'], DTYPES[request['mode']]
        a, b = ((torch.rand(n, n, device=self.device) * 2 - 1).to(dtype) for _ in range(2))
        return lambda: a @ b

    def export(self, request):
        self.prepare(request['network'], 'f32', request.get('weights'))
        # The newer exporter is at SwinIR's masks for minutes.
        newer = request['network'] != 'swinir'
        torch.onnx.export(self.network, (self.make_input(request, 'f32'),), request['export'],
                          input_names=['data'], output_names=['output'], dynamo=newer,
                          external_data=False, verbose=False)
        return {}

    def save(self, request):
        self.prepare(request['network'], 'f32', request.get('weights'))
        ncnn_weights.save(request['save'], {name: value.cpu().numpy() for name, value in
                                            self.network.state_dict().items()
                                            if value.is_floating_point()})
        return {}

    def answer(self, request):
        if 'save' in request:
            return self.save(request)
        if 'export' in request:
            return self.export(request)
        if request['network'] == 'product':
            run = self.product_run(request)
        else:
            run = self.network_run(request)
        y, first_s = self.timed(run)
        started = time.monotonic()
        while time.monotonic() - started < WARM_UP_S - first_s:
            self.timed(run)
        finite = bool(torch.isfinite(y).all())
        if 'output' in request:
            numpy.save(request['output'], y.float().cpu().numpy())
        del y
        seconds = [self.timed(run)[1] for _ in range(request['runs'])]
        return {'first_s': first_s, 'seconds': seconds, 'finite': finite,
                'peak_bytes': self.take_peak()}

    def timed(self, run):
        """The result, and the seconds."""
        self.wait()
        started = time.monotonic()
        y = run()
        self.wait()
        return y, time.monotonic() - started

    def take_peak(self):
        """The most memory since it was asked last. What isn't weights is given back: others
        measure on the same device."""
        if self.device.type != 'cuda':
            return None
        peak = torch.cuda.max_memory_reserved()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return peak


def main():
    server = Server(sys.argv[1] if len(sys.argv) > 1 else 'cuda')
    print(json.dumps(server.hello()), flush=True)
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        # Whatever PyTorch may throw, out of memory above all: the next request may do.
        except Exception as error:      # pylint: disable=broad-except
            server.forget()
            answer = {'error': ' '.join(f'{type(error).__name__}: {error}'.split())[:300]}
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
