#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FFmpeg, which reads what strangers made, is linked by vrt-media alone.

usage: links.py VRT_MEDIA PROGRAM...

Libraries of libraries count.
"""
import re
import subprocess
import sys

FFMPEG = re.compile(r'^\s*(lib(?:av|sw|postproc)\w+)\.so', re.MULTILINE)


def linked(program):
    done = subprocess.run(['ldd', program], capture_output=True, text=True, check=True)
    return sorted(set(FFMPEG.findall(done.stdout)))


def main():
    media, *programs = sys.argv[1:]
    if not linked(media):
        print(f'{media}: links no FFmpeg, or ldd tells none of it')
        return 1
    wrong = [(program, linked(program)) for program in programs]
    for program, libraries in wrong:
        if libraries:
            print(f'{program}: links {", ".join(libraries)}, which is for vrt-media alone')
    if any(libraries for _, libraries in wrong):
        return 1
    print(f'{len(programs)} programs link none of FFmpeg')
    return 0


if __name__ == '__main__':
    sys.exit(main())
