"""Functions of the kernel language made from text, and from lambdas.

The source reader finds the text of a function in ``linecache``, as it does for notebooks.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import types as python_types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from treadle.language.bodies import Body
from treadle.language.errors import SourceError
from treadle.language.functions import Function

_numbers = itertools.count(1)


def from_text(text: str, names: Mapping[str, Any]) -> Any:
    """The function that ``text`` defines, with ``names`` as its globals."""
    code = _compiled(text)
    namespace = dict(names)
    exec(code, namespace)
    return namespace[next(c.co_name for c in code.co_consts if isinstance(c, python_types.CodeType))]


@cache
def _compiled(text: str) -> python_types.CodeType:
    """The code of a text: the same object for the same text, as its source, which is kept, goes with it."""
    file = f"<treadle {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return compile(text, file, "exec")


def from_lambda(function: python_types.FunctionType) -> Function:
    """A lambda as a function of the kernel language, generic in all parameters.

    Raises:
        SourceError: its text cannot be found.
    """
    name, code = "lambda_", function.__code__
    node = _node_of(function)
    definition = ast.FunctionDef(
        name=name, args=node.args, body=[ast.Return(node.body)], decorator_list=[], lineno=1, col_offset=0
    )
    free = code.co_freevars
    # Inside a function that has the free variables, so that they are free in the inner one, too.
    lines = [f"def around({', '.join(free)}):", *(f"    {line}" for line in ast.unparse(definition).splitlines())]
    outer = next(c for c in _compiled("\n".join(lines) + "\n").co_consts if isinstance(c, python_types.CodeType))
    inner = next(c for c in outer.co_consts if isinstance(c, python_types.CodeType))
    cells = dict(zip(free, function.__closure__ or ()))
    closure = tuple(cells[variable] for variable in inner.co_freevars)
    made = python_types.FunctionType(inner, function.__globals__, name, function.__defaults__, closure)
    return Function(name, [Body(made, name)])


def _node_of(function: python_types.FunctionType) -> ast.Lambda:
    """The syntax of a lambda: of those at its lines the one with its byte code."""
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise SourceError("the source of a lambda cannot be read; write a function with def", place)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        raise SourceError("the source of a lambda has changed since it was imported", place) from None
    found = [node for node in _lambdas(tree) if node.lineno <= code.co_firstlineno <= (node.end_lineno or node.lineno)]
    if len(found) > 1:
        found = [node for node in found if _same_code(node, code)]
    if len({ast.dump(node) for node in found}) != 1:
        raise SourceError("which of the lambdas in this line is meant is not clear; write functions with def", place)
    return found[0]


def _lambdas(tree: ast.AST) -> Iterator[ast.Lambda]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Lambda))


def _same_code(node: ast.Lambda, code: python_types.CodeType) -> bool:
    """Whether a lambda's parameters, names and constants are those of ``code``."""
    arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if tuple(arguments) != code.co_varnames[: len(arguments)] or len(arguments) != code.co_argcount:
        return False
    free = ", ".join(code.co_freevars)
    text = f"def around({free}):\n    return {ast.unparse(node)}\n"
    outer = next(c for c in compile(text, "<lambda>", "exec").co_consts if isinstance(c, python_types.CodeType))
    own = next((c for c in outer.co_consts if isinstance(c, python_types.CodeType)), None)
    return own is not None and (own.co_code, own.co_names, own.co_consts[-1:]) == (
        code.co_code, code.co_names, code.co_consts[-1:],
    )  # fmt: skip
