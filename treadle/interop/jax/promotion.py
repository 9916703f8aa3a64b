"""Moves scalar parameters of a kernel into memory, so that they have a gradient like any array."""

from __future__ import annotations

from collections.abc import Collection

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Value
from treadle.passes.clone import Cloner
from treadle.types.storage import ArrayRef


def promoted(function: Function, labels: Collection[str]) -> Function:
    """A copy of a kernel in which the parameters with these labels are read from an array.

    The leaves of a parameter of several become one array, in the place of the first of them, with one element a leaf.
    """
    if not labels:
        return function
    copy = Function(function.name, Block(), function.is_kernel, [], function.custom)
    mapping: dict[Value, Value] = {}
    moved: dict[str, list[Value]] = {}
    arrays: dict[str, Value] = {}
    for label, old in zip(function.labels, function.parameters):
        if label not in labels:
            copy.labels.append(label)
            mapping[old] = copy.body.add_parameter(old.type, old.name)
            continue
        if label not in arrays:
            copy.labels.append(label)
            arrays[label] = copy.body.add_parameter(ArrayRef(1, old.type.size, True), old.name)  # type: ignore[union-attr]
        moved.setdefault(label, []).append(old)
    builder = Builder(copy.body)
    for label, values in moved.items():
        for k, old in enumerate(values):
            mapping[old] = builder.emit("load", arrays[label], builder.index(k), type=old.type, offset=0)
    copy.body.yields = Cloner(builder, mapping).block_body(function.body)
    return copy
