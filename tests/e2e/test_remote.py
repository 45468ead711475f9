#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs from elsewhere and webhooks: a server of the test's own, a daemon that is restarted."""
import hashlib
import hmac
import json
import os
import shutil
import sys
import tempfile
import threading
import time

from harness import Case, Daemon, PATIENCE_S, clip, digest, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'unit', 'remote'))
from web_server import Server, make_certificate   # noqa: E402

SECRET = b'sixteen bytes at least'


class RemoteCase(Case):
    few_jobs = True
    remote = {}
    more = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        secret = tempfile.NamedTemporaryFile(prefix='vrtd-secret-')
        cls.addClassCleanup(secret.close)
        secret.write(SECRET + b'\n')
        secret.flush()
        os.chmod(secret.name, 0o600)
        cls.config = {'remote': {**{k: v.replace('SECRET', secret.name)
                                    for k, v in cls.remote.items()}}, **cls.more}
        super().setUpClass()
        path = clip(os.path.join(cls.folder, 'clip.mp4'))
        with open(path, 'rb') as f:
            cls.clip = f.read()

    def setUp(self):
        self.server.requests.clear()
        self.server.posts.clear()
        self.server.behaviour.clear()
        self.server.files = {'/clip.mp4': self.clip}

    def job(self, id, daemon=None):
        return (daemon or self.daemon).job(id)

    def submit(self, url, output, *options, **more):
        done = self.vrtctl('submit', '--json', *options, '--output', self.path(output),
                           self.server.url(url) if url.startswith('/') else url, **more)
        return json.loads(done.stdout)

    def wait_for(self, id, *states, daemon=None):
        self.wait_until(lambda: self.job(id, daemon)['state'] in states)
        return self.job(id, daemon)

    def spool(self, id, daemon=None):
        folder = os.path.join((daemon or self.daemon).folder, 'state', 'spool', str(id))
        return os.listdir(folder) if os.path.isdir(folder) else []


class InputTest(RemoteCase):
    remote = {'inputs': 'on', 'private_addresses': 'on', 'max_input': '1M'}

    def test_the_same_result(self):
        wanted = self.path('wanted.mp4')
        self.vrtctl('submit', '--follow', '--output', wanted, self.path('clip.mp4'))
        job = self.submit('/clip.mp4', 'same.mp4')
        self.assertEqual((job['state'], job['input_name']), ('fetching', 'clip.mp4'))
        job = self.wait_for(job['id'], 'done', 'failed')
        self.assertEqual(job['state'], 'done', job['error'])
        self.assertEqual((job['fetched_bytes'], job['fetch_bytes']),
                         (len(self.clip), len(self.clip)))
        self.assertEqual(job['frames_done'], 6)
        self.assertEqual(digest(self.path('same.mp4')), digest(wanted))
        self.wait_until(lambda: self.spool(job['id']) == [])

    def test_beside_nothing(self):
        folder = os.path.join(self.folder, 'here')
        os.mkdir(folder)
        here = os.getcwd()
        os.chdir(folder)
        try:
            self.vrtctl('submit', '--follow', self.server.url('/clip.mp4?key=1'))
        finally:
            os.chdir(here)
        self.assertEqual(os.listdir(folder), ['clip.restored.mp4'])

    def test_failures(self):
        self.server.files['/words.mp4'] = b'words' * 1000
        self.server.files['/large.mp4'] = bytes(1 << 20) + b'x'
        for url, id in (('/nothing.mp4', 'remote.failed'), ('/words.mp4', 'input.not_media'),
                        ('/large.mp4', 'remote.too_large')):
            job = self.submit(url, 'failed.mp4', '--overwrite')
            job = self.wait_for(job['id'], 'failed', 'done')
            self.assertEqual(job['error'] and job['error']['id'], id, job)
            self.wait_until(lambda: self.spool(job['id']) == [])

    def test_refused(self):
        self.refused('submit', '--dry-run', '--output', self.path('r.mp4'),
                     self.server.url('/clip.mp4'), says="can't be planned")
        self.refused('submit', '--webhook', 'http://a.org/', '--output', self.path('r.mp4'),
                     self.server.url('/clip.mp4'), says='no webhooks')
        self.refused('submit', '--model', 'nothing', '--output', self.path('r.mp4'),
                     self.server.url('/clip.mp4'), says='no model is called')
        self.assertFalse(os.path.exists(self.path('r.mp4')))
        self.assertEqual(self.server.requests, [])

    def test_cancelled(self):
        self.server.behaviour['/slow.mp4'] = lambda h: time.sleep(2)
        job = self.submit('/slow.mp4', 'cancelled.mp4')
        self.wait_until(lambda: self.server.requests)
        self.vrtctl('cancel', job['id'])
        self.assertEqual(self.job(job['id'])['state'], 'cancelled')
        self.wait_until(lambda: self.spool(job['id']) == [])

    def test_paused(self):
        """What came before that is told, is kept, and isn't fetched again."""
        half = len(self.clip) // 2
        self.server.behaviour['/paused.mp4'] = lambda h: h.send_file(self.clip, stop_at=half)
        job = self.submit('/paused.mp4', 'paused.mp4')['id']
        self.wait_until(lambda: self.job(job)['fetched_bytes'] == half)
        self.assertEqual(self.job(job)['fetch_bytes'], len(self.clip))
        self.vrtctl('pause', job)
        self.assertEqual(self.job(job)['state'], 'paused')
        self.assertIn('input.part', self.spool(job))
        self.server.requests.clear()
        self.server.behaviour['/paused.mp4'] = lambda h: h.send_file(self.clip)
        self.vrtctl('resume', job)
        self.assertEqual(self.wait_for(job, 'done', 'failed')['state'], 'done')
        self.assertEqual([h['Range'] for _, h in self.server.requests], [f'bytes={half}-'])

    def test_tried_again(self):
        job = self.submit('/later.mp4', 'later.mp4')
        self.wait_for(job['id'], 'failed')
        self.server.files['/later.mp4'] = self.clip
        self.vrtctl('retry', job['id'])
        job = self.wait_for(job['id'], 'done', 'failed')
        self.assertEqual((job['state'], job['error']), ('done', None))

    def test_given_instead(self):
        # Nothing was ever found out about it, and so it is when it is given, by whatever daemon.
        long = clip(self.path('long.mp4'), frames=2000, size='320x240')
        folder = os.path.join(self.folder, 'instead')
        os.mkdir(folder)
        daemon = Daemon(folder, {**self.config, 'jobs': {'max_running': '1'}})
        self.addCleanup(daemon.stop)
        job = self.submit('/nothing.mp4', 'instead.mp4', daemon=daemon)
        self.wait_for(job['id'], 'failed', daemon=daemon)
        self.vrtctl('submit', '--output', self.path('slow.mp4'), long, daemon=daemon)
        self.vrtctl('retry', job['id'], self.path('clip.mp4'), daemon=daemon)
        self.assertEqual(self.job(job['id'], daemon)['state'], 'queued')
        # A submission is answered when it is stored, and so is what was to be stored before it.
        self.vrtctl('submit', '--output', self.path('last.mp4'), self.path('clip.mp4'),
                    daemon=daemon)
        daemon.kill()
        again = self.start_daemon(folder)
        self.assertEqual(self.job(job['id'], again)['state'], 'needs_input')
        self.vrtctl('resume', job['id'], self.path('clip.mp4'), daemon=again)
        job = self.wait_for(job['id'], 'done', 'failed', 'needs_input', daemon=again)
        self.assertEqual((job['state'], job['error'], job['frames_done']), ('done', None, 6))

    def test_some_at_a_time(self):
        now, go = [], threading.Event()

        def held_up(handler):
            now.append(1)
            go.wait(PATIENCE_S)
            handler.send_words(404, 'nothing')
        for i in range(6):
            self.server.behaviour[f'/{i}.mp4'] = held_up
        ids = [self.submit(f'/{i}.mp4', f'{i}.mp4')['id'] for i in range(6)]
        # Of one user half of what is fetched at a time: others come in between.
        self.wait_until(lambda: len(now) == 2)
        time.sleep(0.3)
        self.assertEqual(len(now), 2)
        go.set()
        for id in ids:
            self.wait_for(id, 'failed')
        self.assertEqual(len(now), 6)

    def test_goes_on_after_a_restart(self):
        # Without a service manager the output's descriptor is lost: it is given again.
        for how in ('stop', 'kill'):
            self.server.requests.clear()
            over = threading.Event()
            self.server.behaviour['/cut.mp4'] = lambda h, over=over: (
                h.send_file(self.clip) if len(self.server.requests) > 1 else over.wait(PATIENCE_S))
            folder = os.path.join(self.folder, 'again-' + how)
            os.mkdir(folder)
            # One that is killed doesn't end as the others must.
            daemon = Daemon(folder, self.config)
            self.addCleanup(daemon.stop)
            job = self.submit('/cut.mp4', how + '.mp4', daemon=daemon)
            self.wait_until(lambda: self.server.requests)
            # It doesn't wait for what comes slowly.
            self.assertEqual(daemon.stop() if how == 'stop' else daemon.kill() or 0, 0)
            over.set()
            again = self.start_daemon(folder)
            self.assertEqual(self.job(job['id'], again)['state'], 'needs_input')
            self.vrtctl('resume', job['id'], daemon=again)
            job = self.wait_for(job['id'], 'done', 'failed', daemon=again)
            self.assertEqual((job['state'], job['error']), ('done', None), again.log_text())
            self.assertEqual(job['frames_done'], 6)


class HttpsTest(RemoteCase):
    """Servers of one's own, whose certificates only this daemon knows."""
    remote = {'inputs': 'on', 'private_addresses': 'on'}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='vrtd-certificates-')
        cls.addClassCleanup(folder.cleanup)
        certificates = [make_certificate(folder.name, 'right'),
                        make_certificate(folder.name, 'misplaced', '127.0.0.2'),
                        make_certificate(folder.name, 'strange')]
        known = os.path.join(folder.name, 'known.pem')
        with open(known, 'w', encoding='ascii') as to:
            for path in certificates[:2]:
                with open(path, encoding='ascii') as f:
                    to.write(f.read())
        cls.remote = {**cls.remote, 'ca_file': known}
        super().setUpClass()
        cls.right, cls.misplaced, cls.strange = (Server(certificate=c) for c in certificates)
        for server in (cls.right, cls.misplaced, cls.strange):
            cls.addClassCleanup(server.stop)
            server.files = {'/clip.mp4': cls.clip}

    def test_trusted(self):
        job = self.submit(self.right.url('/clip.mp4'), 'trusted.mp4')
        job = self.wait_for(job['id'], 'done', 'failed')
        self.assertEqual(job['state'], 'done', job['error'])
        self.assertEqual(job['frames_done'], 6)

    def test_not_trusted(self):
        for server, name in ((self.misplaced, 'misplaced'), (self.strange, 'strange')):
            with self.subTest(name):
                job = self.submit(server.url('/clip.mp4'), f'{name}.mp4')
                job = self.wait_for(job['id'], 'done', 'failed')
                self.assertEqual((job['state'], job['error']['id']), ('failed', 'remote.failed'))
                self.assertIn("its certificate isn't trusted", job['error']['message'])
                self.assertIn('ca_file', job['error']['message'])
                self.assertEqual(server.requests, [])

    def test_does_not_fall_back_to_http(self):
        self.right.behaviour['/away.mp4'] = \
            lambda request: request.redirect(self.server.url('/clip.mp4'))
        job = self.submit(self.right.url('/away.mp4'), 'away.mp4')
        job = self.wait_for(job['id'], 'done', 'failed')
        self.assertEqual((job['state'], job['error']['id']), ('failed', 'remote.url'))
        self.assertEqual(self.server.requests, [])


class PathTest(RemoteCase):
    """Where the daemon makes the output, too."""
    remote = {'inputs': 'on', 'private_addresses': 'on'}

    @classmethod
    def setUpClass(cls):
        cls.media = tempfile.mkdtemp(prefix='vrtd-media-')
        cls.addClassCleanup(shutil.rmtree, cls.media)
        cls.more = {'access': {'media_roots': cls.media}}
        super().setUpClass()

    def submit_path(self, url, name):
        path = os.path.join(self.media, name)
        status, job = self.daemon.request('POST', '/v1/jobs', {
            'input': {'url': self.server.url(url), 'name': 'clip.mp4'},
            'output': {'path': path, 'name': name}})
        self.assertEqual(status, 201, job)
        return job['id'], path

    def test_what_comes_to_nothing_leaves_nothing(self):
        self.server.files['/words.mp4'] = b'words' * 1000
        self.server.behaviour['/slow.mp4'] = lambda h: time.sleep(2)
        id, path = self.submit_path('/clip.mp4', 'done.mp4')
        self.assertEqual(self.wait_for(id, 'done', 'failed')['state'], 'done')
        self.assertGreater(os.path.getsize(path), 0)
        id, _ = self.submit_path('/words.mp4', 'failed.mp4')
        self.wait_for(id, 'failed')
        id, _ = self.submit_path('/slow.mp4', 'cancelled.mp4')
        self.vrtctl('cancel', id)
        # What is fetched already waits behind another job with its output open.
        long = clip(os.path.join(self.folder, 'long.mp4'), frames=200)
        done = self.vrtctl('submit', '--json', '--output', self.path('long.out.mp4'), '--priority',
                           '9', long)
        id, path = self.submit_path('/clip.mp4', 'waiting.mp4')
        self.wait_for(id, 'queued', 'running', 'done')
        self.vrtctl('pause', id, status=None)
        self.vrtctl('cancel', id, status=None)
        self.vrtctl('cancel', json.loads(done.stdout)['id'], status=None)
        state = self.wait_for(id, 'cancelled', 'done')['state']
        left = ['done.mp4'] + ['waiting.mp4'] * (state == 'done')
        self.wait_until(lambda: sorted(os.listdir(self.media)) == left)


class OffTest(RemoteCase):
    def test_off(self):
        self.refused('submit', '--output', self.path('off.mp4'), self.server.url('/clip.mp4'),
                     says='inputs in vrtd.conf')
        self.assertFalse(os.path.exists(self.path('off.mp4')))


class WebhookTest(RemoteCase):
    remote = {'webhooks': 'on', 'private_addresses': 'on', 'webhook_secret_file': 'SECRET'}

    def posts(self, n, daemon=None):
        self.wait_until(lambda: len(self.server.posts) >= n)
        return self.server.posts

    def check(self, post, event, id):
        _, headers, body = post
        text = json.loads(body)
        self.assertEqual((text['event'], text['job']['state'], text['job']['id']),
                         (event, event, id))
        signed = f'{headers["X-Vrtd-Timestamp"]}.'.encode() + body
        self.assertEqual(headers['X-Vrtd-Signature'],
                         'sha256=' + hmac.new(SECRET, signed, hashlib.sha256).hexdigest())

    def hook(self, output, *options, daemon=None, status=0):
        done = self.vrtctl('submit', '--json', '--webhook', self.server.url('/hook'), *options,
                           '--output', self.path(output), self.path('clip.mp4'), daemon=daemon)
        return json.loads(done.stdout)['id']

    def test_done(self):
        id = self.hook('hook.mp4')
        self.check(self.posts(1)[0], 'done', id)

    def test_cancelled(self):
        # Behind others, so that it is cancelled before it starts.
        self.server.behaviour['/other'] = lambda h: h.send_words(200, 'x')
        id = self.hook('cancelled.mp4', '--priority', '-100')
        self.vrtctl('cancel', id, status=None)
        state = self.wait_for(id, 'cancelled', 'done')['state']
        self.check(self.posts(1)[0], state, id)

    def test_survives_a_restart(self):
        folder = os.path.join(self.folder, 'restarted')
        os.mkdir(folder)
        self.server.behaviour['/hook'] = lambda h: h.send_words(503, 'later')
        daemon = self.start_daemon(folder)
        id = self.hook('restarted.mp4', daemon=daemon)
        self.posts(1)
        self.assertEqual(daemon.stop(), 0)
        n = len(self.server.posts)
        del self.server.behaviour['/hook']
        # One that sends none leaves it to the next.
        off = Daemon(folder)
        self.assertEqual((off.job(id)['state'], off.stop()), ('done', 0))
        self.assertIn("webhook can't be sent before the next start", off.log_text())
        again = self.start_daemon(folder)
        self.wait_until(lambda: len(self.server.posts) > n)
        self.check(self.server.posts[-1], 'done', id)
        self.wait_until(lambda: 'was told' in again.log_text())
        self.assertEqual(again.stop(), 0)
        n = len(self.server.posts)
        self.start_daemon(folder)
        time.sleep(0.5)
        self.assertEqual(len(self.server.posts), n)


if __name__ == '__main__':
    main()
