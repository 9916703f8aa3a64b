"""Finds arrays on a tape that share memory, but not their gradient.

What is written through one of them and read through the other would lose its gradient; and what an array without a
gradient overwrites would keep the one that it had.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import TreadleError
from treadle.runtime.array import array
from treadle.runtime.launch import overlaps
from treadle.tape.versions import user_of

Family = int
"""How far the gradient lies from the array, in bytes, which is the same for an array and all views of it."""

Layout = tuple[Any, ...]
"""Where the elements of an array lie: equal for arrays that share all of their memory."""


@dataclass(slots=True)
class _Region:
    """An interval of addresses that arrays cover together: by family and layout, each with whether it is written."""

    start: int
    end: int
    members: dict[Family, dict[Layout, tuple[array, bool]]]

    def clashes(self, new: array, family: Family, written: bool) -> bool:
        """Whether an array shares memory with one of another family, and one of the two is written."""
        return any(
            (written or was_written) and _share(known, new)
            for other, members in self.members.items()
            if other != family
            for known, was_written in members.values()
        )

    def covers(self, new: array) -> bool:
        """Whether an array shares memory with one that has a gradient."""
        return any(
            known.grad is not None and _share(known, new)
            for members in self.members.values()
            for known, _ in members.values()
        )


@dataclass(slots=True)
class Use:
    """That a parameter of a kernel, or without a kernel the step that ``label`` describes, uses an array.

    ``is_member``: as a member of a struct in the array with this label, so that no gradient passes.
    """

    array: array
    written: bool
    kernel: Any
    label: str
    is_member: bool = False


class Sharing:
    """All arrays with a gradient that a tape has recorded, by address.

    ``entered``: those that it knows, by id; ``written``: those of them that are written. ``separate``: arrays without
    a gradient that share no memory with any of them; forgotten whenever there is a new one.
    """

    def __init__(self, allows_overwrites: bool) -> None:
        """``allows_overwrites``: by arrays without a gradient."""
        self._allows_overwrites = allows_overwrites
        self.entered: dict[int, array] = {}
        self.written: dict[int, array] = {}
        self.separate: dict[int, array] = {}
        self._starts: list[int] = []
        self._regions: list[_Region] = []

    def note(self, uses: Sequence[Use]) -> None:
        """Note what a record does with arrays.

        Raises:
            TreadleError: one of them shares memory with an array that has a gradient of its own, and one of the two
                is written; or it has no gradient, and is written.
        """
        constant = []
        for use in uses:
            if not use.is_member and use.array.grad is not None:
                if id(use.array) not in (self.written if use.written else self.entered):
                    self._enter(use)
            elif use.written and id(use.array) not in self.separate:
                constant.append(use)
        for use in constant:
            self._check_separate(use)

    def _enter(self, use: Use) -> None:
        a, written = use.array, use.written
        start, end = a.extent
        if start == end:
            return
        first, last = self._overlapping(start, end)
        touched = self._regions[first:last]
        family = _family(a)
        if any(region.clashes(a, family, written) for region in touched):
            raise TreadleError(
                f"{user_of(use.kernel, use.label)} shares memory with another array on the tape that has a gradient of "
                "its own, so that gradients would be lost between the two: use one array, or views of one that "
                "requires a gradient"
            )
        if len(touched) == 1 and touched[0].start <= start and end <= touched[0].end:
            region = touched[0]
        else:
            region = _merged(touched, start, end)
            self._regions[first:last] = [region]
            self._starts[first:last] = [region.start]
        members, layout = region.members.setdefault(family, {}), (*a._descriptor, a.dtype)
        if layout not in members:
            self.separate.clear()
        if written or layout not in members:
            members[layout] = (a, written)
        self.entered[id(a)] = a
        if written:
            self.written[id(a)] = a

    def _check_separate(self, use: Use) -> None:
        first, last = self._overlapping(*use.array.extent)
        if not self._allows_overwrites and any(region.covers(use.array) for region in self._regions[first:last]):
            raise TreadleError(
                f"{user_of(use.kernel, use.label, use.is_member)} writes memory of an array on the tape that has a "
                "gradient, through one that has none, so that the gradient would be that of the former contents: use "
                "one array, or views of one that requires a gradient"
            )
        self.separate[id(use.array)] = use.array

    def _overlapping(self, start: int, end: int) -> tuple[int, int]:
        """The range of positions of the regions that overlap an interval."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._regions[first].end <= start:
            first += 1
        return first, max(first, bisect_left(self._starts, end))


def _share(first: array, second: array) -> bool:
    """Whether two arrays have an element in common."""
    return overlaps(first, second) and np.shares_memory(first.host(), second.host())


def _merged(regions: list[_Region], start: int, end: int) -> _Region:
    """One region that holds these, and an interval that overlaps all of them."""
    merged = _Region(min([start, *(r.start for r in regions)]), max([end, *(r.end for r in regions)]), {})
    for region in regions:
        for family, members in region.members.items():
            merged.members.setdefault(family, {}).update(members)
    return merged


def _family(a: array) -> Family:
    base = a.base
    while base is not None:
        a = base[0]
        base = a.base
    assert a.grad is not None
    return a.grad.ptr - a.ptr
