"""Graphs: launches, copies and fills that are captured once and replayed many times, with nothing bound anew.

As on CUDA devices, what is captured does not run until the graph is launched. A graph refers to the memory that was
there when it was captured, and keeps it alive.
"""

from __future__ import annotations

import threading
from typing import Any

from treadle.errors import TreadleError
from treadle.runtime import capturing
from treadle.runtime.capturing import Capture
from treadle.runtime.device import Device, DeviceLike, get_device
from treadle.runtime.recording import Recorder
from treadle.runtime.recording import active as recording
from treadle.runtime.streams import Stream

__all__ = ["Graph", "ScopedCapture", "capture_begin", "capture_end", "capture_launch", "is_capturing"]


class Graph:
    """What was captured, to be run by ``capture_launch``. ``len`` is the number of its steps."""

    def __init__(self, device: Device, capture: Capture, recorder: Recorder | None) -> None:
        self.device = device
        self._steps = tuple(capture.steps)
        self._owners = capture.owners
        self._recorder = recorder

    def __len__(self) -> int:
        return len(self._steps)

    def replay(self) -> None:
        """Run the steps in order. The first error ends the run."""
        for step in self._steps:
            step()

    def check_recorded(self) -> None:
        """Raise TreadleError if the active tape would miss what the graph does."""
        recorder = recording.recorder
        if recorder is None:
            return
        if recorder is not self._recorder:
            raise TreadleError(
                "a tape does not record what a captured graph does, so that its gradients would be wrong: launch the "
                "graph outside of the tape, or capture the tape and its backward pass in the graph"
            )
        # Recorded once, when it was captured: a second run would be one that the tape does not know.
        self._recorder = None


class _Scope:
    """A capture that has begun in this thread."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.capture = Capture()
        self.recorder = recording.recorder


class _Begun(threading.local):
    scope: _Scope | None = None


_begun = _Begun()


def is_capturing() -> bool:
    """Whether this thread captures a graph."""
    return _begun.scope is not None


def capture_begin(
    device: DeviceLike = None,
    stream: Stream | None = None,
    force_module_load: bool | None = None,
    external: bool = False,
) -> None:
    """Capture what this thread launches, copies and fills from now on, instead of running it.

    ``force_module_load`` and ``external`` are accepted for programs written for CUDA. Raises TreadleError if a capture
    has begun already.
    """
    device = get_device(device) if stream is None else stream.device
    if _begun.scope is not None:
        raise TreadleError("a capture has begun already; captures cannot be nested, but a graph can be launched in one")
    _begun.scope = scope = _Scope(device)
    capturing.active.capture = scope.capture


def capture_end(device: DeviceLike = None, stream: Stream | None = None) -> Graph:
    """End the capture that ``capture_begin`` began, and return its graph. Raises TreadleError if there is none."""
    scope = _begun.scope
    if scope is None:
        raise TreadleError("there is no capture to end: capture_begin must come first, in the same thread")
    _begun.scope = capturing.active.capture = None
    return Graph(scope.device, scope.capture, scope.recorder)


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Run a graph; within a capture, make it a step of the new graph.

    Raises TreadleError while a tape records that has not recorded the capture, and KernelError as ``launch`` does.
    """
    if not isinstance(graph, Graph):
        raise TreadleError(f"capture_launch: expected a Graph, got {type(graph).__name__}")
    graph.check_recorded()
    capturing.perform(graph.replay)


class ScopedCapture:
    """``with ScopedCapture() as capture:`` captures what happens in the block; ``capture.graph`` is the graph.

    The parameters are those of ``capture_begin``. If the block raises, there is no graph.
    """

    def __init__(
        self,
        device: DeviceLike = None,
        stream: Stream | None = None,
        force_module_load: bool | None = None,
        external: bool = False,
    ) -> None:
        self.device = get_device(device) if stream is None else stream.device
        self.stream = stream
        self.active = False
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device, self.stream)
        self.active = True
        return self

    def __exit__(self, kind: Any, *exception: object) -> None:
        self.active = False
        graph = capture_end()
        if kind is None:
            self.graph = graph
