"""Checks that a function obeys the rules of the IR. Tests run it after every pass; its cost is linear."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import IRError, lookup
from treadle.ir.numbers import normalize
from treadle.ir.printer import op_to_text, type_to_text
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import ARRAY_DESCRIPTOR_SIZE, ArrayRef, StorageType


def verify(function: Function) -> None:
    """Check a function and those that it calls.

    Raises:
        IRError: a rule is broken; the message has the op and its place in the user's source.
    """
    _Verifier(set()).function(function)


class _Broken(Exception):
    """A rule is broken; where is added further up."""


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise _Broken(message)


def _text(types: Sequence[StorageType]) -> str:
    return "(" + ", ".join(map(type_to_text, types)) + ")"


def _types(values: Sequence[Value]) -> list[StorageType]:
    return [v.type for v in values]


def _fits(source: StorageType, target: StorageType) -> bool:
    """Whether a value may flow into one of type ``target``: a contiguous array is also one that need not be."""
    if isinstance(target, ArrayRef) and isinstance(source, ArrayRef):
        if source.contiguous and not target.contiguous:
            return (source.ndim, source.itemsize) == (target.ndim, target.itemsize)
    return source == target


def _flow(values: Sequence[Value], targets: Sequence[StorageType], what: str) -> None:
    if len(values) != len(targets) or not all(_fits(v.type, t) for v, t in zip(values, targets)):
        raise _Broken(f"{what} of types {_text(_types(values))} for {_text(targets)}")


class _Verifier:
    """The values that are in scope, and those that were ever defined."""

    def __init__(self, checked: set[Function]) -> None:
        self.checked = checked
        self.visible: set[Value] = set()
        self.defined: set[Value] = set()

    def function(self, function: Function) -> None:
        self.checked.add(function)
        try:
            _require(not (function.is_kernel and function.results), "a kernel has no results")
            _require(len(function.labels) <= len(function.parameters), "more labels than parameters")
            self.block(function.body)
        except _Broken as broken:
            raise IRError(f"function {function.name}: {broken}") from None

    def block(self, block: Block) -> None:
        self.define(block.parameters, block)
        frames: list[Value] = []
        for op in block.ops:
            try:
                self.op(op)
                _check_frames(op, frames)
            except _Broken as broken:
                raise IRError(f"{op.location or 'unknown place'}: {broken}, in\n{op_to_text(op)}") from None
        self.use(block.yields)
        self.visible.difference_update(block.parameters)
        for op in block.ops:
            self.visible.difference_update(op.results)

    def define(self, values: Sequence[Value], owner: Any) -> None:
        for k, value in enumerate(values):
            _require(value.owner is owner and value.index == k, f"value {k} does not know where it is defined")
            _require(value not in self.defined, "a value is defined twice")
            self.defined.add(value)
            self.visible.add(value)

    def use(self, values: Sequence[Value]) -> None:
        for k, value in enumerate(values):
            if value not in self.visible:
                where = "out of scope" if value in self.defined else "not defined before"
                raise _Broken(f"value {k} is used where it is {where}")

    def op(self, op: Op) -> None:
        self.use(op.operands)
        try:
            definition = lookup(op.name)
            if definition.types is not None:
                expected = definition.types(_types(op.operands), op.attributes)
                if list(expected) != _types(op.results):
                    raise _Broken(f"results {_text(_types(op.results))} where {_text(expected)} is expected")
            rule = _RULES.get(op.name)
            if rule is not None:
                rule(op)
        except (IRError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise _Broken(f"{type(error).__name__}: {error}") from None
        for block in op.blocks:
            self.block(block)
        callee = op.attributes.get("callee")
        if callee is not None and callee not in self.checked:
            _Verifier(self.checked).function(callee)
        self.define(op.results, op)


def _check_frames(op: Op, frames: list[Value]) -> None:
    """``frames``: those opened by this block and not yet given back. What branches do with them is not followed."""
    if op.name == "frame":
        frames.append(op.results[0])
    elif op.name == "release" and op.operands[0] in frames:
        _require(frames.pop() is op.operands[0], "a frame is given back that is not the topmost")
    elif op.blocks and frames:
        for nested in (n for block in op.blocks for n in block.walk()):
            if nested.name == "release" and nested.operands[0] in frames:
                frames.remove(nested.operands[0])


def _constant(op: Op) -> None:
    type_, value = op.result.type, op.attributes["value"]
    _require(isinstance(type_, ScalarMeta), "a constant is a scalar")
    assert isinstance(type_, ScalarMeta)
    python = bool if type_.kind == "bool" else float if type_.is_float else int
    _require(type(value) is python, f"the value {value!r} of a constant of type {type_}")
    _require(value != value or normalize(type_, value) == value, f"{type_} cannot hold {value!r}")


def _if(op: Op) -> None:
    _require(_types(op.operands) == [scalars.bool_], "the condition must be one bool")
    _require(len(op.blocks) == 2, "an if has two blocks")
    for block in op.blocks:
        _require(not block.parameters, "a block of an if has no parameters")
        _flow(block.yields, _types(op.results), "yields")


def _for(op: Op) -> None:
    _require(bool(op.operands) and op.operands[0].type in (scalars.int32, scalars.int64), "count is int32 or int64")
    _require(len(op.blocks) == 1, "a for has one block")
    (body,), carried = op.blocks, _types(op.results)
    _require(_types(body.parameters) == [op.operands[0].type, *carried], "parameters do not match the results")
    _flow(op.operands[1:], carried, "initial values")
    _flow(body.yields, carried, "yields")


def _while(op: Op) -> None:
    _require(len(op.blocks) == 2, "a while has two blocks")
    (condition, body), carried = op.blocks, _types(op.results)
    for block in op.blocks:
        _require(_types(block.parameters) == carried, "parameters do not match the results")
    _require(_types(condition.yields) == [scalars.bool_], "the condition must yield one bool")
    _flow(op.operands, carried, "initial values")
    _flow(body.yields, carried, "yields")


def _call(op: Op) -> None:
    callee = op.attributes["callee"]
    _require(isinstance(callee, Function), "the callee must be a function")
    _flow(op.operands, _types(callee.parameters), "arguments")
    _require(len(callee.results) == len(op.results), f"{len(op.results)} results of {len(callee.results)}")
    _flow(callee.results, _types(op.results), "results")


def _within_item(op: Op, type_: StorageType) -> None:
    array, offset = op.operands[0].type, op.attributes["offset"]
    assert isinstance(array, ArrayRef)
    size = ARRAY_DESCRIPTOR_SIZE if isinstance(type_, ArrayRef) else type_.size
    _require(0 <= offset <= array.itemsize - size, f"offset {offset} of {size} bytes in {array.itemsize}")


def _print(op: Op) -> None:
    pieces = op.attributes["pieces"]
    _require(len(pieces) == len(op.operands) + 1, f"{len(pieces)} pieces around {len(op.operands)} values")
    _require(all(isinstance(piece, str) for piece in pieces), "pieces are strings")


def _assert(op: Op) -> None:
    _require(bool(op.operands) and op.operands[0].type is scalars.bool_, "the condition must be bool")
    numbers = re.findall(r"\{(\d+)\}", op.attributes["message"])
    _require(all(int(k) < len(op.operands) - 1 for k in numbers), "the message refers to a value that is not there")


def _stack(count: int) -> Callable[[Op], None]:
    """``count`` operands, before the saved values: the frame, which is int64, and integers."""

    def rule(op: Op) -> None:
        found = _types(op.operands)[:count] if op.name == "save" else _types(op.operands)
        _require(len(found) == count and found[0] is scalars.int64, f"operands {_text(found)}")
        _require(all(isinstance(t, ScalarMeta) and t.is_integer for t in found), "numbers of records are integers")

    return rule


def _frame(op: Op) -> None:
    count = _types(op.operands)
    _require(len(count) <= 1, "a frame takes a count at most")
    _require(all(isinstance(t, ScalarMeta) and t.is_integer for t in count), "a count is an integer")


_RULES: dict[str, Callable[[Op], None]] = {
    "constant": _constant,
    "if": _if,
    "for": _for,
    "while": _while,
    "call": _call,
    "load": lambda op: _within_item(op, op.attributes["type"]),
    "store": lambda op: _within_item(op, op.operands[-1].type),
    "atomic": lambda op: _within_item(op, op.operands[-1].type),
    "print": _print,
    "assert": _assert,
    "frame": _frame,
    "save": _stack(2),
    "restore": _stack(2),
    "seal": _stack(2),
    "release": _stack(1),
}
