#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What encoders here can't write: a message (SEI of type 4, as of ITU-T T.35) in a raw stream.

usage: sei.py h264|hevc FROM TO HEX|captions|hdr10plus

It is put before the first picture of FROM; the two that have names before each, another one before
each.
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


def captions(number):
    """Two letters of EIA-608, with their parity, and a triplet that says nothing."""
    letters = bytes(c | (bin(c).count('1') % 2 == 0) << 7 for c in (65 + number % 26, 97))
    return bytes.fromhex('b50031') + b'GA94' + bytes.fromhex('0342fffc') + letters + \
        bytes.fromhex('f98080ff')


def hdr10plus(number):
    """One window, nine percentiles, a curve of nine anchors."""
    fields = [(8, 1), (2, 1), (27, 400), (1, 0), (17, 99000 + number), (17, 1), (17, 65536),
              (17, 1234), (4, 9)]
    fields += [field for i in range(9) for field in ((7, 11 * i), (17, 9999 * i + number))]
    fields += [(10, 7), (1, 0), (1, 1), (12, 600), (12, 700), (4, 9)]
    fields += [(10, 100 * i + number) for i in range(9)] + [(1, 1), (6, 33)]
    bits = ''.join(format(value, f'0{n}b') for n, value in fields)
    bits += '0' * (-len(bits) % 8)
    return bytes.fromhex('b5003c000104') + int(bits, 2).to_bytes(len(bits) // 8, 'big')


def pictures(stream, is_picture):
    """Where units of pictures begin: one a picture, as their makers here have it."""
    at = stream.find(BEGIN)
    while at >= 0:
        if is_picture(stream[at + len(BEGIN)]):
            yield at
        at = stream.find(BEGIN, at + len(BEGIN))


def main():
    codec, source, target, text = sys.argv[1:]
    head, is_picture = CODECS[codec]
    make = {'captions': captions, 'hdr10plus': hdr10plus}.get(text)
    with open(source, 'rb') as f:
        stream = f.read()
    places = list(pictures(stream, is_picture))
    with open(target, 'wb') as f:
        f.write(stream[:places[0]])
        for number, (at, end) in enumerate(zip(places, places[1:] + [len(stream)])):
            message = make(number) if make else bytes.fromhex(text) if number == 0 else b''
            if message:
                f.write(BEGIN + head +
                        escaped(bytes([4, len(message)]) + message + b'\x80'))
            f.write(stream[at:end])


if __name__ == '__main__':
    main()
