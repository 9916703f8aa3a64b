"""The lock of everything that compiles and links, and what keeps locks usable in a process that was forked.

A fork copies the locks that other threads hold, but not the threads, so that nothing would ever release them.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar

import llvmlite.binding as llvm

Lock = TypeVar("Lock", bound=AbstractContextManager[Any])

_locks: list[AbstractContextManager[Any]] = []
_taken: list[ExitStack] = []


def held_across_forks(lock: Lock) -> Lock:
    """The lock, which a thread that forks the process holds meanwhile, so that no other thread does.

    Locks are given in this order: one that is taken by a thread which holds another comes before that other.
    """
    _locks.append(lock)
    return lock


def _take() -> None:
    stack = ExitStack()
    for lock in reversed(_locks):
        stack.enter_context(lock)
    _taken.append(stack)


def _release() -> None:
    if _taken:  # not if the thread was interrupted while it waited
        _taken.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_release, after_in_child=_release)

# llvmlite holds a lock of its own in every call of LLVM, that of the destructors of its objects included.
held_across_forks(llvm.ffi.lib._lock)
compiling = held_across_forks(threading.RLock())
"""Held by the thread that compiles or links. It can be taken again by the thread that holds it."""
