"""Finds out what a kernel does with the arrays that it is given, and with those that it finds in their elements."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any, Optional

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.depth import deep
from treadle.types.storage import ArrayRef

Place = tuple[str, bool]
"""Where an access goes: to the array with this label or, if true, to arrays that are members of structs in it."""

_NATIVE = ("native", "native_again")


@dataclass(frozen=True)
class Access:
    """What a kernel does with an array parameter.

    ``read``: loads from it. ``written``: stores to it. ``accumulated``: adds or subtracts
    atomically and does not look at what was there. ``atomic``: other atomics. ``needed``: the
    adjoint uses what the kernel read. ``members``: what it does with arrays that are members of
    structs in the elements, and in theirs; None if nothing.
    """

    read: bool = False
    written: bool = False
    accumulated: bool = False
    atomic: bool = False
    needed: bool = False
    members: Optional[Access] = None

    @property
    def changes(self) -> bool:
        """Whether the array may be another one afterwards."""
        return self.written or self.accumulated or self.atomic

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Access:
        """The opposite of ``as_dict``."""
        members = fields["members"]
        return Access(**{**fields, "members": None if members is None else Access.from_dict(members)})


@deep
def analyse(function: Function) -> dict[str, Access]:
    """The access to each parameter that is an array or has one in it, by label.

    Where a handle can be one of several arrays, all of them are accessed.
    """
    kinds = _kinds_by_label(function)
    labels = {label for p, label in zip(function.parameters, function.labels) if isinstance(p.type, ArrayRef)}
    return {label: _access(kinds[label, False], kinds[label, True]) for label in function.labels if label in labels}


def _access(kinds: set[str], members: set[str]) -> Access:
    """The access whose fields have these names."""
    fields = dict.fromkeys(kinds - {"read_after"}, True)
    return Access(**fields, members=_access(members, set()) if members else None)


@deep
def loads_of(function: Function, after: bool = False, members: bool = False) -> set[str]:
    """The labels of the array parameters that are read.

    ``after``: those that an adjoint reads as they are after the forward launch; else, before.
    ``members``: those of which it reads arrays that are members of structs in the elements.
    """
    kind = "read_after" if after else "read"
    kinds = _kinds_by_label(function)
    return {label for label in function.labels if kind in kinds[label, members]}


def _kinds_by_label(function: Function) -> dict[Place, set[str]]:
    """For each place, the names of the fields of ``Access`` that are true, and "read_after"."""
    kinds = _analysis(function)
    found: dict[Place, set[str]] = defaultdict(set)
    for parameter, label in zip(function.parameters, function.labels):
        for inside in (False, True):
            found[label, inside] |= kinds[parameter, inside]
    return found


def _analysis(function: Function) -> dict[tuple[Value, bool], set[str]]:
    """The same for each parameter, with whether it is about arrays in its elements."""
    flow = Flow()
    flow.block(function.body)
    kinds: dict[tuple[Value, bool], set[str]] = {(p, k): set() for p in function.parameters for k in (False, True)}
    for (handle, inside), kind, result in flow.accesses:
        if kind == "accumulated" and result in flow.used:
            kind = "atomic"
        for origin in flow.origins(handle, inside):
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
        """Their labels; a handle that was read from an element of an array has come from that array."""
        return {label for label, _ in self.places(handle)}

    def places(self, handle: Value, inside: bool = False) -> set[Place]:
        """The same, with whether it was read from an element; ``inside``: of arrays in the elements of the handle's."""
        found = self._flow.origins(handle, inside)
        return {(self._labels[value], within) for value, within in found if value in self._labels}


class Flow:
    """One walk over the ops: where handles come from, which are accessed, which values are used."""

    def __init__(self) -> None:
        self.sources: dict[Value, list[Value]] = {}
        """What a handle can be, or was read from, or was returned for."""
        self.stored: list[Value] = []
        """Handles that are written to memory, and can be any of those that are read from there."""
        self.accesses: list[tuple[tuple[Value, bool], str, Optional[Value]]] = []
        """Handle, and whether it is about arrays in its elements; kind; what an atomic returned."""
        self.used: set[Value] = set()
        self._saved: dict[Any, list[list[Value]]] = {}
        self._restored: dict[Any, list[list[Value]]] = {}

    def origins(self, handle: Value, inside: bool = False) -> set[tuple[Value, bool]]:
        """All values that a handle can have come from, itself included, with whether through an element of it."""
        found, pending = {(handle, inside)}, [(handle, inside)]
        while pending:
            for place in self._before(*pending.pop()):
                if place not in found:
                    found.add(place)
                    pending.append(place)
        return found

    def _before(self, value: Value, inside: bool) -> list[tuple[Value, bool]]:
        """The same, one step back."""
        sources = self.sources.get(value, ())
        op = value.owner.name if isinstance(value.owner, Op) else ""
        found = [(source, inside) for source in sources] if op != "load" else []
        if op in ("load", "call", *_NATIVE):
            found += [(source, True) for source in sources]
            found += [(source, inside) for source in self.stored]
        return found

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.used.update(op.operands)
            self.op(op)
        self.used.update(block.yields)

    def op(self, op: Op) -> None:
        if op.name == "load":
            self._access(op.operands[0], "read_after" if op.attributes.get("after") else "read")
            self._flows(op.operands[:1], op.results)
        elif op.name == "store":
            self._access(op.operands[0], "written")
            if isinstance(op.operands[-1].type, ArrayRef):
                self.stored.append(op.operands[-1])
        elif op.name == "atomic":
            kind = "accumulated" if op.attributes["kind"] in ("add", "sub") else "atomic"
            self._access(op.operands[0], kind, op.results[0])
        elif op.name in _NATIVE:
            self._native(op)
        elif op.name == "call":
            self._call(op)
        elif op.name in ("save", "restore"):
            self._stack(op)
        elif op.blocks:
            self._control_flow(op)
        else:
            self._may_return(_handles(op), op.results[:1])

    def _access(self, handle: Value, kind: str, result: Optional[Value] = None, inside: bool = False) -> None:
        self.accesses.append(((handle, inside), kind, result))

    def _native(self, op: Op) -> None:
        """What C++ does with an array is not known: it may read and write it; in an adjoint it reads."""
        kinds = ("read_after",) if op.attributes.get("after") else ("read", "written", "atomic")
        given = _handles(op)
        for value in given:
            for kind in kinds:
                self._access(value, kind)
                self._access(value, kind, inside=True)
        self._may_return(given, op.results)
        self.stored += given

    def _stack(self, op: Op) -> None:
        """A handle that is restored from a frame is one of those that were saved there."""
        group = op.attributes.get("slot_group")
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
        """The callee's accesses; its results may be any of the arrays given to it, or in their elements."""
        callee: Function = op.attributes["callee"]
        kinds = _analysis(callee)
        for argument, parameter in zip(op.operands, callee.parameters):
            for inside in (False, True):
                for kind in kinds[parameter, inside]:
                    self._access(argument, kind, inside=inside)
        self._may_return(_handles(op), op.results)
        if any(inner.name == "store" and isinstance(inner.operands[-1].type, ArrayRef) for inner in callee.body.walk()):
            self.stored += _handles(op)

    def _may_return(self, given: list[Value], results: list[Value]) -> None:
        for argument in given:
            for result in results:
                self._flows([argument], [result])


def _handles(op: Op) -> list[Value]:
    """The arrays among the operands of an op."""
    return [v for v in op.operands if isinstance(v.type, ArrayRef)]
