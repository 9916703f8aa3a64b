"""Copying ops through a builder: the common core of the passes and of the derivative transform.

Because the copy goes through ``Builder.emit``, whatever became constant on the way folds.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Location, Op, Value
from treadle.ir.definitions import TABLE


class Cloner:
    """Emits copies of ops into ``builder``; ``mapping`` says what the copied values became.

    A value that the mapping does not know stands for itself, so that code can be copied within
    the scope of the values that it uses. ``place`` is the location of copies of ops that have none.
    """

    __slots__ = ("builder", "mapping", "place")

    def __init__(self, builder: Builder, mapping: dict[Value, Value]) -> None:
        self.builder = builder
        self.mapping = mapping
        self.place: Location | None = None

    def value(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def values(self, values: Sequence[Value]) -> list[Value]:
        get = self.mapping.get
        return [get(v, v) for v in values]

    def op(self, op: Op) -> list[Value]:
        """Copy one op, with its nested blocks; returns what its results became."""
        builder = self.builder
        builder.location = op.location or self.place
        operands = self.values(op.operands)
        definition = TABLE[op.name]
        if op.blocks or definition.types is None:
            blocks = [self.block(b) for b in op.blocks]
            builder.location = op.location or self.place
            types = [r.type for r in op.results]
            results = builder.op(op.name, operands, types, dict(op.attributes), blocks).results
        else:
            results = builder.emit_many(op.name, *operands, **op.attributes)
        for old, new in zip(op.results, results):
            self.mapping[old] = new
            if old.name and not new.name:
                new.name = old.name
        return results

    def block(self, block: Block) -> Block:
        """A copy of a nested block, with parameters of its own."""
        copy = Block([p.type for p in block.parameters])
        for old, new in zip(block.parameters, copy.parameters):
            new.name = old.name
            self.mapping[old] = new
        outer, self.builder.block = self.builder.block, copy
        copy.yields = self.block_body(block)
        self.builder.block = outer
        return copy

    def block_body(self, block: Block) -> list[Value]:
        """Copy the ops of a block to where the builder stands; returns what it yields there."""
        for op in block.ops:
            self.op(op)
        return self.values(block.yields)
