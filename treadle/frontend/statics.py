"""``static(expression)``: evaluated by Python when the kernel is built, with names as they were at its definition."""

from __future__ import annotations

import ast
from typing import Any

from treadle.frontend.context import Context
from treadle.frontend.source import Source
from treadle.frontend.values import Constant, TupleValue, Typed, Value
from treadle.language.bodies import MISSING, Body
from treadle.language.errors import CompileError, UnknownNameError


def evaluate(ctx: Context, node: ast.expr) -> Any:
    """The Python object that an expression is.

    Names are those around the function, and variables of the kernel whose value is known now.

    Raises:
        UnknownNameError: it uses a variable that has a value only at run time.
    """
    names = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in ctx.environment:
            found = _known(ctx.environment[part.id])
            if found is MISSING:
                raise ctx.error(
                    part,
                    f"static() cannot use the variable {part.id!r}, whose value is known only at run time",
                    UnknownNameError,
                )
            names[part.id] = found
    try:
        return run(ctx.source, ctx.body, node, names)
    except Exception as error:
        raise ctx.error(
            node, f"static({ctx.source.segment(node)}) fails: {type(error).__name__}: {error}", CompileError
        ) from error


def run(source: Source, body: Body, node: ast.expr, names: dict[str, Any]) -> Any:
    """Evaluate a syntax node as Python where ``body`` was defined, with further names."""
    code = source.compiled.get(id(node))
    if code is None:
        code = compile(ast.Expression(node), source.file, "eval")
        source.compiled[id(node)] = code
    names = {**body.closure(), **body.declared, **names}
    # All in one dictionary, since a comprehension in the expression sees globals only.
    return eval(code, {**body.python.__globals__, **names} if names else body.python.__globals__)


class _Model:
    """Stands in static expressions for a value at run time, of which only the type is known."""

    def __init__(self, type_: Any) -> None:
        self.dtype = getattr(type_, "dtype", type_)
        self.shape = getattr(type_, "shape", None)
        self.ndim = getattr(type_, "ndim", None)
        self.length = getattr(type_, "length", None)
        self._type = type_

    def __len__(self) -> int:
        return int(self._type.shape[0])


def _known(value: Value) -> Any:
    """The Python object that a value stands for, or MISSING."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, TupleValue):
        items = [_known(item) for item in value.items]
        return MISSING if MISSING in items else tuple(items)
    if isinstance(value, Typed) and getattr(value.type, "kind", "") in ("vec", "mat", "quat", "transform"):
        return _Model(value.type)
    return MISSING
