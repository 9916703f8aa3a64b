"""The components of composites: reading, writing and putting together, for small ones and aggregates alike.

A small composite is its scalars; a large one is one aggregate. An index is an int, checked by the
caller, or an IR value; then it is at most checked at run time, in debug mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from treadle.frontend.context import Context
from treadle.frontend.values import Typed
from treadle.ir.core import Value as IRValue
from treadle.types import scalars
from treadle.types.layout import leaves
from treadle.types.matrices import matrix
from treadle.types.quaternions import quaternion
from treadle.types.storage import Aggregate
from treadle.types.vectors import vector

COMPOSITES = ("vec", "mat", "quat", "transform")

Index = int | IRValue


def is_composite_type(type_: Any) -> bool:
    return getattr(type_, "kind", None) in COMPOSITES


def is_large(value: Typed) -> bool:
    """Whether a composite is one aggregate."""
    return isinstance(value.leaves[0].type, Aggregate)


def component(ctx: Context, value: Typed, index: Index) -> IRValue:
    """One component, counted row by row."""
    if is_large(value):
        position = ctx.builder.index(index) if isinstance(index, int) else index
        return ctx.emit("extract", value.leaf, position)  # type: ignore[no-any-return]
    if isinstance(index, int):
        return value.leaves[index]
    return ctx.emit("pick", index, *value.leaves)  # type: ignore[no-any-return]


def with_component(ctx: Context, value: Typed, index: Index, new: IRValue) -> Typed:
    """The composite with one component replaced."""
    if is_large(value):
        position = ctx.builder.index(index) if isinstance(index, int) else index
        return Typed(value.type, (ctx.emit("insert", value.leaf, position, new),))
    if isinstance(index, int):
        return Typed(value.type, (*value.leaves[:index], new, *value.leaves[index + 1 :]))
    return Typed(value.type, tuple(ctx.builder.emit_many("place", index, new, *value.leaves)))


def compose(ctx: Context, type_: Any, parts: Sequence[IRValue]) -> Typed:
    """A composite of its components."""
    (first, *_) = leaves(type_)
    if not isinstance(first.type, Aggregate):
        return Typed(type_, tuple(parts))
    whole = ctx.emit("splat", parts[0], count=len(parts))
    for k, part in enumerate(parts):
        if part is not parts[0]:
            whole = ctx.emit("insert", whole, ctx.builder.index(k), part)
    return Typed(type_, (whole,))


def components(ctx: Context, value: Typed) -> list[IRValue]:
    """All components."""
    if not is_large(value):
        return list(value.leaves)
    return [component(ctx, value, k) for k in range(value.type.length)]


def broadcast(ctx: Context, scalar: IRValue, type_: Any) -> tuple[IRValue, ...]:
    """A scalar in the shape of a composite's leaves."""
    return tuple(
        ctx.emit("splat", scalar, count=leaf.type.count) if isinstance(leaf.type, Aggregate) else scalar
        for leaf in leaves(type_)
    )


def offset_index(ctx: Context, index: Index, factor: int, addend: Index = 0) -> Index:
    """``index * factor + addend``."""
    if isinstance(index, int) and isinstance(addend, int):
        return index * factor + addend
    if isinstance(index, int):
        return add(ctx, filled(ctx, addend, index * factor), addend)  # type: ignore[arg-type]
    scaled: IRValue = index if factor == 1 else ctx.emit("mul", index, filled(ctx, index, factor))
    if isinstance(addend, int):
        return scaled if addend == 0 else add(ctx, scaled, filled(ctx, index, addend))
    if addend.type is not index.type:
        return add(ctx, *(ctx.emit("cast", v, type=scalars.int64) for v in (scaled, addend)))
    return add(ctx, scaled, addend)


def add(ctx: Context, a: IRValue, b: IRValue) -> IRValue:
    return ctx.emit("add", a, b)  # type: ignore[no-any-return]


def filled(ctx: Context, like: IRValue, number: int) -> IRValue:
    """A constant of the type of another value."""
    return ctx.builder.filled(like.type, number)


def part_type(kind: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """The type of some components of a composite: a vector, matrix, quaternion, or scalar."""
    if not shape:
        return dtype
    if kind == "quat":
        return quaternion(dtype)
    return vector(shape[0], dtype) if len(shape) == 1 else matrix(shape, dtype)


# The components that have names: index, and for parts of a transform their number.
_NAMED = {"x": 0, "y": 1, "z": 2, "w": 3}


@cache
def named_part(type_: Any, name: str) -> tuple[int, Any] | None:
    """The first component and the type of ``v.x``, ``transform.p`` and their like; None if there is none."""
    kind = type_.kind
    if kind in ("vec", "quat") and name in _NAMED and _NAMED[name] < type_.length:
        return _NAMED[name], type_.dtype
    if kind == "transform" and name in ("p", "q"):
        return (0, vector(3, type_.dtype)) if name == "p" else (3, quaternion(type_.dtype))
    return None


@cache
def member_leaves(type_: Any, name: str) -> tuple[int, int, int]:
    """Of a struct member: the index of its first leaf, the index after its last one, its byte offset."""
    start = 0
    for (member, member_type), offset in zip(type_.fields.items(), type_.offsets):
        stop = start + len(leaves(member_type))
        if member == name:
            return start, stop, offset
        start = stop
    raise KeyError(name)
