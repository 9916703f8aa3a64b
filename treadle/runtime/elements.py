"""Elements of arrays: how a dtype is laid out in NumPy, and single values to and from that layout.

In NumPy the components of a vector or matrix are trailing dimensions, a struct is a record, and a
bfloat16 is its bits in a uint16.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.types import (
    BFloat16,
    CompositeMeta,
    StructMeta,
    bfloat16,
    bfloat16_values,
    converter,
    from_annotation,
    is_number,
    is_scalar,
)
from treadle.types.convert import from_storage, to_storage

Host = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ElementLayout:
    """One element in NumPy: the dtype of its scalars or the record, its trailing shape and their strides; its bytes.

    ``scalar`` is the language's scalar type, None for a struct. ``typestr`` is the array protocol's
    name of the dtype, None where the protocol cannot express it (structs with padding, bfloat16).
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    scalar: Any
    typestr: str | None


@cache
def layout(dtype: Any) -> ElementLayout:
    """The layout of a dtype. Raises ArrayError for what cannot be the dtype of an array."""
    if is_scalar(dtype):
        return ElementLayout(dtype.numpy, (), (), dtype.size, dtype, _typestr(dtype))
    if isinstance(dtype, CompositeMeta) and dtype.length:
        inner = dtype.dtype.size
        strides = (dtype.shape[1] * inner, inner) if len(dtype.shape) == 2 else (inner,)
        return ElementLayout(dtype.dtype.numpy, dtype.shape, strides, dtype.size, dtype.dtype, _typestr(dtype.dtype))
    if isinstance(dtype, StructMeta) and dtype.size:
        return ElementLayout(dtype.numpy, (), (), dtype.size, None, None)
    raise _no_dtype(dtype)


def _no_dtype(dtype: Any) -> ArrayError:
    return ArrayError(
        f"the dtype of an array must be a scalar, vector, matrix, quaternion, transform or struct type, not {dtype!r}"
    )


def _typestr(scalar: Any) -> str | None:
    return None if scalar is bfloat16 else scalar.numpy.str


_CONCRETE: dict[Any, Any] = {}


def concrete_dtype(dtype: Any) -> Any:
    """A dtype as the user writes it (``float``, say) as a language type. Raises ArrayError as ``layout`` does."""
    try:
        return _CONCRETE[dtype]
    except (KeyError, TypeError):  # a TypeError for what cannot be a key
        pass
    concrete = from_annotation(dtype)
    if not isinstance(concrete, type):
        raise _no_dtype(dtype)
    layout(concrete)
    _CONCRETE[dtype] = concrete
    return concrete


def to_raw(dtype: Any, value: Any) -> Any:
    """What to assign to an element in NumPy for ``value``.

    A number stands for all components of a vector or matrix, and 0 for an empty struct. Raises
    TypeError or ValueError for a value that does not fit. The array members of a struct are left
    out; ``members.store`` writes them.
    """
    if is_scalar(dtype):
        return to_storage(dtype, converter(dtype)(value))
    if is_number(value) and not isinstance(dtype, StructMeta):
        return dtype(value).numpy_value()
    if is_number(value) and value == 0:
        return np.zeros((), dtype.numpy)[()]
    return dtype.coerce(value).numpy_value()


def from_raw(dtype: Any, raw: Any) -> Any:
    """The Python value of one element in NumPy: a number, a vector, a struct, …"""
    return from_storage(dtype, raw[()]) if is_scalar(dtype) else dtype.from_numpy(raw)


def list_from_raw(dtype: Any, host: Host, ndim: int) -> list[Any]:
    """All elements of a NumPy array whose first ``ndim`` dimensions are the array's, in C order."""
    if is_scalar(dtype):
        if dtype is bfloat16:
            return [BFloat16(value) for value in bfloat16_values(host).ravel().tolist()]
        numbers: list[Any] = host.ravel().tolist()
        return numbers
    return [dtype.from_numpy(raw) for raw in host.reshape(-1, *host.shape[ndim:])]


@cache
def ml_bfloat16() -> Any:
    """NumPy's bfloat16 of the package ml_dtypes; None if that is not installed."""
    try:
        import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)
