"""``range(...)`` in a ``for`` loop, normalised to a count and a rule for the item at position k."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from typing import Any

from treadle.frontend.context import Context
from treadle.frontend.conversions import coerce, does_not_fit, settle
from treadle.frontend.expressions import constant_index
from treadle.frontend.values import Constant, HintKey, Typed, Value, describe
from treadle.ir.core import Value as IRValue
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars

UNROLLED = 16
"""Loops over composites, and in the standard library over constant ranges, are unrolled up to this count."""


@dataclass
class Span:
    """``start`` and ``step``, both of ``type``, and the ``count`` of items, an int32 or int64.

    ``known``: the range, if all of it is known at compile time.
    """

    ctx: Context
    type: Any
    start: IRValue
    step: IRValue
    count: IRValue
    origins: frozenset[HintKey] | None
    known: range | None

    def at(self, k: IRValue) -> Value:
        """The item at position ``k``, which has the type of ``count``."""
        ctx = self.ctx
        # An unsigned item may wrap around on the way: a step of -1 is the greatest number of the type.
        attributes = {"nowrap": True} if self.type.kind == "signed" else {}
        if k.type is not self.type:
            k = ctx.emit("cast", k, type=self.type)
        if self.step.constant != 1:
            k = ctx.emit("mul", k, self.step, **attributes)
        if self.start.constant != 0:
            k = ctx.emit("add", self.start, k, **attributes)
        return Typed(self.type, (k,), self.origins)


def is_range(ctx: Context, node: ast.Call) -> bool:
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return False
    if isinstance(node.func, ast.Name) and node.func.id in ctx.environment:
        return False
    callee = ctx.value(node.func)
    return isinstance(callee, Constant) and callee.value is builtins.range


def evaluate(ctx: Context, node: ast.Call) -> Span:
    """The span of a call of ``range``.

    Raises:
        TypeMismatchError: the bounds are no integers, or of different types, or the step is 0.
    """
    if not 1 <= len(node.args) <= 3 or node.keywords:
        raise ctx.error(node, "range() takes one to three integers", TypeMismatchError)
    values = [ctx.value(argument) for argument in node.args]
    if len(values) == 1:
        values.insert(0, Constant(0))
    if len(values) == 2:
        values.append(Constant(1))
    type_, origins = _common_type(ctx, values, node)
    literals = [int(v.value) if isinstance(v, Constant) and type(v.value) in (int, bool) else None for v in values]
    _check_literals(ctx, literals, type_, node)
    start, stop, step = (
        coerce(ctx, value, type_, node, "a bound of range()").leaf if literal is None
        else ctx.builder.constant(type_, literal)
        for value, literal in zip(values, literals)
    )  # fmt: skip
    numbers = [leaf.constant if literal is None else literal for leaf, literal in zip((start, stop, step), literals)]
    if numbers[2] == 0:
        raise ctx.error(node, "the step of range() is 0", TypeMismatchError)
    # Between multiples of the step, distances are rounded up, beyond what an int32 holds.
    exact = type_ is scalars.int64 or (type_ is scalars.int32 and step.constant in (1, -1))
    bounds = [v if exact else _wide(ctx, v, literal) for v, literal in zip((start, stop, step), literals)]
    count = _count(ctx, *bounds)
    if type_ is scalars.int32 and not exact:
        count = ctx.emit("cast", count, type=scalars.int32)
    known = None if None in numbers else range(*numbers)
    if known and abs(known[-1] - known[0]) // abs(known.step) >= scalars.limits(count.type)[1]:
        raise ctx.error(node, f"this range has more items than an {count.type!r} can count", TypeMismatchError)
    return Span(ctx, type_, start, step, count, origins, known)


def _wide(ctx: Context, bound: IRValue, literal: int | None) -> IRValue:
    """A bound as an int64; a literal by its value, which its type need not have."""
    if literal is not None:
        return ctx.builder.constant(scalars.int64, literal)
    return ctx.emit("cast", bound, type=scalars.int64)  # type: ignore[no-any-return]


def _check_literals(ctx: Context, literals: list[int | None], type_: Any, node: ast.Call) -> None:
    """Whether the literals among start, stop and step fit the type of the items.

    Where distances are counted in int64, ``stop`` may be one beyond the range, and a step of unsigned items
    may be negative.

    Raises:
        TypeMismatchError: one does not fit.
    """
    start, stop, step = literals
    low, high = scalars.limits(type_)
    beyond = 0 if type_ in (scalars.int32, scalars.int64, scalars.uint64) else 1
    least_step = low if type_.kind == "signed" else -min(high, 2**63 - 1)
    for literal, least, greatest in (
        (start, low, high), (stop, low - beyond, high + beyond), (step, least_step, high)
    ):  # fmt: skip
        if literal is not None and not least <= literal <= greatest:
            raise does_not_fit(ctx, literal, type_, node)


def _common_type(ctx: Context, values: list[Value], node: ast.Call) -> tuple[Any, frozenset[HintKey] | None]:
    """The type of the items: that of the bounds that are no literals, or int32."""
    settled: Typed | None = None
    guesses: list[Typed] = []
    for value in values:
        if isinstance(value, Constant) and type(value.value) in (int, bool):
            continue
        typed = settle(ctx, value, node)
        if not scalars.is_scalar(typed.type) or not typed.type.is_integer:
            hint = "; convert it: int(...)" if scalars.is_scalar(typed.type) else ""
            raise ctx.error(node, f"range() takes integers, not {describe(value)}{hint}", TypeMismatchError)
        if typed.origins is not None:
            guesses.append(typed)
        elif settled is None:
            settled = typed
        elif settled.type is not typed.type:
            raise ctx.error(
                node,
                f"the bounds of range() have different types: {settled.type!r} and {typed.type!r}",
                TypeMismatchError,
            )
    if settled is not None:
        return settled.type, None
    if not guesses:
        too_wide = any((n := constant_index(v)) is not None and not -(2**31) <= n < 2**31 for v in values)
        return (scalars.int64 if too_wide else scalars.int32), None
    origins: frozenset[HintKey] = frozenset()
    for guess in guesses:
        origins |= guess.origins or frozenset()
    return guesses[0].type, origins


def _count(ctx: Context, start: IRValue, stop: IRValue, step: IRValue) -> IRValue:
    """How many items there are; not positive if there are none, which includes a step that turns out to be 0."""
    known = step.constant
    if known is not None:
        return _upwards(ctx, start, stop, step) if known > 0 else _upwards(ctx, stop, start, ctx.emit("neg", step))
    zero = ctx.builder.zero(step.type)
    up = _upwards(ctx, start, stop, step)
    down = _upwards(ctx, stop, start, ctx.emit("neg", step))
    falls = ctx.emit("select", ctx.emit("lt", step, zero), down, zero)
    return ctx.emit("select", ctx.emit("gt", step, zero), up, falls)  # type: ignore[no-any-return]


def _upwards(ctx: Context, start: IRValue, stop: IRValue, step: IRValue) -> IRValue:
    """The count of items for a positive step."""
    distance = stop if start.constant == 0 else ctx.emit("sub", stop, start)
    if step.constant == 1:
        return distance
    one = ctx.builder.constant(step.type, 1)  # type: ignore[arg-type]
    return ctx.emit("div", ctx.emit("add", distance, ctx.emit("sub", step, one)), step)  # type: ignore[no-any-return]
