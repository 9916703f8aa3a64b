"""Functions of numbers beyond the primitives: signs, steps, fractions, clamping, interpolation, angles."""

from __future__ import annotations

from treadle.language.builtins import builtin, get
from treadle.types import AnyScalar as Scalar
from treadle.types import Float

trunc = get("trunc")

_DEGREES_PER_RADIAN = 57.29577951308232
_RADIANS_PER_DEGREE = 0.017453292519943295


@builtin
def sign(x: Scalar):
    """−1 where ``x`` is negative, else 1."""
    return type(x)(-1 if x < 0 else 1)


@builtin
def step(x: Scalar):
    """1 where ``x`` is negative, else 0."""
    return type(x)(1 if x < 0 else 0)


@builtin
def nonzero(x: Scalar):
    """0 where ``x`` is 0, else 1."""
    return type(x)(0 if x == 0 else 1)


@builtin
def frac(x: Float):
    """``x`` without its integer part; it has the sign of ``x``."""
    return x - trunc(x)


@builtin
def degrees(x: Float):
    """An angle in radians as degrees."""
    return x * _DEGREES_PER_RADIAN


@builtin
def radians(x: Float):
    """An angle in degrees as radians."""
    return x * _RADIANS_PER_DEGREE


@builtin
def clamp(x: Scalar, low: Scalar, high: Scalar):
    """``x``, but at least ``low`` and at most ``high``. On the bounds the gradient goes to ``x``."""
    result = x
    if result < low:
        result = low
    if result > high:
        result = high
    return result


@builtin(name="lerp")
def lerp_numbers(a: Float, b: Float, t: Float):
    """From ``a`` at ``t`` = 0 to ``b`` at ``t`` = 1, exact at both."""
    return a * (1.0 - t) + b * t


@builtin
def smoothstep(a: Float, b: Float, x: Float):
    """From 0 at ``a`` to 1 at ``b`` by a cubic with level ends; constant outside."""
    result = type(x)(0)
    if a != b:
        t = clamp((x - a) / (b - a), 0.0, 1.0)
        result = t * t * (3.0 - 2.0 * t)
    elif x > a:
        result = type(x)(1)
    return result


@builtin(name="div_approx")
def divide_numbers(a: Float, b: Float):
    """``a / b``; a target may trade accuracy for speed."""
    return a / b
