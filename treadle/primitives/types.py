"""Type rules: how the result of a primitive follows from its operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.ir.definitions import IRError
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, StorageType

Types = Sequence[StorageType]
Attributes = dict[str, Any]


def scalar_of(type_: StorageType) -> ScalarMeta:
    """The scalar type of a scalar or aggregate."""
    if isinstance(type_, Aggregate):
        return type_.scalar
    if isinstance(type_, ScalarMeta):
        return type_
    raise IRError(f"{type_} is no scalar or aggregate")


def with_scalar(type_: StorageType, scalar: ScalarMeta) -> StorageType:
    """A type of the same number of components as ``type_``."""
    return Aggregate(scalar, type_.count) if isinstance(type_, Aggregate) else scalar


def same(*kinds: str) -> Any:
    """All operands, and the result, have one type, whose scalars are of one of these kinds."""

    def rule(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
        first = types[0]
        for other in types:
            if other != first:
                raise IRError(f"operands of different types {first} and {other}")
        if kinds and scalar_of(first).kind not in kinds:
            raise IRError(f"an operand of type {first}")
        return (first,)

    return rule


def predicate(*kinds: str) -> Any:
    """All operands have one type; the result is bool, component by component."""
    operands = same(*kinds)

    def rule(types: Types, attributes: Attributes) -> tuple[StorageType, ...]:
        return (with_scalar(operands(types, attributes)[0], scalars.bool_),)

    return rule


FLOAT = ("float",)
INTEGER = ("signed", "unsigned")
NUMBER = ("signed", "unsigned", "float")
BITS = ("bool", "signed", "unsigned")
ANY = ("bool", "signed", "unsigned", "float")
