"""Making values have a type: literals, captured objects, and guesses that must give way.

No conversion of a settled value happens here: two variables of different types do not mix.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from treadle.frontend.context import Context
from treadle.frontend.values import (
    Constant,
    HintKey,
    Retype,
    TupleValue,
    Typed,
    Unusable,
    Value,
    describe,
    literal_type,
    shown,
)
from treadle.ir.builder import Builder
from treadle.language import notation
from treadle.language.errors import TypeMismatchError
from treadle.language.overloads import convertible
from treadle.types import scalars
from treadle.types.composites import CompositeMeta
from treadle.types.layout import leaf_values, leaves
from treadle.types.scalars import bfloat16_to_float
from treadle.types.storage import Aggregate, ArrayRef
from treadle.types.structs import StructMeta
from treadle.types.values import type_of


def captured(value: Any) -> Constant:
    """A Python object from outside as a constant: an enumeration as its number."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (int, float)) and type(value) not in (int, float, bool) and not isinstance(value, np.generic):
        plain = type_of(value)  # a subclass: of int, float, or a BFloat16, which has a type
        value = value if plain is scalars.bfloat16 else int(value) if isinstance(value, int) else float(value)
    return Constant(value)


def constant_type(value: Any) -> Any:
    """The language type of a compile-time object that can be a value at run time; None if it cannot."""
    if isinstance(value, (np.generic, float, int)) or isinstance(type(value), (CompositeMeta, StructMeta)):
        try:
            return type_of(value)
        except TypeError:
            return None
    return None


def settle(ctx: Context, value: Value, node: Any) -> Typed:
    """A value at run time: a literal gets its default type.

    Raises:
        TypeMismatchError: the object exists only at compile time.
    """
    if isinstance(value, Typed):
        return value
    if isinstance(value, Constant):
        type_ = constant_type(value.value)
        if type_ is not None:
            return materialize(ctx, value.value, type_, node)
    raise ctx.error(node, f"expected a value, not {describe(value)}", TypeMismatchError)


def materialize(ctx: Context, value: Any, type_: Any, node: Any) -> Typed:
    """A Python object as a value of ``type_``, in constants."""
    if scalars.is_scalar(type_):
        number = value.item() if isinstance(value, np.generic) else value
        check_range(ctx, number, type_, node)
        return ctx.typed_constant(type_, number)
    b = ctx.builder
    made = []
    for leaf, part in zip(leaves(type_), leaf_values(type_, value)):
        if isinstance(leaf.type, Aggregate):
            made.append(_aggregate(b, leaf.type, part))
        elif isinstance(leaf.type, ArrayRef):
            if part is not None:
                raise ctx.error(node, "an array cannot be captured; pass it to the kernel", TypeMismatchError)
            made.append(b.zero(leaf.type))
        else:
            made.append(b.constant(leaf.type, part))
    return Typed(type_, tuple(made))


def _aggregate(b: Builder, type_: Aggregate, parts: Any) -> Any:
    numbers = [bfloat16_to_float(int(p)) if type_.scalar is scalars.bfloat16 else p.item() for p in parts]
    result = b.filled(type_, numbers[0])
    for k, number in enumerate(numbers):
        if number != numbers[0]:
            result = b.emit("insert", result, b.index(k), b.constant(type_.scalar, number))
    return result


def check_range(ctx: Context, number: Any, type_: Any, node: Any) -> None:
    """An integer literal must fit, if need be as the bits of the type (0xFFFFFFFF as an int32)."""
    if not type_.is_integer:
        check_size(ctx, number, type_, node)
        return
    if isinstance(number, float):
        raise ctx.error(node, f"the literal {number} is no {type_!r}; write {type_!r}({number})", TypeMismatchError)
    if not has_bits(number, type_):
        raise does_not_fit(ctx, number, type_, node)


def check_size(ctx: Context, number: Any, type_: Any, node: Any) -> None:
    """An integer that becomes a float must be one that Python can make a float of: the others are mistakes.

    Raises:
        TypeMismatchError: it is too large.
    """
    if type_.is_float and type(number) is int:
        try:
            float(number)
        except OverflowError:
            message = f"the literal {shown(number)} is too large for {type_!r}"
            raise ctx.error(node, message, TypeMismatchError) from None


def does_not_fit(ctx: Context, number: int, type_: Any, node: Any) -> TypeMismatchError:
    """The error for an integer literal that is out of the range of a type."""
    low, high = scalars.limits(type_)
    wide = next((t for t in (scalars.int64, scalars.uint64) if fits(number, t)), None)
    hint = f"; use a wider type, as in {wide!r}({number})" if wide is not None else ""
    message = f"the literal {shown(number)} does not fit in {type_!r}, which holds {low} to {high}{hint}"
    return ctx.error(node, message, TypeMismatchError)  # type: ignore[return-value]


def has_bits(number: int, type_: Any) -> bool:
    """Whether a number is one of an integer type, or of the type of the same bits with the other sign."""
    return bool(-(1 << (type_.bits - 1)) <= number < 1 << type_.bits)


def fits(number: int, type_: Any) -> bool:
    """Whether an integer type has a number, and not only its bits."""
    low, high = scalars.limits(type_)
    return low <= number <= high


def check_compared(ctx: Context, literal: Value, other: Any, node: Any) -> None:
    """A literal that is compared must be a number of the type that it is compared with, and not only have its bits.

    Raises:
        TypeMismatchError: it is out of range.
    """
    if isinstance(literal, Constant) and type(literal.value) is int and scalars.is_scalar(other) and other.is_integer:
        number = literal.value
        if not fits(number, other):
            low, high = scalars.limits(other)
            bits = f"; for the value with these bits write {other!r}({number})" if has_bits(number, other) else ""
            raise ctx.error(
                node,
                f"the literal {shown(number)} does not fit in {other!r}, which holds {low} to {high}: "
                f"no {other!r} can be equal to it{bits}",
                TypeMismatchError,
            )


def coerce(ctx: Context, value: Value, target: Any, node: Any, what: str = "the value") -> Typed:
    """``value`` as a ``target``. Literals and guesses adapt; a settled value must have that type already.

    ``what`` begins the message of the error.

    Raises:
        TypeMismatchError: it has another type.
    """
    if isinstance(value, Typed):
        if value.type is target:
            return value
        if value.origins is not None and convertible(value.type, target):
            raise retype(ctx, value, target, node, settled=True)
    elif isinstance(value, Constant):
        found = value.value
        if value.is_literal:
            if convertible(literal_type(found), target):
                return materialize(ctx, found, target, node)
        elif found is None and getattr(target, "kind", None) == "array":
            return materialize(ctx, None, target, node)
        else:
            type_ = constant_type(found)
            if type_ is target and type_ is not None:
                return materialize(ctx, found, target, node)
    raise ctx.error(
        node,
        f"{what} must be {notation.text(target)}, not {describe(value)}{cast_hint(value, target)}",
        TypeMismatchError,
    )


def cast_hint(value: Value, target: Any) -> str:
    """Which cast to write for a scalar of another type."""
    source = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
    if not (scalars.is_scalar(target) and scalars.is_scalar(source)):
        return ""
    note = "; and, or, not and comparisons give truth values" if source is scalars.bool_ else ""
    return f"{note}; convert it: {target!r}(...)"


def retype(ctx: Context, value: Typed, target: Any, node: Any, settled: bool) -> Retype:
    """The request to build again with another guess for the variables that ``value`` comes from."""
    assert value.origins is not None
    names = ", ".join(sorted({repr(name) for _, name in value.origins if not name.startswith("%")}))
    note = f"note: the type of {names} was taken to be {target!r}, from {ctx.source.file}:{getattr(node, 'lineno', 0)}"
    return Retype(value.origins, target, settled, note if value.type.is_integer and target.is_float else "")


def guess(ctx: Context, key: HintKey, default: Any) -> tuple[Any, frozenset[HintKey] | None]:
    """The type for a variable that comes from a literal: found by an earlier attempt, or ``default``."""
    hint = ctx.hints.get(key)
    if hint is None:
        return default, (frozenset((key,)) if default is not scalars.bool_ else None)
    return hint.type, None if hint.settled else frozenset((key,))


def unify(ctx: Context, a: Value, b: Value, node: Any, symbol: str) -> tuple[Typed, Typed, frozenset[HintKey] | None]:
    """Two scalars made to have one type, and on which guesses that type depends.

    Raises:
        TypeMismatchError: they are of different types, and neither is a literal or a guess.
    """
    if isinstance(a, Constant) and a.is_literal and isinstance(b, Typed):
        return _adapt(ctx, a, b, node, symbol), b, b.origins
    if isinstance(b, Constant) and b.is_literal and isinstance(a, Typed):
        return a, _adapt(ctx, b, a, node, symbol), a.origins
    a, b = settle(ctx, a, node), settle(ctx, b, node)
    if a.type is b.type:
        both = a.origins | b.origins if a.origins is not None and b.origins is not None else None
        return a, b, both
    for guessed, other in ((a, b), (b, a)):
        if guessed.origins is not None and convertible(guessed.type, other.type):
            raise retype(ctx, guessed, other.type, node, settled=other.origins is None)
    raise ctx.error(
        node,
        f"{symbol} of {notation.text(a.type)} and {notation.text(b.type)}: variables of different types do not mix; "
        f"convert one of them, for example with {_cast_to(a, b)}",
        TypeMismatchError,
    )


def _cast_to(a: Typed, b: Typed) -> str:
    wider = a.type
    if scalars.is_scalar(a.type) and scalars.is_scalar(b.type):
        wider = max(a.type, b.type, key=lambda t: (t.is_float, t.bits))
    return f"{notation.text(wider)}(...)"


def _adapt(ctx: Context, literal: Constant, other: Typed, node: Any, symbol: str) -> Typed:
    """A literal as a value of the type of ``other``."""
    source, target = literal_type(literal.value), other.type
    if source is scalars.int32 and target.is_integer and not has_bits(literal.value, target):
        low, high = scalars.limits(target)
        raise ctx.error(
            node,
            f"{symbol} of {describe(literal)} and {target!r}, which holds {low} to {high}: the literal does not fit; "
            f"convert the other operand to a wider type, for example with int64(...)",
            TypeMismatchError,
        )
    if convertible(source, target):
        return materialize(ctx, literal.value, target, node)
    if other.origins is not None and convertible(other.type, source):
        raise retype(ctx, other, source, node, settled=False)
    raise ctx.error(
        node,
        f"{symbol} of {describe(literal)} and {notation.text(target)}: the literal is no {notation.text(target)}; "
        f"convert the other operand, for example with {source!r}(...)",
        TypeMismatchError,
    )


def usable(ctx: Context, value: Value, node: Any, name: str) -> Value:
    """``value``, unless it stands for a variable without a type."""
    if isinstance(value, Unusable):
        raise ctx.error(node, f"{name!r} cannot be used here: {value.reason}", TypeMismatchError)
    return value


def items_of(value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple, also of one that was captured; None if it is no tuple."""
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Constant) and isinstance(value.value, (tuple, list, range)):
        return tuple(captured(item) for item in value.value)
    return None
