#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: one clear sentence, a non-zero status, and a daemon that goes on."""
import json
import os
import shutil
import sys

import harness
from harness import clip, video_stream

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
DATA = os.path.join(TESTS, 'data')
sys.path.append(os.path.join(TESTS, 'unit', 'model'))

import graph_files  # noqa: E402  pylint: disable=wrong-import-position


class RefusedInput(harness.Case):
    def refused_file(self, name, says):
        target = self.path('never.mp4')
        line = self.refused('submit', '--follow', '--output', target, self.path(name), says=says)
        self.assertIn(name, line)
        self.assertFalse(os.path.exists(target), 'an output was left behind')

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)

    def test_truncated_mp4(self):
        whole = clip(self.path('whole.mp4'), frames=50)
        with open(whole, 'rb') as f:
            data = f.read()
        self.write('cut.mp4', data[:len(data) // 2])
        self.refused_file('cut.mp4', 'truncated')

    def test_playlist_and_concat(self):
        clip(self.path('part.mp4'))
        self.write('list.m3u8', b'#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\npart.mp4\n'
                                b'#EXT-X-ENDLIST\n')
        self.refused_file('list.m3u8', 'playlist')
        self.write('list.ffconcat', b'ffconcat version 1.0\nfile part.mp4\n')
        self.refused_file('list.ffconcat', 'concat')

    def test_damaged_packets(self):
        """In the middle: restored with a warning that says which frames, or failed by --strict."""
        source = clip(self.path('damaged.mkv'), '-c:v', 'libx264', '-g', 10, '-bf', 0, frames=60,
                      size='128x96')
        with open(source, 'r+b') as f:
            size = os.path.getsize(source)
            f.seek(size // 2)
            f.write(bytes((i * 37) & 0xff for i in range(size // 40)))
        target = self.path('damaged.out.mkv')
        done = self.vrtctl('submit', '--follow', '--json', '--output', target, source)
        job = json.loads(done.stdout.strip().splitlines()[-1])
        self.assertEqual(job['state'], 'done')
        self.assertTrue(any('frame' in w for w in job['warnings']), job['warnings'])
        self.assertEqual(int(video_stream(target)['nb_read_frames']), job['frames_done'])
        strict = self.vrtctl('submit', '--follow', '--strict', '--output', self.path('s.mkv'),
                             source, status=1)
        self.assertIn('frame', strict.stderr)


class RefusedOutput(harness.Case):
    def setUp(self):
        self.source = self.path('ok.mp4')
        if not os.path.exists(self.source):
            clip(self.source)

    def test_output_is_the_model(self):
        model = self.path('model.mp4')
        shutil.copyfile(os.path.join(DATA, 'image', 'compact-x4.pth'), model)
        before = harness.digest(model)
        self.refused('submit', '--overwrite', '--model', model, '--output', model, self.source,
                     says="model's own file")
        self.assertEqual(harness.digest(model), before)


class RefusedModel(harness.Case):
    def setUp(self):
        self.source = self.path('ok.mp4')
        if not os.path.exists(self.source):
            clip(self.source, frames=2)

    def model(self, model, says):
        target = self.path('m.mp4')
        line = self.refused('submit', '--follow', '--model', model, '--output', target,
                            self.source, says=says)
        self.assertIn(os.path.basename(model), line)
        self.assertFalse(os.path.exists(target))

    def test_evil_checkpoint_runs_nothing(self):
        self.model(os.path.join(DATA, 'pth', 'evil-reduce.pth'), 'refused')

    def test_truncated_checkpoint(self):
        self.model(os.path.join(DATA, 'pth', 'truncated.pth'), 'truncated')

    def test_wrong_network(self):
        self.model(os.path.join(DATA, 'pth', 'zip-bare.pth'), 'network')

    def test_good_checkpoint_by_path(self):
        target = self.path('good.mp4')
        model = os.path.join(DATA, 'image', 'compact-x4.pth')
        done = self.vrtctl('submit', '--follow', '--json', '--model', model, '--output', target,
                           self.source)
        job = json.loads(done.stdout.strip().splitlines()[-1])
        self.assertEqual(job['model']['scale'], 4)
        self.assertEqual(video_stream(target)['width'], 256)

    def test_model_of_two_files(self):
        """ncnn's .param and .bin: named by either, or put into the daemon's folder; half of one is
        refused, and known once the other half is there."""
        net = graph_files.Ncnn(graph_files.compact())
        folder = os.path.join(self.folder, 'state', 'models')
        os.makedirs(folder, exist_ok=True)
        halves = {'param': net.text.encode(), 'bin': net.weights}
        checksums = set()
        for i, (ending, data) in enumerate(halves.items()):
            with open(self.path(f'two.{ending}'), 'wb') as f:
                f.write(data)
            if i == 0:
                self.model(self.path('two.param'), 'put ' + self.path('two.bin') + ' beside it')
        for ending in halves:
            done = self.vrtctl('submit', '--dry-run', '--json', '--model',
                               self.path(f'two.{ending}'), self.source)
            model = json.loads(done.stdout)['model']
            self.assertEqual((model['architecture'], model['scale']), ('graph', 2))
            checksums.add(model['checksum'])
        shutil.copy(self.path('two.param'), folder)
        self.model('two', 'whose other half is missing')
        shown = self.vrtctl('models').stdout
        self.assertRegex(shown, r'\ntwo +- +no model +- +/')
        self.assertIn('two: two.param is half of an ncnn network', shown)
        shutil.copy(self.path('two.bin'), folder)
        with open(os.path.join(folder, 'joined.ncnn'), 'wb') as f:
            f.write(net.joined())
        shown = self.vrtctl('models').stdout
        for name in 'two', 'joined':
            self.assertRegex(shown, rf'\n{name} +graph +x2 +here, [1-9][0-9.]* KiB +- +/')
        listed = {m['name']: m for m in self.daemon.request('GET', '/v1/models')[1]['models']}
        for name in 'two', 'joined':
            self.assertEqual((listed[name]['size_bytes'], listed[name]['error']),
                             (len(net.joined()), None))
            checksums.add(listed[name]['checksum'])
        target = self.path('two.mp4')
        done = self.vrtctl('submit', '--follow', '--json', '--model', 'two', '--output', target,
                           self.source)
        job = json.loads(done.stdout.strip().splitlines()[-1])
        self.assertEqual({job['model']['checksum']}, checksums)
        self.assertEqual(video_stream(target)['width'], 128)


if __name__ == '__main__':
    harness.main()
