"""Finds the lines in which a kernel reads and writes its arrays, for messages."""

from __future__ import annotations

from typing import Optional

from treadle.ir.core import Function, Location
from treadle.ir.depth import deep
from treadle.passes.access import Origins

Places = dict[str, tuple[Optional[Location], Optional[Location]]]
"""By label of an array: where it is read first, and where it is written first."""


@deep
def first_places(function: Function) -> Places:
    """The first read and the first write of each array parameter, in program order."""
    origins = Origins(function)
    found: dict[str, list[Optional[Location]]] = {}
    for op in function.body.walk():
        if op.name in ("load", "store", "atomic"):
            for label in origins.of(op.operands[0]):
                places = found.setdefault(label, [None, None])
                kind = 0 if op.name == "load" else 1
                places[kind] = places[kind] or op.location
    return {label: (read, written) for label, (read, written) in found.items()}
