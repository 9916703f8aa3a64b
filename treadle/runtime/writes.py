"""Lets the tape know that Python writes to gradients that are retained.

The runtime knows only the function here; the tape, a room above, puts it in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from treadle.runtime import capturing

if TYPE_CHECKING:
    from treadle.runtime.array import array


class _Watch:
    is_wanted: bool = False
    written: Callable[[array], None]


watch = _Watch()
"""``watch.written`` is called before elements of an array are written whose memory is watched. ``watch.is_wanted``:
whether any is. Both are read directly, for speed."""


def announce(a: array) -> None:
    """Say that elements of an array are about to be written, or whenever the graph that is captured is replayed."""
    if a.allocation.is_watched:
        capturing.perform(partial(watch.written, a), a)


def watch_gradient(a: array) -> None:
    """Watch the memory of an array's gradient, if it has one that is to be retained."""
    gradient = a.grad
    if a.retain_grad and gradient is not None:
        watch.is_wanted = gradient.allocation.is_watched = True
