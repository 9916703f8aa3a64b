"""Removes what has no effect: ops without used results, results and carried values that nobody uses,
and what the frames of the adjoint's stack save in vain.

Liveness is found by marking from the effects and the results of the function; a carried value
that only feeds itself is therefore never marked. The rest is then left out of a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Optional

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import TABLE
from treadle.ir.structure import STACK


def dead_code(function: Function) -> Function:
    """A function that does the same as ``function`` without the ops that do nothing."""
    marks = _Marks(function)
    return replace(function, body=_Sweep(marks).block(function.body, None), labels=list(function.labels))


class _Marks:
    """What is live.

    ``kept`` are ops. ``results`` says which results an op with nested blocks keeps (of a loop: which carried
    values), ``saved`` which positions of its records a group of stack ops keeps.
    """

    def __init__(self, function: Function) -> None:
        self.kept: set[Op] = set()
        self.results: dict[Op, set[int]] = {}
        self.saved: dict[Any, set[int]] = {}
        self._live: set[Value] = set()
        self._pending: list[Value] = []
        self._holder: dict[Block, Op] = {}
        self._parent: dict[Op, Op] = {}
        self._groups: dict[Any, list[Op]] = {}
        self._effects: dict[Function, bool] = {}
        self._appends: list[Op] = []
        """What is appended to the log of a thread, of no use to anybody until something reads it."""
        for op in self._collect(function.body, None):
            self._keep(op)
        self._mark(function.results)
        while self._pending:
            self._trace(self._pending.pop())

    def _collect(self, block: Block, holder: Optional[Op]) -> list[Op]:
        """Note what holds each op and block, and return the ops with effects."""
        effects = []
        for op in block.ops:
            if holder is not None:
                self._parent[op] = holder
            if op.blocks:
                self.results[op] = set()
                for inner in op.blocks:
                    self._holder[inner] = op
                    effects += self._collect(inner, op)
            elif op.name in STACK:
                self._groups.setdefault(op.attributes.get("slot_group"), []).append(op)
            elif op.name == "log_append" and op.attributes["log"] == "thread":
                self._appends.append(op)
            elif self._has_effect(op):
                effects.append(op)
        return effects

    def _has_effect(self, op: Op) -> bool:
        if op.name != "call":
            return TABLE[op.name].effect == "write"
        callee = op.attributes["callee"]
        if callee not in self._effects:
            self._effects[callee] = any(not inner.blocks and self._has_effect(inner) for inner in callee.body.walk())
        return self._effects[callee]

    def _mark(self, values: Iterable[Value]) -> None:
        live = self._live
        for value in values:
            if value not in live:
                live.add(value)
                self._pending.append(value)

    def _keep(self, op: Op) -> None:
        """Keep an op and those around it, with what they need whichever results are used."""
        node: Optional[Op] = op
        while node is not None and node not in self.kept:
            self.kept.add(node)
            needs = _NEEDS.get(node.name)
            self._mark(needs(node) if needs is not None else node.operands)
            if node.name == "log_read" and node.attributes["log"] == "thread":
                appends, self._appends = self._appends, []
                for append in appends:
                    self._keep(append)
            node = self._parent.get(node)

    def _trace(self, value: Value) -> None:
        """Mark what a live value comes from."""
        owner, index = value.owner, value.index
        if isinstance(owner, Block):
            loop = self._holder.get(owner)
            if loop is not None and not (loop.name == "for" and index == 0):
                self._carried(loop, index - (loop.name == "for"))
            return
        if owner not in self.kept:
            self._keep(owner)
        if owner.name == "if":
            self.results[owner].add(index)
            self._mark(block.yields[index] for block in owner.blocks)
        elif owner.blocks:
            self._carried(owner, index)
        elif owner.name == "restore":
            self._restored(owner.attributes.get("slot_group"), index)

    def _carried(self, loop: Op, index: int) -> None:
        """A carried value is live as a whole: what goes in, what each iteration yields, what comes out."""
        if index not in self.results[loop]:
            self.results[loop].add(index)
            self._mark((loop.operands[index + (loop.name == "for")], loop.blocks[-1].yields[index]))

    def _restored(self, group: Any, position: int) -> None:
        """The frame is needed, and this position in all its records."""
        if group not in self.saved:
            self.saved[group] = set()
            for op in self._groups[group]:
                if op.name != "restore":
                    self._keep(op)
        if position not in self.saved[group]:
            self.saved[group].add(position)
            for op in self._groups[group]:
                if op.name == "save":
                    self._mark(op.operands[2 + position : 3 + position])


_NEEDS: dict[str, Callable[[Op], Sequence[Value]]] = {
    "if": lambda op: op.operands[:1],
    "for": lambda op: op.operands[:1],
    "while": lambda op: op.blocks[0].yields,
    "save": lambda op: op.operands[:2],
}
"""The values that an op needs whichever of its results are used, where these are not all its operands."""


class _Sweep:
    """The copy of what is live."""

    def __init__(self, marks: _Marks) -> None:
        self.marks = marks
        self.mapping: dict[Value, Value] = {}

    def block(self, block: Block, holder: Optional[Op]) -> Block:
        """Copy a block; of the parameters of a loop's block, those in use."""
        parameters, yields = block.parameters, block.yields
        if holder is not None:
            live = self.marks.results[holder]
            leading = holder.name == "for"
            parameters = [p for p in parameters if (leading and p.index == 0) or p.index - leading in live]
            if not (holder.name == "while" and block is holder.blocks[0]):
                yields = [y for k, y in enumerate(yields) if k in live]
        copy = Block([p.type for p in parameters])
        self._map(parameters, copy.parameters)
        kept = self.marks.kept
        copy.ops = [self._op(op) for op in block.ops if op in kept]
        copy.yields = self._values(yields)
        return copy

    def _map(self, old_values: list[Value], new_values: list[Value]) -> None:
        for old, new in zip(old_values, new_values):
            new.name = old.name
            self.mapping[old] = new

    def _values(self, values: list[Value]) -> list[Value]:
        mapping = self.mapping
        return [mapping[v] for v in values]

    def _op(self, op: Op) -> Op:
        if op.blocks or op.name in ("save", "restore"):
            return self._partial(op)
        mapping = self.mapping
        operands, types = [mapping[v] for v in op.operands], [r.type for r in op.results]
        copy = Op(op.name, operands, types, dict(op.attributes), (), op.location)
        for old, new in zip(op.results, copy.results):
            new.name = old.name
            mapping[old] = new
        return copy

    def _partial(self, op: Op) -> Op:
        """An op of which only a part may be live."""
        operands, results, attributes = op.operands, op.results, dict(op.attributes)
        blocks: list[Block] = []
        if op.blocks:
            live = self.marks.results[op]
            results = [r for r in results if r.index in live]
            if op.name != "if":
                leading = op.name == "for"
                operands = [v for k, v in enumerate(operands, -leading) if k < 0 or k in live]
            blocks = [self.block(inner, op) for inner in op.blocks]
        else:
            live = self.marks.saved[attributes.get("slot_group")]
            if op.name == "save":
                operands = [v for k, v in enumerate(operands, -2) if k < 0 or k in live]
            else:
                results = [r for r in results if r.index in live]
                attributes["types"] = tuple(r.type for r in results)
        copy = Op(op.name, self._values(operands), [r.type for r in results], attributes, blocks, op.location)
        self._map(results, copy.results)
        return copy
