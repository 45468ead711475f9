# SPDX-License-Identifier: MIT
"""Operands as C++: registers, constants, addresses.

A register is a variable of its width. An instruction reads and writes it as the type that the
instruction has ("Operand Size Exceeding Instruction-Type Size" in the PTX ISA): wider registers are
cut off when they are read, and extended by the type's sign when they are written.
"""
import re

from parse import Unknown

# Of each type: what C++ calls it, and its bits.
TYPES = {
    'pred': ('bool', 1),
    'b8': ('uint8_t', 8), 'u8': ('uint8_t', 8), 's8': ('int8_t', 8),
    'b16': ('uint16_t', 16), 'u16': ('uint16_t', 16), 's16': ('int16_t', 16),
    'b32': ('uint32_t', 32), 'u32': ('uint32_t', 32), 's32': ('int32_t', 32),
    'b64': ('uint64_t', 64), 'u64': ('uint64_t', 64), 's64': ('int64_t', 64),
    'f32': ('float', 32), 'f64': ('double', 64),
    'f16': ('uint16_t', 16), 'bf16': ('uint16_t', 16),      # their bits
}
FLOATS = ('f32', 'f64')
SPECIAL = {
    f'%{ptx}.{axis}': f'{cxx}.{axis}'
    for ptx, cxx in (('tid', 'threadIdx'), ('ntid', 'blockDim'), ('ctaid', 'blockIdx'),
                     ('nctaid', 'gridDim'))
    for axis in 'xyz'
}


class Operands:
    """Of one entry: what its registers and symbols are."""

    def __init__(self, entry, symbols):
        self.entry = entry
        self.symbols = symbols          # of shared memory: name -> C++
        self.params = {one.name: one for one in entry.params}
        self.used = {}                  # C++ variables: name -> type

    def register(self, line, text):
        """The C++ variable of a register, and its type."""
        match = re.match(r'(%[A-Za-z_$]+)\d*$', text)
        kind = self.entry.registers.get(text) or (match and self.entry.registers.get(match[1]))
        if not kind:
            raise Unknown(line, f'the register {text}')
        name = text[1:].replace('$', '_')
        self.used[name] = kind
        return name, kind

    def constant(self, line, text, kind):
        if match := re.match(r'0f([0-9A-Fa-f]{8})$', text):
            if kind not in ('f32', 'b32'):
                raise Unknown(line, f'{text} as {kind}')
            bits = f'0x{match[1]}u'
            return f'vrt_ptx_f32({bits})' if kind == 'f32' else bits
        if match := re.match(r'0d([0-9A-Fa-f]{16})$', text):
            if kind not in ('f64', 'b64'):
                raise Unknown(line, f'{text} as {kind}')
            bits = f'0x{match[1]}ull'
            return f'vrt_ptx_f64({bits})' if kind == 'f64' else bits
        if not re.match(r'-?(\d+|0[xX][0-9A-Fa-f]+)$', text) or kind in FLOATS:
            raise Unknown(line, f'the operand {text} as {kind}')
        value = int(text, 0) & 2**64 - 1
        return f'({TYPES[kind][0]})0x{value:x}ull'

    def read(self, line, text, kind):
        """An expression of `kind`."""
        if text in SPECIAL:
            return f'({TYPES[kind][0]}){SPECIAL[text]}'
        if text in self.symbols or text in self.params:
            return f'({TYPES[kind][0]}){self.address_of(text)}'
        if not text.startswith('%'):
            return self.constant(line, text, kind)
        name, has = self.register(line, text)
        if (has == 'pred') != (kind == 'pred') or TYPES[kind][1] > TYPES[has][1]:
            raise Unknown(line, f'{text}, which is .{has}, read as .{kind}')
        if has == kind:
            return name
        if has in FLOATS:
            name = f'vrt_ptx_bits({name})'
        if kind in FLOATS:
            if TYPES[has][1] != TYPES[kind][1]:
                raise Unknown(line, f'{text}, which is .{has}, read as .{kind}')
            return f'vrt_ptx_{kind}({name})'
        return f'({TYPES[kind][0]}){name}'

    def write(self, line, text, kind, value):
        """A statement that gives a register an expression of `kind`."""
        name, has = self.register(line, text)
        if (has == 'pred') != (kind == 'pred') or TYPES[kind][1] > TYPES[has][1]:
            raise Unknown(line, f'{text}, which is .{has}, written as .{kind}')
        if has != kind and (has in FLOATS or kind in FLOATS):
            if TYPES[has][1] != TYPES[kind][1]:
                raise Unknown(line, f'{text}, which is .{has}, written as .{kind}')
            value = f'vrt_ptx_bits({value})' if kind in FLOATS else value
            if has in FLOATS:
                return f'{name} = vrt_ptx_{has}({value});'
        return f'{name} = ({TYPES[kind][0]})({value});'

    def vector(self, line, text):
        """The parts of {a, b}, or of a single operand."""
        if not text.startswith('{'):
            return [text]
        return [part.strip() for part in text.strip('{}').split(',')]

    def address_of(self, name):
        if name in self.symbols:
            return self.symbols[name]
        return f'((uint64_t)l->params + {self.params[name].offset})'

    def param_offset(self, text):
        """Of [parameter + 4], in the parameters; None where a register is in it."""
        match = re.match(r'\[\s*([\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]$', text)
        if not match or match[1] not in self.params:
            return None
        return self.params[match[1]].offset + int(match[2] or 0)

    def address(self, line, text, width):
        """An expression of `width` bits for [register + 4], [symbol + 4] or [16]."""
        match = re.match(r'\[\s*([%\w$.]+)\s*(?:\+\s*(-?\d+))?\s*\]$', text)
        if not match:
            raise Unknown(line, f'the address {text}')
        base, offset = match[1], int(match[2] or 0)
        if base in self.symbols or base in self.params:
            start = self.address_of(base)
        elif base.startswith('%'):
            # Shared addresses may be in registers of 64 bits; they have 32.
            start, has = self.register(line, base)
            if has not in ('b32', 'b64') or TYPES[has][1] < width:
                raise Unknown(line, f'{base}, which is .{has}, as an address')
        else:
            start = base
        return f'(uint{width}_t)({start} + (int64_t){offset})'
