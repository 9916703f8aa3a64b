"""Numbers of the reference run: each carries its derivative along a direction, and notes what it decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

CLOSE = 1.0e-7
"""Operands of a comparison that differ by less make the run unmeasurable: it may decide either way."""


@dataclass
class Trace:
    """What a run decided, and whether a decision was too close to call.

    ``detached``: it read numbers from arrays without a gradient, which dropped their derivatives.
    """

    decisions: list[Any] = field(default_factory=list)
    close: bool = False
    detached: bool = False

    def decide(self, a: float, b: float, decision: Any) -> Any:
        if abs(a - b) < CLOSE:
            self.close = True
        self.decisions.append(decision)
        return decision

    def compare(self, a: Any, b: Any, decision: bool) -> bool:
        """As ``decide``; a number compared with itself, or a constant with another, is not close to anything."""
        if a is b or (is_exact(a) and is_exact(b)):
            return decision
        return bool(self.decide(value_of(a), value_of(b), decision))


trace = Trace()


def reset_trace() -> Trace:
    """Begin a new trace; returns it."""
    global trace
    trace = Trace()
    return trace


def current_trace() -> Trace:
    return trace


class _Pair:
    """A value and a derivative, with the operators that differentiate."""

    __slots__ = ("value", "slope")

    constants: ClassVar[tuple[type, ...]]
    """The types of operands whose derivative is zero."""

    def __init__(self, value: Any, slope: Any = 0.0) -> None:
        self.value = value
        self.slope = slope

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value}, {self.slope})"

    def __add__(self, other: Any) -> Any:
        kind = type(self)
        if type(other) is kind:
            return kind(self.value + other.value, self.slope + other.slope)
        return kind(self.value + other, self.slope) if isinstance(other, kind.constants) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        kind = type(self)
        if type(other) is kind:
            return kind(self.value - other.value, self.slope - other.slope)
        return kind(self.value - other, self.slope) if isinstance(other, kind.constants) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        kind = type(self)
        return kind(other - self.value, -self.slope) if isinstance(other, kind.constants) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        kind = type(self)
        if type(other) is kind:
            return kind(self.value * other.value, self.slope * other.value + self.value * other.slope)
        return kind(self.value * other, self.slope * other) if isinstance(other, kind.constants) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        kind = type(self)
        if type(other) is kind:
            quotient = self.value / other.value
            return kind(quotient, (self.slope - quotient * other.slope) / other.value)
        return kind(self.value / other, self.slope / other) if isinstance(other, kind.constants) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        kind = type(self)
        if not isinstance(other, kind.constants):
            return NotImplemented
        quotient = other / self.value
        return kind(quotient, -quotient * self.slope / self.value)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __neg__(self) -> Any:
        return type(self)(-self.value, -self.slope)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return absolute(self)


class Real(_Pair):
    """A float and its derivative along a direction. ``is_constant``: the program spells it out."""

    __slots__ = ("is_constant",)

    constants = (int, float)

    def __init__(self, value: float, slope: float = 0.0, is_constant: bool = False) -> None:
        self.value = value
        self.slope = slope
        self.is_constant = is_constant

    def __int__(self) -> int:
        whole = int(self.value)
        return int(trace.decide(self.value, float(round(self.value)), whole))

    def __bool__(self) -> bool:
        return bool(trace.decide(self.value, 0.0, self.value != 0.0))

    def __lt__(self, other: Any) -> bool:
        return trace.compare(self, other, self.value < value_of(other))

    def __le__(self, other: Any) -> bool:
        return trace.compare(self, other, self.value <= value_of(other))

    def __gt__(self, other: Any) -> bool:
        return trace.compare(self, other, self.value > value_of(other))

    def __ge__(self, other: Any) -> bool:
        return trace.compare(self, other, self.value >= value_of(other))

    def __eq__(self, other: object) -> bool:
        return trace.compare(self, other, self.value == value_of(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def is_exact(x: Any) -> bool:
    """Whether a number has no rounding error."""
    return x.is_constant if type(x) is Real else True


def value_of(x: Any) -> float:
    return x.value if type(x) is Real else float(x)


def slope_of(x: Any) -> float:
    return x.slope if type(x) is Real else 0.0


class Partial(_Pair):
    """A number, and its derivative by one argument of a function whose gradient the program asks for; both ``Real``.

    It has no comparisons: only smooth functions are differentiated like this.
    """

    __slots__ = ()

    constants = (int, float, Real)


def partial_derivative(function: Callable[..., Any], arguments: Sequence[Any], k: int) -> Any:
    """The derivative of a smooth function by its argument number ``k``."""
    result = function(*arguments[:k], Partial(arguments[k], 1.0), *arguments[k + 1 :])
    return result.slope if type(result) is Partial else 0.0


def _smooth(function: Callable[[float], float], derivative: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of one number from its value and its derivative; the derivative is given argument and value."""

    def apply(x: Any) -> Any:
        if not isinstance(x, _Pair):
            return function(float(x))
        y = apply(x.value)
        return type(x)(y, derivative(x.value, y) * x.slope)

    return apply


sin: Callable[[Any], Any] = _smooth(math.sin, lambda x, y: cos(x))
cos: Callable[[Any], Any] = _smooth(math.cos, lambda x, y: -sin(x))
tanh = _smooth(math.tanh, lambda x, y: 1.0 - y * y)
exp = _smooth(math.exp, lambda x, y: y)
log = _smooth(math.log, lambda x, y: 1.0 / x)
sqrt = _smooth(math.sqrt, lambda x, y: 0.5 / y)
asin = _smooth(math.asin, lambda x, y: 1.0 / sqrt(1.0 - x * x))
atan = _smooth(math.atan, lambda x, y: 1.0 / (1.0 + x * x))
erf = _smooth(math.erf, lambda x, y: 2.0 / math.sqrt(math.pi) * exp(-x * x))


def _by_kind(function: Callable[[Any, Any, Any, Any, Any], Any], a: Any, b: Any) -> Any:
    """Apply a rule, which is given a type of pair and two values with their derivatives."""
    kind = Partial if Partial in (type(a), type(b)) else Real
    split = [(x.value, x.slope) if type(x) is kind else (x, 0.0) for x in (a, b)]
    return function(kind, *split[0], *split[1])


def power(x: Any, y: Any) -> Any:
    """``x ** y``; where the exponent is constant the base may be negative."""
    if not isinstance(x, _Pair) and not isinstance(y, _Pair):
        return math.pow(x, y)

    def rule(kind: Any, a: Any, a_slope: Any, b: Any, b_slope: Any) -> Any:
        result = power(a, b)
        slope = b * power(a, b - 1.0) * a_slope
        if kind is type(y) and not (type(b_slope) is float and b_slope == 0.0):
            slope = slope + result * log(a) * b_slope
        return kind(result, slope)

    return _by_kind(rule, x, y)


def atan2(y: Any, x: Any) -> Any:
    if not isinstance(x, _Pair) and not isinstance(y, _Pair):
        return math.atan2(y, x)

    def rule(kind: Any, a: Any, a_slope: Any, b: Any, b_slope: Any) -> Any:
        return kind(atan2(a, b), (a_slope * b - b_slope * a) / (a * a + b * b))

    return _by_kind(rule, y, x)


def absolute(x: Any) -> Any:
    if type(x) is not Real:
        return abs(x)
    return -x if x < 0.0 else x


def _choose(x: Any, y: Any, first: Callable[[Any, Any], bool]) -> Any:
    """``x`` if ``first(x, y)``; no decision where both are the same number with the same derivative."""
    if type(x) is int and type(y) is int:
        return x if first(x, y) else y
    a, b = value_of(x), value_of(y)
    if a == b and slope_of(x) == slope_of(y):
        return x
    return x if trace.decide(a, b, first(a, b)) else y


def minimum(x: Any, y: Any) -> Any:
    return _choose(x, y, lambda a, b: a < b)


def maximum(x: Any, y: Any) -> Any:
    return _choose(x, y, lambda a, b: a > b)


def clamp(x: Any, low: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


def lerp(a: Any, b: Any, t: Any) -> Any:
    return a * (1.0 - t) + b * t


def smoothstep(low: Any, high: Any, x: Any) -> Any:
    t = clamp((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
