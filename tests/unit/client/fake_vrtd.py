# SPDX-License-Identifier: MIT
"""A server that answers as a test tells it to: as a vrtd would, or as no vrtd ever should."""
import array
import json
import os
import socket
import threading


def answer(body, status=200, kind='application/json'):
    """The bytes of an HTTP answer."""
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    return (f'HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\n'
            f'Content-Length: {len(body)}\r\n\r\n').encode() + body


def refusal(status, error_id, message, field=None):
    return answer({'error': {'id': error_id, 'message': message, 'field': field}}, status)


STREAM = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n'


def event(kind, data):
    return f'event: {kind}\ndata: {json.dumps(data)}\n\n'.encode()


class Request:
    """One request as it arrived; `files` are the descriptors that came before it."""

    def __init__(self, method, path, body, files, leading):
        self.method, self.path, self.body = method, path, body
        self.files, self.leading = files, leading

    def json(self):
        return json.loads(self.body)


class FakeVrtd:
    """`respond(request)` returns bytes, or yields them piece by piece; None closes at once. Without
    a folder for its socket it is at a port of this machine's."""

    def __init__(self, folder, respond):
        self.respond, self.requests, self.connections = respond, [], []
        if folder:
            self.path = os.path.join(folder, 'fake.sock')
            if os.path.exists(self.path):
                os.unlink(self.path)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen(16)
        else:
            self.listener = socket.create_server(('127.0.0.1', 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        """Nobody can connect any more, nor goes on. Twice is fine."""
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass            # it has ended by itself

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                while self.serve_one(connection):
                    pass
            except (OSError, ValueError):
                pass            # the client went away: its test looks at the client

    def serve_one(self, connection):
        data, control, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(16 * 4))
        files = array.array('i')
        for level, kind, content in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                files.frombytes(content)
        leading = data if files else b''
        data = b'' if files else data
        while b'\r\n\r\n' not in data:
            chunk = connection.recv(65536)
            if not chunk:
                return False
            data += chunk
        head, _, body = data.partition(b'\r\n\r\n')
        lines = head.decode().split('\r\n')
        method, path, _ = lines[0].split(' ')
        headers = dict(line.lower().split(': ', 1) for line in lines[1:])
        while len(body) < int(headers.get('content-length', 0)):
            body += connection.recv(65536)
        request = Request(method, path, body, list(files), leading)
        request.headers = headers
        self.requests.append(request)
        try:
            return self.send(connection, self.respond(request))
        finally:
            for fd in files:
                os.close(fd)

    @staticmethod
    def send(connection, response):
        if response is None:
            return False
        if isinstance(response, bytes):
            connection.sendall(response)
            return b' Whatever\r\n' in response       # made by answer(): complete
        for piece in response:
            connection.sendall(piece)
        return False
