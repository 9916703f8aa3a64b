"""The functions of one or two real variables, each with its derivative beside it.

Where a derivative has no finite limit at the edge of the domain, ``guards`` keeps a zero
adjoint zero; see ``Expression.guards``.
"""

from __future__ import annotations

import math as m
from typing import Any

from treadle.ir.definitions import Definition, declare
from treadle.primitives import expressions as ex
from treadle.primitives.lowering import intrinsic, math
from treadle.primitives.types import FLOAT, same

LN2, LN10 = m.log(2.0), m.log(10.0)
TWO_OVER_SQRT_PI = 2.0 / m.sqrt(m.pi)


def _define(name: str, lower: Any, derivative: Any = None) -> None:
    declare(Definition(name, same(*FLOAT), lower=lower, derivative=derivative, elementwise=True))


def _power(g: Any, x: Any, y: Any, r: Any) -> Any:
    """As in PyTorch: no gradient for x where y is 0, and none for y where x is 0 and y ≥ 0."""
    for_x = y.equals(0).choose(0, g.guards(g * y * ex.power(x, y - 1)))
    zero_base = x.equals(0)
    flat = zero_base.apply("and", y >= 0)
    safe_log = ex.log(zero_base.choose(1, x))
    for_y = flat.choose(0, zero_base.choose(g * r * ex.log(x), g * r * safe_log))
    return for_x, g.guards(for_y)


def _angle(g: Any, y: Any, x: Any, r: Any) -> Any:
    """The derivative of atan2(y, x); 0 at the origin, as in PyTorch."""
    squared = x * x + y * y
    origin = squared.equals(0)
    scale = origin.choose(0, g / origin.choose(1, squared))
    return scale * x, -(scale * y)


_define("sqrt", intrinsic("llvm.sqrt"), lambda g, x, r: (g.guards(g * 0.5 / r),))
_define("cbrt", math("cbrt"), lambda g, x, r: (g.guards(g / (3 * r * r)),))
_define("exp", math("exp"), lambda g, x, r: (g.guards(g * r),))
_define("log", math("log"), lambda g, x, r: (g.guards(g / x),))
_define("log2", math("log2"), lambda g, x, r: (g.guards(g / (x * LN2)),))
_define("log10", math("log10"), lambda g, x, r: (g.guards(g / (x * LN10)),))
_define("pow", math("pow"), _power)

_define("sin", math("sin"), lambda g, x, r: (g * ex.cos(x),))
_define("cos", math("cos"), lambda g, x, r: (-(g * ex.sin(x)),))
_define("tan", math("tan"), lambda g, x, r: (g.guards(g * (1 + r * r)),))
_define("asin", math("asin"), lambda g, x, r: (g.guards(g / ex.sqrt(1 - x * x)),))
_define("acos", math("acos"), lambda g, x, r: (g.guards(-g / ex.sqrt(1 - x * x)),))
_define("atan", math("atan"), lambda g, x, r: (g / (1 + x * x),))
_define("atan2", math("atan2"), _angle)
_define("sinh", math("sinh"), lambda g, x, r: (g.guards(g * ex.cosh(x)),))
_define("cosh", math("cosh"), lambda g, x, r: (g.guards(g * ex.sinh(x)),))
_define("tanh", math("tanh"), lambda g, x, r: (g * (1 - r * r),))

_define("erf", math("erf"), lambda g, x, r: (g * TWO_OVER_SQRT_PI * ex.exp(-(x * x)),))
_define("erfc", math("erfc"), lambda g, x, r: (-g * TWO_OVER_SQRT_PI * ex.exp(-(x * x)),))

# Piecewise constant: the derivative is 0 wherever it exists, so no gradient is passed on.
_define("floor", intrinsic("llvm.floor"))
_define("ceil", intrinsic("llvm.ceil"))
_define("trunc", intrinsic("llvm.trunc"))
_define("round", intrinsic("llvm.round"))  # halves go away from zero, as in C
_define("rint", intrinsic("llvm.roundeven"))
