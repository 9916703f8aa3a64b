"""What names and attributes of compile-time objects mean: closure, globals, Python's and Treadle's built-ins."""

from __future__ import annotations

import ast
import builtins
import enum
import types as python_types
from typing import Any

from treadle.frontend.context import Context, expression
from treadle.frontend.conversions import captured, usable
from treadle.frontend.diagnostics import did_you_mean
from treadle.frontend.values import Constant, Value
from treadle.language import BUILTINS
from treadle.language.bodies import MISSING
from treadle.language.errors import UnknownNameError, UnsupportedError

_PYTHON = {id(found): name for name, found in vars(builtins).items() if callable(found)}
"""The names of what Python has everywhere, by identity."""

_INSTEAD = {
    "reversed": "; count down with range(n - 1, -1, -1)",
    "enumerate": "; go over range(...) and index",
    "zip": "; go over range(...) and index",
}


@expression(ast.Name)
def name(ctx: Context, node: ast.Name) -> Value:
    """A variable, or what the name means outside."""
    found = ctx.environment.get(node.id)
    if found is not None:
        return usable(ctx, found, node, node.id)
    if node.id in ctx.source.local_names:
        raise ctx.error(node, f"the variable {node.id!r} is used before it is assigned", UnknownNameError)
    return captured(outside(ctx, node))


def outside(ctx: Context, node: ast.Name) -> Any:
    """The Python object that a name means which is no variable.

    Raises:
        UnknownNameError: there is none.
    """
    found = ctx.body.lookup(node.id)
    if found is MISSING:
        found = BUILTINS.get(node.id, MISSING)
    if found is MISSING:
        known = [*ctx.environment, *ctx.body.closure(), *ctx.body.python.__globals__, *BUILTINS]
        raise ctx.error(node, f"there is no name {node.id!r}{did_you_mean(node.id, known)}", UnknownNameError)
    return found


def attribute_of_object(ctx: Context, value: Any, node: ast.Attribute) -> Value:
    """An attribute of a compile-time object: of a module, a class, a type, an enumeration, …

    Raises:
        UnknownNameError: it has no such attribute.
    """
    try:
        return captured(getattr(value, node.attr))
    except AttributeError:
        pass
    if isinstance(value, python_types.ModuleType):
        if _is_treadle(value) and node.attr in BUILTINS:
            return Constant(BUILTINS[node.attr])
        known = [*vars(value), *(BUILTINS if _is_treadle(value) else ())]
        hint = did_you_mean(node.attr, known)
        raise ctx.error(node, f"the module {value.__name__} has no attribute {node.attr!r}{hint}", UnknownNameError)
    what = getattr(value, "__name__", None) or repr(value)
    raise ctx.error(
        node, f"{what} has no attribute {node.attr!r}{did_you_mean(node.attr, dir(value))}", UnknownNameError
    )


def enumeration_member(ctx: Context, node: ast.expr) -> enum.Enum | None:
    """The member that ``Enumeration.MEMBER`` is, before it is taken for its number."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, (ast.Name, ast.Attribute)):
        return None
    names = [node.attr]
    base: ast.expr = node.value
    while isinstance(base, ast.Attribute):
        names.append(base.attr)
        base = base.value
    if not isinstance(base, ast.Name) or base.id in ctx.environment:
        return None
    found: Any = ctx.body.lookup(base.id)
    for name in reversed(names):
        found = getattr(found, name, None)
    return found if isinstance(found, enum.Enum) else None


def _is_treadle(module: python_types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] == __name__.partition(".")[0]


def check_not_python(ctx: Context, value: Any, node: Any) -> None:
    """Refuse to call a Python function that is no function of the kernel language.

    Raises:
        UnsupportedError: it is one.
    """
    if isinstance(value, (python_types.FunctionType, python_types.MethodType)):
        raise ctx.error(
            node,
            f"{value.__qualname__} is a Python function, which kernels cannot call; decorate it with @func",
            UnsupportedError,
        )
    if value is range:
        raise ctx.error(node, "range() can only be what a for loop goes over: for i in range(...)", UnsupportedError)
    name = _PYTHON.get(id(value))
    if name is not None or isinstance(value, python_types.BuiltinFunctionType):
        name = name or value.__name__
        hint = f"; use the built-in {name}() of the kernel language" if name in BUILTINS else _INSTEAD.get(name, "")
        raise ctx.error(node, f"kernels cannot call Python's {name}(){hint}", UnsupportedError)
