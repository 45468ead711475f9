# SPDX-License-Identifier: MIT
"""Kernels as NVIDIA's assembler has them: its nvdisasm lists them, and here it is found out where
their loops are."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

CODE = re.compile(r'\.text\.(\S+):$')
LABEL = re.compile(r'(\.L_x_\d+):')
INSTRUCTION = re.compile(r'\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)([^;]*);')
LABEL_IN = re.compile(r'\.L_x_\d+')
THREADS = re.compile(r'\s*Value:\s*0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+)')
BRANCHES = ('BRA', 'JMP', 'BRX', 'BRXU')
ENDS = ('EXIT', 'RET')


class Instruction:
    """`operation`: its name with all modifiers; `labels`: where it may lead to, of a branch."""

    def __init__(self, guard, operation, operands):
        self.guard, self.operation, self.operands = guard, operation, operands
        self.name = operation.split('.')[0]
        self.labels = LABEL_IN.findall(operands) if self.name in BRANCHES + ('CALL',) else []

    def is_end(self):
        """A call of a place in the same kernel is a jump: functions have names."""
        return self.name in BRANCHES + ENDS or bool(self.labels)

    def is_certain(self):
        """Of an end: whether what stands after it is never next."""
        return not self.guard and not re.match(r'\s*!?U?P', self.operands) \
            and '.DIV' not in self.operation


class Kernel:
    """`blocks`: lists of instructions; `following[i]`: which blocks may come after block i."""

    def __init__(self, name, arch, lines):
        self.name, self.arch = name, arch
        self.registers = self.threads = None
        self.blocks, places = read_blocks(lines)
        self.following = [following_of(self.blocks, places, n) for n in range(len(self.blocks))]


def find_tool(name):
    """Its path: on PATH, beside nvcc, or in Python's packages nvidia-cuda-*; None: nowhere."""
    folders = [os.path.join(folder, 'nvidia', 'cu13', 'bin') for folder in sys.path]
    return shutil.which(name, path=os.pathsep.join(
        [os.environ.get('PATH', ''), '/usr/local/cuda/bin'] + folders))


def run(command, folder=None):
    """What it prints; None where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return None if done.returncode else done.stdout


def read_blocks(lines):
    """Blocks, and which one each label is at."""
    blocks, places = [[]], {}
    for line in lines:
        if m := LABEL.match(line):
            if blocks[-1]:
                blocks.append([])
            places[m.group(1)] = len(blocks) - 1
        elif m := INSTRUCTION.match(line):
            blocks[-1].append(Instruction(*m.groups()[1:]))
            if blocks[-1][-1].is_end():
                blocks.append([])
    return blocks, places


def following_of(blocks, places, n):
    last = blocks[n][-1] if blocks[n] else None
    to = [places[label] for label in last.labels if label in places] if last else []
    falls = not (last and last.is_end() and last.is_certain())
    return to + [n + 1] if falls and n + 1 < len(blocks) else to


def back_edges(following):
    """(from, to) where `to` is on the way to `from`."""
    edges, state, stack = [], {0: 1}, [(0, iter(following[0]))]
    while stack:
        at, rest = stack[-1]
        n = next(rest, None)
        if n is None:
            state[at] = 2
            stack.pop()
        elif state.get(n) == 1:
            edges.append((at, n))
        elif n not in state:
            state[n] = 1
            stack.append((n, iter(following[n])))
    return edges


def loops_of(kernel):
    """{first block: all blocks of the loop}, those that begin alike as one."""
    before = [[] for _ in kernel.blocks]
    for n, to in enumerate(kernel.following):
        for t in to:
            before[t].append(n)
    loops = {}
    for end, head in back_edges(kernel.following):
        body, todo = loops.setdefault(head, {head}), [end]
        while todo:
            n = todo.pop()
            if n not in body:
                body.add(n)
                todo += before[n]
    return loops


def read_kernels(text, arch):
    """Each kernel of what nvdisasm prints; functions that they call have names with a $."""
    name, lines = None, []
    for line in text.splitlines() + ['.text.:']:
        m = CODE.match(line)
        if m or line.startswith('.text.'):
            if name:
                yield Kernel(name, arch, lines)
            name, lines = m.group(1) if m else None, []
        else:
            lines.append(line)


def read_registers(text):
    """{kernel: registers} of what `cuobjdump -res-usage` prints."""
    return {name: int(n) for name, n in re.findall(r'Function (\S+):\s*REG:(\d+)', text)}


def read_threads(text):
    """{kernel: threads of a block at most} of what `cuobjdump -elf` prints."""
    found, name, is_next = {}, None, False
    for line in text.splitlines():
        if m := re.match(r'\.nv\.info\.(\S+)', line):
            name = m.group(1)
        elif 'EIATTR_MAX_THREADS' in line:
            is_next = True
        elif is_next and (m := THREADS.match(line)):
            found[name] = int(m.group(1), 16) * int(m.group(2), 16) * int(m.group(3), 16)
            is_next = False
    return found


def kernels_of(cuobjdump, nvdisasm, path, archs):
    """All kernels of an object or plugin that are for such architectures. None: not to be read."""
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        if run([cuobjdump, '-xelf', 'all', os.path.abspath(path)], folder) is None:
            return None
        for binary in sorted(os.listdir(folder)):
            m = re.search(r'\.sm_(\d+)\.cubin$', binary)
            if not m or int(m.group(1)) not in archs:
                continue
            said = [run(command + [binary], folder) for command in
                    ([nvdisasm, '-c'], [cuobjdump, '-res-usage'], [cuobjdump, '-elf'])]
            if None in said:
                return None
            registers, threads = read_registers(said[1]), read_threads(said[2])
            for kernel in read_kernels(said[0], int(m.group(1))):
                kernel.registers = registers.get(kernel.name)
                kernel.threads = threads.get(kernel.name)
                kernels.append(kernel)
    return kernels
