"""Folding: what a primitive is when its operands are constants, and the algebra that costs nothing to see.

A fold is called with builder, operands and attributes, and returns a value or None. Floating-point
identities that change the result for −0, infinities or NaN are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

from treadle.ir.builder import Builder
from treadle.ir.core import Op, Value
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta

Fold = Callable[[Builder, Sequence[Value], dict[str, Any]], Optional[Value]]


def uniform_constant(value: Value) -> Any:
    """The number that a scalar constant is, or that an aggregate has in every component; else None."""
    owner = value.owner
    if isinstance(owner, Op):
        if owner.name == "constant":
            return owner.attributes["value"]
        if owner.name == "splat":
            return uniform_constant(owner.operands[0])
    return None


def evaluate(compute: Callable[..., Any], result: Optional[ScalarMeta] = None, identity: Optional[Fold] = None) -> Fold:
    """Compute on constants with ``compute``; else try ``identity``.

    ``compute`` works on Python numbers, may return None for "not here", and its result is
    rounded to the type of the first operand (or ``result``).
    """

    def fold(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
        numbers = [v.constant for v in operands]
        if None not in numbers:
            value = compute(*numbers)
            if value is not None:
                type_ = result or operands[0].type
                assert isinstance(type_, ScalarMeta)
                return b.constant(type_, value)
        return identity(b, operands, attributes) if identity else None

    return fold


def neutral(right: Any, left: Any = None, *, integers_only: bool = False) -> Fold:
    """``x op right`` is x, and ``left op x`` is x."""

    def fold(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
        x, y = operands
        if integers_only and not (isinstance(x.type, ScalarMeta) and not x.type.is_float):
            return None
        if uniform_constant(y) == right and uniform_constant(y) is not None:
            return x
        if left is not None and uniform_constant(x) == left and uniform_constant(x) is not None:
            return y
        return None

    return fold


def fold_select(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    condition, if_true, if_false = operands
    if if_true is if_false:
        return if_true
    chosen = uniform_constant(condition)
    if chosen is not None:
        return if_true if chosen else if_false
    if if_true.type is scalars.bool_ and if_true.constant is True and if_false.constant is False:
        return condition
    return None


def fold_cast(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    (x,), target = operands, attributes["type"]
    if x.type is target:
        return x
    number = x.constant
    if number is None or not isinstance(x.type, ScalarMeta):
        return None
    if x.type.is_float and target.is_integer:
        if number != number:
            return b.constant(target, 0)
        low = -(1 << (target.bits - 1)) if target.kind == "signed" else 0
        high = (1 << (target.bits - (target.kind == "signed"))) - 1
        number = low if number <= low else high if number >= high else int(number)
    return b.constant(target, number)


def integer_division(a: Any, b: Any) -> Any:
    """Division as in C, by 0 giving 0 as at run time; floats divide as usual."""
    if isinstance(a, float):
        return a / b if b else None
    return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: Any, b: Any) -> Any:
    """The remainder of the division as in C; floats are left to run time."""
    return None if isinstance(a, float) else 0 if b == 0 else a - b * integer_division(a, b)


def floor_division(a: Any, b: Any) -> Any:
    """The division that rounds down; floats are left to run time."""
    return None if isinstance(a, float) else 0 if b == 0 else a // b
