# SPDX-License-Identifier: MIT
"""Matroska files as no program makes them."""


def element(id_, payload):
    return (id_.to_bytes((id_.bit_length() + 7) // 8, 'big') +
            (len(payload) | 1 << 56).to_bytes(8, 'big') + payload)


def number(data, at, keeps_marker):
    """An EBML number: its value, and where the next one begins."""
    n = 9 - data[at].bit_length()
    value = int.from_bytes(data[at:at + n], 'big')
    return value if keeps_marker else value & (1 << 7 * n) - 1, at + n


def elements(data):
    at = 0
    while at < len(data):
        id_, at = number(data, at, True)
        size, at = number(data, at, False)
        yield id_, data[at:at + size]
        at += size


CLUSTER, SEGMENT, TIMESTAMP = 0x1F43B675, 0x18538067, 0xE7
POSITIONS = (0x114D9B74, 0x1C53BB6B, 0xEC)      # SeekHead, Cues: of what was; Void


def rewrite(source, target, change):
    """Writes what `source`, a small file, has, each element of the segment as change() makes it."""
    with open(source, 'rb') as f:
        head, segment = elements(f.read())
    body = b''.join(change(id_, payload) for id_, payload in elements(segment[1])
                    if id_ not in POSITIONS)
    with open(target, 'wb') as f:
        f.write(element(*head) + element(SEGMENT, body))
    return target


def with_element(source, target, more):
    """What `source` has, and `more` before its frames."""
    left = [more]
    return rewrite(source, target, lambda id_, payload: (
        left.pop() if id_ == CLUSTER and left else b'') + element(id_, payload))


def beginning_at(source, target, time):
    """What `source` has, but each cluster begins at `time`, in milliseconds."""
    def change(id_, payload):
        if id_ == CLUSTER:
            payload = b''.join(element(i, time.to_bytes(8, 'big') if i == TIMESTAMP else p)
                               for i, p in elements(payload))
        return element(id_, payload)
    return rewrite(source, target, change)


def chapters(n):
    """Each with its number and a millisecond."""
    return element(0x1043A770, element(0x45B9, b''.join(
        b'\xb6\x8f\x73\xc4\x84' + i.to_bytes(4, 'big') +
        b'\x91\x86' + (i * 1000000).to_bytes(6, 'big')
        for i in range(1, n + 1))))


def attached_files(n):
    return element(0x1941A469, b''.join(
        element(0x61A7, element(0x466E, b'%d.ttf' % i) + element(0x4660, b'font/ttf') +
                element(0x46AE, i.to_bytes(4, 'big')) + element(0x465C, b'a font'))
        for i in range(1, n + 1)))


def tags(n):
    """Each with another name."""
    return element(0x1254C367, element(0x7373, b''.join(
        b'\x67\xc8\x8e\x45\xa3\x87%07d\x44\x87\x81x' % i for i in range(n))))
