"""Folding: what a primitive is when its operands are constants, and the algebra that costs nothing to see.

A fold is called with builder, operands and attributes, and returns a value or None. Floating-point
identities that change the result for −0, infinities or NaN are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Optional

from treadle.ir.builder import Builder
from treadle.ir.core import Op, Value
from treadle.ir.numbers import normalize
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
        for operand in operands:
            if operand.constant is None:
                break
        else:
            value = compute(*(v.constant for v in operands))
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
        if _is_number(y, right):
            return x
        if left is not None and _is_number(x, left):
            return y
        return None

    return fold


def _is_number(value: Value, number: Any) -> bool:
    """Whether ``value`` is this constant; 0 does not stand for -0.0."""
    found = uniform_constant(value)
    return found is not None and found == number and not (found == 0 and math.copysign(1.0, found) < 0)


def first_of(*folds: Fold) -> Fold:
    """The fold that applies first."""

    def fold(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
        for candidate in folds:
            folded = candidate(b, operands, attributes)
            if folded is not None:
                return folded
        return None

    return fold


def cancels(name: str) -> Fold:
    """``name(name(x))`` is x."""

    def fold(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
        owner = operands[0].owner
        return owner.operands[0] if isinstance(owner, Op) and owner.name == name else None

    return fold


def fold_difference_of_equals(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    """``x - x`` is 0 for integers; for floats it may be NaN."""
    x, y = operands
    return b.constant(x.type, 0) if x is y and isinstance(x.type, ScalarMeta) and not x.type.is_float else None


def fold_product_with_zero(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    """``x * 0`` is 0 for integers; for floats it may be NaN or -0."""
    for value in operands:
        if value.constant == 0 and isinstance(value.type, ScalarMeta) and not value.type.is_float:
            return value
    return None


def lattice(absorbing_is_zero: bool) -> Fold:
    """``and`` (0 absorbs, all ones are neutral) or ``or`` (the other way round), on bools and integers."""

    def fold(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
        x, y = operands
        if x is y:
            return x
        for value, other in ((y, x), (x, y)):
            number = value.constant
            if number is None or not isinstance(value.type, ScalarMeta):
                continue
            if not number:
                return value if absorbing_is_zero else other
            if number == (True if value.type.kind == "bool" else normalize(value.type, -1)):
                return other if absorbing_is_zero else value
        return None

    return fold


def fold_exclusive(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    """``x xor 0`` is x; ``x xor true`` is ``not x``."""
    for value, other in (operands, operands[::-1]):
        if value.constant is True:
            return b.emit("not", other)
        if value.constant is not None and not value.constant:
            return other
    return None


_COMPLEMENT = {"eq": "ne", "ne": "eq"}
_COMPLEMENT_OF_INTEGERS = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", **_COMPLEMENT}


def fold_complement(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    """The complement of a comparison is a comparison; with NaN only for equality."""
    owner = operands[0].owner
    if not isinstance(owner, Op) or owner.name not in _COMPLEMENT_OF_INTEGERS:
        return None
    type_ = owner.operands[0].type
    exact = isinstance(type_, ScalarMeta) and not type_.is_float
    name = (_COMPLEMENT_OF_INTEGERS if exact else _COMPLEMENT).get(owner.name)
    return b.emit(name, *owner.operands) if name else None


def equality(holds: bool) -> Fold:
    """``eq`` (or, with ``holds=False``, ``ne``) of a bool with a constant; of an integer with itself."""

    def fold(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
        x, y = operands
        if not isinstance(x.type, ScalarMeta) or x.type.is_float:
            return None
        if x is y:
            return b.constant(scalars.bool_, holds)
        if x.type.kind == "bool":
            for value, other in ((y, x), (x, y)):
                if value.constant is not None:
                    return other if value.constant is holds else b.emit("not", other)
        return None

    return fold


def fold_select(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    condition, if_true, if_false = operands
    if if_true is if_false:
        return if_true
    chosen = uniform_constant(condition)
    if chosen is not None:
        return if_true if chosen else if_false
    if if_true.type is scalars.bool_ and if_true.constant is not None and if_false.constant is not None:
        if if_true.constant == if_false.constant:
            return if_true
        return condition if if_true.constant else b.emit("not", condition)
    owner = condition.owner
    if isinstance(owner, Op) and owner.name == "not":
        return b.emit("select", owner.operands[0], if_false, if_true)
    return None


def fold_cast(b: Builder, operands: Sequence[Value], attributes: dict[str, Any]) -> Optional[Value]:
    (x,), target = operands, attributes["type"]
    if x.type is target:
        return x
    number = x.constant
    if number is None or not isinstance(x.type, ScalarMeta):
        return None
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
