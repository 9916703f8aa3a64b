"""Finds the ops whose results decide something: a branch, a trip count, an index, which of two values is taken.

An adjoint runs a kernel again and must decide as the kernel did, to the last bit. Mathematical functions in vectors and
in scalars differ in the last bits, and whether LLVM uses vectors depends on all else in the machine code. So where such
a function decides something, it must be the same in both.
"""

from __future__ import annotations

from typing import Any

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.depth import deep
from treadle.passes.order import read_after_write
from treadle.types.scalars import ScalarMeta

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
# Ops that jump: the least difference in an operand can make a large one in the result.
_JUMPS = (*_COMPARISONS, "floor", "ceil", "trunc", "round", "rint", "mod", "floordiv", "bitcast")
_ORDINARY_ATOMICS = ("add", "sub")


@deep
def decisive(function: Function) -> set[Op]:
    """The ops that results of which decisions depend on, however many steps before."""
    search = _Search(function)
    search.run()
    return search.ops


class _Search:
    """A walk backwards from the operands of what decides. ``ops``: those found so far."""

    def __init__(self, function: Function) -> None:
        self.ops: set[Op] = set()
        self._seen: set[Value] = set()
        self._pending: list[Value] = []
        self._holders: dict[Block, Op] = {}
        self._saved: dict[Any, list[Op]] = {}
        self._appended: dict[str, list[Op]] = {}
        for op in function.body.walk():
            self._holders.update(dict.fromkeys(op.blocks, op))
            if op.name == "save":
                self._saved.setdefault(op.attributes.get("slot_group"), []).append(op)
            elif op.name == "log_append":
                self._appended.setdefault(op.attributes["log"], []).append(op)
        used = function.used_values()
        guards = _guards(function)
        # What the kernel reads again from memory that it has written must be the same in both as well.
        rereads = bool(read_after_write(function))
        for op in function.body.walk():
            if _decides(op, op.name == "atomic" and op.results[0] in used, rereads) and op not in guards:
                self._mark(op.operands)

    def _mark(self, values: list[Value]) -> None:
        for value in values:
            if value not in self._seen:
                self._seen.add(value)
                self._pending.append(value)

    def run(self) -> None:
        while self._pending:
            value = self._pending.pop()
            owner = value.owner
            if isinstance(owner, Block):
                self._parameter(owner, value.index)
            elif owner.blocks:
                self._result(owner, value.index)
            else:
                self.ops.add(owner)
                self._mark(owner.operands)
                if owner.name == "restore":
                    for save in self._saved.get(owner.attributes.get("slot_group"), ()):
                        self._mark(save.operands[2:])
                elif owner.name == "log_read":
                    for append in self._appended.get(owner.attributes["log"], ()):
                        self._mark(append.operands)

    def _parameter(self, block: Block, index: int) -> None:
        """Where the parameter of a loop's block comes from."""
        loop = self._holders.get(block)
        if loop is not None and not (loop.name == "for" and index == 0):
            self._result(loop, index - (loop.name == "for"))

    def _result(self, op: Op, index: int) -> None:
        if op.name == "if":
            self._mark([block.yields[index] for block in op.blocks])
        else:
            self._mark([op.operands[index + (op.name == "for")], op.blocks[-1].yields[index]])


def _decides(op: Op, is_used_atomic: bool, rereads: bool) -> bool:
    """Whether the op makes a jump of a small difference in its operands."""
    if op.name == "cast":
        to = op.attributes["type"]
        return isinstance(to, ScalarMeta) and not to.is_float
    if op.name == "atomic":
        return is_used_atomic or rereads or op.attributes["kind"] not in _ORDINARY_ATOMICS
    return op.name in _JUMPS or (rereads and op.name == "store")


def _guards(function: Function) -> set[Op]:
    """Comparisons with zero that only keep a product zero, see ``primitives.Expression.guards``."""
    users: dict[Value, list[Op]] = {}
    for op in function.body.walk():
        for value in op.operands:
            users.setdefault(value, []).append(op)
        for block in op.blocks:
            for value in block.yields:
                users.setdefault(value, []).append(op)
    return {
        op
        for op in function.body.walk()
        if op.name == "eq"
        and op.operands[1].constant == 0
        and all(_chooses_zero(user, op.result) for user in users.get(op.result, ()))
    }


def _chooses_zero(op: Op, condition: Value) -> bool:
    return op.name == "select" and op.operands[0] is condition and _is_zero(op.operands[1])


def _is_zero(value: Value) -> bool:
    """Whether a value is a constant zero, or an aggregate of them."""
    if isinstance(value.owner, Op) and value.owner.name == "splat":
        value = value.owner.operands[0]
    return bool(value.constant == 0)
