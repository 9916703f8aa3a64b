"""Python values and their types: which language type a value has, and the way back to plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.types import scalars
from treadle.types.brainfloat import BFloat16
from treadle.types.composites import CompositeMeta
from treadle.types.convert import describe
from treadle.types.indexed import indexed_type
from treadle.types.structs import StructMeta

_BY_CLASS: dict[type, Any] = {
    bool: scalars.bool_,
    int: scalars.int32,
    float: scalars.float32,
    BFloat16: scalars.bfloat16,
}
_BY_DTYPE: dict[Any, Any] = {t.numpy: t for t in scalars.SCALARS if t is not scalars.bfloat16}


def type_of(value: Any) -> Any:
    """The language type of a Python or NumPy value; a TypeError if it has none.

    A Python bool, int or float is a bool, int32 or float32.
    """
    cls = type(value)
    known = _BY_CLASS.get(cls)
    if known is not None:
        return known
    if isinstance(cls, CompositeMeta):
        return cls._canonical
    if isinstance(cls, StructMeta):
        return cls
    if isinstance(value, np.generic):
        known = _BY_DTYPE.get(value.dtype)
    elif hasattr(value, "as_struct"):  # an indexed array
        return indexed_type(value.dtype, value.ndim)
    else:  # an enumeration, say
        known = next((_BY_CLASS[base] for base in (bool, int, float) if isinstance(value, base)), None)
    if known is None:
        raise TypeError(f"{describe(value)} has no type in the kernel language")
    return known


def to_python(value: Any) -> Any:
    """A value as plain Python: numbers, lists for composites, dicts for structs; others unchanged."""
    cls = type(value)
    if isinstance(value, np.generic):
        return value.item()
    if cls is BFloat16:
        return float(value)
    if isinstance(cls, CompositeMeta):
        return value.tolist()
    if isinstance(cls, StructMeta):
        return {name: to_python(value.__dict__[name]) for name in cls.fields}
    return value
