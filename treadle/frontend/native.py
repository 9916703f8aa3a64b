"""Builds functions whose body is C++ (``func_native``), and their derivatives, around the op ``native``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from treadle.frontend import cpp
from treadle.frontend.values import NONE, Typed, Value
from treadle.ir.builder import Builder
from treadle.ir.core import CustomDerivative, Function, Location
from treadle.ir.core import Value as IRValue
from treadle.language.bodies import MISSING, Body
from treadle.language.errors import TypeMismatchError
from treadle.types.layout import leaves
from treadle.types.storage import Aggregate, ArrayRef, StorageType

if TYPE_CHECKING:
    from treadle.frontend.session import FunctionInstance


def build_native(body: Body, arguments: Sequence[Value]) -> FunctionInstance:
    """The function for arguments of these types.

    Raises:
        TypeMismatchError: an argument is no value at run time, or of a type that C++ does not have.
    """
    from treadle.frontend.session import FunctionInstance

    types = [_type_of(body, name, value) for name, value in zip(body.parameter_names, arguments)]
    result = None if body.result in (MISSING, type(None), None) else body.result
    try:
        function = _build(body, types, result)
    except TypeError as error:
        raise TypeMismatchError(f"{body.name}: {error}", body.place) from None
    return FunctionInstance(function, NONE if result is None else Typed(result, tuple(function.results)))


def _build(body: Body, types: list[Any], result: Any) -> Function:
    code, inputs = body.native, list(zip(body.parameter_names, types))
    assert code is not None
    function = _around(body, code.snippet, inputs, [], result)
    gradient = replay = None
    if code.adj_snippet is not None:
        gradient = _gradient(body, code.adj_snippet, inputs, result)
    if code.replay_snippet:
        replay = _around(body, code.replay_snippet, inputs, [], result)
    elif code.replay_snippet is not None:
        replay = _doing_nothing(body, inputs, result)
    if gradient is not None or replay is not None:
        function.custom = CustomDerivative(gradient, replay)
    return function


def _type_of(body: Body, name: str, value: Value) -> Any:
    if isinstance(value, Typed):
        return value.type
    raise TypeMismatchError(f"the parameter {name!r} of {body.name} must be a value: its body is C++", body.place)


def _location(body: Body) -> Location:
    return Location(body.python.__code__.co_filename, body.python.__code__.co_firstlineno)


def _parameters(function: Function, inputs: Sequence[tuple[str, Any]]) -> list[IRValue]:
    made = []
    for name, type_ in inputs:
        for leaf in leaves(type_):
            made.append(function.body.add_parameter(leaf.type, name))
            function.labels.append(name)
    return made


def _around(
    body: Body,
    snippet: str,
    inputs: Sequence[tuple[str, Any]],
    sums: Sequence[tuple[str, Any]],
    result: Any,
    unused: Collection[str] = (),
) -> Function:
    """A function that does nothing but run a snippet, to which the parameters ``unused`` are not given."""
    function = Function(body.name)
    parameters = _parameters(function, inputs)
    operands = [p for p, label in zip(parameters, function.labels) if label not in unused]
    inputs = [(name, type_) for name, type_ in inputs if name not in unused]
    results = [leaf.type for leaf in leaves(result)] if result is not None else []
    results += [leaf.type for _, type_ in sums for leaf in leaves(type_) if _is_float(leaf.type)]
    source, symbol = cpp.native_function(body.name, snippet, inputs, sums, result)
    builder = Builder(function.body, _location(body))
    attributes = {"symbol": symbol, "source": source}
    function.body.yields = list(builder.op("native", operands, results, attributes).results)
    return function


def _gradient(body: Body, snippet: str, inputs: Sequence[tuple[str, Any]], result: Any) -> Function:
    """The gradient function: parameters, companions of arrays, adjoints of float results → contributions."""
    arrays = [(f"adj_{name}", type_) for name, type_ in inputs if type_.kind == "array"]
    seeds = [("adj_ret", result)] if result is not None and any(_is_float(leaf.type) for leaf in leaves(result)) else []
    if seeds and not all(_is_float(leaf.type) for leaf in leaves(result)):
        raise TypeError("a function with a derivative in C++ must return floats only")
    sums = [(f"adj_{name}", type_) for name, type_ in inputs if type_.kind != "array"]
    if any(isinstance(leaf.type, ArrayRef) for _, type_ in sums for leaf in leaves(type_)):
        raise TypeError("a struct with arrays cannot be a parameter of a function with a derivative in C++")
    # The gradient of an array that the snippet does not name need not exist: the array may have none.
    unused = [name for name, _ in arrays if not re.search(rf"\b{name}\b", snippet)]
    return _around(body, snippet, [*inputs, *arrays, *seeds], sums, None, unused)


def _doing_nothing(body: Body, inputs: Sequence[tuple[str, Any]], result: Any) -> Function:
    function = Function(body.name)
    _parameters(function, inputs)
    builder = Builder(function.body, _location(body))
    function.body.yields = [builder.zero(leaf.type) for leaf in leaves(result)] if result is not None else []
    return function


def _is_float(type_: StorageType) -> bool:
    if isinstance(type_, ArrayRef):
        return False
    return bool(type_.scalar.is_float if isinstance(type_, Aggregate) else type_.is_float)
