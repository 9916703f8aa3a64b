"""``grad(f)(x, …)`` in kernels: the partial derivatives of a function there.

The frontend emits an op ``gradient``, which ``treadle.ad`` later replaces by a call of the adjoint.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treadle.frontend.conversions import constant_type, materialize, settle
from treadle.frontend.values import Constant, TupleValue, Typed, Value, describe
from treadle.ir.builder import Builder
from treadle.ir.core import Function
from treadle.ir.core import Value as IRValue
from treadle.language import Builtin, Gradient
from treadle.language import Function as LanguageFunction
from treadle.language.builtins import Primitive
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars
from treadle.types.storage import Aggregate, ArrayRef

if TYPE_CHECKING:
    from treadle.frontend.context import Context


def make_gradient(ctx: Context, node: ast.Call) -> Value:
    """``grad(f)``: a function known at compile time.

    Raises:
        TypeMismatchError: the argument is no function.
    """
    found = ctx.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(found, Constant) or not isinstance(found.value, (LanguageFunction, Builtin, Gradient)):
        raise ctx.error(node, "grad() takes one function of the kernel language", TypeMismatchError)
    return Constant(Gradient(found.value))


def call_gradient(
    ctx: Context, gradient: Gradient, positional: Sequence[Value], keywords: Mapping[str, Value], node: Any
) -> Value:
    """Emit the partial derivatives: one value, or a tuple of one for each parameter that has floats.

    Raises:
        TypeMismatchError: the function does not return one float.
    """
    values, callee = _target(ctx, gradient.function, positional, keywords, node)
    results = [r.type for r in callee.results]
    if len(results) != 1 or not _is_scalar_float(results[0]):
        raise ctx.error(
            node,
            f"{gradient!r}: {callee.name} must return one float for this, not {len(results)} values",
            TypeMismatchError,
        )
    operands = [leaf for value in values for leaf in value.leaves]
    types = [leaf.type for leaf in operands if _is_float(leaf.type)]
    op = ctx.builder.op("gradient", operands, types, {"callee": callee})
    partials = iter(op.results)
    found = [_partial(ctx, value, partials) for value in values if any(_is_float(leaf.type) for leaf in value.leaves)]
    if not found:
        raise ctx.error(node, f"{gradient!r}: none of the arguments is a float", TypeMismatchError)
    return found[0] if len(found) == 1 else TupleValue(found)


def _partial(ctx: Context, value: Typed, partials: Iterator[IRValue]) -> Typed:
    leaves = tuple(next(partials) if _is_float(leaf.type) else ctx.builder.zero(leaf.type) for leaf in value.leaves)
    return Typed(value.type, leaves)


def _target(
    ctx: Context, target: Any, positional: Sequence[Value], keywords: Mapping[str, Value], node: Any
) -> tuple[list[Typed], Function]:
    """The arguments as the function takes them, and its IR."""
    from treadle.frontend.calls import converted_call

    if isinstance(target, Gradient):
        return _nested(ctx, target, positional, keywords, node)
    candidates = target.bodies if isinstance(target, LanguageFunction) else target.candidates
    if not candidates:
        return _intrinsic(ctx, target, positional, keywords, node)
    choice, values = converted_call(ctx, target.name, candidates, positional, keywords, node)
    typed = [value for value in values if isinstance(value, Typed)]
    if isinstance(choice.candidate, Primitive):
        return typed, _primitive_function(choice.candidate, typed)
    return typed, ctx.session.instance(choice.candidate, values).function


def _primitive_function(primitive: Primitive, values: Sequence[Typed]) -> Function:
    function = Function(primitive.name)
    leaves = [function.body.add_parameter(value.leaf.type) for value in values]
    function.body.yields = [Builder(function.body).emit(primitive.op, *leaves)]
    return function


def _nested(
    ctx: Context, target: Gradient, positional: Sequence[Value], keywords: Mapping[str, Value], node: Any
) -> tuple[list[Typed], Function]:
    """``grad(grad(f))``: a function whose body is the inner gradient."""
    values = [v for v in positional if isinstance(v, Typed)]
    if keywords or len(values) != len(positional):
        shown = ", ".join(describe(v) for v in positional)
        raise ctx.error(node, f"a gradient of a gradient takes values by position, not ({shown})", TypeMismatchError)

    def inner(parameters: list[Value]) -> Value:
        result = call_gradient(ctx, target, parameters, {}, node)
        if not isinstance(result, Typed):
            raise ctx.error(
                node, f"{target!r} has several results; take one of them in a function first", TypeMismatchError
            )
        return result

    return values, _function_of(ctx, target.__name__, values, inner)


def _intrinsic(
    ctx: Context, target: Builtin, positional: Sequence[Value], keywords: Mapping[str, Value], node: Any
) -> tuple[list[Typed], Function]:
    """The gradient of a built-in without overloads: a function that calls it. Literals get the type of the others."""
    from treadle.frontend.calls import INTRINSICS, call_builtin

    typed = [v for v in positional if isinstance(v, Typed)]
    if target.name not in INTRINSICS or keywords or not typed:
        raise ctx.error(node, f"the built-in {target.name} has no derivative to call", TypeMismatchError)
    values = [
        materialize(ctx, v.value, typed[0].type, node)
        if isinstance(v, Constant) and constant_type(v.value) is not None
        else settle(ctx, v, node)
        for v in positional
    ]
    function = _function_of(ctx, target.name, values, lambda inner: call_builtin(ctx, target, inner, {}, node))
    return values, function


def _function_of(ctx: Context, name: str, values: Sequence[Typed], body: Callable[[list[Value]], Value]) -> Function:
    """A function with parameters like ``values``, of which ``body`` makes the result."""
    function = Function(name)
    parameters: list[Value] = [
        Typed(v.type, tuple(function.body.add_parameter(leaf.type) for leaf in v.leaves)) for v in values
    ]
    outer, ctx.builder = ctx.builder, Builder(function.body, ctx.builder.location)
    try:
        result = body(parameters)
    finally:
        ctx.builder = outer
    function.body.yields = list(result.leaves) if isinstance(result, Typed) else []
    return function


def _is_float(type_: Any) -> bool:
    if isinstance(type_, ArrayRef):
        return False
    return bool(type_.scalar.is_float if isinstance(type_, Aggregate) else type_.is_float)


def _is_scalar_float(type_: Any) -> bool:
    return scalars.is_scalar(type_) and _is_float(type_)
