"""Memory of other frameworks as arrays: which trailing dimensions are components, and what cannot be an array."""

from __future__ import annotations

import math
from typing import Any

from treadle.errors import ArrayError
from treadle.runtime import elements, shapes
from treadle.runtime.array import array, make, wrap_pointer
from treadle.runtime.memory import Allocation
from treadle.runtime.shapes import MAX_NDIM, Extents, contiguous_strides

__all__ = ["wrap_memory"]


def wrap_memory(
    address: int,
    scalar: Any,
    shape: Extents,
    strides: Extents,
    dtype: Any,
    owner: Any,
    readonly: bool = False,
    noun: str = "memory",
) -> array:
    """An array over memory that ``owner`` keeps alive.

    ``scalar``, ``shape`` and ``strides`` (in bytes) describe the memory. ``dtype``: that of the array, None for
    ``scalar``; the last dimensions are the components of a vector or matrix. Memory without dimensions gives the
    shape ``(1,)``. ``noun`` is what messages call the memory.

    Raises ArrayError for a dtype that does not fit, components that are not contiguous, more than four
    dimensions, and elements that are not aligned.
    """
    size = scalar.size
    if (dtype is None or dtype is scalar) and 0 < len(shape) <= MAX_NDIM and not address % size:
        if strides == contiguous_strides(shape, size):
            nbytes = size * math.prod(shape)
            return make(Allocation(address, nbytes, owner, readonly), address, scalar, shape, strides, True)
    given = shape
    if dtype is None or dtype is scalar:
        dtype = scalar
    else:
        dtype = elements.concrete_dtype(dtype)
        layout = elements.layout(dtype)
        if not _same_bits(scalar, layout.scalar):
            raise ArrayError(f"a {noun} of {scalar!r} cannot be an array of {dtype!r}")
        if layout.shape:
            shape, strides = _split_components(noun, dtype, layout, shape, strides)
            size = layout.size
    if not shape:
        shape, strides = (1,), (size,)
    elif len(shape) > MAX_NDIM:
        raise ArrayError(f"arrays have 1 to {MAX_NDIM} dimensions: a {noun} of shape {given} has more")
    if address % scalar.size:
        raise ArrayError(f"a {noun} whose elements are not aligned cannot be an array: copy it first")
    strides, contiguous = shapes.canonical_strides(shape, strides, size)
    return wrap_pointer(address, dtype, shape, strides, contiguous, owner, readonly)


def _split_components(
    noun: str, dtype: Any, layout: elements.ElementLayout, shape: Extents, strides: Extents
) -> tuple[Extents, Extents]:
    """Shape and strides without the last dimensions, which are the components of ``dtype``."""
    ndim = len(shape) - len(layout.shape)
    if ndim < 0 or shape[ndim:] != layout.shape:
        raise ArrayError(
            f"a {noun} of shape {shape} cannot be an array of {dtype!r}: "
            f"its last dimensions would have to be {layout.shape}"
        )
    if 0 not in shape and not shapes.canonical_strides(layout.shape, strides[ndim:], layout.dtype.itemsize)[1]:
        raise ArrayError(
            f"the last dimensions of a {noun} must be contiguous for an array of {dtype!r}; "
            f"the {noun} has the shape {shape} and the strides {strides} in bytes: make it contiguous first"
        )
    return shape[:ndim], strides[:ndim]


def _same_bits(have: Any, want: Any) -> bool:
    """Whether memory of one scalar type can be read as another: integers and bools of the same size."""
    return have is want or (want is not None and have.size == want.size and not have.is_float and not want.is_float)
