"""Derivatives of atomics of every kind, and the refusals that say why."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp


@wp.kernel
def minima(x: wp.array(dtype=float), m: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_min(m, i % 2, x[i] * x[i])


@wp.kernel
def minimum_and_store(x: wp.array(dtype=float), m: wp.array(dtype=float)):
    i = wp.tid()
    if i == 0:
        m[1] = x[0]
    wp.atomic_min(m, 0, x[i])


@wp.kernel
def exchange(x: wp.array(dtype=float), m: wp.array(dtype=float)):
    wp.atomic_exch(m, 0, x[wp.tid()])


@wp.kernel
def compare_and_swap(x: wp.array(dtype=float), m: wp.array(dtype=float)):
    wp.atomic_cas(m, 0, 0.0, x[wp.tid()])


@wp.kernel
def running_sum(x: wp.array(dtype=float), m: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    before = wp.atomic_add(m, 0, x[i])
    y[i] = before * x[i]


@wp.kernel
def claimed(owner: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(owner.shape[0]):
        if wp.atomic_cas(owner, k, -1, i) == -1:
            y[k] = x[i] * x[i]
            break


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def floats(*values: float) -> wp.array:
    return wp.array(values, dtype=float, requires_grad=True)


def test_the_winner_of_a_minimum_takes_the_gradient() -> None:
    x, m = floats(3.0, -2.0, -1.0, 4.0), floats(100.0, 100.0)
    with wp.Tape() as tape:
        wp.launch(minima, 4, [x, m])
    tape.backward(grads={m: wp.array([1.0, 10.0], dtype=float)})
    np.testing.assert_array_equal(m.numpy(), [1.0, 4.0])
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, -40.0, -2.0, 0.0])
    np.testing.assert_array_equal(m.grad.numpy(), [0.0, 0.0])


def test_what_was_there_before_can_win() -> None:
    start, m = floats(0.5, 0.25), floats(0.0, 0.0)
    x = floats(3.0, -2.0, -1.0, 4.0)
    with wp.Tape() as tape:
        wp.copy(m, start)
        wp.launch(minima, 4, [x, m])
    tape.backward(grads={m: wp.array([1.0, 10.0], dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [0.0] * 4)
    np.testing.assert_array_equal(start.grad.numpy(), [1.0, 10.0])


def test_of_equal_values_one_takes_all() -> None:
    x, m = floats(2.0, 1.0, 2.0, 1.0), floats(100.0, 100.0)
    with wp.Tape() as tape:
        wp.launch(minima, 4, [x, m])
    tape.backward(grads={m: wp.ones(2, dtype=float)})
    gradient = x.grad.numpy()
    assert sorted((gradient[0], gradient[2])) == [0.0, 4.0]
    assert sorted((gradient[1], gradient[3])) == [0.0, 2.0]


def test_a_minimum_that_is_overwritten_later() -> None:
    x, m, y = floats(3.0, -2.0, -1.0, 4.0), floats(100.0, 100.0), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(minima, 4, [x, m])
        wp.launch(square, 2, [m, y])
        m.fill_(7.0)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 8.0 * -4.0, 2.0 * -2.0, 0.0])


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (minimum_and_store, "atomic_min on an array to which the kernel also writes in another way"),
        (exchange, "atomic_exch on floats has no derivative: which thread is last is not known"),
        (compare_and_swap, "atomic_cas on floats has no derivative"),
    ],
)
def test_refusals_say_why(kernel: wp.Kernel, reason: str) -> None:
    x, m = floats(3.0, 2.0), floats(100.0, 100.0)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, [x, m])
    with pytest.raises(wp.DerivativeError, match=reason) as caught:
        tape.backward(grads={m: wp.ones(2, dtype=float)})
    assert __file__ in str(caught.value)


def test_the_derivative_of_a_returned_sum_is_refused() -> None:
    x, m, y = floats(3.0, 2.0), floats(0.0), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(running_sum, 2, [x, m, y])
    with pytest.raises(wp.DerivativeError, match="the value that atomic_add returns depends on the order"):
        tape.backward(grads={y: wp.ones(2, dtype=float)})


def test_the_derivative_of_a_returned_sum_is_refused_without_a_gradient_of_its_array_too() -> None:
    x, m, y = floats(3.0, 2.0), wp.zeros(1, dtype=float), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(running_sum, 2, [x, m, y])
    with pytest.raises(wp.DerivativeError):
        tape.backward(grads={y: wp.ones(2, dtype=float)})


def test_slots_claimed_in_a_loop() -> None:
    x, y, owner = floats(3.0, 2.0, 5.0), floats(0.0, 0.0, 0.0), wp.full(3, -1, dtype=int)
    with wp.Tape() as tape:
        wp.launch(claimed, 3, [owner, x, y])
    owner.fill_(-1)
    tape.backward(grads={y: wp.array([1.0, 10.0, 100.0], dtype=float)})
    np.testing.assert_array_equal(np.sort(y.numpy()), [4.0, 9.0, 25.0])
    weight = {9.0: 3.0, 4.0: 2.0, 25.0: 5.0}
    expected = {weight[v]: w * 2 * weight[v] for v, w in zip(y.numpy().tolist(), (1.0, 10.0, 100.0))}
    np.testing.assert_array_equal(x.grad.numpy(), [expected[v] for v in (3.0, 2.0, 5.0)])
