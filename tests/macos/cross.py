#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds for macOS 13, on Linux: vrt-infer linked, of everything else the objects.

usage: cross.py SOURCE_ROOT ARCHITECTURE

The Python that runs this needs the packages ziglang, which compiles and links, and meson, 1.5 or
newer: both are PyPI's; without them it is skipped. The libraries of the daemon and the client are
not at hand for macOS; their headers are those of this machine, which are the same there.
"""
import importlib.util
import os
import platform
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
CPU_TYPES = {'aarch64': 0x0100000c, 'x86_64': 0x01000007}       # of a Mach-O file, <mach/machine.h>
MACH_O_64 = 0xfeedfacf
HEADERS = ('uv.h', 'uv', 'jansson.h', 'jansson_config.h', 'curl', 'sqlite3.h', 'ini.h', 'nettle',
           'llhttp.h', 'libavcodec', 'libavfilter', 'libavformat', 'libavutil', 'libswscale',
           'dnnl.h', 'dnnl_config.h', 'dnnl_types.h', 'dnnl_version.h', 'oneapi', 'zip.h',
           'zipconf.h')
OURS = ('client/', 'config/', 'daemon/', 'models/', 'proto/', 'tests/', 'workers/')
CROSS = """[binaries]
c = [{python!r}, '-m', 'ziglang', 'cc', '-target', '{architecture}-macos.13.0']
ar = [{python!r}, '-m', 'ziglang', 'ar']
strip = 'true'
pkg-config = {pkg_config!r}

[built-in options]
c_args = ['-I{include}']
c_link_args = ['-L{folder}']

[host_machine]
system = 'darwin'
cpu_family = '{architecture}'
cpu = '{architecture}'
endian = 'little'
"""
# Versions are this machine's, headers those of the folder, and there is nothing to link.
PKG_CONFIG = """#!/bin/sh
case " $* " in
*" --libs"*) ;;
*" --cflags "*) echo -I{include} ;;
*) exec pkg-config "$@" ;;
esac
"""


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f'{" ".join(command[:6])} ... failed:\n{done.stdout[-8000:]}')
    return done.stdout


def lacks():
    """Why it can't be done; None: it can."""
    for package in ('ziglang', 'mesonbuild'):
        if not importlib.util.find_spec(package):
            return f'{sys.executable} has no {package} (PyPI: ziglang, meson)'
    from mesonbuild.coredata import version     # pylint: disable=import-outside-toplevel
    if tuple(map(int, version.split('.')[:2])) < (1, 5):
        return f'meson is {version}: it knows the linker since 1.5'
    return None


def link_headers(folder):
    os.mkdir(folder)
    for name in HEADERS:
        for place in ('/usr/include', f'/usr/include/{platform.machine()}-linux-gnu'):
            if os.path.exists(os.path.join(place, name)):
                os.symlink(os.path.join(place, name), os.path.join(folder, name))
                break


def set_up(root, folder, name, cross, *options):
    build = os.path.join(folder, name)
    run(sys.executable, '-m', 'mesonbuild.mesonmain', 'setup', build, root, '--cross-file', cross,
        '-Dauto_features=disabled', *options)
    return build


def check_program(path, architecture):
    with open(path, 'rb') as f:
        magic, cpu_type = struct.unpack('<II', f.read(8))
    if (magic, cpu_type) != (MACH_O_64, CPU_TYPES[architecture]):
        sys.exit(f'{path} is no Mach-O file of {architecture}: {magic:#x}, {cpu_type:#x}')


def objects(build):
    """Of the product, and of those tests that there are for macOS."""
    targets = (line.partition(':')[0] for line in
               run('ninja', '-C', build, '-t', 'targets', 'all').splitlines())
    return [t for t in targets if t.endswith('.c.o') and t.startswith(OURS)]


def main():
    root, architecture = os.path.abspath(sys.argv[1]), sys.argv[2]
    why = lacks()
    if why:
        print(why)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='vrtd-macos-') as folder:
        os.chdir(folder)        # zig leaves an object where it is started
        include = os.path.join(folder, 'include')
        pkg_config, cross = os.path.join(folder, 'pkg-config'), os.path.join(folder, 'cross.ini')
        link_headers(include)
        with open(pkg_config, 'w', encoding='utf-8') as f:
            f.write(PKG_CONFIG.format(include=include))
        os.chmod(pkg_config, 0o755)
        with open(cross, 'w', encoding='utf-8') as f:
            f.write(CROSS.format(python=sys.executable, architecture=architecture,
                                 pkg_config=pkg_config, include=include, folder=folder))
        build = set_up(root, folder, 'engine', cross, '-Ddaemon=disabled', '--werror')
        run('ninja', '-k', '0', '-C', build, 'workers/infer/vrt-infer')
        check_program(os.path.join(build, 'workers/infer/vrt-infer'), architecture)
        # Only looked for: nothing is linked with it.
        with open(os.path.join(folder, 'libdnnl.a'), 'wb') as f:
            f.write(b'!<arch>\n')
        build = set_up(root, folder, 'daemon', cross, '-Ddaemon=enabled', '-Dcpu=enabled',
                       '-Dpth=enabled', '--werror')
        made = objects(build)
        run('ninja', '-k', '0', '-C', build, *made)
        if len(made) < 200:
            sys.exit(f'there are only {len(made)} objects')
        print(f'{architecture}: vrt-infer linked, {len(made)} objects compiled')
    return 0


if __name__ == '__main__':
    sys.exit(main())
