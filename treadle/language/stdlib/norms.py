"""Norms of vectors that programs use as losses and penalties."""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin, get
from treadle.language.stdlib.vectors import dot, length
from treadle.types import Float, vec

sqrt, absolute = get("sqrt"), get("abs")


@builtin
def norm_l1(v: vec(Any, Float)):
    """The sum of the absolute values of the components."""
    total = absolute(v[0])
    for i in range(1, len(v)):
        total += absolute(v[i])
    return total


@builtin
def norm_l2(v: vec(Any, Float)):
    """The length."""
    return length(v)


@builtin
def norm_huber(v: vec(Any, Float), delta: Float = 1.0):
    """Half the squared length up to the length ``delta``, beyond it ``delta * (length - delta / 2)``."""
    squared = dot(v, v)
    result = 0.5 * squared
    if squared > delta * delta:
        result = delta * (sqrt(squared) - 0.5 * delta)
    return result


@builtin
def norm_pseudo_huber(v: vec(Any, Float), delta: Float = 1.0):
    """``delta * sqrt(1 + length**2 / delta**2)``: smooth everywhere."""
    return delta * sqrt(1.0 + dot(v, v) / (delta * delta))


@builtin
def smooth_normalize(v: vec(Any, Float), delta: Float = 1.0):
    """The vector divided by its pseudo-Huber norm, which is never 0."""
    return v / norm_pseudo_huber(v, delta)
