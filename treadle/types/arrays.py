"""The type of an array, as it is written in annotations: ``array(dtype=vec3, ndim=2)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.types import scalars
from treadle.types.generics import is_generic
from treadle.types.storage import ARRAY_DESCRIPTOR_SIZE

MAX_NDIM = 4
"""The most dimensions that an array can have."""


class ArrayType:
    """An array type: the type of its elements and the number of its dimensions.

    There is one object per pair of parameters, so that types compare by identity. ``dtype`` may be
    generic, and ``ndim`` may be ``Any``. ``size`` and ``numpy`` are those of the descriptor that
    stands for the array in a struct.
    """

    __slots__ = ("dtype", "ndim", "short")

    kind = "array"
    size = ARRAY_DESCRIPTOR_SIZE
    numpy = np.dtype(f"V{ARRAY_DESCRIPTOR_SIZE}")

    dtype: Any
    ndim: Any
    short: str

    def __new__(cls, dtype: Any = Any, ndim: Any = 1) -> Any:
        dtype = scalars.from_annotation(dtype)
        known = _TYPES.get((dtype, ndim)) if type(ndim) is int or ndim is Any else None
        if known is not None:
            return known
        if ndim is not Any:
            ndim = _check_ndim(ndim)
        _check_dtype(dtype)
        self = object.__new__(cls)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "ndim", ndim)
        names = ("Any" if dtype is Any else dtype.short, "Any" if ndim is Any else ndim)
        object.__setattr__(self, "short", "array<{}, {}>".format(*names))
        return _TYPES.setdefault((dtype, ndim), self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an array type cannot be changed")

    def __repr__(self) -> str:
        dtype, ndim = ("Any" if part is Any else repr(part) for part in (self.dtype, self.ndim))
        return f"array(dtype={dtype}, ndim={ndim})"

    def __reduce__(self) -> Any:
        return (ArrayType, (self.dtype, self.ndim))

    def __copy__(self) -> ArrayType:
        return self

    def __deepcopy__(self, memo: Any) -> ArrayType:
        return self


_TYPES: dict[tuple[Any, Any], ArrayType] = {}


def _check_ndim(ndim: Any) -> int:
    if isinstance(ndim, bool) or not hasattr(ndim, "__index__"):
        raise TypeError(f"ndim must be an int, not {ndim!r}")
    if not 1 <= ndim <= MAX_NDIM:
        raise ValueError(f"an array has 1 to {MAX_NDIM} dimensions, not {ndim}")
    return int(ndim)


def _check_dtype(dtype: Any) -> None:
    is_element = isinstance(dtype, type) and hasattr(dtype, "numpy") and bool(getattr(dtype, "short", None))
    if isinstance(dtype, ArrayType) or not (is_element or is_generic(dtype)):
        raise TypeError(
            f"the dtype of an array must be a scalar, vector, matrix, quaternion, transform "
            f"or struct type, not {dtype!r}"
        )


def array_type(dtype: Any, ndim: Any = 1) -> ArrayType:
    """The type of arrays of ``dtype`` with ``ndim`` dimensions; either may be ``Any``."""
    result: ArrayType = ArrayType(dtype, ndim)
    return result
