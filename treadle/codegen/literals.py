"""Constants and strings as LLVM text. Floats are hexadecimal, so that every bit is kept; a bfloat16 is its bits."""

from __future__ import annotations

import struct
from typing import Any

from treadle.types import scalars
from treadle.types.scalars import ScalarMeta


def constant(scalar: ScalarMeta, value: Any) -> str:
    """A number that the scalar type can hold, as LLVM text."""
    if scalar.kind == "bool":
        return "true" if value else "false"
    if scalar.kind != "float":
        return str(int(value))
    if scalar is scalars.float16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if scalar is scalars.bfloat16:
        return str(scalars.bfloat16_from_float(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def string(text: bytes) -> str:
    """The bytes as an LLVM string constant, quotes included."""
    return 'c"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text) + '"'
