"""Building kernels and functions: attempts with ever better guesses of types, and instances of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.frontend import derivatives, native
from treadle.frontend.context import RESULT, RETURN, Context, Environment, Hint
from treadle.frontend.conversions import settle
from treadle.frontend.guesses import attempts
from treadle.frontend.source import source_of
from treadle.frontend.statements import block
from treadle.frontend.values import (
    FALSE,
    NONE,
    TRUE,
    Constant,
    HintKey,
    TupleValue,
    Typed,
    Value,
    flatten,
)
from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function
from treadle.ir.core import Value as IRValue
from treadle.ir.depth import TOO_DEEP, deeper
from treadle.language import Function as LanguageFunction
from treadle.language import Gradient, Kernel
from treadle.language.bodies import MISSING, Body
from treadle.language.errors import CompileError, TypeMismatchError, UnsupportedError
from treadle.types.layout import leaves
from treadle.types.storage import Aggregate, ArrayRef

_DEEPEST = 50  # calls in calls of one function: generic functions may call themselves with ever new types


@dataclass(frozen=True)
class FunctionInstance:
    """A function built for some argument types.

    ``function``: its IR. ``result``: the shape of its result; the leaves are those of the callee, and are
    replaced at each call.
    """

    function: Function
    result: Value


_SHARED: dict[Any, FunctionInstance] = {}
"""Instances of the standard library, which never change, by body, arguments and mode."""


class Session:
    """The work on one kernel. ``name`` is that of the kernel; ``options`` are those in force."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self.options = options
        self._instances: dict[Any, FunctionInstance] = {}
        self._stack: list[Any] = []

    def instance(self, body: Body, arguments: Sequence[Value]) -> FunctionInstance:
        """The function for arguments of these types, and with these compile-time objects.

        Raises:
            CompileError: it cannot be built; among others, because it calls itself.
        """
        key = (body, self.options.get("mode"), tuple(map(_key, arguments)))
        shared = body.shared and not any(isinstance(a, Constant) and _may_change(a.value) for a in arguments)
        store = _SHARED if shared else self._instances
        found = store.get(key)
        if found is None:
            if key in self._stack or sum(k[0] is body for k in self._stack) > _DEEPEST:
                raise UnsupportedError(f"kernels have no recursion, and {body.name} calls itself", body.place)
            self._stack.append(key)
            try:
                found = store[key] = self._build(body, arguments)
            finally:
                self._stack.pop()
        return found

    def _build(self, body: Body, arguments: Sequence[Value]) -> FunctionInstance:
        if body.native is not None:
            return native.build_native(body, arguments)

        def attempt(hints: dict[HintKey, Hint]) -> FunctionInstance:
            function = Function(body.name)
            environment: Environment = {}
            for name, argument in zip(body.parameter_names, arguments):
                environment[name] = self._parameter(function, name, argument)
            unroll = body.shared and not any(_is_large(v) for v in environment.values())
            ctx = self.context(body, function, environment, hints, is_kernel=False, unroll=unroll)
            _statements(ctx)
            result = self._result(ctx)
            function.body.yields = flatten(result)
            return FunctionInstance(function, result)

        instance = attempts(attempt)
        instance.function.custom = derivatives.custom(self, body, arguments, instance)
        return instance

    def context(
        self,
        body: Body,
        function: Function,
        environment: Environment,
        hints: dict[HintKey, Hint],
        is_kernel: bool,
        unroll: bool = False,
    ) -> Context:
        """The state to build a function in."""
        source = source_of(body)
        builder = Builder(function.body, None if body.shared else source.location(source.tree.lineno))
        environment[RETURN] = FALSE
        result_type = MISSING if is_kernel else body.result
        return Context(self, body, source, builder, environment, hints, result_type, is_kernel, unroll)

    def _parameter(self, function: Function, name: str, argument: Value) -> Value:
        """A parameter like an argument: with leaves of its own."""
        if isinstance(argument, Typed):
            return parameter(function, name, argument.type, [leaf.type for leaf in argument.leaves])
        if isinstance(argument, TupleValue):
            return TupleValue([self._parameter(function, name, item) for item in argument.items])
        return argument

    def _result(self, ctx: Context) -> Value:
        """What the function returns, with settled types."""
        state, value = ctx.environment.get(RETURN, FALSE), ctx.environment.get(RESULT)
        if value is None and state is not FALSE:
            message = f"the result of {ctx.body.name} is returned from a loop, and has no type that a loop can carry"
            raise ctx.error(ctx.source.tree, message, TypeMismatchError)
        if value is None or state is FALSE:
            declared = ctx.result_type
            if declared is not MISSING and declared is not type(None) and declared is not Any:
                raise ctx.error(
                    ctx.source.tree, f"{ctx.body.name} is declared to return a value and does not", TypeMismatchError
                )
            return NONE
        if state is not TRUE and not (isinstance(value, Constant) and value.value is None):
            last = ctx.source.tree.body[-1]
            raise ctx.error(
                last,
                f"{ctx.body.name} can end without returning a value: after this line, on some path",
                TypeMismatchError,
            )
        return _settled(ctx, value)


def _statements(ctx: Context) -> None:
    """Build the statements of a function.

    Raises:
        CompileError: among others, where they are nested too deeply.
    """
    try:
        block(ctx, ctx.source.tree.body)
    except RecursionError:
        raise CompileError(TOO_DEEP, str(ctx.builder.location or ctx.body.place)) from None


def _settled(ctx: Context, value: Value) -> Value:
    """A result with run-time leaves where it is a value at run time."""
    if isinstance(value, TupleValue):
        return TupleValue([_settled(ctx, item) for item in value.items])
    if isinstance(value, Constant):
        from treadle.frontend.conversions import constant_type

        return value if constant_type(value.value) is None else settle(ctx, value, ctx.source.tree)
    if isinstance(value, Typed):
        return Typed(value.type, value.leaves)
    raise ctx.error(ctx.source.tree, f"the results of {ctx.body.name} differ: {value.reason}", TypeMismatchError)


def _key(value: Value) -> Any:
    """What an instance depends on of an argument."""
    if isinstance(value, Typed):
        return value.type, tuple(leaf.type for leaf in value.leaves if isinstance(leaf.type, ArrayRef))
    if isinstance(value, TupleValue):
        return tuple(map(_key, value.items))
    assert isinstance(value, Constant)
    found = value.value
    if type(found) is int:
        return int, found
    return (type(found), repr(found)) if value.is_literal or isinstance(found, str) else _Identity(found)


class _Identity:
    """An object as a key: equal to itself only, and kept alive."""

    __slots__ = ("object",)

    def __init__(self, found: Any) -> None:
        self.object = found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.object is self.object

    def __hash__(self) -> int:
        return id(self.object)


def _may_change(value: Any) -> bool:
    """Whether what a compile-time object means depends on more than itself: a function, on what it captures."""
    return isinstance(value, (LanguageFunction, Gradient))


def _is_large(value: Value) -> bool:
    return isinstance(value, Typed) and any(isinstance(leaf.type, Aggregate) for leaf in value.leaves)


def parameter(function: Function, name: str, type_: Any, types: Sequence[Any]) -> Typed:
    """Add the parameters that a user's parameter is in leaves."""
    made: list[IRValue] = []
    for leaf_type in types:
        made.append(function.body.add_parameter(leaf_type, name))
        function.labels.append(name)
    return Typed(type_, tuple(made))


def build_kernel(
    kernel: Kernel,
    types: Sequence[Any],
    contiguous: Mapping[str, bool] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Function:
    """The IR of a kernel for arguments of the given types.

    ``types``: a language type for each parameter, in order. ``contiguous``: parameter name → whether the
    array passed for it is contiguous; those not named are not. ``options``: those of ``config.OPTIONS``, by
    default those in force for the kernel. The function has one parameter a leaf, and ``labels`` with the
    name of the kernel's parameter for each.

    Raises:
        CompileError: the kernel cannot be compiled; the text says where and why.
    """
    body = kernel.body
    names = body.parameter_names
    if len(types) != len(names):
        raise TypeMismatchError(f"kernel {kernel.name} has {len(names)} parameters, got {len(types)} types", body.place)
    session = Session(kernel.name, kernel.resolved_options() if options is None else options)
    contiguous = contiguous or {}

    def attempt(hints: dict[HintKey, Hint]) -> Function:
        function = Function(kernel.name, Block(), is_kernel=True)
        environment: Environment = {}
        for name, type_ in zip(names, types):
            environment[name] = parameter(function, name, type_, _parameter_leaves(type_, contiguous.get(name, False)))
        ctx = session.context(body, function, environment, hints, is_kernel=True)
        _statements(ctx)
        return function

    with deeper(kernel.name):
        return attempts(attempt)


def _parameter_leaves(type_: Any, contiguous: bool) -> list[Any]:
    if getattr(type_, "kind", None) == "array":
        return [ArrayRef(type_.ndim, type_.dtype.size, contiguous)]
    return [leaf.type for leaf in leaves(type_)]


def build_function(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any] | None = None
) -> FunctionInstance:
    """The IR of a function of the kernel language for arguments of the given types.

    ``function``: a ``Function`` with one overload, or a ``Body``. ``arguments``: for each parameter a language
    type, or a ``Constant`` for a compile-time object.

    Raises:
        CompileError: it cannot be compiled.
    """
    body = function if isinstance(function, Body) else function.bodies[0]
    scratch = Function("arguments")
    values: list[Value] = []
    for argument in arguments:
        if isinstance(argument, Constant):
            values.append(argument)
        else:
            values.append(parameter(scratch, "", argument, [leaf.type for leaf in leaves(argument)]))
    with deeper(body.name):
        return Session(body.name, options or {}).instance(body, values)
