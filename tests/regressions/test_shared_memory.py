"""Arrays that share memory: their gradient is right where they share it too, and else an error."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp
from treadle.errors import TreadleError


@wp.kernel
def square(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.kernel
def add_up(a: wp.array(dtype=wp.float64), total: wp.array(dtype=wp.float64)):
    wp.atomic_add(total, 0, a[wp.tid()])


def loss() -> wp.array:
    return wp.zeros(1, dtype=wp.float64, requires_grad=True)


def test_two_arrays_of_one_memory_with_separate_gradients():
    memory = np.arange(1.0, 5.0)
    first, second = (wp.from_numpy(memory, requires_grad=True) for _ in range(2))
    total = loss()
    with wp.Tape():
        wp.launch(square, 4, [first], [first])
        with pytest.raises(TreadleError, match="parameter a shares memory"):
            wp.launch(add_up, 4, [second], [total])
    assert total.list() == [0]


def test_read_first_and_written_later():
    memory = np.arange(1.0, 5.0)
    first, second = (wp.from_numpy(memory, requires_grad=True) for _ in range(2))
    with wp.Tape():
        wp.launch(add_up, 4, [second], [loss()])
        with pytest.raises(TreadleError, match="a copy shares memory"):
            wp.copy(first, wp.zeros_like(first))


def test_views_with_gradients_of_their_own():
    base = wp.array(np.arange(1.0, 5.0))
    first, second = base[:3], base[1:]
    first.requires_grad = second.requires_grad = True
    with wp.Tape(), pytest.raises(TreadleError, match="parameter b shares memory"):
        wp.launch(square, 3, [first], [second])


def test_arrays_that_are_only_read():
    memory = np.arange(1.0, 5.0)
    first, second = (wp.from_numpy(memory, requires_grad=True) for _ in range(2))
    total = loss()
    with wp.Tape() as tape:
        wp.launch(add_up, 4, [first], [total])
        wp.launch(add_up, 4, [second], [total])
    tape.backward(total)
    assert first.grad.list() == second.grad.list() == [1, 1, 1, 1]


def test_interleaved_arrays_share_nothing():
    memory = np.arange(8.0).reshape(4, 2)
    even, odd = (wp.from_numpy(memory[:, k], requires_grad=True) for k in range(2))
    total = loss()
    with wp.Tape() as tape:
        wp.launch(square, 4, [even], [odd])
        wp.launch(add_up, 4, [odd], [total])
    tape.backward(total)
    assert even.grad.list() == [0, 4, 8, 12]


def test_views_of_one_array():
    base = wp.array(np.arange(1.0, 5.0), requires_grad=True)
    total = loss()
    with wp.Tape() as tape:
        wp.launch(square, 2, [base[::-1]], [base[:2]])  # 4² and 3² over 1 and 2
        wp.launch(add_up, 4, [base], [total])
    tape.backward(total)
    assert base.grad.list() == [0, 0, 7, 9]


def test_tensors_share_their_gradient():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    total = loss()
    with wp.Tape() as tape:
        wp.launch(square, 2, [wp.from_torch(tensor)], [wp.from_torch(tensor)])
        wp.launch(add_up, 2, [wp.from_torch(tensor)], [total])
    tape.backward(total)
    assert tensor.grad.tolist() == [2, 4]


def test_a_tape_forgets_when_it_is_reset():
    memory = np.arange(1.0, 5.0)
    tape = wp.Tape()
    for _ in range(3):
        a = wp.from_numpy(memory, requires_grad=True)
        with tape:
            wp.launch(square, 4, [a], [a])
        tape.reset()
