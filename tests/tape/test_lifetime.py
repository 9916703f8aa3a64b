"""A tape goes with its last user, and its snapshots with it; it records within graphs, scratch copies included."""

from __future__ import annotations

import gc
import weakref

import treadle as wp


@wp.kernel
def square_twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]
    y[i] = x[i] * x[i]


def test_a_tape_is_no_work_for_the_garbage_collector() -> None:
    x, y = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in range(2))
    gc.disable()
    try:
        with wp.Tape() as tape:
            wp.launch(square_twice, dim=2, inputs=[x, y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        gone = weakref.ref(tape)
        del tape
        assert gone() is None
    finally:
        gc.enable()


def test_a_kernel_that_reads_what_it_wrote_is_recorded_within_a_graph() -> None:
    x, y = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in range(2))
    with wp.ScopedCapture() as capture:
        x.assign([1.0, 2.0])
        x.grad.zero_()
        with wp.Tape() as tape:
            wp.launch(square_twice, dim=2, inputs=[x, y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
    for _ in range(2):
        wp.capture_launch(capture.graph)
        assert x.grad.numpy().tolist() == [4.0, 32.0]
