#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models from elsewhere: pulled from a server of the test's own, refused, gone on with."""
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time

from harness import Case, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'unit', 'remote'))
from web_server import Server   # noqa: E402

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'models',
                     'compact-x2.safetensors')
JSON = {'Content-Type': 'application/json'}


class PullCase(Case):
    few_jobs = True
    remote = {'private_addresses': 'on'}

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        with open(MODEL, 'rb') as f:
            cls.model = f.read()
        cls.digest = hashlib.sha256(cls.model).hexdigest()
        cls.catalogue_folder = tempfile.mkdtemp(prefix='vrtd-catalogue-')
        cls.addClassCleanup(shutil.rmtree, cls.catalogue_folder)
        catalogue = os.path.join(cls.catalogue_folder, 'catalogue.json')
        entry = {'architecture': 'compact', 'scale': 2, 'description': 'for tests',
                 'license': 'MIT', 'size_bytes': len(cls.model)}
        with open(catalogue, 'w', encoding='utf-8') as f:
            json.dump({'models': [
                {**entry, 'name': 'known', 'url': cls.server.url('/known.safetensors'),
                 'sha256': cls.digest},
                {**entry, 'name': 'unknown', 'url': cls.server.url('/unknown.safetensors'),
                 'sha256': None},
                {**entry, 'name': 'nameless', 'url': cls.server.url('/nameless.safetensors'),
                 'sha256': None, 'size_bytes': None},
                {**entry, 'name': 'other', 'url': cls.server.url('/other.safetensors'),
                 'sha256': 64 * '0'},
            ]}, f)
        cls.config = {'remote': {'catalogue': catalogue, **cls.remote}}
        super().setUpClass()
        cls.models_dir = os.path.join(cls.folder, 'state', 'models')

    def setUp(self):
        self.server.requests.clear()
        self.server.behaviour.clear()
        self.server.files.clear()
        for name in ('known', 'unknown', 'other', 'free'):
            self.server.files[f'/{name}.safetensors'] = self.model

    def models(self):
        return {m['name']: m for m in self.daemon.request('GET', '/v1/models')[1]['models']}

    def post(self, **body):
        return self.daemon.request('POST', '/v1/models', body, JSON)

    def pulled(self, name):
        """What is told of the model when it is no longer being pulled."""
        self.wait_until(lambda: self.models()[name]['state'] != 'pulling')
        return self.models()[name]

    def path(self, name):
        return os.path.join(self.models_dir, name)


class PullTest(PullCase):
    def test_catalogued(self):
        model = self.models()['known']
        self.assertEqual((model['state'], model['sha256'], model['scale'], model['license']),
                         ('available', self.digest, 2, 'MIT'))
        self.assertEqual(self.daemon.request('POST', '/v1/jobs', '{}', JSON)[0], 400)
        status, answer = self.post(name='known')
        self.assertEqual((status, answer['state'], answer['name']), (202, 'pulling', 'known'))
        model = self.pulled('known')
        self.assertEqual((model['state'], model['verified'], model['sha256'], model['error']),
                         ('ready', True, self.digest, None))
        self.assertEqual((model['size_bytes'], model['architecture']),
                         (len(self.model), 'compact'))
        self.assertEqual([n for n in os.listdir(self.models_dir) if n.startswith('known')],
                         ['known.safetensors'])
        self.assertEqual(os.stat(self.path('known.safetensors')).st_mode & 0o777, 0o644)

    def test_size_and_digest_come_first(self):
        """Of a pull that takes a while; what nobody knows is said, too. It comes to nothing."""
        rest = bytes(4 << 20)

        def slowly(handler):
            handler.send_response(200)
            handler.send_header('Content-Length', str(2 * len(rest)))
            handler.end_headers()
            handler.wfile.write(rest)
            handler.wfile.flush()
            time.sleep(2)
            handler.wfile.write(rest)
        for name, digest in (('other', 64 * '0'), ('nameless', 'unknown')):
            self.server.behaviour[f'/{name}.safetensors'] = slowly
            done = self.vrtctl('models', 'pull', name, status=1)
            self.assertRegex(done.stderr,
                             rf'^pulling {name}: 8.0 MiB, SHA-256 {digest}\nvrtctl: ')

    def test_tries_again(self):
        """What keeps it waiting is said while it waits; then nothing failed."""
        failures = [503, 500]

        def failing(handler):
            if failures:
                handler.send_words(failures.pop(), 'later')
            else:
                handler.send_file(self.model)
        self.server.behaviour['/later.safetensors'] = failing
        url = self.server.url('/later.safetensors')
        done = self.vrtctl('models', 'pull', url)
        self.assertIn(f'vrtctl: warning: {url} answers with HTTP status 503: trying again\n',
                      done.stderr)
        self.assertEqual(done.stderr.count('status 500: trying again\n'), 1)
        self.assertIsNone(self.models()['later']['error'])
        self.refused('models', 'pull', self.server.url('/nowhere.pth'),
                     says=f'status 404; a file that is put into {self.models_dir} by hand is a')
        self.assertEqual([n for n in os.listdir(self.models_dir) if n.startswith('nowhere')], [])

    def test_without_a_known_digest(self):
        self.assertEqual(self.post(name='unknown')[0], 202)
        model = self.pulled('unknown')
        self.assertEqual((model['state'], model['verified'], model['sha256']),
                         ('ready', False, self.digest))

    def test_wrong_digest(self):
        self.post(name='other')
        model = self.pulled('other')
        self.assertEqual(model['state'], 'failed')
        self.assertIn(self.digest, model['error'])
        self.assertFalse([n for n in os.listdir(self.models_dir) if n.startswith('other')])
        # It stands where it stood, as large as it was, and what refuses it knows of it.
        names = ['known', 'unknown', 'nameless', 'other']
        self.assertEqual([name for name in self.models() if name in names], names)
        self.assertRegex(self.vrtctl('models').stdout, r'other .* pull failed, 179 KiB')
        for words in ('profile', 'other'), ('profile', 'other.safetensors'):
            self.refused(*words, says='vrtctl models pull other ')
        self.refused('profile', 'other', says='its pull failed: vrtctl models pull other tries '
                     'again (http')

    def test_by_address(self):
        url = self.server.url('/free.safetensors')
        self.assertEqual(self.post(url=url, sha256=self.digest.upper())[0], 202)
        self.assertEqual(self.pulled('free')['verified'], True)

    def test_appears_meanwhile(self):
        def late(handler):
            with open(self.path('late.safetensors'), 'w', encoding='utf-8') as f:
                f.write('mine')
            handler.send_file(self.model)
        self.server.behaviour['/late.safetensors'] = late
        os.makedirs(self.models_dir, exist_ok=True)
        self.post(url=self.server.url('/late.safetensors'))
        self.assertIn('appeared', self.pulled('late')['error'])
        with open(self.path('late.safetensors'), encoding='utf-8') as f:
            self.assertEqual(f.read(), 'mine')

    def test_no_model(self):
        self.server.files['/words.pth'] = b'words' * 1000
        self.post(url=self.server.url('/words.pth'))
        model = self.pulled('words')
        self.assertEqual(model['state'], 'failed')
        self.assertFalse([n for n in os.listdir(self.models_dir) if n.startswith('words')])

    def test_goes_on_where_an_earlier_run_ended(self):
        folder = os.path.join(self.folder, 'restarted')
        models_dir = os.path.join(folder, 'state', 'models')
        os.makedirs(models_dir, 0o700)
        half = len(self.model) // 2
        with open(os.path.join(models_dir, 'known.safetensors.part'), 'wb') as f:
            f.write(self.model[:half])
        daemon = self.start_daemon(folder)
        daemon.request('POST', '/v1/models', {'name': 'known'}, JSON)
        self.wait_until(lambda: os.path.exists(os.path.join(models_dir, 'known.safetensors')))
        self.assertEqual([h.get('Range') for _, h in self.server.requests], [f'bytes={half}-'])

    def test_stopped_while_pulling(self):
        folder = os.path.join(self.folder, 'stopped')
        os.mkdir(folder)
        self.server.behaviour['/known.safetensors'] = lambda h: time.sleep(2)
        daemon = self.start_daemon(folder)
        daemon.request('POST', '/v1/models', {'name': 'known'}, JSON)
        daemon.request('POST', '/v1/models', {'url': self.server.url('/free.safetensors')}, JSON)
        before = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - before, 30)


class OffTest(PullCase):
    remote = {'models': 'off', 'private_addresses': 'on'}

    def test_off(self):
        status, answer = self.post(name='known')
        self.assertEqual((status, answer['error']['id']), (403, 'remote.off'))
        self.assertIn('models in vrtd.conf', answer['error']['message'])
        self.assertNotIn('known', self.models())


class PrivateTest(PullCase):
    remote = {}

    def test_private_is_refused(self):
        self.post(name='known')
        model = self.pulled('known')
        self.assertEqual(model['state'], 'failed')
        self.assertIn('private address 127.0.0.1', model['error'])
        self.assertEqual(self.server.requests, [])


if __name__ == '__main__':
    main()
