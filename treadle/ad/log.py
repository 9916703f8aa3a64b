"""Values that cannot be had a second time by running the same op again, and the log that keeps them.

Such are the values that atomics return, and loads from memory that the kernel itself has written
to. Each thread appends them to its log in the order in which the ops run; whoever runs part of the
kernel again reads them back. So that a loop body which is run again out of order knows where its
values are, the position in the log is carried through the kernel's control flow like a variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from treadle.ad.errors import DerivativeError
from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.depth import deep
from treadle.passes.access import Origins
from treadle.passes.clone import Cloner
from treadle.types import scalars
from treadle.types.storage import ArrayRef, StorageType

Positions = dict[Op, Value]
"""From the ops whose results are logged to their positions in the log."""


@dataclass(frozen=True)
class Logs:
    """Which ops of a function have their results in a log, and where.

    ``thread``: loads, logged by the primal sweep of the adjoint itself. ``launch``: atomics, logged
    when the kernel ran. ``repeated``: stores and atomics that the primal sweep runs again, on
    scratch copies, so that the loads find what they found the first time.
    """

    thread: Positions = field(default_factory=dict)
    launch: Positions = field(default_factory=dict)
    repeated: frozenset[Op] = frozenset()


NO_LOGS = Logs()


def words(type_: StorageType) -> int:
    """The words of 8 bytes that a logged value takes."""
    assert not isinstance(type_, ArrayRef)
    return (type_.size + 7) // 8


def with_logs(
    function: Function, unrepeatable: frozenset[str], repeated: frozenset[str]
) -> tuple[Function, Logs, dict[Value, Value]]:
    """``function``, carrying along the positions in the logs that it needs; see ``Logs``.

    ``unrepeatable`` and ``repeated`` are labels, as for ``ad.adjoint_kernel``. Also returns the map
    from the values of the function given to those of the function returned.

    Raises:
        DerivativeError: something that a log cannot hold.
    """
    launch: Positions = {}
    thread: Positions = {}
    mapping: dict[Value, Value] = {}
    stores: frozenset[Op] = frozenset()
    atomics = used_atomics(function)
    if atomics:
        function, launch, _, mapping = with_positions(function, "launch", atomics.__contains__, {})
    if unrepeatable:
        loads = _touching(function, unrepeatable, ("load",))
        _check_calls(function, unrepeatable | repeated)
        function, thread, launch, second = with_positions(function, "thread", loads.__contains__, launch)
        mapping = {old: second[new] for old, new in mapping.items()} if mapping else second
        stores = _touching(function, repeated, ("store", "atomic"))
    return function, Logs(thread, launch, stores), mapping


def used_atomics(function: Function) -> set[Op]:
    """The atomics whose result something uses."""
    used = function.used_values()
    return {op for op in function.body.walk() if op.name == "atomic" and op.results[0] in used}


def only_extrema(function: Function) -> set[Op]:
    """The atomics min and max on arrays that the function changes by this kind of atomic alone.

    Then what an array holds after the launch tells which value won.
    """
    found = {op for op in function.body.walk() if op.name == "atomic" and op.attributes["kind"] in ("min", "max")}
    if not found:
        return found
    origins = Origins(function)
    kinds: dict[str, set[str]] = {}
    for op in function.body.walk():
        if op.name in ("store", "atomic"):
            for label in origins.of(op.operands[0]):
                kinds.setdefault(label, set()).add(op.attributes.get("kind", "store"))
        elif op.name in ("call", "native"):
            for value in op.operands:
                for label in origins.of(value) if isinstance(value.type, ArrayRef) else ():
                    kinds.setdefault(label, set()).add("call")
    return {op for op in found if all(len(kinds[label]) == 1 for label in origins.of(op.operands[0]))}


@deep
def with_appends(function: Function) -> Function:
    """A kernel that also logs what its atomics return, for its adjoint to read."""
    copy = Function(f"{function.name}_logged", Block(), function.is_kernel, list(function.labels), function.custom)
    mapping = {old: copy.body.add_parameter(old.type, old.name) for old in function.parameters}
    builder = Builder(copy.body)
    builder.emit_many("log_mark", log="launch")
    copy.body.yields = _Appending(builder, mapping, used_atomics(function)).block_body(function.body)
    return copy


class _Appending(Cloner):
    __slots__ = ("atomics",)

    def __init__(self, builder: Builder, mapping: dict[Value, Value], atomics: set[Op]) -> None:
        super().__init__(builder, mapping)
        self.atomics = atomics

    def op(self, op: Op) -> list[Value]:
        results = super().op(op)
        if op in self.atomics:
            self.builder.emit_many("log_append", results[0], log="launch")
        return results


def _touching(function: Function, labels: frozenset[str], names: tuple[str, ...]) -> frozenset[Op]:
    """The ops of these names whose array is one of those labelled.

    Raises:
        DerivativeError: it may be, or be another one.
    """
    found = set()
    origins = Origins(function)
    for op in function.body.walk():
        if op.name in names:
            possible = origins.of(op.operands[0])
            if possible & labels:
                if not possible <= labels:
                    raise DerivativeError(
                        f"a variable stands for one of the arrays {', '.join(sorted(possible))}, some of which the "
                        "kernel reads after writing to them; the gradient of this is not supported",
                        op.location,
                    )
                found.add(op)
    return frozenset(found)


def _check_calls(function: Function, labels: frozenset[str]) -> None:
    """Refuse calls of C++, or of functions with an own derivative, on arrays that are read after being written."""
    origins = Origins(function)
    for op in function.body.walk():
        if op.name in ("call", "native"):
            for value in op.operands:
                if isinstance(value.type, ArrayRef) and origins.of(value) & labels:
                    callee = op.attributes.get("callee")
                    raise DerivativeError(
                        f"{f'function {callee.name}' if callee else 'a func_native'}, which has a derivative of its "
                        "own, gets an array that the kernel reads after writing to it; this has no gradient yet",
                        op.location,
                    )


def with_positions(
    function: Function, log: str, is_logged: Callable[[Op], bool], known: Positions
) -> tuple[Function, Positions, Positions, dict[Value, Value]]:
    """A copy of ``function`` that carries the position in ``log`` along.

    ``is_logged`` chooses the ops whose results are logged; ``known`` are positions in another log.
    Returns the copy, its positions in this log and in the other, and the map from the values of the
    function to those of the copy.
    """
    copy = Function(function.name, Block(), function.is_kernel, list(function.labels), function.custom)
    mapping = {old: copy.body.add_parameter(old.type, old.name) for old in function.parameters}
    threading = _Threading(Builder(copy.body), mapping, log, is_logged, known)
    copy.body.yields = threading.block_body(function.body)
    return copy, threading.positions, threading.moved, mapping


class _Threading(Cloner):
    """A cloner that adds the position to what ``if`` yields and loops carry, where something inside is logged."""

    __slots__ = ("is_logged", "position", "positions", "known", "moved", "_holders")

    def __init__(
        self, builder: Builder, mapping: dict[Value, Value], log: str, is_logged: Callable[[Op], bool], known: Positions
    ) -> None:
        super().__init__(builder, mapping)
        self.is_logged = is_logged
        self.position = builder.emit("log_start", log=log)
        self.positions: Positions = {}
        self.known = known
        self.moved: Positions = {}
        self._holders: dict[Op, bool] = {}

    def op(self, op: Op) -> list[Value]:
        if op.blocks and self._holds(op):
            return self._branches(op) if op.name == "if" else self._loop(op)
        results = super().op(op)
        if op in self.known:
            self.moved[_owner(results)] = self.mapping[self.known[op]]
        if self.is_logged(op):
            self.positions[_owner(results)] = self.position
            step = self.builder.constant(scalars.int64, words(op.result.type))
            self.position = self.builder.emit("add", self.position, step, nowrap=True)
        return results

    def _holds(self, op: Op) -> bool:
        found = self._holders.get(op)
        if found is None:
            found = any(self.is_logged(inner) for block in op.blocks for inner in block.walk())
            self._holders[op] = found
        return found

    def _branches(self, op: Op) -> list[Value]:
        before = self.position
        self.builder.location = op.location
        new_op = self.builder.op("if", self.values(op.operands), [r.type for r in op.results], dict(op.attributes))
        for block in op.blocks:
            self.position = before
            copy = self.block(block)
            copy.yields.append(self.position)
            new_op.blocks.append(copy)
        self.position = new_op.add_result(scalars.int64)
        self.mapping.update(zip(op.results, new_op.results))
        return new_op.results[:-1]

    def _loop(self, op: Op) -> list[Value]:
        operands = [*self.values(op.operands), self.position]
        self.builder.location = op.location
        new_op = self.builder.op(op.name, operands, [r.type for r in op.results], dict(op.attributes))
        for block in op.blocks:
            new_op.blocks.append(self._loop_block(block, is_body=block is op.blocks[-1]))
        self.position = new_op.add_result(scalars.int64)
        self.mapping.update(zip(op.results, new_op.results))
        return new_op.results[:-1]

    def _loop_block(self, block: Block, is_body: bool) -> Block:
        copy = Block([p.type for p in block.parameters])
        self.mapping.update(zip(block.parameters, copy.parameters))
        self.position = copy.add_parameter(scalars.int64)
        outer, self.builder.block = self.builder.block, copy
        copy.yields = self.block_body(block)
        self.builder.block = outer
        if is_body:
            copy.yields.append(self.position)
        return copy


def _owner(results: list[Value]) -> Op:
    owner = results[0].owner
    assert isinstance(owner, Op)
    return owner
