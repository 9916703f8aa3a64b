"""The source text and syntax tree of a Python function, read once per code object."""

from __future__ import annotations

import ast
import inspect
import os
import types as python_types
from collections.abc import Iterator
from functools import cached_property
from importlib.machinery import SourceFileLoader
from typing import Any

from treadle.frontend.liveness import Liveness
from treadle.ir.core import Location
from treadle.language.bodies import Body
from treadle.language.errors import SourceError
from treadle.language.texts import STARTED, lines_of


class Source:
    """The text of one function.

    ``file``; ``first_line``: the absolute number of the first line (of the first decorator);
    ``lines``: its lines, as they are in the file.
    """

    def __init__(self, code: python_types.CodeType, first_line: int, lines: list[str], tree: ast.FunctionDef) -> None:
        self.code = code
        self.file = code.co_filename
        self.first_line = first_line
        self.lines = lines
        self.tree = tree
        self.compiled: dict[int, python_types.CodeType] = {}
        """For ``statics``: the code of expressions, by the identity of their node."""
        self.references: Any = None
        """For ``references``: what the function refers to, once it has been found out."""
        self._locations: dict[int, Location] = {}

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def line(self, number: int) -> str:
        """The line of that absolute number, without its line break; empty if it is not in the function."""
        index = number - self.first_line
        return self.lines[index].rstrip("\n") if 0 <= index < len(self.lines) else ""

    def location(self, line: int) -> Location:
        found = self._locations.get(line)
        if found is None:
            found = self._locations[line] = Location(self.file, line)
        return found

    def segment(self, node: ast.AST) -> str:
        """The text of an expression; of several lines, the first."""
        line = self.line(node.lineno)  # type: ignore[attr-defined]
        raw = line.encode()
        end = node.end_col_offset if node.end_lineno == node.lineno else len(raw)  # type: ignore[attr-defined]
        return raw[node.col_offset : end].decode(errors="replace").strip()  # type: ignore[attr-defined]

    @cached_property
    def called_calls(self) -> frozenset[ast.AST]:
        """The calls whose result is called in turn."""
        calls = (part for part in ast.walk(self.tree) if isinstance(part, ast.Call))
        return frozenset(part.func for part in calls if isinstance(part.func, ast.Call))

    @cached_property
    def local_names(self) -> frozenset[str]:
        """The names that are variables of the function itself."""
        return frozenset(self.code.co_varnames) | frozenset(self.code.co_cellvars)

    @cached_property
    def liveness(self) -> Liveness:
        return Liveness(self.tree)


# By the identity of the code object, which ``Source`` keeps alive: code objects of different sources can be equal.
_CACHE: dict[int, Source] = {}


def source_of(body: Body) -> Source:
    """The source of a function: that of the first body with its code, so that kernels made in a loop share one.

    Raises:
        SourceError: it cannot be read.
    """
    code = body.python.__code__
    found = _CACHE.get(id(code))
    if found is None:
        found = _CACHE[id(code)] = _read(body.python, body.lines)
    return found


def _read(python: python_types.FunctionType, lines: list[str]) -> Source:
    code = python.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    if code.co_name == "<lambda>":
        raise SourceError("a lambda cannot be compiled; write a function with def", place)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise SourceError(f"{python.__name__} is async, which kernels and functions cannot be; write def", place)
    lines = lines or lines_of(python)
    first = code.co_firstlineno
    if not lines or first > len(lines):
        raise _unreadable(python, place)
    for end in _possible_ends(lines, code):
        block = lines[first - 1 : end]
        tree = _parse(block, first)
        if tree is not None:
            arguments = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
            if tree.name != code.co_name or tuple(arguments) != code.co_varnames[: len(arguments)]:
                break
            if not _may_be(python, lines):
                break
            return Source(code, first, block, tree)
    if code.co_filename == "<string>":  # what exec() makes; Python may have lines of another such text
        raise _unreadable(python, place)
    raise SourceError(f"the source of {python.__name__} has changed since it was imported", place)


def _unreadable(python: python_types.FunctionType, place: str) -> SourceError:
    return SourceError(
        f"the source of {python.__name__} cannot be read; kernels and functions must be defined in a file, "
        f"a notebook or IPython, not typed at a plain prompt or made by exec()",
        place,
    )


def _may_be(python: python_types.FunctionType, lines: list[str]) -> bool:
    """Whether these lines can be those that a function comes from, judged by what they compile to.

    What was defined in a function, long after the import perhaps, may have met a file that had changed. Where
    something else than Python makes byte code of the file (pytest does, of assertions) it is not judged.
    """
    code = python.__code__
    if not code.co_flags & inspect.CO_NESTED or type(python.__globals__.get("__loader__")) is not SourceFileLoader:
        return True
    try:
        if os.stat(code.co_filename).st_mtime < STARTED:
            return True
        compiled = compile("".join(lines), code.co_filename, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    own = _meaning(code)
    return any(part.co_firstlineno == code.co_firstlineno and _meaning(part) == own for part in _codes(compiled))


def _codes(code: python_types.CodeType) -> Iterator[python_types.CodeType]:
    """The code objects in a code object."""
    for part in code.co_consts:
        if isinstance(part, python_types.CodeType):
            yield part
            yield from _codes(part)


def _meaning(code: python_types.CodeType) -> Any:
    """What the byte code of a function says, but for places."""
    constants = [_meaning(c) if isinstance(c, python_types.CodeType) else (type(c), repr(c)) for c in code.co_consts]
    return code.co_code, code.co_names, constants


def _possible_ends(lines: list[str], code: python_types.CodeType) -> Iterator[int]:
    """The number of the last line of a function: first by indentation, then by its tokens."""
    end = last = _last_line(code)
    margin = _indentation(lines[code.co_firstlineno - 1])
    while end < len(lines):
        stripped = lines[end].strip()
        if stripped and not stripped.startswith("#"):
            if _indentation(lines[end]) <= margin and stripped[0] not in ")]}":
                break
            last = end + 1
        end += 1
    yield last
    yield code.co_firstlineno - 1 + len(inspect.getblock(lines[code.co_firstlineno - 1 :]))


def _last_line(code: python_types.CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    nested = [_last_line(c) for c in code.co_consts if isinstance(c, python_types.CodeType)]
    return max([code.co_firstlineno, *lines, *nested])


def _indentation(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())


def _parse(block: list[str], first: int) -> ast.FunctionDef | None:
    """The definition in a block of lines, with absolute line numbers; None if it is none."""
    text = "".join(block)
    if block[0][:1] in " \t":  # an indented definition: the line numbers stay right, and so do the columns
        text, first = "if 1:\n" + text, first - 1
    try:
        module: Any = ast.parse("\n" * (first - 1) + text)
    except SyntaxError:
        return None
    body = module.body
    if body and isinstance(body[0], ast.If):
        body = body[0].body
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef) else None
