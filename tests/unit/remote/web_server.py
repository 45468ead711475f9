# SPDX-License-Identifier: MIT
"""A web server of the test's own that misbehaves as its paths say.

Each path of `files` is served with ranges and an ETag; `behaviour` may hold, for a path, a function
that is given the request and answers it itself. What was asked for is kept in `requests`.
"""
import hashlib
import http.server
import os
import socket
import ssl
import subprocess
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = 30

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        path = self.path.split('?')[0]
        if path in self.server.behaviour:
            self.server.behaviour[path](self)
        elif path in self.server.files:
            self.send_file(self.server.files[path])
        else:
            self.send_words(404, 'nothing is here')

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        self.server.posts.append((self.path, dict(self.headers), body))
        path = self.path.split('?')[0]
        if path in self.server.behaviour:
            self.server.behaviour[path](self)
        else:
            self.send_words(200, 'thank you')

    def send_words(self, status, words, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('Content-Length', str(len(words)))
        self.end_headers()
        self.wfile.write(words.encode())

    def redirect(self, target, status=302):
        self.send_words(status, 'elsewhere', Location=target)

    def send_file(self, data, stop_at=None, etag=None, declared=True, ranges=True):
        """The file, or the part asked for; with `stop_at` the connection breaks at that byte."""
        etag = etag or '"' + hashlib.md5(data).hexdigest() + '"'
        start, status = 0, 200
        wanted = self.headers.get('Range')
        if wanted and ranges and self.headers.get('If-Range', etag) == etag:
            start, status = int(wanted.split('=')[1].split('-')[0]), 206
        if start >= len(data) and status == 206:
            self.send_words(416, 'nothing more', Content_Range=f'bytes */{len(data)}')
            return
        self.send_response(status)
        self.send_header('ETag', etag)
        if status == 206:
            self.send_header('Content-Range', f'bytes {start}-{len(data) - 1}/{len(data)}')
        if declared:
            self.send_header('Content-Length', str(len(data) - start))
        else:
            self.send_header('Connection', 'close')
            self.close_connection = True
        self.end_headers()
        if stop_at is None:
            self.wfile.write(data[start:])
            return
        self.wfile.write(data[start:max(stop_at, start)])
        self.break_off()

    def break_off(self):
        self.wfile.flush()
        self.close_connection = True
        # Not shutdown alone: the other end shall see an end, not a wait.
        self.connection.shutdown(socket.SHUT_RDWR)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address='127.0.0.1', certificate=None):
        """With `certificate`, a file that holds its key as well, it speaks https."""
        super().__init__((address, 0), Handler)
        self.scheme = 'https' if certificate else 'http'
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # Not in accept(): a client that turns away must not stop the server.
            self.socket = context.wrap_socket(self.socket, server_side=True,
                                              do_handshake_on_connect=False)
        self.files, self.behaviour, self.requests, self.posts = {}, {}, [], []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        pass

    def url(self, path, host='127.0.0.1'):
        return f'{self.scheme}://{host}:{self.server_address[1]}{path}'

    def stop(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


def make_certificate(folder, name, address='127.0.0.1'):
    """A certificate of its own authority, for this address, in one file with its key."""
    key, path = (os.path.join(folder, name + end) for end in ('.key', '.pem'))
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                    'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', f'/CN={name}',
                    '-addext', f'subjectAltName=IP:{address}', '-keyout', key, '-out', path],
                   check=True, stderr=subprocess.DEVNULL)
    with open(key, encoding='ascii') as f, open(path, 'a', encoding='ascii') as certificate:
        certificate.write(f.read())
    return path
