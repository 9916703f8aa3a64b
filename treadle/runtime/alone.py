"""Lets one adjoint run at a time, in whatever Python thread: adjoints add to gradients without atomic instructions.

Gradients of different threads' tapes may be one array, such as the weights of a model.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

_lock = threading.Lock()


def one_at_a_time(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which waits while another function made so is running."""

    def run_alone(*arguments: Any) -> Any:
        with _lock:
            return run(*arguments)

    return run_alone


def _renew() -> None:
    """A forked process has none of the threads that may have held the lock."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
