"""Finds values that may be infinite or NaN though what they come from is finite.

Where the result of a product was discarded (``where(x > 0, x * log(x), 0)``), its adjoint is 0, and
must stay 0 on the way back to a factor that is not finite. Guarding every product would cost time;
only those with a factor found here are guarded.
"""

from __future__ import annotations

import math
from typing import Any

from treadle.ir.core import Block, Function, Op, Value

# Ops that can turn finite numbers into infinity or NaN, other than by overflow of a sum or product. What a function
# with a derivative of its own does is not looked at.
_SOURCES = frozenset(
    (
        *("div", "mod", "floordiv", "sqrt", "pow", "exp", "log", "log2", "log10"),
        *("sinh", "cosh", "tan", "asin", "acos", "call", "native", "native_again"),
    )
)
# Ops whose result is finite whatever comes in; what is in memory counts as finite.
_FINITE = frozenset(("load", "isnan", "isinf", "isfinite", "lt", "le", "gt", "ge", "eq", "ne"))


def possibly_infinite(function: Function) -> set[Value]:
    """The values of ``function``, at any depth, that may not be finite."""
    search = _Search()
    search.walk(function.body)
    return search.found


class _Search:
    """One walk over a function. ``records`` are the positions of what frames of the stack hold that may be infinite."""

    def __init__(self) -> None:
        self.found: set[Value] = set()
        self.records: set[tuple[Any, int]] = set()

    def walk(self, block: Block) -> None:
        found = self.found
        for op in block.ops:
            if op.blocks:
                self.structured(op)
            elif op.name == "constant":
                if isinstance(op.attributes["value"], float) and not math.isfinite(op.attributes["value"]):
                    found.update(op.results)
            elif op.name == "save":
                group = op.attributes.get("slot_group")
                self.records.update((group, k) for k, v in enumerate(op.operands[2:]) if v in found)
            elif op.name == "restore":
                group = op.attributes.get("slot_group")
                found.update(r for k, r in enumerate(op.results) if (group, k) in self.records)
            elif op.name in _SOURCES:
                found.update(op.results)
            elif op.name not in _FINITE and not found.isdisjoint(op.operands):
                found.update(op.results)

    def structured(self, op: Op) -> None:
        found = self.found
        if op.name == "if":
            for block in op.blocks:
                self.walk(block)
                found.update(r for r, y in zip(op.results, block.yields) if y in found)
            return
        first = 1 if op.name == "for" else 0
        # What an iteration yields the next one begins with: until nothing is added any more.
        before = -1
        while len(found) != before:
            before = len(found)
            for block in op.blocks:
                carried = block.parameters[first:]
                found.update(p for p, v in zip(carried, op.operands[first:]) if v in found)
                found.update(p for p, v in zip(carried, op.blocks[-1].yields) if v in found)
                self.walk(block)
        sources = (op.operands[first:], op.blocks[-1].yields)
        found.update(r for values in sources for r, v in zip(op.results, values) if v in found)
