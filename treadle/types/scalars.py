"""The scalar types: ``bool``, ``int8`` … ``uint64``, ``float16``, ``bfloat16``, ``float32``, ``float64``.

Each is a Python class that serves three purposes: it is the dtype of arrays and of
composites, the annotation of a kernel parameter, and, called, a conversion that returns
a NumPy scalar (for ``bfloat16``, which NumPy lacks, a ``BFloat16``). The IR uses the same
classes as the types of its values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.types import brainfloat
from treadle.types.brainfloat import BFloat16

bfloat16_from_float = brainfloat.bfloat16_from_float
bfloat16_to_float = brainfloat.bfloat16_to_float


class ScalarMeta(type):
    """The metaclass of scalar types: gives them a short printed form and instance checks."""

    kind: str
    bits: int
    size: int
    short: str
    numpy: np.dtype[Any]

    def __repr__(cls) -> str:
        return cls.__name__

    def __instancecheck__(cls, instance: object) -> bool:
        if cls.short == "bf16":
            return isinstance(instance, BFloat16)
        if not cls.short:  # Scalar itself
            return isinstance(instance, BFloat16) or type(instance) in _NUMPY_TYPES
        return isinstance(instance, np.generic) and instance.dtype == cls.numpy

    @property
    def is_float(cls) -> bool:
        return cls.kind == "float"

    @property
    def is_integer(cls) -> bool:
        return cls.kind in ("signed", "unsigned")


class Scalar(metaclass=ScalarMeta):
    """The base of all scalar types.

    Class attributes: ``kind`` (``"bool"``, ``"signed"``, ``"unsigned"`` or ``"float"``),
    ``bits``, ``size`` (bytes in memory), ``short`` (the name in printed IR) and ``numpy``
    (the NumPy dtype that an array of this type has in memory).
    """

    kind = ""
    bits = 0
    size = 0
    short = ""
    numpy = np.dtype(np.void)

    def __new__(cls, value: Any = 0) -> Any:
        return _cast(cls, value)


def _cast(type_: type[Scalar], value: Any) -> Any:
    """``type_(value)`` as a kernel computes it."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        if isinstance(value, np.ndarray) or not hasattr(type(value), "__index__"):
            raise TypeError(f"{type_.__name__}() takes a number, not {type(value).__name__}")
        value = value.__index__()
    if type_.kind == "bool":
        return np.bool_(value)
    if type_.kind == "float":
        if type_.short == "bf16":
            return BFloat16(value)
        with np.errstate(over="ignore"):
            return type_.numpy.type(value)
    return type_.numpy.type(to_integer(type_, value))


def limits(type_: Any) -> tuple[int, int]:
    """The least and the greatest integer of an integer type."""
    if type_.kind == "signed":
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1


def to_integer(type_: Any, number: Any) -> int:
    """A number converted to an integer type as compiled code does it.

    An integer wraps around; a float is truncated, one out of range gives the nearest limit, and NaN gives 0.
    """
    low, high = limits(type_)
    if isinstance(number, (float, np.floating)):
        return 0 if number != number else low if number <= low else high if number >= high else int(number)
    bits: int = (1 << type_.bits) - 1
    return ((int(number) - low) & bits) + low


def to_integers(type_: Any, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``to_integer`` for each of an array of numbers."""
    if numbers.dtype.kind != "f":
        return numbers.astype(type_.numpy)
    low, high = limits(type_)
    wide = numbers.astype(np.result_type(numbers.dtype, np.float64))
    result = np.where((wide >= low) & (wide < high + 1.0), wide, 0.0).astype(type_.numpy)
    result[wide < low] = low
    result[wide >= high + 1.0] = high
    return result


def _declare(name: str, kind: str, bits: int, short: str, dtype: str) -> Any:
    return ScalarMeta(
        name,
        (Scalar,),
        {
            "__module__": __name__,
            "__qualname__": "bool_" if name == "bool" else name,  # where pickle finds it
            "__doc__": f"The {bits}-bit {kind} scalar type.",
            "kind": kind,
            "bits": bits,
            "size": max(bits // 8, 1),
            "short": short,
            "numpy": np.dtype(dtype),
        },
    )


# mypy cannot see through a factory, so the public names are given as Any.
bool_: Any = _declare("bool", "bool", 1, "bool", "?")
int8: Any = _declare("int8", "signed", 8, "i8", "i1")
int16: Any = _declare("int16", "signed", 16, "i16", "i2")
int32: Any = _declare("int32", "signed", 32, "i32", "i4")
int64: Any = _declare("int64", "signed", 64, "i64", "i8")
uint8: Any = _declare("uint8", "unsigned", 8, "u8", "u1")
uint16: Any = _declare("uint16", "unsigned", 16, "u16", "u2")
uint32: Any = _declare("uint32", "unsigned", 32, "u32", "u4")
uint64: Any = _declare("uint64", "unsigned", 64, "u64", "u8")
float16: Any = _declare("float16", "float", 16, "f16", "f2")
float32: Any = _declare("float32", "float", 32, "f32", "f4")
float64: Any = _declare("float64", "float", 64, "f64", "f8")
# NumPy has no bfloat16: in memory it is the upper half of a float32, held as uint16.
bfloat16: Any = _declare("bfloat16", "float", 16, "bf16", "u2")

SCALARS: tuple[ScalarMeta, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64,
)  # fmt: skip
SIGNED: tuple[ScalarMeta, ...] = (int8, int16, int32, int64)
UNSIGNED: tuple[ScalarMeta, ...] = (uint8, uint16, uint32, uint64)
FLOATS: tuple[ScalarMeta, ...] = (float16, bfloat16, float32, float64)
BY_SHORT_NAME: dict[str, ScalarMeta] = {t.short: t for t in SCALARS}

_NUMPY_TYPES = frozenset(t.numpy.type for t in SCALARS)
_FROM_PYTHON: dict[type, ScalarMeta] = {bool: bool_, int: int32, float: float32}


def is_scalar(candidate: object) -> bool:
    """Whether ``candidate`` is one of the scalar types (not a value of one)."""
    return isinstance(candidate, ScalarMeta) and candidate is not Scalar


def from_annotation(candidate: Any) -> Any:
    """Python's ``int``, ``float``, ``bool`` as int32, float32, bool; anything else unchanged.

    A Python subclass of a vector, matrix, … class counts as the class that it extends.
    """
    if not isinstance(candidate, type):
        return candidate
    known = _FROM_PYTHON.get(candidate)
    return known if known is not None else getattr(candidate, "_canonical", None) or candidate
