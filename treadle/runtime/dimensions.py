"""``array1d`` to ``array4d``: the array with its number of dimensions in the name, in annotations and in calls."""

from __future__ import annotations

from typing import Any

from treadle.runtime.array import array
from treadle.types import ArrayType

__all__ = ["array1d", "array2d", "array3d", "array4d"]


class _DimensionMeta(type):
    """Makes a class stand for arrays of a certain number of dimensions."""

    ndim: int

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return array(*args, **{**kwargs, "ndim": cls.ndim})

    def __getitem__(cls, dtype: Any) -> Any:
        return ArrayType(dtype, cls.ndim)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, array) and instance.ndim == cls.ndim


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
