#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the whole program costs beyond the network, as ratios of figures taken side by side.

usage: bench-daemon.py BUILD [--clip FILE] [--precision P] [efficiency] [scaling] [overlap]
                       [memory] [polling] [ends]

  efficiency  wall time of a job over (CPU seconds of the network alone + CPU seconds of decoding
              and encoding alone) / cores: 1.00 is a program in which nothing ever waits; and over
              that of the network and the encoder as two programs at once, which take each other's
              caches, too
  scaling     two single-core CPU devices over one, with a network that dominates
  overlap     what comes of a device that takes 10 ms to compute a frame, 0, 4 or 8 to copy it
              there and as many back
  memory      peak memory of vrtd on a video ten times as long, over the short one's
  polling     what 100 status requests a second see, and what they cost the job's throughput
  ends        what a job's two ends do by themselves (bench-ends), 1920x1080, over what the ffmpeg
              program does with as many threads, in turns: by wall time and by processors' seconds

Without names: all. Each prints its figures and one line "NAME: RATIO (wanted ...)". BUILD should be
an optimised build; the machine should be idle. --clip names a 640x360 video of 200 frames; by
default one is made by natural-clip.sh. --precision is that of the efficiency; auto by default.
"""
import array
import json
import os
import resource
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CORES = len(os.sched_getaffinity(0))
# vrtd's H.264 is the same on every processor, which costs libx264 a twentieth.
SAME_BYTES = ('-x264-params', 'cpu-independent=1')
# That vrt-infer is given: with few of them the C library keeps the memory of results for the next
# run, as a job does, and the kernel needn't clear it again.
INFER_FRAMES = 2


def child_cpu(command, **options):
    """CPU seconds and wall seconds of a command."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), wall


def ffmpeg(*arguments):
    return ['ffmpeg', '-v', 'error', '-nostdin', '-y', *map(str, arguments)]


class Bench:
    def __init__(self, build, clip, precision, folder):
        os.environ['VRTD_BUILD'] = build
        sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
        import harness
        self.harness = harness
        self.build, self.precision, self.folder = build, precision, folder
        self.clip = clip or self.path('clip.mp4')
        if not clip:
            subprocess.run([os.path.join(HERE, 'natural-clip.sh'), self.clip, '640', '360', '200'],
                           check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, config=None):
        folder = tempfile.mkdtemp(dir=self.folder)
        return self.harness.Daemon(folder, config)

    def job(self, daemon, source, *options):
        """Wall seconds of a job as its user sees it, and its last JSON."""
        if '--output' not in options:
            options += ('--output', os.path.join(daemon.folder, 'out.mkv'))
        started = time.monotonic()
        done = subprocess.run([self.harness.VRTCTL, '--socket', daemon.socket, 'submit', '--follow',
                               '--json', '--overwrite', *options, source],
                              check=True, capture_output=True, text=True)
        return time.monotonic() - started, json.loads(done.stdout.strip().splitlines()[-1])

    # efficiency

    def network_cpu_per_frame(self, precision, frames=INFER_FRAMES, repeats=6):
        """By vrt-infer: the difference between many runs and one leaves start-up out."""
        raw = subprocess.run(ffmpeg('-i', self.clip, '-frames:v', frames, '-f', 'rawvideo',
                                    '-pix_fmt', 'gbrpf32le', '-'), check=True,
                             capture_output=True).stdout
        plane = 640 * 360 * 4
        data = b''.join(raw[f * 3 * plane + p * plane:f * 3 * plane + (p + 1) * plane]
                        for f in range(frames) for p in (2, 0, 1))
        header = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3, 360, 640), }" % frames)
        header = header.ljust(117) + '\n'
        with open(self.path('x.npy'), 'wb') as f:
            f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + data)
        command = self.infer(precision)
        one = statistics.median(child_cpu(command + ['--repeat', '1'])[0] for _ in range(3))
        many = statistics.median(child_cpu(command + ['--repeat', str(1 + repeats)])[0]
                                 for _ in range(3))
        return (many - one) / repeats / frames

    def infer(self, precision):
        return [os.path.join(self.build, 'workers', 'infer', 'vrt-infer'), '--model', 'compact-x2',
                '--input', self.path('x.npy'), '--output', self.path('y.npy'), '--threads',
                str(CORES), '--precision', precision]

    def restored_frames(self):
        """What a job hands to its encoder, as raw video: what it wrote itself has lost detail, and
        is less work to encode again."""
        lossless, raw = self.path('restored.mkv'), self.path('raw.mkv')
        daemon = self.daemon()
        self.job(daemon, self.clip, '--codec', 'ffv1', '--output', lossless)
        daemon.stop()
        subprocess.run(ffmpeg('-i', lossless, '-c:v', 'rawvideo', '-an', raw), check=True)
        os.unlink(lossless)
        return raw

    @staticmethod
    def encoder(recipe, raw):
        return ffmpeg('-i', raw, '-c:v', 'libx264', '-preset', recipe['preset'], '-crf',
                      recipe['quality'], *SAME_BYTES, '-threads', recipe['encoder_threads'], '-f',
                      'null', '-')

    def codec_cpu(self, recipe, raw):
        """Decoding the input, and encoding the restored frames with the job's own settings."""
        decode = child_cpu(ffmpeg('-threads', CORES, '-i', self.clip, '-f', 'null', '-'))[0]
        read = child_cpu(ffmpeg('-i', raw, '-f', 'null', '-'))[0]
        return decode, child_cpu(self.encoder(recipe, raw))[0] - read

    def side_by_side(self, recipe, raw, frames):
        """Wall seconds of the network and of the encoder as two programs that need not wait for one
        another, the encoder before the network where a processor is wanted by both."""
        started = time.monotonic()
        both = [subprocess.Popen(['nice', '-n', str(nice), *command], stdout=subprocess.DEVNULL)
                for nice, command in ((14, self.infer(recipe['precision']) +
                                       ['--repeat', str(frames // INFER_FRAMES)]),
                                      (12, self.encoder(recipe, raw)))]
        for process in both:
            process.wait()
        return time.monotonic() - started

    def efficiency(self, rounds=5):
        alone, beside = [], []
        raw, daemon = self.restored_frames(), self.daemon()
        # With the first job of a network it is measured once how close bf16 comes to f32.
        self.job(daemon, self.clip, '--precision', self.precision, '--duration', '0.5')
        for _ in range(rounds):
            wall, job = self.job(daemon, self.clip, '--precision', self.precision)
            recipe, frames = job['recipe'], job['frames_done']
            network = self.network_cpu_per_frame(recipe['precision']) * frames
            decode, encode = self.codec_cpu(recipe, raw)
            alone.append(wall * CORES / (network + decode + encode))
            beside.append(wall / self.side_by_side(recipe, raw, frames))
            print(f'  wall {wall:.2f} s; CPU: network {network:.2f} s, decode {decode:.2f} s, '
                  f'encode {encode:.2f} s; {CORES} cores, {recipe["precision"]}; over these '
                  f'{alone[-1]:.3f}, over two programs side by side {beside[-1]:.3f}', flush=True)
        daemon.stop()
        print(f'efficiency: {statistics.median(alone):.3f}, beside the two programs '
              f'{statistics.median(beside):.3f} (wanted at most 1.05)')

    # scaling

    def heavy_model(self, features=64, convs=32, scale=4):
        """A network of the size of realesr-general-x4v3, weights small and arbitrary."""
        tensors, state = [], 1
        def add(name, *shape):
            nonlocal state
            count = 1
            for s in shape:
                count *= s
            fan = count // shape[0] if len(shape) > 1 else 1
            values = array.array('f')
            for _ in range(count):
                state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
                u = (state >> 40) / 2**24 * 2 - 1
                values.append(u * (3 / fan)**0.5 * 0.9 if len(shape) > 1 else 0.1 + 0.05 * u)
            tensors.append((name, shape, values.tobytes()))
        sizes = [3] + [features] * (convs + 1)
        for i in range(convs + 1):
            add(f'body.{2 * i}.weight', features, sizes[i], 3, 3)
            add(f'body.{2 * i}.bias', features)
            add(f'body.{2 * i + 1}.weight', features)
        last = 2 * (convs + 1)
        add(f'body.{last}.weight', 3 * scale * scale, features, 3, 3)
        add(f'body.{last}.bias', 3 * scale * scale)
        header, offset = {}, 0
        for name, shape, data in tensors:
            header[name] = {'dtype': 'F32', 'shape': shape,
                            'data_offsets': [offset, offset + len(data)]}
            offset += len(data)
        text = json.dumps(header).encode()
        text += b' ' * (-len(text) % 8)
        path = self.path('heavy.safetensors')
        with open(path, 'wb') as f:
            f.write(struct.pack('<Q', len(text)) + text + b''.join(t[2] for t in tensors))
        return path

    def scaling(self):
        model = self.heavy_model()
        short = self.path('short.mp4')
        subprocess.run(ffmpeg('-i', self.clip, '-vf', 'scale=160:90', '-frames:v', 64, short),
                       check=True)
        walls = {1: [], 2: []}
        for _ in range(3):
            for devices in (1, 2):
                daemon = self.daemon({'cpu': {'devices': devices, 'threads': 1}})
                walls[devices].append(self.job(daemon, short, '--model', model, '--precision',
                                               'f32')[0])
                daemon.stop()
        one, two = statistics.median(walls[1]), statistics.median(walls[2])
        print(f'  one device of one core {one:.2f} s, two {two:.2f} s; all: {walls}')
        print(f'scaling: {one / two:.3f} (wanted at least 1.8)')

    def overlap(self):
        """A device that takes its time beside the host, by the schedule of faults: how near a job
        comes to what its slowest part allows. Two lengths of video leave the start out."""
        lengths, compute_ms = (100, 400), 10
        clips = []
        for n in lengths:
            clips.append(self.path(f'overlap-{n}.mkv'))
            # Noise: a frame that is like the one before isn't computed.
            subprocess.run(ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x36:r=25,noise=alls=20:allf=t',
                                  '-frames:v', n, '-c:v', 'ffv1', clips[-1]), check=True)
        # A frame is three programs: to RGB, the network, to planes.
        for copy_ms in (0, 4, 8):
            copies = f'; write:1- takes={copy_ms}ms; read:1- takes={copy_ms}ms' if copy_ms else ''
            fault = f'cpu:0 submit:1- takes={compute_ms * 1000 // 3}us' + copies
            walls = ([], [])
            for _ in range(3):
                daemon = self.daemon({'cpu': {'devices': 1}, 'devices': {'fault': fault}})
                for i, clip in enumerate(clips):
                    walls[i].append(self.job(daemon, clip, '--precision', 'f32')[0])
                daemon.stop()
            short, long = (statistics.median(w) for w in walls)
            frame_ms = (long - short) * 1e3 / (lengths[1] - lengths[0])
            print(f'overlap: {compute_ms / frame_ms:.3f} of one frame in {compute_ms} ms, with '
                  f'copies of {copy_ms} ms each way (wanted at least 0.97)')

    # memory

    def memory(self):
        peaks = {}
        for seconds in (20, 200):
            source = self.path(f'{seconds}.mp4')
            subprocess.run(ffmpeg('-stream_loop', -1, '-i', self.clip, '-t', seconds, '-vf',
                                  'scale=160:90', '-r', 25, source), check=True)
            daemon = self.daemon()
            _, job = self.job(daemon, source)
            peaks[seconds] = daemon.memory_peak_bytes()
            print(f'  {seconds} s, {job["frames_done"]} frames: peak '
                  f'{peaks[seconds] / 2**20:.1f} MiB')
            daemon.stop()
        print(f'memory: {peaks[200] / peaks[20]:.3f} (wanted 0.95 to 1.05)')

    # polling

    def polling(self):
        """In alternate seconds of long jobs: whole jobs differ by more than what is looked for."""
        source = self.path('long.mp4')
        subprocess.run(ffmpeg('-stream_loop', -1, '-i', self.clip, '-t', 200, '-vf',
                              'scale=160:90', '-r', 25, source), check=True)
        frames, seconds, waits = [0, 0], [0.0, 0.0], []
        for _ in range(3):
            daemon = self.daemon()
            job = threading.Thread(target=self.job, args=(daemon, source))
            job.start()
            self.alternate(daemon, frames, seconds, waits)
            job.join()
            daemon.stop()
        waits.sort()
        p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
        quiet, polled = (frames[i] / seconds[i] for i in (0, 1))
        print(f'  {len(waits)} requests: p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms, longest '
              f'{waits[-1] * 1e3:.2f} ms; {quiet:.2f} frames/s unpolled, {polled:.2f} polled')
        print(f'polling: p99 {p99 * 1e3:.2f} ms (wanted under 5), throughput '
              f'{polled / quiet:.3f} (wanted at least 0.99)')

    def alternate(self, daemon, frames, seconds, waits):
        """Adds up the frames of a job's seconds with and without polling."""
        while not (running := self.progress(daemon)) or not running['frames_done']:
            time.sleep(0.1)
        before, since, polled = running['frames_done'], time.monotonic(), 0
        while True:
            over = threading.Event()
            if polled:
                threading.Timer(1, over.set).start()
                self.poll(daemon, over, waits)
            else:
                time.sleep(1)
            running, now = self.progress(daemon), time.monotonic()
            if not running:
                return
            frames[polled] += running['frames_done'] - before
            seconds[polled] += now - since
            before, since, polled = running['frames_done'], now, 1 - polled

    def progress(self, daemon):
        """The job that runs, or None."""
        jobs = [j for j in daemon.request('GET', '/v1/jobs')[1]['jobs'] if j['state'] == 'running']
        return jobs[0] if jobs else None

    def poll(self, daemon, over, waits):
        """By bare sockets: a client that computes would slow the job down by itself."""
        request = b'GET /v1/status HTTP/1.1\r\nHost: vrtd\r\n\r\n'
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect(daemon.socket)
            due = time.monotonic()
            while not over.is_set():
                started = time.monotonic()
                s.sendall(request)
                answer = s.recv(65536)
                waits.append(time.monotonic() - started)
                if not answer.startswith(b'HTTP/1.1 200') or not answer.endswith(b'}'):
                    raise RuntimeError(f'not a whole status: {answer!r}')
                due += 0.01
                time.sleep(max(0, due - time.monotonic()))


    # ends

    def end(self, *words):
        """Wall and CPU seconds of one of them."""
        program = os.path.join(self.build, 'tests', 'bench', 'bench-ends')
        done = subprocess.run([program, *map(str, words)], check=True, capture_output=True,
                              text=True)
        return tuple(map(float, done.stdout.split()[1:]))

    def decode_round(self, clip):
        cpu, wall = child_cpu(ffmpeg('-threads', CORES, '-i', clip, '-f', 'null', '-'))
        return (wall, cpu), self.end('decode', clip, CORES)

    def encode_round(self, clip, raw, preset):
        """Two segments; what ffmpeg needs to read raw frames is no part of encoding."""
        source = ffmpeg('-stream_loop', 3, '-i', raw)
        options = ['-c:v', 'libx264', '-preset', preset, '-crf', '17', '-threads', '6', *SAME_BYTES]
        read_cpu, read_wall = child_cpu([*source, '-f', 'null', '-'])
        cpu, wall = child_cpu([*source, *options, '-f', 'null', '-'])
        return ((wall - read_wall, cpu - read_cpu),
                self.end('encode', clip, 6, 'h264', 17, preset, 2, 96))

    def ends(self):
        clip, raw, rounds = self.path('hd.mp4'), self.path('hd.nut'), 5
        subprocess.run([os.path.join(HERE, 'natural-clip.sh'), clip, '1920', '1080', '480'],
                       check=True)
        subprocess.run(ffmpeg('-i', clip, '-frames:v', 48, '-c:v', 'rawvideo', raw), check=True)
        for name, play in (('decode', lambda: self.decode_round(clip)),
                           ('encode', lambda: self.encode_round(clip, raw, 'veryfast'))):
            pairs = [play() for _ in range(rounds)]
            wall, cpu = (statistics.median(theirs[i] / ours[i] for theirs, ours in pairs)
                         for i in (0, 1))
            print(f'ends: {name} {wall:.3f} of the rate of ffmpeg by wall time, {cpu:.3f} by CPU '
                  'seconds (wanted at least 0.9)')


def main():
    arguments, values = sys.argv[1:], {'--clip': None, '--precision': 'auto'}
    for name in values:
        if name in arguments[:-1]:
            at = arguments.index(name)
            values[name] = arguments[at + 1]
            del arguments[at:at + 2]
    clip = values['--clip'] and os.path.abspath(values['--clip'])
    names = ['efficiency', 'scaling', 'overlap', 'memory', 'polling', 'ends']
    if not arguments or arguments[0].startswith('-') or set(arguments[1:]) - set(names):
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory(prefix='vrtd-bench-') as folder:
        bench = Bench(os.path.abspath(arguments[0]), clip, values['--precision'], folder)
        for name in arguments[1:] or names:
            getattr(bench, name)()
            sys.stdout.flush()
    return 0


if __name__ == '__main__':
    sys.exit(main())
