"""Primitives on Python numbers: what a built-in gives when it is called outside a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.types import scalars
from treadle.types.values import type_of


def _round_half_away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x) if abs(x) < 2.0**52 else x


_FUNCTIONS: dict[str, Any] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "erf": lambda x: math.erf(x), "erfc": lambda x: math.erfc(x), "abs": np.abs, "min": np.minimum, "max": np.maximum,
    "round": _round_half_away, "bit_count": lambda x: int(x).bit_count() if x >= 0 else _bits_of_negative(x),
}  # fmt: skip


def _bits_of_negative(x: Any) -> int:
    bits: int = type_of(x).bits
    return (int(x) & ((1 << bits) - 1)).bit_count()


def evaluate(op: str, arguments: Sequence[Any]) -> Any:
    """The primitive ``op`` on numbers.

    Python numbers give a Python number; with a NumPy scalar (or ``BFloat16``) among the arguments the
    result has its type.
    """
    settled = next((a for a in arguments if type(a) not in (int, float, bool)), None)
    type_ = type_of(settled) if settled is not None else None
    numbers = list(arguments)
    if type_ is scalars.bfloat16:
        numbers = [float(a) for a in arguments]
    elif type_ is not None:
        numbers = [type_(a) for a in arguments]
    function = _FUNCTIONS.get(op) or getattr(np, op)
    with np.errstate(all="ignore"):
        result = function(*numbers)
    if isinstance(result, (bool, np.bool_)):
        return bool(result)
    if op == "bit_count":
        return int(result)
    if type_ is None:
        return result.item() if isinstance(result, np.generic) else result
    return type_(result)
