"""What a kernel refers to outside itself, watched: compiled code holds the values, and they may be bound anew.

Names are watched, not the contents of lists and other objects that can change in place.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Mapping
from typing import Any

from treadle.frontend.references import Chain, references_of
from treadle.frontend.source import source_of
from treadle.ir.depth import deep
from treadle.language import Function, Gradient, Kernel
from treadle.language.bodies import MISSING, Body

_LIBRARY = __name__.partition(".")[0]


class Captures:
    """The names that a kernel and the functions that it reaches refer to, with the objects they stand for now."""

    @deep
    def __init__(self, kernel: Kernel) -> None:
        self._names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        self._cells: dict[int, tuple[Any, Any]] = {}
        self._seen: set[int] = set()
        self._references(kernel.body)
        self.names = tuple(self._names.values())
        self.cells = tuple(self._cells.values())

    def changed(self) -> bool:
        """Whether one of the names stands for another object now."""
        for namespace, name, value in self.names:
            if namespace.get(name, MISSING) is not value:
                return True
        for cell, value in self.cells:
            if _contents(cell) is not value:
                return True
        return False

    def _body(self, body: Body) -> None:
        """Watch the body of a function: what it refers to, and the derivatives that it may be given."""
        if id(body) in self._seen:
            return
        self._references(body)
        for name in ("custom_gradient", "custom_replay"):
            custom = self._watch(vars(body), name)
            if custom is not None:
                self._body(custom)

    def _references(self, body: Body) -> None:
        self._seen.add(id(body))
        references = references_of(source_of(body), body)
        for chain in references.chains:
            self._chain(body, chain)
        for expression in references.statics:
            for chain in expression.chains:
                self._chain(body, chain)

    def _chain(self, body: Body, chain: Chain) -> None:
        function = body.python
        names = function.__code__.co_freevars
        if function.__closure__ is not None and chain[0] in names:
            cell = function.__closure__[names.index(chain[0])]
            found = _contents(cell)
            self._cells[id(cell)] = (cell, found)
        elif chain[0] in function.__globals__:
            found = function.__globals__[chain[0]]
            if not isinstance(found, python_types.ModuleType):
                self._watch(function.__globals__, chain[0])
        else:
            return
        for name in chain[1:]:
            namespace = getattr(found, "__dict__", {})
            if isinstance(found, Function) or name not in namespace or _is_library(found):
                return
            found = self._watch(namespace, name)
        for reached in _bodies(found):
            self._body(reached)

    def _watch(self, namespace: Mapping[str, Any], name: str) -> Any:
        found = namespace[name]
        self._names[id(namespace) if isinstance(namespace, dict) else id(found), name] = (namespace, name, found)
        return found


def _bodies(value: Any) -> tuple[Body, ...]:
    if isinstance(value, Gradient):
        value = value.function
    return value.bodies if isinstance(value, Function) else ()


def _is_library(value: Any) -> bool:
    return isinstance(value, python_types.ModuleType) and value.__name__.partition(".")[0] == _LIBRARY


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING
