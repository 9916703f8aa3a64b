"""Vectors of any length and scalar type: ``vector(3, float)`` is the class ``vec3f``."""

from __future__ import annotations

from typing import Any

from treadle.types.composites import Composite, floor_divide, kind_of, make, matmul, mismatch, remainder, wrap
from treadle.types.convert import dtype_of, is_number


def component(index: int, name: str) -> Any:
    """A property that reads and writes one component."""

    def read(self: Composite) -> Any:
        if index >= self.length:
            raise AttributeError(f"{type(self)!r} has no component {name!r}")
        return self[index]

    def write(self: Composite, value: Any) -> None:
        if index >= self.length:
            raise AttributeError(f"{type(self)!r} has no component {name!r}")
        self[index] = value

    return property(read, write, doc=f"Component {index}.")


@kind_of("vec")
class Vector(Composite):
    """The base of all vector types."""

    __slots__ = ()

    x = component(0, "x")
    y = component(1, "y")
    z = component(2, "z")
    w = component(3, "w")

    def _product(self, other: Composite) -> Any:
        """A row vector times a matrix."""
        if other.kind != "mat" or other.dtype is not self.dtype or other.shape[0] != self.length:
            raise mismatch(self, other, "*")
        row = wrap(make("vec", other.shape[1:], self.dtype), matmul(self._data, other._data))
        return row._result(row._data)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vector):
            raise TypeError(f"there is no {type(self)!r} @ {type(other)!r}: dot(a, b) is the inner product")
        return self._product(other) if isinstance(other, Composite) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        if isinstance(other, Composite):
            return self._by_component(other, remainder, "%")
        return self._by_number(other, remainder, "%")

    def __rmod__(self, other: Any) -> Any:
        return self._by_number(other, remainder, "%", swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, Composite):
            return self._by_component(other, floor_divide, "//")
        return self._by_number(other, floor_divide, "//")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._by_number(other, floor_divide, "//", swapped=True)


def vector(*arguments: Any, length: Any = Any, dtype: Any = Any) -> Any:
    """The type of vectors of ``length`` components of ``dtype``; of components, a vector.

    ``vector(length, dtype)``: either may be ``Any``, and ``dtype`` also ``Int``, ``Float`` or ``Scalar``;
    then the result is a generic type, for annotations. ``vector(x, y, …)``: a value, whose components
    have the type of the first unless ``dtype`` is given.
    """
    if arguments and (len(arguments) > 2 or any(is_number(a) for a in arguments[1:]) or type(arguments[0]) is float):
        return make("vec", (len(arguments),), dtype_of(arguments, dtype))(*arguments)
    named = dict(zip(("length", "dtype"), arguments))
    return make("vec", (named.get("length", length),), named.get("dtype", dtype))


vec = vector
