"""Which memory the backward pass still needs, and snapshots of it before it is overwritten.

A recorded operation enters the arrays whose contents its adjoint will read. Before a recorded
operation writes memory, ``overwrite`` is asked: what overlaps and is still needed is saved, once
for all records that need it. Overlap is judged by addresses, so that views, foreign memory and
one array under two parameters count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

from treadle.runtime.array import array


@dataclass
class Need:
    """One array whose contents one record will need; ``saved`` is set once they are overwritten."""

    array: array
    reader: str
    """The kernel and parameter that need it, for messages."""
    saved: Optional[array] = None

    @property
    def contents(self) -> array:
        """The array, or the snapshot of what it held."""
        return self.saved if self.saved is not None else self.array


@dataclass
class _Region:
    """An interval of addresses, and the needs within it that nothing has overwritten yet."""

    start: int
    end: int
    needs: list[Need] = field(default_factory=list)


class Versions:
    """The needs of all records of a tape, by address.

    Regions are disjoint intervals in ascending order, so that finding the one for an array takes
    logarithmic time, however many arrays a long simulation makes.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._regions: list[_Region] = []

    def need(self, need: Need) -> None:
        """Enter a need for the present contents of an array."""
        start, end = need.array.extent
        if start < end:
            self._region(start, end).needs.append(need)

    def overwrite(self, target: array, act: Callable[[Need], None]) -> None:
        """Call ``act`` for each need whose memory overlaps ``target``, and forget the need."""
        start, end = target.extent
        for region in self._overlapping(start, end):
            kept = []
            for need in region.needs:
                if overlaps(need.array, target):
                    act(need)
                else:
                    kept.append(need)
            region.needs = kept

    def _overlapping(self, start: int, end: int) -> list[_Region]:
        first = max(bisect_right(self._starts, start) - 1, 0)
        found = []
        for region in self._regions[first:]:
            if region.start >= end:
                break
            if region.end > start:
                found.append(region)
        return found

    def _region(self, start: int, end: int) -> _Region:
        """The region that holds the interval; regions that it touches become one."""
        touched = self._overlapping(start, end)
        if len(touched) == 1 and touched[0].start <= start and end <= touched[0].end:
            return touched[0]
        merged = _Region(
            min([start, *(r.start for r in touched)]),
            max([end, *(r.end for r in touched)]),
            [need for r in touched for need in r.needs],
        )
        if touched:
            position = self._regions.index(touched[0])
        else:
            position = bisect_right(self._starts, start)
        self._regions[position : position + len(touched)] = [merged]
        self._starts[position : position + len(touched)] = [merged.start]
        return merged


def overlaps(first: array, second: array) -> bool:
    """Whether two arrays may share memory, judged by the addresses between their first and last byte."""
    first_start, first_end = first.extent
    second_start, second_end = second.extent
    return first_start < second_end and second_start < first_end


def snapshots(key_of: Callable[[array], Any]) -> Callable[[Need], None]:
    """An action for ``Versions.overwrite`` that saves each array once, however many needs there are for it."""
    taken: dict[Any, array] = {}

    def save(need: Need) -> None:
        key = key_of(need.array)
        if key not in taken:
            taken[key] = need.array.detached_copy()
        need.saved = taken[key]

    return save
