"""Finds out which arrays a kernel uses in every thread, whatever they and the other arguments are.

None is no argument for those: a kernel that takes None on purpose asks first whether the array is there.
"""

from __future__ import annotations

from typing import Optional

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.depth import deep

_ACCESSES = ("load", "store", "atomic")
_VIEWS = ("view", "slice")


@deep
def required(function: Function) -> frozenset[str]:
    """The labels of the array parameters that every thread reads or writes.

    In doubt an array does not count: what only happens under some condition does not, nor does an access through a
    handle that may be one of several.
    """
    labels = dict(zip(function.parameters, function.labels))
    return frozenset(labels[root] for root in _roots(function.body) if root in labels)


def _roots(block: Block) -> list[Value]:
    """The handles, views taken off, that are accessed each time when the block runs."""
    found = []
    for op in block.ops:
        if op.name in _ACCESSES:
            found.append(_root(op.operands[0]))
        inner = _certain_block(op)
        if inner is not None:
            found += _roots(inner)
    return found


def _root(handle: Value) -> Value:
    while isinstance(handle.owner, Op) and handle.owner.name in _VIEWS:
        handle = handle.owner.operands[0]
    return handle


def _certain_block(op: Op) -> Optional[Block]:
    """The block of an op that runs at least once: the condition of a ``while``, the body of a constant loop."""
    if op.name == "while" or (op.name == "for" and (op.operands[0].constant or 0) > 0):
        return op.blocks[0]
    return None
