"""Replaces calls by the bodies of the functions called."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
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
            body = _Inliner(keep_custom, done).block(function.body)
            found = replace(function, body=body, labels=list(function.labels))
        done[function] = found
    return found


def _vanishes(op: Op, keep_custom: bool) -> bool:
    return op.name == "call" and not (keep_custom and op.attributes["callee"].custom is not None)


class _Inliner(Cloner):
    __slots__ = ("keep_custom", "done")

    def __init__(self, keep_custom: bool, done: dict[Function, Function]) -> None:
        super().__init__(Builder(Block()), {})
        self.keep_custom = keep_custom
        self.done = done

    def op(self, op: Op) -> list[Value]:
        if not _vanishes(op, self.keep_custom):
            return super().op(op)
        callee = _inlined(op.attributes["callee"], self.keep_custom, self.done)
        arguments = dict(zip(callee.parameters, self.values(op.operands)))
        results = Cloner(self.builder, arguments).block_body(callee.body)
        self.mapping.update(zip(op.results, results))
        return results
