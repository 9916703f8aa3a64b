"""The errors of compilation: where in the user's source, which expression, and what could be meant."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from treadle.frontend.source import Source
from treadle.language.errors import CompileError


def at(source: Source, node: Any, message: str, kind: type[CompileError] = CompileError) -> CompileError:
    """An error at a syntax node: with file and line, the line itself, and the expression underlined."""
    line = getattr(node, "lineno", source.first_line)
    return kind(message, f"{source.file}:{line}", excerpt(source, node))


def excerpt(source: Source, node: Any) -> str:
    """The source line of a node, and under it a line that marks the expression."""
    if not hasattr(node, "lineno"):
        return ""
    line = source.line(node.lineno)
    if not line:
        return ""
    raw = line.encode()
    start = len(raw[: node.col_offset].decode(errors="replace"))
    end = len(raw[: node.end_col_offset].decode(errors="replace")) if node.end_lineno == node.lineno else len(line)
    margin = len(line) - len(line.lstrip())
    if isinstance(node, ast.stmt) and node.end_lineno != node.lineno:
        end = len(line)
    mark = " " * (start - margin) + "^" * max(end - start, 1)
    return f"    {line.strip()}\n    {mark}"


def called_from(error: CompileError, source: Source, node: Any, name: str) -> CompileError:
    """``error``, with a note that the function at fault was called here."""
    error.notes.append(f"  in {name}, called at {source.file}:{node.lineno}:\n{excerpt(source, node)}")
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def signatures(texts: Sequence[str]) -> str:
    """The calls that exist, one a line."""
    if not texts:
        return ""
    return "\nthe calls that exist are:\n" + "\n".join(f"    {text}" for text in texts)
