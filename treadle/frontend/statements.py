"""Statements other than loops: assignments, ``if``, exits, assertions; and blocks of them.

``break``, ``continue`` and ``return`` set a flag, which is a variable like others. While all flags are
known to be unset, control goes on; when one is known to be set, the rest of the block is dead. A
flag known only at run time guards the rest of the block by an ``if``. Where one branch of an ``if``
leaves for certain and the other does not, the rest of the block moves into the other branch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from treadle.frontend import components, debug, operators
from treadle.frontend.branches import FLAGS, Side, merge
from treadle.frontend.calls import FORMS  # noqa: F401  (calls register themselves)
from treadle.frontend.context import (
    BREAK,
    CONTINUE,
    RESULT,
    RETURN,
    Context,
    Environment,
    statement,
)
from treadle.frontend.conversions import coerce, items_of, settle
from treadle.frontend.places import ArrayPlace, Place
from treadle.frontend.printing import Text
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
from treadle.language import notation
from treadle.language.bodies import MISSING
from treadle.language.errors import CompileError, TypeMismatchError, UnsupportedError
from treadle.types import scalars

_MOST_REPORTED = 8
"""How many operands of a failed assertion are recorded; see ``codegen.worker``."""

# -- Blocks and exits


def block(ctx: Context, statements: Sequence[ast.stmt], start: int = 0) -> None:
    """Build the statements from ``start`` on, as far as control may reach them."""
    for k in range(start, len(statements)):
        node = statements[k]
        if isinstance(node, ast.If):
            if branch(ctx, node, statements, k + 1):
                return
        else:
            ctx.run(node)
        state = left(ctx.environment)
        if state is TRUE:
            return
        if state is not FALSE:
            if k + 1 < len(statements):
                live = ctx.source.liveness.after[id(statements[-1])]
                guarded(ctx, lambda: block(ctx, statements, k + 1), live, node)  # noqa: B023  (called at once)
            return


def left(environment: Environment) -> Value:
    """Whether control has left the block: TRUE, FALSE, or a flag known only at run time."""
    state: Value = FALSE
    for flag in FLAGS:
        value = environment.get(flag, FALSE)
        if value is TRUE:
            return TRUE
        if value is not FALSE:
            state = value
    return state


def guarded(ctx: Context, rest: Callable[[], None], live: int, node: Any) -> None:
    """Build ``rest`` for the case that no flag is set."""
    base = ctx.environment
    pending = [flag for flag in FLAGS if isinstance(base.get(flag), Typed)]
    flags = [base[flag].leaf for flag in pending]  # type: ignore[union-attr]
    stopped = flags[0]
    for flag in flags[1:]:
        stopped = ctx.emit("or", stopped, flag)
    going = ctx.emit("not", stopped)
    inner = dict(base)
    inner.update(dict.fromkeys(pending, FALSE))
    then = Block()
    with ctx.inside(then, inner) as inside:
        rest()
    other = dict(base)
    if len(pending) == 1:
        other[pending[0]] = TRUE
    merge(ctx, going, Side(then, inside.environment), Side(Block(), other), live, node)


def branch(ctx: Context, node: ast.If, statements: Sequence[ast.stmt], following: int) -> bool:
    """Build an ``if``. Whether the statements after it have been built as part of it."""
    ctx.locate(node)
    condition = operators.truth(ctx, ctx.value(node.test), node.test)
    if isinstance(condition, Constant):
        block(ctx, node.body if condition.value else node.orelse)
        return False
    assert isinstance(condition, Typed)
    base = ctx.environment
    sides = []
    for body in (node.body, node.orelse):
        made = Block()
        with ctx.inside(made, dict(base)) as inside:
            block(ctx, body)
        sides.append(Side(made, inside.environment))
    live = ctx.source.liveness.after[id(node)]
    gone = [left(side.environment) is TRUE for side in sides]
    absorbs = any(gone) and following < len(statements)
    if absorbs:
        live = ctx.source.liveness.after[id(statements[-1])]
        if not all(gone):
            _continue_in(ctx, sides[gone.index(False)], statements, following)
    ctx.locate(node)
    merge(ctx, condition.leaf, sides[0], sides[1], live, node)
    return absorbs


def _continue_in(ctx: Context, side: Side, statements: Sequence[ast.stmt], following: int) -> None:
    """Build the statements after an ``if`` in the branch that goes on to them."""
    with ctx.inside(side.block, side.environment) as inside:
        if left(ctx.environment) is FALSE:
            block(ctx, statements, following)
        else:
            live = ctx.source.liveness.after[id(statements[-1])]
            guarded(ctx, lambda: block(ctx, statements, following), live, statements[following])
    side.environment = inside.environment


@statement(ast.If)
def if_(ctx: Context, node: ast.If) -> None:
    branch(ctx, node, (), 0)


@statement(ast.Break)
def break_(ctx: Context, node: ast.Break) -> None:
    ctx.environment[BREAK] = TRUE


@statement(ast.Continue)
def continue_(ctx: Context, node: ast.Continue) -> None:
    ctx.environment[CONTINUE] = TRUE


@statement(ast.Return)
def return_(ctx: Context, node: ast.Return) -> None:
    has_value = node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    if ctx.is_kernel:
        if has_value:
            raise ctx.error(node, "a kernel returns no value; write it to an array", TypeMismatchError)
    elif has_value:
        assert node.value is not None
        ctx.environment[RESULT] = _result(ctx, ctx.value(node.value), node)
    else:
        expected = ctx.result_type
        if expected is not MISSING and expected is not type(None):
            raise ctx.error(node, f"the result must be {notation.text(expected)}", TypeMismatchError)
        ctx.environment[RESULT] = Constant(None)
    ctx.environment[RETURN] = TRUE


def _result(ctx: Context, value: Value, node: ast.Return) -> Value:
    """The value returned, of the type that the annotation says."""
    expected = ctx.result_type
    if expected is type(None):
        raise ctx.error(node, f"{ctx.body.name} is declared to return nothing", TypeMismatchError)
    if expected is MISSING or expected is Any:
        return value
    if isinstance(expected, tuple):
        items = items_of(value)
        if items is None or len(items) != len(expected):
            raise ctx.error(
                node, f"the result must be {notation.text(expected)}, not {describe(value)}", TypeMismatchError
            )
        return TupleValue([_checked(ctx, item, type_, node) for item, type_ in zip(items, expected)])
    return _checked(ctx, value, expected, node)


def _checked(ctx: Context, value: Value, expected: Any, node: ast.Return) -> Value:
    if not notation.is_open(expected):
        return coerce(ctx, value, expected, node, "the result")
    from treadle.types.generics import matches

    found = settle(ctx, value, node) if expected not in (Any, notation.CALLABLE, type) else value
    if isinstance(found, Typed) and not matches(expected, found.type):
        raise ctx.error(node, f"the result must be {notation.text(expected)}, not {describe(value)}", TypeMismatchError)
    return found


# -- Assignments


@statement(ast.Assign)
def assign(ctx: Context, node: ast.Assign) -> None:
    first, call = node.targets[0], node.value
    if isinstance(first, (ast.Tuple, ast.List)) and isinstance(call, ast.Call) and not call.args:
        ctx.unpacked = len(first.elts)
    try:
        value = ctx.value(node.value)
    finally:
        ctx.unpacked = 1
    for target in node.targets:
        bind(ctx, target, value)


def bind(ctx: Context, target: ast.expr, value: Value) -> None:
    """Assign a value to a variable, a place, or several of them.

    Raises:
        TypeMismatchError: the value does not fit the target.
    """
    if isinstance(target, ast.Name):
        if isinstance(value, Constant) and value.value is None and not isinstance(target.ctx, ast.Store):
            raise ctx.error(target, "there is no value to assign", TypeMismatchError)
        if isinstance(value, Typed):
            for leaf in value.leaves:
                leaf.name = leaf.name or target.id
        ctx.environment[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(ctx, target, value)
    else:
        ctx.place(target).set(value)


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: Value) -> None:
    for part in target.elts:
        if isinstance(part, ast.Starred):
            raise ctx.error(part, "kernels have no starred assignments", UnsupportedError)
    items = items_of(value)
    if items is None and components.is_composite_type(getattr(value, "type", None)):
        assert isinstance(value, Typed)
        items = tuple(elements(ctx, value))
    if items is None:
        raise ctx.error(target, f"{describe(value)} cannot be unpacked", TypeMismatchError)
    if len(items) != len(target.elts):
        raise ctx.error(
            target, f"{len(items)} values cannot be unpacked into {len(target.elts)} variables", TypeMismatchError
        )
    for part, item in zip(target.elts, items):
        bind(ctx, part, item)


def elements(ctx: Context, value: Typed) -> list[Value]:
    """What iteration over a composite gives: its components, or the rows of a matrix."""
    parts = components.components(ctx, value)
    if value.type.kind != "mat":
        return [Typed(value.type.dtype, (part,)) for part in parts]
    rows, columns = value.type.shape
    row_type = components.part_type("vec", (columns,), value.type.dtype)
    return [components.compose(ctx, row_type, parts[k * columns : (k + 1) * columns]) for k in range(rows)]


@statement(ast.AnnAssign)
def annotated(ctx: Context, node: ast.AnnAssign) -> None:
    """``x: float64 = 0.0``: the value has the type that is written."""
    annotation = ctx.value(node.annotation)
    type_ = notation.normalize(annotation.value) if isinstance(annotation, Constant) else None
    if type_ is None:
        raise ctx.error(node.annotation, f"{describe(annotation)} is no type of the kernel language", TypeMismatchError)
    if node.value is None:
        return
    value = ctx.value(node.value)
    if not notation.is_open(type_):
        value = coerce(ctx, value, type_, node, "the value")
    bind(ctx, node.target, value)


@statement(ast.AugAssign)
def augmented(ctx: Context, node: ast.AugAssign) -> None:
    """``x += v``. On an array element, ``+=`` and ``-=`` are atomic."""
    op = BINARY[type(node.op)][1]
    if isinstance(node.target, ast.Name):
        current = ctx.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        result = operators.binary(ctx, op, current, ctx.value(node.value), node)
        bind(ctx, node.target, result)
        return
    place = ctx.place(node.target)
    if place.in_array and op in ("add", "sub"):
        place.atomic(op, _addend(ctx, place, ctx.value(node.value), node))
        return
    if isinstance(place, ArrayPlace):
        raise ctx.error(node, f"{place.text} is an array, not an element; give all indices", TypeMismatchError)
    place.set(operators.binary(ctx, op, place.get(), ctx.value(node.value), node))


def _addend(ctx: Context, place: Place, value: Value, node: ast.AugAssign) -> Value:
    """What is added to an array element, which must be of its type."""
    type_ = place.type
    if getattr(type_, "kind", "") == "struct" or type_ is scalars.bool_:
        raise ctx.error(node, f"there is no + for {notation.text(type_)}", TypeMismatchError)
    return coerce(ctx, value, type_, node, f"what is added to {place.text}")


# -- Others


@statement(ast.Expr)
def expression_statement(ctx: Context, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring, or ...
        ctx.value(node.value)


@statement(ast.Pass)
def pass_(ctx: Context, node: ast.Pass) -> None:
    pass


@statement(ast.Assert)
def assert_(ctx: Context, node: ast.Assert) -> None:
    """A failure names the condition, and gives the message."""
    condition = operators.truth(ctx, ctx.value(node.test), node.test)
    if isinstance(condition, Constant) and condition.value:
        return
    leaf = operators.truth_leaf(ctx, condition, node.test)
    message = f"assertion failed: {ctx.source.segment(node.test)}"
    text, values = _message(ctx, node)
    ctx.builder.op("assert", [leaf, *values], [], {"message": debug.escape(message) + text})


def _message(ctx: Context, node: ast.Assert) -> tuple[str, list[Any]]:
    """The text after the condition, with ``{0}`` for the values in it."""
    if node.msg is None:
        return "", []
    if isinstance(node.msg, ast.JoinedStr):
        made = Text(ctx)
        made.add_expression(node.msg)
        if len(made.leaves) > _MOST_REPORTED:
            message = f"the message of assert can hold {_MOST_REPORTED} numbers, not {len(made.leaves)}"
            raise ctx.error(node.msg, message, UnsupportedError)
        text = debug.escape(made.pieces[0])
        for k, (specification, piece) in enumerate(zip(made.formats, made.pieces[1:])):
            text += f"{{{k}:{specification}}}" if specification else f"{{{k}}}"
            text += debug.escape(piece)
        return f": {text}", made.leaves
    value = ctx.value(node.msg)
    if not isinstance(value, Constant):
        raise ctx.error(node.msg, "the message of assert must be a text", CompileError)
    return f": {debug.escape(str(value.value))}", []
