"""Makes random functions in IR that are valid and end, for tests that a pass keeps their meaning.

Ops are appended without folding, so that there is something to simplify.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import treadle.primitives  # noqa: F401  (fills the table of ops)
from tests.ir.interpreter import run_function
from treadle.ir import Block, Builder, Function, Location, Op, Value
from treadle.ir.definitions import TABLE
from treadle.types import scalars
from treadle.types.storage import Aggregate, ArrayRef, StorageType

SIZE = 8
"""Elements of each array, a power of two."""
TYPES = (scalars.bool_, scalars.int32, scalars.float32, scalars.float64)
FLOATS = ArrayRef(1, 4, True)
INTEGERS = ArrayRef(1, 4, True)
LARGE = Aggregate(scalars.float32, 40)

_ARITHMETIC = {
    "bool": ("and", "or", "xor", "eq", "ne", "not", "select"),
    "signed": ("add", "sub", "mul", "div", "mod", "floordiv", "min", "max", "and", "or", "xor", "neg", "abs", "not",
               "select"),
    "float": ("add", "sub", "mul", "div", "min", "max", "neg", "abs", "select"),
}  # fmt: skip
_UNARY = ("neg", "not", "abs")
_NUMBERS: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "signed": (0, 1, -1, 2, 7, 2**31 - 1, -(2**31)),
    "float": (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, float("inf"), float("nan")),
}


def random_function(rng: random.Random, size: int = 40, callee: Function | None = None) -> Function:
    """A function of four scalars and two arrays of ``SIZE`` elements, with about ``size`` ops.

    Returns one scalar of each type, so that much of what it computes is used.
    """
    function = Function("random", Block([*TYPES, FLOATS, INTEGERS]), labels=["b", "i", "f", "d", "x", "n"])
    maker = _Maker(rng, Builder(function.body), size, function.parameters[4:], callee)
    maker.values = list(function.parameters[:4])
    for k in range(size):
        maker.builder.location = Location("random.py", k + 1)
        maker.statement(depth=0)
        if maker.size <= 0:
            break
    function.body.yields = [maker.value(t) for t in TYPES]
    return function


def random_arguments(rng: random.Random) -> list[Any]:
    x = np.array([rng.uniform(-4, 4) for _ in range(SIZE)], np.float32)
    n = np.array([rng.randrange(-9, 9) for _ in range(SIZE)], np.int32)
    return [rng.random() < 0.5, rng.randrange(-9, 9), rng.uniform(-4, 4), rng.uniform(-4, 4), x, n]


def observed(function: Function, arguments: Sequence[Any]) -> str:
    """All that can be seen of a run, as text: NaN is equal to itself, and 0.0 differs from -0.0."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    outcome = run_function(function, arguments)
    arrays = [a.tolist() for a in arguments if isinstance(a, np.ndarray)]
    return repr((outcome, arrays)).replace("-nan", "nan")


class _Maker:
    """Appends random statements. ``values`` are those in scope; ``size`` is how many may still come."""

    def __init__(
        self, rng: random.Random, builder: Builder, size: int, arrays: Sequence[Value], callee: Function | None
    ) -> None:
        self.rng = rng
        self.builder = builder
        self.size = size
        self.floats, self.integers = arrays
        self.callee = callee
        self.values: list[Value] = []
        self.groups = 0

    def raw(self, name: str, *operands: Value, **attributes: Any) -> Value:
        """An op with one result, not folded."""
        types = TABLE[name].types
        assert types is not None
        result = types([v.type for v in operands], attributes)
        return self.builder.op(name, operands, result, attributes).result

    def effect(self, name: str, *operands: Value, **attributes: Any) -> None:
        self.builder.op(name, operands, (), attributes)

    def value(self, type_: StorageType) -> Value:
        """A value in scope, recent ones more often, or a constant."""
        candidates = [v for v in self.values if v.type == type_]
        if candidates and self.rng.random() < 0.8:
            return self.rng.choice(candidates[-4:] if self.rng.random() < 0.6 else candidates)
        return self.constant(type_)

    def constant(self, type_: StorageType) -> Value:
        if isinstance(type_, Aggregate):
            return self.raw("splat", self.value(type_.scalar), count=type_.count)
        return self.builder.constant(type_, self.rng.choice(_NUMBERS[type_.kind]))  # type: ignore[union-attr, arg-type]

    def statement(self, depth: int) -> None:
        self.size -= 1
        simple: list[Callable[[int], None]] = [self.arithmetic] * 6
        simple += [self.comparison, self.cast, self.memory, self.memory, self.composite, self.aggregate, self.output]
        nested: list[Callable[[int], None]] = [
            self.branch,
            self.branch,
            self.counted,
            self.conditional_loop,
            self.recorded,
            self.call,
        ]
        self.rng.choice(simple + (nested if depth < 3 else []))(depth)

    def arithmetic(self, depth: int) -> None:
        type_ = self.rng.choice(TYPES)
        name = self.rng.choice(_ARITHMETIC[type_.kind])
        operands = [self.value(type_)] if name in _UNARY else [self.value(type_), self.value(type_)]
        if name == "select":
            operands.insert(0, self.value(scalars.bool_))
        self.values.append(self.raw(name, *operands))

    def comparison(self, depth: int) -> None:
        type_ = self.rng.choice(TYPES[1:])
        name = self.rng.choice(("lt", "le", "gt", "ge", "eq", "ne"))
        self.values.append(self.raw(name, self.value(type_), self.value(type_)))

    def cast(self, depth: int) -> None:
        self.values.append(self.raw("cast", self.value(self.rng.choice(TYPES)), type=self.rng.choice(TYPES)))

    def index(self, size: int) -> Value:
        return self.raw("and", self.value(scalars.int32), self.builder.index(size - 1))

    def memory(self, depth: int) -> None:
        array, type_ = self.rng.choice(((self.floats, scalars.float32), (self.integers, scalars.int32)))
        kind = self.rng.randrange(5)
        if kind < 2:
            self.values.append(self.raw("load", array, self.index(SIZE), type=type_, offset=0))
        elif kind < 4:
            self.effect("store", array, self.index(SIZE), self.value(type_), offset=0)
        else:
            kinds = ("add", "sub", "min", "max", "exch")
            old = self.raw("atomic", array, self.index(SIZE), self.value(type_), kind=self.rng.choice(kinds), offset=0)
            self.values.append(old)

    def composite(self, depth: int) -> None:
        type_ = self.rng.choice(TYPES)
        components = [self.value(type_) for _ in range(self.rng.randrange(1, 4))]
        index = self.index(4)
        if self.rng.random() < 0.5:
            self.values.append(self.raw("pick", index, *components))
        else:
            op = self.builder.op("place", (index, self.value(type_), *components), [type_] * len(components))
            self.values.extend(op.results)

    def aggregate(self, depth: int) -> None:
        kind = self.rng.randrange(3)
        if kind == 0:
            self.values.append(self.raw("insert", self.value(LARGE), self.index(32), self.value(scalars.float32)))
        elif kind == 1:
            self.values.append(self.raw("extract", self.value(LARGE), self.index(32)))
        else:
            self.values.append(self.raw("add", self.value(LARGE), self.value(LARGE)))

    def output(self, depth: int) -> None:
        if self.rng.random() < 0.5:
            self.effect("print", self.value(self.rng.choice(TYPES)), pieces=["value ", ""])
        elif self.rng.random() < 0.3:
            value = self.value(scalars.int32)
            message = "a thing that {0} is not"
            self.effect("assert", self.raw("ne", value, self.builder.index(7)), value, message=message)

    # Nested blocks.

    def block(self, block: Block, types: Sequence[StorageType], depth: int) -> None:
        """Fill a block with statements; it yields values of these types."""
        scope, outer = list(self.values), self.builder.block
        self.builder.block = block
        self.values += block.parameters
        for _ in range(self.rng.randrange(5)):
            if self.size > 0:
                self.statement(depth + 1)
        block.yields += [self.value(t) for t in types]
        self.values, self.builder.block = scope, outer

    def types(self) -> list[StorageType]:
        return [self.rng.choice((*TYPES, LARGE)) for _ in range(self.rng.randrange(3))]

    def branch(self, depth: int) -> None:
        types, condition = self.types(), self.value(scalars.bool_)
        blocks = [Block(), Block()]
        for block in blocks:
            self.block(block, types, depth)
        self.values += self.builder.op("if", [condition], types, blocks=blocks).results

    def count(self) -> Value:
        if self.rng.random() < 0.5:
            return self.builder.index(self.rng.randrange(-1, 5))
        return self.raw("and", self.value(scalars.int32), self.builder.index(3))

    def counted(self, depth: int) -> None:
        types, count = self.types(), self.count()
        body = Block([scalars.int32, *types])
        initial = [self.value(t) for t in types]
        self.block(body, types, depth)
        if types and self.rng.random() < 0.5:  # some carried values do not change
            k = self.rng.randrange(len(types))
            body.yields[k] = self.rng.choice((body.parameters[1 + k], initial[k]))
        self.values += self.builder.op("for", [count, *initial], types, blocks=[body]).results

    def conditional_loop(self, depth: int) -> None:
        """A ``while`` whose first carried value counts up to a limit."""
        types, limit = [scalars.int32, *self.types()], self.count()
        initial = [self.builder.index(0), *(self.value(t) for t in types[1:])]
        condition, body = Block(types), Block(types)
        self.block(condition, (), depth + 1)
        self.block(body, types, depth)
        outer = self.builder.block
        self.builder.block = condition
        condition.yields = [self.raw("lt", condition.parameters[0], limit)]
        self.builder.block = body
        body.yields[0] = self.raw("add", body.parameters[0], self.builder.index(1))
        self.builder.block = outer
        self.values += self.builder.op("while", initial, types, blocks=[condition, body]).results

    def recorded(self, depth: int) -> None:
        """A loop that saves values in a frame, in some iterations of a branch, and one that restores them."""
        self.groups += 1
        group, condition, count = self.groups, self.value(scalars.bool_), self.count()
        types = [self.rng.choice(TYPES) for _ in range(self.rng.randrange(1, 3))]
        then, other, outer = Block(), Block(), self.builder.block
        self.builder.block = then
        frame = self.raw("frame", count, slot_group=group)
        body = Block([scalars.int32])
        self.block(body, (), 2)
        self.builder.block = body
        self.effect("save", frame, body.parameters[0], *(self.value(t) for t in types), slot_group=group)
        self.builder.block = then
        self.builder.op("for", [count], blocks=[body])
        then.yields = [frame]
        self.builder.block = other
        other.yields = [self.builder.constant(scalars.int64, 0)]
        self.builder.block = outer
        found = self.builder.op("if", [condition], [scalars.int64], blocks=[then, other]).result
        self.values += self._restored(condition, found, count, types, group)

    def _restored(
        self, condition: Value, frame: Value, count: Value, types: Sequence[StorageType], group: int
    ) -> list[Value]:
        initial = [self.value(t) for t in types]
        then, other, outer = Block(), Block(), self.builder.block
        body = Block([scalars.int32, *types])
        self.builder.block = body
        attributes = {"types": tuple(types), "slot_group": group}
        restored = self.builder.op("restore", [frame, body.parameters[0]], types, attributes)
        body.yields = [r if self.rng.random() < 0.5 else p for r, p in zip(restored.results, body.parameters[1:])]
        self.builder.block = then
        loop: Op = self.builder.op("for", [count, *initial], types, blocks=[body])
        self.effect("release", frame, slot_group=group)
        then.yields, other.yields = list(loop.results), initial
        self.builder.block = outer
        return self.builder.op("if", [condition], types, blocks=[then, other]).results

    def call(self, depth: int) -> None:
        if self.callee is not None:
            arguments = [self.value(t) for t in TYPES] + [self.floats, self.integers]
            self.values += self.builder.op("call", arguments, TYPES, {"callee": self.callee}).results
