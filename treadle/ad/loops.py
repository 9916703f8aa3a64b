"""Reverse mode for ``for`` and ``while``.

The primal sweep saves the carried values at the start of every iteration in a frame of the
thread's stack. The reverse loop restores them, last iteration first, runs the body's primal sweep
again, and then the body's reverse. Adjoints of outer values that the body uses are carried by the
reverse loop. Everything is saved here; dead-code removal takes away what no rule came to need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from treadle.ad import frames
from treadle.ad.scope import Scope
from treadle.ir.core import Block, Op, Value
from treadle.types import scalars

if TYPE_CHECKING:
    from treadle.ad.transform import Adjoints, Transform


def sweep(transform: Transform, scope: Scope, op: Op) -> None:
    """Emit the loop of the primal sweep, which fills a frame."""
    group = transform.new_frame()
    if op.name == "for":
        _sweep_for(transform, scope, op, group)
    else:
        _sweep_while(transform, scope, op, group)


def _sweep_for(transform: Transform, scope: Scope, op: Op, group: int) -> None:
    count, *initial = [scope.here(v) for v in op.operands]
    frame = transform.builder.emit("frame", count, slot_group=group)
    (block,) = op.blocks
    body = _block_like(scope, block)
    with transform.inside(body):
        transform.builder.emit_many("save", frame, *body.parameters, slot_group=group)
        body.yields = transform.replay(scope, block)
    transform.builder.location = op.location
    new_op = transform.builder.op("for", [count, *initial], [r.type for r in op.results], blocks=[body])
    _define(scope, op, frame, count, group, new_op)


def _sweep_while(transform: Transform, scope: Scope, op: Op, group: int) -> None:
    """As for ``for``, and counts the iterations."""
    builder = transform.builder
    deferred = frames.deferred_groups(transform, op)
    known = _emit_while(transform, scope, op, None, group).results[-1] if deferred else None
    if known is not None:
        frames.open_deferred(transform, scope, deferred, known)
    frame = builder.emit("frame", *([] if known is None else [known]), slot_group=group)
    new_op = _emit_while(transform, scope, op, frame, group)
    count = new_op.results[-1]
    if known is None:
        builder.emit_many("seal", frame, count, slot_group=group)
    _define(scope, op, frame, count, group, new_op)


def _emit_while(transform: Transform, scope: Scope, op: Op, frame: Optional[Value], group: int) -> Op:
    """Emit the loop with a counter, its last result; with a frame, the carried values are saved."""
    builder = transform.builder
    initial = [*(scope.here(v) for v in op.operands), builder.constant(scalars.int64, 0)]
    condition, body = (_block_like(scope, block) for block in op.blocks)
    condition.add_parameter(scalars.int64)
    counter = body.add_parameter(scalars.int64)
    with transform.inside(condition):
        condition.yields = transform.replay(scope, op.blocks[0])
    with transform.inside(body):
        if frame is not None:
            builder.emit_many("save", frame, counter, *body.parameters[:-1], slot_group=group)
        body.yields = transform.replay(scope, op.blocks[1])
        one = builder.constant(scalars.int64, 1)
        body.yields.append(builder.emit("add", counter, one, nowrap=True))
    builder.location = op.location
    types = [*(r.type for r in op.results), scalars.int64]
    return builder.op("while", initial, types, blocks=[condition, body])


def _block_like(scope: Scope, block: Block) -> Block:
    copy = Block([p.type for p in block.parameters])
    for old, new in zip(block.parameters, copy.parameters):
        new.name = old.name
        scope.define(old, new)
    return copy


def _define(scope: Scope, op: Op, frame: Value, count: Value, group: int, new_op: Op) -> None:
    scope.define((op, "frame"), frame)
    scope.define((op, "count"), count)
    scope.groups[op] = group
    for old, new in zip(op.results, new_op.results):
        scope.define(old, new)


def reverse(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Emit the loop that runs the iterations backwards."""
    from treadle.ad.transform import adjoint_type, differentiable

    incoming = [adjoints.pop(r, None) for r in op.results]
    builder = transform.builder
    if all(g is None for g in incoming) and not transform.has_work(op):
        # Nothing restores from the frame, so dead-code removal takes it away; until then it is given back in order.
        builder.emit_many("release", scope.recall((op, "frame")), slot_group=scope.group_of(op))
        return
    body = op.blocks[-1]
    carried = body.parameters[1:] if op.name == "for" else body.parameters
    initial = op.operands[1:] if op.name == "for" else op.operands
    tracked = [k for k, p in enumerate(carried) if differentiable(p.type)]
    outer = transform.outer_values(op)

    frame, count = scope.recall((op, "frame")), scope.recall((op, "count"))
    start = [incoming[k] or builder.zero(adjoint_type(carried[k].type)) for k in tracked]
    start += [adjoints[v] if v in adjoints else builder.zero(adjoint_type(v.type)) for v in outer]
    block = Block([count.type, *(v.type for v in start)])
    with transform.inside(block):
        last = builder.emit("sub", count, builder.filled(count.type, 1))
        k = builder.emit("sub", last, block.parameters[0], nowrap=True)
        block.yields = _reverse_iteration(transform, scope, op, k, frame, tracked, outer, block.parameters[1:])
    builder.location = op.location
    new_op = builder.op("for", [count, *start], [v.type for v in start], blocks=[block])
    builder.emit_many("release", frame, slot_group=scope.group_of(op))
    adjoints.update(zip(outer, new_op.results[len(tracked) :]))
    for k_tracked, result in zip(tracked, new_op.results):
        transform.accumulate(adjoints, initial[k_tracked], result)


def _reverse_iteration(
    transform: Transform,
    scope: Scope,
    op: Op,
    k: Value,
    frame: Value,
    tracked: list[int],
    outer: list[Value],
    incoming: list[Value],
) -> list[Value]:
    """One iteration of the reverse loop: restore, run the body again, reverse it; returns the adjoints to carry on."""
    from treadle.ad.transform import adjoint_type

    builder = transform.builder
    body = op.blocks[-1]
    inner = Scope(builder, scope)
    carried = body.parameters
    if op.name == "for":
        inner.define(body.parameters[0], k)
        carried = body.parameters[1:]
    types = tuple(p.type for p in carried)
    restored = builder.emit_many("restore", frame, k, types=types, slot_group=scope.group_of(op))
    for parameter, value in zip(carried, restored):
        inner.define(parameter, value)
    transform.sweep(inner, body)
    adjoints: Adjoints = dict(zip(outer, incoming[len(tracked) :]))
    for position, k_tracked in enumerate(tracked):
        transform.accumulate(adjoints, body.yields[k_tracked], incoming[position])
    transform.reverse(inner, body, adjoints)
    parameters = [carried[k] for k in tracked]
    result = [adjoints.pop(p) if p in adjoints else builder.zero(adjoint_type(p.type)) for p in parameters]
    return result + [adjoints[v] for v in outer]
