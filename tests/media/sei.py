#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What encoders here can't write: a message (SEI of type 4, as of ITU-T T.35) in a raw stream.

usage: sei.py h264|hevc FROM TO HEX

It is put before the first picture of FROM.
"""
import sys

BEGIN = b'\0\0\1'

# Of an SEI message, and whether a unit's first byte is that of a picture.
CODECS = {'h264': (b'\x06', lambda byte: byte & 31 in (1, 5)),
          'hevc': (b'\x4e\x01', lambda byte: (byte >> 1 & 63) < 32)}


def escaped(data):
    """With a 3 where it would look like a unit's beginning."""
    out, zeros = bytearray(), 0
    for byte in data:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)


def main():
    codec, source, target, text = sys.argv[1:]
    head, is_picture = CODECS[codec]
    message = bytes.fromhex(text)
    with open(source, 'rb') as f:
        stream = f.read()
    at = stream.index(BEGIN)
    while not is_picture(stream[at + len(BEGIN)]):
        at = stream.index(BEGIN, at + len(BEGIN))
    with open(target, 'wb') as f:
        f.write(stream[:at] + BEGIN + head +
                escaped(bytes([4, len(message)]) + message + b'\x80') + stream[at:])


if __name__ == '__main__':
    main()
