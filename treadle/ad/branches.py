"""Reverse mode for ``if``: the reverse is an ``if`` on the same condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.ad.scope import Branch, Scope
from treadle.ir.core import Block, Op, Value

if TYPE_CHECKING:
    from treadle.ad.transform import Adjoints, Transform


def sweep(transform: Transform, scope: Scope, op: Op) -> None:
    """Emit the ``if`` of the primal sweep; what the reverse needs from inside becomes extra results later."""
    new_op = transform.builder.op("if", [scope.here(op.operands[0])], [r.type for r in op.results])
    outer = scope.branch
    for index, block in enumerate(op.blocks):
        copy = Block()
        new_op.blocks.append(copy)
        scope.branch = Branch(new_op, index, outer)
        with transform.inside(copy):
            transform.sweep(scope, block)
        copy.yields = [scope.here(v) for v in block.yields]
    scope.branch = outer
    for old, new in zip(op.results, new_op.results):
        scope.define(old, new)


def reverse(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Emit the reverse of both branches; adjoints that either changes become results."""
    from treadle.ad.transform import adjoint_type

    incoming = [adjoints.pop(r, None) for r in op.results]
    if all(g is None for g in incoming) and not transform.has_work(op):
        return
    condition = scope.recall(op.operands[0])
    blocks: list[Block] = []
    after: list[Adjoints] = []
    for block in op.blocks:
        copy, inner = Block(), dict(adjoints)
        with transform.inside(copy):
            for value, g in zip(block.yields, incoming):
                if g is not None:
                    transform.accumulate(inner, value, g)
            transform.reverse(scope, block, inner)
        blocks.append(copy)
        after.append(inner)
    changed: dict[Value, None] = {v: None for inner in after for v, g in inner.items() if adjoints.get(v) is not g}
    if not changed and not any(block.ops for block in blocks):
        return
    for value in changed:
        for block, inner in zip(blocks, after):
            with transform.inside(block):
                block.yields.append(
                    inner[value] if value in inner else transform.builder.zero(adjoint_type(value.type))
                )
    new_op = transform.builder.op("if", [condition], [adjoint_type(v.type) for v in changed], blocks=blocks)
    adjoints.update(zip(changed, new_op.results))
