"""What a function refers to outside itself: names, attributes of them, and static expressions."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from treadle.frontend.source import Source
from treadle.language import Body, static

Chain = tuple[str, ...]
"""A name and the attributes taken of it: ``("wp", "types", "vec3")``."""


@dataclass(frozen=True)
class References:
    """``chains``: names that are no variables, in order, but for those in static expressions; ``statics``: the
    static expressions; ``has_assert``: whether messages hold line numbers."""

    chains: tuple[Chain, ...]
    statics: tuple[StaticExpression, ...]
    has_assert: bool


@dataclass(frozen=True)
class StaticExpression:
    """The argument of ``static(…)``. ``uses_variables``: whether it needs variables of the function around it."""

    node: ast.expr
    chains: tuple[Chain, ...]
    uses_variables: bool


def references_of(source: Source, body: Body) -> References:
    """The references of a function, found once. ``body`` is one that has this source."""
    found: References | None = source.references
    if found is None:
        found = source.references = _Finder(source, body).references()
    return found


class _Finder:
    """Walks over a function and collects its references."""

    def __init__(self, source: Source, body: Body) -> None:
        self.local_names = source.local_names
        self.body = body
        self.chains: dict[Chain, None] = {}
        self.statics: list[StaticExpression] = []
        self.has_assert = False
        for statement in source.tree.body:
            self.visit(statement)

    def references(self) -> References:
        return References(tuple(self.chains), tuple(self.statics), self.has_assert)

    def visit(self, node: ast.AST) -> None:
        chain = _chain(node)
        if chain is not None:
            if chain[0] not in self.local_names:
                self.chains[chain] = None
            return
        if isinstance(node, ast.Assert):
            self.has_assert = True
        if isinstance(node, ast.Call) and len(node.args) == 1 and self._is_static(node.func):
            self._static(node.args[0])
            return
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def _is_static(self, function: ast.expr) -> bool:
        chain = _chain(function)
        if chain is None or chain[0] in self.local_names:
            return False
        found = self.body.lookup(chain[0])
        for name in chain[1:]:
            found = getattr(found, name, None)
        return found is static

    def _static(self, node: ast.expr) -> None:
        found = [chain for part in ast.walk(node) if (chain := _chain(part)) is not None]
        outer = tuple(dict.fromkeys(chain for chain in found if chain[0] not in self.local_names))
        self.statics.append(StaticExpression(node, outer, any(chain[0] in self.local_names for chain in found)))


def _chain(node: ast.AST) -> Chain | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(names))
