"""How deeply kernels may nest: what walks over syntax and IR recurses, deeper than Python allows by default."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from treadle.errors import TreadleError

# Until 3.10, each frame of Python takes room on the stack of the machine as well.
_DEEPEST = 8000 if sys.version_info >= (3, 11) else 3000

F = TypeVar("F", bound=Callable[..., Any])

TOO_DEEP = (
    "this is nested too deeply to be compiled: expressions in expressions, branches in branches "
    "(elif is one) or calls in calls; take it apart"
)


class deeper:  # noqa: N801
    """A ``with`` block in which Python may recurse deeper, for work on the function called ``name``.

    The limit counts for all threads, so it is raised by the first such block and restored by the last.

    Raises:
        TreadleError: in place of a RecursionError.
    """

    _lock = threading.Lock()
    _entered = 0
    _before = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        with self._lock:
            if not deeper._entered:
                deeper._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(deeper._before, _DEEPEST))
            deeper._entered += 1

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with self._lock:
            deeper._entered -= 1
            if not deeper._entered and sys.getrecursionlimit() == max(deeper._before, _DEEPEST):
                try:
                    sys.setrecursionlimit(deeper._before)
                except RecursionError:  # another thread is deeper than that just now
                    pass
        if kind is not None and issubclass(kind, RecursionError):
            raise TreadleError(f"{self.name}: {TOO_DEEP}") from None


def deep(work: F) -> F:
    """The decorator of what walks over a function, the first argument with a name: Python may recurse deeper there."""

    @wraps(work)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with deeper(next(a.name for a in arguments if hasattr(a, "name"))):
            return work(*arguments, **keywords)

    return call  # type: ignore[return-value]
