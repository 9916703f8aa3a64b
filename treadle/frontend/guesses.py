"""Guessed types: what to do when one turns out wrong.

A variable that comes from a literal and changes in a loop or branch has a guessed type. When it
meets a value of another type, ``Retype`` asks to build again with that type. If all guesses
concerned were made at one loop, it is enough to build that loop again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from treadle.frontend.context import Context, Hint
from treadle.frontend.values import HintKey, Retype
from treadle.language.errors import CompileError

T = TypeVar("T")


def learn(hints: dict[HintKey, Hint], request: Retype) -> None:
    """Enter what was found out.

    Raises:
        CompileError: it was known already, so that another attempt would end the same way.
    """
    hint = Hint(request.type, request.settled, request.note)
    changed = False
    for key in request.keys:
        before = hints.get(key)
        if before is None or (not before.settled and (before.type is not hint.type or hint.settled)):
            hints[key] = hint
            changed = True
    if not changed:
        raise CompileError("the types of the variables cannot be found out; convert literals, as in float64(0.0)")


def attempts(attempt: Callable[[dict[HintKey, Hint]], T]) -> T:
    """Build a function, and build it again with better guesses, until the guesses hold."""
    hints: dict[HintKey, Hint] = {}
    while True:
        try:
            return attempt(hints)
        except Retype as request:
            learn(hints, request)
        except CompileError as error:
            error.notes.extend(hint.note for hint in hints.values() if hint.note)
            raise


def at_loop(ctx: Context, node: ast.For | ast.While, build: Callable[[], None]) -> None:
    """Build a loop, and build it again while it is only the guesses made at it that do not hold."""
    ops, exits = ctx.block().ops, ctx.exits
    start, environment = len(ops), dict(ctx.environment)
    while True:
        try:
            build()
            return
        except Retype as request:
            if any(place != id(node) for place, _ in request.keys):
                raise
            learn(ctx.hints, request)
            del ops[start:]
            ctx.environment, ctx.exits = dict(environment), exits
