"""Quaternions (x, y, z, w) and rigid transforms (a translation and a quaternion), of any float type."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.types.composites import Composite, Data, data_from, kind_of, make, mismatch
from treadle.types.convert import describe, dtype_of, is_number, is_sequence
from treadle.types.vectors import component


def hamilton(a: Data, b: Data) -> Data:
    """The product of two quaternions, each given as x, y, z, w."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        a.dtype,
    )


def rotate(q: Data, v: Data) -> Data:
    """The vector ``v`` rotated by the unit quaternion ``q``."""
    u, w = q[:3], q[3]
    two = q.dtype.type(2)
    rotated: Data = v * (two * w * w - q.dtype.type(1)) + np.cross(u, v) * (two * w) + u * (two * np.dot(u, v))
    return rotated


@kind_of("quat")
class Quaternion(Composite):
    """The base of all quaternion types. ``*`` is the Hamilton product."""

    __slots__ = ()

    x = component(0, "x")
    y = component(1, "y")
    z = component(2, "z")
    w = component(3, "w")

    def __new__(cls, *args: Any, dtype: Any = None) -> Any:
        """A value, or for ``quat(dtype=T)`` a type, as ``quaternion(T)`` gives it."""
        if dtype is None:
            return object.__new__(cls)
        if args:
            raise TypeError("quat(dtype=...) gives a type and takes no components: quaternion(dtype)(x, y, z, w)")
        return quaternion(dtype)

    def _product(self, other: Composite) -> Any:
        if other._canonical is not self._canonical:
            raise mismatch(self, other, "*")
        return self._result(hamilton(self._data, other._data))


_P, _Q = slice(0, 3), slice(3, 7)  # where the two are in a transform


@kind_of("transform")
class Transformation(Composite):
    """The base of all transform types: seven scalars, a translation ``p`` and a rotation ``q``.

    Made of (p, q), of p alone (with the identity rotation) or of seven scalars; with no arguments
    all seven are zero. ``*`` composes: ``(a * b)`` applies ``b`` first.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, dtype: Any = None, **parts: Any) -> Any:
        """A value, or for ``transform(dtype=T)`` a type, as ``transformation(T)`` gives it."""
        if dtype is None:
            return object.__new__(cls)
        if args or parts:
            raise TypeError("transform(dtype=...) gives a type and takes no components: transformation(dtype)(p, q)")
        return transformation(dtype)

    def __init__(self, *args: Any, p: Any = None, q: Any = None) -> None:
        if len(args) == 1 and p is None and (q is not None or _has_length(args[0], 3)):
            p, args = args[0], ()
        elif len(args) == 2 and p is None and q is None:
            (p, q), args = args, ()
        if p is None and q is None:
            super().__init__(*args)
            return
        if args:
            raise TypeError(f"{type(self)!r} takes p and q, or seven numbers, not both")
        name = type(self).__name__
        p = (0, 0, 0) if p is None else p
        q = (0, 0, 0, 1) if q is None else q
        self._data = np.concatenate(
            [data_from(self.dtype, (3,), p, f"p of {name}", True), data_from(self.dtype, (4,), q, f"q of {name}", True)]
        )

    @property
    def p(self) -> Any:
        """The translation."""
        return self._part("vec", _P)

    @p.setter
    def p(self, value: Any) -> None:
        self._assign_part(_P, value, "p")

    @property
    def q(self) -> Any:
        """The rotation."""
        return self._part("quat", _Q)

    @q.setter
    def q(self, value: Any) -> None:
        self._assign_part(_Q, value, "q")

    def _assign_part(self, index: slice, value: Any, name: str) -> None:
        name = f"{name} of {type(self)!r}"
        if is_number(value):
            raise TypeError(f"expected {name}, got {describe(value)}")
        self._assign(index, value, name)

    def __repr__(self) -> str:
        texts = self._texts()
        return f"{type(self).__name__}(({', '.join(texts[:3])}), ({', '.join(texts[3:])}))"

    def _product(self, other: Composite) -> Any:
        if other._canonical is not self._canonical:
            raise mismatch(self, other, "*")
        a, b = self._data, other._data
        p = rotate(a[3:], b[:3]) + a[:3]
        return self._result(np.concatenate([p, hamilton(a[3:], b[3:])]))


def _has_length(value: Any, length: int) -> bool:
    return is_sequence(value) and len(value) == length


def quaternion(*arguments: Any, dtype: Any = Any) -> Any:
    """The type of quaternions of ``dtype``, which may be ``Any`` or ``Float``: then a generic type.

    Of components, or a vector and a component: a quaternion.
    """
    return _make_or_construct("quat", 4, arguments, dtype)


def transformation(*arguments: Any, dtype: Any = Any) -> Any:
    """The type of transforms of ``dtype``, which may be ``Any`` or ``Float``: then a generic type.

    Of a position and a rotation, or of components: a transform.
    """
    return _make_or_construct("transform", 7, arguments, dtype)


def _make_or_construct(kind: str, length: int, arguments: tuple[Any, ...], dtype: Any) -> Any:
    if arguments and (is_number(arguments[0]) or hasattr(arguments[0], "__len__")):
        return make(kind, (length,), dtype_of(arguments, dtype))(*arguments)
    return make(kind, (length,), arguments[0] if arguments else dtype)
