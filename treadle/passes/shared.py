"""Counts the work on values that come from memory and are the same in all threads of a row.

Threads of a row differ in the index of the last dimension of the launch alone.
"""

from __future__ import annotations

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import TABLE
from treadle.ir.depth import deep

# Whether a value follows from constants and parameters, was loaded and is the same in all threads, or differs.
_INVARIANT, _SHARED, _VARYING = range(3)


@deep
def shared_work(function: Function, launch_ndim: int) -> int:
    """How many operations a thread does on such values; constant loops count as often as they run."""
    count = _Count(launch_ndim)
    count.block(function.body, 1)
    return count.total


class _Count:
    def __init__(self, launch_ndim: int) -> None:
        self.last_axis = launch_ndim - 1
        self.states: dict[Value, int] = {}
        self.total = 0

    def block(self, block: Block, times: int) -> None:
        for op in block.ops:
            if op.blocks:
                self._structured(op, times)
                continue
            state = self._state(op)
            self.states.update(dict.fromkeys(op.results, state))
            if state == _SHARED and op.name != "load":
                self.total += times

    def _of(self, values: list[Value]) -> int:
        return max((self.states.get(v, _INVARIANT) for v in values), default=_INVARIANT)

    def _state(self, op: Op) -> int:
        if op.name == "thread_index":
            differs = op.attributes["rank"] == 1 or op.attributes["axis"] >= self.last_axis
            return _VARYING if differs else _INVARIANT
        if op.name == "load":
            return max(_SHARED, self._of(op.operands))
        return self._of(op.operands) if TABLE[op.name].effect == "pure" else _VARYING

    def _structured(self, op: Op, times: int) -> None:
        if op.name == "if":
            for block in op.blocks:
                self.block(block, times)
            condition = self._of(op.operands)
            for k, result in enumerate(op.results):
                self.states[result] = max(condition, self._of([block.yields[k] for block in op.blocks]))
            return
        first = 1 if op.name == "for" else 0
        trips = op.operands[0].constant if first else None
        body = op.blocks[-1]
        # One walk is enough for an estimate, and loops may be nested deeply.
        for block in op.blocks:
            for parameter, initial in zip(block.parameters[first:], op.operands[first:]):
                self.states[parameter] = self._of([initial])
            self.block(block, times * max(1, int(trips or 1)))
        for result, initial, value in zip(op.results, op.operands[first:], body.yields):
            self.states[result] = self._of([initial, value])
