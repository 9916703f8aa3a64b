"""``if`` and conditional expressions: building both branches and merging what they leave behind.

A variable that both branches leave alone needs nothing. One that differs becomes a result of
the ``if`` op, or a ``select`` when the branches do nothing else. One that only one branch assigns, and
that is needed after the other, is zero there. A branch that returns, breaks or continues leaves a
flag; see ``statements``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treadle.frontend.context import (
    BREAK,
    CONTINUE,
    RESULT,
    RETURN,
    Context,
    Environment,
)
from treadle.frontend.conversions import (
    coerce,
    constant_type,
    guess,
    items_of,
    retype,
)
from treadle.frontend.values import (
    FALSE,
    TRUE,
    Constant,
    HintKey,
    TupleValue,
    Typed,
    Unusable,
    Value,
    describe,
    leaf_types,
    literal_type,
)
from treadle.ir.core import Block, Op
from treadle.ir.core import Value as IRValue
from treadle.ir.definitions import TABLE
from treadle.language.errors import TypeMismatchError
from treadle.language.overloads import convertible
from treadle.types.layout import leaves
from treadle.types.storage import ArrayRef

FLAGS = (BREAK, CONTINUE, RETURN)


@dataclass
class Side:
    """One branch: its block, the variables at its end, and which of them are needed after it."""

    block: Block
    environment: Environment
    needed: int = 0

    def needs(self, ctx: Context, name: str) -> bool:
        if name == RESULT:
            return self.environment.get(RETURN, FALSE) is not FALSE
        if name.startswith("%"):
            return True
        return bool(self.needed & ctx.source.liveness.bit(name))


def needed_after(ctx: Context, environment: Environment, live: int) -> int:
    """The variables needed where control goes from here: on to ``live``, or wherever the flags say."""
    places = {BREAK: ctx.exits.on_break, CONTINUE: ctx.exits.on_continue, RETURN: 0}
    needed = live
    for flag in FLAGS:
        state = environment.get(flag, FALSE)
        if state is TRUE:
            return places[flag]
        if state is not FALSE:
            needed |= places[flag]
    return needed


class Merge:
    """Merges pairs of values of two branches into results of one ``if``, or into ``select`` ops."""

    def __init__(self, ctx: Context, condition: IRValue, then: Side, other: Side) -> None:
        self.ctx = ctx
        self.condition = condition
        self.then = then
        self.other = other
        self.op: Op | None = None
        if all(op.name == "constant" for side in (then, other) for op in side.block.ops):
            for side in (then, other):  # the branches do nothing: their values may as well be made outside
                ctx.block().ops.extend(side.block.ops)
                side.block = ctx.block()
        else:
            self._open()

    def _open(self) -> Op:
        if self.op is None:
            blocks = [Block() if side.block is self.ctx.block() else side.block for side in (self.then, self.other)]
            self.op = self.ctx.builder.op("if", [self.condition], [], {}, blocks)
        return self.op

    def leaf(self, x: IRValue, y: IRValue) -> IRValue:
        if x is y:
            return x
        if isinstance(x.type, ArrayRef) or isinstance(y.type, ArrayRef):
            if x.type != y.type:
                x, y = self._strided(self.then, x), self._strided(self.other, y)
        elif self.op is None:
            return self.ctx.emit("select", self.condition, x, y)  # type: ignore[no-any-return]
        op = self._open()
        op.blocks[0].yields.append(x)
        op.blocks[1].yields.append(y)
        return op.add_result(x.type)

    def _strided(self, side: Side, array: IRValue) -> IRValue:
        with self.ctx.inside(side.block, side.environment):
            return strided(self.ctx, array)

    def leaves(self, x: Typed, y: Typed) -> tuple[IRValue, ...]:
        return tuple(self.leaf(a, b) for a, b in zip(x.leaves, y.leaves))

    def values(self, key: HintKey, a: Value | None, b: Value | None, node: Any) -> Value:
        """The value that is ``a`` or ``b``. None: on that side it does not matter."""
        if a is None or b is None:
            return self._one_sided(key, a, b, node)
        if a is b:
            return a
        left, right = items_of(a), items_of(b)
        if left is not None and right is not None and len(left) == len(right):
            pairs = enumerate(zip(left, right))
            return TupleValue([self.values((key[0], f"{key[1]}.{k}"), x, y, node) for k, (x, y) in pairs])
        if isinstance(a, Constant) and isinstance(b, Constant):
            merged = self._constants(key, a, b, node)
            if merged is not None:
                return merged
        elif isinstance(a, (Typed, Constant)) and isinstance(b, (Typed, Constant)):
            return self._typed(a, b, node)
        return Unusable(f"it is {describe(a)} on one path and {describe(b)} on the other")

    def _one_sided(self, key: HintKey, a: Value | None, b: Value | None, node: Any) -> Value:
        value = a if a is not None else b
        if isinstance(value, TupleValue):
            items = enumerate(value.items)
            first = b is None
            return TupleValue(
                [self._one_sided(_item(key, k), i if first else None, None if first else i, node) for k, i in items]
            )
        if not isinstance(value, Typed):
            return value if value is not None else Unusable("it has no value")
        side = self.other if b is None else self.then
        with self.ctx.inside(side.block, side.environment):
            zero = Typed(value.type, tuple(self.ctx.builder.zero(leaf.type) for leaf in value.leaves))
        return Typed(value.type, self.leaves(*((value, zero) if b is None else (zero, value))), value.origins)

    def assigned(self, a: Value | None, b: Value | None) -> tuple[Value | None, Value | None]:
        """A variable needed after both sides: on one that does not assign it, it is zero."""
        if a is None and b is not None:
            return self._zero(self.then, b), b
        if b is None and a is not None:
            return a, self._zero(self.other, a)
        return a, b

    def _zero(self, side: Side, like: Value) -> Value:
        """Zero of the type of a value; for an array, one that refers to nothing."""
        items = items_of(like)
        if items is not None:
            return TupleValue([self._zero(side, item) for item in items])
        if isinstance(like, Constant):
            if like.is_literal:
                return Constant(type(like.value)())
            if like.value is None:
                return like
            type_ = constant_type(like.value)
            storage = [leaf.type for leaf in leaves(type_)] if type_ is not None else []
        else:
            type_, storage = getattr(like, "type", None), leaf_types(like)
        if type_ is None:
            return Unusable("it has no value")
        with self.ctx.inside(side.block, side.environment):
            made = tuple(map(self.ctx.builder.zero, storage))
        return Typed(type_, made, getattr(like, "origins", None))

    def _constants(self, key: HintKey, a: Constant, b: Constant, node: Any) -> Value | None:
        """Two compile-time objects: the one that both are, or a value at run time; None if there is none."""
        if a.value is b.value or _same_literal(a, b):
            return a
        if a.is_literal and b.is_literal:
            types = literal_type(a.value), literal_type(b.value)
            wider = types[0] if convertible(types[1], types[0]) else types[1]
            type_, origins = guess(self.ctx, key, wider)
            return Typed(type_, self._made(a, b, type_, node), origins)
        types = constant_type(a.value), constant_type(b.value)
        if None in types:
            return None
        type_ = types[1] if a.is_literal else types[0]
        return Typed(type_, self._made(a, b, type_, node))

    def _made(self, a: Value, b: Value, type_: Any, node: Any) -> tuple[IRValue, ...]:
        return self.leaves(self._on(self.then, a, type_, node), self._on(self.other, b, type_, node))

    def _on(self, side: Side, value: Value, type_: Any, node: Any) -> Typed:
        if isinstance(value, Typed):
            return value
        with self.ctx.inside(side.block, side.environment):
            return coerce(self.ctx, value, type_, node)

    def _typed(self, a: Typed | Constant, b: Typed | Constant, node: Any) -> Value:
        """A value at run time, and another or a literal."""
        ctx = self.ctx
        for value, other in ((a, b), (b, a)):
            if isinstance(value, Constant):
                assert isinstance(other, Typed)
                if value.is_literal and convertible(literal_type(value.value), other.type):
                    return Typed(other.type, self._made(a, b, other.type, node), other.origins)
                if (
                    value.is_literal
                    and other.origins is not None
                    and convertible(other.type, literal_type(value.value))
                ):
                    raise retype(ctx, other, literal_type(value.value), node, settled=False)
                if constant_type(value.value) is other.type or (value.value is None and _is_array(other)):
                    return Typed(other.type, self._made(a, b, other.type, node))
                return Unusable(f"it is {describe(a)} on one path and {describe(b)} on the other")
        assert isinstance(a, Typed) and isinstance(b, Typed)
        if a.type is b.type:
            origins = a.origins | b.origins if a.origins is not None and b.origins is not None else None
            return Typed(a.type, self.leaves(a, b), origins)
        for value, other in ((a, b), (b, a)):
            if value.origins is not None and convertible(value.type, other.type):
                raise retype(ctx, value, other.type, node, settled=other.origins is None)
        return Unusable(f"it is {describe(a)} on one path and {describe(b)} on the other")


def _item(key: HintKey, k: int) -> HintKey:
    return key[0], f"{key[1]}.{k}"


def _is_array(value: Typed) -> bool:
    return getattr(value.type, "kind", "") == "array"


def _same_literal(a: Constant, b: Constant) -> bool:
    return type(a.value) is type(b.value) and a.is_literal and _text(a.value) == _text(b.value)


def _text(number: Any) -> str:
    """A number, told apart also from one that is equal: 0.0 and -0.0."""
    return f"{number:x}" if type(number) is int else repr(number)


def strided(ctx: Context, array: IRValue) -> IRValue:
    """An array handle of which nothing is known about the strides."""
    if not array.type.contiguous:  # type: ignore[union-attr]
        return array
    zero, one = ctx.builder.index(0), ctx.builder.index(1)
    return ctx.emit("slice", array, zero, one, ctx.emit("shape", array, axis=0), axis=0)  # type: ignore[no-any-return]


def merge(ctx: Context, condition: IRValue, then: Side, other: Side, live: int, node: Any) -> None:
    """Close an ``if``: the variables after it, from those at the ends of its branches.

    ``live``: the variables needed after it by what comes next.
    """
    base = ctx.environment
    then.needed = needed_after(ctx, then.environment, live)
    other.needed = needed_after(ctx, other.environment, live)
    changed = [name for name, value in then.environment.items() if base.get(name) is not value]
    changed += [
        name for name, value in other.environment.items() if base.get(name) is not value and name not in changed
    ]
    changed += [name for name in base if name not in then.environment or name not in other.environment]
    merging = Merge(ctx, condition, then, other)
    result = dict(base)
    for name in changed:
        wanted = then.needs(ctx, name), other.needs(ctx, name)
        if not any(wanted):
            result.pop(name, None)
            continue
        unset = FALSE if name in FLAGS else None
        a = then.environment.get(name, unset) if wanted[0] else None
        b = other.environment.get(name, unset) if wanted[1] else None
        if a is None and b is None:
            result.pop(name, None)
            continue
        if all(wanted):
            a, b = merging.assigned(a, b)
        result[name] = merging.values((id(node), name), a, b, node)
    ctx.environment = result


def choose(
    ctx: Context,
    condition: Value,
    if_true: Callable[[], Value],
    if_false: Callable[[], Value],
    node: Any,
    eager: bool = False,
) -> Value:
    """``a if condition else b``, of which only one is evaluated.

    ``eager``: both are evaluated if one of them has an effect; for ``where``.

    Raises:
        TypeMismatchError: the two have different types.
    """
    if isinstance(condition, Constant) and not eager:
        return if_true() if condition.value else if_false()
    sides: list[Side] = []
    found = []
    base = ctx.environment
    for evaluate in (if_true, if_false):
        block = Block()
        start = sides[0].environment if eager and sides else base
        with ctx.inside(block, dict(start)) as inside:
            found.append(evaluate())
        sides.append(Side(block, inside.environment))
        if eager and (isinstance(condition, Constant) or has_effect(block) or changed(start, inside.environment)):
            ctx.block().ops.extend(block.ops)
            sides[-1].block = Block()
    if eager:
        base = ctx.environment = sides[1].environment
        if isinstance(condition, Constant):
            return found[0] if condition.value else found[1]
    assert isinstance(condition, Typed)
    merging = Merge(ctx, condition.leaf, *sides)
    result = merging.values((id(node), "%choice"), found[0], found[1], node)
    if not eager:  # calls may change their arguments
        names = changed(base, sides[0].environment) | changed(base, sides[1].environment)
        for name in sorted(names):
            a, b = merging.assigned(*(side.environment.get(name) for side in sides))
            base[name] = merging.values((id(node), name), a, b, node)
    if isinstance(result, Unusable):
        both = " and ".join(map(describe, found))
        raise ctx.error(node, f"the two values must have one type, not {both}", TypeMismatchError)
    return result


def changed(before: Environment, after: Environment) -> set[str]:
    """The variables that an expression gave another value, by a call that changes its arguments."""
    if before == after:  # by identity of the values, and fast
        return set()
    return {name for name, value in after.items() if before.get(name) is not value}


def has_effect(block: Block) -> bool:
    """Whether a block does something besides computing values."""
    for op in block.walk():
        if op.name == "call":
            if has_effect(op.attributes["callee"].body):
                return True
        elif TABLE[op.name].effect == "write":
            return True
    return False
