"""The hook through which a tape learns of what arrays and launches do.

The runtime knows only the protocol here; the tape, a room above, implements it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.runtime.array import array
    from treadle.runtime.binding import Binding


class Recorder(ABC):
    """What is told of every operation on arrays, while it is the active recorder of the thread.

    All methods are called before memory is written, so that old values can still
    be saved. ``record_copy`` and ``record_fill`` get arrays that cover exactly the elements concerned;
    they may be views. Those that record may raise a TreadleError, and then nothing must be written.
    """

    @abstractmethod
    def record_binding(self, binding: Binding, extents: tuple[int, ...], inputs: Any, outputs: Any) -> Any:
        """A kernel is to run over ``extents``; ``inputs`` and ``outputs`` are the arguments as they were given.

        Returns a record whose ``run_forward()`` runs it.
        """

    @abstractmethod
    def record_copy(self, dest: array, src: array) -> None:
        """Elements of ``src`` are about to be copied to ``dest``, of the same shape and dtype."""

    @abstractmethod
    def record_fill(self, dest: array) -> None:
        """All elements of ``dest`` are about to be overwritten with a constant."""

    @abstractmethod
    def record_write(self, dest: array, step: str) -> None:
        """Elements of ``dest`` are about to be written by a step that has no derivative; ``step`` is its name."""

    @abstractmethod
    def scope_begin(self, name: str) -> None:
        """What follows belongs to a scope of this name, for pictures."""

    @abstractmethod
    def scope_end(self) -> None:
        """The innermost scope ends."""

    @abstractmethod
    def mark_read(self, array: array) -> None:
        """The user says that a hand-written step has read the array."""

    @abstractmethod
    def mark_write(self, array: array) -> None:
        """The user says that a hand-written step writes the array."""

    @abstractmethod
    def mark_init(self, array: array) -> None:
        """The user says that earlier reads of the array do not matter any more."""


class _Active(threading.local):
    # One per thread: what another thread launches is not part of this thread's recording.
    recorder: Recorder | None = None


active = _Active()
"""``active.recorder`` is the recorder of this thread, or None. Launches read it directly, for speed."""


def activate(recorder: Recorder | None) -> Recorder | None:
    """Make ``recorder`` the active one of this thread, or none; returns the one before."""
    before = active.recorder
    active.recorder = recorder
    return before
