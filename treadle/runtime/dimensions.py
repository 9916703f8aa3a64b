"""``array1d`` … ``indexedarray4d``: the number of dimensions in the name, in annotations and in calls."""

from __future__ import annotations

from typing import Any

from treadle.runtime.array import array
from treadle.runtime.indexed import indexedarray
from treadle.types import ArrayType
from treadle.types.indexed import indexed_type


class _DimensionMeta(type):
    """Makes a class stand for arrays of a certain number of dimensions."""

    ndim: int
    kind: Any = array
    annotation: Any = ArrayType

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.kind(*args, **{**kwargs, "ndim": cls.ndim})

    def __getitem__(cls, dtype: Any) -> Any:
        return cls.annotation(dtype, cls.ndim)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.kind) and instance.ndim == cls.ndim


class _IndexedMeta(_DimensionMeta):
    """The same for indexed arrays."""

    kind = indexedarray
    annotation = staticmethod(indexed_type)


class array1d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=1``."""

    ndim = 1


class array2d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=2``."""

    ndim = 2


class array3d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=3``."""

    ndim = 3


class array4d(metaclass=_DimensionMeta):
    """``array`` with ``ndim=4``."""

    ndim = 4


class indexedarray1d(metaclass=_IndexedMeta):
    """``indexedarray`` with ``ndim=1``."""

    ndim = 1


class indexedarray2d(metaclass=_IndexedMeta):
    """``indexedarray`` with ``ndim=2``."""

    ndim = 2


class indexedarray3d(metaclass=_IndexedMeta):
    """``indexedarray`` with ``ndim=3``."""

    ndim = 3


class indexedarray4d(metaclass=_IndexedMeta):
    """``indexedarray`` with ``ndim=4``."""

    ndim = 4
