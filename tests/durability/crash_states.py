# SPDX-License-Identifier: MIT
"""What a crash may leave of the files that a program wrote, from what record.c noted of it.

A disk has kept what was synced: a file's bytes by its own sync, its name by that of its folder. Of
what was not, a crash may leave all, nothing, or the names without the bytes.
"""
import json
import os
import shutil
import socket
import tempfile
import threading


def identity(path):
    status = os.lstat(path)
    return f'{status.st_dev:x}:{status.st_ino}'


class Disk:
    """The files below a folder, which is on a disk as it is now; apply() brings one change after
    the other."""

    def __init__(self, root):
        self.root = os.path.realpath(root)
        self.root_id = identity(root)
        self.names, self.data = {}, {}      # (folder, name): file; file: bytes; as programs see it
        for folder, folders, files in os.walk(self.root):
            parent = identity(folder)
            for name in folders + files:
                self.names[parent, name] = identity(os.path.join(folder, name))
            for name in files:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, 'rb') as f:
                        self.data[identity(path)] = bytearray(f.read())
        self.kept_names, self.kept = dict(self.names), {i: bytes(d) for i, d in self.data.items()}

    def place(self, path):
        """(folder, name) of a path; None: it isn't below the root."""
        relative = os.path.relpath(path, self.root)
        if relative.startswith('..'):
            return None
        *folders, name = relative.split('/')
        at = self.root_id
        for folder in folders:
            at = self.names.get((at, folder))
        return (at, name) if at else None

    def apply(self, entry, data):
        """Return: whether it changes what a crash leaves."""
        file, op = entry['file'], entry['op']
        if op == 'write':
            old = self.data.setdefault(file, bytearray())
            at = entry['at'] if entry['at'] >= 0 else len(old)
            old.extend(bytes(max(0, at - len(old))))
            old[at:at + len(data)] = data
            return False
        if op == 'size':
            old = self.data.setdefault(file, bytearray())
            del old[entry['at']:]
            old.extend(bytes(entry['at'] - len(old)))
        elif op == 'sync' and entry['folder']:
            self.kept_names = {k: v for k, v in self.kept_names.items() if k[0] != file}
            self.kept_names.update({k: v for k, v in self.names.items() if k[0] == file})
        elif op == 'sync':
            self.kept[file] = bytes(self.data.get(file, b''))
        else:
            self.change_names(entry)
        return True

    def change_names(self, entry):
        place = self.place(entry['path'])
        if entry['op'] == 'name' and place:
            if entry['file'] not in self.names.values() and not entry['folder']:
                # Another file had this number once.
                self.data[entry['file']] = bytearray()
                self.kept.pop(entry['file'], None)
            self.names[place] = entry['file']
        elif entry['op'] == 'unlink':
            self.names.pop(place, None)
        elif entry['op'] == 'rename':
            file = self.names.pop(place, entry['file'])
            target = self.place(entry['to'])
            if target:
                self.names[target] = file

    def files(self, names, data):
        """{path: bytes} of all files, as these names and bytes tell."""
        found, folders = {}, {self.root_id: ''}
        pending = sorted(names.items())
        while pending:
            rest = []
            for (folder, name), file in pending:
                if folder not in folders:
                    rest.append(((folder, name), file))
                    continue
                path = os.path.join(folders[folder], name)
                folders[file] = path
                found[path] = bytes(data.get(file, b''))
            if len(rest) == len(pending):
                break               # a folder that has lost its own name
            pending = rest
        return found

    def after(self, changes):
        """Applies them, one after the other. Yields of each that changes what a crash leaves, and
        of each thing that it may leave: (which; its files; those that programs see; where)."""
        for entry, data in changes:
            if self.apply(entry, data):
                now = self.files(self.names, self.data)
                for kind, files in self.states().items():
                    yield kind, files, now, f'after {entry}, of {kind}'

    def states(self):
        """What a crash may leave now."""
        return {'what was synced': self.files(self.kept_names, self.kept),
                'names, and what was synced of the files': self.files(self.names, self.kept),
                'everything': self.files(self.names, self.data)}


class Recorder:
    """Notes what processes with record.c in them do; `environment` is for these."""

    def __init__(self, library):
        self.folder = tempfile.mkdtemp(prefix='vrt-record-')
        path = os.path.join(self.folder, 's')
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.environment = dict(os.environ, LD_PRELOAD=library, VRT_RECORD=path)
        self.changes = []           # (entry, data), one after the other
        self.thread = threading.Thread(target=self.receive)
        self.thread.start()

    def receive(self):
        while packet := self.socket.recv(1 << 20):
            line, _, data = packet.partition(b'\n')
            self.changes.append((json.loads(line), data))

    def stop(self):
        """When the processes are gone. Return: what they did."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b'', self.environment['VRT_RECORD'])
        self.thread.join()
        self.socket.close()
        shutil.rmtree(self.folder)
        return self.changes
