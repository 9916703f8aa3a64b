"""The lines of source files when a decorator runs: those that were imported, also if the file changes later."""

from __future__ import annotations

import linecache
import time
import types as python_types

STARTED = time.time()
"""Files that were written before this are what was imported."""

_LIBRARY = __name__.partition(".")[0]


def lines_of(python: python_types.FunctionType) -> list[str]:
    """The lines of a function's file now; none if it cannot be read. All functions of a file share them."""
    name = python.__code__.co_filename
    linecache.checkcache(name)
    return linecache.getlines(name, python.__globals__)


def lines_at_definition(python: python_types.FunctionType) -> list[str]:
    """``lines_of``, but none for Treadle's own files: these do not change, and importing Treadle should read none."""
    module = python.__module__ or ""  # of what exec() makes, None
    return [] if module.partition(".")[0] == _LIBRARY else lines_of(python)
