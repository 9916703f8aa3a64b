"""The builder appends ops to a block, typing and folding them on the way.

Because every pass rebuilds functions through a builder, constants are folded wherever IR is
made, and no pass has to do it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

from treadle.ir.core import Block, Location, Op, Value
from treadle.ir.definitions import TABLE, lookup
from treadle.ir.numbers import normalize
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, ArrayRef, StorageType


class Builder:
    """Appends to ``block``; every op made gets the current ``location``."""

    __slots__ = ("block", "location")

    def __init__(self, block: Block, location: Optional[Location] = None) -> None:
        self.block = block
        self.location = location

    def op(
        self,
        name: str,
        operands: Sequence[Value] = (),
        result_types: Sequence[StorageType] = (),
        attributes: Optional[dict[str, Any]] = None,
        blocks: Sequence[Block] = (),
    ) -> Op:
        """Append an op as it is: no typing, no folding."""
        op = Op(name, operands, result_types, attributes, blocks, self.location)
        self.block.ops.append(op)
        return op

    def emit(self, name: str, *operands: Value, **attributes: Any) -> Value:
        """Append an op with one result whose type follows from its operands, or fold it."""
        definition = TABLE.get(name) or lookup(name)
        if definition.fold is not None:
            folded = definition.fold(self, operands, attributes)
            if folded is not None:
                return folded  # type: ignore[no-any-return]
        assert definition.types is not None, name
        op = Op(name, operands, definition.types([v.type for v in operands], attributes), attributes, (), self.location)
        self.block.ops.append(op)
        return op.results[0]

    def emit_many(self, name: str, *operands: Value, **attributes: Any) -> list[Value]:
        """As ``emit``, for an op with any number of results."""
        definition = TABLE.get(name) or lookup(name)
        if definition.fold is not None:
            folded = definition.fold(self, operands, attributes)
            if folded is not None:
                return [folded] if isinstance(folded, Value) else list(folded)
        assert definition.types is not None, name
        types = definition.types([v.type for v in operands], attributes)
        return self.op(name, operands, types, attributes).results

    def constant(self, type_: ScalarMeta, value: Union[bool, int, float]) -> Value:
        """A constant, converted to its type as at run time."""
        return self.op("constant", (), (type_,), {"value": normalize(type_, value)}).results[0]

    def zero(self, type_: StorageType) -> Value:
        """Zero of a scalar or aggregate; for an array handle, one that refers to nothing."""
        return self.filled(type_, 0)

    def filled(self, type_: StorageType, value: Union[bool, int, float]) -> Value:
        """A scalar constant, or an aggregate of equal constants."""
        if isinstance(type_, Aggregate):
            return self.emit("splat", self.constant(type_.scalar, value), count=type_.count)
        if isinstance(type_, ArrayRef):
            return self.op("null_array", (), (type_,)).results[0]
        return self.constant(type_, value)

    def index(self, value: int) -> Value:
        """An int32 constant."""
        return self.constant(scalars.int32, value)
