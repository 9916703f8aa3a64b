"""No NaN comes from a side that was not taken, whatever computes it."""

from __future__ import annotations

from typing import Any

import pytest

import treadle as wp


@wp.kernel
def inverse_error_function(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    y = wp.erfinv(x[0])
    o[0] = wp.where(x[0] < 1.0, y * y * x[0], x[0])


@wp.kernel
def floor_division(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    y = x[0] // x[0]
    o[0] = wp.where(x[0] < 0.0, y * y * x[0], x[0])


@wp.func
def reciprocal(x: float):
    return 1.0 / x


@wp.func_grad(reciprocal)
def reciprocal_grad(x: float, g: float):
    wp.adjoint[x] += -g / (x * x)


@wp.func
def scaled(v: wp.vec3, s: float):
    return v / s, s * 2.0


@wp.func_grad(scaled)
def scaled_grad(v: wp.vec3, s: float, g: wp.vec3, h: float):
    wp.adjoint[v] += g / s
    wp.adjoint[s] += 2.0 * h - wp.dot(g, v) / (s * s)


@wp.kernel
def derivative_by_hand(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    y = reciprocal(x[0])
    o[0] = wp.where(x[0] < -1.0, y * y * x[0], x[0])


@wp.kernel
def several_results(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    v, d = scaled(wp.vec3(1.0, 2.0, 3.0), x[0])
    o[0] = wp.where(x[0] < -1.0, wp.dot(v, v) * d, x[0])


@wp.kernel
def infinite_constant(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    y = x[0] * wp.inf
    o[0] = wp.where(x[0] < -1.0, y, x[0])


@wp.func
def grown(x: float, n: int):
    s = x
    for _ in range(n):
        s = s / x
    return wp.where(x < -1.0, s, 0.5 * x * x)


@wp.kernel
def second_derivative(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    o[0] = wp.grad(grown)(x[0], 3)


@wp.kernel
def second_derivative_of_loop(x: wp.array(dtype=float), n: wp.array(dtype=int), o: wp.array(dtype=float)):
    o[0] = wp.grad(grown)(x[0], n[0])


CASES = [
    (inverse_error_function, 1.0),
    (floor_division, 0.0),
    (derivative_by_hand, 0.0),
    (several_results, 0.0),
    (infinite_constant, 2.0),
    (second_derivative, 0.0),
]


@pytest.mark.parametrize("kernel, at", CASES, ids=lambda value: getattr(value, "name", ""))
def test_what_was_discarded_contributes_nothing(kernel: Any, at: float) -> None:
    x, o = wp.array([at], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x, o])
    tape.backward(o)
    assert x.grad.numpy().tolist() == [1.0]


def test_what_was_discarded_in_a_loop_contributes_nothing_to_a_second_derivative() -> None:
    x, o = wp.array([0.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(second_derivative_of_loop, dim=1, inputs=[x, wp.array([3], dtype=int), o])
    tape.backward(o)
    assert x.grad.numpy().tolist() == [1.0]
