"""``retain_grad=True``: gradients of intermediate results, also of elements written more than once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp


@wp.kernel
def square(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def increment(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_an_intermediate_result_keeps_its_gradient(dtype: Any) -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    y = wp.zeros(3, dtype=dtype, requires_grad=True, retain_grad=True)
    z = wp.zeros(3, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, [x, y])
        wp.launch(square, 3, [y, z])
    for _ in range(2):
        tape.zero()
        tape.backward(grads={z: wp.ones(3, dtype=dtype)})
        np.testing.assert_array_equal(y.grad.numpy(), [2.0, 8.0, 18.0])
        np.testing.assert_array_equal(x.grad.numpy(), [4.0, 32.0, 108.0])


def test_the_gradient_of_the_last_version_is_kept() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True, retain_grad=True)
    early, late = (wp.zeros(3, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(square, 3, [x, y])
        wp.launch(square, 3, [y, early])
        wp.launch(increment, 3, [y])
        wp.launch(square, 3, [y, late])
    ones = wp.ones(3, dtype=float)
    tape.backward(grads={early: ones, late: ones})
    np.testing.assert_array_equal(y.grad.numpy(), 2 * y.numpy())
    first = x.numpy() ** 2
    np.testing.assert_allclose(x.grad.numpy(), (2 * first + 2 * (first + 1)) * 2 * x.numpy())


def test_elements_written_by_different_launches() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(6, dtype=float, requires_grad=True, retain_grad=True)
    z = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, [x, y[0:3]])
        wp.launch(square, 3, [y[0:3], y[3:6]])
        wp.launch(square, 3, [y[3:6], z])
    tape.backward(grads={z: wp.ones(3, dtype=float)})
    v = x.numpy()
    np.testing.assert_allclose(y.grad.numpy(), [*(4 * v**6), *(2 * v**4)])
    np.testing.assert_allclose(x.grad.numpy(), 8 * v**7)


def test_copies_and_fills_consume_too() -> None:
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True, retain_grad=True)
    z = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(y, x)
        wp.launch(square, 2, [y, z])
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(y.grad.numpy(), [2.0, 4.0])
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])
