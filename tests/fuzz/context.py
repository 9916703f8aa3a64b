"""What the generator knows while it writes a kernel or function: variables in scope, arrays, how often a line runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

READ, OWN, ADD, MIN, MAX, SLOT = "read", "own", "add", "min", "max", "slot"
"""How a kernel uses an array: it only reads it; each thread reads and writes elements of its own; all threads add, or
take minima or maxima; threads write to slots that a counter gave them."""

INDEX, PERMUTATION, LIMIT, TALLY, COUNTER = "index", "permutation", "limit", "tally", "counter"
"""What an array of ints holds: indices below ``N``; all of these; small numbers; small ones that change; a counter."""

Shape = tuple[str, ...]
"""Extents by name: ``N`` and ``M`` are those of launches, ``D`` is twice ``N``, ``1`` is one."""


@dataclass
class Variable:
    """A local variable or parameter. ``below``: for an int, the name of an extent that it is smaller than."""

    name: str
    type: str
    mutable: bool = True
    below: str = ""


@dataclass
class ArrayUse:
    """An array as a kernel or function sees it; ``map`` says which elements a thread owns."""

    name: str
    element: str
    shape: Shape
    mode: str
    map: str = ""
    content: str = ""

    def fits(self, other: ArrayUse) -> bool:
        """Whether ``other`` can be passed on as this one."""
        return (self.element, self.shape, self.mode, self.map, self.content) == (
            other.element, other.shape, other.mode, other.map, other.content,
        )  # fmt: skip


@dataclass
class Routine:
    """A generated function: what it takes, gives and costs. ``arrays`` come after the values."""

    name: str
    takes: Sequence[str]
    gives: Sequence[str]
    lanes: int
    arrays: Sequence[ArrayUse]
    cost: int
    optional: str = ""
    """The name of the last parameter, if it has a default."""
    is_smooth: bool = False
    """Whether it has no kinks and no arrays, so that its own gradient can be asked for."""
    is_single: bool = False
    """Whether it may write any element of its arrays, so that only a kernel of one thread can call it."""

    @property
    def has_effects(self) -> bool:
        return any(use.mode != READ for use in self.arrays)


@dataclass
class Context:
    """A kernel or function that is being written.

    ``lanes``: the names of its thread indices. ``arrays`` are parameters, ``rows`` variables that stand for a row of
    one. ``loops`` are around the place that is being written, which then runs ``times`` times; ``cost`` is the sum of
    that over all statements. ``is_smooth``: nothing with a kink may be written. ``is_single``: there is one thread,
    which owns everything. ``favour``: what there is to be more of, ``memory`` or ``control``.
    """

    is_kernel: bool
    lanes: Sequence[str]
    gives: Sequence[str] = ()
    variables: list[Variable] = field(default_factory=list)
    arrays: list[ArrayUse] = field(default_factory=list)
    rows: list[ArrayUse] = field(default_factory=list)
    loops: int = 0
    times: int = 1
    cost: int = 0
    is_smooth: bool = False
    is_single: bool = False
    favour: str = ""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Variables that are declared inside end with it."""
        variables, rows = len(self.variables), len(self.rows)
        yield
        del self.variables[variables:], self.rows[rows:]

    @contextmanager
    def loop(self, times: int) -> Iterator[None]:
        """A scope that runs several times."""
        with self.scope():
            self.loops += 1
            self.times *= times
            yield
            self.times //= times
            self.loops -= 1

    def of_type(self, type_: str, mutable: bool = False) -> list[Variable]:
        return [v for v in self.variables if v.type == type_ and (v.mutable or not mutable)]
