"""Python and NumPy numbers to the values of a scalar type, with the checks of an implicit conversion.

An implicit conversion (an argument of a launch, a component, a struct member) never loses
an integer: one that does not fit is an error, and so is a float where an integer is due.
Calling a scalar type (``int8(x)``) is the explicit conversion, which any number passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle.types import scalars
from treadle.types.brainfloat import BFloat16, bfloat16_from_float, bfloat16_to_float

Converter = Callable[[Any], Any]
"""Takes any number and returns the Python number; raises TypeError or ValueError."""


def is_number(value: object) -> bool:
    """Whether ``value`` is a Python or NumPy scalar that is a number or a truth value."""
    return isinstance(value, (int, float, np.number, np.bool_))


def is_sequence(value: object) -> bool:
    """Whether ``value`` can be taken apart into components: a list, tuple, array, vector, …"""
    if isinstance(value, (tuple, list)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    if is_number(value) or isinstance(value, (str, bytes, dict, type)):
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def describe(value: object) -> str:
    """A value as error messages name it: its type, and the value when it is short."""
    name = type(value).__name__
    if value is None or isinstance(value, type):
        return repr(value)
    return f"the {name} {value}" if is_number(value) else f"a value of type {name}"


def _unwrap(dtype: Any, value: Any) -> Any:
    """A number out of a 0-dimensional array or an object that is an index; else a TypeError."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    if hasattr(type(value), "__index__") and not isinstance(value, np.ndarray):
        return value.__index__()
    raise TypeError(f"expected {dtype!r}, got {describe(value)}")


def _make_bool(dtype: Any) -> Converter:
    def convert(value: Any) -> bool:
        if isinstance(value, (bool, int, np.bool_, np.integer)):
            return bool(value)
        if isinstance(value, (float, np.floating)):
            raise TypeError(f"expected {dtype!r}, got {describe(value)}")
        return convert(_unwrap(dtype, value))

    return convert


def _make_integer(dtype: Any) -> Converter:
    low, high = scalars.limits(dtype)

    def convert(value: Any) -> int:
        if type(value) is not int:
            if isinstance(value, (int, np.integer, np.bool_)):
                value = int(value)
            elif isinstance(value, (float, np.floating)):
                raise TypeError(f"expected {dtype!r}, got {describe(value)}: convert it first, e.g. {dtype!r}(x)")
            else:
                return convert(_unwrap(dtype, value))
        if low <= value <= high:
            return int(value)
        raise ValueError(f"{value} does not fit in {dtype!r}, which holds {low} to {high}")

    return convert


def _make_float(dtype: Any) -> Converter:
    def convert(value: Any) -> float:
        if type(value) is float:
            return value
        if isinstance(value, (int, float, np.floating, np.integer, np.bool_)):
            try:
                return float(value)
            except OverflowError:
                raise ValueError(f"the int is too large for {dtype!r}") from None
        return convert(_unwrap(dtype, value))

    if dtype is not scalars.bfloat16:
        return convert
    return lambda value: bfloat16_to_float(bfloat16_from_float(convert(value)))


def _make(dtype: Any) -> Converter:
    if dtype.is_float:
        return _make_float(dtype)
    return _make_integer(dtype) if dtype.is_integer else _make_bool(dtype)


_CONVERTERS: dict[Any, Converter] = {dtype: _make(dtype) for dtype in scalars.SCALARS}


def converter(dtype: Any) -> Converter:
    """The function that converts a number implicitly to ``dtype``, as a Python number.

    A float is returned as it is for float16, float32 and float64: whoever stores it rounds it.
    For bfloat16 it is rounded here.
    """
    return _CONVERTERS[dtype]


def rounded(dtype: Any) -> Converter:
    """Like ``converter``, but the number is also rounded to ``dtype`` (BFloat16 for bfloat16)."""
    convert = _CONVERTERS[dtype]
    if not dtype.is_float or dtype is scalars.float64:
        return convert
    return lambda value: to_number(dtype(convert(value)))


def to_number(value: Any) -> Any:
    """A NumPy scalar as a Python number; anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def from_storage(dtype: Any, raw: Any) -> Any:
    """The Python number that a scalar read from a NumPy array of ``dtype`` stands for."""
    return BFloat16(bfloat16_to_float(int(raw))) if dtype is scalars.bfloat16 else to_number(raw)


def to_storage(dtype: Any, value: Any) -> Any:
    """What to write into a NumPy array of ``dtype`` for the Python number ``value``."""
    return bfloat16_from_float(value) if dtype is scalars.bfloat16 else value


def dtype_of(values: Sequence[Any], dtype: Any) -> Any:
    """The scalar type of components: ``dtype`` if it is given, else that of the first; float for Python floats."""
    if dtype is not Any:
        return dtype
    first = values[0]
    if hasattr(first, "dtype") and not isinstance(first, np.generic):
        return first.dtype  # a composite
    if isinstance(first, np.generic):
        return getattr(scalars, first.dtype.name, float)
    return float if any(isinstance(v, float) for v in values) else type(first) if type(first) in (int, bool) else float
