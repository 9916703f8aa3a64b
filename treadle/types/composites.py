"""What vectors, matrices, quaternions and transforms share: their classes and their arithmetic.

A composite type is a Python class, made once per kind, shape and scalar type. The compiler
reads its class attributes; Python code calls it to make values. A value holds a small
NumPy array. The kinds differ in construction, indexing and product, which is in
``vectors.py``, ``matrices.py`` and ``quaternions.py``.
"""

from __future__ import annotations

import copyreg
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from treadle.types import scalars
from treadle.types.brainfloat import BFloat16, bfloat16_bits, bfloat16_round, bfloat16_values
from treadle.types.convert import converter, describe, is_number, is_sequence
from treadle.types.generics import GenericType, is_generic, short_name

Data = np.ndarray[Any, Any]

SUFFIXES: dict[Any, str] = {
    scalars.float16: "h", scalars.float32: "f", scalars.float64: "d",
    scalars.int8: "b", scalars.uint8: "ub", scalars.int16: "s", scalars.uint16: "us",
    scalars.int32: "i", scalars.uint32: "ui", scalars.int64: "l", scalars.uint64: "ul",
}  # fmt: skip
"""What is appended to the name of a composite to say its scalar type: ``vec3`` + ``d``."""

# What a class body holds when nothing was written into it.
_EMPTY_BODY = frozenset(
    (
        "__module__",
        "__qualname__",
        "__doc__",
        "__annotations__",
        "__annotate_func__",
        "__annotations_cache__",
        "__firstlineno__",
        "__static_attributes__",
    )
)


class CompositeMeta(type):
    """The metaclass of composite types. The attributes are the protocol that the compiler reads.

    ``kind`` is ``"vec"``, ``"mat"``, ``"quat"`` or ``"transform"``; ``dtype`` the scalar type; ``shape``
    the extents; ``length`` the number of scalars; ``size`` the bytes; ``numpy`` the dtype that an
    array of this type has in memory; ``short`` the name in printed IR.
    """

    kind: str
    dtype: Any
    shape: tuple[int, ...]
    length: int
    size: int
    numpy: np.dtype[Any]
    short: str

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        """A class statement that adds nothing to a composite type gives that very type."""
        base = next((b for b in bases if isinstance(b, CompositeMeta) and b.length), None)
        if base is not None and _EMPTY_BODY.issuperset(namespace):
            return base
        return super().__new__(meta, name, bases, namespace)

    def __repr__(cls) -> str:
        return cls.__name__


class Composite(metaclass=CompositeMeta):
    """The base of all vector, matrix, quaternion and transform types.

    As in a kernel, assignment to a component changes the value in place and arithmetic makes
    a new value (``a += b`` as well). A slice is a copy. A row of a matrix and the halves of a transform are
    values of their own, too, but an assignment to a component of them changes the whole as well: ``t.p[0] = x``.
    """

    __slots__ = ("_data", "_origins")
    __array_priority__ = 100.0  # NumPy scalars leave ``scalar * value`` to the methods here

    kind = ""
    dtype: Any = None
    shape: tuple[int, ...] = ()
    length = 0
    size = 0
    numpy: np.dtype[Any] = np.dtype(np.void)
    short = ""

    _data: Data  # the components, in the type that Python computes with
    _origins: tuple[Data, ...]  # of a part: the same components in the wholes; others lack it
    _work: np.dtype[Any]  # the dtype of _data: float32 for bfloat16, else the scalar type's own
    _convert: Callable[[Any], Any]  # a number to a component
    _canonical: Any = None  # the type proper, for a Python class that extends it

    def __init__(self, *args: Any) -> None:
        if not args:
            self._data = np.zeros(self.shape, self._work)
        elif len(args) == 1:
            self._data = self._from_one(args[0])
        else:
            self._data = self._from_many(args)

    # -- Construction

    @classmethod
    def _from_one(cls, value: Any) -> Data:
        """The data for a call with one argument: a number for all components, or all of them."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not is_number(value) and (is_sequence(value) or hasattr(value, "__array__")):
            return data_from(cls.dtype, cls.shape, value, cls.__name__, cast=True)
        return np.full(cls.shape, cls._convert(value), cls._work)

    @classmethod
    def _from_many(cls, args: tuple[Any, ...]) -> Data:
        """The data for a call with several arguments: numbers, or parts such as (vec3, w)."""
        if len(args) == cls.length:
            try:
                return np.array([cls._convert(a) for a in args], cls._work).reshape(cls.shape)
            except TypeError:
                if not any(map(is_sequence, args)):
                    raise
        parts: list[Any] = []
        for arg in args:
            parts.extend(arg) if is_sequence(arg) else parts.append(arg)
        return data_from(cls.dtype, cls.shape, parts, cls.__name__)

    @classmethod
    def coerce(cls, value: Any) -> Any:
        """``value`` if it has this type, else a new value made of a sequence or NumPy array.

        The implicit conversion: a value of another composite type is a TypeError.
        """
        if isinstance(value, Composite) and value._canonical is cls._canonical:
            return value
        if isinstance(value, Composite):
            hint = ": convert it first" if value.kind == cls.kind and value.shape == cls.shape else ""
            raise TypeError(f"expected {cls!r}, got {type(value)!r}{hint}")
        if is_number(value):
            raise TypeError(f"expected {cls!r}, got {describe(value)}")
        return wrap(cls, data_from(cls.dtype, cls.shape, value, cls.__name__))

    @classmethod
    def from_numpy(cls, raw: Any) -> Any:
        """The value of an element of a NumPy array that has the memory layout of this type."""
        raw = np.asarray(raw).reshape(cls.shape)
        data = bfloat16_values(raw) if cls.dtype is scalars.bfloat16 else raw.astype(cls._work)
        return wrap(cls, data)

    def numpy_value(self) -> Data:
        """The components as they are in memory: a C-contiguous array (bfloat16 as uint16 bits)."""
        return bfloat16_bits(self._data) if self.dtype is scalars.bfloat16 else np.ascontiguousarray(self._data)

    # -- Conversion

    def __array__(self, dtype: Any = None, copy: Any = None) -> Data:
        if copy is False:
            if dtype is not None and np.dtype(dtype) != self._data.dtype:
                raise ValueError(f"cannot convert {type(self)!r} to {np.dtype(dtype)} without a copy")
            return self._data
        return self._data.astype(dtype if dtype is not None else self._data.dtype)

    def tolist(self) -> list[Any]:
        """The components as Python numbers, nested for a matrix."""
        return self._data.tolist()  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return (_restore, (type(self), self.tolist()))

    def __copy__(self) -> Any:
        return wrap(type(self), self._data.copy())

    def __deepcopy__(self, memo: Any) -> Any:
        return wrap(type(self), self._data.copy())

    def __str__(self) -> str:
        return f"[{', '.join(self._texts())}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._texts())})"

    def _texts(self) -> list[str]:
        return [str(self._export(x)) for x in self._data.reshape(-1)]

    def _export(self, component: Any) -> Any:
        return BFloat16(component) if self.dtype is scalars.bfloat16 else component

    # -- Components: those of a matrix are in matrices.py

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        values = self._data.tolist()
        return iter(map(BFloat16, values) if self.dtype is scalars.bfloat16 else values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        try:
            return self._export(self._data.item(operator.index(index)))
        except IndexError:
            raise self._out_of_range(index) from None
        except TypeError:
            raise TypeError(f"an index of {type(self)!r} must be an int or a slice, not {index!r}") from None

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            self._assign(index, value)
            return
        try:
            place = operator.index(index)
        except TypeError:
            raise TypeError(f"an index of {type(self)!r} must be an int or a slice, not {index!r}") from None
        converted = type(self)._convert(value)
        try:
            for data in self._places():
                data[place] = converted
        except IndexError:
            raise self._out_of_range(index) from None

    def _places(self) -> tuple[Data, ...]:
        """Where a component has to be written: here, and in the wholes of which this is a part."""
        try:
            return (self._data, *self._origins)
        except AttributeError:
            return (self._data,)

    def _slice(self, index: Any) -> Any:
        """The vector or matrix at an index of ints and slices, a copy."""
        data = self._data[index]
        if not data.size:
            raise IndexError(f"the slice of {type(self)!r} is empty")
        return wrap(make("mat" if data.ndim == 2 else "vec", data.shape, self.dtype), data.copy())

    def _part(self, kind: str, index: Any) -> Any:
        """The composite at an index; what is assigned to its components is assigned here, too."""
        data = self._data[index]
        part = wrap(make(kind, data.shape, self.dtype), data.copy())
        part._origins = tuple(whole[index] for whole in self._places())
        return part

    def _assign(self, index: Any, value: Any, name: str | None = None) -> None:
        """Write a number, or components of the right number, at an index that gives a part."""
        if is_number(value):
            new = type(self)._convert(value)
        else:
            shape = self._data[index].shape
            new = data_from(self.dtype, shape, value, name or f"a part of {type(self)!r}").copy()
        for data in self._places():
            data[index] = new

    def _out_of_range(self, index: Any) -> IndexError:
        return IndexError(f"index {index} is out of range for {type(self)!r} of shape {self.shape}")

    # -- Comparison

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Composite):
            return self.kind == other.kind and self.shape == other.shape and bool((self._data == other._data).all())
        if not isinstance(other, (list, tuple, np.ndarray)):
            return NotImplemented
        try:
            array = np.asarray(other)
        except ValueError:  # ragged
            return False
        return array.dtype.kind in "biuf" and array.shape == self.shape and bool((self._data == array).all())

    def __ne__(self, other: object) -> bool:
        result = self.__eq__(other)
        return result if result is NotImplemented else not result

    def __hash__(self) -> int:
        return hash(tuple(self.tolist()))

    # -- Arithmetic

    def _result(self, data: Data) -> Any:
        """A value of this type, rounded to its scalar type."""
        if self.dtype is scalars.bfloat16:
            data = bfloat16_round(data)
        return wrap(self._canonical, data.astype(self._work, copy=False))

    def _number(self, value: Any, symbol: str) -> Any:
        """A number as an operand: of the scalar type of this value."""
        if self.dtype is scalars.bool_:
            raise TypeError(f"there is no {symbol} for {type(self)!r}")
        return self._work.type(type(self)._convert(value))

    def _operand(self, other: Any, symbol: str) -> Any:
        """The data of the other operand of an operation by component, or NotImplemented."""
        if self.dtype is scalars.bool_:
            raise TypeError(f"there is no {symbol} for {type(self)!r}")
        if isinstance(other, Composite):
            if other._canonical is not self._canonical:
                raise mismatch(self, other, symbol)
            return other._data
        if isinstance(other, (list, tuple)) or (isinstance(other, np.ndarray) and other.shape == self.shape):
            return data_from(self.dtype, self.shape, other, type(self).__name__)
        return NotImplemented

    def _by_component(self, other: Any, function: Any, symbol: str, swapped: bool = False) -> Any:
        if isinstance(other, np.ndarray) and (swapped or other.shape != self.shape):
            return function(other, self._data) if swapped else function(self._data, other)
        data = self._operand(other, symbol)
        if data is NotImplemented:
            return data
        return self._result(function(data, self._data) if swapped else function(self._data, data))

    def _by_number(self, other: Any, function: Any, symbol: str, swapped: bool = False) -> Any:
        if isinstance(other, np.ndarray) and other.ndim == 0:
            other = other[()]
        if is_number(other):
            number = self._number(other, symbol)
            return self._result(function(number, self._data) if swapped else function(self._data, number))
        if isinstance(other, np.ndarray):
            return function(other, self._data) if swapped else function(self._data, other)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._by_component(other, np.add, "+")

    def __radd__(self, other: Any) -> Any:
        return self._by_component(other, np.add, "+", swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._by_component(other, np.subtract, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._by_component(other, np.subtract, "-", swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._product(other) if isinstance(other, Composite) else self._by_number(other, np.multiply, "*")

    def __rmul__(self, other: Any) -> Any:
        return self._by_number(other, np.multiply, "*", swapped=True)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Composite):
            raise mismatch(self, other, "/")
        return self._by_number(other, divide, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._by_number(other, divide, "/", swapped=True)

    def _product(self, other: Composite) -> Any:
        """``self * other`` for two composites; the kinds that have one override this."""
        raise mismatch(self, other, "*")

    def __neg__(self) -> Any:
        if self.dtype is scalars.bool_:
            raise TypeError(f"there is no - for {type(self)!r}")
        return self._result(np.negative(self._data))

    def __pos__(self) -> Any:
        return self.__copy__()

    def __abs__(self) -> Any:
        if self.kind not in ("vec", "mat") or self.dtype is scalars.bool_:
            raise TypeError(f"there is no abs() for {type(self)!r}")
        return self._result(np.abs(self._data))

    # -- Operations on bits, for vectors and matrices of integers

    def _bits(self, other: Any, function: Any, symbol: str, swapped: bool = False) -> Any:
        if not self.dtype.is_integer:
            raise TypeError(f"there is no {symbol} for {type(self)!r}: its components are not integers")
        return self._by_component(other, function, symbol, swapped)

    def __and__(self, other: Any) -> Any:
        return self._bits(other, np.bitwise_and, "&")

    def __or__(self, other: Any) -> Any:
        return self._bits(other, np.bitwise_or, "|")

    def __xor__(self, other: Any) -> Any:
        return self._bits(other, np.bitwise_xor, "^")

    def __lshift__(self, other: Any) -> Any:
        return self._bits(other, np.left_shift, "<<")

    def __rshift__(self, other: Any) -> Any:
        return self._bits(other, np.right_shift, ">>")

    def __invert__(self) -> Any:
        if not self.dtype.is_integer:
            raise TypeError(f"there is no ~ for {type(self)!r}: its components are not integers")
        return self._result(np.invert(self._data))


_BY_COMPONENT = {"*": "cw_mul", "/": "cw_div"}


def mismatch(left: Composite, right: Composite, symbol: str) -> TypeError:
    """The error for two composites that an operator cannot combine, with the way out."""
    text = f"there is no {type(left)!r} {symbol} {type(right)!r}"
    if left.dtype is not right.dtype:
        return TypeError(f"{text}: convert one of them, their scalar types differ")
    function = _BY_COMPONENT.get(symbol)
    if function and left.kind == right.kind and left.shape == right.shape and left.kind in ("vec", "mat"):
        other = " and dot(a, b) the inner product" if symbol == "*" and left.kind == "vec" else ""
        return TypeError(f"{text}: {function}(a, b) works by component{other}")
    return TypeError(text)


def divide(a: Any, b: Any) -> Any:
    """``a / b`` by component as in a kernel: integers truncate toward zero."""
    with np.errstate(all="ignore"):
        if np.result_type(a, b).kind == "f":
            return np.true_divide(a, b)
        if not np.all(b):
            raise ZeroDivisionError("integer division by zero")
        floor = np.floor_divide(a, b)
        return floor + ((np.remainder(a, b) != 0) & (np.less(a, 0) != np.less(b, 0)))


def remainder(a: Any, b: Any) -> Any:
    """``a % b`` by component as in a kernel: the sign is that of ``a``."""
    with np.errstate(all="ignore"):
        if np.result_type(a, b).kind != "f" and not np.all(b):
            raise ZeroDivisionError("integer modulo by zero")
        return np.fmod(a, b)


def floor_divide(a: Any, b: Any) -> Any:
    """``a // b`` by component as in a kernel: rounded down."""
    with np.errstate(all="ignore"):
        if np.result_type(a, b).kind == "f":
            return np.floor(np.true_divide(a, b))
        if not np.all(b):
            raise ZeroDivisionError("integer division by zero")
        return np.floor_divide(a, b)


def matmul(a: Data, b: Data) -> Data:
    """A matrix product; that of float16 is summed in float32."""
    half = a.dtype == np.float16
    product: Data = np.matmul(a.astype(np.float32), b.astype(np.float32)) if half else np.matmul(a, b)
    return product.astype(a.dtype, copy=False)


# -- Making data


def data_from(dtype: Any, shape: tuple[int, ...], value: Any, name: str, cast: bool = False) -> Data:
    """Components of ``dtype`` in the given shape, out of a sequence, NumPy array or composite.

    ``name`` is for messages. With ``cast``, a composite of another scalar type is converted as in a
    kernel; without, it is a TypeError.
    """
    work = work_type(dtype)
    if isinstance(value, Composite):
        if value.dtype is not dtype and not cast:
            raise TypeError(f"expected {name}, got {type(value)!r}: convert it first")
        if value.shape != shape:
            raise ValueError(f"{name} takes {_shape_text(shape)}, got {type(value)!r}")
        with np.errstate(all="ignore"):
            data = scalars.to_integers(dtype, value._data) if dtype.is_integer else value._data.astype(work)
        return bfloat16_round(data) if dtype is scalars.bfloat16 else data
    array = value if isinstance(value, np.ndarray) else None
    if array is None and not isinstance(value, (list, tuple)) and hasattr(value, "__array__"):
        array = np.asarray(value)
    if array is not None and array.dtype.kind != "O":
        return _data_from_array(dtype, shape, array, name)
    if not is_sequence(value):
        raise TypeError(f"expected {name}, got {describe(value)}")
    numbers = _flatten(shape, list(value), name)
    convert = converter(dtype)
    return np.array([convert(number) for number in numbers], work).reshape(shape)


def _data_from_array(dtype: Any, shape: tuple[int, ...], array: Data, name: str) -> Data:
    if array.shape != shape and array.shape != (_count(shape),):
        raise ValueError(f"{name} takes {_shape_text(shape)}, got an array of shape {array.shape}")
    kind = array.dtype.kind
    if kind not in "biuf":
        raise TypeError(f"expected numbers for {name}, got an array of {array.dtype}")
    if not dtype.is_float:
        if kind == "f":
            raise TypeError(f"{name} takes integers, got an array of {array.dtype}: convert it first with astype")
        if dtype.is_integer and kind != "b":  # the extremes tell whether all fit
            convert = converter(dtype)
            convert(array.min())
            convert(array.max())
    data = array.astype(work_type(dtype)).reshape(shape)
    return bfloat16_round(data) if dtype is scalars.bfloat16 else data


def _flatten(shape: tuple[int, ...], items: list[Any], name: str) -> list[Any]:
    """The numbers in a list of components, or of rows for a matrix; their count is checked."""
    if len(shape) == 2 and any(map(is_sequence, items)):
        rows, columns = shape
        if len(items) != rows:
            raise ValueError(f"{name} takes {rows} rows, got {len(items)}")
        items = [x for row in items for x in _flatten((columns,), _row(row, name), f"a row of {name}")]
    if len(items) != _count(shape):
        raise ValueError(f"{name} takes {_shape_text(shape)}, got {len(items)}")
    return items


def _row(row: Any, name: str) -> list[Any]:
    if not is_sequence(row):
        raise TypeError(f"expected rows for {name}, got {describe(row)} among them")
    return list(row)


def _count(shape: tuple[int, ...]) -> int:
    return shape[0] if len(shape) == 1 else shape[0] * shape[1]


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} components" if len(shape) == 1 else f"{shape[0]}x{shape[1]} components"


# -- Making classes

_BASES: dict[str, type[Composite]] = {}
_CLASSES: dict[tuple[str, tuple[int, ...], Any], Any] = {}


def kind_of(kind: str) -> Callable[[Any], Any]:
    """A class decorator: the class is the base of all types of this kind."""

    def register(base: Any) -> Any:
        base.kind = kind
        _BASES[kind] = base
        return base

    return register


def make(kind: str, shape: tuple[Any, ...], dtype: Any) -> Any:
    """The type of this kind, shape and scalar type: one class, or a GenericType if any is open."""
    if isinstance(dtype, type) and type(shape[0]) is int and type(shape[-1]) is int:
        known = _CLASSES.get((kind, shape, scalars.from_annotation(dtype)))
        if known is not None:
            return known
    dtype = scalars.from_annotation(dtype)
    shape = tuple(_check_extent(extent) for extent in shape)
    if not scalars.is_scalar(dtype) and not is_generic(dtype):
        raise TypeError(f"the dtype of a {kind} must be a scalar type, not {dtype!r}")
    if kind in ("quat", "transform") and scalars.is_scalar(dtype) and not dtype.is_float:
        raise TypeError(f"the dtype of a {kind} must be a floating-point type, not {dtype!r}")
    if is_generic(dtype) or Any in shape:
        return GenericType(kind, shape, dtype)
    return _CLASSES.setdefault((kind, shape, dtype), _new_class(kind, shape, dtype))


def _check_extent(extent: Any) -> Any:
    if extent is Any:
        return extent
    if isinstance(extent, bool) or not hasattr(extent, "__index__"):
        raise TypeError(f"an extent must be an int or Any, not {extent!r}")
    if extent < 1:
        raise ValueError(f"an extent must be positive, not {extent}")
    return operator.index(extent)


def _new_class(kind: str, shape: tuple[int, ...], dtype: Any) -> Any:
    base = _BASES[kind]
    length = _count(shape)
    name = class_name(kind, shape, dtype)
    cls = type.__new__(
        type(base),
        name,
        (base,),
        {
            "__module__": base.__module__,
            "__doc__": f"The type ``{short_name(kind, shape, dtype)}``.",
            "__slots__": (),
            "dtype": dtype,
            "shape": shape,
            "length": length,
            "size": length * dtype.size,
            "numpy": np.dtype((dtype.numpy, shape)),
            "short": short_name(kind, shape, dtype),
            "_work": work_type(dtype),
            "_convert": staticmethod(converter(dtype)),
            # The names by which code written for Warp reads a type.
            "_wp_scalar_type_": dtype,
            "_shape_": shape,
            "_length_": length,
        },
    )
    type.__setattr__(cls, "_canonical", cls)
    return cls


def class_name(kind: str, shape: tuple[int, ...], dtype: Any) -> str:
    """The name of a composite type: ``vec3f`` if it has one, else the call that makes it."""
    suffix = SUFFIXES.get(dtype)
    if suffix is not None:
        if kind in ("quat", "transform"):
            return kind + suffix
        if kind == "vec" and 2 <= shape[0] <= 4:
            return f"vec{shape[0]}{suffix}"
        if dtype.is_float and shape in ((2, 2), (3, 3), (4, 4)):
            return f"mat{shape[0]}{shape[1]}{suffix}"
        if dtype.is_float and shape in ((6,), (6, 6)):
            return f"spatial_{'vector' if kind == 'vec' else 'matrix'}{suffix}"
    if kind == "vec":
        return f"vec({shape[0]}, {dtype!r})"
    return f"mat({shape}, {dtype!r})" if kind == "mat" else f"{kind}({dtype!r})"


def work_type(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype in which Python computes with ``dtype``: float32 for bfloat16."""
    return np.dtype(np.float32) if dtype is scalars.bfloat16 else dtype.numpy


def wrap(cls: Any, data: Data) -> Any:
    """A value of the type, around its data (not copied)."""
    self = object.__new__(cls)
    self._data = data
    return self


def _restore(cls: Any, components: list[Any]) -> Any:
    return wrap(cls, np.array(components, cls._work))


def _reduce_class(cls: Any) -> Any:
    """Pickle a type by its parameters: most have no module in which to find them by name."""
    return (make, (cls.kind, cls.shape, cls.dtype)) if cls._canonical is cls else cls.__qualname__


copyreg.pickle(CompositeMeta, _reduce_class)
