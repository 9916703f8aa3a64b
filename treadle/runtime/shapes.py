"""Arithmetic of shapes and strides: checks, contiguity, address ranges, and what an index expression selects.

Strides are in bytes throughout. Nothing here knows arrays.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any

from treadle.errors import ArrayError

MAX_NDIM = 4

Extents = tuple[int, ...]


def normalize_shape(shape: Any) -> Extents:
    """``shape`` (an int or a sequence of one to four) as a tuple of ints.

    Raises ValueError for a negative extent or a wrong number of them, TypeError for what is no integer.
    """
    if type(shape) is int and shape >= 0:
        return (shape,)
    try:
        extents: Extents = (operator.index(shape),)
    except TypeError:
        try:
            extents = tuple(operator.index(extent) for extent in shape)
        except TypeError:
            raise ArrayError(f"a shape is an int or a sequence of ints, not {shape!r}") from None
    if not 1 <= len(extents) <= MAX_NDIM:
        raise ArrayError(f"arrays have 1 to {MAX_NDIM} dimensions, not {len(extents)}: shape {extents}")
    if min(extents) < 0:
        raise ArrayError(f"a shape cannot have negative extents: {extents}")
    return extents


@lru_cache(maxsize=1024)
def contiguous_strides(shape: Extents, itemsize: int) -> Extents:
    """The strides of a contiguous array (C order)."""
    strides = []
    for extent in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(extent, 1)
    return tuple(reversed(strides))


def canonical_strides(shape: Extents, strides: Extents, itemsize: int) -> tuple[Extents, bool]:
    """The strides to keep, and whether they are contiguous.

    Strides of extents 0 and 1 do not matter; where the others agree with a contiguous layout they are
    replaced by its strides, so that contiguity has one spelling.
    """
    expected = contiguous_strides(shape, itemsize)
    if strides == expected:
        return expected, True
    if 0 in shape or all(n == 1 or s == e for n, s, e in zip(shape, strides, expected)):
        return expected, True
    return strides, False


def byte_range(address: int, shape: Extents, strides: Extents, itemsize: int) -> tuple[int, int]:
    """The addresses ``(first, one past last)`` of the bytes that an array can touch."""
    if 0 in shape:
        return address, address
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    below = sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0)
    return address + below, address + above + itemsize


def resolve_reshape(shape: Any, size: int) -> Extents:
    """``shape`` with one -1 replaced by what makes it hold ``size`` elements. Raises ValueError if nothing does."""
    wanted = (shape,) if isinstance(shape, int) else tuple(operator.index(extent) for extent in shape)
    if wanted.count(-1) > 1:
        raise ArrayError(f"only one extent can be -1: {wanted}")
    if -1 in wanted:
        known = math.prod(extent for extent in wanted if extent != -1)
        if known <= 0 or size % known:
            raise ArrayError(f"cannot reshape an array of {size} elements to {wanted}")
        wanted = tuple(size // known if extent == -1 else extent for extent in wanted)
    extents = normalize_shape(wanted)
    if math.prod(extents) != size:
        raise ArrayError(f"cannot reshape an array of {size} elements to {extents}")
    return extents


def expand_index(index: Any, ndim: int) -> tuple[Any, ...]:
    """An index expression as one integer or slice a dimension. Raises IndexError if there are too many."""
    parts = index if isinstance(index, tuple) else (index,)
    ellipses = sum(part is Ellipsis for part in parts)
    if ellipses > 1:
        raise IndexError("an index can have only one ellipsis")
    missing = ndim - len(parts) + ellipses
    if missing < 0:
        raise IndexError(f"too many indices: the array has {ndim} dimension(s), the index {len(parts) - ellipses}")
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    return (*parts[:at], *[slice(None)] * missing, *parts[at + ellipses :])


def select(parts: tuple[Any, ...], shape: Extents, strides: Extents) -> tuple[int, Extents, Extents]:
    """What an expanded index selects: byte offset, shape and strides. Integers drop their dimension.

    Raises IndexError for an integer out of range, TypeError for a part that is neither integer nor slice.
    """
    offset = 0
    new_shape = []
    new_strides = []
    for axis, (part, extent, stride) in enumerate(zip(parts, shape, strides)):
        if isinstance(part, slice):
            start, stop, step = part.indices(extent)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            new_shape.append(count)
            new_strides.append(step * stride)
        else:
            offset += _position(part, axis, extent) * stride
    return offset, tuple(new_shape), tuple(new_strides)


def _position(part: Any, axis: int, extent: int) -> int:
    if isinstance(part, bool):
        raise ArrayError("an array cannot be indexed with a bool")
    try:
        position = operator.index(part)
    except TypeError:
        raise ArrayError(
            f"an array is indexed with ints, slices, an ellipsis or integer arrays, not {type(part).__name__}"
        ) from None
    if not -extent <= position < extent:
        raise IndexError(f"index {position} is out of range for dimension {axis} of extent {extent}")
    return position + extent if position < 0 else position
