"""Ops on aggregates: components at run-time indices, and primitives applied component by component.

Where an aggregate lives, and whether an ``insert`` happens in place, is decided by ``ownership.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treadle.ir.core import Op, Value
from treadle.types.storage import Aggregate

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

_UNROLL = 8


def component_loop(e: FunctionEmitter, count: int, write: Callable[[str], None]) -> None:
    """Call ``write`` with each component index: unrolled if there are few, else once, in a loop."""
    if count <= _UNROLL:
        for k in range(count):
            write(str(k))
        return
    body, done = e.labels("components", "components.done")
    before = e.label
    e.branch(body)
    e.start(body)
    (index,), ticket = e.reserve_phis(["i64"])
    write(index)
    following = e.assign(f"add nuw nsw i64 {index}, 1")
    more = e.assign(f"icmp ult i64 {following}, {count}")
    e.fill_phis(ticket, [index], ["i64"], [(before, ["0"]), (e.label, [following])])
    e.branch_if(more, body, done)
    e.start(done)


def move(e: FunctionEmitter, targets: Sequence[Value], sources: Sequence[Value]) -> None:
    """Copy aggregates into the buffers of others, all at once: a buffer may be source and target."""
    pending: list[tuple[str, str, Aggregate]] = []
    for target, source in zip(targets, sources):
        if isinstance(target.type, Aggregate):
            to, origin = e.buffer(target), e.values[source]
            if to != origin:
                pending.append((to, origin, target.type))
    while pending:
        sources_left = {origin for _, origin, _ in pending}
        ready = next((m for m in pending if m[0] not in sources_left), None)
        if ready is not None:
            e.copy(*ready)
            pending.remove(ready)
            continue
        # Only cycles remain: set one source aside.
        origin, type_ = pending[0][1:]
        aside = e.aggregate_slot(type_)
        e.copy(aside, origin, type_)
        pending = [(to, aside if o == origin else o, t) for to, o, t in pending]


def _result(e: FunctionEmitter, op: Op) -> tuple[str, Aggregate]:
    type_: Any = op.result.type
    address = e.values[op.result] = e.buffer(op.result)
    return address, type_


def _emit_elementwise(e: FunctionEmitter, op: Op) -> None:
    address, type_ = _result(e, op)
    inputs = [(v.type, e.values[v]) for v in op.operands]
    scalars = [t.scalar if isinstance(t, Aggregate) else t for t, _ in inputs]

    def component(index: str) -> None:
        texts = [
            e.load_scalar(t.scalar, e.component_address(text, t, index)) if isinstance(t, Aggregate) else text
            for t, text in inputs
        ]
        e.store_scalar(type_.scalar, e.lower(op, scalars, texts), e.component_address(address, type_, index))

    component_loop(e, type_.count, component)


def _emit_splat(e: FunctionEmitter, op: Op) -> None:
    address, type_ = _result(e, op)
    text = e.values[op.operands[0]]
    component_loop(
        e, type_.count, lambda index: e.store_scalar(type_.scalar, text, e.component_address(address, type_, index))
    )


def _clamped(e: FunctionEmitter, index: Value, type_: Aggregate) -> tuple[str, str]:
    """A safe index as i64, and whether it is the given one: "true", "false" or an i1."""
    if index.constant is not None:
        inside = 0 <= index.constant < type_.count
        return str(index.constant if inside else type_.count - 1), "true" if inside else "false"
    text = e.index(index)
    safe = e.assign(f"call i64 @llvm.umin.i64(i64 {text}, i64 {type_.count - 1})")
    return safe, e.assign(f"icmp ult i64 {text}, {type_.count}")


def _emit_extract(e: FunctionEmitter, op: Op) -> None:
    aggregate, index = op.operands
    type_: Any = aggregate.type
    safe, _ = _clamped(e, index, type_)
    e.values[op.result] = e.load_scalar(type_.scalar, e.component_address(e.values[aggregate], type_, safe))


def _emit_insert(e: FunctionEmitter, op: Op) -> None:
    aggregate, index, new = op.operands
    address, type_ = _result(e, op)
    if address != e.values[aggregate]:
        e.copy(address, e.values[aggregate], type_)
    safe, inside = _clamped(e, index, type_)
    if inside == "false":
        return
    component, text = e.component_address(address, type_, safe), e.values[new]
    if inside != "true":  # out of range nothing changes; without a branch
        old = e.load_scalar(type_.scalar, component)
        t = e.type(type_.scalar)
        text = e.assign(f"select i1 {inside}, {t} {text}, {t} {old}")
    e.store_scalar(type_.scalar, text, component)


def _emit_reduce_add(e: FunctionEmitter, op: Op) -> None:
    aggregate = op.operands[0]
    type_: Any = aggregate.type
    scalar, address = type_.scalar, e.values[aggregate]
    types = [scalar, scalar]
    add = Op("add", (aggregate, aggregate))
    body, done = e.labels("sum", "sum.done")
    t, before = e.type(scalar), e.label
    e.branch(body)
    e.start(body)
    (index, total), ticket = e.reserve_phis(["i64", t])
    component = e.load_scalar(scalar, e.component_address(address, type_, index))
    result = e.lower(add, types, [total, component])
    following = e.assign(f"add nuw nsw i64 {index}, 1")
    more = e.assign(f"icmp ult i64 {following}, {type_.count}")
    start = ["0", e.constant(scalar, 0)]
    e.fill_phis(ticket, [index, total], ["i64", t], [(before, start), (e.label, [following, result])])
    e.branch_if(more, body, done)
    e.start(done)
    e.values[op.result] = result


HANDLERS = {
    "elementwise": _emit_elementwise,
    "splat": _emit_splat,
    "extract": _emit_extract,
    "insert": _emit_insert,
    "reduce_add": _emit_reduce_add,
}
