"""The layout of the buffer in which a kernel gets its arguments; used by the emitter and by the packers.

Four int64 launch extents, then one entry a parameter at the next multiple of 8 bytes: a scalar in
8 bytes, an aggregate in its size, an array handle as data pointer, extents and strides in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, ArrayRef, StorageType

EXTENTS = 4
HEADER_SIZE = 8 * EXTENTS

FORMATS: dict[ScalarMeta, str] = {
    scalars.bool_: "?", scalars.int8: "b", scalars.int16: "h", scalars.int32: "i", scalars.int64: "q",
    scalars.uint8: "B", scalars.uint16: "H", scalars.uint32: "I", scalars.uint64: "Q",
    scalars.float16: "e", scalars.bfloat16: "H", scalars.float32: "f", scalars.float64: "d",
}  # fmt: skip
"""The code of each scalar for Python's ``struct``; bfloat16 as its bits."""


def entry_format(type_: StorageType) -> str:
    """The ``struct`` format of the entry of one parameter, without byte order and padding."""
    if isinstance(type_, ArrayRef):
        return f"Q{2 * type_.ndim}q"
    if isinstance(type_, Aggregate):
        return f"{type_.count}{FORMATS[type_.scalar]}"
    return FORMATS[type_]


def entry_size(type_: StorageType) -> int:
    """The bytes of an entry, a multiple of 8."""
    if isinstance(type_, ArrayRef):
        return 8 * (1 + 2 * type_.ndim)
    return (type_.size + 7) // 8 * 8


@dataclass(frozen=True)
class ArgumentLayout:
    """The parameter types, the offset of each one's entry, and the size of the buffer in bytes."""

    types: tuple[StorageType, ...]
    offsets: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, types: Sequence[StorageType]) -> ArgumentLayout:
        """The layout for parameters of these types."""
        offsets, position = [], HEADER_SIZE
        for type_ in types:
            offsets.append(position)
            position += entry_size(type_)
        return cls(tuple(types), tuple(offsets), position)

    def pack_extents(self, buffer: Any, extents: Sequence[int]) -> None:
        """Write the launch extents, up to four."""
        struct.pack_into("4q", buffer, 0, *extents, *(1,) * (EXTENTS - len(extents)))

    def pack(self, buffer: Any, index: int, value: Any) -> None:
        """Write the argument ``index``.

        ``value``: a number; for an aggregate, a sequence of numbers; for an array, the data
        pointer, the extents and the strides in one flat sequence.
        """
        type_, offset = self.types[index], self.offsets[index]
        if isinstance(type_, (Aggregate, ArrayRef)):
            scalar, values = getattr(type_, "scalar", None), list(value)
        else:
            scalar, values = type_, [value]
        if scalar is scalars.bfloat16:
            values = [scalars.bfloat16_from_float(v) for v in values]
        struct.pack_into("=" + entry_format(type_), buffer, offset, *values)
