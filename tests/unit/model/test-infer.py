#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrt-infer from outside: results, JSON, and one clear sentence for everything that is wrong.

usage: test-infer.py VRT_INFER DATA_FOLDER
"""
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

from graph_files import Files, packed, samples

PROGRAM, DATA = sys.argv[1:3]
SHAPE = (2, 3, 6, 10)
WHOLE = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 6, 10), }"


def header(shape, descr='<f4', order='False', version=1, text=None):
    if text is None:
        text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape!r}, }}"
    text = text.encode() + b'\n'
    length = struct.pack('<H' if version == 1 else '<I', len(text))
    return b'\x93NUMPY' + bytes([version, 0]) + length + text


def values(shape):
    return packed(samples(math.prod(shape)))


def read(path):
    """The shape and values of a file that vrt-infer wrote."""
    with open(path, 'rb') as f:
        data = f.read()
    assert data[:8] == b'\x93NUMPY\x01\x00'
    end = 10 + struct.unpack('<H', data[8:10])[0]
    assert end % 64 == 0 and data[end - 1:end] == b'\n'
    fields = eval(data[10:end], {})  # pylint: disable=eval-used
    assert fields['descr'] == '<f4' and fields['fortran_order'] is False
    return fields['shape'], struct.unpack(f'<{math.prod(fields["shape"])}f', data[end:])


class Infer(Files):
    def setUp(self):
        super().setUp()
        self.x, self.y = self.path('x.npy'), self.path('y.npy')
        self.write(self.x, header(SHAPE) + values(SHAPE))

    def run_raw(self, *args):
        return subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False,
                              env={'LC_ALL': 'C', **os.environ,
                                   'XDG_CACHE_HOME': self.folder.name})

    def infer(self, *args, model='compact-x2', status=0):
        done = self.run_raw('--model', model, '--input', self.x, '--output', self.y,
                            '--device', 'ref', *args)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def refuse(self, part, *args, **kwargs):
        """One sentence on one line, that says `part`; no output file is left."""
        done = self.infer(*args, status=1, **kwargs)
        self.assertEqual(done.stdout, '')
        self.assertTrue(done.stderr.startswith('vrt-infer: '), done.stderr)
        self.assertEqual(done.stderr.count('\n'), 1, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertFalse(os.path.exists(self.y))

    # What works.

    def test_json(self):
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        report = json.loads(self.infer('--json', '--repeat', '3', '--threads', '1').stdout)
        self.assertEqual(os.stat(self.y).st_mode & 0o7777, 0o640)
        median = report.pop('median_s')
        self.assertTrue(0 < report['min_s'] <= median)
        self.assertAlmostEqual(report.pop('gflop_per_s'), report['gflop'] / median,
                               delta=1e-4 * report['gflop'] / median)
        # Two of 24 channels, each of 120 pixels; the measured may be unknown.
        self.assertTrue(2 <= report['arena_bytes'] / (4 * 24 * 120) < 3)
        self.assertGreaterEqual(report.pop('measured_peak_bytes') or 0, 0)
        # Every weight is multiplied and added once for each of the pixels, and 12 channels added.
        weights = 9 * (3 * 24 + 8 * 24 * 24 + 24 * 12)
        self.assertEqual(report, {
            'model': 'compact-x2', 'architecture': 'compact',
            'description': 'SRVGGNetCompact, 24 features, 8 convolutions, x2',
            'parameters': 45156, 'radius': 10, 'device': 'ref:0',
            'device_description': 'reference loops, 1 thread', 'threads': 1, 'precision': 'f32',
            'input_shape': list(SHAPE), 'output_shape': [2, 3, 12, 20], 'runs': 3,
            'min_s': report['min_s'], 'gflop': (2 * weights + 12) * 120 / 1e9,
            'planned_peak_bytes': 4 * (45156 + 3 * 120 * (1 + 4)) + report['arena_bytes'],
            'weights_bytes': 4 * 45156, 'arena_bytes': report['arena_bytes'],
            'input_output_bytes': 4 * 3 * 120 * (1 + 4)})

    def test_output(self):
        self.infer()
        shape, y = read(self.y)
        self.assertEqual(shape, (2, 3, 12, 20))
        x = samples(math.prod(SHAPE))
        # The network adds to the enlarged input, so that means stay near, plane by plane.
        for plane in range(6):
            self.assertAlmostEqual(sum(x[plane * 60:plane * 60 + 60]) / 60,
                                   sum(y[plane * 240:plane * 240 + 240]) / 240, delta=0.05)
        # Frame by frame is the same as both at once.
        for d in range(2):
            one = (1,) + SHAPE[1:]
            self.write(self.x, header(one) + values(SHAPE)[d * 720:d * 720 + 720])
            self.infer()
            self.assertEqual(read(self.y)[1], y[d * 720:d * 720 + 720])

    def test_threads(self):
        """Whatever is computed on which thread, and when: the same bits, also by more threads than
        there are cores, in a picture of many bands."""
        shape = (1, 3, 203, 131)
        self.write(self.x, header(shape) + values(shape))
        for model in ('compact-x2.pth', 'esrgan-x2.pth'):
            results = set()
            for threads in ('1', '2', '5'):
                done = self.infer('--device', 'cpu', '--threads', threads, '--repeat', '3', '-j',
                                  model=os.path.join(DATA, 'image', model), status=None)
                if done.returncode:
                    # Without libzip or oneDNN there is nothing to compare.
                    self.assertRegex(done.stderr, 'no device|without libzip')
                    self.skipTest(done.stderr)
                told = json.loads(done.stdout)
                self.assertEqual(told['threads'], int(threads))
                if told['measured_peak_bytes'] is not None:
                    self.assertGreater(told['measured_peak_bytes'], told['planned_peak_bytes'] / 2)
                with open(self.y, 'rb') as f:
                    results.add(f.read())
            self.assertEqual(len(results), 1, model)

    def test_text(self):
        """It says what JSON does."""
        shape = (1, 3, 80, 120)
        self.write(self.x, header(shape) + values(shape))
        args = '--precision', 'bf16', '--repeat', '2'
        told = json.loads(self.infer('--json', *args).stdout)
        said = re.fullmatch(
            r'network   (.+), 45156 parameters\n'
            r'device    ref:0: (.+), bf16\n'
            r'shape     \[1, 3, 80, 120\] to \[1, 3, 160, 240\]\n'
            r'time      (\S+) s at best, (\S+) s in the median of 2\n'
            r'work      (\S+) GFLOP, (\S+) GFLOP/s\n'
            r'memory    (\S+) MiB planned \(weights (\S+), arena (\S+), input and output (\S+)\)'
            r'(?:, \S+ MiB measured)?\n', self.infer(*args).stdout).groups()
        self.assertEqual(said[:2], (told['description'], told['device_description']))
        best, median, work, rate = map(float, said[2:6])
        self.assertTrue(0 < best <= median)
        self.assertAlmostEqual(work, told['gflop'], delta=0.0006)
        self.assertAlmostEqual(rate, told['gflop'] / median, delta=0.06)
        for mib, key in zip(said[6:], ('planned_peak', 'weights', 'arena', 'input_output')):
            self.assertEqual(mib, f'{told[key + "_bytes"] / 2 ** 20:.1f}')

    def test_profile(self):
        """Op by op the output is the same, and every op is accounted for."""
        report = json.loads(self.infer('--json').stdout)
        self.assertEqual((report['runs'], report['min_s']), (1, report['median_s']))
        wanted = read(self.y)
        self.assertNotIn('ops', report)
        report = json.loads(self.infer('--json', '--profile').stdout)
        self.assertEqual(read(self.y), wanted)
        ops = {op['kind']: op for op in report['ops']}
        self.assertEqual({kind: op['count'] for kind, op in ops.items()},
                         {'conv2d': 10, 'depth_to_space': 1})
        self.assertAlmostEqual(sum(op['share'] for op in report['ops']), 1, delta=1e-4)
        self.assertEqual(report['ops'][0]['kind'], 'conv2d')
        self.assertAlmostEqual(sum(op['gflop_per_s'] * op['seconds'] for op in report['ops']),
                               report['gflop'], delta=1e-3 * report['gflop'])
        rows = re.search(r'\n\nOP +COUNT +TIME +SHARE +GFLOP/S\n'
                         r'conv2d +10 +(\S+) s +(\S+)% +(\S+)\n'
                         r'depth_to_space +1 +(\S+) s +(\S+)% +\S+\n$', self.infer('-kP').stdout)
        seconds, share, rate, more_s, more_share = map(float, rows.groups())
        self.assertAlmostEqual(share + more_share, 100, delta=0.11)
        self.assertAlmostEqual(share, 100 * seconds / (seconds + more_s), delta=0.5)
        flops = ops['conv2d']['gflop_per_s'] * ops['conv2d']['seconds']
        self.assertAlmostEqual(rate * seconds, flops, delta=1e-5 + 0.06 * seconds)

    def test_versions_and_spelling(self):
        first = None
        texts = [header(SHAPE), header(SHAPE, version=2), header(SHAPE, version=3)] + [
            header(SHAPE, text=text) for text in (
                '{"shape":(2,3,6,10),"fortran_order":False,"descr":"<f4"}', WHOLE.ljust(4095),
                WHOLE.replace('2,', f'{2:018},').replace('10', '10,'), ''.join(
                    f' {part}\n\t' for part in re.findall(r"'[^']+'|\w+|\S", WHOLE)))]
        for text in texts:
            self.write(self.x, text + values(SHAPE))
            self.infer()
            first = first or read(self.y)
            self.assertEqual(read(self.y), first)

    def test_output_replaced(self):
        self.write(self.y, b'x' * 1000000)
        self.infer()
        self.assertEqual(read(self.y)[0], (2, 3, 12, 20))

    def test_same_file(self):
        self.y = self.x
        self.infer()
        self.assertEqual(read(self.x)[0], (2, 3, 12, 20))

    def test_files(self):
        model = self.path('a"b\\\n.pth')
        for name, architecture, shape in (('compact-x4', 'compact', [2, 3, 24, 40]),
                                          ('esrgan-x2', 'esrgan', [2, 3, 12, 20]),
                                          ('rife-lite', 'rife', [1, 3, 6, 10])):
            shutil.copyfile(os.path.join(DATA, 'image', name + '.pth'), model)
            report = json.loads(self.infer('--json', model=model).stdout)
            self.assertEqual([report[key] for key in ('model', 'architecture', 'output_shape')],
                             [model.replace('\n', '?'), architecture, shape])
        self.write(self.x, header((4, 3, 3, 10)) + values(SHAPE))
        os.unlink(self.y)
        self.refuse('has 4 frames, where the network takes 2 at a time', model=model)

    def test_help_and_version(self):
        self.assertIn('usage: vrt-infer', self.run_raw('--help').stdout)
        self.assertRegex(self.run_raw('--version').stdout, r'^vrt-infer \d+\.\d+\.\d+\n$')

    # What doesn't.

    def test_usage(self):
        required = ['--model', 'compact-x2', '--input', self.x, '--output', self.y]
        rows = [([], '--model'), (required[:2], '--input'), (required[:4], '--output'),
                (required + ['--loud'], 'loud'), (required + ['more'], '"more" is no option')]
        for name, good, bad in (
                ('repeat', '1 1000000 000000001', '0 1000001 1x 0000000001 99999999999'),
                ('threads', '0 1024', '-1 1025'), ('precision', 'f32 f16 bf16 auto', 'f64'),
                ('sigma', '0 .5 50 50.0', '50.01 51 -1 2.5x nan')):
            for value in good.split():
                done = self.run_raw(f'--{name}', value, '--help')
                self.assertEqual((done.returncode, done.stderr), (0, ''), value)
            rows += [([*required, f'-{name[0]}', value], f'"{value}" is no value for -{name[0]}\n')
                     for value in ['', *bad.split()]]
        for args, part in rows:
            done = self.run_raw(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(part, done.stderr)
            self.assertIn('usage: vrt-infer', done.stderr)

    def test_no_files(self):
        self.refuse('No such file', model=self.path('none.pth'))
        self.refuse(self.folder.name, model=self.folder.name)
        self.x = self.path('none.npy')
        self.refuse('No such file')
        self.x = self.folder.name
        self.refuse('not a regular file')
        os.mkfifo(self.path('pipe'))
        self.x = self.path('pipe')
        self.refuse('not a regular file')

    def test_no_output(self):
        self.y = self.path('none/y.npy')
        self.refuse('No such file')
        self.y = self.folder.name
        done = self.infer(status=1)
        self.assertIn('Is a directory', done.stderr)
        self.y = '/dev/full'
        done = self.infer(status=1)
        self.assertIn('No space left', done.stderr)
        # One that is there stays as it is where there is nothing to write.
        self.y = self.path('y.npy')
        self.write(self.y, b'before')
        self.infer('--device', 'cuda:7', status=1)
        with open(self.y, 'rb') as f:
            self.assertEqual(f.read(), b'before')

    def test_sigma(self):
        for value in ('20', '20.0', '.5'):
            self.refuse("isn't told how strong noise is", '--sigma', value)
        self.infer('--sigma', '0')

    def test_device(self):
        done = self.infer('--device', 'cuda:7', status=1)
        self.assertRegex(done.stderr, '^vrt-infer: there is no device "cuda:7"; this machine has: '
                         r'(\w+:\d+, )*ref:0(, \w+:\d+)*\n$')
        self.assertEqual(json.loads(self.infer('-d', 'ref:0', '-j').stdout)['device'], 'ref:0')

    def test_precision(self):
        """Each type gives a result, or is refused by name: which, depends on the device."""
        said = self.infer('--json', '--device', 'auto').stdout
        refused = {('auto', 'f16')} | ({('auto', 'bf16')} if 'bf16' not in said else set())
        for device in ('ref', 'auto'):
            for precision in ('f32', 'bf16', 'f16', 'auto'):
                done = self.run_raw('--model', 'compact-x2', '--input', self.x, '--output', self.y,
                                    '--device', device, '--precision', precision)
                if done.returncode == 0:
                    self.assertEqual(read(self.y)[0], (2, 3, 12, 20))
                else:
                    self.assertIn(f"doesn't compute in {precision}:", done.stderr)
                self.assertTrue(done.returncode == 0 or (device, precision) in refused)

    def test_automatic_precision(self):
        """One of those that it tries, as the report says, and nothing of the trials left in it."""
        results = []
        for precision in ('auto', None):
            precision = precision or results[0][0]['precision']
            done = self.infer('--device', 'auto', '--json', '--precision', precision, status=None)
            if 'no device' in done.stderr:
                self.skipTest('no device but the reference')
            results.append((json.loads(done.stdout), read(self.y)[1]))
        (auto, y), (named, same) = results
        self.assertEqual(y, same)
        for key in ('precision', 'weights_bytes', 'arena_bytes', 'planned_peak_bytes'):
            self.assertEqual(auto[key], named[key], key)

    def test_not_arrays(self):
        good = header(SHAPE) + values(SHAPE)
        for data, part in ((b'', 'not a NumPy array'), (b'hello', 'not a NumPy array'),
                           (b'\x93NUMPZ' + good[6:], 'not a NumPy array'),
                           (b'\x93NUMPY\0' + good[7:], 'version 0'), (good[:7], 'not a NumPy'),
                           (b'\x93NUMPY\4' + good[7:], 'has version 4 of the .npy format; 1 to 3'),
                           (good[:9], 'ends within'), (good[:40], 'ends within'),
                           (good[:-1], 'more values than the 359 that follow'),
                           (good[:-1000], 'truncated'),
                           (good + b'x', 'holds 1441 bytes behind the header, where 360 values '
                            'take 1440\n'),
                           (header(SHAPE, text=WHOLE.ljust(4096)), 'a header of 4097 bytes, more '
                            'than the 4096'),
                           (header(SHAPE, version=2)[:8] + b'\xff\xff\xff\xff', '4294967295')):
            self.write(self.x, data)
            self.refuse(part)

    def test_other_arrays(self):
        for text, part in ((header(SHAPE, '<f8'), 'type "<f8", not "<f4"'),
                           (header(SHAPE, '>f4'), '">f4"'), (header(SHAPE, 'f' * 31), 'f' * 31),
                           (header(SHAPE, order='True'), 'Fortran'),
                           (header((12, 3, 10)), 'has 3 dimensions'),
                           (header((1,) * 7 + (360,)), 'has 8 dimensions, not the 4 of [D,C,H,W]'),
                           (header((2, 1, 18, 10)), '1 channels'),
                           (header((2, 3, 0, 10)), 'without values'),
                           (header((2, 3, 10 ** 17, 10)), 'truncated'),
                           (header((10 ** 17, 10 ** 17, 10 ** 17, 10 ** 17)), 'truncated'),
                           (header((1,) * 9), "doesn't describe")):
            self.write(self.x, text + values(SHAPE))
            self.refuse(part)
        for shape, part in (((), '0 dimensions'), ((1, 1, 1, 1 << 20), '1 channels'),
                            ((1, 1, 1, (1 << 20) + 1), 'extent of 1048577; 1048576 is the most')):
            self.write(self.x, header(shape) + bytes(4 * math.prod(shape)))
            self.refuse(part)

    def test_bad_headers(self):
        bad = [WHOLE[:n] for n in range(len(WHOLE))] + [WHOLE + 'x', '{' + WHOLE]
        bad += [WHOLE.replace(old, new) for old, new in (
            ("'<f4'", "[('a', '<f4')]"), ('False', 'Maybe'), ('(2, 3, 6, 10)', '[2, 3, 6, 10]'),
            ('6', '-6'), ('6', '6.0'), ('6', ''), ('6', '6' * 30), ('6', f'{6:019}'), ('6,', '6'),
            ("'shape'", "'shapes'"), ("'shape': (2, 3, 6, 10), ", ''), ("'descr': '<f4', ", ''),
            ("'fortran_order': False, ", ''), ("f4'", 'f4"'), ('<f4', '<' * 32), (': ', ' '),
            ("'<f4',", "'<f4'"))]
        for text in bad:
            self.write(self.x, header(SHAPE, text=text) + values(SHAPE))
            self.refuse("has a header that doesn't describe a plain array of numbers")
        self.write(self.x, header(SHAPE, text=WHOLE.replace(',', '\0')) + values(SHAPE))
        self.refuse("a header that isn't text")

    def test_bad_models(self):
        self.refuse('no_such_model', model='no_such_model')
        for name in ('evil-reduce', 'truncated', 'short-storage'):
            self.refuse(name, model=os.path.join(DATA, 'pth', name + '.pth'))
        # A checkpoint, but of no network.
        self.refuse('SRVGGNetCompact, RRDBNet, RIFE, SPAN, SwinIR and VRT',
                    model=os.path.join(DATA, 'pth', 'zip-bare.pth'))
        self.refuse('x.npy', model=self.x)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
