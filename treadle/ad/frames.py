"""Reverse mode for the stack of an adjoint, which a second derivative has to pass through.

A frame is memory like any other: what a ``restore`` contributes goes to the record that it read,
and a ``save`` takes it from there. Each frame gets a companion frame for this, zero at first. A
frame stays until the reverse sweep has passed the place where it was opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.ad.errors import DerivativeError
from treadle.ad.scope import Scope, SweepCloner
from treadle.ir.core import Block, Function, Op, Value
from treadle.types.storage import StorageType

if TYPE_CHECKING:
    from treadle.ad.transform import Adjoints, Transform


class Records:
    """What the frames of a function hold: for each group the types of a record."""

    def __init__(self, function: Function) -> None:
        self.types: dict[int, list[StorageType]] = {}
        self.last_group = 0
        self._written: dict[int, set[Any]] = {}
        for op in function.body.walk():
            group = op.attributes.get("slot_group")
            if group is None:
                continue
            self.last_group = max(self.last_group, group)
            if op.name == "save":
                record = op.operands[1].constant
                if group in self.types and (record is None or record in self._written[group]):
                    raise DerivativeError("a third derivative through a run-time loop is not supported", op.location)
                # A loop that was unrolled has a save of its own for each record.
                self._written.setdefault(group, set()).add(record)
                self.types[group] = [v.type for v in op.operands[2:]]

    def tracked(self, group: int) -> list[int]:
        """The positions in a record of values that have adjoints."""
        from treadle.ad.transform import differentiable

        return [k for k, type_ in enumerate(self.types.get(group, ())) if differentiable(type_)]

    def adjoint_types(self, group: int) -> tuple[StorageType, ...]:
        """The types of the adjoints of those values."""
        from treadle.ad.transform import adjoint_type

        return tuple(adjoint_type(self.types[group][k]) for k in self.tracked(group))


def sweep(transform: Transform, cloner: SweepCloner, scope: Scope, op: Op) -> None:
    """Run a stack op of the function in the primal sweep; a frame is released by the reverse sweep."""
    group = op.attributes["slot_group"]
    if op.name in ("release", "seal"):  # all frames are opened with a count here; see ``open_deferred``
        return
    if op.name == "frame" and not op.operands:
        transform.deferred[group] = op
        return
    if op.name == "save" and ("frame", group) not in scope.values:
        return  # a body that is run again; the record is there already
    cloner.op(op)
    if op.name == "frame":
        scope.define(("frame", group), scope.here(op.result))
        _open_companion(transform, scope, group, scope.here(op.operands[0]))


def deferred_groups(transform: Transform, loop: Op) -> list[int]:
    """The groups of the frames that a ``while`` fills and that have not been opened yet.

    While a frame grows, none can be opened on top of it, but the primal sweep has records of its own
    to save. So the frame is opened, with a count, only once the number of iterations is known.
    """
    groups = [op.attributes["slot_group"] for op in loop.blocks[-1].ops if op.name == "save"]
    return [group for group in groups if group in transform.deferred]


def open_deferred(transform: Transform, scope: Scope, groups: list[int], count: Value) -> None:
    """Open frames that were put off; ``count`` is the number of iterations of the loop that fills them."""
    for group in groups:
        op = transform.deferred.pop(group)
        frame = transform.builder.emit("frame", count, slot_group=group)
        scope.define(op.result, frame)
        scope.define(("frame", group), frame)
        _open_companion(transform, scope, group, count)


def _open_companion(transform: Transform, scope: Scope, group: int, number: Value) -> None:
    builder, own_group = transform.builder, transform.new_frame()
    companion = builder.emit("frame", number, slot_group=own_group)
    zeros = [builder.zero(type_) for type_ in transform.records.adjoint_types(group)]
    body = Block([number.type])
    with transform.inside(body):
        builder.emit_many("save", companion, body.parameters[0], *zeros, slot_group=own_group)
    builder.op("for", [number], blocks=[body])
    scope.define(("companion", group), companion)
    transform.companion_groups[group] = own_group


def _restore(transform: Transform, scope: Scope, op: Op) -> tuple[Value, Value, list[Value]]:
    """The companion frame, the number of the record, and the adjoints in it."""
    group = op.attributes["slot_group"]
    companion, number = scope.recall(("companion", group)), scope.recall(op.operands[1])
    types = transform.records.adjoint_types(group)
    adjoints = transform.builder.emit_many(
        "restore", companion, number, types=types, slot_group=transform.companion_groups[group]
    )
    return companion, number, adjoints


def reverse_restore(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Add to the adjoints of the record."""
    group = op.attributes["slot_group"]
    tracked = transform.records.tracked(group)
    incoming = [adjoints.pop(op.results[k], None) for k in tracked]
    if all(g is None for g in incoming):
        return
    companion, number, so_far = _restore(transform, scope, op)
    totals = [v if g is None else transform.builder.emit("add", v, g) for v, g in zip(so_far, incoming)]
    transform.builder.emit_many("save", companion, number, *totals, slot_group=transform.companion_groups[group])


def reverse_save(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Take the adjoints of the record."""
    tracked = transform.records.tracked(op.attributes["slot_group"])
    if tracked:
        _, _, found = _restore(transform, scope, op)
        for k, g in zip(tracked, found):
            transform.accumulate(adjoints, op.operands[2 + k], g)


def reverse_frame(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Nothing needs the frame and its companion any more."""
    group, builder = op.attributes["slot_group"], transform.builder
    builder.emit_many("release", scope.recall(("companion", group)), slot_group=transform.companion_groups[group])
    builder.emit_many("release", scope.recall(("frame", group)), slot_group=group)
