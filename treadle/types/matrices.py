"""Matrices of any shape and scalar type: ``matrix((3, 3), float)`` is the class ``mat33f``."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from treadle.types.composites import Composite, Data, data_from, kind_of, make, matmul, mismatch, wrap
from treadle.types.convert import dtype_of, is_number, is_sequence


@kind_of("mat")
class Matrix(Composite):
    """The base of all matrix types. ``*`` and ``@`` are the matrix product.

    ``m[i]`` is row ``i``, and ``m[i][j] = x`` changes the matrix; any other part (a slice, ``m[:, j]``) is a copy.
    """

    __slots__ = ()

    @classmethod
    def _from_many(cls, args: tuple[Any, ...]) -> Data:
        """The data for a call with several arguments: rows, or numbers row by row."""
        rows, columns = cls.shape
        if len(args) == rows and all(map(is_sequence, args)):
            name = f"a row of {cls!r}"
            return np.stack([data_from(cls.dtype, (columns,), row, name, cast=True) for row in args])
        if any(map(is_sequence, args)):
            raise ValueError(
                f"{cls!r} takes {rows} rows of {columns}, or {cls.length} numbers; got {len(args)} arguments"
            )
        return super()._from_many(args)

    def _place(self, index: Any) -> Any:
        """A checked index: an int, a slice, or a pair of these."""
        pair = index if isinstance(index, tuple) else (index,)
        if len(pair) > 2:
            raise IndexError(f"{type(self)!r} has two dimensions, got {len(pair)} indices")
        try:
            return tuple(i if isinstance(i, slice) else operator.index(i) for i in pair)
        except TypeError:
            raise TypeError(f"an index of {type(self)!r} must be made of ints and slices, not {index!r}") from None

    def _at(self, index: Any) -> Any:
        place = self._place(index)
        try:
            return self._data[place]
        except IndexError:
            raise self._out_of_range(index) from None

    def __getitem__(self, index: Any) -> Any:
        data = self._at(index)
        if not isinstance(data, np.ndarray):
            return self._export(data.item())
        place = self._place(index)
        return self._part("vec", place[0]) if len(place) == 1 and data.ndim == 1 else self._slice(place)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(self._at(index), np.ndarray):
            self._assign(self._place(index), value)
            return
        converted = type(self)._convert(value)
        for data in self._places():
            data[self._place(index)] = converted

    def get_row(self, index: int) -> Any:
        """A row, as a vector."""
        return self[index]

    def get_col(self, index: int) -> Any:
        """A column, as a vector."""
        return self[:, index]

    def set_row(self, index: int, value: Any) -> None:
        """Change a row."""
        self[index] = value

    def set_col(self, index: int, value: Any) -> None:
        """Change a column."""
        self[:, index] = value

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:
        return hash(tuple(map(tuple, self.tolist())))

    def __eq__(self, other: object) -> bool:
        return Composite.__eq__(self, other)

    def __str__(self) -> str:
        return f"[{(',' + chr(10) + ' ').join(self._rows())}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(self._rows())}])"

    def _rows(self) -> list[str]:
        return [str(row) for row in self]

    def _product(self, other: Composite) -> Any:
        """A matrix times a matrix or a column vector."""
        if other.kind not in ("vec", "mat") or other.dtype is not self.dtype or other.shape[0] != self.shape[1]:
            raise mismatch_of_extents(self, other)
        shape = self.shape[:1] + other.shape[1:]
        result = wrap(make(other.kind, shape, self.dtype), matmul(self._data, other._data))
        return result._result(result._data)

    def __matmul__(self, other: Any) -> Any:
        return self._product(other) if isinstance(other, Composite) else NotImplemented


def mismatch_of_extents(left: Matrix, right: Composite) -> TypeError:
    """The error for a matrix product of wrong extents or types."""
    if right.dtype is left.dtype and right.kind in ("vec", "mat"):
        return TypeError(
            f"there is no {type(left)!r} * {type(right)!r}: the left has {left.shape[1]} columns, "
            f"the right {right.shape[0]} rows"
        )
    return mismatch(left, right, "*")


def matrix(*arguments: Any, shape: Any = (Any, Any), dtype: Any = Any) -> Any:
    """The type of matrices of ``shape`` (rows, columns) and ``dtype``; of components, a matrix.

    ``matrix(shape, dtype)``: any of the three may be ``Any``, and ``dtype`` also ``Int``, ``Float`` or
    ``Scalar``; then the result is a generic type, for annotations. ``matrix(a, b, …, shape=…)``: a value of
    that shape from its components, row by row, which have the type of the first unless ``dtype`` is given.
    """
    if arguments and is_number(arguments[0]):
        return make("mat", tuple(shape), dtype_of(arguments, dtype))(*arguments)
    if arguments:
        shape, dtype = (*arguments, dtype)[:2]
    if shape is Any:
        shape = (Any, Any)
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise TypeError(f"the shape of a matrix must be a pair (rows, columns), not {shape!r}")
    return make("mat", tuple(shape), dtype)


mat = matrix
