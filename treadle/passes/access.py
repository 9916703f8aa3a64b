"""Finds out what a kernel does with the arrays that it is given."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Optional

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.depth import deep
from treadle.types.storage import ArrayRef


@dataclass(frozen=True)
class Access:
    """What a kernel does with an array parameter.

    ``read``: loads from it. ``written``: stores to it. ``accumulated``: adds or subtracts
    atomically and does not look at what was there. ``atomic``: other atomics. ``needed``: the
    adjoint uses what the kernel read.
    """

    read: bool = False
    written: bool = False
    accumulated: bool = False
    atomic: bool = False
    needed: bool = False

    @property
    def changes(self) -> bool:
        """Whether the array may be another one afterwards."""
        return self.written or self.accumulated or self.atomic

    def as_dict(self) -> dict[str, bool]:
        return asdict(self)


@deep
def analyse(function: Function) -> dict[str, Access]:
    """The access to each parameter that is an array or has one in it, by label.

    An array that was read from an element of another counts as that other one. Where a handle can
    be one of several arrays, all of them are accessed.
    """
    kinds = _analysis(function)
    found: dict[str, Access] = {}
    for parameter, label in zip(function.parameters, function.labels):
        if isinstance(parameter.type, ArrayRef):
            known = found.setdefault(label, Access())
            found[label] = Access(**{k: v or k in kinds[parameter] for k, v in known.as_dict().items()})
    return found


@deep
def loads_of(function: Function, after: bool = False) -> set[str]:
    """The labels of the array parameters that are read.

    ``after``: those that an adjoint reads as they are after the forward launch; else, before.
    """
    kind = "read_after" if after else "read"
    kinds = _analysis(function)
    return {label for parameter, label in zip(function.parameters, function.labels) if kind in kinds[parameter]}


def _analysis(function: Function) -> dict[Value, set[str]]:
    """For each parameter, the names of the fields of ``Access`` that are true, and "read_after"."""
    flow = Flow()
    flow.block(function.body)
    kinds: dict[Value, set[str]] = {p: set() for p in function.parameters}
    for handle, kind, result in flow.accesses:
        if kind == "accumulated" and result in flow.used:
            kind = "atomic"
        for origin in flow.origins(handle):
            if origin in kinds:
                kinds[origin].add(kind)
    return kinds


class Origins:
    """Says which of a function's array parameters a handle can have come from."""

    def __init__(self, function: Function) -> None:
        self._flow = Flow()
        self._flow.block(function.body)
        self._labels = dict(zip(function.parameters, function.labels))

    def of(self, handle: Value) -> set[str]:
        """Their labels."""
        return {self._labels[v] for v in self._flow.origins(handle) if v in self._labels}


class Flow:
    """One walk over the ops: where handles come from, which are accessed, which values are used."""

    def __init__(self) -> None:
        self.sources: dict[Value, list[Value]] = {}
        self.accesses: list[tuple[Value, str, Optional[Value]]] = []
        """Handle, kind, and what an atomic returned."""
        self.used: set[Value] = set()
        self._saved: dict[int, list[list[Value]]] = {}
        self._restored: dict[int, list[list[Value]]] = {}

    def origins(self, handle: Value) -> set[Value]:
        """All values that a handle can have come from, itself included."""
        found, pending = {handle}, [handle]
        while pending:
            for source in self.sources.get(pending.pop(), ()):
                if source not in found:
                    found.add(source)
                    pending.append(source)
        return found

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.used.update(op.operands)
            self.op(op)
        self.used.update(block.yields)

    def op(self, op: Op) -> None:
        if op.name == "load":
            self.accesses.append((op.operands[0], "read_after" if op.attributes.get("after") else "read", None))
        elif op.name == "store":
            self.accesses.append((op.operands[0], "written", None))
        elif op.name == "atomic":
            kind = "accumulated" if op.attributes["kind"] in ("add", "sub") else "atomic"
            self.accesses.append((op.operands[0], kind, op.results[0]))
        elif op.name in ("native", "native_again"):
            self._native(op)
        if op.name == "call":
            self._call(op)
        elif op.name in ("save", "restore"):
            self._stack(op)
        elif op.blocks:
            self._control_flow(op)
        elif op.results and isinstance(op.results[0].type, ArrayRef):
            for operand in op.operands:
                if isinstance(operand.type, ArrayRef):
                    self._flows([operand], op.results)

    def _native(self, op: Op) -> None:
        """What C++ does with an array is not known: it may read and write it; in an adjoint it reads."""
        kinds = ("read_after",) if op.attributes.get("after") else ("read", "written", "atomic")
        for value in op.operands:
            if isinstance(value.type, ArrayRef):
                self.accesses += [(value, kind, None) for kind in kinds]

    def _stack(self, op: Op) -> None:
        """A handle that is restored from a frame is one of those that were saved there."""
        group = op.attributes["slot_group"]
        saved, restored = self._saved.setdefault(group, []), self._restored.setdefault(group, [])
        if op.name == "save":
            saved.append(op.operands[2:])
            for results in restored:
                self._flows(saved[-1], results)
        else:
            restored.append(op.results)
            for operands in saved:
                self._flows(operands, op.results)

    def _flows(self, sources: list[Value], targets: list[Value]) -> None:
        for source, target in zip(sources, targets):
            if isinstance(target.type, ArrayRef):
                self.sources.setdefault(target, []).append(source)

    def _control_flow(self, op: Op) -> None:
        leading = op.name == "for"
        if op.name != "if":
            self._flows(op.operands[leading:], op.results)
        for block in op.blocks:
            # The results of a loop stand for all that it can carry.
            self._flows(op.results, block.parameters[leading:])
            self.block(block)
            if not (op.name == "while" and block is op.blocks[0]):
                self._flows(block.yields, op.results)

    def _call(self, op: Op) -> None:
        """The callee's accesses; its results may be any of the arrays given to it."""
        callee: Function = op.attributes["callee"]
        kinds = _analysis(callee)
        for argument, parameter in zip(op.operands, callee.parameters):
            self.accesses.extend((argument, kind, None) for kind in kinds[parameter])
            if isinstance(argument.type, ArrayRef):
                for result in op.results:
                    self._flows([argument], [result])
