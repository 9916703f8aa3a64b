"""Makes a program at fault smaller by editing its syntax tree, as long as the fault stays.

Hypothesis shrinks what the generator chose; this takes away what the generator cannot do without.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Edit = Callable[[], None]

_BODIES = ("body", "orelse")
_KEPT = 3
"""The last statements of a program are ``arrays``, ``run`` and ``VALUES``."""
_CONSTANTS = ("T(0.5)", "1", "True")


def reduce(source: str, is_interesting: Callable[[str], bool], seconds: float = 60.0) -> str:
    """The smallest program found within the time that ``is_interesting`` accepts."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        position = 0
        while time.monotonic() < end:
            candidate = _candidate(source, position)
            if candidate is None:
                break
            if len(candidate) < len(source) and is_interesting(candidate):
                source, progress = candidate, True
            else:
                position += 1
    return source


def _candidate(source: str, position: int) -> str | None:
    """The program with edit number ``position``; None if there are no more edits."""
    tree = ast.parse(source)
    for number, edit in enumerate(_edits(tree)):
        if number == position:
            edit()
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return None


def _edits(tree: ast.Module) -> Iterator[Edit]:
    """All ways to make the program smaller by one step, coarse ones first."""
    yield from _array_edits(tree)
    yield from _statement_edits(tree.body[:-_KEPT], partial(tree.body.__setitem__, slice(0, -_KEPT)))
    for holder in ast.walk(tree):
        for name in _BODIES if holder is not tree else ():
            statements = getattr(holder, name, None)
            if isinstance(statements, list):
                yield from _statement_edits(statements, partial(_set_body, statements))
    yield from _parameter_edits(tree)
    for holder in ast.walk(tree):
        if not isinstance(holder, (ast.FunctionDef, ast.arguments, ast.arg)):
            yield from _operand_edits(holder)


def _set_body(statements: list[ast.stmt], new: list[ast.stmt]) -> None:
    statements[:] = new or [ast.Pass()]


def _statement_edits(statements: list[ast.stmt], put: Callable[[list[ast.stmt]], None]) -> Iterator[Edit]:
    """Take statements away, many at a time and one by one, or replace one by what is inside it."""
    size = len(statements)
    while size > 0:
        for first in reversed(range(0, len(statements), size)):
            yield partial(put, statements[:first] + statements[first + size :])
        size //= 2
    for k, statement in enumerate(statements):
        if isinstance(statement, (ast.If, ast.For, ast.While)):
            for inner in (statement.body, statement.orelse):
                if inner:
                    yield partial(put, statements[:k] + inner + statements[k + 1 :])


def _operand_edits(holder: ast.AST) -> Iterator[Edit]:
    """Make the expressions directly inside ``holder`` smaller, but for what it calls."""
    for field, value in ast.iter_fields(holder):
        if field != "func" and isinstance(value, ast.expr):
            yield from _expression_edits(value, partial(setattr, holder, field))
        elif isinstance(value, list):
            for k, item in enumerate(value):
                if isinstance(item, ast.expr):
                    yield from _expression_edits(item, partial(value.__setitem__, k))


def _expression_edits(old: ast.expr, put: Callable[[ast.expr], None]) -> Iterator[Edit]:
    """Replace an expression by an operand of it, or by a constant."""
    if isinstance(old, (ast.Constant, ast.Name)) or isinstance(getattr(old, "ctx", None), ast.Store):
        return
    for child in ast.iter_child_nodes(old):
        if isinstance(child, ast.expr):
            yield partial(put, child)
    for text in _CONSTANTS:
        if text != ast.unparse(old):
            yield partial(put, ast.parse(text, mode="eval").body)


def _parameter_edits(tree: ast.Module) -> Iterator[Edit]:
    """Take a parameter away from a kernel or function, and the argument from its calls."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.decorator_list:
            for k in range(len(function.args.args)):
                yield partial(_drop_parameter, tree, function, k)


def _drop_parameter(tree: ast.Module, function: ast.FunctionDef, k: int) -> None:
    del function.args.args[k]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == function.name and k < len(node.args):
            del node.args[k]
        elif node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == function.name:
            _drop_argument(node, k)


def _drop_argument(launch: ast.Call, k: int) -> None:
    for keyword in launch.keywords:
        if keyword.arg in ("inputs", "outputs") and isinstance(keyword.value, ast.List):
            if k < len(keyword.value.elts):
                del keyword.value.elts[k]
                return
            k -= len(keyword.value.elts)


def _array_edits(tree: ast.Module) -> Iterator[Edit]:
    """Take an array away that the host program does not use."""
    by_name: dict[str, Any] = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
    run = by_name["run"]
    used = {node.id for statement in run.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    for k, argument in enumerate(run.args.args):
        if argument.arg not in used:
            yield partial(_drop_array, tree, by_name, k, argument.arg)


def _drop_array(tree: ast.Module, by_name: dict[str, Any], k: int, name: str) -> None:
    del by_name["run"].args.args[k]
    making = by_name["arrays"].body
    making[:] = [s for s in making if not (isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == name)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            kept = [(key, value) for key, value in zip(node.keys, node.values) if ast.literal_eval(key or name) != name]
            node.keys, node.values = [key for key, _ in kept], [value for _, value in kept]
