"""Gives every array handle of a function its companion: the handle of the array of gradients.

The companion of a parameter is a new parameter; a view, slice or choice of arrays has the same
view, slice or choice of companions. Afterwards the derivative transform finds the gradient of an
array like any other value. Where a gradient exists and cannot be reached, the companion is a value
that must not be used.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import Enum, auto
from typing import Optional

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Location, Op, Value
from treadle.passes.access import Flow
from treadle.passes.clone import Cloner
from treadle.types.storage import ArrayRef

ADJOINT_LABEL = "adj:"
RETAINED_LABEL = "retained:"

Companions = dict[Value, Optional[Value]]
"""From every array handle to the handle of its gradient, or None: the array has no gradient."""

_IN_MEMORY = "the gradient of an array that is a member of a struct in an array is not supported"
_FROM_CALL = (
    "the gradient of an array that a function returns is not supported, if the function has a derivative of its own"
)
_MIXED = {
    ADJOINT_LABEL: "a variable stands for an array with a gradient or for one without, depending on values at run "
    "time: give all of these arrays requires_grad=True; in place of None, pass an array without elements",
    RETAINED_LABEL: "a variable stands for an array with retain_grad=True or for one without, depending on values at "
    "run time: give it to all of these arrays or to none",
}


def with_companions(
    function: Function, active: Collection[str], contiguous: bool = True, prefix: str = ADJOINT_LABEL
) -> tuple[Function, Companions, dict[Value, Value]]:
    """A copy of ``function`` with a companion parameter for each array parameter labelled in ``active``.

    ``contiguous``: whether the companion of a contiguous array is contiguous; else none is.
    Returns it together with the map from all its array handles to companions, and the map from the values of
    the function to those of the copy. The companion of a handle whose gradient cannot be reached is the result of the
    op ``unavailable``.
    """
    copy = Function(function.name, Block(), function.is_kernel, list(function.labels), function.custom)
    mapping = {old: copy.body.add_parameter(old.type, old.name) for old in function.parameters}
    pairing = _Pairing(Builder(copy.body), mapping, _Kinds(function, active, prefix), contiguous)
    for label, old in zip(function.labels, function.parameters):
        if isinstance(old.type, ArrayRef):
            parameter, companion = mapping[old], None
            if label in active:
                companion = copy.body.add_parameter(pairing.type_of(parameter), f"adj_{parameter.name}")
                copy.labels.append(prefix + label)
            pairing.companions[parameter] = companion
    copy.body.yields = pairing.block_body(function.body)
    return copy, pairing.companions, mapping


def carried_over(companions: Companions, mapping: dict[Value, Value]) -> Companions:
    """The companions of a function, for a copy of it; an empty map stands for the function itself."""
    if not mapping:
        return companions
    return {
        mapping[handle]: mapping[companion] if companion is not None else None
        for handle, companion in companions.items()
        if handle in mapping
    }


class _Kind(Enum):
    """What the array behind a handle can be: without elements, or with or without a gradient that can be reached."""

    NULL = auto()
    INACTIVE = auto()
    ACTIVE = auto()
    IN_MEMORY = auto()
    FROM_CALL = auto()


_WITHOUT_GRADIENT = frozenset((_Kind.NULL, _Kind.INACTIVE))


class _Kinds:
    """Says of the handles of a function what they can refer to, before any companion is made.

    It must be known beforehand for the handles that a loop carries, which come from the loop's own body.
    """

    def __init__(self, function: Function, active: Collection[str], prefix: str) -> None:
        self._flow = Flow()
        self._flow.block(function.body)
        self._labels = dict(zip(function.parameters, function.labels))
        self._active = active
        self._mixed = _MIXED[prefix]
        self._known: dict[Value, frozenset[_Kind]] = {}
        self.records: dict[int, list[Value]] = {}
        """For each group of frames, what a ``restore`` yields."""
        for op in function.body.walk():
            if op.name == "restore":
                self.records[op.attributes["slot_group"]] = op.results

    def of(self, handle: Value) -> frozenset[_Kind]:
        """All that the handle can refer to."""
        found = self._known.get(handle)
        if found is None:
            found = self._known[handle] = frozenset(map(self._of_root, self._roots(handle)))
        return found

    def is_paired(self, handle: Value) -> bool:
        """Whether the handle has a companion, perhaps one that must not be used."""
        return not self.of(handle) <= _WITHOUT_GRADIENT

    def obstacle(self, handle: Value) -> Optional[str]:
        """Why the companion of a handle cannot be made; None if it can."""
        kinds = self.of(handle)
        if kinds <= _WITHOUT_GRADIENT:
            return None
        if _Kind.INACTIVE in kinds:
            return self._mixed
        if _Kind.IN_MEMORY in kinds:
            return _IN_MEMORY
        return _FROM_CALL if _Kind.FROM_CALL in kinds else None

    def _roots(self, handle: Value) -> set[Value]:
        """Where the handle comes from in the end: parameters, and results that are no part or choice of others."""
        roots, seen, pending = set(), {handle}, [handle]
        while pending:
            value = pending.pop()
            sources = self._flow.sources.get(value)
            if not sources or (isinstance(value.owner, Op) and value.owner.name in ("load", "call")):
                roots.add(value)
                continue
            pending += [source for source in sources if source not in seen]
            seen.update(sources)
        return roots

    def _of_root(self, root: Value) -> _Kind:
        if root in self._labels:
            return _Kind.ACTIVE if self._labels[root] in self._active else _Kind.INACTIVE
        op = root.owner
        if isinstance(op, Op) and op.name == "load":
            return _Kind.IN_MEMORY if self._active else _Kind.INACTIVE
        if isinstance(op, Op) and op.name == "call":
            paired = any(self.is_paired(v) for v in op.operands if isinstance(v.type, ArrayRef))
            return _Kind.FROM_CALL if paired else _Kind.INACTIVE
        return _Kind.NULL


class _Pairing(Cloner):
    """A cloner that makes the companion of each array handle right after the handle."""

    __slots__ = ("companions", "contiguous", "kinds")

    def __init__(self, builder: Builder, mapping: dict[Value, Value], kinds: _Kinds, contiguous: bool) -> None:
        super().__init__(builder, mapping)
        self.companions: Companions = {}
        self.kinds = kinds
        self.contiguous = contiguous

    def type_of(self, handle: Value) -> ArrayRef:
        """The type of the companion of a handle."""
        assert isinstance(handle.type, ArrayRef)
        return handle.type if self.contiguous else replace(handle.type, contiguous=False)

    def op(self, op: Op) -> list[Value]:
        if op.name == "save" and op.attributes["slot_group"] in self.kinds.records:
            return self._save(op)
        if not any(isinstance(r.type, ArrayRef) for r in op.results):
            return super().op(op)
        if op.name in ("for", "while"):
            return self._loop(op)
        if op.name == "restore":
            return self._restore(op)
        results = super().op(op)
        if op.name == "if":
            self._pair_branches(op, results)
        else:
            for old, new in zip(op.results, results):
                if isinstance(old.type, ArrayRef) and new not in self.companions:
                    self.companions[new] = self._pair(op, old, new)
        return results

    def _is_carried(self, handle: Value) -> bool:
        """Whether a value is a handle whose companion goes along with it."""
        return isinstance(handle.type, ArrayRef) and self.kinds.is_paired(handle) and not self.kinds.obstacle(handle)

    def _companion(self, handle: Value) -> Value:
        """The companion of a handle of the copy, as an operand; nothing for a handle that refers to nothing."""
        companion = self.companions[handle]
        return self.builder.zero(self.type_of(handle)) if companion is None else companion

    def _unavailable(self, handle: Value, reason: str, location: Optional[Location]) -> Value:
        self.builder.location = location
        return self.builder.emit("unavailable", type=self.type_of(handle), reason=reason)

    def _mark(self, old: list[Value], new: list[Value], location: Optional[Location]) -> None:
        """The companions of handles that have none, or none that can be used."""
        for handle, copy in zip(old, new):
            if isinstance(handle.type, ArrayRef) and copy not in self.companions:
                obstacle = self.kinds.obstacle(handle)
                companion = None if obstacle is None else self._unavailable(copy, obstacle, location)
                self.companions[copy] = companion

    def _pair(self, op: Op, old: Value, new: Value) -> Optional[Value]:
        """The companion of the result of an op without blocks."""
        obstacle = self.kinds.obstacle(old)
        if obstacle is not None:
            return self._unavailable(new, obstacle, op.location)
        if not self.kinds.is_paired(old):
            return None
        operands = self.values(op.operands)
        if op.name == "select":
            return self.builder.emit("select", operands[0], *map(self._companion, operands[1:]))
        assert op.name in ("view", "slice"), op.name
        return self.builder.emit(op.name, self._companion(operands[0]), *operands[1:], **op.attributes)

    def _pair_branches(self, op: Op, results: list[Value]) -> None:
        for k, (old, new) in enumerate(zip(op.results, list(results))):
            if self._is_carried(old):
                new_op = new.owner
                assert isinstance(new_op, Op)
                for block in new_op.blocks:
                    outer, self.builder.block = self.builder.block, block
                    block.yields.append(self._companion(block.yields[k]))
                    self.builder.block = outer
                self.companions[new] = new_op.add_result(self.type_of(new))
        self._mark(op.results, results, op.location)

    def _loop(self, op: Op) -> list[Value]:
        """A loop that carries array handles carries their companions as well."""
        carried_from = 1 if op.name == "for" else 0
        paired = [k for k, r in enumerate(op.results) if self._is_carried(r)]
        operands = self.values(op.operands)
        operands += [self._companion(operands[carried_from + k]) for k in paired]
        self.builder.location = op.location
        new_op = self.builder.op(op.name, operands, [r.type for r in op.results], dict(op.attributes))
        for k in paired:
            self.companions[new_op.results[k]] = new_op.add_result(self.type_of(new_op.results[k]))
        for block in op.blocks:
            new_op.blocks.append(self._loop_block(block, paired, carried_from, block is op.blocks[-1]))
        results = new_op.results[: len(op.results)]
        self.mapping.update(zip(op.results, results))
        self._mark(op.results, results, op.location)
        return results

    def _loop_block(self, block: Block, paired: list[int], carried_from: int, is_body: bool) -> Block:
        copy = Block([p.type for p in block.parameters])
        self.mapping.update(zip(block.parameters, copy.parameters))
        handles = list(copy.parameters)
        for k in paired:
            handle = handles[carried_from + k]
            self.companions[handle] = copy.add_parameter(self.type_of(handle))
        outer, self.builder.block = self.builder.block, copy
        self._mark(block.parameters, handles, block.ops[0].location if block.ops else None)
        copy.yields = self.block_body(block)
        if is_body:
            copy.yields += [self._companion(copy.yields[k]) for k in paired]
        self.builder.block = outer
        return copy

    def _save(self, op: Op) -> list[Value]:
        """What is saved with a handle is its companion, behind the rest of the record."""
        kept = self.kinds.records[op.attributes["slot_group"]]
        operands = self.values(op.operands)
        extra = [self._companion(v) for v, restored in zip(operands[2:], kept) if self._is_carried(restored)]
        self.builder.location = op.location
        self.builder.op("save", [*operands, *extra], [], dict(op.attributes))
        return []

    def _restore(self, op: Op) -> list[Value]:
        paired = [k for k, r in enumerate(op.results) if self._is_carried(r)]
        types = [r.type for r in op.results]
        types += [self.type_of(op.results[k]) for k in paired]
        attributes = {**op.attributes, "types": tuple(types)}
        self.builder.location = op.location
        new_op = self.builder.op("restore", self.values(op.operands), types, attributes)
        results = new_op.results[: len(op.results)]
        self.companions.update(zip((results[k] for k in paired), new_op.results[len(op.results) :]))
        self.mapping.update(zip(op.results, results))
        self._mark(op.results, results, op.location)
        return results
