"""Finds the outputs of which a kernel writes every element, and which therefore need not start as zeros."""

from __future__ import annotations

from treadle.ir.core import Function, Op, Value
from treadle.passes import analyse


def covered(function: Function, launch_ndim: int) -> frozenset[str]:
    """Labels of the arrays of which every thread writes the whole element at its own index, and nothing else.

    The arrays must have the extents of the launch for this to be all elements.
    """
    access = analyse(function)
    labels = dict(zip(function.parameters, function.labels))
    written: dict[str, set[tuple[int, int]]] = {}
    itemsizes: dict[str, int] = {}
    for op in function.body.ops:
        if op.name == "store" and _is_own_element(op.operands[1:-1], launch_ndim):
            label = labels.get(op.operands[0])
            if label is not None:
                itemsizes[label] = op.operands[0].type.itemsize  # type: ignore[union-attr]
                size = op.operands[-1].type.size  # type: ignore[union-attr]
                written.setdefault(label, set()).add((op.attributes["offset"], size))
    return frozenset(
        label
        for label, parts in written.items()
        if sum(size for _, size in parts) == itemsizes[label]
        and not (access[label].read or access[label].accumulated or access[label].atomic)
    )


def _is_own_element(indices: list[Value], launch_ndim: int) -> bool:
    return len(indices) == launch_ndim and all(_is_coordinate(v, axis, launch_ndim) for axis, v in enumerate(indices))


def _is_coordinate(value: Value, axis: int, rank: int) -> bool:
    op = value.owner
    return isinstance(op, Op) and op.name == "thread_index" and op.attributes == {"axis": axis, "rank": rank}
