"""Streams and events, so that programs written for CUDA run: on the CPU work is done in order, when it is launched.

There is always a current stream, and every event that was recorded is complete.
"""

from __future__ import annotations

import time
from typing import Any

from treadle.errors import TreadleError
from treadle.runtime import capturing
from treadle.runtime.device import Device, DeviceLike, get_device

__all__ = [
    "Event",
    "ScopedStream",
    "Stream",
    "get_event_elapsed_time",
    "get_stream",
    "record_event",
    "set_stream",
    "synchronize_event",
    "synchronize_stream",
    "wait_event",
    "wait_stream",
]


class Stream:
    """A queue of work on a device.

    Attributes: ``device``; ``priority``. On the CPU a stream is always empty: what is launched on it has run.
    """

    __slots__ = ("__weakref__", "device", "priority")

    def __init__(self, device: DeviceLike = None, priority: int = 0, cuda_stream: Any = None) -> None:
        """A new stream on ``device``. ``cuda_stream``, a handle of CUDA, cannot be used on the CPU."""
        self.device = get_device(device)
        self.priority = priority
        if cuda_stream is not None:
            raise TreadleError(f"a stream of CUDA cannot be a stream on {self.device}")

    @property
    def cuda_stream(self) -> None:
        """The handle of CUDA: None on the CPU."""
        return None

    @property
    def is_complete(self) -> bool:
        """Whether all work of the stream is done."""
        return True

    @property
    def is_capturing(self) -> bool:
        """Whether what is launched goes into a graph."""
        return capturing.active.capture is not None

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this point of the stream with ``event``, or with a new one; returns it."""
        event = Event(self.device) if event is None else event
        capturing.perform(event._stamp)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of the stream wait for ``event``: there is nothing to wait for on the CPU."""
        _check_event(event)

    def wait_stream(self, other_stream: Stream, event: Event | None = None) -> None:
        """Let later work of the stream wait for the work of another; ``event``, if given, is recorded on that."""
        _check_stream(other_stream)
        other_stream.record_event(event)

    def synchronize(self) -> None:
        """Wait until all work of the stream is done: at once on the CPU."""

    def __repr__(self) -> str:
        return f"<Stream on {self.device}>"


class Event:
    """A mark in a stream.

    ``enable_timing``: whether it can be given to ``get_event_elapsed_time``. ``interprocess`` events exist for CUDA
    only, and so do handles of CUDA.
    """

    __slots__ = ("__weakref__", "_time", "device", "enable_timing")

    def __init__(
        self,
        device: DeviceLike = None,
        cuda_event: Any = None,
        enable_timing: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = get_device(device)
        self.enable_timing = enable_timing
        self._time: int | None = None
        if cuda_event is not None or interprocess:
            raise TreadleError(f"an event of CUDA, or one between processes, cannot be made on {self.device}")

    @property
    def cuda_event(self) -> None:
        """The handle of CUDA: None on the CPU."""
        return None

    @property
    def is_complete(self) -> bool:
        """Whether the work before the event is done."""
        return True

    def _stamp(self) -> None:
        self._time = time.perf_counter_ns()

    def __repr__(self) -> str:
        return f"<Event on {self.device}>"


_current: dict[Device, Stream] = {}


def get_stream(device: DeviceLike = None) -> Stream:
    """The current stream of a device. Raises as ``get_device`` does."""
    device = get_device(device)
    stream = _current.get(device)
    return _current.setdefault(device, Stream(device)) if stream is None else stream


def set_stream(stream: Stream, device: DeviceLike = None, sync: bool = False) -> None:
    """Make ``stream`` the current one of its device. Raises TreadleError if that is not ``device``.

    ``sync``: whether it waits for the stream before it, which has always finished on the CPU.
    """
    _check_stream(stream)
    if device is not None and get_device(device) != stream.device:
        raise TreadleError(f"a stream on {stream.device} cannot be the stream of {device}")
    _current[stream.device] = stream


def record_event(event: Event | None = None) -> Event:
    """Record an event on the current stream; a new one if none is given."""
    return get_stream(None if event is None else event.device).record_event(event)


def wait_event(event: Event) -> None:
    """Let later work of the current stream wait for an event."""
    get_stream().wait_event(event)


def wait_stream(other_stream: Stream, event: Event | None = None) -> None:
    """Let later work of the current stream wait for the work of another stream."""
    get_stream().wait_stream(other_stream, event)


def synchronize_stream(stream_or_device: Stream | DeviceLike = None) -> None:
    """Wait until all work of a stream, or of the current stream of a device, is done."""
    stream = stream_or_device if isinstance(stream_or_device, Stream) else get_stream(stream_or_device)
    stream.synchronize()


def synchronize_event(event: Event) -> None:
    """Wait until the work before an event is done: at once on the CPU."""
    _check_event(event)


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """The milliseconds between two recorded events. Raises TreadleError if one was not recorded or does not time."""
    times = []
    for event in (start_event, end_event):
        _check_event(event)
        if not event.enable_timing:
            raise TreadleError("an event that measures time must be made with enable_timing=True")
        if event._time is None:
            raise TreadleError("an event that was not recorded has no time")
        times.append(event._time)
    return (times[1] - times[0]) / 1e6


class ScopedStream:
    """``with ScopedStream(stream):`` makes that stream the current one of its device inside the block.

    With None nothing changes. ``sync_enter`` and ``sync_exit``: whether the streams wait for each other.
    """

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False) -> None:
        if stream is not None:
            _check_stream(stream)
        self.stream = stream
        self._outer: list[Stream] = []

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self._outer.append(get_stream(self.stream.device))
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            set_stream(self._outer.pop())


def _check_stream(stream: Any) -> None:
    if not isinstance(stream, Stream):
        raise TreadleError(f"expected a Stream, got {type(stream).__name__}")


def _check_event(event: Any) -> None:
    if not isinstance(event, Event):
        raise TreadleError(f"expected an Event, got {type(event).__name__}")
