"""How a language type is made of scalars, aggregates and array handles: its leaves.

The frontend takes values apart along the leaves, the runtime packs arguments along them, and
an array element is loaded leaf by leaf at the offsets given here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from treadle.types import scalars
from treadle.types.storage import LARGE, Aggregate, ArrayRef, StorageType


@dataclass(frozen=True)
class Leaf:
    """One piece of a type: its storage type, byte offset in memory, and the path to it.

    ``path`` holds member names and component indices, for messages and for packing.
    """

    type: StorageType
    offset: int
    path: tuple[Any, ...] = ()


@lru_cache(maxsize=None)
def leaves(type_: Any) -> tuple[Leaf, ...]:
    """The leaves of a language type, in memory order.

    A scalar is its own leaf; a vector, matrix, quaternion or transform has one leaf a
    component, row by row, or a single aggregate when it has more than ``LARGE`` of them; a
    struct has the leaves of its members; an array is one handle.
    """
    if scalars.is_scalar(type_):
        return (Leaf(type_, 0),)
    if type_.kind == "array":
        return (Leaf(ArrayRef(type_.ndim, size_of(type_.dtype)), 0),)
    if type_.kind == "struct":
        return tuple(
            Leaf(leaf.type, offset + leaf.offset, (name, *leaf.path))
            for (name, member), offset in zip(type_.fields.items(), type_.offsets)
            for leaf in leaves(member)
        )
    if type_.length > LARGE:
        return (Leaf(Aggregate(type_.dtype, type_.length), 0),)
    return tuple(Leaf(type_.dtype, k * type_.dtype.size, (k,)) for k in range(type_.length))


def size_of(type_: Any) -> int:
    """The bytes that one element of this type takes in an array."""
    return int(type_.size)
