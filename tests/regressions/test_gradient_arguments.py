"""Gradients that a user passes in: to ``backward``, to adjoint launches, and as ``array.grad``."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp
from treadle.errors import LaunchError, TreadleError


@wp.kernel
def square(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.struct
class Pair:
    x: wp.array(dtype=float)
    y: wp.array(dtype=float)


@wp.struct
class OtherPair:
    x: wp.array(dtype=wp.float64)
    y: wp.array(dtype=float)


@wp.kernel
def square_member(s: Pair):
    i = wp.tid()
    s.y[i] = s.x[i] * s.x[i]


def floats(*values: float, grad: bool = True) -> wp.array:
    return wp.array(list(values), dtype=float, requires_grad=grad)


def read_only(n: int) -> wp.array:
    memory = np.zeros(n, np.float32)
    memory.flags.writeable = False
    return wp.from_numpy(memory)


@pytest.fixture
def recorded():
    a, b = floats(1, 2), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, [a], [b])
    return tape, a, b


@pytest.mark.parametrize("loss", [3.0, np.ones(1), "loss"])
def test_a_loss_that_is_no_array(recorded, loss):
    with pytest.raises(TreadleError, match="loss must be an array"):
        recorded[0].backward(loss)


@pytest.mark.parametrize("grads", [[1], 3.0])
def test_grads_that_are_no_mapping(recorded, grads):
    with pytest.raises(TreadleError, match="grads maps arrays to gradients"):
        recorded[0].backward(grads=grads)


@pytest.mark.parametrize("gradient", [None, 1.0, floats(1, 1, 1), np.ones(3), "ab"])
def test_a_gradient_that_does_not_fit(recorded, gradient):
    tape, _, b = recorded
    with pytest.raises((TreadleError, ValueError)):
        tape.backward(grads={b: gradient})


def test_a_key_that_is_no_array(recorded):
    with pytest.raises(TreadleError, match="int is no array"):
        recorded[0].backward(grads={3: floats(1)})


@pytest.mark.parametrize("gradient", [[1, 10], np.array([1, 10]), floats(1, 10)])
def test_gradients_of_any_form(recorded, gradient):
    tape, a, b = recorded
    tape.backward(grads={b: gradient})
    assert a.grad.list() == [2, 40]


def test_too_many_gradients_for_an_adjoint_launch():
    a, b, g = floats(1), floats(1), floats(1)
    with pytest.raises(LaunchError, match="2 parameters, but 3 gradients"):
        wp.launch(square, 1, [a], [b], adj_inputs=[g, g], adj_outputs=[g], adjoint=True)


def test_read_only_gradients_are_not_written():
    a, b = floats(1, 2), floats(0, 0)
    with pytest.raises(LaunchError, match="read-only"):
        wp.launch(square, 2, [a], [b], adj_inputs=[read_only(2)], adj_outputs=[floats(1, 1)], adjoint=True)
    with pytest.raises(TreadleError, match="read-only"):
        a.grad = read_only(2)


@pytest.mark.parametrize("gradient", [3, floats(1), "wrong shape", "wrong dtype", "read-only"])
def test_structs_of_gradients_are_checked(gradient):
    s, g = Pair(), Pair()
    s.x, s.y = floats(1, 2, grad=False), floats(0, 0, grad=False)
    g.x, g.y = floats(0, 0), floats(1, 1)
    if gradient == "wrong shape":
        g.x = floats(1)
    elif gradient == "wrong dtype":
        g = OtherPair()
        g.x, g.y = wp.zeros(2, dtype=wp.float64), floats(1, 1)
    elif gradient == "read-only":
        g.x = read_only(2)
    with pytest.raises(LaunchError, match="gradient"):
        wp.launch(square_member, 2, [s], adj_inputs=[g if isinstance(gradient, str) else gradient], adjoint=True)


def test_structs_of_gradients():
    s, g = Pair(), Pair()
    s.x, s.y = floats(1, 2, grad=False), floats(0, 0, grad=False)
    g.x, g.y = floats(0, 0), floats(1, 1)
    wp.launch(square_member, 2, [s], adj_inputs=[g], adjoint=True)
    assert g.x.list() == [2, 4]
