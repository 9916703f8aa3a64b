"""The state of one derivative transform, and the walk over ops in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Optional

from treadle.ad import branches, custom, frames, loops, memory
from treadle.ad.companions import Companions
from treadle.ad.finiteness import possibly_infinite
from treadle.ad.log import NO_LOGS, Logs, only_extrema
from treadle.ad.scope import Scope, SweepCloner
from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import TABLE
from treadle.ir.structure import STACK
from treadle.primitives.expressions import Expression
from treadle.primitives.types import scalar_of, with_scalar
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, StorageType

Adjoints = dict[Value, Value]
"""From values of the original function to their adjoints; a value that is not there has adjoint zero."""

# Effects that happened when the kernel ran, and must not happen again.
NOT_REPEATED = ("store", "print", "assert")


# Ops whose reverse can do something though their results have no adjoint.
WITH_WORK = ("store", "atomic", "call", "native", "save")


def differentiable(type_: StorageType) -> bool:
    """Whether values of this type have adjoints."""
    if isinstance(type_, Aggregate):
        return type_.scalar.is_float
    return isinstance(type_, ScalarMeta) and type_.is_float


def adjoint_type(type_: StorageType) -> StorageType:
    """The type of the adjoints of values of a type: at least float32, as small floats lose too much in sums."""
    scalar = type_.scalar if isinstance(type_, Aggregate) else type_
    if scalar is not scalars.float16 and scalar is not scalars.bfloat16:
        return type_
    return with_scalar(type_, scalars.float32)


class Recalled(Expression):
    """A value of the original function in a rule, in the type of its adjoint; looked up only if the rule uses it."""

    __slots__ = ("scope", "original")

    def __init__(self, builder: Builder, scope: Scope, original: Value) -> None:
        self.builder = builder
        self.scope = scope
        self.original = original

    @property
    def value(self) -> Value:  # type: ignore[override]
        return converted(self.builder, self.scope.recall(self.original), adjoint_type(self.original.type))

    @property
    def type(self) -> Any:
        return adjoint_type(self.original.type)


def converted(builder: Builder, value: Value, type_: StorageType) -> Value:
    """A float, or an aggregate of floats, in another float type."""
    return value if value.type == type_ else builder.emit("cast", value, type=scalar_of(type_))


# Rules that leave a zero adjoint zero by themselves, and those without a factor.
WITHOUT_FACTOR = frozenset(
    (
        "add",
        "sub",
        "neg",
        "abs",
        "min",
        "max",
        "select",
        "cast",
        "pick",
        "place",
        "extract",
        "insert",
        "splat",
        "reduce_add",
    )
)


class Transform:
    """Builds the adjoint of ``function`` with ``builder``.

    ``companions`` maps array handles to those of their gradients, ``keepers`` to those of arrays in
    which consumed gradients are kept. ``logs`` says which values of the
    primal sweep come from a log, and which stores it has to repeat.
    """

    def __init__(
        self,
        function: Function,
        builder: Builder,
        companions: Companions,
        numbers: Optional[Iterator[int]] = None,
        logs: Logs = NO_LOGS,
        keepers: Optional[Companions] = None,
    ) -> None:
        self.keepers = keepers or {}
        self.builder = builder
        self.companions = companions
        self.logs = logs
        self.records = frames.Records(function)
        self.only_extrema = only_extrema(function)
        self.companion_groups: dict[int, int] = {}
        self.deferred: dict[int, Op] = {}
        self.frame_numbers = numbers if numbers is not None else count(self.records.last_group + 1)
        self.free_values: dict[Op, list[Value]] = {}
        self.infinite = possibly_infinite(function)

    # The primal sweep.

    def sweep(self, scope: Scope, block: Block) -> None:
        """Emit the ops of ``block``, keeping what the reverse sweep may ask for."""
        cloner = SweepCloner(self.builder, scope)
        for op in block.ops:
            self.builder.location = op.location
            if op.name == "if":
                branches.sweep(self, scope, op)
            elif op.name in ("for", "while"):
                loops.sweep(self, scope, op)
            elif op.name in STACK:
                frames.sweep(self, cloner, scope, op)
            else:
                self.sweep_simple(cloner, scope, op)

    def sweep_simple(self, cloner: SweepCloner, scope: Scope, op: Op) -> None:
        """Emit an op without nested blocks."""
        if op.name == "save" and op.attributes["slot_group"] in self.deferred:
            return  # the iterations are only being counted
        if op.name == "call":
            custom.sweep(self, cloner, op)
        elif op.name == "native":
            custom.sweep_native(self, cloner, op)
        elif op in self.logs.thread or op in self.logs.launch:
            memory.sweep_logged(self, cloner, scope, op)
        elif op.name in NOT_REPEATED:
            # The first time through, a store to a scratch copy is wanted; a body that is run again reads the log.
            if op in self.logs.repeated and scope.parent is None:
                cloner.op(op)
        elif op.name == "atomic":
            memory.sweep_atomic(self, cloner, scope, op)
        else:
            cloner.op(op)

    def replay(self, scope: Scope, block: Block) -> list[Value]:
        """Emit the ops of ``block`` without keeping anything, where only its results matter."""
        cloner = SweepCloner(self.builder, scope)
        for op in block.ops:
            self.builder.location = op.location
            if not op.blocks:
                self.sweep_simple(cloner, scope, op)
                continue
            operands = cloner.values(op.operands)
            new_op = self.builder.op(op.name, operands, [r.type for r in op.results], dict(op.attributes))
            new_op.blocks = [self.replay_block(scope, b) for b in op.blocks]
            for old, new in zip(op.results, new_op.results):
                scope.define(old, new)
        return cloner.values(block.yields)

    def replay_block(self, scope: Scope, block: Block) -> Block:
        copy = Block([p.type for p in block.parameters])
        for old, new in zip(block.parameters, copy.parameters):
            scope.define(old, new)
        with self.inside(copy):
            copy.yields = self.replay(scope, block)
        return copy

    # The reverse sweep.

    def reverse(self, scope: Scope, block: Block, adjoints: Adjoints) -> None:
        """Walk ``block`` backwards, turning the adjoints of its values into those of what they came from."""
        for op in reversed(block.ops):
            self.builder.location = op.location
            rule = _RULES.get(op.name)
            if rule is not None:
                rule(self, scope, op, adjoints)
            elif op.results:
                self.apply_derivative(scope, op, adjoints)

    def apply_derivative(self, scope: Scope, op: Op, adjoints: Adjoints) -> None:
        """Apply the rule that the table of primitives has for ``op``."""
        incoming = [adjoints.pop(r, None) for r in op.results]
        derivative = TABLE[op.name].derivative
        if derivative is None or all(g is None for g in incoming):
            return
        builder = self.builder
        wrapped = [None if g is None else Expression(builder, g) for g in incoming]
        operands = [Recalled(builder, scope, v) for v in op.operands]
        results = [Recalled(builder, scope, v) for v in op.results]
        contributions = derivative(wrapped[0] if len(wrapped) == 1 else wrapped, *operands, *results)
        guarded = op.name not in WITHOUT_FACTOR and not self.infinite.isdisjoint(op.operands)
        for operand, contribution in zip(op.operands, contributions):
            if contribution is not None and differentiable(operand.type):
                if guarded and wrapped[0] is not None:
                    contribution = wrapped[0].guards(contribution)
                self.accumulate(adjoints, operand, contribution.value)

    def accumulate(self, adjoints: Adjoints, value: Value, contribution: Value) -> None:
        """Add to the adjoint of ``value``."""
        if value.constant is not None:
            return
        so_far = adjoints.get(value)
        adjoints[value] = contribution if so_far is None else self.builder.emit("add", so_far, contribution)

    # Shared by the rules.

    def for_function(self, function: Function, builder: Builder) -> Transform:
        """A transform of a called function, with frame numbers that do not collide with this one's."""
        return Transform(function, builder, {}, self.frame_numbers)

    def adjoint_of(self, function: Function) -> Function:
        """The adjoint of a called function; see ``adjoint.adjoint_function``."""
        from treadle.ad.adjoint import adjoint_function

        return adjoint_function(function, self.frame_numbers)

    def inside(self, block: Block) -> _Inside:
        """A context in which ops go to ``block``."""
        return _Inside(self.builder, block)

    def new_frame(self) -> int:
        """A number that the stack ops of one loop have in common."""
        return next(self.frame_numbers)

    def has_work(self, op: Op) -> bool:
        """Whether reversing ``op`` can do something even if its results have no adjoint."""
        return any(inner.name in WITH_WORK for block in op.blocks for inner in block.walk())

    def outer_values(self, op: Op) -> list[Value]:
        """The differentiable values from outside that a loop uses."""
        found = self.free_values.get(op)
        if found is None:
            used: dict[Value, None] = {}
            inside: set[Value] = set()
            for block in op.blocks:
                _collect(block, used, inside)
            found = [v for v in used if v not in inside and differentiable(v.type) and v.constant is None]
            self.free_values[op] = found
        return found


def _collect(block: Block, used: dict[Value, None], inside: set[Value]) -> None:
    inside.update(block.parameters)
    for op in block.ops:
        used.update(dict.fromkeys(op.operands))
        inside.update(op.results)
        for inner in op.blocks:
            _collect(inner, used, inside)
    used.update(dict.fromkeys(block.yields))


class _Inside:
    __slots__ = ("builder", "block", "outer")

    def __init__(self, builder: Builder, block: Block) -> None:
        self.builder = builder
        self.block = block

    def __enter__(self) -> None:
        self.outer = self.builder.block
        self.builder.block = self.block

    def __exit__(self, *exception: object) -> None:
        self.builder.block = self.outer


def _reverse_extract(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Add to one component of the aggregate's adjoint, instead of adding an aggregate that is zero elsewhere."""
    g = adjoints.pop(op.result, None)
    aggregate, index = op.operands
    if g is None or not differentiable(aggregate.type):
        return
    so_far = adjoints.get(aggregate)
    if so_far is None:
        so_far = transform.builder.zero(adjoint_type(aggregate.type))
    at = scope.recall(index)
    total = transform.builder.emit("add", transform.builder.emit("extract", so_far, at), g)
    adjoints[aggregate] = transform.builder.emit("insert", so_far, at, total)


_RULES: dict[str, Any] = {
    "if": branches.reverse,
    "for": loops.reverse,
    "while": loops.reverse,
    "load": memory.reverse_load,
    "store": memory.reverse_store,
    "atomic": memory.reverse_atomic,
    "extract": _reverse_extract,
    "call": custom.reverse,
    "native": custom.reverse_native,
    "frame": frames.reverse_frame,
    "save": frames.reverse_save,
    "restore": frames.reverse_restore,
}
