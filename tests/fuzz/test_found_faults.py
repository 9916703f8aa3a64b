"""Faults that random programs have found: one small program for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import treadle as wp

T = wp.float64


def gradients_agree(run: Callable[..., None], *values: Sequence[float], weights: Sequence[float] | None = None) -> None:
    """``run`` gets an array for each of ``values``; the loss is a weighted sum of what is in all of them at the end."""
    scale = weights if weights is not None else [1.0 + 0.5 * k for k in range(len(values))]

    def final(given: Sequence[Any]) -> float:
        held = [wp.array(v, dtype=T, requires_grad=True) for v in given]
        run(*held)
        return sum(w * float(a.numpy().sum()) for w, a in zip(scale, held))

    held = [wp.array(v, dtype=T, requires_grad=True) for v in values]
    with wp.Tape() as tape:
        run(*held)
    tape.backward(grads={a: wp.full_like(a, w, requires_grad=False) for w, a in zip(scale, held)})
    for k, a in enumerate(held):
        for index in range(len(values[k])):
            moved = [[np.array(v, float) for v in values] for _ in range(2)]
            moved[0][k][index] += 1.0e-5
            moved[1][k][index] -= 1.0e-5
            difference = (final(moved[0]) - final(moved[1])) / 2.0e-5
            np.testing.assert_allclose(a.grad.numpy()[index], difference, rtol=1.0e-6, atol=1.0e-8)


@wp.kernel
def condition_reads_what_the_kernel_wrote(x: wp.array(dtype=T), y: wp.array(dtype=T), z: wp.array(dtype=T), n: int):
    i = wp.tid()
    s = T(1.25)
    for j in range(n):
        x[i] = s
        y[i] /= s
        while x[i] < s or (s > 0.9 and y[i] > 0.3):
            s = wp.sin(z[i]) * s


def test_condition_of_a_loop_reads_what_the_kernel_wrote() -> None:
    def run(x: Any, y: Any, z: Any) -> None:
        wp.launch(condition_reads_what_the_kernel_wrote, dim=2, inputs=[x, y, z, 3])

    gradients_agree(run, [0.78, 1.3], [0.8, 0.5], [1.43, 0.9])


@wp.func
def relax(x: wp.array(dtype=T), i: int, s: T):
    x[i] = x[i] * 0.5 + s * s
    return x[i]


@wp.kernel
def condition_writes(x: wp.array(dtype=T), y: wp.array(dtype=T)):
    i = wp.tid()
    s = y[i]
    while relax(x, i, s) < 3.0:
        s = s * 1.3
    y[i] = s


def test_condition_of_a_loop_writes_to_an_array() -> None:
    def run(x: Any, y: Any) -> None:
        wp.launch(condition_writes, dim=2, inputs=[x, y])

    gradients_agree(run, [0.7, 9.0], [0.6, 0.2])


@wp.kernel
def condition_adds(x: wp.array(dtype=T), counter: wp.array(dtype=int), y: wp.array(dtype=T)):
    i = wp.tid()
    s = x[i]
    while wp.atomic_add(counter, i, 1) < 3 and s < 2.0:
        s = s * 1.4 + x[i]
    y[i] = s


def test_condition_of_a_loop_uses_what_an_atomic_returns() -> None:
    counter = wp.zeros(3, dtype=int)

    def run(x: Any, y: Any) -> None:
        counter.assign([0, 2, 5])
        wp.launch(condition_adds, dim=3, inputs=[x, counter, y])

    gradients_agree(run, [0.2, 0.3, 0.4], [0.0, 0.0, 0.0])


@wp.kernel
def store_what_was_read_back(x: wp.array(dtype=T), y: wp.array(dtype=T), z: wp.array(dtype=T)):
    i = wp.tid()
    x[i] = 1.5
    y[i] = x[i] * 2.0
    z[i] = y[i] * z[i]


def test_value_stored_again_was_read_from_memory_that_the_kernel_wrote() -> None:
    def run(x: Any, y: Any, z: Any) -> None:
        wp.launch(store_what_was_read_back, dim=2, inputs=[x, y, z])

    gradients_agree(run, [0.7, 1.2], [0.4, 0.5], [0.9, 1.1])


@wp.kernel
def smallest_or_sum(x: wp.array(dtype=T), y: wp.array(dtype=T), z: wp.array(dtype=T)):
    i = wp.tid()
    if x[i] > 0.5:
        wp.atomic_min(y, 0, x[i])
    else:
        z[0] = x[i]


def test_memory_with_an_atomic_minimum_is_also_written_as_another_parameter() -> None:
    x = wp.array([0.7, 0.2], dtype=T, requires_grad=True)
    y = wp.array([0.9], dtype=T, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(smallest_or_sum, dim=2, inputs=[x, y, y])
    with pytest.raises(wp.DerivativeError, match="minimum or maximum in y .* writes to that memory as z"):
        tape.backward(grads={y: wp.full_like(y, 1.0, requires_grad=False)})
