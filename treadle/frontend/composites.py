"""Operators on composites: by component here, products by functions of the standard library."""

from __future__ import annotations

import ast
from typing import Any

from treadle.frontend import components
from treadle.frontend.context import Context
from treadle.frontend.conversions import check_compared, coerce, constant_type, settle
from treadle.frontend.symbols import INTEGER_ONLY, SYMBOLS
from treadle.frontend.values import Constant, Typed, Value, describe
from treadle.ir.core import Value as IRValue
from treadle.language import BUILTINS
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars

# Products of two composites: the built-in that computes them.
_PRODUCT = "product"
_PRODUCT_KINDS = frozenset(
    (("mat", "mat"), ("mat", "vec"), ("vec", "mat"), ("quat", "quat"), ("transform", "transform"))
)


# By component, also with a scalar.
_OF_VECTORS = ("mod", "floordiv")


def is_composite(value: Value) -> bool:
    """Whether a value is a vector, matrix, quaternion or transform, also a captured one."""
    if isinstance(value, Typed):
        return components.is_composite_type(value.type)
    return isinstance(value, Constant) and components.is_composite_type(constant_type(value.value))


def binary(ctx: Context, op: str, a: Value, b: Value, node: Any) -> Value:
    """An operator of which at least one operand is a composite.

    Raises:
        TypeMismatchError: there is no such operation for these types.
    """
    left = settle(ctx, a, node) if is_composite(a) else None
    right = settle(ctx, b, node) if is_composite(b) else None
    if left is not None and right is not None:
        if op in ("mul", "matmul") and (left.type.kind, right.type.kind) in _PRODUCT_KINDS:
            return _product(ctx, left, right, node)
        if left.type is right.type and _is_by_component(op, left.type):
            return Typed(left.type, tuple(ctx.emit(op, x, y) for x, y in zip(left.leaves, right.leaves)))
        raise _mismatch(ctx, op, left, right, node)
    if left is not None:
        if not _mixes_with_scalar(op, left.type):
            raise _mismatch(ctx, op, left, b, node)
        scalar = coerce(ctx, b, left.type.dtype, node, f"the right operand of {SYMBOLS[op]}").leaf
        spread = components.broadcast(ctx, scalar, left.type)
        return Typed(left.type, tuple(ctx.emit(op, x, y) for x, y in zip(left.leaves, spread)))
    assert right is not None
    if not _mixes_with_scalar(op, right.type):
        raise _mismatch(ctx, op, a, right, node)
    scalar = coerce(ctx, a, right.type.dtype, node, f"the left operand of {SYMBOLS[op]}").leaf
    spread = components.broadcast(ctx, scalar, right.type)
    return Typed(right.type, tuple(ctx.emit(op, x, y) for x, y in zip(spread, right.leaves)))


def _is_by_component(op: str, type_: Any) -> bool:
    if op in INTEGER_ONLY:
        return bool(type_.dtype.is_integer) and type_.kind in ("vec", "mat")
    return type_.dtype is not scalars.bool_ and (op in ("add", "sub") or (op in _OF_VECTORS and type_.kind == "vec"))


def _mixes_with_scalar(op: str, type_: Any) -> bool:
    if type_.dtype is scalars.bool_:
        return False
    return op in ("mul", "div") or (op in _OF_VECTORS and type_.kind == "vec")


def _product(ctx: Context, a: Typed, b: Typed, node: Any) -> Value:
    from treadle.frontend.calls import call_builtin

    inner = a.type.shape[-1] if a.type.kind in ("vec", "mat") else b.type.shape[0]
    if a.type.dtype is not b.type.dtype or inner != b.type.shape[0]:
        raise _mismatch(ctx, "mul", a, b, node)
    return call_builtin(ctx, BUILTINS[_PRODUCT], [a, b], {}, node)


def _mismatch(ctx: Context, op: str, a: Value, b: Value, node: Any) -> TypeMismatchError:
    text = f"there is no {describe(a)} {SYMBOLS[op]} {describe(b)}"
    if isinstance(a, Typed) and isinstance(b, Typed) and a.type is b.type:
        function = {"mul": "cw_mul", "div": "cw_div"}.get(op)
        if function and a.type.kind in ("vec", "mat"):
            text += f": {function}(a, b) works by component"
            text += " and dot(a, b) is the inner product" if op == "mul" and a.type.kind == "vec" else ""
    return ctx.error(node, text, TypeMismatchError)  # type: ignore[return-value]


def compare(ctx: Context, kind: type, symbol: str, a: Value, b: Value, node: Any) -> Value:
    """``==`` and ``!=`` of two composites of one type.

    Raises:
        TypeMismatchError: for other comparisons, and for different types.
    """
    if kind not in (ast.Eq, ast.NotEq) or not (is_composite(a) and is_composite(b)):
        raise ctx.error(node, f"there is no {describe(a)} {symbol} {describe(b)}", TypeMismatchError)
    left, right = settle(ctx, a, node), settle(ctx, b, node)
    if left.type is not right.type:
        raise ctx.error(node, f"there is no {describe(a)} {symbol} {describe(b)}", TypeMismatchError)
    pairs = zip(components.components(ctx, left), components.components(ctx, right))
    equal: IRValue | None = None
    for x, y in pairs:
        same = ctx.emit("eq", x, y)
        equal = same if equal is None else ctx.emit("and", equal, same)
    assert equal is not None
    return ctx.boolean(equal if kind is ast.Eq else ctx.emit("not", equal))


def contains(ctx: Context, item: Value, container: Typed, node: Any) -> Value:
    """``x in v``: whether a component of the composite equals ``x``."""
    check_compared(ctx, item, container.type.dtype, node)
    sought = coerce(ctx, item, container.type.dtype, node, "the left operand of in").leaf
    found: IRValue | None = None
    for part in components.components(ctx, container):
        same = ctx.emit("eq", part, sought)
        found = same if found is None else ctx.emit("or", found, same)
    assert found is not None
    return ctx.boolean(found)
