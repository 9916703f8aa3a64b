"""How a language type is made of scalars, aggregates and array handles: its leaves.

The frontend takes values apart along the leaves, the runtime packs arguments along them, and
an array element is loaded leaf by leaf at the offsets given here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from treadle.types import scalars
from treadle.types.convert import converter
from treadle.types.storage import LARGE, Aggregate, ArrayRef, StorageType


@dataclass(frozen=True)
class Leaf:
    """One piece of a type: its storage type, byte offset in memory, and the path to it.

    ``path`` holds member names and component indices, for messages and for packing.
    """

    type: StorageType
    offset: int
    path: tuple[Any, ...] = ()


@cache
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


def leaf_values(type_: Any, value: Any) -> list[Any]:
    """A value taken apart along ``leaves(type_)``.

    A scalar leaf is a Python number, in range but not rounded to float16 or float32; an aggregate
    is a flat, contiguous NumPy array (bfloat16 as its bits), not to be written to; an array
    member is the object itself. A composite may also be given as a sequence or NumPy array,
    a struct as a NumPy record. Raises TypeError or ValueError for a value that does not fit.
    """
    return taker(type_)(value)


@cache
def taker(type_: Any) -> Callable[[Any], list[Any]]:
    """The function that takes the values of one type apart, see ``leaf_values``."""
    if scalars.is_scalar(type_):
        convert = converter(type_)
        return lambda value: [convert(value)]
    if type_.kind == "array":
        return lambda value: [value]
    if type_.kind == "struct":
        members = [(name, taker(member)) for name, member in type_.fields.items()]
        return lambda value: _struct_leaves(type_.coerce(value), members)
    if type_.length > LARGE:
        return lambda value: [type_.coerce(value).numpy_value().reshape(-1)]

    convert, flat, length = converter(type_.dtype), len(type_.shape) == 1, type_.length

    def take(value: Any) -> list[Any]:
        if type(value) is type_:
            data = value._data
        elif flat and type(value) in (tuple, list) and len(value) == length:
            return [convert(number) for number in value]
        else:
            data = type_.coerce(value)._data
        return data.ravel().tolist()  # type: ignore[no-any-return]

    return take


def _struct_leaves(value: Any, members: list[tuple[str, Callable[[Any], list[Any]]]]) -> list[Any]:
    state = value.__dict__
    result: list[Any] = []
    for name, take in members:
        result.extend(take(state[name]))
    return result
