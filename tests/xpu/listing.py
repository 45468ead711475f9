# SPDX-License-Identifier: MIT
"""Modules compiled for an Arc A770 by ocloc, and what it disassembles them to."""
import ctypes.util
import os
import re
import subprocess

DEVICE = 'dg2-g10'
FLAGS = '-ze-opt-greater-than-4GB-buffer-required'
LARGE = ' -ze-opt-large-register-file'

# Kernels that are compiled for twice the registers: as in workers/backend/xpu/kernels.c.
LARGE_KERNELS = ('conv2d', 'deform_conv2d', 'linear', 'window_attend')


def name_of(module):
    return os.path.splitext(os.path.basename(module))[0]


def compile_module(ocloc, module, folder):
    """Compiles to a file in `folder`. Returns None, or what the compiler says against it: its
    status says nothing, it "succeeds" with instructions that the device doesn't have."""
    name = name_of(module)
    flags = FLAGS + (LARGE if name.startswith(LARGE_KERNELS) else '')
    done = subprocess.run([ocloc, 'compile', '-spirv_input', '-file', module, '-device', DEVICE,
                           '-output', name, '-out_dir', os.path.join(folder, name), '-options',
                           flags],
                          capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode or 'Build succeeded' not in said or \
            re.search(r'INVALID|error|spill', said, re.IGNORECASE):
        return said.strip()
    return None


def find_library(name):
    """Where a library is, under whatever version; None: nowhere."""
    library = ctypes.util.find_library(name)
    for folder in ('/usr/lib/x86_64-linux-gnu', '/usr/lib64', '/usr/lib', '/usr/local/lib'):
        if library and os.path.exists(os.path.join(folder, library)):
            return os.path.join(folder, library)
    return None


def disassembler_folder(folder):
    """Where ocloc finds its disassembler: it looks for libiga64.so, which Debian has only with the
    headers, under the name of its version."""
    library, link = find_library('iga64'), os.path.join(folder, 'libiga64.so')
    if library and os.path.basename(library) != 'libiga64.so' and not os.path.lexists(link):
        os.symlink(library, link)
    return folder


def disassemble(ocloc, module, folder):
    """The lines of what was compiled to `folder`; None where ocloc has no disassembler."""
    name = name_of(module)
    made = os.path.join(folder, name)
    binary = next(f for f in os.listdir(made) if f.endswith('.bin'))
    dump = os.path.join(made, 'dump')
    paths = [disassembler_folder(folder), os.environ.get('LD_LIBRARY_PATH', '')]
    subprocess.run([ocloc, 'disasm', '-file', os.path.join(made, binary), '-dump', dump],
                   capture_output=True, check=False,
                   env={**os.environ, 'LD_LIBRARY_PATH': ':'.join(filter(None, paths))})
    listings = [f for f in os.listdir(dump) if f.endswith('.asm')]
    if not listings:
        return None
    lines = []
    for listing in sorted(listings):
        with open(os.path.join(dump, listing), encoding='utf-8', errors='replace') as f:
            lines += f.read().splitlines()
    return lines
