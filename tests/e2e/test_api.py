#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The API as another program would use it, and misuse it: raw HTTP on the socket."""
import array
import json
import os
import shutil
import socket

import harness
from harness import clip

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


class Api(harness.Case):
    def raw(self, data, descriptors=()):
        """Sends bytes (and descriptors with the first) as they are; what comes back."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(harness.PATIENCE_S)
            s.connect(self.daemon.socket)
            if descriptors:
                s.sendmsg([b'\r\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                       array.array('i', descriptors))])
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            received = b''
            while chunk := s.recv(65536):
                received += chunk
            return received

    def test_codecs(self):
        status, answer = self.daemon.request('GET', '/v1/codecs')
        self.assertEqual(status, 200)
        codecs = {c['name']: c for c in answer['codecs']}
        self.assertEqual(codecs['ffv1']['containers'], ['mov', 'mkv'])
        self.assertIn('gray16le', codecs['ffv1']['pixel_formats'])
        self.assertIsNone(codecs['prores']['quality'])
        for codec in codecs.values():
            self.assertEqual(codec['available'], bool(codec['encoders']))
            self.assertIsNone(codec['problem'])
            for hardware in codec['hardware']:
                self.assertEqual(hardware['works'], not hardware['reason'])
        self.assertEqual([h['hwaccel'] for h in codecs['h264']['hardware']],
                         ['nvenc', 'qsv', 'vaapi', 'videotoolbox'])
        self.assertEqual(codecs['ffv1']['hardware'] + codecs['png']['hardware'], [])
        for name, codec in codecs.items():
            decoders = codec['hardware_decoders']
            self.assertEqual([d['hwdec'] for d in decoders],
                             ['nvdec', 'vaapi', 'videotoolbox']
                             if name in ('h264', 'hevc', 'vp9', 'av1') else [])
            self.assertTrue(all(d['works'] != bool(d['reason']) for d in decoders))
        shown = self.vrtctl('codecs').stdout
        self.assertRegex(shown, r'h264 +libx264 +\S+ +\S+ +mp4, mov, mkv, ts +CRF 0 to 51')
        # Each reason once.
        reasons = {h['reason'] for c in codecs.values()
                   for h in c['hardware'] + c['hardware_decoders']} - {None}
        self.assertEqual(sorted(shown.splitlines()[1 + len(codecs):]), sorted(reasons))

    def request_for(self, **files):
        body = json.dumps(files).encode()
        return (b'POST /v1/jobs HTTP/1.1\r\nHost: v\r\nContent-Type: application/json\r\n'
                b'Content-Length: %d\r\n\r\n' % len(body)) + body

    def test_models_that_one_may_not_read(self):
        """That vrtd knows the file from somebody else is no permission."""
        model, source = self.path('known.safetensors'), clip(self.path('m.mp4'), frames=1)
        shutil.copy(os.path.join(ROOT, 'models', 'compact-x2.safetensors'), model)
        self.follow(source, self.path('m.out.mp4'), '-m', model)
        request = self.request_for(input={'fd': 0, 'name': 'm.mp4'},
                                   output={'fd': 1, 'name': 'm2.mp4'},
                                   model={'fd': 2, 'name': 'known.safetensors'})
        for flags in (os.O_PATH, os.O_WRONLY, os.O_RDONLY):
            fd = os.open(model, flags)
            with open(source, 'rb') as i, open(self.path('m2.mp4'), 'w+b') as o:
                got = self.raw(request, [i.fileno(), o.fileno(), fd])
            os.close(fd)
            if flags == os.O_RDONLY:
                self.assertTrue(got.startswith(b'HTTP/1.1 201'), got)
            else:
                self.assertTrue(got.startswith(b'HTTP/1.1 422'), got)
                self.assertIn(b"can't be read by the descriptor", got)

    def test_large_files_that_are_no_models(self):
        """Sparse ones of 4 GiB: refused at once, from what they say first; others don't wait."""
        header = json.dumps({'x': {'dtype': 'F32', 'shape': [1 << 30],
                                   'data_offsets': [0, 1 << 32]}}).encode()
        source = clip(self.path('l.mp4'), frames=1)
        before = self.daemon.resident_bytes()
        for name, beginning in (('zeros.pth', b''), ('zip.pth', b'PK\3\4'),
                                ('pickle.pth', b'\x80\2'),
                                ('x.safetensors', len(header).to_bytes(8, 'little') + header)):
            with open(self.path(name), 'wb') as f:
                f.write(beginning)
                f.truncate(len(beginning) + (1 << 32))
            self.refused('submit', '--dry-run', '-m', self.path(name), source, says=name)
            after = self.daemon.resident_bytes()
            self.assertLess(after - before, 200 << 20, name)

    def test_outputs_of_other_kinds(self):
        request = self.request_for(input={'fd': 0, 'name': 'k.mp4'},
                                   output={'fd': 1, 'name': 'k.out.mp4'})
        source = clip(self.path('k.mp4'), frames=1)
        os.mkdir(self.path('empty'))
        for path, flags, says in [(self.folder, os.O_RDONLY, b'is not empty'),
                                  (self.path('empty'), os.O_RDONLY, b'choose the codec png'),
                                  (self.path('empty'), os.O_PATH, b'Bad file descriptor'),
                                  ('/dev/null', os.O_RDWR, b'no regular file'),
                                  (self.path('k.out.mp4'), os.O_RDONLY, b'reading and writing'),
                                  (self.path('k.out.mp4'), os.O_WRONLY, b'reading and writing'),
                                  (self.path('k.out.mp4'), os.O_RDWR | os.O_APPEND,
                                   b'for appending')]:
            with self.subTest(path=path, flags=flags):
                if path == self.path('k.out.mp4'):
                    open(path, 'wb').close()
                output = os.open(path, flags)
                with open(source, 'rb') as i:
                    got = self.raw(request, [i.fileno(), output])
                os.close(output)
                self.assertTrue(got.startswith(b'HTTP/1.1 422') or flags == os.O_PATH, got)
                self.assertIn(says, got)


class SoftwareAlone(harness.Case):
    config = {'access': {'hwaccel': 'off'}, 'jobs': {'hwaccel': 'auto'}}

    def test_hardware_is_refused(self):
        source, target = clip(self.path('in.mp4'), frames=4), self.path('out.mp4')
        for field, *options in (('hwaccel', '--hwaccel', 'auto'), ('hwdec', '--hwdec', 'nvdec'),
                                ('hwaccel', '--hwaccel', 'nvenc', '--dry-run')):
            said = self.refused('submit', '--json', *options, '-o', target, source,
                                says='software alone')
            self.assertEqual(json.loads(said)['error']['field'], field)
        job = self.follow(source, target, '--hwdec', 'off', '--hwaccel', 'off')
        self.assertEqual((job['recipe']['hwaccel'], job['recipe']['hwdec'], job['warnings']),
                         ('off', 'off', []))
        _, answer = self.daemon.request('GET', '/v1/codecs')
        for codec in answer['codecs']:
            self.assertEqual(codec['hardware'] + codec['hardware_decoders'], [])


if __name__ == '__main__':
    harness.main()
