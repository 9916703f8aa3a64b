"""Subscripts: array elements, views and slices; components, rows and slices of composites; tuples."""

from __future__ import annotations

import ast
from typing import Any

from treadle.frontend import components, debug
from treadle.frontend.components import Index
from treadle.frontend.context import Context
from treadle.frontend.conversions import constant_type, items_of, settle
from treadle.frontend.expressions import constant_index
from treadle.frontend.liveness import adjoint_name
from treadle.frontend.places import (
    ArrayPlace,
    ElementPlace,
    NamePlace,
    PartPlace,
    Place,
    ValuePlace,
)
from treadle.frontend.values import Constant, TupleValue, Typed, Value, describe
from treadle.ir.core import Value as IRValue
from treadle.language import adjoint, notation
from treadle.language.errors import (
    CompileError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
)
from treadle.types import scalars
from treadle.types.arrays import array_type
from treadle.types.indexed import indexed_elements, indexed_type
from treadle.types.storage import ArrayRef


def subscript(ctx: Context, node: ast.Subscript) -> Place:
    """The place that ``base[index]`` denotes."""
    base = ctx.place(node.value)
    if isinstance(base, ArrayPlace):
        return _of_array(ctx, base, _parts(node), node)
    if isinstance(base, ElementPlace):
        value: Value | None = None
        type_ = base.type
    else:
        value = base.get()
        type_ = value.type if isinstance(value, Typed) else None
        if isinstance(value, Constant):
            if value.value is adjoint:
                return _adjoint(ctx, node)
            type_ = constant_type(value.value)
    if type_ is None:
        assert value is not None
        return _of_tuple(ctx, value, node)
    if type_.kind == "array":
        return _of_array(ctx, ArrayPlace(ctx, base.typed(), [], node.value), _parts(node), node)
    if indexed_elements(type_) is not None:
        return index_selection(ctx, base.typed(), _indices(ctx, _parts(node)), node)
    if components.is_composite_type(type_):
        return _of_composite(ctx, base, type_, _parts(node), node)
    raise ctx.error(node, f"{notation.text(type_)} has no components", TypeMismatchError)


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _adjoint(ctx: Context, node: ast.Subscript) -> Place:
    name = adjoint_name(node)
    if name not in ctx.environment:
        raise ctx.error(
            node, "adjoint[x] is for a parameter x of a function decorated with func_grad", UnknownNameError
        )
    return NamePlace(ctx, name, node)


def _of_tuple(ctx: Context, value: Value, node: ast.Subscript) -> Place:
    """An item of a tuple, or of another compile-time container."""
    items = items_of(value)
    if items is None:
        if isinstance(value, Constant) and hasattr(value.value, "__getitem__") and not isinstance(value.value, str):
            return _of_object(ctx, value, node)
        raise ctx.error(node, f"{describe(value)} cannot be indexed", TypeMismatchError)
    if isinstance(node.slice, ast.Slice):
        bounds = [None if b is None else _known(ctx, b) for b in (node.slice.lower, node.slice.upper, node.slice.step)]
        return ValuePlace(ctx, TupleValue(items[slice(*bounds)]), node)
    index = _known(ctx, node.slice)
    if not -len(items) <= index < len(items):
        raise ctx.error(node, f"index {index} is out of range for a tuple of {len(items)}", CompileError)
    return ValuePlace(ctx, items[index], node)


def _of_object(ctx: Context, value: Constant, node: ast.Subscript) -> Place:
    """An item of a captured container, or ``array[float]``."""
    from treadle.frontend.conversions import captured

    index = ctx.value(node.slice)
    if not isinstance(index, Constant):
        raise ctx.error(node, f"the index into {describe(value)} must be known at compile time", TypeMismatchError)
    try:
        return ValuePlace(ctx, captured(value.value[index.value]), node)
    except (LookupError, TypeError, ValueError) as error:
        raise ctx.error(node, f"{describe(value)}[{describe(index)}] fails: {error!r}", TypeMismatchError) from None


def _known(ctx: Context, node: ast.expr) -> int:
    """An index that must be known at compile time."""
    index = constant_index(ctx.value(node))
    if index is None:
        raise ctx.error(node, "the index of a tuple must be an integer known at compile time", TypeMismatchError)
    return index


def index_of(ctx: Context, value: Value, node: Any) -> IRValue:
    """A value as an index: an integer of any type.

    Raises:
        TypeMismatchError: it is none.
    """
    if isinstance(value, Constant) and type(value.value) is int:
        type_ = scalars.int32 if -(2**31) <= value.value < 2**31 else scalars.int64
        return ctx.builder.constant(type_, value.value)
    typed = settle(ctx, value, node)
    if not scalars.is_scalar(typed.type) or not typed.type.is_integer:
        hint = "; convert it: int(...)" if scalars.is_scalar(typed.type) else ""
        raise ctx.error(node, f"an index must be an integer, not {describe(value)}{hint}", TypeMismatchError)
    return typed.leaf


# -- Arrays


def _of_array(ctx: Context, base: ArrayPlace, parts: list[ast.expr], node: ast.Subscript) -> Place:
    if any(isinstance(part, ast.Slice) for part in parts):
        return _slice_array(ctx, base, parts, node)
    return index_array(ctx, base, _indices(ctx, parts), node)


def _indices(ctx: Context, parts: list[ast.expr]) -> list[IRValue]:
    """The parts of a subscript without slices, as indices."""
    indices = []
    for part in parts:
        if isinstance(part, ast.Slice):
            raise ctx.error(part, "an indexed array cannot be sliced in a kernel", UnsupportedError)
        value = ctx.value(part)
        if isinstance(value, Constant) and type(value.value) is int and value.value < 0:
            raise ctx.error(
                part, f"index {value.value} is out of range: in a kernel, only slices count from the end", CompileError
            )
        indices.append(index_of(ctx, value, part))
    return indices


def index_array(ctx: Context, base: ArrayPlace, indices: list[IRValue], node: ast.expr) -> Place:
    """An array with further indices: an element, or a view with fewer dimensions."""
    array = base.array
    every = [*base.indices, *indices]
    if len(every) > array.type.ndim:
        text = base.text
        raise ctx.error(
            node,
            f"{len(every)} indices for {text}, which has {array.type.ndim} dimension(s)",
            TypeMismatchError,
        )
    debug.check_indices(ctx, array, indices, len(base.indices), base.text)
    if len(every) == array.type.ndim:
        return ElementPlace(ctx, array.leaf, every, 0, array.type.dtype, node)
    return ArrayPlace(ctx, array, every, node)


def index_selection(ctx: Context, value: Typed, indices: list[IRValue], node: ast.expr) -> Place:
    """An indexed array with indices: an element of its data, or what is left when the first dimensions are fixed."""
    whole = indexed_elements(value.type)
    assert whole is not None
    data, *selections = value.leaves
    if len(indices) > whole.ndim:
        raise ctx.error(node, f"{len(indices)} indices for {value.type!r}", TypeMismatchError)
    chosen = []
    for index, selection in zip(indices, selections):
        debug.check_indices(ctx, Typed(array_type(scalars.int32), (selection,)), [index], 0, ctx.source.segment(node))
        chosen.append(ctx.emit("load", selection, index, type=scalars.int32, offset=0))
    if len(chosen) == whole.ndim:
        debug.check_indices(ctx, _array(whole.dtype, data), chosen, 0, ctx.source.segment(node))
        return ElementPlace(ctx, data, chosen, 0, whole.dtype, node)
    rest = indexed_type(whole.dtype, whole.ndim - len(chosen))
    return ValuePlace(ctx, Typed(rest, (ctx.emit("view", data, *chosen), *selections[len(chosen) :])), node)


def _slice_array(ctx: Context, base: ArrayPlace, parts: list[ast.expr], node: ast.Subscript) -> Place:
    """``a[i, 2:, ::2]``: leading indices, then slices."""
    leading = 0
    while not isinstance(parts[leading], ast.Slice):
        leading += 1
    if leading:
        indices = [index_of(ctx, ctx.value(part), part) for part in parts[:leading]]
        found = index_array(ctx, base, indices, node)
        if not isinstance(found, ArrayPlace):
            raise ctx.error(node, f"too many indices for {base.text}", TypeMismatchError)
        base = found
    view = base.typed()
    slices = parts[leading:]
    if len(slices) > view.type.ndim:
        raise ctx.error(node, f"too many indices for {base.text}", TypeMismatchError)
    leaf, axis = view.leaf, 0
    for part in slices:
        if isinstance(part, ast.Slice):
            leaf = _slice(ctx, leaf, axis, part)
            axis += 1
        else:
            index = index_of(ctx, ctx.value(part), part)
            debug.check_indices(ctx, _array(view.type.dtype, leaf), [index], axis, base.text)
            leaf = ctx.emit("view", leaf, index, axis=axis)
    return ArrayPlace(ctx, _array(view.type.dtype, leaf), [], node)


def _array(dtype: Any, leaf: IRValue) -> Typed:
    assert isinstance(leaf.type, ArrayRef)
    return Typed(array_type(dtype, leaf.type.ndim), (leaf,))


def _slice(ctx: Context, array: IRValue, axis: int, node: ast.Slice) -> IRValue:
    """One axis of an array restricted as Python does it: negative bounds count from the end, all are clamped."""
    if node.lower is None and node.upper is None and node.step is None:
        return array
    step = 1 if node.step is None else constant_index(ctx.value(node.step))
    if not step:
        raise ctx.error(
            node.step, "the step of a slice must be an integer known at compile time, and not 0", TypeMismatchError
        )
    extent = ctx.emit("shape", array, axis=axis)
    one, zero = ctx.builder.index(1), ctx.builder.index(0)
    low, high = (zero, extent) if step > 0 else (ctx.builder.index(-1), ctx.emit("sub", extent, one))
    start = (low if step > 0 else high) if node.lower is None else _bound(ctx, node.lower, extent, low, high)
    stop = (high if step > 0 else low) if node.upper is None else _bound(ctx, node.upper, extent, low, high)
    span = ctx.emit("sub", stop, start) if step > 0 else ctx.emit("sub", start, stop)
    if abs(step) != 1:
        rounded = ctx.emit("add", span, ctx.builder.index(abs(step) - 1))
        span = ctx.emit("div", rounded, ctx.builder.index(abs(step)))
    length = ctx.emit("max", span, zero)
    return ctx.emit("slice", array, start, ctx.builder.index(step), length, axis=axis)  # type: ignore[no-any-return]


def _bound(ctx: Context, node: ast.expr, extent: IRValue, low: IRValue, high: IRValue) -> IRValue:
    """A bound of a slice: from the end if negative, and clamped."""
    value = ctx.value(node)
    bound = index_of(ctx, value, node)
    if bound.type is not scalars.int32:
        bound = ctx.emit("cast", bound, type=scalars.int32)
    known = constant_index(value)
    if known is None:
        negative = ctx.emit("lt", bound, ctx.builder.index(0))
        bound = ctx.emit("select", negative, ctx.emit("add", bound, extent), bound)
    elif known < 0:
        bound = ctx.emit("add", bound, extent)
    if known is None or known < 0:
        bound = ctx.emit("max", bound, low)
    return ctx.emit("min", bound, high)  # type: ignore[no-any-return]


# -- Composites


def _of_composite(ctx: Context, base: Place, type_: Any, parts: list[ast.expr], node: ast.Subscript) -> Place:
    shape = type_.shape
    if len(parts) > len(shape):
        raise ctx.error(node, f"{len(parts)} indices for {notation.text(type_)}", TypeMismatchError)
    axes: list[Index | range] = [_axis(ctx, part, extent, type_, node) for part, extent in zip(parts, shape)]
    axes += [range(extent) for extent in shape[len(parts) :]]
    if len(axes) == 1:
        return _part(base, type_, axes[0], 1, node)
    row, column = axes
    if not isinstance(row, range):
        return _part(base, type_, column, 1, node, components.offset_index(ctx, row, shape[1]))
    if not isinstance(column, range):
        return _part(base, type_, row, shape[1], node, column)
    indices = [r * shape[1] + c for r in row for c in column]
    part = components.part_type("mat", (len(row), len(column)), type_.dtype)
    return PartPlace(base, indices, part, node)


def _part(base: Place, type_: Any, axis: Index | range, stride: int, node: ast.Subscript, first: Index = 0) -> Place:
    """The component at ``first + stride·axis``, or those, if ``axis`` is a range."""
    ctx = base.ctx
    if not isinstance(axis, range):
        return base.component(components.offset_index(ctx, axis, stride, first), node)
    part = components.part_type("vec", (len(axis),), type_.dtype)
    indices = [components.offset_index(ctx, k, stride, first) for k in axis]
    if stride * axis.step == 1 and isinstance(indices[0], int):
        return base.part(indices[0], part, node)
    return PartPlace(base, indices, part, node, stride * axis.step)


def _axis(ctx: Context, node: ast.expr, extent: int, type_: Any, whole: ast.Subscript) -> Index | range:
    """One index of a composite: a known or a run-time number, or a range of known ones."""
    if isinstance(node, ast.Slice):
        bounds = [None if b is None else _known_bound(ctx, b) for b in (node.lower, node.upper, node.step)]
        selected = range(extent)[slice(*bounds)]
        if not selected:
            raise ctx.error(whole, f"the slice of {notation.text(type_)} is empty", CompileError)
        return selected
    value = ctx.value(node)
    known = constant_index(value)
    if known is None:
        index = index_of(ctx, value, node)
        debug.check_component(ctx, index, extent, ctx.source.segment(whole.value))
        return index
    if not -extent <= known < extent:
        raise ctx.error(whole, f"index {known} is out of range for {notation.text(type_)}", CompileError)
    return known % extent


def _known_bound(ctx: Context, node: ast.expr) -> int:
    bound = constant_index(ctx.value(node))
    if bound is None:
        raise ctx.error(node, "the bounds of a slice of a composite must be known at compile time", TypeMismatchError)
    return bound
