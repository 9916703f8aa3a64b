"""Arrays as members of structs in memory: descriptors of 80 bytes, and what keeps their arrays alive.

A descriptor is: data pointer, gradient pointer, four extents, four strides in bytes; all 64 bits.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime.memory import Allocation
from treadle.types import ArrayType, StructMeta

if TYPE_CHECKING:
    from treadle.runtime.array import array


@cache
def paths(struct: Any) -> tuple[tuple[tuple[str, ...], ArrayType], ...]:
    """The array members of a struct type and of the structs in it: their paths and types."""
    found: list[tuple[tuple[str, ...], ArrayType]] = []
    for name, member in struct.fields.items():
        if isinstance(member, ArrayType):
            found.append(((name,), member))
        elif isinstance(member, StructMeta):
            found.extend(((name, *path), type_) for path, type_ in paths(member))
    return tuple(found)


def pack(member: array | None) -> bytes:
    """The descriptor of an array; all zero for None.

    Raises ValueError if the gradient's strides differ, as the descriptor has room for one set.
    """
    if member is None:
        return bytes(80)
    gradient = member.grad
    if gradient is not None and gradient.strides != member.strides:
        raise ArrayError("an array that is a member of a struct needs a gradient with the same strides")
    padding = (0,) * (4 - member.ndim)
    words = (
        member.ptr,
        gradient.ptr if gradient is not None else 0,
        *member.shape,
        *padding,
        *member.strides,
        *padding,
    )
    return np.array(words, np.uint64 if min(words) >= 0 else np.int64).tobytes()


def store(allocation: Allocation, dtype: Any, record: Any, value: Any) -> None:
    """Write the descriptors of ``value``'s array members into ``record``, a struct in ``allocation``.

    The allocation keeps the member arrays alive from now on.
    """
    for path, _ in paths(dtype):
        member = value
        place = record
        for name in path[:-1]:
            member, place = getattr(member, name), place[name]
        member = getattr(member, path[-1])
        descriptor = pack(member)
        if member is not None:
            allocation.keep(descriptor, member)
        place[path[-1]] = np.void(descriptor)


def arrays_in(holder: array) -> list[array]:
    """The arrays whose descriptors an array of structs has in its elements now, and those in their elements.

    Those of unknown origin, which a kernel has put there, have no gradient and are not kept alive.
    """
    found: dict[tuple[bytes, ArrayType], array] = {}
    pending = [holder]
    while pending:
        a = pending.pop()
        if not isinstance(a.dtype, StructMeta):
            continue
        for path, type_ in paths(a.dtype):
            place = a.host()
            for name in path:
                place = place[name]
            for descriptor in set(place.reshape(-1).tolist()):
                key = (descriptor, type_)
                if key not in found and descriptor[:8].strip(b"\0"):
                    member = a.allocation.kept.get(descriptor)
                    if member is None or member.dtype is not type_.dtype:
                        member = _unpacked(descriptor, type_)
                    found[key] = member
                    pending.append(member)
    return list(found.values())


def _unpacked(descriptor: bytes, type_: ArrayType) -> array:
    """The array that a descriptor refers to, without gradient, in memory that somebody else keeps alive."""
    from treadle.runtime.array import wrap_pointer  # arrays are made of members, so they come after them

    words = np.frombuffer(descriptor, np.int64).tolist()
    shape, strides = tuple(words[2 : 2 + type_.ndim]), tuple(words[6 : 6 + type_.ndim])
    return wrap_pointer(words[0] % 2**64, type_.dtype, shape, strides, False, None)


def load(allocation: Allocation, dtype: Any, record: Any, value: Any) -> Any:
    """Put the array members of a struct read from ``allocation`` into ``value``, and return it.

    The arrays are those that were stored; None where the descriptor is empty or of unknown origin.
    """
    for path, _ in paths(dtype):
        holder = value
        place = record
        for name in path[:-1]:
            holder, place = getattr(holder, name), place[name]
        setattr(holder, path[-1], allocation.kept.get(place[path[-1]].tobytes()))
    return value
