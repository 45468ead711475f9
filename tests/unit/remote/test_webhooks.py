#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""daemon/webhooks: what receivers get, and what happens to those that don't answer.

usage: test_webhooks.py WEBHOOK_PLAY
"""
import hashlib
import hmac
import socket
import subprocess
import sys
import threading
import time
import unittest

from web_server import Server

PLAY = sys.argv.pop(1)
SECRET = 'a secret of some length'
BODY = '{"event":"done","job":{"id":1,"input_name":"ä.mp4"}}'


class WebhookTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.stop)

    def send(self, *urls, stop_after_ms=60000, stop_at=0, retry_ms=5, body=BODY):
        """What became of each."""
        urls = [self.server.url(u) if u.startswith('/') else u for u in urls]
        numbers = [str(n) for n in (stop_after_ms, stop_at, retry_ms)]
        done = subprocess.run([PLAY, SECRET, body, *numbers, *urls], capture_output=True, text=True,
                              timeout=90)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.log = done.stderr
        outcomes = dict(line.split(' ', 1) for line in done.stdout.splitlines())
        return [outcomes[str(i)] for i in range(len(urls))]

    def check_signature(self, post):
        _, headers, body = post
        timestamp = headers['X-Vrtd-Timestamp']
        expected = hmac.new(SECRET.encode(), timestamp.encode() + b'.' + body,
                            hashlib.sha256).hexdigest()
        self.assertEqual(headers['X-Vrtd-Signature'], 'sha256=' + expected)
        self.assertLess(abs(int(timestamp) - time.time()), 60)

    def test_delivered(self):
        for body in (BODY, '{}', '{"x":"' + 40000 * 'y' + '"}'):
            self.assertEqual(self.send('/hook', body=body), ['delivered'])
            path, headers, received = self.server.posts[-1]
            self.assertEqual((path, received.decode()), ('/hook', body))
            self.assertEqual(headers['Content-Type'], 'application/json')
            self.check_signature(self.server.posts[-1])
        self.assertEqual(len(self.server.posts), 3)

    def test_tried_again(self):
        answers = [500, 503, 429, 408, 425]
        self.server.behaviour['/hook'] = lambda h: h.send_words(
            answers.pop(0) if answers else 204, '')
        self.assertEqual(self.send('/hook'), ['delivered'])
        self.assertEqual(len(self.server.posts), 6)
        for post in self.server.posts:
            self.check_signature(post)

    def test_twice_as_late_each_time(self):
        times = []

        def failing(handler):
            times.append(time.monotonic())
            handler.send_words(500 if len(times) < 5 else 200, 'x')
        self.server.behaviour['/hook'] = failing
        self.assertEqual(self.send('/hook', retry_ms=50), ['delivered'])
        waits = [b - a for a, b in zip(times, times[1:])]
        for wait, least in zip(waits, (0.1, 0.2, 0.4, 0.8)):
            self.assertGreater(wait, 0.9 * least)

    def test_given_up(self):
        self.server.behaviour['/hook'] = lambda h: h.send_words(500, 'x')
        self.assertEqual(self.send('/hook', retry_ms=1), ['given up'])
        self.assertEqual(len(self.server.posts), 9)
        self.assertIn('given up after 9 tries', self.log)

    def test_refused_for_good(self):
        self.server.behaviour['/gone'] = lambda h: h.send_words(410, 'x')
        self.server.behaviour['/away'] = lambda h: h.redirect('/hook')
        self.assertEqual(self.send('/gone', '/away'), ['given up', 'given up'])
        self.assertEqual(sorted(p[0] for p in self.server.posts), ['/away', '/gone'])
        self.assertEqual(self.server.requests, [])

    def test_nobody_listens(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        self.assertEqual(self.send(f'http://127.0.0.1:{port}/', retry_ms=1), ['given up'])

    def test_an_endless_answer(self):
        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            try:
                for _ in range(1000):
                    handler.wfile.write(100000 * b'x')
            except OSError:
                pass
        self.server.behaviour['/hook'] = endless
        self.assertEqual(self.send('/hook'), ['delivered'])

    def test_so_many_at_once(self):
        lock, now, most = threading.Lock(), [0], [0]
        four = threading.Barrier(4)

        def slow(handler):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            four.wait(60)
            time.sleep(0.1)         # for a fifth
            with lock:
                now[0] -= 1
            handler.send_words(200, 'x')
        self.server.behaviour['/hook'] = slow
        self.assertEqual(self.send(*['/hook'] * 20), ['delivered'] * 20)
        self.assertEqual(most[0], 4)

    def test_one_that_hangs_does_not_hold_up_others(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.server.behaviour['/slow'] = lambda h: over.wait(60)
        outcomes = self.send('/slow', '/hook', '/hook', '/hook', stop_at=1)
        self.assertEqual(outcomes, ['stopped', 'delivered', 'delivered', 'delivered'])

    def test_stopped_while_waiting(self):
        self.server.behaviour['/hook'] = lambda h: h.send_words(500, 'x')
        outcomes = self.send('/hook', '/hook', stop_after_ms=300, retry_ms=10000)
        self.assertEqual(outcomes, ['stopped', 'stopped'])

    def test_stopped_while_many_are_due(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.server.behaviour['/slow'] = lambda h: over.wait(60)
        self.assertEqual(self.send(*['/slow'] * 9, '/hook', '/slow', stop_after_ms=300),
                         ['stopped'] * 11)


if __name__ == '__main__':
    unittest.main(verbosity=2)
