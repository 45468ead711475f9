#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Videos go up to a vrtd over TCP, and results come down."""
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import harness
from browser import Visitor, free_port

QUOTA = 1 << 20


def clip_and_truth(case, **options):
    """A video, and what the built-in network should make of it: the bytes of both."""
    source, truth = case.path('in.mkv'), case.path('truth.mkv')
    harness.ffmpeg('-i', harness.clip(source, **options), '-vf', 'scale=2*iw:2*ih', '-c:v', 'ffv1',
                   truth)
    return [read(path) for path in (source, truth)]


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def beginning(token, rest=''):
    """Of an upload, as it is sent."""
    return (f'POST /v1/uploads HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n'
            f'{rest}').encode()


class TransferCase(harness.Case):
    small = True
    few_jobs = True
    access = {}
    web = {}

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.config = {'web': {'listen': f'127.0.0.1:{cls.port}', **cls.web}, 'access': cls.access}
        super().setUpClass()

    def visitor(self, name, *options, daemon=None):
        return Visitor(self.port,
                       self.vrtctl('token', 'new', name, *options, daemon=daemon).stdout.strip())

    def spool(self):
        return sorted(os.listdir(os.path.join(self.folder, 'state', 'spool')))

    def upload(self, visitor, data, **headers):
        status, answer, _ = visitor.ask('POST', '/v1/uploads', data, headers)
        self.assertEqual(status, 201, answer)
        return answer['id']

    def submit(self, visitor, upload, output='out.mkv', **more):
        return visitor.ask('POST', '/v1/jobs', {
            'input': {'upload': upload, 'name': 'in.mkv'}, 'output': {'name': output}, **more})

    def done(self, visitor, job, state='done'):
        def is_over():
            self.job = visitor.ask('GET', f'/v1/jobs/{job["id"]}')[1]
            return self.job['state'] in ('done', 'failed', 'cancelled')
        self.wait_until(is_over)
        self.assertEqual(self.job['state'], state, self.job)
        return self.job

    def refused(self, answer, status, error_id):
        self.assertEqual((answer[0], answer[1]['error']['id']), (status, error_id), answer[1])
        self.assertTrue(self.daemon.answers())


class Transfers(TransferCase):
    def test_up_and_down(self):
        """The result is what vrtctl gets, by ranges too, and goes with its job."""
        data = read(harness.clip(self.path('in.mkv'), frames=6))
        visitor = self.visitor('ann')
        upload = self.upload(visitor, data)
        plan = self.submit(visitor, upload, dry_run=True)
        self.assertEqual((plan[0], plan[1]['video']['output_width']), (200, 128), plan[1])
        # A wrong request leaves it where it is.
        self.refused(self.submit(visitor, upload, 'out.txt'), 422, 'output.container')
        self.refused(self.submit(visitor, upload, 'out.png'), 422, 'output.container')
        self.refused(self.submit(visitor, upload, codec='vp9', output='out.mov'), 422,
                     'output.container')
        status, job, _ = self.submit(visitor, upload)
        self.assertEqual(status, 201, job)
        self.assertEqual(job['owner'], 'token:ann')
        self.refused(self.submit(visitor, upload), 404, 'upload.not_found')
        self.done(visitor, job)
        path = f'/v1/jobs/{job["id"]}/output'
        status, result, headers = visitor.ask('GET', path)
        self.assertEqual(status, 200)
        self.assertEqual(len(result), self.job['result_bytes'])
        self.assertEqual(headers['Content-Disposition'],
                         "attachment; filename=\"out.mkv\"; filename*=UTF-8''out.mkv")
        self.assertEqual([headers[name] for name in (
            'Content-Type', 'Accept-Ranges', 'Cache-Control')],
            ['video/x-matroska', 'bytes', 'private, no-cache'])
        self.follow(self.path('in.mkv'), self.path('wanted.mkv'))
        self.assertEqual(result, read(self.path('wanted.mkv')))
        self.ranges(visitor, path, result, headers['ETag'])
        self.wait_until(lambda: str(job['id']) not in self.spool())
        self.assertIn(f'{job["id"]}.result', self.spool())
        # Others have none of it.
        other = self.visitor('ann-other')
        for method, more in (('GET', '/output'), ('HEAD', '/output'), ('POST', '/forget')):
            self.assertEqual(other.ask(method, f'/v1/jobs/{job["id"]}{more}')[0], 404)
        self.assertEqual(self.visitor('ann-admin', '--admin').ask('GET', path)[1], result)
        self.assertEqual(visitor.ask('POST', f'/v1/jobs/{job["id"]}/forget')[0], 200)
        self.refused(visitor.ask('GET', path), 404, 'job.not_found')
        self.wait_until(lambda: f'{job["id"]}.result' not in self.spool())

    def test_reference(self):
        """What the result is compared with goes up as the input does, and goes with the job."""
        source, truth = clip_and_truth(self, frames=6)
        visitor, other = self.visitor('reg'), self.visitor('reg-other')
        upload, with_truth = self.upload(visitor, source), self.upload(visitor, truth)

        def submit(reference, **more):
            return self.submit(visitor, upload,
                               reference={'upload': reference, 'name': 'truth.mkv'}, **more)
        # A wrong one leaves both where they are.
        theirs, unlike = self.upload(other, truth), self.upload(visitor, source)
        for reference, status, error, field in (
                (upload, 400, 'request.field', 'reference'),
                (theirs, 404, 'upload.not_found', 'reference.upload'),
                (unlike, 422, 'input.unlike', 'reference')):
            answer = submit(reference)
            self.refused(answer, status, error)
            self.assertEqual(answer[1]['error']['field'], field)
        self.assertEqual(submit(with_truth, dry_run=True)[1]['reference_name'], 'truth.mkv')
        status, job, _ = submit(with_truth)
        self.assertEqual(status, 201, job)
        self.done(visitor, job)
        self.assertEqual(self.job['warnings'], [])
        with open(self.path('result.mkv'), 'wb') as f:
            f.write(visitor.ask('GET', f'/v1/jobs/{job["id"]}/output')[1])
        wanted = json.loads(self.vrtctl('compare', '--json', self.path('result.mkv'),
                                        self.path('truth.mkv')).stdout)
        found = self.job['comparison']
        self.assertEqual(found, {key: wanted[key] for key in found})
        self.wait_until(lambda: str(job['id']) not in self.spool())
        left = {name for name in self.spool() if name.startswith('upload-')}
        self.assertFalse(left & {f'upload-{n}' for n in (upload, with_truth)})
        self.assertTrue(left >= {f'upload-{n}' for n in (theirs, unlike)})

    def ranges(self, visitor, path, result, etag):
        n = len(result)
        for text, first, end in (('bytes=0-9', 0, 10), (f'bytes={n - 5}-', n - 5, n),
                                 ('bytes=-7', n - 7, n), (f'bytes=10-{n * 2}', 10, n)):
            status, part, headers = visitor.ask('GET', path, headers={'Range': text})
            self.assertEqual((status, part), (206, result[first:end]), text)
            self.assertEqual(headers['Content-Range'], f'bytes {first}-{end - 1}/{n}')
        for text in (f'bytes={n}-', 'bytes=-0', f'bytes={1 << 70}-'):
            answer = visitor.ask('GET', path, headers={'Range': text})
            self.refused(answer, 416, 'output.range')
            self.assertEqual(answer[2]['Content-Range'], f'bytes */{n}')
        for headers in ({'Range': 'bytes=0-1,3-4'}, {'Range': 'lines=1'},
                        {'Range': 'bytes=0-1', 'If-Range': '"other"'}):
            status, whole, _ = visitor.ask('GET', path, headers=headers)
            self.assertEqual((status, whole), (200, result))
        self.assertEqual(visitor.ask('GET', path, headers={'Range': 'bytes=0-1',
                                                           'If-Range': etag})[1], result[:2])
        self.assertEqual(visitor.ask('GET', path, headers={'If-None-Match': etag})[0], 304)
        status, nothing, headers = visitor.ask('HEAD', path)
        self.assertEqual((status, nothing, headers['Content-Length']), (200, b'', str(n)))

    def test_names(self):
        """What a result is called comes back as one name, whatever it is."""
        data = read(harness.clip(self.path('n.mkv'), frames=1))
        visitor = self.visitor('nan')
        for name in ('../../etc/x.mkv', '.hidden.mkv', 'a"\\b;c.mkv', 'ä€.mkv', 'a\r\nX: y.mkv'):
            status, job, _ = self.submit(visitor, self.upload(visitor, data), name)
            if status != 201:               # one that can't be a name
                self.assertEqual(status, 400, job)
                continue
            self.done(visitor, job)
            headers = visitor.ask('GET', f'/v1/jobs/{job["id"]}/output')[2]
            self.assertRegex(headers['Content-Disposition'], r'^attachment; filename="[\w-]'
                             r"""[\w.-]*"; filename\*=UTF-8''[\w.%-]+$""")
            self.assertNotIn('X', headers)

    def test_chunks_and_large_ones(self):
        """Some megabytes, in pieces of whatever size; also by the socket."""
        visitor = self.visitor('lea')
        data = os.urandom(5 << 20)
        pieces = [data[at:at + 70001] for at in range(0, len(data), 70001)]
        uploads = [self.upload(visitor, data), self.upload(visitor, iter(pieces))]
        self.assertEqual(self.daemon.request('POST', '/v1/uploads', data)[0], 201)
        for upload in uploads:
            self.assertEqual(
                read(os.path.join(self.folder, 'state', 'spool', f'upload-{upload}')), data)
        head = beginning(visitor.token, 'Expect: 100-continue\r\nConnection: close\r\n'
                         'Content-Length: 3\r\n\r\n')
        with socket.create_connection(('127.0.0.1', self.port), harness.PATIENCE_S) as s:
            s.sendall(head)
            self.assertIn(b'100 Continue', s.recv(4096))
            s.sendall(b'abc')
            self.assertIn(b'"size_bytes":3', s.recv(4096))

    def test_refused_before_its_body(self):
        """Nobody is told to go on who was refused: what he'd send then is no answer's."""
        visitor = self.visitor('rita')
        for token, length in ((visitor.token, 1 << 50), ('wrong', 5)):
            answer = visitor.raw(beginning(token, 'Expect: 100-continue\r\n'
                                           f'Content-Length: {length}\r\n\r\n'))
            self.assertRegex(answer, rb'^HTTP/1.1 4')
            self.assertNotIn(b'100 Continue', answer)

    def test_many_downloads(self):
        """Whoever reads none of them leaves connections to others, and gets them back."""
        data = read(harness.clip(self.path('m.mkv'), frames=1))
        visitor, other = self.visitor('mo'), self.visitor('mo-other')
        _, job, _ = self.submit(visitor, self.upload(visitor, data))
        self.done(visitor, job)
        path = f'/v1/jobs/{job["id"]}/output'
        streams = [visitor.open('GET', '/v1/events') for _ in range(64)]
        self.refused(visitor.ask('GET', path), 503, 'http.too_many')
        self.assertEqual(other.ask('GET', '/v1/jobs')[0], 200)
        for response, connection in streams:
            response.close()
            connection.close()
        for _ in range(70):
            self.wait_until(lambda: visitor.ask('GET', path)[0] == 200)
            self.assertEqual(visitor.ask('HEAD', path)[0], 200)

    def test_broken_off(self):
        """Who goes away leaves nothing; nor does a chunk that is none."""
        visitor = self.visitor('bea')
        before = self.spool()
        head = beginning(visitor.token)
        for rest in (b'Content-Length: 9999999\r\n\r\n' + b'x' * 700000,
                     b'Content-Length: 5\r\n\r\n',
                     b'Transfer-Encoding: chunked\r\n\r\n5\r\nhel'):
            with socket.create_connection(('127.0.0.1', self.port), harness.PATIENCE_S) as s:
                s.sendall(head + rest)
                self.wait_until(lambda: self.spool() != before)
            self.wait_until(lambda: self.spool() == before)
        answer = visitor.raw(head + b'Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n')
        self.assertIn(b'http.malformed', answer)
        self.wait_until(lambda: self.spool() == before)

    def test_reader_who_goes_away(self):
        """In the middle of a download, and of one that he doesn't read."""
        data = read(harness.clip(self.path('r.mkv'), frames=8, size='320x240', source='life'))
        visitor = self.visitor('rea')
        _, job, _ = self.submit(visitor, self.upload(visitor, data), codec='ffv1')
        self.done(visitor, job)
        n_before = self.daemon.n_descriptors()
        for _ in range(5):
            with socket.create_connection(('127.0.0.1', self.port), harness.PATIENCE_S) as s:
                s.sendall(f'GET /v1/jobs/{job["id"]}/output HTTP/1.1\r\nHost: 127.0.0.1\r\n'
                          f'Authorization: Bearer {visitor.token}\r\n\r\n'.encode())
                self.assertTrue(s.recv(1000))
        self.wait_until(lambda: self.daemon.n_descriptors() <= n_before)

    def test_preview(self):
        """Of a running job, for its owner: the frame on the left, what became of it on the right.
        All frames are the same, so that it may be any."""
        still = self.path('still.png')
        harness.ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=size=160x120', '-frames:v', 1, still)
        source, short = self.path('still.mkv'), self.path('short.mkv')
        for path, frames in ((source, 1500), (short, 2)):
            harness.ffmpeg('-loop', 1, '-i', still, '-frames:v', frames, '-pix_fmt', 'yuv444p',
                           '-c:v', 'ffv1', '-threads', 1, path)
        data = read(source)
        visitor, other = self.visitor('pam'), self.visitor('pam-other')
        _, job, _ = self.submit(visitor, self.upload(visitor, data), codec='ffv1')
        path = f'/v1/jobs/{job["id"]}/preview'
        self.refused(other.ask('GET', path), 404, 'job.not_found')

        def is_there():
            self.answer = visitor.ask('GET', path)
            return self.answer[0] == 200
        self.wait_until(is_there)
        _, picture, headers = self.answer
        again = visitor.ask('GET', path, headers={'If-None-Match': headers['ETag']})
        self.assertIn(again[0], (200, 304))
        self.assertEqual(visitor.ask('DELETE', f'/v1/jobs/{job["id"]}')[0], 200)
        self.done(visitor, job, 'cancelled')
        self.refused(visitor.ask('GET', path), 404, 'preview.none')
        with open(self.path('pair.png'), 'wb') as f:
            f.write(picture)
        self.follow(short, self.path('result.mkv'), '--codec', 'ffv1')
        pair = harness.pixels(self.path('pair.png'), 'rgb24')
        self.assertEqual(len(pair), 640 * 240 * 3)
        wanted = self.path('wanted.png')
        harness.ffmpeg('-i', source, '-i', self.path('result.mkv'), '-filter_complex',
                       '[0]scale=320:240:flags=neighbor,format=gbrp[a];[1]format=gbrp[b];'
                       '[a][b]hstack', '-frames:v', 1, wanted)
        errors = [abs(a - b) for a, b in zip(pair, harness.pixels(wanted, 'rgb24'))]
        self.assertLess(sum(errors) / len(errors), 1)
        self.assertLessEqual(max(errors), 4)

    def test_logout_while_uploading(self):
        """Who logs out ends what that session began, not what his programs and others did."""
        token = self.visitor('lou').token
        browsers = [Visitor(self.port), Visitor(self.port)]
        for browser in browsers:
            self.assertEqual(browser.login(token), 200)
        streams = [browser.open('GET', '/v1/events') for browser in browsers]
        with socket.create_connection(('127.0.0.1', self.port), harness.PATIENCE_S) as s:
            s.sendall(beginning(token, 'Content-Length: 4\r\n\r\nxx'))
            self.assertEqual(browsers[0].ask('DELETE', '/v1/session')[0], 204)
            try:
                while streams[0][0].readline():
                    pass
            except ConnectionResetError:
                pass
            s.sendall(b'yy')
            self.assertIn(b'"size_bytes":4', s.recv(4096))
        self.refused(browsers[0].ask('GET', '/v1/jobs'), 401, 'web.login')
        self.assertEqual(browsers[1].ask('GET', '/v1/jobs')[0], 200)
        self.assertTrue(streams[1][0].readline())
        for response, connection in streams:
            response.close()
            connection.close()

    def test_revoked_while_uploading(self):
        visitor = self.visitor('rex')
        before = self.spool()
        with socket.create_connection(('127.0.0.1', self.port), harness.PATIENCE_S) as s:
            s.sendall(beginning(visitor.token, 'Content-Length: 1000000\r\n\r\nxx'))
            self.wait_until(lambda: self.spool() != before)
            self.vrtctl('token', 'revoke', 'rex')
            self.wait_until(lambda: self.spool() == before)


class Quotas(TransferCase):
    access = {'spool_per_user': QUOTA}
    web = {'max_upload': 600000}

    def test_too_large(self):
        """Refused at the first byte where it is said, else as soon as it is too much."""
        visitor = self.visitor('max')
        head = beginning(visitor.token)
        before = self.spool()
        for length in (600001, 1 << 40, (1 << 63) - 1):
            answer = visitor.raw(head + f'Content-Length: {length}\r\n\r\n'.encode())
            self.assertIn(b'upload.too_large', answer)
        self.assertIn(b'http.malformed', visitor.raw(head + b'Content-Length: 1e3\r\n\r\n'))
        chunk = b'10000\r\n' + b'x' * 65536 + b'\r\n'
        try:
            answer = visitor.raw(head + b'Transfer-Encoding: chunked\r\n\r\n' + chunk * 12)
        except ConnectionError:
            answer = b'upload.too_large'
        self.assertIn(b'upload.too_large', answer)
        self.wait_until(lambda: self.spool() == before)

    def test_results_count(self):
        """What is kept of results is charged until the job is forgotten."""
        data = read(harness.clip(self.path('q.mkv'), frames=4, size='160x120', source='life'))
        visitor = self.visitor('quinn')
        _, job, _ = self.submit(visitor, self.upload(visitor, data), codec='ffv1')
        kept = self.done(visitor, job)['result_bytes']
        self.assertGreater(kept, 1000)
        # Its working files go a moment after its end is told.
        self.wait_until(lambda: str(job['id']) not in self.spool())
        left = QUOTA - kept
        self.assertLess(QUOTA - 600000, left)
        self.upload(visitor, b'x' * 500000)
        self.refused(visitor.ask('POST', '/v1/uploads', b'x' * (left - 500000 + 1)), 507,
                     'spool.quota')
        self.upload(visitor, b'x' * (left - 500000))
        self.refused(visitor.ask('POST', '/v1/uploads', b'x'), 507, 'spool.quota')
        self.assertEqual(visitor.ask('POST', f'/v1/jobs/{job["id"]}/forget')[0], 200)
        self.upload(visitor, b'x' * kept)


class Crashes(harness.FolderCase):
    def test_kill(self):
        """Results and inputs of jobs outlive vrtd; what no job has taken doesn't."""
        port = free_port()
        config = {'web': {'listen': f'127.0.0.1:{port}'}, 'jobs': {'segment_frames': 2}}
        daemon = harness.Daemon(self.folder, config)
        spool = os.path.join(self.folder, 'state', 'spool')
        status, token = daemon.request('POST', '/v1/tokens', {'name': 'ann'})
        self.assertEqual(status, 200)
        visitor = Visitor(port, token['token'])
        short = read(harness.clip(self.path('in.mkv'), frames=4))
        n = 60 if harness.SANITIZED else 250
        long = read(harness.clip(self.path('long.mkv'), frames=n, size='128x96'))
        done, running = [visitor.ask('POST', '/v1/jobs', {
            'input': {'upload': visitor.ask('POST', '/v1/uploads', data)[1]['id'], 'name': 'i.mkv'},
            'output': {'name': 'o.mkv'}})[1] for data in (short, long)]
        visitor.ask('POST', '/v1/uploads', b'nobody takes it')

        def state(job, *more):
            info = visitor.ask('GET', f'/v1/jobs/{job["id"]}')[1]
            return info['state'], info['segments_done'] if more else None
        while state(done)[0] != 'done' or state(running, 1)[1] < 2:
            self.assertNotIn(state(running)[0], ('done', 'failed'), daemon.log_text())
            time.sleep(0.02)
        path = f'/v1/jobs/{done["id"]}/output'
        result = visitor.ask('GET', path)[1]
        daemon.kill()
        daemon = harness.Daemon(self.folder, config)
        self.addCleanup(daemon.stop)
        self.assertEqual(visitor.ask('GET', path)[1], result)
        self.assertFalse([name for name in os.listdir(spool) if name.startswith('upload')])
        while state(running)[0] != 'done':
            self.assertNotEqual(state(running)[0], 'failed', daemon.log_text())
            time.sleep(0.05)
        self.assertGreater(visitor.ask('GET', f'/v1/jobs/{running["id"]}')[1]['n_starts'], 1)
        resumed = visitor.ask('GET', f'/v1/jobs/{running["id"]}/output')[1]
        again = visitor.ask('POST', '/v1/jobs', {
            'input': {'upload': visitor.ask('POST', '/v1/uploads', long)[1]['id'], 'name': 'i.mkv'},
            'output': {'name': 'o.mkv'}})[1]
        while state(again)[0] != 'done':
            time.sleep(0.05)
        # To the byte what an undisturbed run gives.
        self.assertEqual(visitor.ask('GET', f'/v1/jobs/{again["id"]}/output')[1], resumed)

    def test_reference(self):
        """Killed until the job fails, it keeps what it is compared with, and is charged for it, to
        be tried again; what was cancelled, or is done, leaves nothing."""
        port, quota = free_port(), 32 << 20
        config = {'web': {'listen': f'127.0.0.1:{port}'}, 'jobs': {'segment_frames': 1000},
                  'access': {'spool_per_user': quota}}
        daemon = harness.Daemon(self.folder, config)
        spool = os.path.join(self.folder, 'state', 'spool')
        visitor = Visitor(port, daemon.request('POST', '/v1/tokens', {'name': 'ann'})[1]['token'])
        files = clip_and_truth(self, frames=60 if harness.SANITIZED else 250, size='128x96')

        def submit():
            source, truth = [visitor.ask('POST', '/v1/uploads', data)[1]['id'] for data in files]
            status, job, _ = visitor.ask('POST', '/v1/jobs', {
                'input': {'upload': source, 'name': 'i.mkv'}, 'output': {'name': 'o.mkv'},
                'reference': {'upload': truth, 'name': 'truth.mkv'}})
            self.assertEqual(status, 201, job)
            return f'/v1/jobs/{job["id"]}'

        def wait(job, state, frames=0):
            while True:
                info = visitor.ask('GET', job)[1]
                if info['state'] == state and info['frames_done'] >= frames:
                    return info
                self.assertIn(info['state'], ('queued', 'running', 'finishing'), info)
                time.sleep(0.02)

        def expect_charged(n_bytes):
            """So much, of what is stored; nothing else is in the spool."""
            self.assertIn(b'spool.quota', visitor.raw(beginning(
                visitor.token, f'Content-Length: {quota - n_bytes + 1}\r\n\r\n')))
            status, upload, _ = visitor.ask('POST', '/v1/uploads', bytes(quota - n_bytes))
            self.assertEqual(status, 201, upload)
            visitor.ask('DELETE', f'/v1/uploads/{upload["id"]}')

        job = submit()
        for _ in range(3):
            wait(job, 'running', 1)
            daemon.kill()
            daemon = harness.Daemon(self.folder, config)
        self.addCleanup(daemon.stop)
        self.assertEqual(wait(job, 'failed')['error']['id'], 'job.crash_loop')
        self.assertEqual(sorted(os.listdir(spool)), ['1', '1.result'])
        expect_charged(sum(map(len, files)))
        self.assertEqual(visitor.ask('POST', f'{job}/retry')[0], 200)
        info = wait(job, 'done')
        self.assertEqual((info['warnings'], info['comparison']['frames_total']),
                         ([], info['frames_total']))
        other = submit()
        wait(other, 'running', 1)
        self.assertEqual(visitor.ask('DELETE', other)[0], 200)
        while os.listdir(spool) != ['1.result']:
            time.sleep(0.02)
        expect_charged(info['result_bytes'])


if __name__ == '__main__':
    harness.main()
