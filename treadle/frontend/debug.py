"""The checks of debug mode: indices in range.

The messages do not name kernel and line, which whoever reports a failure knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.frontend.context import Context
from treadle.frontend.values import Typed
from treadle.ir.core import Value as IRValue
from treadle.types import scalars


def is_on(ctx: Context) -> bool:
    return bool(ctx.session.options.get("mode") == "debug")


def escape(text: str) -> str:
    """Text that stands for itself in the message of an ``assert`` op, where ``{0}`` is a value."""
    return text.replace("{", "{{").replace("}", "}}")


def check_indices(ctx: Context, array: Typed, indices: Sequence[IRValue], first_axis: int, text: str) -> None:
    """Assert that indices lie in the extents of their axes."""
    if not is_on(ctx):
        return
    extents = [ctx.emit("shape", array.leaf, axis=k) for k in range(array.type.ndim)]
    shape = ", ".join(f"{{{k + 1}}}" for k in range(len(extents)))
    for k, index in enumerate(indices):
        axis = first_axis + k
        inside = _inside(ctx, index, extents[axis])
        which = f" of axis {axis}" if array.type.ndim > 1 else ""
        comma = "," if len(extents) == 1 else ""
        message = f"index {{0}}{which} is out of range for the array {escape(text)} of shape ({shape}{comma})"
        ctx.builder.op("assert", [inside, index, *extents], [], {"message": message})


def check_component(ctx: Context, index: IRValue, extent: int, text: str) -> None:
    """Assert that the run-time index of a component is in range."""
    if not is_on(ctx):
        return
    inside = _inside(ctx, index, ctx.builder.index(extent))
    message = f"index {{0}} is out of range for the {extent} components of {escape(text)}"
    ctx.builder.op("assert", [inside, index], [], {"message": message})


def _inside(ctx: Context, index: IRValue, extent: IRValue) -> IRValue:
    if index.type is not scalars.int32:
        index = ctx.emit("cast", index, type=scalars.int64)
        extent = ctx.emit("cast", extent, type=scalars.int64)
    zero = ctx.builder.zero(index.type)
    return ctx.emit("and", ctx.emit("le", zero, index), ctx.emit("lt", index, extent))  # type: ignore[no-any-return]
