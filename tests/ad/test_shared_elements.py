"""Gradients of elements that several threads read, for many threads: nothing may be lost when they are added up."""

import numpy as np
import pytest

import treadle as wp

N = 20011


@wp.kernel
def neighbours(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    if i > 0 and i < x.shape[0] - 1:
        out[i] = x[i - 1] * x[i + 1]


@wp.kernel
def halves(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[i / 2] * x[i >> 1]


@wp.kernel
def remainders(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[i % m] * x[0]


@wp.kernel
def wrapped_product(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    k = (i * 65536) * 65536 + i % m
    out[i] = x[k] * x[k + 1]


@wp.kernel
def multiples(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[i * (m - 7)] * x[i * (m - 7) + 1]


@wp.kernel
def rotated(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    j = i + m
    if j >= x.shape[0]:
        j = j - x.shape[0]
    out[i] = x[j] * x[i]


@wp.kernel
def mirrored(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[x.shape[0] - 1 - i] * x[i]


@wp.kernel
def added_into_bins(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(out, i % m, x[i] * x[i % 5])


@wp.kernel
def added_into_runs(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i // 3] += x[i] * x[i]


@wp.kernel
def summed(x: wp.array(dtype=wp.float64), m: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i] * x[i])


THREADS = np.arange(N)

CASES = [
    # kernel, m, and for each thread (or the threads named) the elements read and the element written
    (neighbours, 0, THREADS[:-2], THREADS[2:], THREADS[1:-1]),
    (halves, 0, THREADS // 2, THREADS // 2, THREADS),
    (remainders, 17, THREADS % 17, 0 * THREADS, THREADS),
    (wrapped_product, 3, THREADS % 3, THREADS % 3 + 1, THREADS),
    (multiples, 7, 0 * THREADS, 0 * THREADS + 1, THREADS),
    (multiples, 8, THREADS[:-1], THREADS[1:], THREADS[:-1]),
    (rotated, 3, (THREADS + 3) % N, THREADS, THREADS),
    (mirrored, 0, N - 1 - THREADS, THREADS, THREADS),
    (added_into_bins, 7, THREADS, THREADS % 5, THREADS % 7),
    (added_into_runs, 0, THREADS, THREADS, THREADS // 3),
    (summed, 0, THREADS, THREADS, 0 * THREADS),
]


@pytest.mark.parametrize(("kernel", "m", "a", "b", "o"), CASES, ids=[f"{c[0].name}-{c[1]}" for c in CASES])
def test_elements_read_by_several_threads(kernel, m, a, b, o):
    rng = np.random.default_rng(1)
    values, weights = rng.uniform(0.5, 1.5, N), rng.uniform(0.5, 1.5, N)
    x, out = wp.array(values, dtype=wp.float64, requires_grad=True), wp.zeros(N, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=N if kernel is neighbours else a.size, inputs=[x, m], outputs=[out])
    tape.backward(grads={out: wp.array(weights, dtype=wp.float64)})
    expected, gradient = np.zeros(N), np.zeros(N)
    np.add.at(expected, o, values[a] * values[b])
    np.add.at(gradient, a, weights[o] * values[b])
    np.add.at(gradient, b, weights[o] * values[a])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-10)


@wp.kernel
def outer_product(x: wp.array(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    out[i, j] = x[i] * x[j]


def test_elements_read_along_rows_and_columns():
    values = np.random.default_rng(2).uniform(0.5, 1.5, 150)
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    out = wp.zeros((150, 150), dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(outer_product, dim=(150, 150), inputs=[x], outputs=[out])
    tape.backward(grads={out: wp.ones_like(out)})
    np.testing.assert_allclose(x.grad.numpy(), np.full(150, 2 * values.sum()), rtol=1e-10)


@wp.kernel
def multiply(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[i] * y[i]


def _multiply(x, y):
    out = wp.zeros(x.size, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(multiply, dim=x.size, inputs=[x, y], outputs=[out])
    tape.backward(grads={out: wp.ones(x.size, dtype=wp.float64)})


def test_two_parameters_that_overlap():
    values = np.random.default_rng(3).uniform(0.5, 1.5, N)
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    _multiply(x[:-1], x[1:])
    expected = np.zeros(N)
    expected[:-1] += values[1:]
    expected[1:] += values[:-1]
    np.testing.assert_allclose(x.grad.numpy(), expected)
    x.grad.zero_()
    _multiply(x, x)
    np.testing.assert_allclose(x.grad.numpy(), 2 * values)


def test_two_arrays_whose_gradients_overlap():
    rng = np.random.default_rng(4)
    x, y = (wp.array(rng.uniform(0.5, 1.5, N), dtype=wp.float64) for _ in range(2))
    shared = wp.zeros(N + 1, dtype=wp.float64)
    x.grad, y.grad = shared[:-1], shared[1:]
    _multiply(x, y)
    expected = np.zeros(N + 1)
    expected[:-1] += y.numpy()
    expected[1:] += x.numpy()
    np.testing.assert_allclose(shared.numpy(), expected)


@wp.kernel
def squares(x: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    out[i, j] = x[i, j] * x[i, j]


def test_array_with_stride_zero():
    values = np.random.default_rng(5).uniform(0.5, 1.5, 64)
    x, gradient = wp.array(values, dtype=wp.float64), wp.zeros(64, dtype=wp.float64)
    rows = wp.array(ptr=x.ptr, dtype=wp.float64, shape=(300, 64), strides=(0, 8))
    rows.grad = wp.array(ptr=gradient.ptr, dtype=wp.float64, shape=(300, 64), strides=(0, 8))
    out = wp.zeros((300, 64), dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, dim=(300, 64), inputs=[rows], outputs=[out])
    tape.backward(grads={out: wp.ones_like(out)})
    np.testing.assert_allclose(gradient.numpy(), 600 * values)
