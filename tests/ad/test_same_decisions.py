"""The adjoint, which runs a kernel again in other machine code, decides as the kernel did, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.ir.parser import from_text
from treadle.passes.decisive import decisive

N = 4001
FUNCTIONS = [wp.exp, wp.sin, wp.cos, wp.log, wp.tanh, wp.erf, wp.atan, wp.cbrt, wp.sinh, wp.log2]


def kernels(function: Any) -> tuple[Any, Any]:
    """One that computes a function, and one that compares it with what the first computed."""

    @wp.kernel
    def compute(a: wp.array(dtype=float), s: wp.array(dtype=float)):
        i = wp.tid()
        s[i] = function(a[i])

    @wp.kernel
    def compare(
        a: wp.array(dtype=float),
        s: wp.array(dtype=float),
        w: wp.array(dtype=float),
        order: wp.array(dtype=int),
        y: wp.array(dtype=float),
        taken: wp.array(dtype=int),
    ):
        i = wp.tid()
        if function(a[i]) > s[i]:
            y[i] = 10.0 * w[order[i]]
            taken[i] = 1
        elif function(a[i]) < s[i]:
            y[i] = 20.0 * w[order[i]]
            taken[i] = 2
        else:
            y[i] = -10.0 * w[order[i]]
            taken[i] = 0

    return compute, compare


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_decisions_on_mathematical_functions(function: Any) -> None:
    rng = np.random.default_rng(0)
    values = rng.random(N, np.float32) * 2 + 0.1
    order = rng.permutation(N).astype(np.int32)
    compute, compare = kernels(function)
    a, s = wp.array(values, dtype=float), wp.zeros(N, dtype=float)
    wp.launch(compute, dim=N, inputs=[a, s])
    w = wp.array(values, dtype=float, requires_grad=True)
    y, taken = wp.zeros(N, dtype=float, requires_grad=True), wp.zeros(N, dtype=int)
    with wp.Tape() as tape:
        wp.launch(compare, dim=N, inputs=[a, s, w, wp.array(order, dtype=int), y, taken])
    tape.backward(grads={y: wp.ones(N, dtype=float)})
    np.testing.assert_array_equal(w.grad.numpy()[order], np.array([-10.0, 10.0, 20.0])[taken.numpy()])


@wp.kernel
def compare_products(
    a: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)
):
    i = wp.tid()
    p = a[i] * a[i]
    q = b[i] * b[i]
    if p - q > 1.0e-30:
        y[i] = x[i] * (10.0 * p + q)
    else:
        y[i] = x[i] * (-10.0 * p + q)


def test_decisions_on_differences_of_products() -> None:
    values = np.random.default_rng(1).random(N, np.float32)
    a = wp.array(values, dtype=float, requires_grad=True)
    b = wp.array(values, dtype=float)
    x = wp.array(np.ones(N), dtype=float, requires_grad=True)
    y = wp.zeros(N, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(compare_products, dim=N, inputs=[a, b, x, y])
    tape.backward(grads={y: wp.ones(N, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())
    assert (y.numpy() < 0).all() and (a.grad.numpy() <= 0).all()


@wp.kernel
def iterate(a: wp.array(dtype=float), limit: float, y: wp.array(dtype=float), steps: wp.array(dtype=int)):
    i = wp.tid()
    s = a[i]
    n = int(0)
    while wp.sin(s) * wp.exp(-s) > limit:
        s = s * 1.1
        n += 1
    y[i] = s
    steps[i] = n


def test_trip_counts() -> None:
    values = np.random.default_rng(2).random(N, np.float32) + 0.5
    a = wp.array(values, dtype=float, requires_grad=True)
    y, steps = wp.zeros(N, dtype=float, requires_grad=True), wp.zeros(N, dtype=int)
    with wp.Tape() as tape:
        wp.launch(iterate, dim=N, inputs=[a, 0.1, y, steps])
    tape.backward(grads={y: wp.ones(N, dtype=float)})
    np.testing.assert_allclose(a.grad.numpy(), 1.1 ** steps.numpy(), rtol=1e-5)


def test_what_decides_is_found_through_control_flow() -> None:
    function = from_text(
        """
        kernel @k(%a: array<1, 4, contiguous>, %n: i32, %y: array<1, 4, contiguous>) {
          %i: i32 = thread_index {axis=0, rank=1}
          %x: f32 = load %a, %i {type=f32, offset=0}
          %free: f32 = exp %x
          %start: f32 = sin %x
          %found: f32 = for %k: i32 in %n (%s: f32 = %start) {
            %next: f32 = cos %s
            yield %next
          }
          %zero: f32 = constant {value=0.0}
          %positive: bool = gt %found, %zero
          %chosen: f32 = if %positive {
            %inside: f32 = tanh %x
            yield %inside
          } else {
            yield %free
          }
          store %y, %i, %chosen {offset=0}
        }
        """
    )
    names = {op.name for op in decisive(function)}
    assert {"sin", "cos"} <= names and not {"exp", "tanh"} & names


@wp.kernel
def smallest(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_min(y, 0, wp.sin(a[i]) * b[i] - wp.exp(a[i]) * b[i] * 0.25)


@pytest.mark.parametrize("count", [1, 7, N])
def test_the_winner_of_an_atomic_minimum_is_found_again(count: int) -> None:
    rng = np.random.default_rng(count)
    values, factors = rng.random(count) * 3, rng.random(count) + 0.5
    a = wp.array(values, dtype=wp.float64, requires_grad=True)
    b = wp.array(factors, dtype=wp.float64, requires_grad=True)
    y = wp.array([1.0e9], dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(smallest, dim=count, inputs=[a, b, y])
    tape.backward(y)
    winner = np.argmin(np.sin(values) * factors - np.exp(values) * factors * 0.25)
    expected = np.zeros(count)
    expected[winner] = np.sin(values[winner]) - np.exp(values[winner]) * 0.25
    np.testing.assert_allclose(b.grad.numpy(), expected, rtol=1e-12)
    assert np.flatnonzero(a.grad.numpy()).tolist() == [winner] and not y.grad.numpy().any()
