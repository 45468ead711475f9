#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrt-infer from outside: results, JSON, and one clear sentence for everything that is wrong.

usage: test-infer.py VRT_INFER DATA_FOLDER
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = sys.argv[1:3]
SHAPE = (2, 3, 6, 10)


def header(shape, descr='<f4', order='False', version=1, text=None):
    if text is None:
        text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape!r}, }}"
    text = text.encode() + b'\n'
    length = struct.pack('<H' if version == 1 else '<I', len(text))
    return b'\x93NUMPY' + bytes([version, 0]) + length + text


def values(shape):
    n = math.prod(shape)
    return struct.pack(f'<{n}f', *[(i * 37 % 101) / 101 for i in range(n)])


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


class Infer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.x, self.y = self.path('x.npy'), self.path('y.npy')
        self.write(self.x, header(SHAPE) + values(SHAPE))

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    @staticmethod
    def write(path, data):
        with open(path, 'wb') as f:
            f.write(data)

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
        self.assertEqual(report['model'], 'compact-x2')
        self.assertEqual(report['architecture'], 'compact')
        self.assertEqual(report['parameters'], 45156)
        self.assertEqual(report['device'], 'ref:0')
        self.assertEqual(report['precision'], 'f32')
        self.assertEqual(report['input_shape'], list(SHAPE))
        self.assertEqual(report['output_shape'], [2, 3, 12, 20])
        self.assertEqual(report['runs'], 3)
        self.assertTrue(0 < report['min_s'] <= report['median_s'])
        # Every weight is multiplied and added once for each of the 120 pixels.
        weights = 9 * (3 * 24 + 8 * 24 * 24 + 24 * 12)
        self.assertGreaterEqual(report['gflop'] * 1e9, 2 * weights * 120)
        self.assertLess(report['gflop'] * 1e9, 2.2 * weights * 120)
        self.assertAlmostEqual(report['gflop_per_s'], report['gflop'] / report['median_s'],
                               delta=1e-4 * report['gflop_per_s'])
        self.assertEqual(report['planned_peak_bytes'], report['weights_bytes'] +
                         report['arena_bytes'] + report['input_output_bytes'])
        self.assertEqual(report['input_output_bytes'], 4 * 3 * 120 * (1 + 4))
        self.assertGreaterEqual(report['weights_bytes'], 4 * 45156)

    def test_output(self):
        self.infer()
        shape, y = read(self.y)
        self.assertEqual(shape, (2, 3, 12, 20))
        x = struct.unpack(f'<{math.prod(SHAPE)}f', values(SHAPE))
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
                done = self.infer('--device', 'cpu', '--threads', threads, '--repeat', '3',
                                  model=os.path.join(DATA, 'image', model), status=None)
                if done.returncode:
                    # Without libzip or oneDNN there is nothing to compare.
                    self.assertRegex(done.stderr, 'no device|without libzip')
                    self.skipTest(done.stderr)
                with open(self.y, 'rb') as f:
                    results.add(f.read())
            self.assertEqual(len(results), 1, model)

    def test_text(self):
        text = self.infer('--precision', 'bf16').stdout
        for part in ('SRVGGNetCompact, 24 features', 'ref:0', 'bf16', 'GFLOP/s', 'MiB planned'):
            self.assertIn(part, text)

    def test_profile(self):
        """Op by op the output is the same, and every op is accounted for."""
        report = json.loads(self.infer('--json').stdout)
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
        text = self.infer('-P').stdout
        self.assertRegex(text, r'\nOP +COUNT +TIME +SHARE +GFLOP/S\nconv2d +10 ')

    def test_versions_and_spelling(self):
        first = None
        texts = [header(SHAPE), header(SHAPE, version=2), header(SHAPE, version=3),
                 header(SHAPE, text='{"shape":(2,3,6,10),"fortran_order":False,"descr":"<f4"}'),
                 header(SHAPE, text="{'descr': '<f4', 'fortran_order': False, "
                                    "'shape': (2, 3, 6, 10), }" + ' ' * 3000)]
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
        for name, architecture in (('compact-x4', 'compact'), ('esrgan-x2', 'esrgan')):
            model = os.path.join(DATA, 'image', name + '.pth')
            report = json.loads(self.infer('--json', model=model).stdout)
            self.assertEqual(report['architecture'], architecture)
            self.assertEqual(report['output_shape'][2], 6 * int(name[-1]))

    def test_help_and_version(self):
        self.assertIn('usage: vrt-infer', self.run_raw('--help').stdout)
        self.assertRegex(self.run_raw('--version').stdout, r'^vrt-infer \d+\.\d+\.\d+\n$')

    # What doesn't.

    def test_usage(self):
        required = ['--model', 'compact-x2', '--input', self.x, '--output', self.y]
        for args, part in (([], '--model'), (required[:2], '--input'), (required[:4], '--output'),
                           (required + ['--repeat', '0'], '"0"'),
                           (required + ['--repeat', '1x'], '"1x"'),
                           (required + ['--repeat', '99999999999'], '99999999999'),
                           (required + ['--threads', '-1'], '"-1"'),
                           (required + ['--precision', 'f64'], '"f64"'),
                           (required + ['--loud'], 'loud'), (required + ['more'], '"more"')):
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

    def test_sigma(self):
        for value in ('20', '20.0', '.5'):
            self.refuse("isn't told how strong noise is", '--sigma', value)
        self.infer('--sigma', '0')
        for value in ('51', '-1', '2.5x', 'nan'):
            self.assertIn(f'"{value}"', self.infer('--sigma', value, status=2).stderr)

    def test_device(self):
        self.refuse('no device "cuda:7"', '--device', 'cuda:7')
        self.refuse('ref:0', '--device', 'cuda:7')

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
                           (b'\x93NUMPY\x09' + good[7:], 'version 9'), (good[:9], 'ends within'),
                           (good[:40], 'ends within'), (good[:-1], 'truncated'),
                           (good[:-1000], 'truncated'), (good + b'x', 'bytes behind the header'),
                           (header(SHAPE, version=2)[:8] + b'\xff\xff\xff\xff', '4294967295')):
            self.write(self.x, data)
            self.refuse(part)

    def test_other_arrays(self):
        for text, part in ((header(SHAPE, '<f8'), '"<f8"'), (header(SHAPE, '>f4'), '">f4"'),
                           (header(SHAPE, order='True'), 'Fortran'),
                           (header((3, 6, 10)), '3 dimensions'), (header(()), '0 dimensions'),
                           (header((2, 1, 18, 10)), '1 channels'),
                           (header((2, 3, 0, 10)), 'without values'),
                           (header((2, 3, 10 ** 17, 10)), 'truncated'),
                           (header((10 ** 17, 10 ** 17, 10 ** 17, 10 ** 17)), 'truncated'),
                           (header((1,) * 9), "doesn't describe")):
            n = 0 if '0 dim' not in part else 4
            data = values(SHAPE) if part not in ('3 dimensions', '0 dimensions') else \
                values((3, 6, 10)) if part == '3 dimensions' else b'\0' * n
            self.write(self.x, text + data)
            self.refuse(part)

    def test_bad_headers(self):
        whole = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 6, 10), }"
        bad = [whole[:n] for n in range(len(whole))]
        bad += [whole + 'x', whole.replace("'<f4'", "[('a', '<f4')]"),
                whole.replace('False', 'Maybe'), whole.replace('(2, 3, 6, 10)', '[2, 3, 6, 10]'),
                whole.replace('6', '-6'), whole.replace('6', '6.0'), whole.replace('6', ''),
                whole.replace('6', '6' * 30), whole.replace("'shape'", "'shapes'"),
                whole.replace("'shape': (2, 3, 6, 10), ", ''), whole.replace("f4'", 'f4"'),
                whole.replace('<f4', '<f4' * 20), whole.replace(',', '\0')]
        for text in bad:
            self.write(self.x, header(SHAPE, text=text) + values(SHAPE))
            self.refuse('header')

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
