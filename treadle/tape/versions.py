"""Which memory the backward pass still needs, and snapshots of it before it is overwritten.

A recorded operation enters the arrays whose contents its adjoint will read. Before a recorded
operation writes memory, ``overwrite`` is asked: what overlaps and is still needed is saved, once
for all records that need it. Overlap is judged by addresses, so that views, foreign memory and
one array under two parameters count.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional

from treadle.runtime import capturing
from treadle.runtime.array import array
from treadle.runtime.launch import overlaps


class Snapshot:
    """A copy of the bytes between two addresses: ``size`` bytes, of what was at ``start``, now at ``address``."""

    __slots__ = ("_memory", "address", "size", "start")

    def __init__(self, start: int, size: int, source: int) -> None:
        """Copy ``size`` bytes at ``source``; the copy is aligned as ``start`` is, up to 64 bytes."""
        self.start = start
        self.size = size
        # ctypes gives small blocks and their addresses several times faster than NumPy.
        self._memory = (ctypes.c_char * (size + 64))()
        base = ctypes.addressof(self._memory)
        self.address = base + (start - base) % 64
        if capturing.active.capture is None:
            ctypes.memmove(self.address, source, size)
        else:
            capturing.perform(partial(ctypes.memmove, self.address, source, size), self._memory)

    @classmethod
    def of(cls, start: int, end: int) -> Snapshot:
        """A copy of what is there now."""
        return cls(start, end - start, start)

    def copy(self) -> Snapshot:
        """A second copy, to be written to."""
        return Snapshot(self.start, self.size, self.address)

    def holds(self, a: array) -> bool:
        """Whether all of the memory of an array was copied."""
        start, end = a.extent
        return self.start <= start and end <= self.start + self.size

    def descriptor(self, a: array) -> tuple[int, ...]:
        """What a launch passes for array ``a``, with its memory in this copy."""
        descriptor = a._descriptor
        return (descriptor[0] - self.start + self.address, *descriptor[1:])


@dataclass(slots=True)
class Need:
    """An array whose contents a record needs; ``saved`` is set once they are overwritten.

    ``kernel`` and ``label`` say who needs them; without a kernel, ``label`` is a description. ``is_member``: the array
    is a member of a struct in the array with this label, so that no copy can take its place.
    """

    array: array
    kernel: Any
    label: str
    is_member: bool = False
    saved: Optional[Snapshot] = None

    @property
    def reader(self) -> str:
        """Who needs the contents, for messages."""
        return user_of(self.kernel, self.label, self.is_member)


def user_of(kernel: Any, label: str, is_member: bool = False) -> str:
    """What to call a parameter of a kernel, or arrays in its elements, in messages; without a kernel, a description."""
    if kernel is None:
        return label
    return f"kernel {kernel.name}, parameter {label}{' (an array in its elements)' if is_member else ''}"


@dataclass(slots=True)
class _Region:
    """An interval of addresses, and the needs within it that nothing has overwritten yet."""

    start: int
    end: int
    needs: list[Need] = field(default_factory=list)


class Versions:
    """The needs of all records of a tape, by address.

    Regions are disjoint intervals in ascending order, so that the one for an array is found in
    logarithmic time, however many arrays a long simulation makes.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._regions: list[_Region] = []
        self._exact: dict[tuple[int, int], _Region] = {}
        """Regions by the extents of arrays that were looked up; those that were merged since are not in it."""

    def need(self, need: Need) -> None:
        """Enter a need for the present contents of an array."""
        extent = need.array.extent
        region = self._exact.get(extent)
        if region is None:
            if extent[0] == extent[1]:
                return
            region = self._exact[extent] = self._region(*extent)
        region.needs.append(need)

    def overwritten(self, target: array) -> list[Need]:
        """The needs whose memory overlaps ``target``, which is about to be written. They are forgotten here."""
        start, end = target.extent
        found: list[Need] = []
        known = self._exact.get((start, end))
        for region in (known,) if known is not None else self._regions[slice(*self._overlapping(start, end))]:
            hit = [need for need in region.needs if overlaps(need.array, target)] if region.needs else ()
            if hit:
                found += hit
                region.needs = [need for need in region.needs if not overlaps(need.array, target)]
        return found

    def withdraw(self, needs: Iterable[Need]) -> None:
        """Forget needs that may have been entered."""
        for need in needs:
            for region in self._regions[slice(*self._overlapping(*need.array.extent))]:
                region.needs = [known for known in region.needs if known is not need]

    def _overlapping(self, start: int, end: int) -> tuple[int, int]:
        """The range of positions of the regions that overlap an interval."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._regions[first].end <= start:
            first += 1
        return first, max(first, bisect_left(self._starts, end))

    def _region(self, start: int, end: int) -> _Region:
        """The region that holds the interval; regions that it touches become one."""
        first, last = self._overlapping(start, end)
        touched = self._regions[first:last]
        if len(touched) == 1 and touched[0].start <= start and end <= touched[0].end:
            return touched[0]
        merged = _Region(
            min([start, *(r.start for r in touched)]),
            max([end, *(r.end for r in touched)]),
            [need for r in touched for need in r.needs],
        )
        if touched:
            self._exact.clear()
        self._regions[first:last] = [merged]
        self._starts[first:last] = [merged.start]
        return merged


def save(needs: Iterable[Need]) -> None:
    """Take snapshots for these needs, one for each interval of memory."""
    taken: dict[tuple[int, int], Snapshot] = {}
    for need in needs:
        extent = need.array.extent
        if extent not in taken:
            taken[extent] = Snapshot.of(*extent)
        need.saved = taken[extent]


def merged_extents(arrays: Iterable[array]) -> list[tuple[int, int]]:
    """The intervals of addresses that arrays cover, overlapping ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(a.extent for a in arrays):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged
