"""What an expression is to the frontend: a value at run time, a Python object, a tuple of these.

The IR has only scalars, large aggregates and array handles; a ``Typed`` value puts such leaves
together to a value of a language type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.types import scalars
from treadle.types.storage import StorageType

HintKey = tuple[int, str]
"""Where a type was guessed: the syntax node (by identity) and the variable."""


class Typed:
    """A value at run time: a language type and the IR values of its leaves.

    ``origins``: None if the type is settled. Else the type is a guess, because the value came from a
    literal by way of a loop or a branch; the keys say which guesses it depends on.
    """

    __slots__ = ("leaves", "origins", "type")

    def __init__(self, type_: Any, leaves: tuple[IRValue, ...], origins: frozenset[HintKey] | None = None) -> None:
        self.type = type_
        self.leaves = leaves
        self.origins = origins

    @property
    def leaf(self) -> IRValue:
        """The only leaf."""
        (leaf,) = self.leaves
        return leaf

    def __repr__(self) -> str:
        return f"Typed({self.type!r})"


class Constant:
    """A Python object known at compile time: a literal, a type, a function, a module, a text, None.

    A Python int, float or bool is a literal: it takes the type of what it meets.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def is_literal(self) -> bool:
        return type(self.value) in (int, float, bool)

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


class TupleValue:
    """Several values, as ``return a, b`` and ``a.shape`` give them. Exists at compile time only."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Value]) -> None:
        self.items = tuple(items)

    def __repr__(self) -> str:
        return f"TupleValue({list(self.items)!r})"


class Unusable:
    """Stands for a variable that has no one type after a branch or loop; reading it is an error."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


Value = Typed | Constant | TupleValue | Unusable

TRUE = Constant(True)
FALSE = Constant(False)
NONE = Constant(None)


class Retype(Exception):
    """A guessed type turned out wrong; the function is built again with the type given here.

    ``settled``: whether the new type is final, or a better guess. ``note`` explains it, should the
    next attempt fail.
    """

    def __init__(self, keys: frozenset[HintKey], type_: Any, settled: bool, note: str = "") -> None:
        super().__init__(note)
        self.keys = keys
        self.type = type_
        self.settled = settled
        self.note = note


def flatten(value: Value) -> list[IRValue]:
    """All leaves of a value, in order; those of a compile-time object are none."""
    if isinstance(value, Typed):
        return list(value.leaves)
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in flatten(item)]
    return []


def rebuild(template: Value, leaves: Iterator[IRValue]) -> Value:
    """A value like ``template`` with other leaves."""
    if isinstance(template, Typed):
        return Typed(template.type, tuple(next(leaves) for _ in template.leaves), template.origins)
    if isinstance(template, TupleValue):
        return TupleValue([rebuild(item, leaves) for item in template.items])
    return template


def leaf_types(value: Value) -> list[StorageType]:
    return [leaf.type for leaf in flatten(value)]


def literal_type(value: Any) -> Any:
    """The type that a literal has when nothing else decides: bool, int32 or float32."""
    return scalars.from_annotation(type(value))


def shown(number: Any) -> str:
    """A literal as messages show it; of a very long integer, how long it is."""
    if type(number) is int and number.bit_length() > 256:
        return f"of {number.bit_length()} bits"
    return str(number)


def describe(value: Value) -> str:
    """A value as messages show it: its type, or the literal."""
    if isinstance(value, Typed):
        return notation.text(value.type)
    if isinstance(value, TupleValue):
        return f"({', '.join(map(describe, value.items))})"
    if isinstance(value, Unusable):
        return "no value"
    found = value.value
    if value.is_literal:
        return f"the literal {shown(found)}"
    if isinstance(found, str):
        return f"the text {found!r}"
    return getattr(found, "__name__", None) or repr(found)
