"""Data that users give (numbers, nested lists, NumPy arrays, vectors, structs) to NumPy arrays of a dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import elements
from treadle.runtime.elements import Host
from treadle.types import (
    SCALARS,
    BFloat16,
    CompositeMeta,
    StructMeta,
    bfloat16,
    bfloat16_bits,
    bfloat16_values,
    float32,
    from_annotation,
    int32,
    is_scalar,
)
from treadle.types.scalars import limits, to_integers

SCALAR_OF: dict[Any, Any] = {t.numpy: t for t in SCALARS if t is not bfloat16}
"""NumPy dtypes and the scalar types with the same values."""


def scalar_of(dtype: np.dtype[Any]) -> Any:
    """The scalar type of a NumPy dtype, in either byte order; None if there is none."""
    known = SCALAR_OF.get(dtype)
    if known is None:
        known = bfloat16 if dtype.name == "bfloat16" else SCALAR_OF.get(dtype.newbyteorder("="))
    return known


def convert(data: Any, dtype: Any = Any) -> tuple[Host, Any]:
    """``data`` in the memory layout of ``dtype`` (inferred for ``Any``), and the dtype.

    The result has the components of a composite dtype as trailing dimensions, and shares memory with
    ``data`` where that is possible. Python floats and ints become float32 and int32; a NumPy array keeps
    its dtype. Raises TypeError for data of no numeric type, ValueError for shapes that do not fit,
    OverflowError for ints that do not fit.
    """
    leaf = _first_leaf(data)
    if dtype is Any:
        dtype = _infer(data, leaf)
    if isinstance(dtype, StructMeta):
        return _records(data, leaf, dtype), dtype
    raw = _numbers(data, leaf, dtype)
    if dtype is Any:
        dtype = _infer_from_numpy(raw, leaf)
    return _reshape_components(_cast(raw, elements.layout(dtype).scalar), dtype), dtype


def _first_leaf(data: Any) -> Any:
    while isinstance(data, (list, tuple)):
        if not data:
            return None
        data = data[0]
    return data


def _infer(data: Any, leaf: Any) -> Any:
    """The dtype that the values tell without a look at NumPy; ``Any`` if they do not."""
    cls = type(leaf)
    if isinstance(cls, (CompositeMeta, StructMeta)):
        return from_annotation(cls)
    if cls is BFloat16:
        return bfloat16
    own = getattr(leaf, "dtype", None)  # an array of the language
    return own if is_scalar(own) or isinstance(own, (CompositeMeta, StructMeta)) else Any


def _infer_from_numpy(raw: Host, leaf: Any) -> Any:
    if type(leaf) is float or leaf is None:
        return float32
    if type(leaf) is int:
        if raw.dtype.kind == "f":  # ints and floats mixed
            return float32
        if raw.size and not (raw.dtype.kind == "i" and -(2**31) <= raw.min() and raw.max() < 2**31):
            raise OverflowError("the data has ints that do not fit in int32: give the dtype, e.g. dtype=int64")
        return int32
    known = scalar_of(raw.dtype)
    if known is None:
        raise ArrayError(f"no dtype corresponds to NumPy's {raw.dtype}")
    return known


def _numbers(data: Any, leaf: Any, dtype: Any) -> Host:
    """The data as NumPy holds it, with a numeric dtype."""
    if isinstance(data, np.ndarray):
        raw = data
    elif hasattr(data, "host") and elements.layout(data.dtype).scalar is bfloat16:
        raw = data.host() if dtype is Any or elements.layout(dtype).scalar is bfloat16 else bfloat16_values(data.host())
    else:
        # Ints beyond int64 survive only if NumPy is told what they are for.
        target = elements.layout(dtype).scalar if dtype is not Any and type(leaf) is int else None
        wanted = target.numpy if target is not None and target.is_integer else None
        try:
            raw = np.asarray(data, dtype=wanted) if wanted is not None else np.asarray(data)
        except TypeError:  # floats among the ints
            raw = np.asarray(data)
        except OverflowError:
            low, high = limits(target)
            message = f"the data has ints that do not fit in {target!r}, which holds {low} to {high}"
            raise OverflowError(message) from None
        except ValueError as error:
            raise ArrayError(f"the data does not have the shape of an array: {error}") from None
    if raw.dtype.kind not in "biuf" and raw.dtype.name != "bfloat16":
        if hasattr(data, "__cuda_array_interface__"):
            raise ArrayError(
                f"a {type(data).__name__} in the memory of a CUDA device cannot be used on the CPU: "
                "copy it to the host first"
            )
        raise ArrayError(f"cannot make an array from data of type {type(leaf).__name__} (NumPy: {raw.dtype})")
    return raw


def _cast(raw: Host, scalar: Any) -> Host:
    """The values in the memory form of a scalar type. uint16 data for bfloat16 is taken as bits."""
    brain = raw.dtype.name == "bfloat16"
    if scalar is bfloat16:
        if brain:
            return raw.view(np.uint16)
        return raw if raw.dtype == np.uint16 else bfloat16_bits(raw)
    if brain:
        raw = bfloat16_values(raw.view(np.uint16))
    if raw.dtype == scalar.numpy:
        return raw
    if scalar.is_integer:
        return to_integers(scalar, raw)
    with np.errstate(over="ignore", invalid="ignore"):
        return raw.astype(scalar.numpy)


def _reshape_components(raw: Host, dtype: Any) -> Host:
    """Make the trailing dimensions those of the dtype; the rest is the shape of the array, at least one extent.

    Numbers in a row are grouped, so that six numbers are two vec3.
    """
    trailing = elements.layout(dtype).shape
    if not trailing:
        return raw.reshape(1) if raw.ndim == 0 else raw
    count = len(trailing)
    if raw.ndim < count or raw.shape[-count:] != trailing:
        length = dtype.length
        last = raw.shape[-1] if raw.ndim else 0
        if raw.ndim == 0 or last % length:
            if raw.size == 0 and raw.ndim == 1:
                return raw.reshape(0, *trailing)
            raise ArrayError(
                f"data of shape {raw.shape} cannot be an array of {dtype!r}, whose elements have the shape {trailing}"
            )
        groups = (last // length,) if last != length else ()
        raw = raw.reshape(*raw.shape[:-1], *groups, *trailing)
    return raw.reshape(1, *trailing) if raw.ndim == count else raw


def _records(data: Any, leaf: Any, dtype: Any) -> Host:
    """Structs, or a NumPy structured array with the members of the struct, as records."""
    raw = data if isinstance(data, np.ndarray) else None
    if raw is None and hasattr(data, "__array__") and not isinstance(type(data), StructMeta):
        raw = np.asarray(data)
    if raw is not None:
        if raw.dtype != dtype.numpy and raw.dtype.names != tuple(dtype.fields) and raw.size:
            raise ArrayError(f"data of NumPy type {raw.dtype} does not have the members of the struct {dtype!r}")
        raw = raw.astype(dtype.numpy, copy=False)
        return raw.reshape(1) if raw.ndim == 0 else raw
    if isinstance(leaf, np.void):
        return np.atleast_1d(np.array(data, dtype.numpy))
    shape, flat = _flatten(data)
    records = np.zeros(len(flat), dtype.numpy)
    for k, value in enumerate(flat):
        records[k] = dtype.coerce(value).numpy_value()
    return records.reshape(shape)


def for_each_struct(data: Any, action: Callable[[int, Any], None]) -> None:
    """Call ``action(flat index, struct)`` for the structs in nested lists; for other data do nothing."""
    if isinstance(type(_first_leaf(data)), StructMeta):
        for k, value in enumerate(_flatten(data)[1]):
            action(k, value)


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists, and their leaves in C order. Raises ValueError if they are ragged."""
    if not isinstance(data, (list, tuple)):
        return (1,), [data]
    shape: tuple[int, ...] = (len(data),)
    level = list(data)
    while level and isinstance(level[0], (list, tuple)):
        lengths = {len(item) if isinstance(item, (list, tuple)) else -1 for item in level}
        if len(lengths) > 1:
            raise ArrayError("the data does not have the shape of an array: its lists have different lengths")
        shape = (*shape, lengths.pop())
        level = [value for item in level for value in item]
    return shape, level
