"""Reverse mode for loads, stores and atomics: gradients live in the companion arrays.

A load adds to the gradient of the element that it read. A store takes the gradient of the element
that it wrote, and leaves zero: what the element held before had no influence on what came after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.ad.errors import DerivativeError
from treadle.ad.scope import Scope, SweepCloner
from treadle.ir.core import Block, Op, Value
from treadle.primitives.types import scalar_of, with_scalar
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta

if TYPE_CHECKING:
    from treadle.ad.transform import Adjoints, Transform


def sweep_logged(transform: Transform, cloner: SweepCloner, scope: Scope, op: Op) -> None:
    """A value that is kept in a log: load and append it the first time through, and read it back later."""
    builder, type_ = transform.builder, op.result.type
    if op in transform.logs.launch:
        position = scope.here(transform.logs.launch[op])
        scope.define(op.result, builder.emit("log_read", position, type=type_, log="launch"))
        _repeat_atomic(transform, cloner, scope, op)
    elif scope.parent is None:
        (value,) = cloner.op(op)
        builder.emit_many("log_append", value, log="thread")
    else:
        position = scope.here(transform.logs.thread[op])
        scope.define(op.result, builder.emit("log_read", position, type=type_, log="thread"))


def sweep_atomic(transform: Transform, cloner: SweepCloner, scope: Scope, op: Op) -> None:
    """An atomic whose result nobody uses; it is repeated on scratch copies only."""
    reason = f"the gradient needs the value that atomic_{op.attributes['kind']} returned, and it was not kept"
    scope.define(op.result, transform.builder.emit("unavailable", type=op.result.type, reason=reason))
    _repeat_atomic(transform, cloner, scope, op)


def _repeat_atomic(transform: Transform, cloner: SweepCloner, scope: Scope, op: Op) -> None:
    if op in transform.logs.repeated and scope.parent is None:
        transform.builder.emit("atomic", *cloner.values(op.operands), **op.attributes)


def _element(transform: Transform, scope: Scope, op: Op) -> list[Value] | None:
    """Companion and indices of the element that ``op`` touches; None if its array has no gradient."""
    array = op.operands[0]
    companion = transform.companions[array]
    if companion is None:
        return None
    rank = array.type.ndim  # type: ignore[union-attr]
    return [scope.recall(companion), *(scope.recall(v) for v in op.operands[1 : 1 + rank])]


def reverse_load(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Add to the gradient of the element, atomically: other threads may have read it too."""
    from treadle.ad.transform import converted

    g = adjoints.pop(op.result, None)
    if g is None:
        return
    element = _element(transform, scope, op)
    if element is not None:
        narrow = converted(transform.builder, g, op.result.type)
        transform.builder.emit("atomic", *element, narrow, kind="add", offset=op.attributes["offset"])


def reverse_store(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Consume the gradient of the element."""
    from treadle.ad.transform import adjoint_type, converted, differentiable

    value = op.operands[-1]
    if not differentiable(value.type):
        return
    element = _element(transform, scope, op)
    if element is None:
        return
    builder, offset = transform.builder, op.attributes["offset"]
    g = builder.emit("load", *element, type=value.type, offset=offset)
    builder.emit_many("store", *element, builder.zero(value.type), offset=offset)
    keeper = transform.keepers.get(op.operands[0])
    if keeper is not None:
        _keep(transform, [scope.recall(keeper), *element[1:]], g, offset)
    transform.accumulate(adjoints, value, converted(builder, g, adjoint_type(value.type)))


NOT_KEPT: dict[ScalarMeta, int] = {
    scalars.float16: 0x7EAD,
    scalars.bfloat16: 0x7FED,
    scalars.float32: 0x7FC0DEAD,
    scalars.float64: 0x7FF80000DEADDEAD,
}
"""The bits of a NaN that no computation makes, for elements whose gradient was not kept yet."""


def _keep(transform: Transform, element: list[Value], g: Value, offset: int) -> None:
    """Keep a consumed gradient, unless that of a later write to the element was kept already."""
    builder = transform.builder
    scalar = scalar_of(g.type)
    integer = scalars.BY_SHORT_NAME[f"u{scalar.bits}"]
    kept = builder.emit("load", *element, type=g.type, offset=offset)
    pattern = builder.filled(with_scalar(g.type, integer), NOT_KEPT[scalar])
    is_free = builder.emit("eq", builder.emit("bitcast", kept, type=integer), pattern)
    builder.emit_many("store", *element, builder.emit("select", is_free, g, kept), offset=offset)


def reverse_atomic(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Sums pass the gradient of the element on; a minimum or maximum gives it to the value that won."""
    from treadle.ad.transform import adjoint_type, converted, differentiable

    kind, value = op.attributes["kind"], op.operands[-1]
    if not differentiable(value.type):
        return
    if adjoints.pop(op.result, None) is not None:
        raise DerivativeError(
            f"the value that atomic_{kind} returns depends on the order of the threads, so it has no derivative",
            op.location,
        )
    element = _element(transform, scope, op)
    if element is None:
        return
    if kind in ("min", "max"):
        g = _taken_by_winner(transform, scope, op, element)
    elif kind in ("add", "sub"):
        g = transform.builder.emit("load", *element, type=value.type, offset=op.attributes["offset"])
    else:
        raise DerivativeError(
            f"atomic_{kind} on floats has no derivative: which thread is last is not known", op.location
        )
    g = converted(transform.builder, g, adjoint_type(value.type))
    transform.accumulate(adjoints, value, transform.builder.emit("neg", g) if kind == "sub" else g)


def _taken_by_winner(transform: Transform, scope: Scope, op: Op, element: list[Value]) -> Value:
    """The gradient of the element if the value is what it holds after the launch, else 0.

    Of several threads with the same value, the first to come takes all of it; it is a subgradient.
    If no thread takes it, it stays, for what the element held before the launch.
    """
    builder, offset, value = transform.builder, op.attributes["offset"], op.operands[-1]
    if op not in transform.only_extrema:
        raise DerivativeError(
            f"the gradient of atomic_{op.attributes['kind']} on an array to which the kernel also writes in another "
            "way is not supported",
            op.location,
        )
    indices = element[1:]
    final = builder.emit("load", scope.recall(op.operands[0]), *indices, type=value.type, offset=offset, after=True)
    won = builder.emit("eq", final, scope.recall(value))
    taken, left = Block(), Block()
    with transform.inside(taken):
        zero = builder.zero(value.type)
        taken.yields = [builder.emit("atomic", *element, zero, kind="exch", offset=offset)]
    with transform.inside(left):
        left.yields = [builder.zero(value.type)]
    return builder.op("if", [won], [value.type], blocks=[taken, left]).result
