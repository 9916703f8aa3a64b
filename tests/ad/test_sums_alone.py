"""Adjoints add to gradients without atomic instructions: nothing is lost between threads, views and Python threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import treadle as wp

N = 4099
V3 = wp.types.vector(length=3, dtype=wp.float64)


@wp.kernel
def product(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    o[i] = a[i] * b[i]


@wp.kernel
def mixed_components(a: wp.array(dtype=V3), b: wp.array(dtype=V3), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    o[i] = a[i][0] * b[i][1] + a[i][2] * b[i][0] + a[i][1] * b[i][2]


@wp.kernel
def dot_products(a: wp.array(dtype=V3), b: wp.array(dtype=V3), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    o[i] = wp.dot(a[i], b[i])


def gradient(kernel: Any, x: wp.array, first: wp.array, second: wp.array, weights: np.ndarray[Any, Any]) -> Any:
    """The gradient of ``x`` for gradients ``weights`` of the results."""
    o = wp.zeros(len(weights), dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=len(weights), inputs=[first, second, o])
    tape.backward(grads={o: wp.array(weights, dtype=wp.float64)})
    return x.grad.numpy()


@pytest.mark.parametrize("shift", [0, 1, 2, 3, 8])
def test_shifted_views_of_one_array(shift: int) -> None:
    rng = np.random.default_rng(shift)
    values, weights = rng.random(N), rng.random(N - shift)
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    got = gradient(product, x, x[: N - shift], x[shift:], weights)
    expected = np.zeros(N)
    expected[: N - shift] += weights * values[shift:]
    expected[shift:] += weights * values[: N - shift]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("shift", [0, 1, 2, 5])
@pytest.mark.parametrize("kernel", [mixed_components, dot_products])
def test_shifted_views_of_one_array_of_vectors(kernel: Any, shift: int) -> None:
    rng = np.random.default_rng(shift)
    values, weights = rng.random((N, 3)), rng.random(N - shift)
    x = wp.array(values, dtype=V3, requires_grad=True)
    got = gradient(kernel, x, x[: N - shift], x[shift:], weights)
    pairs = [(0, 1), (2, 0), (1, 2)] if kernel is mixed_components else [(0, 0), (1, 1), (2, 2)]
    expected = np.zeros((N, 3))
    for left, right in pairs:
        expected[: N - shift, left] += weights * values[shift:, right]
        expected[shift:, right] += weights * values[: N - shift, left]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("step", [0, 1, -1, 2, -3])
def test_strides(step: int) -> None:
    """A step of 0 makes all elements one."""
    rng = np.random.default_rng(abs(step))
    memory, weights = rng.random(3 * N), rng.random(N)
    base = wp.array(memory, dtype=wp.float64, requires_grad=True)
    start = 0 if step >= 0 else 3 * N - 1
    positions = start + step * np.arange(N)

    def view(a: wp.array) -> wp.array:
        return wp.array(ptr=a.ptr + 8 * start, shape=(N,), strides=(8 * step,), dtype=wp.float64)

    a, b = view(base), wp.array(rng.random(N), dtype=wp.float64)
    a.grad = view(base.grad)
    gradient(product, base, a, b, weights)
    expected = np.zeros(3 * N)
    np.add.at(expected, positions, weights * b.numpy())
    np.testing.assert_allclose(base.grad.numpy(), expected, rtol=1e-10)


def test_python_threads_with_one_array_between_them() -> None:
    shared = wp.array(np.full(N, 2.0), dtype=wp.float64, requires_grad=True)
    ones = wp.array(np.ones(N), dtype=wp.float64)
    rounds, faults = 40, []

    def work() -> None:
        try:
            b = wp.array(np.full(N, 3.0), dtype=wp.float64)
            o = wp.zeros(N, dtype=wp.float64, requires_grad=True)
            tape = wp.Tape()
            with tape:
                wp.launch(product, dim=N, inputs=[shared, b, o])
            for _ in range(rounds):
                tape.backward(grads={o: ones})
        except Exception as error:  # noqa: BLE001  (a thread's error would go unseen)
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    np.testing.assert_array_equal(shared.grad.numpy(), np.full(N, 3.0 * rounds * len(threads)))
