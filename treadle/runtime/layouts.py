"""Layouts of arrays in new memory, around NumPy arrays and around addresses.

A layout is what ``array.make`` takes: allocation, address of element 0, dtype, shape, strides in bytes, and whether
the strides follow from the shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from treadle.errors import ArrayError
from treadle.runtime import elements, memory, shapes
from treadle.runtime.elements import Host
from treadle.runtime.memory import Allocation
from treadle.runtime.shapes import Extents

Layout = tuple[Allocation, int, Any, Extents, Extents, bool]


def new_layout(dtype: Any, shape: Extents, zero: bool = False) -> Layout:
    """The layout of a contiguous array in new memory."""
    size = elements.layout(dtype).size
    allocation = memory.allocate(size * math.prod(shape), zero)
    return allocation, allocation.address, dtype, shape, shapes.contiguous_strides(shape, size), True


def around_host(host: Host, dtype: Any, owner: Any = None) -> Layout:
    """The layout of an array that shares the memory of a NumPy array, see ``array.wrap_host``."""
    layout = elements.layout(dtype)
    ndim = host.ndim - len(layout.shape)
    shape, strides = host.shape[:ndim], host.strides[:ndim]
    if not components_contiguous(host, layout):
        raise ArrayError(f"the components of {dtype!r} are not contiguous in memory")
    if not 1 <= ndim <= shapes.MAX_NDIM:
        raise ArrayError(f"arrays have 1 to {shapes.MAX_NDIM} dimensions, not {ndim}: shape {shape}")
    strides, contiguous = shapes.canonical_strides(shape, strides, layout.size)
    address, readonly = host.__array_interface__["data"]
    return around(address, dtype, shape, strides, contiguous, host if owner is None else owner, readonly)


def around(
    ptr: int,
    dtype: Any,
    shape: Extents,
    strides: Extents,
    contiguous: bool,
    owner: Any,
    readonly: bool = False,
) -> Layout:
    """A known layout in memory that ``owner`` keeps alive."""
    size = elements.layout(dtype).size
    if contiguous:
        allocation = Allocation(ptr, size * math.prod(shape), owner, readonly)
    else:
        first, end = shapes.byte_range(ptr, shape, strides, size)
        allocation = Allocation(first, end - first, owner, readonly)
    return allocation, ptr, dtype, shape, strides, contiguous


def components_contiguous(host: Host, layout: elements.ElementLayout) -> bool:
    """Whether the trailing dimensions lie in memory as the components of one element do."""
    count = len(layout.shape)
    return (
        host.size == 0
        or count == 0
        or all(
            extent == 1 or have == want
            for extent, have, want in zip(layout.shape, host.strides[-count:], layout.strides)
        )
    )


def around_pointer(
    ptr: int,
    dtype: Any,
    extents: Extents,
    strides: Any,
    capacity: int | None,
    deleter: Callable[[int, int], Any] | None,
) -> Layout:
    """The layout of an array around memory at ``ptr``, see the arguments of ``array``.

    Raises:
        ArrayError: strides or capacity do not fit the shape, or there is no memory.
    """
    if not ptr and all(extents):
        raise ArrayError(f"there is no memory at ptr = {ptr} for an array of shape {extents}")
    size = elements.layout(dtype).size
    steps = shapes.contiguous_strides(extents, size) if strides is None else tuple(int(step) for step in strides)
    if len(steps) != len(extents):
        raise ArrayError(f"the shape {extents} and the strides {steps} have different lengths")
    steps, contiguous = shapes.canonical_strides(extents, steps, size)
    first, end = shapes.byte_range(ptr, extents, steps, size)
    if capacity is not None and end - ptr > capacity:
        raise ArrayError(f"the shape {extents} needs {end - ptr} bytes, more than the capacity of {capacity}")
    allocation = memory.foreign(first, max(end - first, capacity or 0), None, deleter)
    return allocation, ptr, dtype, extents, steps, contiguous
