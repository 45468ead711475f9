#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What encoders here can't write: teletext and DVB subtitles in a transport stream.

usage: broadcast.py FROM TO

FROM is FFmpeg's, of one program; TO has two streams more, as of ETSI EN 300 468 (descriptors), EN
300 472 (teletext) and EN 300 743 (subtitles), with six packets each, 40 ms apart.
"""
import sys

PACKET = 188
PMT_PID, TELETEXT_PID, SUBTITLE_PID = 0x1000, 0x120, 0x121
BEGIN = 133200                      # FFmpeg's first time: 1.4 s and a frame of 1/25, in 1/90,000
# Stream type, PID, and descriptors: a language and the page; and of which pages it is composed.
STREAMS = bytes([6, 0xe0 | TELETEXT_PID >> 8, TELETEXT_PID & 255, 0xf0, 7, 0x56, 5]) + \
    b'ger' + bytes([8 | 1, 0x50]) + \
    bytes([6, 0xe0 | SUBTITLE_PID >> 8, SUBTITLE_PID & 255, 0xf0, 10, 0x59, 8]) + \
    b'eng' + bytes([0x10, 0, 1, 0, 1])


def crc(data):
    """CRC-32 as MPEG-2 sections have it."""
    value = 0xffffffff
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04c11db7 if value >> 31 else 0)) & 0xffffffff
    return value.to_bytes(4, 'big')


def with_streams(packet):
    """The program map with two streams more."""
    length = (packet[6] & 15) << 8 | packet[7]
    section = packet[5:8 + length - 4] + STREAMS
    length += len(STREAMS)
    section = section[:1] + bytes([section[1] & 0xf0 | length >> 8, length & 255]) + section[3:]
    return (packet[:5] + section + crc(section)).ljust(PACKET, b'\xff')


def pes(pid, number, payload):
    """One packet that holds all of a stream's."""
    pts = BEGIN + 3600 * number
    stamp = bytes([0x21 | pts >> 29 & 14, pts >> 22 & 255, pts >> 14 & 254 | 1, pts >> 7 & 255,
                   pts << 1 & 254 | 1])
    data = b'\0\0\1\xbd' + (3 + 5 + len(payload)).to_bytes(2, 'big') + b'\x84\x80\x05' + stamp + \
        payload
    stuffing = PACKET - 4 - len(data)
    field = bytes([stuffing - 1, 0]) + b'\xff' * (stuffing - 2)
    return bytes([0x47, 0x40 | pid >> 8, pid & 255, 0x30 | number & 15]) + field + data


def teletext(number):
    """One line of EBU teletext."""
    return pes(TELETEXT_PID, number, bytes([0x10, 2, 44]) + bytes([0xe7, 0xe4, number]) + b'T' * 41)


def subtitle(number):
    """A page that shows nothing, and the end of a display set."""
    page = bytes([0x0f, 0x10, 0, 1, 0, 2, 5, number << 4 & 0xf0 | 8])
    return pes(SUBTITLE_PID, number, b'\x20\0' + page + bytes([0x0f, 0x80, 0, 1, 0, 0, 0xff]))


def main():
    with open(sys.argv[1], 'rb') as f:
        data = f.read()
    out, number, n_maps = bytearray(), 0, 0
    for i in range(0, len(data), PACKET):
        packet = data[i:i + PACKET]
        pid = (packet[1] & 31) << 8 | packet[2]
        if pid == PMT_PID:
            packet, n_maps = with_streams(packet), n_maps + 1
        out += packet
        if n_maps and number < 6 and pid != PMT_PID:
            out += teletext(number) + subtitle(number)
            number += 1
    with open(sys.argv[2], 'wb') as f:
        f.write(out)


main()
