"""Simplifies by building a function again: constants fold, common subexpressions merge, and control
flow whose outcome is known goes away. What is then unused is left to ``dead_code``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Optional

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import TABLE, Definition
from treadle.passes.clone import Cloner
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import ArrayRef, StorageType

# The ops, besides constants, that may run although their branch is not taken: cheap, and with
# operands of any value harmless. A product is only sometimes; see ``_is_speculative``.
_SPECULATIVE = frozenset(
    ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "select", "cast", "add", "sub", "neg", "min", "max")
)
_MOST_SPECULATIVE_OPS = 8


def simplify(function: Function) -> Function:
    """A function that does the same as ``function`` with fewer ops."""
    body = _Simplifier().block(function.body)
    return replace(function, body=body, labels=list(function.labels))


def _constant_key(type_: Any, value: Any) -> tuple[Any, ...]:
    """Equal for constants that are the same in every respect: 0.0 and -0.0 are not, and no two NaNs are."""
    return ("constant", type_, value, math.copysign(1.0, value) if value == 0.0 and type(value) is float else 0)


def _same(a: Value, b: Value) -> bool:
    """Whether two values of one type are known to be the same."""
    if a is b:
        return True
    if a.constant is None or b.constant is None or a.type is not b.type:
        return False
    return _constant_key(a.type, a.constant) == _constant_key(b.type, b.constant)


def _is_speculative(op: Op) -> bool:
    if op.name in _SPECULATIVE:
        return isinstance(op.results[0].type, ScalarMeta)
    if op.name == "mul" and isinstance(op.results[0].type, ScalarMeta):
        # In the derivative of a product, a branch that is not taken would contribute 0 times the
        # other factor: NaN, if that is infinite.
        return not op.results[0].type.is_float or any(
            v.constant is not None and math.isfinite(v.constant) for v in op.operands
        )
    return False


class _Simplifier(Cloner):
    """``table`` has the results of the pure ops in scope by what they compute; ``entered`` is the order
    in which its keys came, to take them out at the end of a block. ``known`` has the conditions that
    are decided where the builder stands, because it is inside an ``if`` on them.
    """

    __slots__ = ("table", "entered", "known")

    def __init__(self) -> None:
        super().__init__(Builder(Block()), {})
        self.table: dict[tuple[Any, ...], list[Value]] = {}
        self.entered: list[tuple[Any, ...]] = []
        self.known: dict[Value, bool] = {}

    def op(self, op: Op) -> list[Value]:
        self.builder.location = op.location
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            results = handler(self, op)
        elif op.name == "constant":
            results = [self._merged(op.results[0].type, op.attributes["value"])]
        else:
            definition = TABLE[op.name]
            if definition.effect != "pure":
                return super().op(op)
            results = self._pure(op, definition)
        mapping = self.mapping
        for old, new in zip(op.results, results):
            mapping[old] = new
            if old.name and not new.name:
                new.name = old.name
        return results

    def block(self, block: Block) -> Block:
        start = len(self.entered)
        copy = super().block(block)
        for key in self.entered[start:]:
            del self.table[key]
        del self.entered[start:]
        return copy

    # Pure ops.

    def _enter(self, key: tuple[Any, ...], results: list[Value]) -> list[Value]:
        self.table[key] = results
        self.entered.append(key)
        return results

    def _merged(self, type_: Any, value: Any, made: Optional[Value] = None) -> Value:
        """The constant in scope with this value; else ``made``, or a new one."""
        key = _constant_key(type_, value)
        found = self.table.get(key)
        if found is not None:
            return found[0]
        if made is None:
            made = self.builder.op("constant", (), (type_,), {"value": value}).results[0]
        self._enter(key, [made])
        return made

    def _pure(self, op: Op, definition: Definition) -> list[Value]:
        name, attributes = op.name, op.attributes
        get = self.mapping.get
        operands = [get(v, v) for v in op.operands]
        key: tuple[Any, ...] = (name, *operands, *attributes.items()) if attributes else (name, *operands)
        if name == "null_array":
            key = (name, op.results[0].type, attributes.get("reason"))
        results = self.table.get(key)
        if results is not None:
            return results
        folded = definition.fold(self.builder, operands, attributes) if definition.fold else None
        if folded is not None:
            results = [self._folded(folded)] if isinstance(folded, Value) else list(folded)
        elif isinstance(op.results[0].type, ArrayRef) and definition.types is not None:
            # An array can turn out to be contiguous or not.
            results = self.builder.emit_many(name, *operands, **attributes)
        else:
            results = self.builder.op(name, operands, [r.type for r in op.results], dict(attributes)).results
        return self._enter(key, results)

    def _folded(self, value: Value) -> Value:
        """What folding gave; in place of a constant that it has just made, the equal one that there was before."""
        ops = self.builder.block.ops
        if value.constant is None or not ops or ops[-1] is not value.owner:
            return value
        found = self._merged(value.type, value.constant, value)
        if found is not value:
            ops.pop()
        return found

    # Control flow.

    def _decided(self, condition: Value) -> Optional[bool]:
        constant = condition.constant
        return constant if constant is not None else self.known.get(condition)

    def _branch(self, block: Block, condition: Value, outcome: bool) -> Block:
        """A copy of a block in which ``condition`` has this outcome."""
        known = {condition: outcome}
        owner = condition.owner
        if isinstance(owner, Op) and owner.name == "not":
            known[owner.operands[0]] = not outcome
        before, self.known = self.known, {**self.known, **known}
        copy = self.block(block)
        self.known = before
        return copy

    def _if(self, op: Op) -> list[Value]:
        condition = self.value(op.operands[0])
        decided = self._decided(condition)
        if decided is not None:
            return self.block_body(op.blocks[0] if decided else op.blocks[1])
        blocks = [self._branch(op.blocks[0], condition, True), self._branch(op.blocks[1], condition, False)]
        self.builder.location = op.location
        results: list[Optional[Value]] = [None] * len(op.results)
        for k, (a, b) in enumerate(zip(blocks[0].yields, blocks[1].yields)):
            if _same(a, b):
                results[k] = a if a is b else self._merged(a.type, a.constant)
        rest = [k for k, result in enumerate(results) if result is None]
        if rest and self._may_select(op, rest, blocks):
            made = self._select(condition, rest, blocks)
        elif rest or blocks[0].ops or blocks[1].ops:
            for block in blocks:
                block.yields = [block.yields[k] for k in rest]
            types = [_joined(op.results[k].type, [block.yields[n] for block in blocks]) for n, k in enumerate(rest)]
            made = self.builder.op("if", [condition], types, dict(op.attributes), blocks).results
        else:
            made = []
        for k, value in zip(rest, made):
            results[k] = value
        return results  # type: ignore[return-value]

    def _may_select(self, op: Op, results: list[int], blocks: list[Block]) -> bool:
        if not all(isinstance(op.results[k].type, ScalarMeta) for k in results):
            return False
        ops = [inner for block in blocks for inner in block.ops if inner.name != "constant"]
        return len(ops) <= _MOST_SPECULATIVE_OPS and all(map(_is_speculative, ops))

    def _select(self, condition: Value, results: list[int], blocks: list[Block]) -> list[Value]:
        for block in blocks:
            self.builder.block.ops.extend(block.ops)
        then, other = (block.yields for block in blocks)
        return [self.builder.emit("select", condition, then[k], other[k]) for k in results]

    def _for(self, op: Op) -> list[Value]:
        count, *initial = self.values(op.operands)
        (body,) = op.blocks
        if count.constant is not None and count.constant <= 1:
            if count.constant <= 0:
                return initial
            self.mapping.update(zip(body.parameters, [self._merged(count.type, 0), *initial]))
            return self.block_body(body)
        return self._loop(op, [count], initial, body.parameters[1:])

    def _while(self, op: Op) -> list[Value]:
        initial = self.values(op.operands)
        condition = self.value(op.blocks[0].yields[0])
        if condition.constant is False:  # known before the loop
            self.mapping.update(zip(op.blocks[0].parameters, initial))
            self.block_body(op.blocks[0])
            return initial
        return self._loop(op, [], initial, op.blocks[1].parameters)

    def _loop(self, op: Op, leading: list[Value], initial: list[Value], carried: list[Value]) -> list[Value]:
        """``leading`` are the operands before the initial values; ``carried`` are the parameters of the last block."""
        changing = []
        for k, (first, parameter, following) in enumerate(zip(initial, carried, op.blocks[-1].yields)):
            unchanged = following is parameter or self.mapping.get(following) is first
            if not unchanged or first.type != parameter.type:
                changing.append(k)
        blocks = [
            self._loop_block(block, len(block.parameters) - len(carried), initial, changing) for block in op.blocks
        ]
        body = blocks[-1]
        body.yields = [body.yields[k] for k in changing]
        self.builder.location = op.location
        operands = leading + [initial[k] for k in changing]
        types = [op.results[k].type for k in changing]
        new_op = self.builder.op(op.name, operands, types, dict(op.attributes), blocks)
        results = list(initial)
        for n, k in enumerate(changing):
            # Simplifying the body may have shown that it hands the value on.
            parameter = body.parameters[len(body.parameters) - len(changing) + n]
            handed_on = body.yields[n] is parameter or _same(body.yields[n], initial[k])
            results[k] = initial[k] if handed_on and initial[k].type == types[n] else new_op.results[n]
        return results

    def _loop_block(self, block: Block, leading: int, initial: Sequence[Value], changing: list[int]) -> Block:
        """A copy of a block of a loop that carries the values ``changing`` alone; the others stay as they came in."""
        carried = block.parameters[leading:]
        self.mapping.update(zip(carried, initial))
        kept = Block()
        kept.parameters = block.parameters[:leading] + [carried[k] for k in changing]
        kept.ops, kept.yields = block.ops, block.yields
        return self.block(kept)

    def _assert(self, op: Op) -> list[Value]:
        return [] if self._decided(self.value(op.operands[0])) else Cloner.op(self, op)


def _joined(type_: StorageType, values: list[Value]) -> StorageType:
    """The type of a value that is one of these: an array is contiguous only if all of them are."""
    if isinstance(type_, ArrayRef) and type_.contiguous:
        return replace(type_, contiguous=all(v.type == type_ for v in values))
    return type_


_HANDLERS: dict[str, Callable[[_Simplifier, Op], list[Value]]] = {
    "if": _Simplifier._if,
    "for": _Simplifier._for,
    "while": _Simplifier._while,
    "assert": _Simplifier._assert,
}
