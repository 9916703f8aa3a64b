"""Numbers of the reference run: each carries its derivative along a direction, and notes what it decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CLOSE = 1.0e-7
"""Operands of a comparison that differ by less make the run unmeasurable: it may decide either way."""


@dataclass
class Trace:
    """What a run decided, and whether a decision was too close to call."""

    decisions: list[Any] = field(default_factory=list)
    close: bool = False

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


class Real:
    """A float and its derivative along a direction. ``is_constant``: the program spells it out."""

    __slots__ = ("value", "slope", "is_constant")

    def __init__(self, value: float, slope: float = 0.0, is_constant: bool = False) -> None:
        self.value = value
        self.slope = slope
        self.is_constant = is_constant

    def __repr__(self) -> str:
        return f"Real({self.value}, {self.slope})"

    def __add__(self, other: Any) -> Any:
        if type(other) is Real:
            return Real(self.value + other.value, self.slope + other.slope)
        return Real(self.value + other, self.slope) if _is_number(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Real:
            return Real(self.value - other.value, self.slope - other.slope)
        return Real(self.value - other, self.slope) if _is_number(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return Real(other - self.value, -self.slope) if _is_number(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if type(other) is Real:
            return Real(self.value * other.value, self.slope * other.value + self.value * other.slope)
        return Real(self.value * other, self.slope * other) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is Real:
            quotient = self.value / other.value
            return Real(quotient, (self.slope - quotient * other.slope) / other.value)
        return Real(self.value / other, self.slope / other) if _is_number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        quotient = other / self.value
        return Real(quotient, -quotient * self.slope / self.value)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __neg__(self) -> Real:
        return Real(-self.value, -self.slope)

    def __pos__(self) -> Real:
        return self

    def __abs__(self) -> Any:
        return absolute(self)

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


def _is_number(other: Any) -> bool:
    return isinstance(other, (int, float))


def is_exact(x: Any) -> bool:
    """Whether a number has no rounding error."""
    return x.is_constant if type(x) is Real else True


def value_of(x: Any) -> float:
    return x.value if type(x) is Real else float(x)


def slope_of(x: Any) -> float:
    return x.slope if type(x) is Real else 0.0


def _smooth(function: Callable[[float], float], derivative: Callable[[float, float], float]) -> Callable[[Any], Any]:
    """A function of one number from its value and its derivative; the derivative is given argument and value."""

    def apply(x: Any) -> Any:
        if type(x) is not Real:
            return function(float(x))
        y = function(x.value)
        return Real(y, derivative(x.value, y) * x.slope) if x.slope else Real(y)

    return apply


sin = _smooth(math.sin, lambda x, y: math.cos(x))
cos = _smooth(math.cos, lambda x, y: -math.sin(x))
tan = _smooth(math.tan, lambda x, y: 1.0 + y * y)
tanh = _smooth(math.tanh, lambda x, y: 1.0 - y * y)
sinh = _smooth(math.sinh, lambda x, y: math.cosh(x))
cosh = _smooth(math.cosh, lambda x, y: math.sinh(x))
exp = _smooth(math.exp, lambda x, y: y)
log = _smooth(math.log, lambda x, y: 1.0 / x)
log2 = _smooth(math.log2, lambda x, y: 1.0 / (x * math.log(2.0)))
sqrt = _smooth(math.sqrt, lambda x, y: 0.5 / y)
asin = _smooth(math.asin, lambda x, y: 1.0 / math.sqrt(1.0 - x * x))
acos = _smooth(math.acos, lambda x, y: -1.0 / math.sqrt(1.0 - x * x))
atan = _smooth(math.atan, lambda x, y: 1.0 / (1.0 + x * x))
erf = _smooth(math.erf, lambda x, y: 2.0 / math.sqrt(math.pi) * math.exp(-x * x))


def power(x: Any, y: Any) -> Any:
    a, b = value_of(x), value_of(y)
    result = math.pow(a, b)
    slope = b * math.pow(a, b - 1.0) * slope_of(x) if slope_of(x) else 0.0
    if slope_of(y):
        slope += result * math.log(a) * slope_of(y)
    return Real(result, slope)


def atan2(y: Any, x: Any) -> Any:
    a, b = value_of(y), value_of(x)
    return Real(math.atan2(a, b), (slope_of(y) * b - slope_of(x) * a) / (a * a + b * b))


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


def sign(x: Any) -> Any:
    return -1.0 if x < 0.0 else 1.0


def floor(x: Any) -> Any:
    if type(x) is not Real:
        return math.floor(x)
    return float(trace.decide(x.value, float(round(x.value)), math.floor(x.value)))


def lerp(a: Any, b: Any, t: Any) -> Any:
    return a * (1.0 - t) + b * t


def smoothstep(low: Any, high: Any, x: Any) -> Any:
    t = clamp((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
