"""The order of the passes, before and after the derivative transform; checking and printing in between."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from treadle import config
from treadle.ir.core import Function
from treadle.ir.depth import deep
from treadle.passes.dead_code import dead_code
from treadle.passes.inline import inline
from treadle.passes.simplify import simplify
from treadle.passes.unroll import unroll

VERIFY = bool(os.environ.get("TREADLE_VERIFY"))
"""Check the IR after every pass. Tests set it."""


def prepare(function: Function, options: Mapping[str, Any]) -> Function:
    """What the frontend made, ready for the derivative transform.

    Calls stay where the user gave a derivative. ``options`` are those of ``config.OPTIONS``;
    ``max_unroll`` is used.
    """
    max_unroll = options.get("max_unroll", config.max_unroll)
    return _run(
        function,
        lambda f: inline(f, keep_custom=True),
        simplify,
        lambda f: unroll(f, max_unroll),
        simplify,
        dead_code,
    )


def finish(function: Function, options: Mapping[str, Any]) -> Function:
    """A prepared function, or an adjoint, ready for code generation: no calls are left."""
    return _run(function, lambda f: inline(f, keep_custom=False), simplify, dead_code)


@deep
def _run(function: Function, *passes: Callable[[Function], Function]) -> Function:
    # Passes make many objects and leave little garbage before they end: looking for it takes half of their time.
    collects = gc.isenabled()
    gc.disable()
    try:
        _check(function)
        for one in passes:
            function = one(function)
            _check(function)
    finally:
        if collects:
            gc.enable()
    return function


def _check(function: Function) -> None:
    if VERIFY:
        from treadle.ir.verifier import verify

        verify(function)


def dump(stage: str, name: str, function: Function) -> None:
    """Print the IR of a kernel if the environment asks for this stage: ``TREADLE_DUMP=frontend,ir,ad,llvm``."""
    if _is_dumped(stage):
        from treadle.ir.printer import to_text

        dump_text(stage, name, to_text(function))


def dump_text(stage: str, name: str, text: str) -> None:
    """As ``dump``, for what is text already."""
    if _is_dumped(stage):
        print(f"; {stage} of {name}\n{text}", file=sys.stderr)


def _is_dumped(stage: str) -> bool:
    return stage in os.environ.get("TREADLE_DUMP", "").split(",")
