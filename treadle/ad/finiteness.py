"""Finds values that may be infinite or NaN though what they come from is finite.

Where the result of a product was discarded (``where(x > 0, x * log(x), 0)``), its adjoint is 0, and
must stay 0 on the way back to a factor that is not finite. Guarding every product would cost time;
only those with a factor found here are guarded.
"""

from __future__ import annotations

from treadle.ir.core import Block, Function, Op, Value

# Ops that can turn finite numbers into infinity or NaN, other than by overflow of a sum or product.
_SOURCES = frozenset(
    ("div", "mod", "log", "log2", "log10", "pow", "exp", "sinh", "cosh", "tan", "sqrt", "asin", "acos", "erf_inverse")
)
# Ops whose result is finite whatever comes in.
_FINITE = frozenset(("constant", "load", "isnan", "isinf", "isfinite", "lt", "le", "gt", "ge", "eq", "ne"))


def possibly_infinite(function: Function) -> set[Value]:
    """The values of ``function``, at any depth, that may not be finite."""
    found: set[Value] = set()
    _walk(function.body, found)
    return found


def _walk(block: Block, found: set[Value]) -> None:
    for op in block.ops:
        if op.blocks:
            _structured(op, found)
        elif op.name in _SOURCES:
            found.update(op.results)
        elif op.name not in _FINITE and not found.isdisjoint(op.operands):
            found.update(op.results)


def _structured(op: Op, found: set[Value]) -> None:
    if op.name == "if":
        for block in op.blocks:
            _walk(block, found)
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
            _walk(block, found)
    sources = (op.operands[first:], op.blocks[-1].yields)
    found.update(r for values in sources for r, v in zip(op.results, values) if v in found)
