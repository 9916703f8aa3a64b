"""Decides in which memory each aggregate lives, so that aggregates are copied only where a value is needed twice.

Values of the IR never change, but an ``insert`` into an aggregate that is not used afterwards can
be done in place, and a loop can keep a carried aggregate in one buffer. This is the coalescing of
copies known from register allocation: two values may share a buffer if neither is alive where the
other is written; values that a copy would connect (the operand and the result of an ``insert``, what
a block yields and what it is bound to) are merged where possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from treadle.ir.core import Block, Function, Op, Value
from treadle.types.storage import Aggregate, StorageType


@dataclass
class Buffers:
    """The number of the buffer of each aggregate, and the address of each buffer, filled in by the emitter."""

    number: dict[Value, int] = field(default_factory=dict)
    address: dict[int, str] = field(default_factory=dict)


def assign_buffers(function: Function) -> Buffers:
    """The buffers for the aggregates of a function. Parameters are never written to, nor share a buffer."""
    return _Assignment(function).buffers()


def _aggregates(values: Iterable[Value]) -> list[Value]:
    return [v for v in values if isinstance(v.type, Aggregate)]


class _Assignment:
    """Liveness, then merging, then numbering."""

    def __init__(self, function: Function) -> None:
        self.parent: dict[Value, Value] = {}
        self.conflicts: dict[Value, set[Value]] = {}
        self.captured: dict[Block, set[Value]] = {}
        # Copies to avoid, the dearest first: in loops' yields and inserts, at loops' entries, of elementwise ops.
        self.wishes: tuple[list[tuple[Value, Value]], ...] = ([], [], [])
        self.fixed = _aggregates(function.parameters)
        self._find_captured(function.body)
        live = self._walk(function.body, set(self.fixed))
        self._define(self.fixed, live)

    # Liveness. Every set holds aggregates only.

    def _find_captured(self, block: Block) -> set[Value]:
        """The values from outside that a block uses, its nested blocks included."""
        used, defined = set(_aggregates(block.yields)), set(block.parameters)
        for op in block.ops:
            used.update(_aggregates(op.operands))
            defined.update(op.results)
            for inner in op.blocks:
                used |= self._find_captured(inner)
        self.captured[block] = used - defined
        return self.captured[block]

    def _walk(self, block: Block, live: set[Value]) -> set[Value]:
        """From the values alive after a block to those alive at its start, its parameters among them."""
        live.update(_aggregates(block.yields))
        for op in reversed(block.ops):
            results = _aggregates(op.results)
            if results:
                self._define(results, live)
                live.difference_update(results)
                self._wish(op, results[0])
            if op.blocks:
                live = _NESTED[op.name](self, op, live) if op.name in _NESTED else live
            live.update(_aggregates(op.operands))
        return live

    def _define(self, values: list[Value], live: set[Value]) -> None:
        """``values`` are written at a point after which ``live`` are alive."""
        for value in values:
            mine = self.conflicts.setdefault(value, set())
            self.parent.setdefault(value, value)
            for other in live.union(values):
                if other is not value:
                    mine.add(other)
                    self.conflicts.setdefault(other, set()).add(value)

    def _wish(self, op: Op, result: Value) -> None:
        if op.name == "insert":
            self.wishes[0].append((result, op.operands[0]))
        elif op.name not in _NESTED:
            self.wishes[2].extend((result, v) for v in op.operands if v.type == result.type)

    def _if(self, op: Op, live: set[Value]) -> set[Value]:
        before: set[Value] = set()
        for block in op.blocks:
            self.wishes[0].extend(_pairs(op.results, block.yields))
            before |= self._walk(block, set(live))
        return before

    def _for(self, op: Op, live: set[Value]) -> set[Value]:
        (body,) = op.blocks
        carried = body.parameters[1:]
        through = live | self.captured[body]
        self._define(_aggregates(carried), self._walk(body, set(through)))
        self._carry(op, op.operands[1:], [carried], body.yields)
        return through

    def _while(self, op: Op, live: set[Value]) -> set[Value]:
        condition, body = op.blocks
        through = live | self.captured[condition] | self.captured[body]
        self._define(_aggregates(body.parameters), self._walk(body, set(through)))
        # The body and what follows the loop read the carried values after the condition.
        carried = _aggregates(condition.parameters)
        self._define(carried, self._walk(condition, through.union(carried)))
        self._carry(op, op.operands, [condition.parameters, body.parameters], body.yields)
        return through

    def _carry(self, op: Op, initial: list[Value], parameters: list[list[Value]], yields: list[Value]) -> None:
        for names in parameters:  # one buffer for a carried value, wherever it is named
            for result, parameter in _pairs(op.results, names):
                self._merge(self._root(result), self._root(parameter))
        self.wishes[0].extend(_pairs(op.results, yields))
        self.wishes[1].extend(_pairs(op.results, initial))

    # Merging and numbering.

    def _root(self, value: Value) -> Value:
        parent = self.parent
        while parent[value] is not value:
            parent[value] = parent[parent[value]]
            value = parent[value]
        return value

    def _merge(self, a: Value, b: Value) -> None:
        """Let two roots share a buffer."""
        if a is b:
            return
        if len(self.conflicts[a]) < len(self.conflicts[b]):
            a, b = b, a
        self.parent[b] = a
        self.conflicts[a] |= self.conflicts[b]

    def _conflict(self, a: Value, b: Value) -> bool:
        if len(self.conflicts[a]) > len(self.conflicts[b]):
            a, b = b, a
        return any(self._root(other) is b for other in self.conflicts[a])

    def buffers(self) -> Buffers:
        for wishes in self.wishes:
            for a, b in wishes:
                a, b = self._root(a), self._root(b)
                if a is not b and not self._conflict(a, b):
                    self._merge(a, b)
        result = Buffers()
        numbers: dict[Value, int] = {}
        types: list[StorageType] = []
        for value in self.parent:
            root = self._root(value)
            if root not in numbers:
                taken = {numbers.get(self._root(other)) for other in self.conflicts[root]}
                free = (k for k, t in enumerate(types) if t == value.type and k not in taken)
                number = numbers[root] = next(free, len(types))
                if number == len(types):
                    types.append(value.type)
            result.number[value] = numbers[root]
        return result


def _pairs(targets: list[Value], sources: list[Value]) -> list[tuple[Value, Value]]:
    return [(a, b) for a, b in zip(targets, sources) if isinstance(a.type, Aggregate)]


_NESTED = {"if": _Assignment._if, "for": _Assignment._for, "while": _Assignment._while}
