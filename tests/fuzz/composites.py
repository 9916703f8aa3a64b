"""Vectors, matrices and structs of the reference run: plain lists of numbers, with the operators that programs use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.fuzz import numbers as num


def copy(value: Any) -> Any:
    """A value that shares nothing with ``value``, as assignment makes it in the kernel language."""
    if isinstance(value, (Vector, Matrix, Struct)):
        return value.copy()
    if isinstance(value, tuple):
        return tuple(copy(v) for v in value)
    return value


def detached(value: Any) -> Any:
    """A copy of a value without the derivatives of its numbers."""
    if isinstance(value, num.Real):
        num.trace.detached = num.trace.detached or value.slope != 0.0
        return num.Real(value.value)
    if isinstance(value, (Vector, Matrix)):
        result = value.copy()
        result.items = [detached(x) for x in value.items]
        return result
    if isinstance(value, Struct):
        return type(value)(**{name: detached(getattr(value, name)) for name in value.members})
    return value


class Vector:
    """A vector; subclasses made by ``vector_type`` fix its length."""

    length = 0
    items: list[Any]

    def __init__(self, *components: Any) -> None:
        if not components:
            self.items = [num.Real(0.0, is_constant=True)] * self.length
        elif len(components) == 1:
            self.items = [components[0]] * self.length
        else:
            assert len(components) == self.length
            self.items = list(components)

    def _make(self, items: list[Any]) -> Vector:
        result = object.__new__(type(self))
        result.items = items
        return result

    def copy(self) -> Vector:
        return self._make(list(self.items))

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.items))

    def __getitem__(self, index: int) -> Any:
        assert 0 <= index < self.length
        return self.items[index]

    def __setitem__(self, index: int, value: Any) -> None:
        assert 0 <= index < self.length
        self.items[index] = value

    def __add__(self, other: Vector) -> Vector:
        return self._make([a + b for a, b in zip(self.items, other.items)])

    def __sub__(self, other: Vector) -> Vector:
        return self._make([a - b for a, b in zip(self.items, other.items)])

    def __mul__(self, factor: Any) -> Vector:
        return self._make([a * factor for a in self.items])

    def __rmul__(self, factor: Any) -> Vector:
        return self._make([factor * a for a in self.items])

    def __truediv__(self, divisor: Any) -> Vector:
        return self._make([a / divisor for a in self.items])

    def __neg__(self) -> Vector:
        return self._make([-a for a in self.items])


def _component(index: int) -> Any:
    def get(self: Vector) -> Any:
        return self.items[index]

    def put(self: Vector, value: Any) -> None:
        self.items[index] = value

    return property(get, put)


for _index, _name in enumerate("xyzw"):
    setattr(Vector, _name, _component(_index))

_vector_types: dict[int, type[Vector]] = {}


def vector_type(length: int, dtype: Any = None) -> type[Vector]:
    if length not in _vector_types:
        _vector_types[length] = type(f"Vector{length}", (Vector,), {"length": length})
    return _vector_types[length]


class Matrix:
    """A matrix in C order; subclasses made by ``matrix_type`` fix its shape."""

    rows = columns = 0
    items: list[Any]

    def __init__(self, *components: Any) -> None:
        size = self.rows * self.columns
        if not components:
            self.items = [num.Real(0.0, is_constant=True)] * size
        elif len(components) == 1:
            self.items = [components[0]] * size
        else:
            assert len(components) == size
            self.items = list(components)

    def _make(self, items: list[Any]) -> Matrix:
        result = object.__new__(type(self))
        result.items = items
        return result

    def copy(self) -> Matrix:
        return self._make(list(self.items))

    def row(self, index: int) -> list[Any]:
        return self.items[index * self.columns : (index + 1) * self.columns]

    def column(self, index: int) -> list[Any]:
        return self.items[index :: self.columns]

    def _at(self, index: tuple[int, int]) -> int:
        assert 0 <= index[0] < self.rows and 0 <= index[1] < self.columns
        return index[0] * self.columns + index[1]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return self.items[self._at(index)]
        return vector_type(self.columns)(*self.row(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, tuple):
            self.items[self._at(index)] = value
        else:
            self.items[index * self.columns : (index + 1) * self.columns] = value.items

    def __add__(self, other: Matrix) -> Matrix:
        return self._make([a + b for a, b in zip(self.items, other.items)])

    def __sub__(self, other: Matrix) -> Matrix:
        return self._make([a - b for a, b in zip(self.items, other.items)])

    def __neg__(self) -> Matrix:
        return self._make([-a for a in self.items])

    def __truediv__(self, divisor: Any) -> Matrix:
        return self._make([a / divisor for a in self.items])

    def __rmul__(self, factor: Any) -> Matrix:
        return self._make([factor * a for a in self.items])

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (Matrix, Vector)):
            return self @ other
        return self._make([a * other for a in self.items])

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vector):
            return vector_type(self.rows)(*[_dot(self.row(i), other.items) for i in range(self.rows)])
        columns = [other.column(j) for j in range(other.columns)]
        items = [_dot(self.row(i), column) for i in range(self.rows) for column in columns]
        return matrix_type((self.rows, other.columns))(*items)


_matrix_types: dict[tuple[int, int], type[Matrix]] = {}


def matrix_type(shape: tuple[int, int], dtype: Any = None) -> type[Matrix]:
    if shape not in _matrix_types:
        _matrix_types[shape] = type("Matrix{}{}".format(*shape), (Matrix,), {"rows": shape[0], "columns": shape[1]})
    return _matrix_types[shape]


class Struct:
    """A struct: attributes that are copied when they are set, unless they are arrays."""

    members: dict[str, Any] = {}

    def __init__(self, **values: Any) -> None:
        for name, type_ in self.members.items():
            object.__setattr__(self, name, copy(values[name]) if name in values else _zero(type_))

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, copy(value))

    def copy(self) -> Struct:
        return type(self)(**{name: getattr(self, name) for name in self.members})


def _zero(type_: Any) -> Any:
    return type_() if callable(type_) else None


def struct_type(declared: type) -> type[Struct]:
    return type(declared.__name__, (Struct,), {"members": dict(declared.__annotations__)})


def _dot(a: list[Any], b: list[Any]) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:]):
        total = total + x * y
    return total


def dot(a: Vector, b: Vector) -> Any:
    return _dot(a.items, b.items)


def length_sq(a: Vector) -> Any:
    return dot(a, a)


def length(a: Vector) -> Any:
    return num.sqrt(dot(a, a))


def normalize(a: Any) -> Any:
    return a / length(a)


def cw_mul(a: Any, b: Any) -> Any:
    return a._make([x * y for x, y in zip(a.items, b.items)])


def cw_div(a: Any, b: Any) -> Any:
    return a._make([x / y for x, y in zip(a.items, b.items)])


def _extreme(choose: Any) -> Any:
    """A minimum or maximum: of two numbers, of two vectors by component, or of the components of one."""

    def apply(a: Any, b: Any = None) -> Any:
        if not isinstance(a, Vector):
            return choose(a, b)
        if b is not None:
            return a._make([choose(x, y) for x, y in zip(a.items, b.items)])
        result = a.items[0]
        for x in a.items[1:]:
            result = choose(result, x)
        return result

    return apply


minimum, maximum = _extreme(num.minimum), _extreme(num.maximum)


def cross(a: Vector, b: Vector) -> Vector:
    (x, y, z), (u, v, w) = a.items, b.items
    return a._make([y * w - z * v, z * u - x * w, x * v - y * u])


def outer(a: Vector, b: Vector) -> Matrix:
    return matrix_type((len(a), len(b)))(*[x * y for x in a.items for y in b.items])


def transpose(m: Matrix) -> Matrix:
    return matrix_type((m.columns, m.rows))(*[x for j in range(m.columns) for x in m.column(j)])


def trace(m: Matrix) -> Any:
    total = m.items[0]
    for k in range(1, m.rows):
        total = total + m[k, k]
    return total


def determinant(m: Matrix) -> Any:
    if m.rows == 2:
        a, b, c, d = m.items
        return a * d - b * c
    a, b, c, d, e, f, g, h, i = m.items
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def diag(v: Vector) -> Matrix:
    n = len(v)
    return matrix_type((n, n))(
        *[v[i] if i == j else num.Real(0.0, is_constant=True) for i in range(n) for j in range(n)]
    )


def get_diag(m: Matrix) -> Vector:
    return vector_type(m.rows)(*[m[k, k] for k in range(m.rows)])
