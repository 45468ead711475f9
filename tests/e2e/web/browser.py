# SPDX-License-Identifier: MIT
"""Who comes to a vrtd of the test's own over TCP."""
import http.client
import json
import socket

import harness


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Visitor:
    """Somebody with a token or the cookie of a session, or neither."""

    def __init__(self, port, token=None, cookie=None):
        self.port, self.token, self.cookie = port, token, cookie

    @property
    def origin(self):
        return f'http://127.0.0.1:{self.port}'

    def headers(self, more=None):
        headers = {}
        if self.token:
            headers['Authorization'] = f'Bearer {self.token}'
        if self.cookie:
            headers['Cookie'] = self.cookie
            headers['Origin'] = self.origin
        headers.update(more or {})
        return {name: value for name, value in headers.items() if value is not None}

    def open(self, method, path, body=None, headers=None):
        """The answer, whose body is still to be read, and the connection."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port,
                                                timeout=harness.PATIENCE_S)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, self.headers(headers))
        return connection.getresponse(), connection

    def ask(self, method, path, body=None, headers=None):
        """The status, the body and the headers."""
        response, connection = self.open(method, path, body, headers)
        try:
            data = response.read()
            assert response.reason != 'Unknown', response.status
            kind = response.getheader('Content-Type') or ''
            return response.status, json.loads(data) if data and 'json' in kind else data, \
                response.headers
        finally:
            connection.close()

    def login(self, token):
        """Takes the cookie of a session. The answer's status."""
        status, _, headers = self.ask('POST', '/v1/session', {'token': token})
        if status == 200:
            self.cookie = headers['Set-Cookie'].split(';')[0]
        return status

    def raw(self, data, patience_s=harness.PATIENCE_S):
        """Sends bytes as they are; what comes back until the end."""
        with socket.create_connection(('127.0.0.1', self.port), patience_s) as s:
            s.sendall(data)
            received = b''
            while chunk := s.recv(65536):
                received += chunk
            return received
