"""Lets kernels with atomics run one at a time, in whatever Python thread: they go without atomic instructions.

These are several times as slow as plain ones, and keep LLVM from using vectors. A launch runs in one thread, so only
another launch could come between: two threads that add to one counter, or tapes of two threads with one gradient.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

# Re-entrant: what a kernel prints runs Python, which may run a finaliser that launches.
_lock = threading.RLock()


def one_at_a_time(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which waits while another function made so is running."""

    def run_alone(*arguments: Any) -> Any:
        with _lock:
            return run(*arguments)

    return run_alone


def _renew() -> None:
    """A forked process has none of the threads that may have held the lock."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
