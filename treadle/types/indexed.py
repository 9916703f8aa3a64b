"""The type of an indexed array, as it is written in annotations: ``indexedarray(dtype=float, ndim=2)``.

In a kernel it is a struct: the array ``data``, and for each dimension an array of int32 that says which of its
rows, columns, … are selected. So it is passed, recorded and differentiated as any struct with arrays in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from treadle.types import scalars
from treadle.types.arrays import ArrayType, array_type
from treadle.types.convert import describe
from treadle.types.generics import is_generic
from treadle.types.structs import Struct, StructMeta, struct


class _Indexed(Struct):
    """The base of these structs. ``array_type``: the type of an array of the same elements and dimensions."""

    array_type: ArrayType

    @classmethod
    def coerce(cls, value: Any) -> Any:
        """``value`` if it is of this struct, or the struct that an object with ``as_struct`` makes of itself."""
        if type(value) is cls:
            return value
        if hasattr(value, "as_struct") and array_type(value.dtype, value.ndim) is cls.array_type:
            return value.as_struct()
        wanted = f"expected {cls!r}, got "
        dtype = getattr(value, "dtype", None)
        if dtype is None or isinstance(value, type):
            raise TypeError(wanted + describe(value))
        raise TypeError(f"{wanted}{type(value).__name__}(dtype={dtype!r}, ndim={getattr(value, 'ndim', '?')})")


def indexed_type(dtype: Any = Any, ndim: int = 1) -> Any:
    """The type of indexed arrays of ``dtype`` with ``ndim`` dimensions; there is one per pair.

    Raises TypeError for a generic dtype, and as ``array_type`` does.
    """
    return _indexed_type(array_type(dtype, ndim))


@cache
def _indexed_type(whole: ArrayType) -> Any:
    if is_generic(whole):
        raise TypeError("the dtype and the ndim of an indexed array must be given: indexedarray(dtype=float, ndim=1)")
    annotations = {"data": whole, **{f"indices{axis}": array_type(scalars.int32) for axis in range(whole.ndim)}}
    name = f"indexedarray(dtype={whole.dtype!r}, ndim={whole.ndim})"
    made = struct(type(name, (_Indexed,), {"__annotations__": annotations, "__module__": __name__}))
    made.array_type = whole
    return made


def indexed_elements(type_: Any) -> ArrayType | None:
    """For the type of an indexed array, that of an array of the same elements and dimensions; else None."""
    if isinstance(type_, StructMeta) and issubclass(type_, _Indexed):
        found: ArrayType = type_.array_type
        return found
    return None
