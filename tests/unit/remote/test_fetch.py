#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""daemon/fetch, fetch-file, web: downloads from servers that break off, lie, wait and redirect.

usage: test_fetch.py FETCH_PLAY
"""
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from web_server import Server

PLAY = sys.argv.pop(1)

# Runs a command where lo alone is the network, and has a public address.
NETWORK = ['unshare', '-rn', 'bash', '-c',
           'ip link set lo up && ip addr add 8.8.8.8/32 dev lo && ip addr add 10.1.1.1/32 dev lo '
           '&& exec "$@"', '-']


def bytes_of(n, seed=1):
    return random.Random(seed).randbytes(n)


class FetchTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='vrtd-fetch-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = Server()
        self.addCleanup(self.server.stop)

    def path(self, name='x'):
        return os.path.join(self.folder, name)

    def fetch(self, url, *options, private=True, name='x'):
        if url.startswith('/'):
            url = self.server.url(url)
        done = subprocess.run([PLAY, url, self.folder, name, *(['private'] if private else []),
                               *options], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.log = done.stderr
        return json.loads(done.stdout)

    def fetched(self, url, data, *options, **more):
        """Fetches; the file must be `data`, and nothing else may be left."""
        result = self.fetch(url, *options, **more)
        self.assertEqual(result.get('size'), len(data), result)
        with open(self.path(), 'rb') as f:
            self.assertEqual(f.read(), data)
        self.assertEqual(os.listdir(self.folder), ['x'])
        return result

    def refused(self, url, id, says, *options, **more):
        result = self.fetch(url, *options, **more)
        self.assertEqual(result.get('error'), id, result)
        self.assertIn(says, result['message'])
        return result

    def ranges(self):
        return [headers.get('Range') for _, headers in self.server.requests]

    def test_plain(self):
        for size in (0, 1, 65535, 65536, 65537, 3 << 20):
            data = bytes_of(size)
            self.server.files['/file'] = data
            result = self.fetched('/file', data, 'digest')
            self.assertEqual(result['sha256'], hashlib.sha256(data).hexdigest())
            os.remove(self.path())
        self.assertEqual(set(self.ranges()), {None})
        self.assertEqual(os.stat(self.folder).st_mode & 0o7, 0)

    def test_private_is_refused(self):
        self.server.files['/file'] = b'secret'
        port = self.server.server_address[1]
        for host in ('127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433',
                     '0x7f.1'):
            result = self.fetch(f'http://{host}:{port}/file', private=False)
            self.assertEqual(result['error'], 'remote.address', result)
        self.assertEqual(self.server.requests, [])
        self.assertEqual(os.path.getsize(self.path()), 0)

    def test_environment_is_not_asked_for_a_proxy(self):
        data = bytes_of(100)
        self.server.files['/file'] = data
        os.environ['http_proxy'] = os.environ['all_proxy'] = 'http://127.0.0.1:1'
        try:
            self.fetched('/file', data)
        finally:
            del os.environ['http_proxy'], os.environ['all_proxy']

    def test_configured_proxy(self):
        data = bytes_of(100)
        self.server.behaviour['http://example.invalid/file'] = lambda h: h.send_file(data)
        self.fetched('http://example.invalid/file', data, 'proxy=' + self.server.url(''),
                     private=False)

    def test_breaks_off(self):
        data = bytes_of(2 << 20)
        for ranges, *stops in (True, 300000, 300001, 1500000), (False, 700000):
            asked = [None, *(f'bytes={n}-' for n in stops)]

            def broken(handler):
                handler.send_file(data, stop_at=stops.pop(0) if stops else None, ranges=ranges)
            self.server.behaviour['/file'] = broken
            self.server.requests.clear()
            result = self.fetched('/file', data, 'digest')
            self.assertEqual(result['sha256'], hashlib.sha256(data).hexdigest())
            self.assertEqual(self.ranges(), asked)
            os.remove(self.path())

    def test_changes_in_between(self):
        old, new = bytes_of(1 << 20), bytes_of(900000, seed=2)
        versions = [(old, 500000), (new, None)]

        def changing(handler):
            data, stop = versions.pop(0)
            handler.send_file(data, stop_at=stop)
        self.server.behaviour['/file'] = changing
        self.fetched('/file', new)

    def test_goes_on_in_a_later_run(self):
        data = bytes_of(4 << 20)
        self.server.files['/file'] = data
        self.refused('/file', 'cancelled', 'it was cancelled', 'cancel=0')
        result = self.fetch('/file', 'cancel=1000000')
        self.assertEqual(result['error'], 'cancelled')
        size = os.path.getsize(self.path())
        self.assertTrue(1000000 <= size < len(data))
        self.assertEqual(sorted(os.listdir(self.folder)), ['x', 'x.from'])
        self.fetched('/file', data, 'digest')
        self.assertEqual(self.ranges(), [None, f'bytes={size}-'])

    def test_what_is_there_already(self):
        """All of it, more than that, the beginning, the beginning of something else."""
        self.server.files['/file'] = data = bytes_of(200000)
        for there, ranges in ((data, ['bytes=200000-']),
                              (bytes(300000), ['bytes=300000-', None]),
                              (data[:100000], ['bytes=100000-']),
                              (bytes(100000), ['bytes=100000-', None])):
            self.server.requests.clear()
            with open(self.path(), 'wb') as f:
                f.write(there)
            self.fetched('/file', data, 'sha256=' + hashlib.sha256(data).hexdigest())
            self.assertEqual(self.ranges(), ranges)

    def test_wrong_digest(self):
        self.server.files['/file'] = data = bytes_of(200000)
        result = self.refused('/file', 'remote.checksum', hashlib.sha256(data).hexdigest(),
                              'sha256=' + 64 * '0')
        self.assertIn(64 * '0', result['message'])
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(len(self.server.requests), 1)

    def test_another_part_than_asked_for(self):
        data = bytes_of(200000)
        for words in 'x', '':
            self.server.behaviour['/part'] = lambda h, words=words: h.send_words(
                206, words, Content_Range='bytes 0-0/1')
            self.refused('/part', 'remote.failed', 'another part')
        self.server.files['/file'] = data
        self.fetch('/file', 'cancel=100000')
        rest = os.path.getsize(self.path())
        for said in ('bytes 5-14/200000', f'bytes {1 << 70}-/200000', 'bytes -5/200000',
                     f'items {rest}-{rest + 9}/200000', f'bytes {rest}-{rest + 9}',
                     f'bytes {rest}/200000', 'bytes /9'):
            self.server.behaviour['/file'] = lambda h, said=said: h.send_words(
                206, 'x' * 10, Content_Range=said)
            self.refused('/file', 'remote.failed', 'another part')
        self.assertEqual(self.ranges()[3:], [f'bytes={rest}-'] * 7)

    def test_what_versions_are_called(self):
        """What goes on asks for the version that began, in the server's words, where they can be
        words of a request, and mean the very same bytes."""
        data, date = bytes_of(200000), 'Sat, 28 Nov 2026 01:02:03 GMT'
        for name, value, asked in (('Last-Modified', date, date), ('ETag', '"a b"', '"a b"'),
                                   ('Last-Modified', 'y' * 255, 'y' * 255),
                                   ('Last-Modified', 'y' * 256, None), ('ETag', '"\xe4"', None),
                                   ('ETag', 'W/"weak"', None), ('ETag', '"\x7f"', None)):
            with self.subTest(name=name, value=value):
                stops = [100000]

                def versioned(handler):
                    start = int(handler.headers.get('Range', 'bytes=0-')[6:-1])
                    handler.send_response(206 if start else 200)
                    handler.send_header(name, value)
                    handler.send_header('Content-Range', f'bytes {start}-199999/200000')
                    handler.send_header('Content-Length', str(len(data) - start))
                    handler.end_headers()
                    handler.wfile.write(data[start:stops[0] if stops else None])
                    if stops:
                        stops.pop()
                        handler.break_off()
                self.server.behaviour['/file'] = versioned
                self.server.requests.clear()
                self.fetched('/file', data)
                os.remove(self.path())
                self.assertEqual([h.get('If-Range') for _, h in self.server.requests],
                                 [None, asked])

    def test_rest_of_another_version(self):
        old, new = bytes_of(200000), bytes_of(200000, seed=2)
        stops = [100000]

        def ignoring(handler):
            if stops:
                handler.send_file(old, stop_at=stops.pop())
                return
            del handler.headers['If-Range']
            handler.send_file(new)
        self.server.behaviour['/file'] = ignoring
        self.fetched('/file', new)
        self.assertEqual(self.ranges(), [None, 'bytes=100000-', None])

    def test_parts_shorter_than_asked_for(self):
        data = bytes_of(200000)

        def stingy(handler):
            start = int(handler.headers.get('Range', 'bytes=0-')[6:-1])
            if start == 0:
                handler.send_file(data, stop_at=100000)
                return
            # Once there is nothing in it.
            end = min(start + (30000 if len(self.server.requests) % 3 else 0), len(data))
            handler.send_response(206)
            handler.send_header('Content-Range', f'bytes {start}-{end - 1}/{len(data)}')
            handler.send_header('Content-Length', str(end - start))
            handler.end_headers()
            handler.wfile.write(data[start:end])
        self.server.behaviour['/file'] = stingy
        self.fetched('/file', data)
        os.remove(self.path())
        self.refused('/file', 'remote.too_large', '150000', 'limit=150000')

    def test_limit(self):
        data = bytes_of(1000001)
        self.server.files['/file'] = data
        self.server.behaviour['/undeclared'] = lambda h: h.send_file(data, declared=False)
        self.refused('/file', 'remote.too_large', '1000000 bytes', 'limit=1000000')
        self.assertEqual(os.path.getsize(self.path()), 0)
        self.refused('/undeclared', 'remote.too_large', '1000000 bytes', 'limit=1000000')
        self.assertLessEqual(os.path.getsize(self.path()), 1000000)
        os.remove(self.path())
        self.fetched('/file', data, 'limit=1000001')
        os.remove(self.path())
        self.fetched('/undeclared', data, 'limit=1000001')

    def test_redirects(self):
        data = bytes_of(1000)
        self.server.files['/file'] = data
        behaviour = self.server.behaviour
        for i in range(5):
            behaviour[f'/{i + 1}'] = lambda h, i=i: h.redirect(f'/{i}' if i else '/file',
                                                               301 + i % 2)
        behaviour['/6'] = lambda h: h.redirect('/5')
        behaviour['/loop'] = lambda h: h.redirect('/loop')
        behaviour['/local'] = lambda h: h.redirect('file:///etc/passwd')
        behaviour['/ftp'] = lambda h: h.redirect('ftp://127.0.0.1/x')
        self.fetched('/5', data)
        self.refused('/6', 'remote.failed', 'more than 5 times')
        self.refused('/loop', 'remote.failed', 'more than 5 times')
        self.refused('/local', 'remote.url', 'other than http')
        self.refused('/ftp', 'remote.url', 'other than http')
        behaviour['/user'] = lambda h: h.redirect(
            self.server.url('/file').replace('://', '://name:word@'))
        self.refused('/user', 'remote.url', "user's name")

    def test_redirects_to_private(self):
        # A public address is needed to begin with: in a network of the test's own.
        probe = subprocess.run([*NETWORK, 'true'], capture_output=True, timeout=60)
        if probe.returncode != 0:
            self.skipTest('no network namespaces here: ' + probe.stderr.decode())
        done = subprocess.run([*NETWORK, sys.executable, __file__, PLAY, 'FetchTest.inside'],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def inside(self):
        self.server = Server('0.0.0.0')
        self.addCleanup(self.server.stop)
        self.server.files['/secret'] = self.server.files['/file'] = data = b'secret'
        port = self.server.server_address[1]
        self.fetched(self.server.url('/file', '8.8.8.8'), data, private=False)
        os.remove(self.path())
        self.refused('http://8.8.8.8:1/', 'remote.failed', 'vrtd has no network here',
                     private=False)
        for host in ('127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '10.1.1.1'):
            self.server.requests.clear()
            self.server.behaviour['/away'] = lambda h, host=host: h.redirect(
                f'http://{host}:{port}/secret')
            self.refused(self.server.url('/away', '8.8.8.8'), 'remote.address', 'private address',
                         private=False)
            self.assertEqual([path for path, _ in self.server.requests], ['/away'])

    def test_statuses(self):
        self.refused('/nothing', 'remote.failed', 'status 404')
        self.assertEqual(len(self.server.requests), 1)
        self.server.behaviour['/unknown'] = lambda h: h.send_words(501, 'never')
        self.refused('/unknown', 'remote.failed', 'status 501')
        self.assertEqual(len(self.server.requests), 2)
        self.server.behaviour['/denied'] = lambda h: h.send_words(403, 'no' * 100000)
        self.refused('/denied', 'remote.failed', 'status 403')
        self.assertEqual(os.path.getsize(self.path()), 0)

    def test_passing_failures(self):
        data = bytes_of(1000)
        failures = [500, 503, 429, 408]

        def failing(handler):
            if failures:
                handler.send_words(failures.pop(0), 'later')
            else:
                handler.send_file(data)
        self.server.behaviour['/file'] = failing
        self.fetched('/file', data)
        self.assertEqual(len(self.server.requests), 5)

    def test_gives_up(self):
        self.server.behaviour['/file'] = lambda h: h.send_words(503, 'never')
        result = self.refused('/file', 'remote.failed', 'status 503 (after 5 tries)')
        self.assertNotIn('proxy', result['message'])
        self.assertEqual(len(self.server.requests), 5)

    def test_asked_to_wait(self):
        times = []

        def waiting(handler):
            times.append(time.monotonic())
            if len(times) == 1:
                handler.send_words(503, 'later', Retry_After='1')
            else:
                handler.send_file(b'now')
        self.server.behaviour['/file'] = waiting
        self.fetched('/file', b'now')
        self.assertGreater(times[1] - times[0], 0.9)

    def test_a_byte_a_time(self):
        data = bytes_of(200)
        self.server.behaviour['/file'] = lambda h: h.send_file(
            data, stop_at=int(h.headers.get('Range', 'bytes=0-')[6:-1]) + 1)
        self.refused('/file', 'remote.failed', 'after 100 tries')

    def test_stalls(self):
        data = bytes_of(100000)
        asked_again = threading.Event()

        def stalling(handler):
            if len(self.server.requests) == 1:
                handler.send_response(200)
                handler.send_header('Content-Length', '100000')
                handler.end_headers()
                handler.wfile.write(data[:50000])
                handler.wfile.flush()
                # For as long as the other end is patient.
                asked_again.wait(60)
            else:
                asked_again.set()
                handler.send_file(data)
        self.server.behaviour['/file'] = stalling
        self.fetched('/file', data, 'stall_s=1')
        self.assertIn('too slow', self.log)

    def test_nobody_listens(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        self.refused(f'http://127.0.0.1:{port}/', 'remote.failed',
                     '(after 5 tries); where only a proxy leads out, set proxy in vrtd.conf')

    def test_no_such_host(self):
        self.refused('http://host.invalid/x', 'remote.failed', 'host.invalid', 'connect_ms=3000')

    def test_disk_full(self):
        # What a process may write stands for the disk: the same path in the code, another errno.
        data = bytes_of(3 << 20)
        self.server.files['/file'] = data
        done = subprocess.run(['bash', '-c', 'trap "" XFSZ; ulimit -f 1024; exec "$@"', '-', PLAY,
                               self.server.url('/file'), self.folder, 'x', 'private'],
                              capture_output=True, text=True, timeout=60)
        result = json.loads(done.stdout)
        self.assertEqual(result['error'], 'internal')
        self.assertIn('File too large', result['message'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
