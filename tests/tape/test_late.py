"""Gradients that are asked for only after the recording: right, or refused since something was overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.errors import OverwriteError, TreadleError


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def largest(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_max(y, 0, x[i] * x[i])


@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.func
def power(x: float, e: wp.array(dtype=float), i: int):
    return wp.pow(x, e[i])


@wp.func_grad(power)
def power_gradient(x: float, e: wp.array(dtype=float), i: int, adjoint: float):
    wp.adjoint[x] += adjoint * e[i] * wp.pow(x, e[i] - 1.0)


@wp.kernel
def powers(x: wp.array(dtype=float), e: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = power(x[i], e, i)


@wp.kernel
def powers_and_change(x: wp.array(dtype=float), e: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = power(x[i], e, i)
    e[i] = 2.0


def floats(*values: float, requires_grad: bool = False) -> Any:
    return wp.array(values, dtype=float, requires_grad=requires_grad)


def ones() -> Any:
    return wp.ones(2, dtype=float)


def test_what_a_launch_left_is_not_overwritten_by_the_launch_itself() -> None:
    x, y = floats(1, 2), floats(0)
    with wp.Tape() as tape:
        wp.launch(largest, 2, [x, y])
    x.requires_grad = y.requires_grad = True
    tape.backward(grads={y: wp.ones(1, dtype=float)})
    assert x.grad.list() == [0, 4]


def test_what_a_user_written_derivative_reads_is_not_overwritten_by_the_launch_itself() -> None:
    x, e, y = floats(3, 4), floats(3, 3), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(powers_and_change, 2, [x, e, y])
    x.requires_grad = y.requires_grad = True
    tape.backward(grads={y: ones()})
    assert x.grad.list() == [6, 8]  # with what the launch left


@pytest.mark.parametrize("kernel", [largest, powers_and_change, powers])
def test_what_a_launch_left_and_was_overwritten_later(kernel: Any) -> None:
    x, e, y = floats(1, 2), floats(3, 3), floats(0, 0)
    changed, arguments = (y, [x, y]) if kernel is largest else (e, [x, e, y])
    for change in (lambda: changed.zero_(), lambda: wp.launch(square_in_place, 1, [changed])):
        with wp.Tape() as tape:
            wp.launch(kernel, 2, arguments)
            change()
        x.requires_grad = y.requires_grad = True
        with pytest.raises(OverwriteError, match="overwritten since"):
            tape.backward(grads={y: ones()})
        x.requires_grad = y.requires_grad = False


def test_what_a_launch_overwrites_itself() -> None:
    x = floats(1, 2)
    with wp.Tape() as tape:
        wp.launch(square_in_place, 2, [x])
    x.requires_grad = True
    with pytest.raises(OverwriteError, match="square_in_place, parameter x"):
        tape.backward(grads={x: ones()})


WRITES: dict[str, Callable[[Any], Any]] = {
    "fill": lambda a: a.zero_(),
    "copy": lambda a: wp.copy(a, ones()),
    "launch": lambda a: wp.launch(double, 2, [ones(), a]),
    "indexed fill": lambda a: a[[0]].fill_(7),
    "indexed copy": lambda a: wp.copy(a[[1, 0]], ones()),
    "gather": lambda a: wp.copy(a, ones()[[1, 0]]),
    "items": lambda a: a.__setitem__([0], 7),
    "mark": lambda a: a.mark_write(),
    "cast": lambda a: wp.utils.array_cast(wp.ones(2, dtype=wp.float64), a),
    "sort": lambda a: wp.utils.radix_sort_pairs(a, wp.zeros(2, dtype=int), 2),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("through", [lambda a: a, lambda a: wp.from_numpy(a.numpy())])
def test_values_that_any_step_has_overwritten(name: str, through: Callable[[Any], Any]) -> None:
    x, y = floats(1, 2), floats(0, 0, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
        WRITES[name](through(x))
    x.requires_grad = True
    with pytest.raises(TreadleError):
        tape.backward(grads={y: ones()})


@pytest.mark.parametrize("name", [name for name in WRITES if name not in ("fill", "copy", "launch", "mark")])
def test_steps_that_have_no_derivative(name: str) -> None:
    x, y = floats(1, 2), floats(0, 0, requires_grad=True)
    with wp.Tape() as tape:
        WRITES[name](x)
        wp.launch(double, 2, [x, y])
    tape.backward(grads={y: ones()})  # x is a constant
    x.requires_grad = True
    with pytest.raises(TreadleError, match="has no derivative"):
        tape.backward(grads={y: ones()})


def test_steps_that_users_differentiate_themselves() -> None:
    x, y = floats(1, 2), floats(0, 0, requires_grad=True)
    with wp.Tape() as tape:
        x.mark_write()
        x.numpy()[:] = [3, 4]
        wp.launch(square, 2, [x, y])
    x.requires_grad = True
    tape.backward(grads={y: ones()})
    assert x.grad.list() == [6, 8]


@wp.kernel
def two_versions(
    x: wp.array(dtype=float), w: wp.array(dtype=float), e: wp.array(dtype=float),
    y: wp.array(dtype=float), z: wp.array(dtype=float), change: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    y[i] = power(x[i], e, i)  # the gradient needs what the launch leaves in e
    z[i] = w[i] * e[i]  # the gradient needs what it finds there
    change[i] = 2.0


@pytest.mark.parametrize("first", ["y", "z"])
def test_another_version_than_the_one_that_was_kept(first: str) -> None:
    """At the recording one of the results has a gradient, in the backward pass the other."""
    for overwritten in (False, True):
        x, w, e, y, z = floats(3, 4), floats(5, 6), floats(3, 3), floats(0, 0), floats(0, 0)
        groups = {"y": (x, y), "z": (w, z)}
        second = "z" if first == "y" else "y"
        for a in groups[first]:
            a.requires_grad = True
        with wp.Tape() as tape:
            wp.launch(two_versions, 2, [x, w, e, y, z, e if overwritten else floats(0, 0)])
        for a in groups[first]:
            a.requires_grad = False
        for a in groups[second]:
            a.requires_grad = True
        source, result = groups[second]
        if overwritten:
            with pytest.raises((OverwriteError, wp.DerivativeError)):
                tape.backward(grads={result: ones()})
        else:
            wp.launch(square_in_place, 2, [e])  # outside of the tape
            tape.backward(grads={result: ones()})
            np.testing.assert_allclose(source.grad.numpy(), [9, 9] if second == "z" else [9 * 3**8, 9 * 4**8])


@pytest.mark.parametrize("first", ["y", "z"])
def test_the_same_version_that_was_kept_for_another_result(first: str) -> None:
    x, w, e, y, z = floats(3, 4), floats(5, 6), floats(3, 3), floats(0, 0), floats(0, 0)
    groups = {"y": (x, y), "z": (w, z)}
    for a in groups[first]:
        a.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(two_versions, 2, [x, w, e, y, z, floats(0, 0)])
        e.fill_(100)
    for a in (x, w, y, z):
        a.requires_grad = True
    tape.backward(grads={y: ones(), z: ones()})
    np.testing.assert_allclose([x.grad.numpy(), w.grad.numpy()], [[27, 48], [3, 3]])
