"""Streams, events and devices: programs written for CUDA run on the CPU, in order."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import treadle as wp
from treadle.errors import TreadleError


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


def test_the_shape_of_a_program_with_two_streams() -> None:
    first, second = wp.Stream("cpu"), wp.Stream(wp.get_device(), priority=-1)
    x = wp.ones(4)
    with wp.ScopedStream(first) as entered:
        assert entered is first and wp.get_stream() is first
        wp.launch(double, 4, [x], stream=first)
        done = wp.record_event()
    with wp.ScopedStream(second, sync_enter=False, sync_exit=True):
        wp.wait_event(done)
        wp.wait_stream(first)
        wp.copy(x, wp.full(4, 5.0), stream=second)
        second.wait_stream(first, event=wp.Event())
    first.wait_event(second.record_event())
    wp.synchronize_stream(first)
    wp.synchronize_stream("cpu")
    wp.synchronize_event(done)
    wp.synchronize_device()
    wp.synchronize()
    assert x.list() == [5] * 4 and first.is_complete and done.is_complete and not first.is_capturing


def test_the_current_stream() -> None:
    stream, before = wp.Stream(), wp.get_stream("cpu")
    device = wp.get_device()
    assert device.stream is before and before.device is device and device.has_stream
    wp.set_stream(stream, "cpu")
    assert wp.get_stream() is device.stream is stream
    device.set_stream(before)
    assert wp.get_stream() is before
    with wp.ScopedStream(None) as nothing:
        assert nothing is None and wp.get_stream() is before
    scope = wp.ScopedStream(stream)
    with scope, scope:
        assert wp.get_stream() is stream
    assert wp.get_stream() is before
    with pytest.raises(ZeroDivisionError), scope:
        1 / 0  # noqa: B018
    assert wp.get_stream() is before


def test_devices_in_scope() -> None:
    with wp.ScopedDevice("cpu") as device:
        assert device == "cpu" and wp.get_device() is device
        assert wp.zeros(1, device=device).device is device
    with pytest.raises(RuntimeError, match="CPU only"):
        wp.Stream("cuda:0")
    with pytest.raises(RuntimeError, match="CPU only"):
        wp.ScopedDevice("cuda")


def test_events_measure_time() -> None:
    begin, end = wp.Event(enable_timing=True), wp.Event("cpu", enable_timing=True)
    assert wp.record_event(begin) is begin
    time.sleep(0.01)
    wp.get_stream().record_event(end)
    assert 10 <= wp.get_event_elapsed_time(begin, end) < 1000
    assert wp.get_event_elapsed_time(end, begin, synchronize=False) < 0


def test_events_that_measure_nothing() -> None:
    timed = wp.record_event(wp.Event(enable_timing=True))
    with pytest.raises(TreadleError, match="enable_timing"):
        wp.get_event_elapsed_time(timed, wp.record_event())
    with pytest.raises(TreadleError, match="not recorded"):
        wp.get_event_elapsed_time(timed, wp.Event(enable_timing=True))


@pytest.mark.parametrize(
    "use",
    [
        lambda: wp.Stream(cuda_stream=1),
        lambda: wp.Event(cuda_event=1),
        lambda: wp.Event(interprocess=True),
        lambda: wp.set_stream(None),
        lambda: wp.ScopedStream("cpu"),
        lambda: wp.wait_event(None),
        lambda: wp.wait_stream(wp.Event()),
        lambda: wp.synchronize_event(wp.Stream()),
        lambda: wp.get_event_elapsed_time(1, 2),
    ],
)
def test_wrong_use(use: Any) -> None:
    with pytest.raises(TreadleError):
        use()


def test_handles_of_cuda_are_none() -> None:
    assert wp.Stream().cuda_stream is None and wp.Event().cuda_event is None
    assert "cpu" in repr(wp.Stream()) and "cpu" in repr(wp.Event())


def test_a_command_takes_a_stream() -> None:
    x = wp.ones(2)
    command = wp.launch(double, 2, [x], record_cmd=True)
    command.launch(stream=wp.Stream())
    assert x.list() == [2, 2]


def test_capturing_is_a_matter_of_one_thread() -> None:
    x, seen = wp.ones(2), []

    def other() -> None:
        seen.append(wp.get_stream().is_capturing)
        wp.launch(double, 2, [x])

    with wp.ScopedCapture() as capture:
        assert wp.get_stream().is_capturing and wp.get_device().is_capturing and capture.active
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [False] and x.list() == [2, 2] and len(capture.graph) == 0 and not capture.active
