"""Where steps on memory go: they run at once, or, while the thread captures a graph, are kept to be replayed.

Launches, copies, fills and the zeroing of new memory come through here. The user's side is in ``graphs``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


class Capture:
    """The steps of a graph in order, and what must live as long as they may run."""

    __slots__ = ("owners", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.owners: list[Any] = []

    def add(self, step: Step, owners: Any = None) -> None:
        """Keep a step; ``owners`` are objects whose memory it uses without referring to them."""
        self.steps.append(step)
        if owners is not None:
            self.owners.append(owners)


class _Active(threading.local):
    # One per thread, as with recording: other threads keep running what they launch.
    capture: Capture | None = None


active = _Active()
"""``active.capture`` is the capture of this thread, or None. Launches read it directly, for speed."""


def perform(step: Step, owners: Any = None) -> None:
    """Run a step now, or keep it for the graph that is being captured."""
    capture = active.capture
    if capture is None:
        step()
    else:
        capture.add(step, owners)


def repeat(step: Step) -> None:
    """Keep a step, which gives new memory its first contents and has run, for the graph being captured, if any."""
    capture = active.capture
    if capture is not None:
        capture.add(step)
