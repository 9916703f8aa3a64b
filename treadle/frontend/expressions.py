"""Expressions other than names, calls and indexing: literals, operators, comparisons, conditions, tuples."""

from __future__ import annotations

import ast
from typing import Any

from treadle.frontend import composites, operators
from treadle.frontend.branches import changed, choose
from treadle.frontend.context import Context, expression
from treadle.frontend.conversions import constant_type, items_of
from treadle.frontend.symbols import BINARY
from treadle.frontend.values import (
    FALSE,
    TRUE,
    Constant,
    TupleValue,
    Typed,
    Value,
    describe,
)
from treadle.ir.core import Block
from treadle.ir.definitions import TABLE
from treadle.language.errors import TypeMismatchError, UnsupportedError
from treadle.types import scalars

# The most ops on the right of ``and`` and ``or`` that run in any case.
_CHEAP = 8


@expression(ast.Constant)
def literal(ctx: Context, node: ast.Constant) -> Value:
    if isinstance(node.value, (complex, bytes)):
        raise ctx.error(node, f"kernels have no {type(node.value).__name__} values", UnsupportedError)
    return Constant(node.value)


@expression(ast.BinOp)
def binary(ctx: Context, node: ast.BinOp) -> Value:
    chain = [node]  # of a long sum, which nests to the left
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    left = ctx.value(chain[-1].left)
    for link in reversed(chain):
        right = ctx.value(link.right)
        ctx.locate(link)
        left = operators.binary(ctx, BINARY[type(link.op)][1], left, right, link)
    return left


@expression(ast.UnaryOp)
def unary(ctx: Context, node: ast.UnaryOp) -> Value:
    return operators.unary(ctx, type(node.op), ctx.value(node.operand), node)


@expression(ast.Tuple)
def tuple_(ctx: Context, node: ast.Tuple) -> Value:
    return TupleValue([ctx.value(item) for item in node.elts])


@expression(ast.IfExp)
def conditional(ctx: Context, node: ast.IfExp) -> Value:
    condition = operators.truth(ctx, ctx.value(node.test), node.test)
    return choose(ctx, condition, lambda: ctx.value(node.body), lambda: ctx.value(node.orelse), node)


@expression(ast.BoolOp)
def connective(ctx: Context, node: ast.BoolOp) -> Value:
    """``and`` and ``or``: the right operand is evaluated only if the left one does not decide."""
    is_and = isinstance(node.op, ast.And)
    return _connect(ctx, node.values, is_and, node)


def _connect(ctx: Context, operands: list[ast.expr], is_and: bool, node: ast.BoolOp) -> Value:
    first, *rest = operands
    left = operators.truth(ctx, ctx.value(first), first)
    if not rest:
        return left
    if isinstance(left, Constant):
        return _connect(ctx, rest, is_and, node) if bool(left.value) is is_and else left
    assert isinstance(left, Typed)
    return lazily(ctx, left, is_and, lambda: _connect(ctx, rest, is_and, node), node)


def lazily(ctx: Context, left: Typed, is_and: bool, evaluate: Any, node: Any) -> Value:
    """``left and right`` (or ``or``), where ``evaluate`` gives the truth value ``right``. ``node``: the whole."""
    block = Block()
    with ctx.inside(block, dict(ctx.environment)) as inside:
        right = evaluate()
        leaf = right.leaf if isinstance(right, Typed) else ctx.builder.constant(scalars.bool_, right.value)
    if changed(ctx.environment, inside.environment):
        if is_and:
            return choose(ctx, left, evaluate, lambda: FALSE, node)
        return choose(ctx, left, lambda: TRUE, evaluate, node)
    if len(block.ops) <= _CHEAP and all(TABLE[op.name].effect == "pure" and not op.blocks for op in block.ops):
        ctx.block().ops.extend(block.ops)
        if isinstance(right, Constant):
            return left if right.value is is_and else right
        return ctx.boolean(ctx.emit("and" if is_and else "or", left.leaf, leaf))
    other = Block()
    with ctx.inside(other, ctx.environment):
        decided = ctx.builder.constant(scalars.bool_, not is_and)
    block.yields, other.yields = [leaf], [decided]
    blocks = [block, other] if is_and else [other, block]
    return ctx.boolean(ctx.builder.op("if", [left.leaf], [scalars.bool_], {}, blocks).result)


@expression(ast.Compare)
def comparison(ctx: Context, node: ast.Compare) -> Value:
    """A comparison or a chain of them; each operand is evaluated once, and only as long as all hold."""
    return _chain(ctx, ctx.value(node.left), list(zip(node.ops, node.comparators)), node)


def _chain(ctx: Context, left: Value, links: list[tuple[ast.cmpop, ast.expr]], node: ast.Compare) -> Value:
    (op, right_node), *rest = links
    right = ctx.value(right_node)
    ctx.locate(node)
    holds = _compare(ctx, op, left, right, node)
    if not rest or (isinstance(holds, Constant) and not holds.value):
        return holds
    if isinstance(holds, Constant):
        return _chain(ctx, right, rest, node)
    assert isinstance(holds, Typed)
    return lazily(ctx, holds, True, lambda: _chain(ctx, right, rest, node), node)


def _compare(ctx: Context, op: ast.cmpop, a: Value, b: Value, node: ast.Compare) -> Value:
    if isinstance(op, (ast.Is, ast.IsNot)):
        same = _identity(ctx, a, b, node)
        return operators.negation(ctx, same) if isinstance(op, ast.IsNot) else same
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _membership(ctx, a, b, node)
        return operators.negation(ctx, found) if isinstance(op, ast.NotIn) else found
    return operators.compare(ctx, type(op), a, b, node)


def _identity(ctx: Context, a: Value, b: Value, node: ast.Compare) -> Value:
    """``is``: of compile-time objects, and of an array and None."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        left, right = scalars.from_annotation(a.value), scalars.from_annotation(b.value)
        return TRUE if left is right or (a.is_literal and b.is_literal and left == right) else FALSE
    for value, other in ((a, b), (b, a)):
        if isinstance(other, Constant) and other.value is None:
            if isinstance(value, Typed) and getattr(value.type, "kind", "") == "array":
                return operators.negation(ctx, operators.truth(ctx, value, node))
            return FALSE
    raise ctx.error(node, "is compares compile-time objects, and arrays with None; use ==", TypeMismatchError)


def _membership(ctx: Context, item: Value, container: Value, node: ast.Compare) -> Value:
    """``in``: of a tuple, of a composite."""
    if composites.is_composite(container):
        from treadle.frontend.conversions import settle

        return composites.contains(ctx, item, settle(ctx, container, node), node)
    items = items_of(container)
    if items is None:
        raise ctx.error(node, f"in does not apply to {describe(container)}", TypeMismatchError)
    found: Value = FALSE
    for candidate in items:
        same = operators.compare(ctx, ast.Eq, item, candidate, node)
        found = operators.negation(
            ctx, operators.conjunction(ctx, operators.negation(ctx, found), operators.negation(ctx, same))
        )
    return found


def constant_index(value: Value) -> int | None:
    """The number that an index is, if it is known at compile time."""
    if isinstance(value, Constant):
        type_ = constant_type(value.value)
        if type_ is not None and getattr(type_, "is_integer", False):
            return int(value.value)
    if isinstance(value, Typed) and scalars.is_scalar(value.type) and value.type.is_integer:
        return value.leaf.constant  # type: ignore[no-any-return]
    return None
