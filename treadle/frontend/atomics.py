"""The atomic operations: ``atomic_add(a, i, j, value)`` and its like."""

from __future__ import annotations

from typing import Any

from treadle.frontend.calls import intrinsic
from treadle.frontend.context import Context
from treadle.frontend.conversions import items_of
from treadle.frontend.indexing import index_array, index_of, index_selection
from treadle.frontend.places import ArrayPlace, ElementPlace
from treadle.frontend.values import Typed, Value, describe
from treadle.ir.structure import ATOMIC_KINDS
from treadle.language.errors import TypeMismatchError
from treadle.types.indexed import indexed_elements


def _declare(kind: str) -> None:
    name = f"atomic_{kind}"
    operands = 2 if kind == "cas" else 1

    @intrinsic(name)
    def atomic(ctx: Context, positional: list[Value], keywords: dict[str, Value], node: Any) -> Value:
        given = [*positional, *keywords.values()]
        array, rest = (given[0], given[1:]) if given else (None, [])
        type_: Any = array.type if isinstance(array, Typed) else None
        selected = indexed_elements(type_)
        type_ = selected or type_
        if not (isinstance(array, Typed) and getattr(type_, "kind", "") == "array"):
            what = "nothing" if array is None else describe(array)
            raise ctx.error(node, f"the first argument of {name}() must be an array, not {what}", TypeMismatchError)
        indices, values = rest[:-operands], rest[-operands:]
        if len(indices) == 1 and (items := items_of(indices[0])) is not None:
            indices = list(items)
        if len(indices) != type_.ndim or len(values) != operands:
            expected = ["array", *"ijkl"[: type_.ndim], *(["compare"] if kind == "cas" else []), "value"]
            raise ctx.error(
                node,
                f"wrong number of arguments; the call must have the form {name}({', '.join(expected)})",
                TypeMismatchError,
            )
        places = [index_of(ctx, i, node) for i in indices]
        if selected is not None:
            element = index_selection(ctx, array, places, node)
        else:
            base = ArrayPlace(ctx, array, [], node.args[0] if getattr(node, "args", None) else node)
            element = index_array(ctx, base, places, node)
        assert isinstance(element, ElementPlace)
        if kind == "cas":
            return element.compare_and_swap(*values)
        return element.atomic(kind, values[0])


for _kind in ATOMIC_KINDS:
    _declare(_kind)
