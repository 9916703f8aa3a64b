"""Memory that arrays live in: blocks that Treadle owns, and foreign memory that it keeps alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from treadle.runtime import capturing

# A cache line, and the widest SIMD register.
ALIGNMENT = 64


class Allocation:
    """A range of bytes: ``address``, ``nbytes``, whether it is ``readonly``, and the ``owner`` that keeps it alive.

    Views of an array share its allocation. ``kept`` holds the arrays whose descriptors are in the
    memory, as members of structs. ``is_watched``: see ``writes``.
    """

    __slots__ = ("__weakref__", "_kept", "address", "is_watched", "nbytes", "owner", "readonly")

    def __init__(self, address: int, nbytes: int, owner: Any = None, readonly: bool = False) -> None:
        self.address = address
        self.nbytes = nbytes
        self.owner = owner
        self.readonly = readonly
        self.is_watched = False
        self._kept: dict[bytes, Any] | None = None

    @property
    def kept(self) -> dict[bytes, Any]:
        """The arrays kept alive, by descriptor."""
        return self._kept or {}

    def keep(self, descriptor: bytes, array: Any) -> None:
        """Keep an array alive whose descriptor is written into this memory."""
        if self._kept is None:
            self._kept = {}
        self._kept[descriptor] = array

    def keep_all(self, other: Allocation) -> None:
        """Keep alive what ``other`` does, because elements are copied from there."""
        for descriptor, array in other.kept.items():
            self.keep(descriptor, array)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        # What NumPy makes of this keeps the allocation, and with it the owner, alive.
        return {"data": (self.address, self.readonly), "shape": (self.nbytes,), "typestr": "|u1", "version": 3}

    def view(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
    ) -> np.ndarray[Any, Any]:
        """A NumPy array over part of the range, which keeps the memory alive. ``strides`` are in bytes."""
        if 0 in shape:
            return np.empty(shape, dtype)
        # Not kept: the array refers to the allocation, and a cycle would delay freeing the memory.
        host: np.ndarray[Any, Any] = np.ndarray(shape, dtype, np.asarray(self), address - self.address, strides)
        return host


def allocate(nbytes: int, zero: bool = False) -> Allocation:
    """``nbytes`` of new memory, aligned to ``ALIGNMENT``; zeroed if asked. Raises MemoryError."""
    block = (np.zeros if zero else np.empty)(nbytes + ALIGNMENT, np.uint8)
    if zero:
        capturing.repeat(partial(block.fill, 0))
    address = address_of(block)
    return Allocation(address + -address % ALIGNMENT, nbytes, block)


def foreign(
    address: int,
    nbytes: int,
    owner: Any = None,
    deleter: Callable[[int, int], Any] | None = None,
    readonly: bool = False,
) -> Allocation:
    """Memory that something else has allocated.

    ``owner`` is kept alive as long as the allocation. ``deleter(address, nbytes)`` is called when the
    last array in the memory is gone.
    """
    allocation = Allocation(address, nbytes, owner, readonly)
    if deleter is not None:
        weakref.finalize(allocation, deleter, address, nbytes)
    return allocation


def address_of(host: np.ndarray[Any, Any]) -> int:
    """The address of the first element of a NumPy array."""
    return int(host.__array_interface__["data"][0])
