"""Unrolls short loops with a constant number of iterations, so that indices in them become constants."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.passes.clone import Cloner

BUDGET = 4096
"""The number of ops that one loop may become, if it picks components of composites, which constant indices simplify."""
SMALL_BUDGET = 512
"""The same for other loops: unrolling gains them little, and code takes time to compile."""


def unroll(function: Function, max_unroll: int, budget: int = BUDGET) -> Function:
    """``function`` with its ``for`` loops of at most ``max_unroll`` iterations unrolled, inner loops first.

    A loop that would become more than ``budget`` ops stays, with its inner loops unrolled.
    """
    if not any(op.name == "for" and op.operands[0].constant is not None for op in function.body.walk()):
        return function
    body = _Unroller(max_unroll, budget).block(function.body)
    return replace(function, body=body, labels=list(function.labels))


def _size(block: Block) -> int:
    """The number of ops, without constants: those cost nothing."""
    return sum(1 for op in block.walk() if op.name != "constant")


def _picks(block: Block) -> bool:
    return any(op.name in ("pick", "place") for op in block.walk())


class _Unroller(Cloner):
    __slots__ = ("max_unroll", "budget")

    def __init__(self, max_unroll: int, budget: int) -> None:
        super().__init__(Builder(Block()), {})
        self.max_unroll = max_unroll
        self.budget = budget

    def op(self, op: Op) -> list[Value]:
        if op.name != "for":
            return super().op(op)
        count = self.value(op.operands[0]).constant
        if count is None or count > self.max_unroll:
            return super().op(op)
        results = self._loop(op, max(count, 0))
        self.mapping.update(zip(op.results, results))
        return results

    def _loop(self, op: Op, count: int) -> list[Value]:
        operands = self.values(op.operands)
        body = self.block(op.blocks[0])  # with its inner loops unrolled
        self.builder.location = op.location
        budget = self.budget if _picks(body) else min(self.budget, SMALL_BUDGET)
        if count * _size(body) > budget:
            return self.builder.op("for", operands, [r.type for r in op.results], dict(op.attributes), [body]).results
        # Inner loops whose count depends on k unroll in the copies; together they share the budget.
        budget, self.budget = self.budget, self.budget // max(count, 1)
        carried = operands[1:]
        for k in range(count):
            iteration = self.builder.constant(operands[0].type, k)  # type: ignore[arg-type]
            self.mapping.update(zip(body.parameters, [iteration, *carried]))
            carried = self.block_body(body)
        self.budget = budget
        return carried
