"""The intrinsics of the language that are not constructors, atomics or operators."""

from __future__ import annotations

import ast
from typing import Any

from treadle.frontend import components, operators
from treadle.frontend.branches import choose
from treadle.frontend.calls import form, intrinsic
from treadle.frontend.constructors import as_type, construct
from treadle.frontend.context import Context
from treadle.frontend.conversions import captured, check_size, constant_type, items_of, settle
from treadle.frontend.statics import evaluate
from treadle.frontend.values import Constant, TupleValue, Typed, Value, describe
from treadle.language import notation
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars
from treadle.types.indexed import indexed_elements


@form("tid")
def tid(ctx: Context, node: ast.Call) -> Value:
    """As many indices as the result is unpacked into."""
    if node.args or node.keywords:
        raise ctx.error(node, "tid() takes no arguments", TypeMismatchError)
    rank = ctx.unpacked
    if not 1 <= rank <= 4:
        raise ctx.error(node, f"tid() gives one to four indices, not {rank}", TypeMismatchError)
    indices = [Typed(scalars.int32, (ctx.emit("thread_index", axis=k, rank=rank),)) for k in range(rank)]
    return indices[0] if rank == 1 else TupleValue(indices)


@form("static")
def static(ctx: Context, node: ast.Call) -> Value:
    """Evaluated now, in Python; the result is a constant."""
    if len(node.args) != 1 or node.keywords:
        raise ctx.error(node, "static() takes one expression", TypeMismatchError)
    return captured(evaluate(ctx, node.args[0]))


@form("type")
def type_of(ctx: Context, node: ast.Call) -> Value:
    """The type of a value, as a compile-time object."""
    (argument,) = _exactly(ctx, node, 1, "type(x)")
    value = ctx.value(argument)
    if isinstance(value, Typed):
        return Constant(value.type)
    type_ = constant_type(value.value) if isinstance(value, Constant) else None
    if type_ is None:
        raise ctx.error(node, f"type() takes a value, not {describe(value)}", TypeMismatchError)
    return Constant(type_)


def _exactly(ctx: Context, node: ast.Call, count: int, usage: str) -> list[ast.expr]:
    if len(node.args) != count or node.keywords:
        raise ctx.error(node, f"the call must have the form {usage}", TypeMismatchError)
    return node.args


@form("where", "select")
def where(ctx: Context, node: ast.Call) -> Value:
    """A choice of two values. A value that has to be computed is computed only if it is chosen."""
    is_where = builtin_name(ctx, node) == "where"
    names = ("cond", "value_if_true", "value_if_false") if is_where else ("cond", "value_if_false", "value_if_true")
    given = dict(zip(names, node.args)) | {k.arg: k.value for k in node.keywords if k.arg}
    if "arr" in given:
        given["cond"] = given.pop("arr")
    if len(node.args) + len(node.keywords) != 3 or set(given) != set(names):
        raise ctx.error(
            node,
            f"the call must have the form {'where' if is_where else 'select'}({', '.join(names)})",
            TypeMismatchError,
        )
    condition = operators.truth(ctx, ctx.value(given["cond"]), node)
    return choose(
        ctx,
        condition,
        lambda: ctx.value(given["value_if_true"]),
        lambda: ctx.value(given["value_if_false"]),
        node,
        eager=True,
    )


def builtin_name(ctx: Context, node: ast.Call) -> str:
    """The name of the built-in that a call is of."""
    from treadle.frontend.calls import called
    from treadle.language.intrinsics import builtin_for

    found = builtin_for(called(ctx, node))
    assert found is not None
    return found.name


@form("isinstance")
def is_instance(ctx: Context, node: ast.Call) -> Value:
    value_node, type_node = _exactly(ctx, node, 2, "isinstance(x, type)")
    value, wanted = ctx.value(value_node), ctx.value(type_node)
    choices = items_of(wanted) or (wanted,)
    found = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
    types = [notation.normalize(c.value) for c in choices if isinstance(c, Constant)]
    return Constant(any(t is found for t in types))


@intrinsic("len")
def length(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    if len(positional) != 1 or keywords:
        raise ctx.error(node, "len() takes one argument", TypeMismatchError)
    (value,) = positional
    items = items_of(value)
    if items is not None:
        return Constant(len(items))
    type_ = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
    if components.is_composite_type(type_):
        return Constant(int(type_.shape[0]))
    if getattr(type_, "kind", None) == "array" and isinstance(value, Typed):
        return Typed(scalars.int32, (ctx.emit("shape", value.leaf, axis=0),))
    if indexed_elements(type_) is not None and isinstance(value, Typed):
        return Typed(scalars.int32, (ctx.emit("shape", value.leaves[1], axis=0),))
    raise ctx.error(node, f"there is no len() of {describe(value)}", TypeMismatchError)


@intrinsic("cast")
def cast(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """To a scalar type, or to a composite of the same length."""
    values = [*positional, *keywords.values()]
    type_ = as_type(values[1].value) if len(values) == 2 and isinstance(values[1], Constant) else None
    if type_ is None:
        raise ctx.error(node, "the call must have the form cast(a, dtype)", TypeMismatchError)
    return construct(ctx, type_, values[:1], {}, node)


@intrinsic("bitcast")
def bitcast(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    values = [*positional, *keywords.values()]
    type_: Any = as_type(values[1].value) if len(values) == 2 and isinstance(values[1], Constant) else None
    source = settle(ctx, values[0], node) if values else None
    if (
        source is None
        or not (scalars.is_scalar(type_) and scalars.is_scalar(source.type))
        or type_.size != source.type.size
    ):
        raise ctx.error(
            node, "the call must have the form bitcast(a, dtype), with types of one size", TypeMismatchError
        )
    return Typed(type_, (ctx.emit("bitcast", source.leaf, type=type_),))


@intrinsic("pow")
def power(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    values = [*positional, *keywords.values()]
    if len(values) != 2:
        raise ctx.error(node, "pow() takes two arguments", TypeMismatchError)
    for value in values:
        check_size(ctx, getattr(value, "value", None), scalars.float32, node)
    a, b = (Constant(float(v.value)) if isinstance(v, Constant) and type(v.value) is int else v for v in values)
    return operators.binary(ctx, "pow", a, b, node)


@intrinsic("block_dim")
def block_dim(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    return ctx.typed_constant(scalars.int32, 1)


_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "mod": "mod", "floordiv": "floordiv",
    "bit_and": "and", "bit_or": "or", "bit_xor": "xor", "lshift": "shl", "rshift": "shr",
}  # fmt: skip
_UNARY = {"neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert, "unot": ast.Not}


def _declare_operators() -> None:
    def declare_binary(name: str, op: str) -> None:
        @intrinsic(name)
        def apply(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
            values = [*positional, *keywords.values()]
            if len(values) != 2:
                raise ctx.error(node, f"{name}() takes two arguments", TypeMismatchError)
            return operators.binary(ctx, op, values[0], values[1], node)

    def declare_unary(name: str, op: type) -> None:
        @intrinsic(name)
        def apply(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
            values = [*positional, *keywords.values()]
            if len(values) != 1:
                raise ctx.error(node, f"{name}() takes one argument", TypeMismatchError)
            return operators.unary(ctx, op, values[0], node)

    for name, op in _BINARY.items():
        declare_binary(name, op)
    for name, kind in _UNARY.items():
        declare_unary(name, kind)


_declare_operators()
