"""Operators on scalars and literals; those on composites are handed to ``composites``."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from treadle.frontend import composites
from treadle.frontend.context import Context
from treadle.frontend.conversions import check_compared, check_size, constant_type, items_of, settle, unify
from treadle.frontend.symbols import BITWISE, COMPARISONS, INTEGER_ONLY, SYMBOLS
from treadle.frontend.values import (
    FALSE,
    TRUE,
    Constant,
    TupleValue,
    Typed,
    Value,
    describe,
    shown,
)
from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.language.errors import TypeMismatchError, UnsupportedError
from treadle.primitives.folding import floor_division, integer_division, remainder
from treadle.types import scalars

# Up to this exponent, a power is written as products.
_LARGEST_PRODUCT = 8

# Integers among literals have as many bits as Python gives them, but no more than this.
_MOST_BITS = 4096


def binary(ctx: Context, op: str, a: Value, b: Value, node: Any) -> Value:
    """``a op b``.

    Raises:
        TypeMismatchError: there is no such operation for these types.
    """
    symbol = SYMBOLS[op]
    if isinstance(a, Constant) and isinstance(b, Constant) and a.is_literal and b.is_literal:
        return _on_literals(ctx, op, a.value, b.value, node)
    if isinstance(a, TupleValue) or isinstance(b, TupleValue):
        return _on_tuples(ctx, op, a, b, node)
    _check_operand(ctx, a, symbol, node)
    _check_operand(ctx, b, symbol, node)
    if composites.is_composite(a) or composites.is_composite(b):
        return composites.binary(ctx, op, a, b, node)
    if op == "pow":
        return power(ctx, a, b, node)
    if op == "matmul":
        raise ctx.error(node, f"there is no {describe(a)} @ {describe(b)}", TypeMismatchError)
    x, y, origins = unify(ctx, a, b, node, symbol)
    check_scalar_kind(ctx, op, x.type, node)
    return Typed(x.type, (ctx.emit(op, x.leaf, y.leaf),), origins)


def check_scalar_kind(ctx: Context, op: str, type_: Any, node: Any) -> None:
    """Whether an operator exists for scalars of a type.

    Raises:
        TypeMismatchError: it does not.
    """
    symbol = SYMBOLS[op]
    if type_ is scalars.bool_ and op not in BITWISE:
        raise ctx.error(
            node, f"there is no {symbol} for bool; convert it, for example with int(...)", TypeMismatchError
        )
    if type_.is_float and op in INTEGER_ONLY:
        raise ctx.error(node, f"there is no {symbol} for {type_!r}: it is for integers", TypeMismatchError)


def _check_operand(ctx: Context, value: Value, symbol: str, node: Any) -> None:
    if isinstance(value, Constant):
        if isinstance(value.value, str):
            raise ctx.error(node, "kernels cannot compute with texts (str)", UnsupportedError)
        if constant_type(value.value) is None:
            raise ctx.error(node, f"{describe(value)} cannot be an operand of {symbol}", TypeMismatchError)
    elif isinstance(value, Typed) and getattr(value.type, "kind", "") in ("array", "struct"):
        raise ctx.error(node, f"there is no {symbol} for {notation.text(value.type)}", TypeMismatchError)


def _on_tuples(ctx: Context, op: str, a: Value, b: Value, node: Any) -> Value:
    left, right = items_of(a), items_of(b)
    if op == "add" and left is not None and right is not None:
        return TupleValue([*left, *right])
    raise ctx.error(node, f"there is no {SYMBOLS[op]} for {describe(a)} and {describe(b)}", TypeMismatchError)


# -- Literals


def _literal_division(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError
        return integer_division(a, b)
    return a / b


def _literal_remainder(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError
        return remainder(a, b)
    if b == 0:
        raise ZeroDivisionError
    return math.fmod(a, b)


def _literal_floor(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError
        return floor_division(a, b)
    return a // b


_LITERAL: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _literal_division,
    "floordiv": _literal_floor, "mod": _literal_remainder, "pow": operator.pow, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip


def _on_literals(ctx: Context, op: str, a: Any, b: Any, node: Any) -> Value:
    """Literals compute as Python numbers do, but that integers divide as in C."""
    try:
        if isinstance(a, int) and isinstance(b, int) and _bits(op, a, b) > _MOST_BITS:
            raise OverflowError
        result = _LITERAL[op](a, b)
    except ZeroDivisionError:
        raise ctx.error(node, "division of a literal by zero") from None
    except (TypeError, KeyError):
        message = f"there is no {SYMBOLS[op]} for the literals {shown(a)} and {shown(b)}"
        raise ctx.error(node, message, TypeMismatchError) from None
    except ValueError:
        raise ctx.error(node, f"{SYMBOLS[op]} of literals by a negative count") from None
    except OverflowError:
        raise ctx.error(node, "the result of this operation on literals is too large") from None
    if isinstance(result, complex):
        raise ctx.error(node, "the result of this operation on literals is complex", TypeMismatchError)
    return Constant(result)


def _bits(op: str, a: int, b: int) -> int:
    """About how many bits a result has that can be much longer than the operands."""
    if op == "mul":
        return a.bit_length() + b.bit_length()
    if op == "shl":
        return a.bit_length() + b
    return (abs(a) - 1).bit_length() * b if op == "pow" and abs(a) > 1 else 0


# -- Powers


def power(ctx: Context, a: Value, b: Value, node: Any) -> Value:
    """``a ** b``: with a small constant exponent, products; else ``pow``, which is for floats."""
    exponent = _whole_exponent(b)
    if exponent is not None and not (isinstance(a, Constant) and a.is_literal):
        base = settle(ctx, a, node)
        if base.type.is_float or (
            base.type.is_integer and exponent >= 0 and isinstance(getattr(b, "value", None), int)
        ):
            return Typed(base.type, (_product(ctx, base, exponent),), base.origins)
    x, y, origins = unify(ctx, a, b, node, "**")
    if not x.type.is_float:
        raise ctx.error(
            node, f"a power of {x.type!r} needs a small constant exponent; convert both to float", TypeMismatchError
        )
    return Typed(x.type, (ctx.emit("pow", x.leaf, y.leaf),), origins)


def _whole_exponent(value: Value) -> int | None:
    """A literal exponent that is small and whole."""
    if isinstance(value, Constant) and value.is_literal and type(value.value) is not bool:
        number = value.value
        if abs(number) <= _LARGEST_PRODUCT and number == int(number):
            return int(number)
    return None


def _product(ctx: Context, base: Typed, exponent: int) -> IRValue:
    """A power by squaring."""
    one = ctx.builder.constant(base.type, 1)
    if exponent < 0:
        return ctx.emit("div", one, _product(ctx, base, -exponent))  # type: ignore[no-any-return]
    result, square = one, base.leaf
    while exponent:
        if exponent & 1:
            result = square if result is one else ctx.emit("mul", result, square)
        exponent >>= 1
        if exponent:
            square = ctx.emit("mul", square, square)
    return result


# -- Comparisons and truth


def compare(ctx: Context, kind: type, a: Value, b: Value, node: Any) -> Value:
    """``a < b`` and its like: a truth value, also for composites, which are equal if all components are."""
    symbol, op, python = COMPARISONS[kind]
    if isinstance(a, Constant) and isinstance(b, Constant) and not _any_typed(a, b):
        return _compare_objects(ctx, kind, python, a.value, b.value, node)
    if isinstance(a, TupleValue) or isinstance(b, TupleValue):
        return _compare_tuples(ctx, kind, a, b, node)
    if composites.is_composite(a) or composites.is_composite(b):
        return composites.compare(ctx, kind, symbol, a, b, node)
    for value, other in ((a, b), (b, a)):
        _check_operand(ctx, value, symbol, node)
        check_compared(ctx, value, getattr(other, "type", None), node)
    x, y, _ = unify(ctx, a, b, node, symbol)
    if x.type is scalars.bool_ and op not in ("eq", "ne"):
        raise ctx.error(node, f"there is no {symbol} for bool", TypeMismatchError)
    return ctx.boolean(ctx.emit(op, x.leaf, y.leaf))


def _any_typed(a: Constant, b: Constant) -> bool:
    """Whether two compile-time objects are to be compared as values at run time."""
    if a.is_literal and b.is_literal:
        return False
    return constant_type(a.value) is not None and constant_type(b.value) is not None


def _compare_objects(ctx: Context, kind: type, python: Callable[[Any, Any], Any], a: Any, b: Any, node: Any) -> Value:
    a, b = scalars.from_annotation(a), scalars.from_annotation(b)
    try:
        return Constant(bool(python(a, b)))
    except TypeError:
        raise ctx.error(node, "these cannot be compared", TypeMismatchError) from None


def _compare_tuples(ctx: Context, kind: type, a: Value, b: Value, node: Any) -> Value:
    left, right = items_of(a), items_of(b)
    if left is None or right is None or kind not in (ast.Eq, ast.NotEq):
        raise ctx.error(node, f"cannot compare {describe(a)} and {describe(b)}", TypeMismatchError)
    equal: Value = TRUE if len(left) == len(right) else FALSE
    for x, y in zip(left, right):
        equal = conjunction(ctx, equal, compare(ctx, ast.Eq, x, y, node))
    return equal if kind is ast.Eq else negation(ctx, equal)


def truth(ctx: Context, value: Value, node: Any) -> Value:
    """Whether a value counts as true: a ``Constant`` bool, or a ``Typed`` one.

    Raises:
        TypeMismatchError: it is neither a number nor an array.
    """
    if isinstance(value, Constant):
        if constant_type(value.value) is None or value.is_literal:
            return TRUE if value.value is not None and value.value is not False and value.value != 0 else FALSE
        value = settle(ctx, value, node)
    if isinstance(value, TupleValue):
        return TRUE if value.items else FALSE
    if isinstance(value, Typed):
        if value.type is scalars.bool_:
            return ctx.boolean(value.leaf)
        if scalars.is_scalar(value.type):
            return ctx.boolean(ctx.emit("ne", value.leaf, ctx.builder.zero(value.type)))
        if value.type.kind == "array":  # whether there is an array
            extent = ctx.emit("shape", value.leaf, axis=0)
            return ctx.boolean(ctx.emit("gt", extent, ctx.builder.index(0)))
    raise ctx.error(node, f"{describe(value)} is no condition: a number or a truth value is", TypeMismatchError)


def truth_leaf(ctx: Context, value: Value, node: Any) -> IRValue:
    """The truth of a value as an IR value."""
    decided = truth(ctx, value, node)
    if isinstance(decided, Typed):
        return decided.leaf
    return ctx.builder.constant(scalars.bool_, decided is TRUE)


def negation(ctx: Context, condition: Value) -> Value:
    """``not`` of a truth value."""
    if isinstance(condition, Constant):
        return FALSE if condition.value else TRUE
    assert isinstance(condition, Typed)
    return ctx.boolean(ctx.emit("not", condition.leaf))


def conjunction(ctx: Context, a: Value, b: Value) -> Value:
    """``a and b`` of two truth values that are both evaluated."""
    if isinstance(a, Constant):
        return b if a.value else FALSE
    if isinstance(b, Constant):
        return a if b.value else FALSE
    assert isinstance(a, Typed) and isinstance(b, Typed)
    return ctx.boolean(ctx.emit("and", a.leaf, b.leaf))


# -- Operators of one operand


def unary(ctx: Context, op: type, value: Value, node: Any) -> Value:
    """``-x``, ``+x``, ``~x``, ``not x``.

    Raises:
        TypeMismatchError: there is no such operation for the type.
    """
    if op is ast.Not:
        return negation(ctx, truth(ctx, value, node))
    symbol = "-" if op is ast.USub else "+" if op is ast.UAdd else "~"
    if isinstance(value, Constant) and value.is_literal:
        number = value.value
        if op is ast.Invert and isinstance(number, float):
            raise ctx.error(node, f"there is no ~ for the literal {number}", TypeMismatchError)
        return Constant(-number if op is ast.USub else +number if op is ast.UAdd else ~number)
    _check_operand(ctx, value, symbol, node)
    operand = settle(ctx, value, node) if not isinstance(value, TupleValue) else None
    if operand is None:
        raise ctx.error(node, f"there is no {symbol} for {describe(value)}", TypeMismatchError)
    scalar = operand.type if scalars.is_scalar(operand.type) else operand.type.dtype
    if scalar is scalars.bool_ or (op is ast.Invert and not scalar.is_integer):
        raise ctx.error(node, f"there is no {symbol} for {notation.text(operand.type)}", TypeMismatchError)
    if op is ast.UAdd:
        return operand
    name = "neg" if op is ast.USub else "not"
    return Typed(operand.type, tuple(ctx.emit(name, leaf) for leaf in operand.leaves), operand.origins)


# -- Conversions that the user asks for


def cast(ctx: Context, value: Value, target: Any, node: Any) -> Value:
    """``float64(x)``: a scalar converted; a literal is a constant of that type.

    Raises:
        TypeMismatchError: ``value`` is no scalar.
    """
    if isinstance(value, Constant) and value.is_literal:
        check_size(ctx, value.value, target, node)
        return ctx.typed_constant(target, value.value)
    operand = settle(ctx, value, node)
    if not scalars.is_scalar(operand.type):
        raise ctx.error(node, f"{target!r}() takes a scalar, not {notation.text(operand.type)}", TypeMismatchError)
    if operand.type is target:
        return Typed(target, operand.leaves)
    if target is scalars.bool_:
        return Typed(target, (ctx.emit("ne", operand.leaf, ctx.builder.zero(operand.type)),))
    return Typed(target, (ctx.emit("cast", operand.leaf, type=target),))
