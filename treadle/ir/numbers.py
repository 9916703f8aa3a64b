"""Numbers as constants of the IR's scalar types: rounded, wrapped around, saturated as at run time."""

from __future__ import annotations

from typing import Union

import numpy as np

from treadle.types import scalars
from treadle.types.scalars import ScalarMeta

Number = Union[bool, int, float]


def normalize(type_: ScalarMeta, value: Number) -> Number:
    """``value`` as a constant of ``type_``: a Python bool, int or float that the type can hold."""
    kind = type_.kind
    if kind == "float":
        if type_ is scalars.float64:
            return float(value)
        with np.errstate(over="ignore"):
            if type_ is scalars.float32:
                return float(np.float32(value))
            if type_ is scalars.float16:
                return float(np.float16(value))
        return scalars.bfloat16_to_float(scalars.bfloat16_from_float(float(value)))
    if kind == "bool":
        return bool(value)
    return scalars.to_integer(type_, value)
