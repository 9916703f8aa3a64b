"""bfloat16 in Python: rounding, conversion to and from bits, and the value class.

NumPy has no bfloat16. In memory one is the upper half of a float32, held as uint16; in
Python it is a ``BFloat16``, a float whose value is representable in bfloat16.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def bfloat16_from_float(value: float) -> int:
    """The bits of ``value`` rounded to the nearest bfloat16, ties to even."""
    with np.errstate(over="ignore"):
        bits = int(np.float32(value).view(np.uint32))
    if bits & 0x7FFFFFFF > 0x7F800000:  # a NaN stays a quiet NaN
        return (bits >> 16) | 0x40
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def bfloat16_to_float(bits: int) -> float:
    """The value of the bfloat16 whose bits are given."""
    return float(np.uint32(bits << 16).view(np.float32))


def bfloat16_bits(values: Any) -> np.ndarray[Any, Any]:
    """The bits (uint16) of an array of numbers, rounded to the nearest bfloat16."""
    with np.errstate(over="ignore"):
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    chosen = np.where((bits & 0x7FFFFFFF) > 0x7F800000, quiet_nan, rounded).astype(np.uint16)
    result: np.ndarray[Any, Any] = chosen.reshape(np.shape(values))
    return result


def bfloat16_values(bits: Any) -> np.ndarray[Any, Any]:
    """The values (float32) of an array of bfloat16 bits."""
    wide = np.ascontiguousarray(bits, dtype=np.uint16).astype(np.uint32) << 16
    result: np.ndarray[Any, Any] = wide.view(np.float32).reshape(np.shape(bits))
    return result


def bfloat16_round(values: Any) -> np.ndarray[Any, Any]:
    """An array of numbers rounded to bfloat16, as float32."""
    return bfloat16_values(bfloat16_bits(values))


class BFloat16(float):
    """A Python float rounded to bfloat16. Arithmetic with it is that of Python floats."""

    __slots__ = ()

    def __new__(cls, value: Any = 0.0) -> Any:
        return float.__new__(cls, bfloat16_to_float(bfloat16_from_float(float(value))))

    def __getnewargs__(self) -> tuple[float]:
        return (float(self),)

    def __repr__(self) -> str:
        for digits in range(1, 5):  # the shortest decimal that reads back as this value
            text = f"{float(self):.{digits}g}"
            if bfloat16_to_float(bfloat16_from_float(float(text))) == self:
                return repr(float(text))
        return repr(float(self))

    __str__ = __repr__

    @property
    def bits(self) -> int:
        """The 16 bits of the value, as they are in memory."""
        return bfloat16_from_float(self)
