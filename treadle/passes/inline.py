"""Replaces calls by the bodies of the functions called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.structure import STACK
from treadle.passes.clone import Cloner


def inline(function: Function, keep_custom: bool) -> Function:
    """``function`` without calls, at any depth.

    ``keep_custom``: calls of functions whose derivative the user wrote stay, for ``treadle.ad``.
    """
    return _inlined(function, keep_custom, {})


def _inlined(function: Function, keep_custom: bool, done: dict[Function, Function]) -> Function:
    """``done`` has the functions that were processed already: each is processed once and copied at every call."""
    found = done.get(function)
    if found is None:
        found = function
        if any(_vanishes(op, keep_custom) for op in function.body.walk()):
            body = _Inliner(keep_custom, done, _groups(function)).block(function.body)
            found = replace(function, body=body, labels=list(function.labels))
        done[function] = found
    return found


def _vanishes(op: Op, keep_custom: bool) -> bool:
    return op.name == "call" and not (keep_custom and op.attributes["callee"].custom is not None)


class _Inliner(Cloner):
    __slots__ = ("done", "groups", "keep_custom")

    def __init__(self, keep_custom: bool, done: dict[Function, Function], groups: Iterator[int]) -> None:
        super().__init__(Builder(Block()), {})
        self.groups = groups
        self.keep_custom = keep_custom
        self.done = done

    def op(self, op: Op) -> list[Value]:
        if not _vanishes(op, self.keep_custom):
            return super().op(op)
        callee = _inlined(op.attributes["callee"], self.keep_custom, self.done)
        arguments = dict(zip(callee.parameters, self.values(op.operands)))
        body = _Renumbering(self.builder, arguments, self.groups)
        body.place = op.location  # that of the ops of the standard library, which have none of their own
        results = body.block_body(callee.body)
        self.mapping.update(zip(op.results, results))
        return results


def _groups(function: Function) -> Iterator[int]:
    """Numbers of groups of stack ops that the function does not use."""
    used = (op.attributes["slot_group"] for op in function.body.walk() if "slot_group" in op.attributes)
    return count(max(used, default=0) + 1)


class _Renumbering(Cloner):
    """A cloner that gives each copy of a frame a group of its own: two calls of one function are two frames."""

    __slots__ = ("groups", "renumbered")

    def __init__(self, builder: Builder, mapping: dict[Value, Value], groups: Iterator[int]) -> None:
        super().__init__(builder, mapping)
        self.groups = groups
        self.renumbered: dict[int, int] = {}

    def op(self, op: Op) -> list[Value]:
        results = super().op(op)
        if op.name in STACK:
            group = op.attributes["slot_group"]
            if group not in self.renumbered:
                self.renumbered[group] = next(self.groups)
            self.builder.block.ops[-1].attributes["slot_group"] = self.renumbered[group]
        return results
