"""Sums of all threads into one element, which are added up in registers where nothing can tell the difference."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import treadle as wp

N = 5003


def make(dtype: Any) -> Any:
    """A kernel that adds and subtracts in several elements, unconditionally and not."""

    @wp.kernel
    def sums(x: wp.array(dtype=dtype), limit: int, at: int, out: wp.array(dtype=dtype)):
        i = wp.tid()
        wp.atomic_add(out, 0, x[i])
        out[at] -= x[i]
        if i < limit:
            wp.atomic_add(out, at + 1, x[i])
        else:
            if i == limit:
                out[0] += x[i]

    return sums


SCALARS = [wp.float16, wp.float32, wp.float64, wp.int8, wp.uint8, wp.int32, wp.uint32, wp.int64, wp.uint64]
COMPOSITES = [wp.vec3, wp.vec2d, wp.mat22, wp.quat, wp.types.vector(length=20, dtype=wp.float64)]


@pytest.mark.parametrize("dtype", SCALARS + COMPOSITES, ids=repr)
@pytest.mark.parametrize("limit", [0, 1, N])
def test_sums_of_every_type(dtype: Any, limit: int) -> None:
    count = 100 if dtype in (wp.float16, wp.int8, wp.uint8) else N
    limit = min(limit, count)
    shape = (count, *getattr(dtype, "_shape_", ()))
    values = (np.arange(int(np.prod(shape))) % 2).reshape(shape)  # small enough that every sum is exact
    x = wp.array(values.tolist(), dtype=dtype)
    start = np.array([x.numpy()[1], x.numpy()[0], x.numpy()[1], x.numpy()[1]])
    out = wp.array(start.tolist(), dtype=dtype)
    wp.launch(make(dtype), dim=count, inputs=[x, limit, 1, out])
    whole = x.numpy().sum(axis=0, dtype=start.dtype)
    expected = start.copy()
    expected[0] += whole + (x.numpy()[limit] if limit < count else 0)
    expected[1] = np.subtract(expected[1], whole)
    expected[2] += x.numpy()[:limit].sum(axis=0, dtype=start.dtype)
    np.testing.assert_array_equal(out.numpy(), expected)


@wp.kernel
def prefix_sums(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    for k in range(x.shape[0]):
        wp.atomic_add(total, 0, x[k])
        out[k] = total[0]


@wp.kernel
def read_afterwards(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[0])
    out[0] = total[0]


@wp.kernel
def read_through_another(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    total[0] += 1.0
    out[0] = x[0]


@wp.kernel
def stored_afterwards(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[0])
    out[0] = 7.0


@wp.kernel
def greatest_afterwards(x: wp.array(dtype=float), total: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[0])
    wp.atomic_max(out, 0, 5.0)


def test_a_single_thread_sees_what_it_added() -> None:
    x, total, out = wp.array([1.0, 2.0, 3.0], dtype=float), wp.zeros(1, dtype=float), wp.zeros(3, dtype=float)
    wp.launch(prefix_sums, dim=1, inputs=[x, total, out])
    assert out.numpy().tolist() == [1.0, 3.0, 6.0]
    wp.launch(read_afterwards, dim=1, inputs=[x, total, out])
    assert out.numpy()[0] == 7.0


def test_a_single_thread_with_one_array_under_two_parameters() -> None:
    a, out = wp.array([1.0], dtype=float), wp.zeros(1, dtype=float)
    wp.launch(read_through_another, dim=1, inputs=[a, a, out])
    assert (a.numpy()[0], out.numpy()[0]) == (2.0, 2.0)
    wp.launch(stored_afterwards, dim=1, inputs=[out, a, a])
    assert a.numpy()[0] == 7.0
    b = wp.array([1.0], dtype=float)
    wp.launch(greatest_afterwards, dim=1, inputs=[b, b, b])
    assert b.numpy()[0] == 5.0


@wp.kernel
def optional_sum(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    if total:
        wp.atomic_add(total, 0, x[i])


@wp.kernel
def sum_at(x: wp.array(dtype=float), place: int, total: wp.array(dtype=float)):
    i = wp.tid()
    if place >= 0:
        wp.atomic_add(total, place, x[i])


def test_an_element_that_is_not_there_is_not_touched() -> None:
    x, total = wp.array(np.ones(N), dtype=float), wp.zeros(1, dtype=float)
    wp.launch(optional_sum, dim=N, inputs=[x, None])
    wp.launch(optional_sum, dim=N, inputs=[x, total])
    wp.launch(sum_at, dim=N, inputs=[x, -(10**9), total])
    wp.launch(sum_at, dim=0, inputs=[x, 0, total])
    assert total.numpy()[0] == N


@wp.kernel
def sum_of_checked(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] >= 0.0
    wp.atomic_add(total, 0, 1.0)


def test_a_failed_assertion_keeps_what_was_added_before() -> None:
    values = np.ones(100)
    values[60] = -1.0
    total = wp.zeros(1, dtype=float)
    with pytest.raises(RuntimeError, match="sum_of_checked"):
        wp.launch(sum_of_checked, dim=100, inputs=[wp.array(values, dtype=float), total])
    assert total.numpy()[0] == 60.0


@wp.kernel
def weighted(x: wp.array2d(dtype=wp.float64), w: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, x[i, j] * x[i, j] * w[0] + w[1])


def test_gradients_of_and_through_sums() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((70, 30))
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    w = wp.array([2.0, 3.0], dtype=wp.float64, requires_grad=True)
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weighted, dim=(70, 30), inputs=[x, w, loss])
    tape.backward(loss)
    np.testing.assert_allclose(loss.numpy()[0], (2.0 * values**2 + 3.0).sum(), rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), 4.0 * values, rtol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), [(values**2).sum(), values.size], rtol=1e-12)


def test_python_threads_add_to_one_element() -> None:
    x, total = wp.array(np.ones(N), dtype=float), wp.zeros(1, dtype=float)
    wp.launch(optional_sum, dim=N, inputs=[x, wp.zeros(1, dtype=float)])

    def work() -> None:
        for _ in range(50):
            wp.launch(optional_sum, dim=N, inputs=[x, total])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total.numpy()[0] == 200.0 * N
