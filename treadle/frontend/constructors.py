"""Values made by calling a type: scalars, vectors, matrices, quaternions, transforms, structs."""

from __future__ import annotations

from typing import Any

from treadle.frontend import components, operators
from treadle.frontend.context import Context
from treadle.frontend.conversions import coerce, constant_type, items_of, settle
from treadle.frontend.diagnostics import did_you_mean
from treadle.frontend.values import Constant, Typed, Value, describe, literal_type
from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.language.errors import TypeMismatchError
from treadle.types import scalars
from treadle.types.generics import GenericType
from treadle.types.layout import leaves
from treadle.types.matrices import matrix
from treadle.types.vectors import vector


def as_type(candidate: Any) -> Any:
    """The language type that a compile-time object is, or None. Python's ``int`` is int32."""
    if isinstance(candidate, (type, GenericType)):
        type_ = notation.normalize(candidate)
        if scalars.is_scalar(type_) or components.is_composite_type(type_) or getattr(type_, "kind", None) == "struct":
            return type_
    return None


def construct(ctx: Context, type_: Any, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """``T(...)``.

    Raises:
        TypeMismatchError: the arguments do not make a value of that type.
    """
    if scalars.is_scalar(type_):
        return _scalar(ctx, type_, positional, keywords, node)
    if type_.kind == "struct":
        return _struct(ctx, type_, positional, keywords, node)
    if isinstance(type_, GenericType):
        type_ = _concrete(ctx, type_, positional, node)
    if type_.kind == "transform" and keywords:
        positional, keywords = _transform_parts(ctx, type_, positional, keywords, node), {}
    if keywords:
        raise ctx.error(node, f"{notation.text(type_)} has no parameter {next(iter(keywords))!r}", TypeMismatchError)
    return _composite(ctx, type_, positional, node)


def zero(ctx: Context, type_: Any) -> Typed:
    """The value of which all components are zero."""
    return Typed(type_, tuple(ctx.builder.zero(leaf.type) for leaf in leaves(type_)))


def _scalar(ctx: Context, type_: Any, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    if keywords or len(positional) > 1:
        raise ctx.error(node, f"{type_!r}() takes one argument", TypeMismatchError)
    if not positional:
        return zero(ctx, type_)
    return operators.cast(ctx, positional[0], type_, node)


def _struct(ctx: Context, type_: Any, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
    """``S()``, ``S(1.0)`` or ``S(x=1.0)``: the members not given are zero."""
    if len(positional) > len(type_.fields):
        count = f"{len(type_.fields)} members ({', '.join(type_.fields)})"
        raise ctx.error(node, f"{type_!r} has {count}, not {len(positional)}", TypeMismatchError)
    by_position = dict(zip(type_.fields, positional))
    for name in keywords:
        if name in by_position:
            raise ctx.error(node, f"{type_!r} gets two values for its member {name!r}", TypeMismatchError)
        if name not in type_.fields:
            hint = did_you_mean(name, type_.fields)
            raise ctx.error(node, f"the struct {type_!r} has no member {name!r}{hint}", TypeMismatchError)
    given = {**by_position, **keywords}
    made: list[IRValue] = []
    for name, member in type_.fields.items():
        value = given.get(name)
        part = zero(ctx, member) if value is None else coerce(ctx, value, member, node, f"the member {name!r}")
        made.extend(part.leaves)
    return Typed(type_, tuple(made))


# -- Composites


def infer(ctx: Context, values: list[Value], node: Any) -> Any:
    """The scalar type that components agree on: that of the settled ones, else float32 or int32.

    Raises:
        TypeMismatchError: they differ.
    """
    settled: list[Any] = []
    literals: list[Any] = []
    for value in values:
        if isinstance(value, Constant) and value.is_literal:
            literals.append(literal_type(value.value))
            continue
        type_ = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
        if type_ is None:
            raise ctx.error(node, f"{describe(value)} cannot be a component", TypeMismatchError)
        guessed = isinstance(value, Typed) and value.origins is not None
        (literals if guessed else settled).append(getattr(type_, "dtype", type_))
    if any(t is not settled[0] for t in settled):
        names = " and ".join(dict.fromkeys(map(notation.text, settled)))
        raise ctx.error(node, f"the components have different types: {names}", TypeMismatchError)
    if settled:
        return settled[0]
    return next((t for t in literals if t.is_float), literals[0] if literals else scalars.float32)


def _concrete(ctx: Context, generic: GenericType, positional: list[Value], node: Any) -> Any:
    """A type with open parameters, completed from the components."""
    dtype = generic.dtype if scalars.is_scalar(generic.dtype) else infer(ctx, positional, node)
    shape = generic.shape
    if Any in shape:
        count = sum(_length(value) for value in positional)
        if len(shape) == 1:
            shape = (count,)
        else:
            side = next((n for n in range(1, 13) if n * n == count), None)
            if side is None:
                raise ctx.error(
                    node, "the shape of the matrix is not clear; give shape=(rows, columns)", TypeMismatchError
                )
            shape = (side, side)
    return type_for(generic.kind, shape, dtype)


def type_for(kind: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """The composite type of a kind."""
    from treadle.types.composites import make

    if kind == "vec":
        return vector(shape[0], dtype)
    return matrix(shape, dtype) if kind == "mat" else make(kind, shape, dtype)


def _length(value: Value) -> int:
    type_ = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
    return int(getattr(type_, "length", 1) or 1)


def _composite(ctx: Context, type_: Any, positional: list[Value], node: Any) -> Value:
    if not positional:
        return zero(ctx, type_)
    if len(positional) == 1:
        return _from_one(ctx, type_, positional[0], node)
    if type_.kind == "mat" and len(positional) == type_.shape[0] and all(map(_is_composite, positional)):
        return components.compose(ctx, type_, _rows(ctx, type_, positional, node))
    parts: list[IRValue] = []
    for value in positional:
        if type_.kind != "mat" and _is_composite(value):
            inner = settle(ctx, value, node)
            if inner.type.dtype is not type_.dtype:
                raise ctx.error(
                    node, f"{notation.text(type_)} of {describe(value)}: convert it first", TypeMismatchError
                )
            parts.extend(components.components(ctx, inner))
        else:
            parts.append(coerce(ctx, value, type_.dtype, node, f"a component of {notation.text(type_)}").leaf)
    if type_.kind == "transform" and len(parts) == 3:
        parts.extend(ctx.builder.constant(type_.dtype, n) for n in (0, 0, 0, 1))
    if len(parts) != type_.length:
        rows = f", or {type_.shape[0]} rows" if type_.kind == "mat" else ""
        raise ctx.error(
            node,
            f"{notation.text(type_)} takes {type_.length} components{rows}, or one for all; got {len(parts)}",
            TypeMismatchError,
        )
    return components.compose(ctx, type_, parts)


def _is_composite(value: Value) -> bool:
    type_ = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
    return components.is_composite_type(type_)


def _rows(ctx: Context, type_: Any, rows: list[Value], node: Any) -> list[IRValue]:
    row_type = vector(type_.shape[1], type_.dtype)
    made = []
    for row in rows:
        made.extend(components.components(ctx, coerce(ctx, row, row_type, node, f"a row of {notation.text(type_)}")))
    return made


def _from_one(ctx: Context, type_: Any, value: Value, node: Any) -> Value:
    """One number for all components, a tuple of them, or a composite of another scalar type."""
    items = items_of(value)
    if items is not None:
        return _composite(ctx, type_, list(items), node)
    if not _is_composite(value):
        scalar = coerce(ctx, value, type_.dtype, node, f"the components of {notation.text(type_)}").leaf
        return Typed(type_, components.broadcast(ctx, scalar, type_))
    source = settle(ctx, value, node)
    if type_.kind == "transform" and source.type is vector(3, type_.dtype):
        return _composite(ctx, type_, [*_scalars(source), *(Constant(n) for n in (0, 0, 0, 1))], node)
    if source.type.length != type_.length or (
        source.type.kind != type_.kind and "mat" in (source.type.kind, type_.kind)
    ):
        raise ctx.error(node, f"cannot make {notation.text(type_)} of {describe(value)}", TypeMismatchError)
    if source.type.dtype is type_.dtype:
        return Typed(type_, source.leaves)
    return Typed(type_, tuple(ctx.emit("cast", leaf, type=type_.dtype) for leaf in source.leaves))


def _scalars(value: Typed) -> list[Value]:
    return [Typed(value.type.dtype, (leaf,)) for leaf in value.leaves]


def _transform_parts(
    ctx: Context, type_: Any, positional: list[Value], keywords: dict[str, Value], node: Any
) -> list[Value]:
    """The seven components for ``transform(p=…, q=…)``."""
    named = dict(zip(("p", "q"), positional)) | keywords
    if not set(named) <= {"p", "q"} or len(named) != len(positional) + len(keywords):
        raise ctx.error(node, f"{notation.text(type_)} takes p and q", TypeMismatchError)
    given: list[Value] = []
    for name, default in (("p", (0, 0, 0)), ("q", (0, 0, 0, 1))):
        if name in named:
            given.extend(_scalars(settle(ctx, named[name], node)))
        else:
            given.extend(Constant(n) for n in default)
    return given
