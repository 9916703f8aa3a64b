"""Adds one gradient array to another, on the host."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from treadle.runtime import capturing
from treadle.runtime.alone import one_at_a_time
from treadle.runtime.array import array
from treadle.types import bfloat16_bits, bfloat16_values, scalars


def accumulate(target: array, gradient: array) -> None:
    """``target += gradient``, for arrays of one shape and dtype; members that are not floats are left alone."""
    capturing.perform(partial(_add_alone, target.dtype, target.numpy(), gradient.numpy()))


def add(dtype: Any, target: np.ndarray[Any, Any], gradient: np.ndarray[Any, Any]) -> None:
    """The same for what ``numpy`` makes of the arrays, at once."""
    if getattr(dtype, "kind", "") == "struct":
        for name, member in dtype.fields.items():
            if member.kind != "array":
                add(member, target[name], gradient[name])
        return
    scalar = dtype if scalars.is_scalar(dtype) else dtype.dtype
    if scalar is scalars.bfloat16:
        bits = target.view(np.uint16)
        total = bfloat16_values(bits) + bfloat16_values(gradient.view(np.uint16))
        bits[...] = bfloat16_bits(total)
    elif scalar.is_float:
        target += gradient


_add_alone = one_at_a_time(add)
