"""Calls: what is called, which overload, with which arguments. Intrinsics are in files of their own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.frontend import constructors, diagnostics, gradients
from treadle.frontend.context import Context, expression
from treadle.frontend.conversions import coerce, constant_type
from treadle.frontend.resolve import check_not_python
from treadle.frontend.values import (
    Constant,
    HintKey,
    Retype,
    TupleValue,
    Typed,
    Unusable,
    Value,
    describe,
    literal_type,
    rebuild,
)
from treadle.language import Builtin, Function, Gradient, Kernel, grad, static
from treadle.language.bodies import Body
from treadle.language.builtins import Primitive
from treadle.language.errors import CompileError, TypeMismatchError, UnsupportedError
from treadle.language.intrinsics import builtin_for
from treadle.language.overloads import Argument, Choice, NoMatch, choose
from treadle.types import scalars

Keywords = Mapping[str, Value]

INTRINSICS: dict[str, Callable[[Context, list[Value], dict[str, Value], Any], Value]] = {}
"""By name: the intrinsics that get their arguments evaluated."""

FORMS: dict[str, Callable[[Context, ast.Call], Value]] = {}
"""By name: those that evaluate their arguments themselves."""


def intrinsic(*names: str) -> Callable[[Any], Any]:
    """Register an intrinsic of evaluated arguments: ``f(ctx, positional, keywords, node)``."""

    def register(handler: Any) -> Any:
        INTRINSICS.update(dict.fromkeys(names, handler))
        return handler

    return register


def form(*names: str) -> Callable[[Any], Any]:
    """Register an intrinsic that gets its call unevaluated: ``f(ctx, node)``."""

    def register(handler: Any) -> Any:
        FORMS.update(dict.fromkeys(names, handler))
        return handler

    return register


@expression(ast.Call)
def call(ctx: Context, node: ast.Call) -> Value:
    callee = called(ctx, node)
    builtin = builtin_for(callee)
    if builtin is not None and builtin.name in FORMS:
        return FORMS[builtin.name](ctx, node)
    if callee is static:
        return FORMS["static"](ctx, node)
    if callee is type:
        return FORMS["type"](ctx, node)
    if callee is grad:
        return gradients.make_gradient(ctx, node)
    if isinstance(callee, type) and issubclass(callee, (reversed, enumerate, zip)):
        check_not_python(ctx, callee, node)  # rather than find fault with a range() in it
    positional, keywords = arguments(ctx, node)
    ctx.locate(node)
    if builtin is not None:
        return call_builtin(ctx, builtin, positional, keywords, node)
    return call_object(ctx, callee, positional, keywords, node)


def called(ctx: Context, node: ast.Call) -> Any:
    """The compile-time object that is called.

    Raises:
        TypeMismatchError: it is a value at run time.
    """
    function = ctx.value(node.func)
    if isinstance(function, Constant):
        return function.value
    raise ctx.error(
        node, f"{ctx.source.segment(node.func)} is {describe(function)} and cannot be called", TypeMismatchError
    )


def arguments(ctx: Context, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    """The evaluated arguments of a call.

    Raises:
        UnsupportedError: ``*a`` or ``**a`` among them, other than a tuple known at compile time.
    """
    from treadle.frontend.conversions import items_of

    positional: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            items = items_of(ctx.value(argument.value))
            if items is None:
                raise ctx.error(argument, "kernels have no starred arguments, except tuples", UnsupportedError)
            positional.extend(items)
        else:
            positional.append(ctx.value(argument))
    keywords = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ctx.error(node, "kernels have no **arguments", UnsupportedError)
        keywords[keyword.arg] = ctx.value(keyword.value)
    return positional, keywords


def call_object(ctx: Context, callee: Any, positional: Sequence[Value], keywords: Keywords, node: Any) -> Value:
    """Call a function of the kernel language, or construct a value of a type."""
    if isinstance(callee, Function):
        return call_function(ctx, callee.name, callee.bodies, positional, keywords, node)
    if isinstance(callee, Builtin):
        return call_builtin(ctx, callee, positional, keywords, node)
    type_ = constructors.as_type(callee)
    if type_ is not None:
        return constructors.construct(ctx, type_, list(positional), dict(keywords), node)
    if isinstance(callee, Kernel):
        raise ctx.error(
            node, f"a kernel cannot call a kernel ({callee.name}); make it a function with @func", UnsupportedError
        )
    if isinstance(callee, Gradient):
        return gradients.call_gradient(ctx, callee, positional, keywords, node)
    check_not_python(ctx, callee, node)
    raise ctx.error(node, f"{ctx.source.segment(node.func)} cannot be called in a kernel", UnsupportedError)


def call_builtin(ctx: Context, builtin: Builtin, positional: Sequence[Value], keywords: Keywords, node: Any) -> Value:
    """Call a built-in with evaluated arguments."""
    handler = INTRINSICS.get(builtin.name)
    if handler is not None:
        return handler(ctx, list(positional), dict(keywords), node)
    if not builtin.candidates:
        raise ctx.error(node, f"the built-in {builtin.name} cannot be called here", UnsupportedError)
    return call_function(ctx, builtin.name, builtin.candidates, positional, keywords, node)


# -- Functions


def argument_of(value: Value) -> Argument:
    """A value as an argument, for the choice of an overload."""
    if isinstance(value, Typed):
        return Argument(value.type, flexible=value.origins is not None)
    if isinstance(value, Constant):
        if value.is_literal:
            return Argument(literal_type(value.value), flexible=True)
        type_ = constant_type(value.value)
        return Argument(type_) if type_ is not None else Argument(None, object=value.value)
    return Argument(None, object=value)


def call_function(
    ctx: Context,
    name: str,
    candidates: Sequence[Body | Primitive],
    positional: Sequence[Value],
    keywords: Keywords,
    node: Any,
) -> Value:
    """Call the overload that fits.

    Raises:
        TypeMismatchError: none does; the message shows all.
    """
    choice, values = converted_call(ctx, name, candidates, positional, keywords, node)
    if isinstance(choice.candidate, Primitive) and all(isinstance(v, Constant) and v.is_literal for v in choice.values):
        return Constant(choice.candidate.python(*(v.value for v in choice.values)))
    origins = _origins(choice) if choice.generic else None
    if isinstance(choice.candidate, Primitive):
        return _primitive(ctx, choice.candidate, values, origins)
    return call_body(ctx, choice.candidate, values, origins, node)


def converted_call(
    ctx: Context,
    name: str,
    candidates: Sequence[Body | Primitive],
    positional: Sequence[Value],
    keywords: Keywords,
    node: Any,
) -> tuple[Choice, list[Value]]:
    """The overload that fits, and the arguments as it takes them.

    Raises:
        TypeMismatchError: none does; the message shows all.
    """
    for value in (*positional, *keywords.values()):
        if isinstance(value, Constant) and isinstance(value.value, str):
            raise ctx.error(node, "kernels cannot pass texts (str) to functions", UnsupportedError)
    try:
        choice = choose(candidates, positional, keywords, argument_of, Constant)
    except NoMatch as error:
        shown = [describe(v) for v in positional] + [f"{k}={describe(v)}" for k, v in keywords.items()]
        raise ctx.error(
            node,
            f"cannot call {name}({', '.join(shown)}): {error}"
            f"{diagnostics.signatures([c.signature for c in candidates])}",
            TypeMismatchError,
        ) from None
    return choice, _converted(ctx, choice, node)


def _converted(ctx: Context, choice: Choice, node: Any) -> list[Value]:
    """The arguments, with the types that the parameters have."""
    result: list[Value] = []
    for name, value, type_ in zip(choice.candidate.parameter_names, choice.values, choice.types):
        if type_ is None:
            wanted = choice.candidate.annotations[name]
            is_array = getattr(wanted, "kind", None) == "array"
            result.append(coerce(ctx, value, wanted, node) if is_array else value)
        else:
            result.append(coerce(ctx, value, type_, node, f"the argument {name!r}"))
    return result


def _origins(choice: Choice) -> frozenset[HintKey] | None:
    """The guesses that the result of a generic call depends on."""
    found: frozenset[HintKey] = frozenset()
    for value in choice.values:
        if isinstance(value, Typed) and value.origins is not None:
            found |= value.origins
    return found or None


def _primitive(ctx: Context, primitive: Primitive, values: list[Value], origins: frozenset[HintKey] | None) -> Value:
    leaves = [value.leaf for value in values if isinstance(value, Typed)]
    made = ctx.emit(primitive.op, *leaves)
    if primitive.result is not None:
        return ctx.boolean(made) if primitive.result is scalars.bool_ else Typed(primitive.result, (made,))
    return Typed(made.type, (made,), origins)


def call_body(ctx: Context, body: Body, values: list[Value], origins: frozenset[HintKey] | None, node: Any) -> Value:
    """Call one function with converted arguments."""
    for value in values:
        if isinstance(value, Unusable):
            raise ctx.error(node, value.reason, TypeMismatchError)
    try:
        instance = ctx.session.instance(body, values)
    except CompileError as error:
        raise diagnostics.called_from(error, ctx.source, node, body.name) from None
    operands = [leaf for value in values for leaf in _leaves(value)]
    types = [leaf.type for leaf in instance.function.results]
    op = ctx.builder.op("call", operands, types, {"callee": instance.function})
    result = rebuild(instance.result, iter(op.results))
    if body.updates:
        return _update(ctx, body, result, node)
    if (
        origins is not None
        and isinstance(result, Typed)
        and any(isinstance(v, Typed) and v.type is result.type for v in values)
    ):
        return Typed(result.type, result.leaves, origins)
    return result


def _update(ctx: Context, body: Body, result: Value, node: Any) -> Value:
    """Give the arguments that a function changes their new values; what remains is the result.

    Raises:
        Retype: a loop around the call did not know of the change, and must be built again.
    """
    assert isinstance(result, TupleValue)
    count = len(result.items) - len(body.updates)
    for parameter, new in zip(body.updates, result.items[count:]):
        argument = _argument(node, body.parameter_names.index(parameter), parameter)
        if isinstance(argument, ast.Name) and argument.id not in ctx.environment:
            continue  # captured: it stays what it is
        if isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript)):
            loop = ctx.source.liveness.note_change(node, argument)
            if loop is not None:
                raise Retype(frozenset(((id(loop), f"%changed {ctx.source.segment(argument)}"),)), None, settled=True)
            ctx.place(argument).set(new)
    return Constant(None) if count == 0 else result.items[0] if count == 1 else TupleValue(result.items[:count])


def _argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """The expression that a call gives for a parameter."""
    if position < len(node.args):
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == name), None)


def _leaves(value: Value) -> Sequence[Any]:
    if isinstance(value, Typed):
        return value.leaves
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in _leaves(item)]
    return ()
