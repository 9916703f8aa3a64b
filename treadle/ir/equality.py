"""Whether two functions are the same up to the identity of their values."""

from __future__ import annotations

from typing import Any

from treadle.ir.core import Block, Function, Op, Value


def structurally_equal(f: Function, g: Function) -> bool:
    """Whether the functions have the same ops on the same values, whatever their locations and name hints."""
    return _functions(f, g)


def _functions(f: Function, g: Function) -> bool:
    header = (f.name, f.is_kernel, f.labels, f.custom is None)
    return header == (g.name, g.is_kernel, g.labels, g.custom is None) and _blocks(f.body, g.body, {})


def _blocks(a: Block, b: Block, same: dict[Value, Value]) -> bool:
    if len(a.ops) != len(b.ops) or not _define(a.parameters, b.parameters, same):
        return False
    return all(_ops(x, y, same) for x, y in zip(a.ops, b.ops)) and _uses(a.yields, b.yields, same)


def _ops(a: Op, b: Op, same: dict[Value, Value]) -> bool:
    if a.name != b.name or len(a.blocks) != len(b.blocks) or not _uses(a.operands, b.operands, same):
        return False
    if a.attributes.keys() != b.attributes.keys():
        return False
    if not all(_attributes(value, b.attributes[key]) for key, value in a.attributes.items()):
        return False
    return all(_blocks(x, y, same) for x, y in zip(a.blocks, b.blocks)) and _define(a.results, b.results, same)


def _define(a: list[Value], b: list[Value], same: dict[Value, Value]) -> bool:
    if [v.type for v in a] != [v.type for v in b]:
        return False
    same.update(zip(a, b))
    return True


def _uses(a: list[Value], b: list[Value], same: dict[Value, Value]) -> bool:
    return len(a) == len(b) and all(same.get(x) is y for x, y in zip(a, b))


def _attributes(a: Any, b: Any) -> bool:
    if isinstance(a, Function) and isinstance(b, Function):
        return _functions(a, b)
    if type(a) is not type(b):
        return False
    # repr tells 0.0 from -0.0, and makes NaN equal to itself.
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)
