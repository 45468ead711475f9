#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtd over TCP, and what is done to it there: nobody gets anything without a token."""
import json
import os
import re
import select
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import harness
from browser import Visitor, free_port

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../daemon/web/page')


class WebCase(harness.Case):
    small = True
    few_jobs = True
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.config = {'web': {'listen': f'127.0.0.1:{cls.port}', **cls.options}}
        super().setUpClass()

    def token(self, name, *options):
        return self.vrtctl('token', 'new', name, *options).stdout.strip()

    def visitor(self, name, *options):
        return Visitor(self.port, self.token(name, *options))

    def refused(self, answer, status, error_id):
        self.assertEqual((answer[0], answer[1]['error']['id']), (status, error_id), answer[1])
        self.assertTrue(self.daemon.answers())


class Web(WebCase):
    def test_without_a_token(self):
        """Nothing but the login and its files."""
        nobody = Visitor(self.port)
        status, page, headers = nobody.ask('GET', '/')
        self.assertEqual(status, 200)
        with open(os.path.join(PAGES, 'login.html'), 'rb') as f:
            self.assertEqual(page, f.read())
        self.assertEqual(headers['Cache-Control'], 'no-cache')
        self.assertIn("default-src 'none'", headers['Content-Security-Policy'])
        self.assertNotIn('unsafe', headers['Content-Security-Policy'])
        self.assertEqual(headers['X-Content-Type-Options'], 'nosniff')
        self.assertEqual(nobody.ask('GET', '/', headers={'If-None-Match': headers['ETag']})[0], 304)
        with open(os.path.join(PAGES, '../../../proto/api.h'), encoding='utf-8') as f:
            routes = re.findall(r'X\(\w+, +"(\w+)", +"([^"]+)"\)', f.read())
        self.assertGreater(len(routes), 20)
        for method, path in routes:
            if (method, path) == ('POST', '/v1/session'):
                continue
            with self.subTest(method=method, path=path):
                self.refused(nobody.ask(method, path.replace('{id}', '1')), 401, 'web.login')
        for name in os.listdir(PAGES):
            status, data, _ = nobody.ask('GET', '/' + name)
            with open(os.path.join(PAGES, name), 'rb') as f:
                is_there = f.read() == data
            self.assertEqual((status, is_there), (200, True) if name.startswith('login.') else
                             (401, False), name)
        for path in ('/../index.html', '/%2e%2e/index.html', '//index.html', '/..%2findex.html',
                     '/login.html/../index.html', '/./index.html', '/etc/passwd',
                     '/%2fetc%2fpasswd', '/login.html%00.js', '/v1/jobs?x', '*', '/index.html?x'):
            with self.subTest(path=path):
                answer = nobody.raw(f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n'
                                    'Connection: close\r\n\r\n'.encode())
                self.assertRegex(answer, rb'^HTTP/1.1 4\d\d ')
                self.assertNotIn(b'root:', answer)
                self.assertNotIn(b'logout', answer)

    def test_page_needs_nothing_inline(self):
        for name in os.listdir(PAGES):
            with open(os.path.join(PAGES, name), encoding='utf-8') as f:
                text = f.read()
            if name.endswith('.html'):
                self.assertNotRegex(text, r'\son\w+=|style=|<style|<script(?![^>]*\ssrc=)')
            self.assertNotRegex(text, r'https?://(?!www\.w3\.org)', name)

    def test_login(self):
        token = self.token('lena', '--expires', '1h')
        visitor = Visitor(self.port)
        self.assertEqual(visitor.login(token), 200)
        status, answer, headers = Visitor(self.port).ask('POST', '/v1/session', {'token': token})
        self.assertRegex(headers['Set-Cookie'], r'\Avrtd_session=[\w-]{43}; Path=/; HttpOnly; '
                         r'SameSite=Strict; Max-Age=604800\Z')
        self.assertEqual(answer, {'user': 'token:lena', 'admin': False})
        self.assertEqual(visitor.ask('GET', '/v1/session')[1], answer)
        self.assertIn(b'main.js', visitor.ask('GET', '/')[1])
        self.assertEqual(visitor.ask('GET', '/v1/jobs')[1], {'jobs': [], 'next': None})
        self.assertEqual(visitor.ask('GET', '/healthz')[0], 200)
        self.assertRegex(visitor.ask('GET', '/metrics')[1],
                         rb'(?s)\nvrtd_build_info\{[^}]+\} 1\n.*\nvrtd_device_info\{[^}]+\} 1\n')
        status, _, headers = visitor.ask('DELETE', '/v1/session')
        self.assertEqual((status, headers['Set-Cookie']), (204, 'vrtd_session=; Path=/; HttpOnly; '
                                                           'SameSite=Strict; Max-Age=0'))
        self.refused(answer := visitor.ask('GET', '/v1/session'), 401, 'web.login')
        self.assertEqual(answer[2]['WWW-Authenticate'], 'Bearer realm="vrtd"')
        for shown, status in (f'bearer   {token}', 200), (f'Bearer:{token}', 401):
            self.assertEqual(visitor.ask('GET', '/v1/session',
                                         headers={'Authorization': shown})[0], status, shown)
        self.refused(visitor.ask('POST', '/v1/session', b'{"token":7}'), 400, 'request.field')
        # The store keeps no token.
        for name in os.listdir(os.path.join(self.folder, 'state')):
            path = os.path.join(self.folder, 'state', name)
            if os.path.isfile(path):
                with open(path, 'rb') as f:
                    self.assertNotIn(token.encode(), f.read())
        self.assertNotIn(token, self.daemon.log_text())

    def test_commands(self):
        self.assertRegex(self.token('tom', '--admin'), r'^vrtd_[A-Za-z0-9_-]{43}$')
        self.assertRegex(self.vrtctl('token', 'list').stdout, r'tom +yes .* never')
        self.assertEqual(self.vrtctl('token', 'new', 'tom', status=1).returncode, 1)
        self.vrtctl('token', 'revoke', 'tom')
        self.vrtctl('token', 'revoke', 'tom', status=4)
        self.assertNotIn('tom', self.vrtctl('token', 'list').stdout)
        # Not over TCP, whatever the token.
        admin = self.visitor('boss', '--admin')
        for method, path in (('POST', '/v1/tokens'), ('GET', '/v1/tokens'),
                             ('DELETE', '/v1/tokens/1')):
            self.refused(admin.ask(method, path, {'name': 'x'}), 403, 'token.forbidden')

    def test_others(self):
        """Of another's job one is told nothing; an administrator is told everything."""
        source = harness.clip(self.path('in.mkv'), frames=4)
        job = self.restore(source, self.path('out.mkv'))
        path = f'/v1/jobs/{job["id"]}'
        visitor, admin = self.visitor('eve'), self.visitor('adam', '--admin')
        self.assertEqual(visitor.ask('GET', '/v1/jobs')[1]['jobs'], [])
        for method, more in (('GET', ''), ('GET', '/log'), ('GET', '/history'), ('DELETE', ''),
                             ('POST', '/pause'), ('POST', '/resume'), ('POST', '/retry'),
                             ('POST', '/forget'), ('PATCH', '')):
            with self.subTest(method=method, path=more):
                self.refused(visitor.ask(method, path + more, {}), 404, 'job.not_found')
        self.refused(visitor.ask('GET', f'/v1/events?job={job["id"]}'), 404, 'job.not_found')
        self.assertEqual(admin.ask('GET', path)[1]['input_name'], 'in.mkv')
        self.assertEqual(len(admin.ask('GET', '/v1/jobs')[1]['jobs']), 1)
        for path in ('/v1/doctor', '/v1/profile'):
            self.refused(visitor.ask('POST', path, {}), 403, 'web.admin')

    def test_no_file_of_the_machine(self):
        for who in (self.visitor('fay'), self.visitor('gus', '--admin')):
            for files in ({'input': {'path': '/etc/passwd', 'name': 'a.mkv'},
                           'output': {'path': '/tmp/x.mkv', 'name': 'x.mkv'}},
                          {'input': {'fd': 0, 'name': 'a.mkv'},
                           'output': {'fd': 1, 'name': 'x.mkv'}},
                          {'input': {'upload': 1, 'name': 'a.mkv'}, 'output': {'name': 'x.mkv'},
                           'reference': {'path': '/etc/passwd', 'name': 'r.mkv'}}):
                self.refused(who.ask('POST', '/v1/jobs', files), 403, 'web.files')
            self.refused(who.ask('POST', '/v1/preview', {
                name: {'fd': i, 'name': name} for i, name in
                enumerate(('before', 'after', 'picture'))}), 400, 'request.descriptors')

    def test_hosts(self):
        """A page whose name leads here (DNS rebinding)."""
        visitor = self.visitor('hal')
        for host in ('evil.example.org', f'evil.example.org:{self.port}', '127.0.0.2', '',
                     'x' * 300, '127.0.0.1.evil.org'):
            for path in ('/', '/v1/status', '/login.js'):
                self.refused(visitor.ask('GET', path, headers={'Host': host}), 421, 'web.host')
        self.assertEqual(visitor.ask('GET', '/v1/status', headers={'Host': 'localhost'})[0], 200)

    def test_origins(self):
        """Requests that another's page sends with our cookie."""
        visitor = Visitor(self.port)
        token = self.token('ida')
        self.assertEqual(visitor.login(token), 200)
        for headers in ({'Origin': 'http://evil.example.org'}, {'Origin': 'null'},
                        {'Origin': None}, {'Origin': f'https://127.0.0.1:{self.port}'},
                        {'Origin': 'http://127.0.0.1:1'}, {'Sec-Fetch-Site': 'cross-site'},
                        {'Sec-Fetch-Site': 'same-site'}):
            with self.subTest(headers):
                self.refused(visitor.ask('DELETE', '/v1/session', headers=headers), 403,
                             'web.origin')
        for headers in ({'Origin': 'http://evil.example.org'}, {'Sec-Fetch-Site': 'cross-site'}):
            self.refused(visitor.ask('GET', '/v1/events', headers=headers), 403, 'web.origin')
        self.refused(Visitor(self.port).ask('POST', '/v1/session', {'token': token},
                                            {'Origin': 'http://evil.example.org'}),
                     403, 'web.origin')
        self.assertEqual(visitor.ask('GET', '/v1/session', headers={'Origin': None})[0], 200)
        self.assertNotIn('Access-Control-Allow-Origin', visitor.ask('GET', '/v1/status')[2])

    def test_cookies_of_others(self):
        """Servers on other ports of the host set some as well: many, or one called as ours."""
        visitor = Visitor(self.port)
        self.assertEqual(visitor.login(self.token('cy')), 200)
        for others in ('a=' + 'x' * 3900, 'vrtd_session=no', 'vrtd_session=; vrtd_session=x' * 2,
                       '; '.join(['vrtd_session=' + 'x' * 43] * 3), 'vrtd_session=' + 'x' * 44):
            for cookie in (f'{others}; {visitor.cookie}', f'{visitor.cookie}; {others}'):
                self.assertEqual(visitor.ask('GET', '/v1/session',
                                             headers={'Cookie': cookie})[0], 200, others[:40])
        self.refused(visitor.ask('GET', '/', headers={'Cookie': f'a={"x" * 4096}'}), 431,
                     'http.header_too_large')

    def test_many_who_ask_for_codecs(self):
        """Each takes a process and a while: one user's hundred hold nobody else's upload up."""
        many, other = self.visitor('cory'), self.visitor('cora')
        asked = []
        for _ in range(100):
            s = socket.create_connection(('127.0.0.1', self.port), harness.PATIENCE_S)
            self.addCleanup(s.close)
            s.sendall(f'GET /v1/codecs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer '
                      f'{many.token}\r\n\r\n'.encode())
            asked.append(s)
        self.assertIn('codecs', other.ask('GET', '/v1/codecs')[1])
        self.assertEqual(other.ask('POST', '/v1/uploads', b'x')[0], 201)
        # Of one user one is asked for at a time: the last one's answer isn't there yet.
        self.assertEqual(select.select(asked[-1:], [], [], 0)[0], [])
        for s in asked[1:]:
            s.close()
        self.assertIn(b'200 OK', asked[0].recv(4096))
        self.assertTrue(self.daemon.answers())

    def test_revoked_and_expired(self):
        """Sessions and streams end, of the token that is meant and of no other."""
        for name, options in (('jo', ()), ('kim', ('--expires', '3s'))):
            token = self.token(name, *options)
            other = self.visitor(name + '-other')
            visitor = Visitor(self.port)
            self.assertEqual(visitor.login(token), 200)
            stream, connection = visitor.open('GET', '/v1/events')
            kept, kept_connection = other.open('GET', '/v1/events')
            self.assertIn(b'event:', stream.readline())
            self.assertIn(b'event:', kept.readline())
            if not options:
                self.vrtctl('token', 'revoke', name)
            try:
                while stream.readline():
                    pass
            except ConnectionResetError:
                pass
            self.refused(visitor.ask('GET', '/v1/jobs'), 401, 'web.login')
            self.refused(Visitor(self.port, token).ask('GET', '/v1/jobs'), 401, 'web.login')
            self.assertEqual(other.ask('GET', '/v1/jobs')[0], 200)
            self.assertTrue(kept.readline())
            connection.close()
            kept_connection.close()

    def test_over_a_restart(self):
        """Tokens stay, their numbers aren't used again, and sessions are begun anew."""
        folder = self.path('restart')
        os.mkdir(folder)
        daemon = harness.Daemon(folder)
        token = self.vrtctl('token', 'new', 'ann', daemon=daemon).stdout.strip()
        gone = self.vrtctl('token', 'new', 'bob', '--json', daemon=daemon).stdout
        self.vrtctl('token', 'revoke', 'bob', daemon=daemon)
        daemon.kill()
        port = free_port()
        daemon = harness.Daemon(folder, {'web': {'listen': f'127.0.0.1:{port}'}})
        self.addCleanup(daemon.stop)
        again = self.vrtctl('token', 'new', 'bob', '--json', daemon=daemon).stdout
        self.assertGreater(json.loads(again)['id'], json.loads(gone)['id'])
        self.assertRegex(self.vrtctl('token', 'list', daemon=daemon).stdout, r'ann +no')
        self.assertEqual(Visitor(port, token).ask('GET', '/v1/session')[1]['user'], 'token:ann')


class Slow(WebCase):
    options = {'connections_per_address': 8}

    def test_failed_logins(self):
        """A thousand: slowed, and memory stays."""
        nobody = Visitor(self.port)
        right = self.visitor('right')
        answers = [nobody.ask('POST', '/v1/session', {'token': f'vrtd_{i}'}) for i in range(20)]
        self.assertEqual([a[0] for a in answers[:6]], [401] * 6)
        self.assertEqual(answers[-1][0], 429)
        self.assertGreaterEqual(int(answers[-1][2]['Retry-After']), 1)
        before = self.daemon.resident_bytes()
        for i in range(1000):
            self.assertIn(nobody.ask('POST', '/v1/session', {'token': f'x{i}'})[0], (401, 429))
        # Sanitizers keep what is freed for a while.
        if not harness.SANITIZED:
            self.assertLess(self.daemon.resident_bytes() - before, 8 << 20)
        # What a program shows that is right isn't slowed; a login is.
        self.assertEqual(right.ask('GET', '/v1/status')[0], 200)
        self.assertEqual(nobody.login(right.token), 429)
        self.assertLess(self.daemon.log_text().count('failed: no such token'), 20)

    def test_program_with_an_old_token(self):
        """Is slowed, and nobody else who comes from where it runs."""
        folder, port = self.path('old'), free_port()
        os.mkdir(folder)
        daemon = harness.Daemon(folder, {'web': {'listen': f'127.0.0.1:{port}'}})
        self.addCleanup(daemon.stop)
        answers = [Visitor(port, 'vrtd_old').ask('GET', '/metrics')[0] for _ in range(20)]
        self.assertEqual((answers[0], answers[-1]), (401, 429))
        token = self.vrtctl('token', 'new', 'one', daemon=daemon).stdout.strip()
        self.assertEqual(Visitor(port).login(token), 200)
        self.assertEqual(Visitor(port, token).ask('GET', '/metrics')[0], 200)

    def test_connections_of_an_address(self):
        visitor = self.visitor('many')
        opened = [visitor.open('GET', '/v1/events') for _ in range(8)]
        self.assertTrue(all(response.status == 200 for response, _ in opened))
        answer = visitor.ask('GET', '/v1/status')
        self.assertEqual((answer[0], answer[1]['error']['id']), (503, 'http.too_many'))
        # One more asks.
        self.wait_until(lambda: self.daemon.request('GET', '/v1/status')[1]['connections'] == 9)
        self.wait_until(lambda: '\nvrtd_http_connections 9\n' in
                        self.daemon.request('GET', '/metrics')[1])
        for _, connection in opened:
            connection.sock and connection.sock.close()
            connection.close()
        for response, _ in opened:
            response.close()
        self.wait_until(lambda: visitor.ask('GET', '/v1/status')[0] == 200)


class Proxied(WebCase):
    options = {'host': 'vrtd.example.org', 'https': 'on', 'proxy': '127.0.0.1',
               'connections_per_address': 1}

    def test_behind_a_proxy(self):
        token = self.token('pia')
        browser = {'Host': 'vrtd.example.org', 'Origin': 'https://vrtd.example.org',
                   'X-Forwarded-For': '6.6.6.6, 192.0.2.7'}
        visitor = Visitor(self.port)
        status, _, headers = visitor.ask('POST', '/v1/session', {'token': token}, browser)
        self.assertEqual(status, 200)
        self.assertTrue(headers['Set-Cookie'].endswith('; Max-Age=604800; Secure'))
        self.assertIn('login from 192.0.2.7', self.daemon.log_text())
        self.refused(visitor.ask('POST', '/v1/session', {'token': token},
                                 {**browser, 'Origin': 'http://vrtd.example.org'}),
                     403, 'web.origin')
        # It is the browser's address that is slowed, not the proxy's; one that is none isn't.
        def login(forwarded, token):
            return visitor.ask('POST', '/v1/session', {'token': token},
                               {**browser, 'X-Forwarded-For': forwarded})[0]
        for _ in range(10):
            login('6.6.6.6,192.0.2.7', 'x'), login('none', 'x'), login('192.0.2.8', 'x')
            self.assertEqual(login('192.0.2.8', token), 200)
        for address, status in ('192.0.2.7', 429), ('2001:db8::1', 200), ('other', 429):
            self.assertEqual(login(address, token), status)
        # The proxy has as many connections as there are.
        with_token = Visitor(self.port, token)
        opened = [with_token.open('GET', '/v1/events', headers=browser) for _ in range(5)]
        self.assertEqual([response.status for response, _ in opened], [200] * 5)
        for _, connection in opened:
            connection.close()


class Refused(harness.FolderCase):
    def test_address_that_is_taken(self):
        with socket.create_server(('127.0.0.1', 0)) as s:
            taken = '127.0.0.1:%d' % s.getsockname()[1]
            with self.assertRaises(RuntimeError) as refused:
                harness.Daemon(self.folder, {'web': {'listen': f'127.0.0.1:{free_port()} {taken}'}})
        self.assertIn(f'cannot listen on {taken}', str(refused.exception))


if __name__ == '__main__':
    harness.main()
