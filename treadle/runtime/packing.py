"""Packs the values of a launch into the buffer that machine code takes; ``codegen.arguments`` has its layout."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from treadle.codegen.arguments import FORMATS, entry_format, entry_size
from treadle.types import scalars
from treadle.types.storage import Aggregate, ArrayRef, StorageType

# What is packed after the extents of a launch, so that there are four.
_PADDING: tuple[tuple[int, ...], ...] = ((1, 1, 1, 1), (1, 1, 1), (1, 1), (1,), ())


class Packer:
    """Packs the arguments of one function in machine code, whose parameters have the given ``types``."""

    __slots__ = ("_pack", "_types")

    def __init__(self, types: Sequence[StorageType]) -> None:
        codes = ["=4q"]
        for type_ in types:
            code = f"{type_.size}s" if isinstance(type_, Aggregate) else entry_format(type_)
            codes.append(f"{code}{entry_size(type_) - struct.calcsize('=' + code)}x")
        self._types = _types_of_values(types)
        pack = struct.Struct("".join(codes)).pack
        self._pack = self._with_bits(pack) if scalars.bfloat16 in self._types else pack

    def pack(self, extents: tuple[int, ...], values: Sequence[Any]) -> bytes:
        """The buffer for one to four launch extents and the leaf values of all parameters, an aggregate as bytes.

        A number too large for its float type becomes an infinity, as in an array.
        """
        try:
            return self._pack(*extents, *_PADDING[len(extents)], *values)
        except OverflowError:
            limited = (_limited(type_, value) for type_, value in zip(self._types, values))
            return self._pack(*extents, *_PADDING[len(extents)], *limited)

    def _with_bits(self, pack: Any) -> Any:
        """``pack`` for values among which are bfloat16, which are packed as their bits."""
        half = [4 + k for k, type_ in enumerate(self._types) if type_ is scalars.bfloat16]

        def pack_bits(*values: Any) -> Any:
            converted = list(values)
            for k in half:
                converted[k] = scalars.bfloat16_from_float(converted[k])
            return pack(*converted)

        return pack_bits


def _types_of_values(types: Sequence[StorageType]) -> list[Any]:
    """The scalar type of each value that is packed; None for the words of an array handle and for an aggregate."""
    found: list[Any] = []
    for type_ in types:
        is_scalar = not isinstance(type_, (Aggregate, ArrayRef))
        found += [type_] if is_scalar else [None] * (1 + 2 * type_.ndim if isinstance(type_, ArrayRef) else 1)
    return found


def _limited(type_: Any, value: Any) -> Any:
    """A number as it is, or as an infinity if it is too large for its type."""
    if type_ in (scalars.float16, scalars.float32):
        try:
            struct.pack("=" + FORMATS[type_], value)
        except OverflowError:
            return math.copysign(math.inf, value)
    return value
