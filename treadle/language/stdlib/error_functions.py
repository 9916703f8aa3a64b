"""The inverses of the error function and its complement, by Newton's method from a closed approximation."""

from __future__ import annotations

from treadle.language.builtins import builtin, get, gradient
from treadle.language.decorators import adjoint
from treadle.types import Float

erf, erfc, exp, log, sqrt = map(get, ("erf", "erfc", "exp", "log", "sqrt"))

_TWO_OVER_SQRT_PI = 1.1283791670955126
_HALF_SQRT_PI = 0.886226925452758
_WINITZKI = 0.147
_TWO_OVER_PI_WINITZKI = 4.330746750799873
_INFINITY = float("inf")


@builtin(name="_erfinv_start")
def approximation(w: Float):
    """The inverse of erf at x > 0 to three digits (S. Winitzki), where ``w`` is log(1 − x²)."""
    t = _TWO_OVER_PI_WINITZKI + 0.5 * w
    return sqrt(max(0.0, sqrt(t * t - w / _WINITZKI) - t))


@builtin(name="_erfinv_center")
def inverse_in_center(x: Float):
    """For 0 ≤ x ≤ 0.5: two steps of Halley's method."""
    y = approximation(log((1.0 - x) * (1.0 + x)))
    for _ in range(2):
        step = (erf(y) - x) * _HALF_SQRT_PI * exp(y * y)
        y -= step / (1.0 + y * step)
    return y


@builtin(name="_erfcinv_tail")
def inverse_in_tail(p: Float):
    """For 0 < p ≤ 0.5, the y with erfc(y) = p: Newton's method on its logarithm, which is nearly a parabola."""
    y = approximation(log(p) + log(2.0 - p))
    for _ in range(3):
        e = erfc(y)
        slope = _TWO_OVER_SQRT_PI * exp(-y * y)
        if e > 0.0 and slope > 0.0:
            y += log(e / p) * e / slope
    return y


@builtin(name="_erfinv")
def inverse(x: Float):
    """``erfinv`` without the derivative written for it."""
    a = abs(x)
    result = a
    if a <= 0.5:
        result = inverse_in_center(a)
    elif a < 1.0:
        result = inverse_in_tail(1.0 - a)
    elif a == 1.0:
        result = type(x)(_INFINITY)
    else:
        result = sqrt(0.5 - a)
    return -result if x < 0.0 else result


@builtin
def erfinv(x: Float):
    """The y with erf(y) = x: ±∞ at ±1, NaN beyond."""
    return inverse(x)


@gradient(erfinv)
def erfinv_gradient(x: Float, adj_ret: Float):
    if adj_ret != 0.0:
        y = inverse(x)
        adjoint[x] += adj_ret * _HALF_SQRT_PI * exp(y * y)


@builtin(name="_erfcinv")
def inverse_of_complement(x: Float):
    """``erfcinv`` without the derivative written for it."""
    result = x
    if x > 0.5:
        result = inverse(1.0 - x)
    elif x > 0.0:
        result = inverse_in_tail(x)
    elif x == 0.0:
        result = type(x)(_INFINITY)
    else:
        result = sqrt(x - 1.0)
    return result


@builtin
def erfcinv(x: Float):
    """The y with erfc(y) = x: ∞ at 0, −∞ at 2, NaN outside."""
    return inverse_of_complement(x)


@gradient(erfcinv)
def erfcinv_gradient(x: Float, adj_ret: Float):
    if adj_ret != 0.0:
        y = inverse_of_complement(x)
        adjoint[x] -= adj_ret * _HALF_SQRT_PI * exp(y * y)
