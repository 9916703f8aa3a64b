"""Finds arrays on a tape that share memory, but not their gradient.

What is written through one of them and read through the other would lose its gradient.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from treadle.errors import TreadleError
from treadle.runtime.array import array

Family = int
"""How far the gradient lies from the array, in bytes, which is the same for an array and all views of it."""


@dataclass(slots=True)
class _Region:
    """An interval of addresses that arrays cover together: by family, each with whether it is written."""

    start: int
    end: int
    members: dict[Family, list[tuple[array, bool]]]

    def clashes(self, new: array, family: Family, written: bool) -> bool:
        """Whether an array shares memory with one of another family, and one of the two is written."""
        return any(
            (written or was_written) and np.shares_memory(known.host(), new.host())
            for other, members in self.members.items()
            if other != family
            for known, was_written in members
        )


class Sharing:
    """All arrays with a gradient that a tape has recorded, by address."""

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}
        """Whether an array is written, by its id; the records keep the arrays alive."""
        self._starts: list[int] = []
        self._regions: list[_Region] = []

    def enter(self, a: array, written: bool, kernel: str = "", label: str = "") -> None:
        """Note that a parameter of a kernel, or a copy, uses an array that has a gradient.

        Raises:
            TreadleError: it shares memory with another, which has a gradient of its own, and one of them is written.
        """
        if id(a) in self.known and self.known[id(a)] >= written:
            return
        start, end = a.extent
        if start == end:
            return
        first, last = self._overlapping(start, end)
        touched = self._regions[first:last]
        family = _family(a)
        if any(region.clashes(a, family, written) for region in touched):
            user = f"kernel {kernel}: parameter {label}" if kernel else "a copy"
            raise TreadleError(
                f"{user} shares memory with another array on the tape that has a gradient of its own, so that "
                "gradients would be lost between the two: use one array, or views of one that requires a gradient"
            )
        self.known[id(a)] = written
        if len(touched) == 1 and touched[0].start <= start and end <= touched[0].end:
            region = touched[0]
        else:
            region = _merged(touched, start, end)
            self._regions[first:last] = [region]
            self._starts[first:last] = [region.start]
        region.members.setdefault(family, []).append((a, written))

    def _overlapping(self, start: int, end: int) -> tuple[int, int]:
        """The range of positions of the regions that overlap an interval."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._regions[first].end <= start:
            first += 1
        return first, max(first, bisect_left(self._starts, end))


def _merged(regions: list[_Region], start: int, end: int) -> _Region:
    """One region that holds these, and an interval that overlaps all of them."""
    merged = _Region(min([start, *(r.start for r in regions)]), max([end, *(r.end for r in regions)]), {})
    for region in regions:
        for family, members in region.members.items():
            merged.members.setdefault(family, []).extend(members)
    return merged


def _family(a: array) -> Family:
    base = a.base
    while base is not None:
        a = base[0]
        base = a.base
    assert a.grad is not None
    return a.grad.ptr - a.ptr
