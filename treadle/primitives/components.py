"""Components of composites at indices known only at run time, and whole aggregates.

``pick`` and ``place`` work on a small composite given as its scalars, and vanish when the index
turns out to be a constant; ``extract`` and ``insert`` work on an aggregate. An index out of
range is the caller's fault: ``pick`` then gives the last component, ``place`` changes nothing.

| op | operands → results, attributes |
| --- | --- |
| ``pick`` | index, scalar… → scalar |
| ``place`` | index, new, scalar… → scalar… |
| ``extract`` | aggregate, index → scalar |
| ``insert`` | aggregate, index, scalar → aggregate |
| ``splat`` | scalar → aggregate, ``count`` |
| ``reduce_add`` | aggregate → scalar |
"""

from __future__ import annotations

from typing import Any

from treadle.ir.core import Op
from treadle.ir.definitions import Definition, IRError, declare
from treadle.primitives import lowering
from treadle.primitives.expressions import Expression
from treadle.primitives.lowering import Emitter
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate


def _aggregate(type_: Any) -> Aggregate:
    if not isinstance(type_, Aggregate):
        raise IRError(f"an aggregate is expected, not {type_}")
    return type_


def _is_index(e: Emitter, types: Any, index: str, k: int) -> str:
    return e.assign(f"icmp eq {e.type(types[0])} {index}, {k}")


def _lower_pick(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    index, *components = operands
    result = components[-1]
    for k in range(len(components) - 2, -1, -1):
        result = lowering.select(e, types[1], _is_index(e, types, index, k), components[k], result)
    return result  # type: ignore[no-any-return]


def _lower_place(e: Emitter, attributes: Any, types: Any, operands: Any) -> Any:
    index, new, *components = operands
    return [
        lowering.select(e, types[1], _is_index(e, types, index, k), new, component)
        for k, component in enumerate(components)
    ]


def _fold_pick(b: Any, operands: Any, attributes: Any) -> Any:
    index, *components = operands
    if index.constant is not None:
        return components[index.constant] if 0 <= index.constant < len(components) else components[-1]
    return components[0] if all(c is components[0] for c in components) else None


def _fold_place(b: Any, operands: Any, attributes: Any) -> Any:
    index, new, *components = operands
    if index.constant is None:
        return None
    return [new if k == index.constant else component for k, component in enumerate(components)]


def _fold_extract(b: Any, operands: Any, attributes: Any) -> Any:
    """An aggregate filled with one scalar has it everywhere; a component just inserted is known."""
    aggregate, index = operands
    while isinstance(aggregate.owner, Op):
        owner = aggregate.owner
        if owner.name == "splat":
            return owner.operands[0]
        if owner.name != "insert":
            return None
        written = owner.operands[1]
        if written is index or (written.constant is not None and written.constant == index.constant):
            return owner.operands[2]
        if written.constant is None or index.constant is None:
            return None
        aggregate = owner.operands[0]
    return None


def _pick_back(g: Any, index: Any, *rest: Any) -> Any:
    *components, result = rest
    return (None, *(index.equals(k).choose(g, 0) for k in range(len(components) - 1)),
            (index < len(components) - 1).choose(0, g))  # the last one also stands for an index out of range


def _place_back(gs: Any, index: Any, new: Any, *components_and_results: Any) -> Any:
    """Several results: ``gs`` holds their adjoints, None where there is none."""
    model = next(g for g in gs if g is not None)
    adjoints = [model.constant(0) if g is None else g for g in gs]
    count = len(adjoints)
    zeros = [model.constant(0)]
    b = model.builder
    inside = index.apply("ge", 0).apply("and", index.apply("lt", count))
    picked = Expression(b, b.emit("pick", index.value, *(g.value for g in adjoints)))
    return (None, inside.choose(picked, zeros[0]), *(index.equals(k).choose(0, g) for k, g in enumerate(adjoints)))


def _extract_back(g: Any, aggregate: Any, index: Any, r: Any) -> Any:
    zero = aggregate.constant(0)
    return Expression(g.builder, g.builder.emit("insert", zero.value, index.value, g.value)), None


def _insert_back(g: Any, aggregate: Any, index: Any, new: Any, r: Any) -> Any:
    b = g.builder
    kept = b.emit("insert", g.value, index.value, new.constant(0).value)
    return Expression(b, kept), None, Expression(b, b.emit("extract", g.value, index.value))


def _splat_back(g: Any, x: Any, r: Any) -> Any:
    return (Expression(g.builder, g.builder.emit("reduce_add", g.value)),)


def _extract_types(types: Any, attributes: Any) -> Any:
    return (_aggregate(types[0]).scalar,)


def _insert_types(types: Any, attributes: Any) -> Any:
    if types[2] is not _aggregate(types[0]).scalar:
        raise IRError(f"{types[2]} into {types[0]}")
    return (types[0],)


def _splat_types(types: Any, attributes: Any) -> Any:
    return (Aggregate(types[0], attributes["count"]),)


def _pick_types(types: Any, attributes: Any) -> Any:
    if len(set(types[1:])) != 1 or not isinstance(types[1], ScalarMeta):
        raise IRError("components of different types")
    return (types[1],)


def _place_types(types: Any, attributes: Any) -> Any:
    _pick_types(types, attributes)
    return tuple(types[2:])


declare(Definition("pick", _pick_types, fold=_fold_pick, lower=_lower_pick, derivative=_pick_back))
declare(Definition("place", _place_types, fold=_fold_place, lower=_lower_place, derivative=_place_back))
declare(Definition("extract", _extract_types, fold=_fold_extract, derivative=_extract_back))
declare(Definition("insert", _insert_types, derivative=_insert_back))
declare(Definition("splat", _splat_types, derivative=_splat_back))
declare(Definition("reduce_add", _extract_types, derivative=lambda g, x, r: (g.broadcast(x),)))
