"""Loops: ``for`` over ranges, composites, arrays and tuples, and ``while``.

A loop carries the variables that it assigns and that are needed in the next iteration or after
it. A loop that can be left early becomes a ``while`` op with the flags among what it carries.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.frontend import components, operators, ranges
from treadle.frontend.branches import Side, changed, merge, strided
from treadle.frontend.context import (
    BREAK,
    CONTINUE,
    RESULT,
    RETURN,
    Context,
    Exits,
    statement,
)
from treadle.frontend.conversions import (
    coerce,
    constant_type,
    guess,
    items_of,
    materialize,
    retype,
    settle,
)
from treadle.frontend.expressions import lazily
from treadle.frontend.guesses import at_loop
from treadle.frontend.liveness import LoopInfo
from treadle.frontend.places import ArrayPlace
from treadle.frontend.statements import bind, block, elements, guarded, left
from treadle.frontend.values import (
    FALSE,
    TRUE,
    Constant,
    HintKey,
    Retype,
    TupleValue,
    Typed,
    Unusable,
    Value,
    describe,
    flatten,
    leaf_types,
    literal_type,
    rebuild,
)
from treadle.ir.core import Block
from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.language.bodies import MISSING
from treadle.language.errors import TypeMismatchError, UnsupportedError
from treadle.language.overloads import convertible
from treadle.types import scalars
from treadle.types.layout import leaves
from treadle.types.storage import Aggregate, ArrayRef


@dataclass
class Carried:
    """A variable that a loop carries: its name, and its value before the loop, with the types it keeps."""

    name: str
    key: HintKey
    initial: Value


class Loop:
    """A loop while it is being built: what it carries, and the guesses that it makes."""

    def __init__(self, ctx: Context, node: ast.For | ast.While) -> None:
        self.ctx = ctx
        self.node = node
        self.info: LoopInfo = ctx.source.liveness.loops[id(node)]
        self.before = ctx.environment
        self.outer_exits = ctx.exits
        self.carried: list[Carried] = []
        self.unknown: list[str] = []
        self.fixed: dict[str, Value] = {}
        """What exists only at compile time, and must be the same after an iteration."""
        flags = {BREAK: self.info.has_break, RETURN: self.info.has_return}
        for flag, used in flags.items():
            if used:
                self.carried.append(Carried(flag, (id(node), flag), ctx.typed_constant(scalars.bool_, False)))
        names = ctx.source.liveness.names(self.info.assigned & self.info.header)
        if self.info.has_return and not ctx.is_kernel:
            names.append(RESULT)
        names += [n for n in self.before if n.startswith("%adjoint")]
        for name in dict.fromkeys(names):
            self._carry(name)

    @property
    def leaves_early(self) -> bool:
        return self.info.has_break or self.info.has_return

    def _carry(self, name: str) -> None:
        key = (id(self.node), name)
        value = self.before.get(name)
        if isinstance(value, Unusable):
            raise self.ctx.error(
                self.node, f"{name!r} has no one type before this loop: {value.reason}", TypeMismatchError
            )
        if value is None or (_is_none(value) and key in self.ctx.hints):
            initial = self._absent(name, key)
            if initial is None:
                self.unknown.append(name)
                return
        elif _is_array(value) and not self._is_rebound(name):
            return
        else:
            prepared = self._prepared(key, value)
            if prepared is None:
                self.fixed[name] = value
                return
            initial = prepared
        self.carried.append(Carried(name, key, initial))

    def _is_rebound(self, name: str) -> bool:
        """Whether the loop assigns the variable as a whole, not only elements or members of it."""
        targets = ast.walk(self.node)
        return any(isinstance(t, ast.Name) and t.id == name and isinstance(t.ctx, ast.Store) for t in targets)

    def _absent(self, name: str, key: HintKey) -> Value | None:
        """Zero for a variable that is assigned in the loop first, once its type is known."""
        ctx = self.ctx
        hint = ctx.hints.get(key)
        if hint is not None:
            return _zero(ctx, key, hint.type, hint.settled)
        if name == RESULT and ctx.result_type not in (MISSING, type(None)):
            items = ctx.result_type if isinstance(ctx.result_type, tuple) else (ctx.result_type,)
            if not any(map(notation.is_open, items)):
                return _zero(ctx, key, ctx.result_type, True)
        return None

    def _prepared(self, key: HintKey, value: Value) -> Value | None:
        """A value with run-time leaves; None for what exists only at compile time."""
        ctx = self.ctx
        items = items_of(value) if isinstance(value, TupleValue) else None
        if items is not None:
            parts = [self._prepared((key[0], f"{key[1]}.{k}"), item) for k, item in enumerate(items)]
            return None if None in parts else TupleValue([p for p in parts if p is not None])
        if isinstance(value, Typed):
            if _is_array(value):
                return Typed(value.type, tuple(strided(ctx, leaf) for leaf in value.leaves))
            return value
        assert isinstance(value, Constant)
        if value.is_literal:
            type_, origins = guess(ctx, key, literal_type(value.value))
            return Typed(type_, materialize(ctx, value.value, type_, self.node).leaves, origins)
        return settle(ctx, value, self.node) if constant_type(value.value) is not None else None

    # Building.

    def initial_leaves(self) -> list[IRValue]:
        return [leaf for c in self.carried for leaf in flatten(c.initial)]

    def enter(self, into: Block) -> dict[str, Value]:
        """The variables in a block that gets the carried ones as parameters."""
        environment = dict(self.before)
        for c in self.carried:
            parameters = [into.add_parameter(t, c.name.lstrip("%")) for t in leaf_types(c.initial)]
            environment[c.name] = rebuild(c.initial, iter(parameters))
        for name in self.unknown:
            environment.pop(name, None)
        return environment

    def body(self, into: Block, environment: dict[str, Value], start: Callable[[], None]) -> None:
        """Build the body; it yields what is carried. ``start`` binds the target of a ``for``."""
        ctx = self.ctx
        environment.update({BREAK: FALSE, CONTINUE: FALSE, RETURN: FALSE})
        ctx.exits = Exits(ctx.source.liveness.after[id(self.node)], self.info.header)
        with ctx.inside(into, environment) as inside:
            start()
            block(ctx, self.node.body)
            ctx.locate(self.node)
            into.yields += [leaf for c in self.carried for leaf in self._final(c, ctx.environment.get(c.name), into)]
            for name, value in self.fixed.items():
                self._check_same(name, value, ctx.environment.get(name, value))
        ctx.exits = self.outer_exits
        self._learn(inside.environment)

    def _final(self, c: Carried, value: Value | None, into: Block) -> list[IRValue]:
        """The leaves of a carried variable at the end of an iteration."""
        if value is None:  # not needed on any path that gets here
            count = len(flatten(c.initial))
            first = len(into.parameters) - sum(len(flatten(x.initial)) for x in self.carried)
            offset = first + sum(len(flatten(x.initial)) for x in self.carried[: self.carried.index(c)])
            return into.parameters[offset : offset + count]
        return self._conform(c.name, c.initial, value)

    def _conform(self, name: str, template: Value, value: Value) -> list[IRValue]:
        ctx, node = self.ctx, self.node
        if isinstance(template, TupleValue):
            items = items_of(value)
            if items is None or len(items) != len(template.items):
                raise self._changed(name, template, value)
            return [leaf for t, item in zip(template.items, items) for leaf in self._conform(name, t, item)]
        assert isinstance(template, Typed)
        if isinstance(value, Unusable):
            raise ctx.error(node, f"{name!r} has no one type in this loop: {value.reason}", TypeMismatchError)
        if _is_array(template) and isinstance(value, Typed) and value.type is template.type:
            return [strided(ctx, leaf) for leaf in value.leaves]
        found = value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))
        if found is not template.type and template.origins is not None and convertible(template.type, found):
            adapts = isinstance(value, Constant) and value.is_literal and convertible(found, template.type)
            if not adapts:
                settled = isinstance(value, Typed) and value.origins is None
                raise retype(ctx, template, found, node, settled)
        if isinstance(value, Typed) and value.type is not template.type:
            if value.origins is None or not convertible(value.type, template.type):
                raise self._changed(name, template, value)
            raise retype(ctx, value, template.type, node, settled=template.origins is None)
        if not isinstance(value, (Typed, Constant)):
            raise self._changed(name, template, value)
        return list(coerce(ctx, value, template.type, node, f"{name!r} in this loop").leaves)

    def _check_same(self, name: str, before: Value, after: Value) -> None:
        """Whether what exists only at compile time is still that after an iteration. None may become an array."""
        if _is_none(before) and _is_array(after):
            raise Retype(frozenset(((id(self.node), name),)), after.type, settled=True)  # type: ignore[union-attr]
        if not _is_same(before, after):
            raise self.ctx.error(
                self.node,
                f"{name!r} is {describe(before)} before this loop and {describe(after)} after an iteration; "
                f"what exists only at compile time cannot change in a loop",
                TypeMismatchError,
            )

    def _changed(self, name: str, template: Value, value: Value) -> Exception:
        return self.ctx.error(
            self.node,
            f"{name!r} is {describe(template)} before this loop and {describe(value)} after an iteration; "
            f"a variable keeps its type in a loop, so convert it",
            TypeMismatchError,
        )

    def _learn(self, environment: dict[str, Value]) -> None:
        """Ask for another attempt if a variable must be carried whose type was not known."""
        for name in self.unknown:
            value = environment.get(name)
            type_ = _type_to_carry(value) if value is not None else None
            if type_ is not None:
                raise Retype(frozenset(((id(self.node), name),)), type_, settled=not _is_guess(value))

    def leave(self, results: Sequence[IRValue]) -> None:
        """After the loop: variables have their final values, and the flags are those of outer blocks."""
        ctx = self.ctx
        environment = dict(self.before)
        for name in ctx.source.liveness.names(self.info.assigned):
            if not _is_array(environment.get(name)) or self._is_rebound(name):
                environment.pop(name, None)
        environment.update(self.fixed)
        iterator = iter(results)
        for c in self.carried:
            environment[c.name] = rebuild(c.initial, iterator)
        broken = environment.get(BREAK, FALSE) if self.info.has_break else FALSE
        environment[BREAK] = self.before.get(BREAK, FALSE)
        ctx.environment = environment
        if self.node.orelse:
            self._orelse(broken)

    def _orelse(self, broken: Value) -> None:
        """The ``else`` of a loop runs unless the loop was left by ``break``, which ends here."""
        ctx = self.ctx
        live = ctx.source.liveness.after[id(self.node)]

        def run() -> None:
            if isinstance(left(ctx.environment), Typed):
                guarded(ctx, lambda: block(ctx, self.node.orelse), live, self.node)
            else:
                block(ctx, self.node.orelse)

        if not isinstance(broken, Typed):
            run()
            return
        going = ctx.emit("not", broken.leaf)
        then, base = Block(), ctx.environment
        with ctx.inside(then, dict(base)) as inside:
            run()
        merge(ctx, going, Side(then, inside.environment), Side(Block(), dict(base)), live, self.node)


def _is_array(value: Any) -> bool:
    return isinstance(value, Typed) and getattr(value.type, "kind", "") == "array"


def _is_none(value: Any) -> bool:
    return isinstance(value, Constant) and value.value is None


def _is_same(a: Value, b: Value) -> bool:
    """Whether two values are one, or stand for one object."""
    left, right = items_of(a), items_of(b)
    if left is not None and right is not None:
        return len(left) == len(right) and all(map(_is_same, left, right))
    return a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.value is b.value)


def _type_to_carry(value: Value) -> Any:
    """The type of a value, or the types of the items of a tuple; None for what exists at compile time only."""
    if isinstance(value, TupleValue):
        types = tuple(map(_type_to_carry, value.items))
        return None if None in types else types
    return value.type if isinstance(value, Typed) else constant_type(getattr(value, "value", None))


def _is_guess(value: Value | None) -> bool:
    """Whether the type of a value, or of an item of it, is not settled."""
    if isinstance(value, TupleValue):
        return any(map(_is_guess, value.items))
    if isinstance(value, Typed):
        return value.origins is not None
    return isinstance(value, Constant) and value.is_literal


def _zero(ctx: Context, key: HintKey, type_: Any, settled: bool) -> Value:
    """Zero of a type, or of each of several; what is not settled is a guess."""
    if isinstance(type_, tuple):
        items = []
        for k, item in enumerate(type_):
            item_key = (key[0], f"{key[1]}.{k}")
            hint = ctx.hints.get(item_key)
            known = (hint.type, hint.settled) if hint is not None else (item, settled)
            items.append(_zero(ctx, item_key, *known))
        return TupleValue(items)
    made = tuple(ctx.builder.zero(leaf.type) for leaf in leaves(type_))
    weak = not settled and scalars.is_scalar(type_) and type_ is not scalars.bool_
    return Typed(type_, made, frozenset((key,)) if weak else None)


@statement(ast.While)
def while_(ctx: Context, node: ast.While) -> None:
    at_loop(ctx, node, lambda: _while(ctx, node))


def _while(ctx: Context, node: ast.While) -> None:
    loop = Loop(ctx, node)
    initial = loop.initial_leaves()
    condition_block, body_block = Block(), Block()
    environment = loop.enter(condition_block)
    forever = False
    with ctx.inside(condition_block, dict(environment)):
        going, forever = _unless_left(ctx, loop, lambda: operators.truth(ctx, ctx.value(node.test), node.test))
        if changed(environment, ctx.environment):
            raise ctx.error(
                node.test, "the condition of a loop cannot change a variable; call this before it", UnsupportedError
            )
        condition_block.yields = [going]
    loop.body(body_block, loop.enter(body_block), lambda: None)
    ctx.locate(node)
    op = ctx.builder.op("while", initial, [v.type for v in initial], {}, [condition_block, body_block])
    loop.leave(op.results)
    if forever and not loop.info.has_break and loop.info.has_return:
        ctx.environment[RETURN] = TRUE  # there is no other way out


def _unless_left(ctx: Context, loop: Loop, evaluate: Callable[[], Value]) -> tuple[IRValue, bool]:
    """The condition to go on: no flag is set and ``evaluate`` gives true. Also whether that is always true."""
    flags = [ctx.environment[c.name].leaf for c in loop.carried if c.name in (BREAK, RETURN)]  # type: ignore[union-attr]
    if not flags:
        value = evaluate()
        return _leaf(ctx, value), isinstance(value, Constant) and bool(value.value)
    stopped = flags[0]
    for flag in flags[1:]:
        stopped = ctx.emit("or", stopped, flag)
    going = Typed(scalars.bool_, (ctx.emit("not", stopped),))
    outcome = lazily(ctx, going, True, evaluate, loop.node)
    return _leaf(ctx, outcome), outcome is going


def _leaf(ctx: Context, value: Value) -> IRValue:
    if isinstance(value, Typed):
        return value.leaf
    assert isinstance(value, Constant)
    return ctx.builder.constant(scalars.bool_, value.value)


@statement(ast.For)
def for_(ctx: Context, node: ast.For) -> None:
    if isinstance(node.iter, ast.Call) and ranges.is_range(ctx, node.iter):
        span = ranges.evaluate(ctx, node.iter)
        known = span.known
        if known is not None and not known[ranges.UNROLLED :] and (ctx.unroll or _feeds_static(ctx, node)):
            unroll(ctx, node, [Constant(k) for k in known])
        else:
            counted(ctx, node, span.count, span.at)
        return
    iterated = ctx.value(node.iter)
    items = items_of(iterated)
    if items is not None:
        unroll(ctx, node, list(items))
        return
    value = settle(ctx, iterated, node.iter)
    if components.is_composite_type(value.type):
        _over_composite(ctx, node, value)
    elif getattr(value.type, "kind", "") == "array":
        _over_array(ctx, node, value)
    else:
        raise ctx.error(node.iter, f"a for loop cannot go over {describe(iterated)}", UnsupportedError)


def _feeds_static(ctx: Context, node: ast.For) -> bool:
    """Whether a static expression in the body of a loop uses the variable of the loop, which must be known then."""
    if "static" not in ctx.source.code.co_names and "static" not in ctx.source.code.co_freevars:
        return False
    targets = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call) and _is_static(part.func))
    names = (part for call in calls for argument in call.args for part in ast.walk(argument))
    return any(isinstance(part, ast.Name) and part.id in targets for part in names)


def _is_static(function: ast.expr) -> bool:
    """Whether what is called is ``static``, judged by its name."""
    return getattr(function, "attr", getattr(function, "id", "")) == "static"


def _over_composite(ctx: Context, node: ast.For, value: Typed) -> None:
    extent = value.type.shape[0]
    is_small = value.type.kind == "mat" or not isinstance(value.leaves[0].type, Aggregate)
    if is_small and extent <= ranges.UNROLLED:
        unroll(ctx, node, elements(ctx, value))
        return
    dtype = value.type.dtype
    if value.type.kind == "mat":
        raise ctx.error(
            node.iter, f"a for loop cannot go over the rows of {value.type!r}: it is too large", UnsupportedError
        )
    counted(ctx, node, ctx.builder.index(extent), lambda k: Typed(dtype, (components.component(ctx, value, k),)))


def _over_array(ctx: Context, node: ast.For, value: Typed) -> None:
    """Over the elements, or the views along the first axis."""
    from treadle.frontend.indexing import index_array

    def item(k: IRValue) -> Value:
        return index_array(ctx, ArrayPlace(ctx, value, [], node.iter), [k], node.iter).get()

    assert isinstance(value.leaf.type, ArrayRef)
    counted(ctx, node, ctx.emit("shape", value.leaf, axis=0), item)


def counted(ctx: Context, node: ast.For, count: IRValue, item: Callable[[IRValue], Value]) -> None:
    """A loop of ``count`` iterations, of which number ``k`` gets ``item(k)``."""
    at_loop(ctx, node, lambda: _counted(ctx, node, count, item))


def _counted(ctx: Context, node: ast.For, count: IRValue, item: Callable[[IRValue], Value]) -> None:
    loop = Loop(ctx, node)
    initial = loop.initial_leaves()
    if not loop.leaves_early:
        body = Block()
        k = body.add_parameter(count.type)
        loop.body(body, loop.enter(body), lambda: bind(ctx, node.target, item(k)))
        ctx.locate(node)
        op = ctx.builder.op("for", [count, *initial], [v.type for v in initial], {}, [body])
        loop.leave(op.results)
        return
    zero = ctx.builder.zero(count.type)
    condition_block, body_block = Block(), Block()
    k = condition_block.add_parameter(count.type)
    with ctx.inside(condition_block, loop.enter(condition_block)):
        going, _ = _unless_left(ctx, loop, lambda: ctx.boolean(ctx.emit("lt", k, count)))
        condition_block.yields = [going]
    position = body_block.add_parameter(count.type)
    loop.body(body_block, loop.enter(body_block), lambda: bind(ctx, node.target, item(position)))
    with ctx.inside(body_block, ctx.environment):
        following = ctx.emit("add", position, ctx.builder.constant(count.type, 1), nowrap=True)  # type: ignore[arg-type]
        body_block.yields.insert(0, following)
    ctx.locate(node)
    operands = [zero, *initial]
    op = ctx.builder.op("while", operands, [v.type for v in operands], {}, [condition_block, body_block])
    loop.leave(op.results[1:])


def unroll(ctx: Context, node: ast.For, items: Sequence[Value]) -> None:
    """A loop over items known at compile time, one copy of the body each."""
    info = ctx.source.liveness.loops[id(node)]
    outer, outer_exits = {f: ctx.environment.get(f, FALSE) for f in (BREAK, CONTINUE)}, ctx.exits
    ctx.environment.update({BREAK: FALSE, CONTINUE: FALSE})
    ctx.exits = Exits(ctx.source.liveness.after[id(node)], info.header)
    _unrolled(ctx, node, items, 0, info)
    ctx.exits = outer_exits
    broken = ctx.environment.get(BREAK, FALSE)
    ctx.environment.update(outer)
    if node.orelse and broken is FALSE and left(ctx.environment) is FALSE:
        block(ctx, node.orelse)
    elif node.orelse and broken is not TRUE:
        raise ctx.error(node, "the else of a loop over a tuple cannot go with a conditional break", UnsupportedError)


def _unrolled(ctx: Context, node: ast.For, items: Sequence[Value], start: int, info: LoopInfo) -> None:
    for k in range(start, len(items)):
        bind(ctx, node.target, items[k])
        block(ctx, node.body)
        ctx.environment[CONTINUE] = FALSE
        state = left(ctx.environment)
        if state is TRUE:
            return
        if state is not FALSE:
            if k + 1 < len(items):
                guarded(ctx, lambda: _unrolled(ctx, node, items, k + 1, info), info.header, node)  # noqa: B023
            return
