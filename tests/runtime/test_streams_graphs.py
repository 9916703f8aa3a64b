"""Graphs: what is captured runs when the graph is launched, as often as it is, and gives what it would have given."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.errors import KernelError, TreadleError


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = factor * x[i]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def sum_up(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[wp.tid()])


@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def count(tickets: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    ticket = wp.atomic_add(tickets, 0, 1)
    y[ticket] = float(ticket + 1) * x[i]


@wp.kernel
def refuse_negative(x: wp.array(dtype=float)):
    assert x[wp.tid()] >= 0.0, "negative"


def fresh(*values: float, **options: Any) -> wp.array:
    return wp.array(np.array(values, np.float32), **options)


def test_nothing_runs_before_the_launch() -> None:
    x, y = fresh(1, 2), wp.zeros(2)
    with wp.ScopedCapture() as capture:
        wp.launch(scale, 2, [x, 3.0], [y])
        wp.copy(x, y)
        y.fill_(7)
    assert x.list() == [1, 2] and y.list() == [0, 0] and len(capture.graph) == 3
    wp.capture_launch(capture.graph)
    assert x.list() == [3, 6] and y.list() == [7, 7]
    wp.capture_launch(capture.graph, stream=wp.Stream())
    assert x.list() == [9, 18]


def test_begin_and_end() -> None:
    x = wp.ones(2)
    wp.capture_begin("cpu", force_module_load=False)
    wp.launch(scale, 2, [x, 2.0], [x])
    graph = wp.capture_end("cpu")
    assert isinstance(graph, wp.Graph) and graph.device == "cpu"
    for _ in range(5):
        wp.capture_launch(graph)
    assert x.list() == [32, 32]


def test_wrong_use() -> None:
    with pytest.raises(TreadleError, match="no capture"):
        wp.capture_end()
    with wp.ScopedCapture(), pytest.raises(TreadleError, match="begun already"):
        wp.capture_begin()
    with pytest.raises(TreadleError, match="expected a Graph"):
        wp.capture_launch(None)
    with pytest.raises(RuntimeError, match="CPU only"):
        wp.capture_begin("cuda")
    assert not wp.get_stream().is_capturing


def test_an_error_ends_the_capture_without_a_graph() -> None:
    x = wp.ones(2)
    with pytest.raises(TreadleError, match="parameter x"), wp.ScopedCapture() as capture:
        wp.launch(scale, 2, [x, 2.0], [x])
        wp.launch(square, 2, [3, x])
    assert capture.graph is None and not wp.get_stream().is_capturing
    wp.launch(scale, 2, [x, 2.0], [x])
    assert x.list() == [2, 2]


def test_arguments_are_those_of_the_capture() -> None:
    """Numbers and the layout of arrays are bound when captured; the contents of arrays are read at each launch."""
    x, y, factor = fresh(1, 2, 3, 4), wp.zeros(2), 2.0
    with wp.ScopedCapture() as capture:
        wp.launch(scale, 2, [x[::2], factor], [y])
    factor = 100.0
    x.assign([5.0, 0.0, 6.0, 0.0])
    wp.capture_launch(capture.graph)
    assert y.list() == [10, 12]


def test_commands_and_adjoints_are_captured() -> None:
    x, y = fresh(1, 2, requires_grad=True), wp.zeros(2, requires_grad=True)
    y.grad.fill_(1)
    command = wp.launch(square, 2, [x], [y], record_cmd=True)
    with wp.ScopedCapture() as capture:
        command.launch()
        wp.launch(square, 2, [x], [y], adjoint=True, adj_outputs=[wp.ones(2)])
    command.set_param_by_name("x", wp.zeros(2))
    wp.capture_launch(capture.graph)
    assert y.list() == [1, 4] and x.grad.list() == [2, 4]


def test_every_way_to_write_is_captured() -> None:
    source = fresh(1, 2, 3)
    a, b, c, d, e = (wp.zeros(3) for _ in range(5))
    v = wp.zeros(2, wp.vec2)
    with wp.ScopedCapture() as capture:
        a.assign(source)
        a[1] = 9.0
        b[1:] = source[1:]
        c.zero_()
        c.fill_(4)
        v.fill_(wp.vec2(1.0, 2.0))
        twice = source.contiguous()[::-1].contiguous()
        cloned = wp.clone(source)
        d.assign([7.0, 8.0, 9.0])
        e[wp.array([2, 0], dtype=int)].fill_(3)
        wp.copy(e, source, dest_offset=1, count=1)
    for target in (a, b, c, d, e, v):
        assert not target.numpy().any()
    wp.capture_launch(capture.graph)
    assert a.list() == [1, 9, 3] and b.list() == [0, 2, 3] and c.list() == [4, 4, 4] and d.list() == [7, 8, 9]
    assert e.list() == [3, 1, 3] and v.list() == [(1, 2), (1, 2)]
    assert twice.list() == [3, 2, 1] and cloned.list() == [1, 2, 3]
    source.fill_(5)
    wp.capture_launch(capture.graph)
    assert a.list() == [5, 9, 5] and cloned.list() == [5, 5, 5] and twice.list() == [5, 5, 5]


def test_arrays_made_in_a_capture_begin_anew_with_each_launch() -> None:
    x = fresh(1, 2, 3)
    with wp.ScopedCapture() as capture:
        total = wp.zeros(1)
        ones, sevens, data = wp.ones(2), wp.full_like(x, 7.0), wp.array([1.0, 2.0], dtype=float)
        wp.launch(sum_up, 3, [x], [total])
        for a in (ones, sevens, data):
            wp.launch(scale, 2, [a, 2.0], [a])
    for _ in range(3):
        wp.capture_launch(capture.graph)
        assert total.list() == [6] and ones.list() == [2, 2] and sevens.list() == [14, 14, 7] and data.list() == [2, 4]


def test_structs_with_arrays() -> None:
    @wp.struct
    class Body:
        mass: float
        positions: wp.array(dtype=float)

    @wp.kernel
    def move(bodies: wp.array(dtype=Body), by: float):
        i = wp.tid()
        bodies[i].positions[0] = bodies[i].positions[0] + by * bodies[i].mass

    positions = wp.zeros(1)
    body = Body()
    body.mass, body.positions = 2.0, positions
    with wp.ScopedCapture() as capture:
        bodies = wp.array([body], dtype=Body)
        wp.launch(move, 1, [bodies, 3.0])
        filled = wp.empty(1, Body)
        filled.fill_(body)
        wp.launch(move, 1, [filled, 1.0])
    del body
    gc.collect()
    wp.capture_launch(capture.graph)
    assert positions.list() == [8]
    wp.capture_launch(capture.graph)
    assert positions.list() == [16]


def test_a_graph_keeps_its_memory_alive() -> None:
    x, y = fresh(1, 2), wp.zeros(2)
    alive = weakref.ref(x.allocation)
    with wp.ScopedCapture() as capture:
        wp.launch(scale, 2, [x, 3.0], [y])
        wp.copy(y, wp.clone(y))
    del x
    gc.collect()
    wp.zeros(1000).fill_(1)
    wp.capture_launch(capture.graph)
    assert y.list() == [3, 6] and alive() is not None
    del capture
    gc.collect()
    assert alive() is None


def test_a_graph_in_a_graph() -> None:
    x = wp.ones(2)
    with wp.ScopedCapture() as inner:
        wp.launch(scale, 2, [x, 2.0], [x])
    with wp.ScopedCapture() as outer:
        for _ in range(3):
            wp.capture_launch(inner.graph)
    assert x.list() == [1, 1]
    wp.capture_launch(outer.graph)
    assert x.list() == [8, 8]


def test_an_error_in_a_replay() -> None:
    x, y = fresh(1, -1), wp.zeros(2)
    with wp.ScopedCapture() as capture:
        wp.launch(refuse_negative, 2, [x])
        y.fill_(1)
    with pytest.raises(KernelError, match="negative"):
        wp.capture_launch(capture.graph)
    assert y.list() == [0, 0]
    x.fill_(1)
    wp.capture_launch(capture.graph)
    assert y.list() == [1, 1]


def test_events_in_a_graph_measure_the_replay() -> None:
    begin, end = (wp.Event(enable_timing=True) for _ in range(2))
    with wp.ScopedCapture() as capture:
        wp.record_event(begin)
        wp.launch(scale, 2, [wp.ones(2), 2.0], [wp.zeros(2)])
        wp.record_event(end)
    with pytest.raises(TreadleError, match="not recorded"):
        wp.get_event_elapsed_time(begin, end)
    wp.capture_launch(capture.graph)
    assert wp.get_event_elapsed_time(begin, end) > 0


def test_empty_launches_and_copies() -> None:
    with wp.ScopedCapture() as capture:
        wp.launch(scale, 0, [wp.zeros(0), 2.0], [wp.zeros(0)])
        wp.copy(wp.zeros(0), wp.zeros(0))
        wp.zeros(0).fill_(1)
    wp.capture_launch(capture.graph)


# -- Tapes and graphs


def test_forward_and_backward_in_one_graph() -> None:
    x, y, loss = fresh(1, 2, 3, requires_grad=True), wp.zeros(3, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.ScopedCapture() as capture:
        loss.zero_()
        tape = wp.Tape()
        with tape:
            wp.launch(square, 3, [x], [y])
            wp.launch(sum_up, 3, [y], [loss])
        tape.backward(loss)
    assert loss.list() == [0] and x.grad.list() == [0, 0, 0]
    for values in ((1, 2, 3), (4, 5, 6)):
        x.assign(fresh(*values))
        x.grad.zero_()
        wp.capture_launch(capture.graph)
        assert loss.list() == [sum(v * v for v in values)] and x.grad.list() == [2 * v for v in values]


def test_overwritten_memory_is_saved_again_in_each_replay() -> None:
    x, loss = fresh(1, 2, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            y = wp.clone(x)
            wp.launch(square_in_place, 2, [y])
            wp.launch(square, 2, [y], [y])
            y2 = wp.zeros(2, requires_grad=True)
            wp.copy(y2, y)
            y.fill_(0)
            wp.launch(sum_up, 2, [y2], [loss])
        tape.backward(loss)
    for values in ((1.0, 2.0), (3.0, 0.5)):
        x.assign(fresh(*values))
        tape.zero()
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(x.grad.numpy(), [4 * v**3 for v in values])


def test_logs_and_retained_gradients_in_a_replay() -> None:
    x, y = fresh(1, 2, 3, requires_grad=True), wp.zeros(3, requires_grad=True, retain_grad=True)
    z, loss = wp.zeros(3, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.ScopedCapture() as capture:
        tickets = wp.zeros(1, int)
        with wp.Tape() as tape:
            wp.launch(count, 3, [tickets, x], [y])
            wp.launch(square, 3, [y], [z])
            wp.launch(sum_up, 3, [z], [loss])
        tape.backward(loss)
    for values in ((1.0, 2.0, 3.0), (2.0, 0.0, 1.0)):
        x.assign(fresh(*values))
        tape.zero()
        wp.capture_launch(capture.graph)
        expected = [2 * v * (k + 1) ** 2 for k, v in enumerate(values)]
        np.testing.assert_allclose(x.grad.numpy(), expected)
        np.testing.assert_allclose(y.grad.numpy(), [2 * v * (k + 1) for k, v in enumerate(values)])


def test_a_tape_around_a_capture_and_its_launch() -> None:
    x, y = fresh(1, 2, requires_grad=True), wp.zeros(2, requires_grad=True)
    with wp.Tape() as tape:
        with wp.ScopedCapture() as capture:
            wp.launch(square, 2, [x], [y])
        wp.capture_launch(capture.graph)
        with pytest.raises(TreadleError, match="tape does not record"):
            wp.capture_launch(capture.graph)
    y.grad.fill_(1)
    tape.backward()
    assert y.list() == [1, 4] and x.grad.list() == [2, 4]


def test_a_tape_refuses_a_graph_that_it_has_not_recorded() -> None:
    x, y = fresh(1, 2, requires_grad=True), wp.zeros(2, requires_grad=True)
    with wp.ScopedCapture() as capture:
        wp.launch(square, 2, [x], [y])
    with wp.Tape(), pytest.raises(TreadleError, match="tape does not record"):
        wp.capture_launch(capture.graph)
    assert y.list() == [0, 0]
    wp.capture_launch(capture.graph)
    assert y.list() == [1, 4]
