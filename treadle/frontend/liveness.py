"""Which variables are still needed where: what an ``if`` has to merge and a loop has to carry.

A set of variables is an int with one bit a name. The analysis is the textbook backward one, on
the syntax tree; for a loop, the variables that its body uses before it assigns them are found
first, so that no iteration is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class LoopInfo:
    """``header``: the variables needed at the start of an iteration, and when the loop ends.

    ``assigned``: those that the body, or the target, assigns. ``has_break``, ``has_return``: whether the
    loop can be left early.
    """

    header: int
    assigned: int
    has_break: bool
    has_return: bool


class _Targets:
    """Where the exits of a loop go: the variables needed there."""

    __slots__ = ("on_break", "on_continue")

    def __init__(self, on_break: int = 0, on_continue: int = 0) -> None:
        self.on_break = on_break
        self.on_continue = on_continue


class Liveness:
    """``after[id(statement)]``: the variables needed after a statement; ``loops[id(statement)]``: about a loop."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.bits: dict[str, int] = {}
        self.after: dict[int, int] = {}
        self.loops: dict[int, LoopInfo] = {}
        self._loops: list[tuple[ast.stmt, LoopInfo]] = []
        self._needs: dict[int, int] = {}
        self._recording = True
        self._block(tree.body, 0, _Targets())

    def bit(self, name: str) -> int:
        """The bit of a name; that of a name that the function does not contain is new."""
        found = self.bits.get(name)
        if found is None:
            found = self.bits[name] = 1 << len(self.bits)
        return found

    def names(self, mask: int) -> list[str]:
        """The names in a set, in the order in which the function mentions them (backwards)."""
        return [name for name, bit in self.bits.items() if mask & bit]

    def note_change(self, call: ast.Call, argument: ast.expr) -> ast.stmt | None:
        """Take note that a call changes an argument: the loops around it assign that variable.

        Which calls do so is found out as they are built. Returns the outermost loop to which this is news.
        """
        mask = self._root(argument)
        news = None
        for loop, info in self._loops:
            if info.assigned & mask != mask and any(part is call for part in ast.walk(loop)):
                info.assigned |= mask
                news = loop
        return news

    # -- Statements: from what is needed after to what is needed before

    def _block(self, statements: Sequence[ast.stmt], out: int, targets: _Targets) -> int:
        for statement in reversed(statements):
            if self._recording:
                self.after[id(statement)] = out
            out = self._statement(statement, out, targets)
        return out

    def _statement(self, node: ast.stmt, out: int, targets: _Targets) -> int:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                out = self._store(target, out)
            return out | self._uses(node.value)
        if isinstance(node, ast.AugAssign):
            return self._store(node.target, out) | self._uses(node.value) | self._uses(node.target)
        if isinstance(node, ast.AnnAssign):
            return out if node.value is None else self._store(node.target, out) | self._uses(node.value)
        if isinstance(node, ast.If):
            then, other = self._block(node.body, out, targets), self._block(node.orelse, out, targets)
            return self._uses(node.test) | then | other
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, out, targets)
        if isinstance(node, ast.Return):
            return 0 if node.value is None else self._uses(node.value)
        if isinstance(node, ast.Break):
            return targets.on_break
        if isinstance(node, ast.Continue):
            return targets.on_continue
        return out | self._uses(node)

    def _loop(self, node: ast.For | ast.While, out: int, targets: _Targets) -> int:
        is_for = isinstance(node, ast.For)
        test = 0 if isinstance(node, ast.For) else self._uses(node.test)
        header = test | out | self._block(node.orelse, out, targets) | self._needs_of(node)
        if self._recording:
            self._block(node.body, header, _Targets(out, header))
            has_break, has_return = _exits(node.body)
            info = self.loops[id(node)] = LoopInfo(header, self._assigned(node), has_break, has_return)
            self._loops.append((node, info))
        # A variable that only the loop's target assigns is not needed before it, unless after it.
        return header | (self._uses(node.iter) if is_for else 0)  # type: ignore[union-attr]

    def _needs_of(self, node: ast.For | ast.While) -> int:
        """The variables that one iteration uses before it assigns them."""
        found = self._needs.get(id(node))
        if found is None:
            recording, self._recording = self._recording, False
            found = self._block(node.body, 0, _Targets())
            if isinstance(node, ast.For):
                found = self._store(node.target, found)
            self._recording = recording
            self._needs[id(node)] = found
        return found

    # -- Expressions

    def _store(self, target: ast.expr, out: int) -> int:
        """What is needed before an assignment: a name no longer, a composite that is changed in part still."""
        if isinstance(target, ast.Name):
            return out & ~self.bit(target.id)
        if isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                out = self._store(item, out)
            return out
        if isinstance(target, ast.Starred):
            return self._store(target.value, out)
        return out | self._uses(target)

    def _uses(self, node: ast.AST) -> int:
        """The variables in an expression."""
        kind = type(node)
        if kind is ast.Name:
            return self.bit(node.id)  # type: ignore[attr-defined]
        if kind is ast.Constant:
            return 0
        mask = 0
        if kind is ast.Subscript and (name := adjoint_name(node)):
            mask = self.bit(name)
        for field in node._fields:
            value: Any = getattr(node, field, None)
            if isinstance(value, ast.AST):
                mask |= self._uses(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        mask |= self._uses(item)
        return mask

    def _assigned(self, node: ast.AST) -> int:
        """The variables that a statement and those in it assign, in whole or in part."""
        mask = 0
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                if isinstance(part.ctx, ast.Store):
                    mask |= self.bit(part.id)
            elif isinstance(part, (ast.Subscript, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                mask |= self._root(part)
        return mask

    def _root(self, node: ast.expr) -> int:
        """The variable of which ``a.b[i].c`` is a part."""
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            name = adjoint_name(node)
            if name:
                return self.bit(name)
            node = node.value
        return self.bit(node.id) if isinstance(node, ast.Name) else 0


def adjoint_name(node: ast.AST) -> str:
    """The name of the variable that ``adjoint[x]`` stands for, or an empty text."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)):
        return ""
    base = node.value
    last = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
    return f"%adjoint {node.slice.id}" if last == "adjoint" else ""


def _exits(statements: Sequence[ast.stmt]) -> tuple[bool, bool]:
    """Whether these statements contain a ``break`` of the loop around them, and a ``return``."""
    has_break = has_return = False
    for node in statements:
        if isinstance(node, ast.Break):
            has_break = True
        elif isinstance(node, ast.Return):
            has_return = True
        elif isinstance(node, ast.If):
            for block in (node.body, node.orelse):
                inner = _exits(block)
                has_break, has_return = has_break or inner[0], has_return or inner[1]
        elif isinstance(node, (ast.For, ast.While)):
            has_return = has_return or _exits(node.body)[1] or _exits(node.orelse)[1]
            has_break = has_break or _exits(node.orelse)[0]
    return has_break, has_return
