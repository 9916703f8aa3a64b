"""Attributes: struct members, named components, properties of arrays, and what modules and types hold."""

from __future__ import annotations

import ast
from typing import Any

from treadle.frontend import components
from treadle.frontend.context import Context
from treadle.frontend.conversions import constant_type
from treadle.frontend.diagnostics import did_you_mean
from treadle.frontend.places import Place, ValuePlace
from treadle.frontend.resolve import attribute_of_object, enumeration_member
from treadle.frontend.values import Constant, TupleValue, Typed, Value, describe
from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.language.errors import UnknownNameError
from treadle.types import scalars
from treadle.types.indexed import indexed_elements


def attribute(ctx: Context, node: ast.Attribute) -> Place:
    """The place that ``base.name`` denotes."""
    member = enumeration_member(ctx, node.value)
    if member is not None:
        return ValuePlace(ctx, attribute_of_object(ctx, member, node), node)
    base = ctx.place(node.value)
    type_ = base.type
    if type_ is None:
        value = base.get()
        if not isinstance(value, Constant):
            raise ctx.error(node, f"{describe(value)} has no attribute {node.attr!r}", UnknownNameError)
        type_ = constant_type(value.value)
        if type_ is None or (scalars.is_scalar(type_) and not value.is_literal):
            return ValuePlace(ctx, attribute_of_object(ctx, value.value, node), node)
        base = ValuePlace(ctx, value, node.value)
    return _attribute_of_type(ctx, base, type_, node)


def _attribute_of_type(ctx: Context, base: Place, type_: Any, node: ast.Attribute) -> Place:
    name = node.attr
    kind = type_.kind
    known: list[str]
    selected = indexed_elements(type_)
    if selected is not None:
        extents = [ctx.emit("shape", leaf, axis=0) for leaf in base.typed().leaves[1:]] if name in _EXTENT_NAMES else []
        found = _of_extents(ctx, selected, name, extents)
        if found is not None:
            return ValuePlace(ctx, found, node)
        known = list(_ARRAY_NAMES)
    elif kind == "struct":
        if name in type_.fields:
            return base.member(name, node)
        known = list(type_.fields)
    elif kind == "array":
        found = _of_array(ctx, base, type_, name)
        if found is not None:
            return ValuePlace(ctx, found, node)
        known = list(_ARRAY_NAMES)
    elif components.is_composite_type(type_):
        part = components.named_part(type_, name)
        if part is not None:
            return base.part(*part, node)
        if name in ("dtype", "shape", "length"):
            return ValuePlace(ctx, Constant(getattr(type_, name)), node)
        known = ["dtype", "shape", "length"]
        known += [n for n in ("x", "y", "z", "w", "p", "q") if components.named_part(type_, n)]
    else:
        if name == "dtype":
            return ValuePlace(ctx, Constant(type_), node)
        known = ["dtype"]
    hint = did_you_mean(name, known) or f"; it has {', '.join(known)}"
    raise ctx.error(node, f"{notation.text(type_)} has no attribute {name!r}{hint}", UnknownNameError)


_EXTENT_NAMES = ("shape", "size")
_ARRAY_NAMES = (*_EXTENT_NAMES, "ndim", "dtype")


def _of_array(ctx: Context, base: Place, type_: Any, name: str) -> Value | None:
    """A property of an array, or None."""
    extents = []
    if name in _EXTENT_NAMES:
        array = base.typed().leaf
        extents = [ctx.emit("shape", array, axis=k) for k in range(type_.ndim)]
    return _of_extents(ctx, type_, name, extents)


def _of_extents(ctx: Context, type_: Any, name: str, extents: list[IRValue]) -> Value | None:
    """A property of an array of a type and of extents, or None."""
    if name == "dtype":
        return Constant(type_.dtype)
    if name == "ndim":
        return Constant(type_.ndim)
    if name == "shape":
        return TupleValue([Typed(scalars.int32, (extent,)) for extent in extents])
    if name != "size":
        return None
    size = extents[0]
    for extent in extents[1:]:
        size = ctx.emit("mul", size, extent)
    return Typed(scalars.int32, (size,))
