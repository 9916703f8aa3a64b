"""Moves what happens in the condition of a ``while`` to where the reverse sweep passes it.

The reverse sweep walks the bodies of loops, not their conditions. A condition that writes memory, or
reads what is logged, is evaluated before the loop and at the end of its body instead; the loop
carries the outcome, and that is its condition.
"""

from __future__ import annotations

from collections.abc import Collection

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.passes.clone import Cloner
from treadle.types import scalars

_EFFECTS = frozenset(("store", "atomic", "call"))


def with_plain_conditions(function: Function, loads: bool) -> Function:
    """``function`` without effects in the conditions of its loops; without loads as well, if ``loads``."""
    moved = _EFFECTS | {"load"} if loads else _EFFECTS
    if not any(_is_moved(op, moved) for op in function.body.walk()):
        return function
    copy = Function(function.name, Block(), function.is_kernel, list(function.labels), function.custom)
    mapping = {old: copy.body.add_parameter(old.type, old.name) for old in function.parameters}
    copy.body.yields = _Moving(Builder(copy.body), mapping, moved).block_body(function.body)
    return copy


def _is_moved(op: Op, moved: Collection[str]) -> bool:
    return op.name == "while" and any(inner.name in moved for inner in op.blocks[0].walk())


class _Moving(Cloner):
    __slots__ = ("moved",)

    def __init__(self, builder: Builder, mapping: dict[Value, Value], moved: Collection[str]) -> None:
        super().__init__(builder, mapping)
        self.moved = moved

    def op(self, op: Op) -> list[Value]:
        return self._while(op) if _is_moved(op, self.moved) else super().op(op)

    def _while(self, op: Op) -> list[Value]:
        builder, (condition, body) = self.builder, op.blocks
        types = [v.type for v in op.operands] + [scalars.bool_]
        initial = self.values(op.operands)
        first = self._evaluate(condition, initial)
        plain, copy = Block(types), Block(types)
        plain.yields = [plain.parameters[-1]]
        self.mapping.update(zip(body.parameters, copy.parameters))
        outer, builder.block = builder.block, copy
        carried = self.block_body(body)
        copy.yields = [*carried, self._evaluate(condition, carried)]
        builder.block, builder.location = outer, op.location
        results = builder.op("while", [*initial, first], types, dict(op.attributes), [plain, copy]).results[:-1]
        self.mapping.update(zip(op.results, results))
        return results

    def _evaluate(self, condition: Block, carried: list[Value]) -> Value:
        self.mapping.update(zip(condition.parameters, carried))
        (going,) = self.block_body(condition)
        return going
