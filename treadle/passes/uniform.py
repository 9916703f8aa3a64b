"""Tells which values are the same in all threads, and which tuples of indices differ between any two.

An access at indices that differ between threads needs no atomic operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import TABLE

# Steps from an index back to the thread index; real code has a few.
_DEPTH = 32


def is_uniform(function: Function, value: Value) -> bool:
    """Whether ``value`` is the same in all threads of a kernel, and in all iterations of its loops.

    True for constants, parameters of the kernel, and what is computed from few of those alone.
    """
    found, pending = {value}, [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block):
            if owner is not function.body:
                return False
            continue
        if owner.blocks or owner.name == "thread_index" or TABLE[owner.name].effect != "pure" or len(found) > _DEPTH:
            return False
        pending.extend(v for v in owner.operands if v not in found)
        found.update(owner.operands)
    return True


def thread_key(function: Function, indices: Sequence[Value], launch_ndim: int) -> Optional[tuple[Any, ...]]:
    """A key that says how ``indices`` differ between any two threads; None if they may not.

    Where all accesses to an array have one and the same key, no two threads touch the same
    element. With different keys they may: ``a[tid]`` and ``a[tid + 1]`` do.
    """
    found: dict[int, tuple[Any, ...]] = {}
    for position, index in enumerate(indices):
        source = _thread_index(function, index)
        if source is None:
            continue
        op, offset = source
        axis, rank = op.attributes["axis"], op.attributes["rank"]
        if rank == 1:
            return ("flat", position, offset)
        if rank >= launch_ndim:
            found.setdefault(axis, (axis, position, offset))
    if all(axis in found for axis in range(launch_ndim)):
        return tuple(found[axis] for axis in range(launch_ndim))
    return None


def is_thread_distinct(function: Function, indices: Sequence[Value], launch_ndim: int) -> bool:
    """Whether the tuple ``indices`` is provably different in any two threads of a kernel.

    This is about one place in the kernel that is reached with these indices; for several places that
    touch the same array, compare their ``thread_key``.
    """
    return thread_key(function, indices, launch_ndim) is not None


def _thread_index(function: Function, index: Value) -> Optional[tuple[Op, tuple[Any, ...]]]:
    """The ``thread_index`` op that ``index`` is, plus a uniform offset; None if it is something else.

    The offset is given as the signed terms that were added on the way.
    """
    terms: list[Any] = []
    for _ in range(_DEPTH):
        owner = index.owner
        if isinstance(owner, Block):
            return None
        if owner.name == "thread_index":
            return owner, tuple(terms)
        if owner.name == "cast":
            # A narrower integer, or a float, would have the same value in several threads.
            if not owner.attributes["type"].is_integer or owner.attributes["type"].bits < 32:
                return None
            index = owner.operands[0]
        elif owner.name in ("add", "sub"):
            a, b = owner.operands
            if owner.name == "add" and is_uniform(function, a):
                a, b = b, a
            if not is_uniform(function, b):
                return None
            number = b.constant
            if number != 0:
                terms.append((owner.name, b if number is None else number))
            index = a
        else:
            return None
    return None
