"""Gradients through kernels: against the same function in JAX, and against differences, to second order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treadle as wp

jax = pytest.importorskip("jax")
jnp = jax.numpy

from jax.test_util import check_grads  # noqa: E402

from tests.interop.jax import kernels  # noqa: E402

F = wp.float64


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def close(found: Any, expected: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), found, expected)


def of_floats(case: kernels.Case, function: Any) -> Any:
    """``function`` with the arguments that have no gradient fixed."""
    floats = case.floats()

    def call(*values: Any) -> Any:
        given = dict(zip(floats, values))
        return tuple(function(*(given.get(k, a) for k, a in enumerate(case.arguments))))

    return call


def float_arguments(case: kernels.Case) -> list[Any]:
    return [case.arguments[k] for k in case.floats()]


@pytest.mark.parametrize("name", kernels.NAMES)
def test_vjp_against_jax(name: str) -> None:
    case = kernels.cases()[name]
    arguments = float_arguments(case)
    for wrap in (lambda f: f, jax.jit):
        found, pull = jax.vjp(wrap(of_floats(case, case.function())), *arguments)
        expected, pull_expected = jax.vjp(of_floats(case, case.reference), *arguments)
        close(found, expected)
        for k in range(len(expected)):  # one output at a time, and all of them
            cotangents = tuple(jnp.cos(e) if j <= k else jnp.zeros_like(e) for j, e in enumerate(expected))
            close(pull(cotangents), pull_expected(cotangents))
            close(pull(cotangents), pull_expected(cotangents))


@pytest.mark.parametrize("name", kernels.NAMES)
def test_jacobians_and_their_composition_with_jit(name: str) -> None:
    case = kernels.cases()[name]
    arguments = float_arguments(case)
    every = tuple(range(len(arguments)))
    found, expected = of_floats(case, case.function()), of_floats(case, case.reference)
    close(jax.jit(jax.jacrev(found, every))(*arguments), jax.jacrev(expected, every)(*arguments))
    twice = jax.jit(jax.jacrev(jax.jacrev(found, every), every))(*arguments)
    close(twice, jax.jacrev(jax.jacrev(expected, every), every)(*arguments))


@pytest.mark.parametrize("name", kernels.NAMES)
def test_against_differences_to_second_order(name: str) -> None:
    case = kernels.cases()[name]
    check_grads(of_floats(case, case.function()), float_arguments(case), order=2, modes=["rev"], atol=1e-3, rtol=1e-3)


def test_third_order() -> None:
    case = kernels.cases()["neighbours"]

    def third(function: Any) -> Any:
        return jax.jacrev(jax.grad(lambda x: jnp.sum(jax.grad(lambda v: jnp.sum(function(v)[0] ** 2))(x) ** 2)))

    close(third(case.function())(*case.arguments), third(case.reference)(*case.arguments))


def test_output_dims_in_outs_launch_dims_and_traced_scalars_together() -> None:
    @wp.kernel
    def mixed(
        x: wp.array(dtype=F),
        s: F,
        axis: wp.vec2d,
        n: int,
        state: wp.array(dtype=F),
        total: wp.array(dtype=F),
        grid: wp.array2d(dtype=F),
    ):
        i, j = wp.tid()
        value = x[i] * s + axis[1] * F(n)
        if j == 0:
            state[i] = state[i] * value
        grid[i, j] = value * axis[0] * F(j)
        wp.atomic_add(total, j, value * value)

    f = wp.jax_kernel(mixed, num_outputs=3, in_out_argnames=["state"], enable_backward=True)

    def found(x: Any, s: Any, axis: Any, state: Any, n: Any) -> Any:
        return f(x, s, axis, n, state, launch_dims=(4, 3), output_dims={"total": 5, "grid": (4, 3)})

    def expected(x: Any, s: Any, axis: Any, state: Any, n: Any) -> Any:
        value = x * s + axis[1] * n
        total = jnp.concatenate([jnp.full(3, jnp.sum(value * value)), jnp.zeros(2)])
        return state * value, total, value[:, None] * axis[0] * jnp.arange(3.0)

    x, state = jnp.array([0.5, -1.0, 2.0, 0.3]), jnp.array([1.0, 2.0, 3.0, -1.0])
    arguments = (x, jnp.array(0.7), jnp.array([1.2, -0.4]), state)
    for n in (3, jnp.int32(3)):

        def loss(function: Any, n: Any = n) -> Any:
            return lambda *a: sum(jnp.sum(jnp.sin(out)) for out in function(*a, n))

        for order in (jax.grad, lambda g, k: jax.jacrev(jax.grad(g, k), k)):
            close(
                jax.jit(order(loss(found), (0, 1, 2, 3)))(*arguments), order(loss(expected), (0, 1, 2, 3))(*arguments)
            )
    check_grads(lambda *a: found(*a, 3), arguments, order=2, modes=["rev"], atol=1e-3, rtol=1e-3)


def test_python_scalars_get_gradients_when_asked() -> None:
    case = kernels.cases()["weighted"]
    x, w, _ = case.arguments
    found = jax.grad(lambda s: case.function()(x, w, s)[1][0])(0.9)
    close(found, jax.grad(lambda s: case.reference(x, w, s)[1][0])(0.9))


def test_scalars_of_another_width_are_cast_with_their_gradient() -> None:
    case = kernels.cases()["weighted"]
    x, w, _ = case.arguments
    gradient = jax.grad(lambda s: case.function()(x, w, s)[1][0])(jnp.float32(0.9))
    assert gradient.dtype == jnp.float32
    np.testing.assert_allclose(gradient, jax.grad(lambda s: case.reference(x, w, s)[1][0])(0.9), rtol=1e-5)


def test_a_second_backward_pass_gives_the_same() -> None:
    case = kernels.cases()["update"]
    outputs, pull = jax.vjp(case.function(), *case.arguments)
    first = pull(outputs)
    jax.tree.map(np.testing.assert_array_equal, pull(outputs), first)
    close(outputs, case.reference(*case.arguments))


def test_one_array_given_twice() -> None:
    @wp.kernel
    def product(a: wp.array(dtype=F), b: wp.array(dtype=F), c: wp.array(dtype=F)):
        i = wp.tid()
        c[i] = a[i] * b[i]

    f = wp.jax_kernel(product, enable_backward=True)
    x = jnp.array([1.0, 2.0, 3.0])
    close(jax.grad(lambda v: f(v, v)[0].sum())(x), 2 * x)


def test_integer_arrays_are_constants() -> None:
    @wp.kernel
    def gather(x: wp.array(dtype=F), index: wp.array(dtype=int), y: wp.array(dtype=F), copy: wp.array(dtype=int)):
        i = wp.tid()
        y[i] = x[index[i]] * x[index[i]]
        copy[i] = index[i]

    f = wp.jax_kernel(gather, num_outputs=2, launch_dims=4, enable_backward=True)
    x, index = jnp.array([1.0, 2.0, 3.0]), jnp.array([2, 0, 2, 1], jnp.int32)
    close(jax.grad(lambda v: f(v, index)[0].sum())(x), jnp.array([2.0, 4.0, 12.0]))
    assert jax.jit(f)(x, index)[1].tolist() == index.tolist()


def test_the_maximum_takes_the_gradient() -> None:
    @wp.kernel
    def largest(x: wp.array(dtype=F), y: wp.array(dtype=F)):
        i = wp.tid()
        wp.atomic_max(y, 0, x[i] * x[i])

    f = wp.jax_kernel(largest, output_dims=1, enable_backward=True)
    x = jnp.array([1.0, -3.0, 2.0])
    close(jax.grad(lambda v: f(v)[0][0])(x), jnp.array([0.0, -6.0, 0.0]))
    with pytest.raises(wp.DerivativeError):
        jax.jacrev(jax.grad(lambda v: f(v)[0][0]))(x)


def test_overwritten_in_a_loop_first_order_right_second_order_refused() -> None:
    @wp.kernel
    def iterate(x: wp.array(dtype=F), n: int, y: wp.array(dtype=F)):
        i = wp.tid()
        y[i] = x[i]
        for _ in range(n):
            y[i] = y[i] * x[i] + F(1.0)

    f = wp.jax_kernel(iterate, enable_backward=True)
    x = jnp.array([0.5, -0.8])
    check_grads(lambda v: f(v, 5), (x,), order=1, modes=["rev"])
    with pytest.raises(wp.DerivativeError, match="iterate"):
        jax.jacrev(jax.grad(lambda v: f(v, 5)[0].sum()))(x)


def test_what_has_no_gradient_is_an_error_with_the_reason() -> None:
    @wp.kernel
    def compact(x: wp.array(dtype=F), count: wp.array(dtype=int), y: wp.array(dtype=F)):
        i = wp.tid()
        slot = wp.atomic_add(count, 0, 1)
        y[slot] = x[i] * x[i]

    f = wp.jax_kernel(compact, num_outputs=2, output_dims={"count": 1, "y": 3}, enable_backward=True)
    x = jnp.array([1.0, 2.0, 3.0])
    assert sorted(f(x)[1].tolist()) == [1.0, 4.0, 9.0]
    with pytest.raises(wp.DerivativeError, match="compact.*atomics"):
        jax.grad(lambda v: f(v)[1].sum())(x)

    @wp.kernel(enable_backward=False)
    def forward_only(x: wp.array(dtype=F), y: wp.array(dtype=F)):
        i = wp.tid()
        y[i] = x[i]

    with pytest.raises(wp.DerivativeError, match="enable_backward=False"):
        jax.grad(lambda v: wp.jax_kernel(forward_only, enable_backward=True)(v)[0].sum())(x)


def test_without_enable_backward_there_is_none() -> None:
    case = kernels.cases()["neighbours"]
    with pytest.raises(ValueError, match="differentiated"):
        jax.grad(lambda x: wp.jax_kernel(case.kernel)(x)[0].sum())(*case.arguments)


def test_a_user_written_derivative_is_used() -> None:
    @wp.func
    def root(x: F) -> F:
        return wp.sqrt(x)

    @wp.func_grad(root)
    def adjoint_of_root(x: F, g: F):
        if x > F(0.0):
            wp.adjoint[x] += g * F(0.5) / wp.sqrt(x)

    @wp.kernel
    def roots(x: wp.array(dtype=F), y: wp.array(dtype=F)):
        i = wp.tid()
        y[i] = root(x[i])

    f = wp.jax_kernel(roots, enable_backward=True)
    close(jax.grad(lambda v: f(v)[0].sum())(jnp.array([0.0, 4.0])), jnp.array([0.0, 0.25]))


def test_large_matrices_as_elements_and_as_traced_values() -> None:
    mat = wp.mat(shape=(7, 7), dtype=F)

    @wp.kernel
    def add(a: wp.array(dtype=mat), b: mat, c: wp.array(dtype=mat)):
        i = wp.tid()
        c[i] = a[i] + b

    f = wp.jax_kernel(add, enable_backward=True)
    a, b = jnp.arange(98.0).reshape(2, 7, 7), jnp.ones((7, 7))
    close(f(a, b)[0], a + b)
    close(jax.jit(f)(a, b)[0], a + b)
    found = jax.grad(lambda u, v: jnp.sum(f(u, v)[0] ** 2), (0, 1))(a, b)
    close(found, jax.grad(lambda u, v: jnp.sum((u + v) ** 2), (0, 1))(a, b))


def test_half_precision() -> None:
    @wp.kernel
    def square(x: wp.array(dtype=wp.Float), s: wp.Float, y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = float(x[i] * x[i] * s)

    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32):
        x, s = jnp.array([1.0, 2.0, 3.0], dtype), jnp.asarray(2.0, dtype)
        f = wp.jax_kernel(square, enable_backward=True)
        gx, gs = jax.grad(lambda u, v: f(u, v)[0].sum(), (0, 1))(x, s)  # noqa: B023
        assert gx.dtype == gs.dtype == dtype
        close(gx.astype(float), jnp.array([4.0, 8.0, 12.0]))
        close(gs.astype(float), jnp.array(14.0))


def test_one_cotangent_for_two_outputs() -> None:
    @wp.kernel
    def two(x: wp.array(dtype=F), y: wp.array(dtype=F), z: wp.array(dtype=F)):
        i = wp.tid()
        y[i] = F(2.0) * x[i]
        z[(i + 3) % z.shape[0]] = F(3.0) * x[i]

    f = wp.jax_kernel(two, num_outputs=2, enable_backward=True)
    c = jnp.arange(1000.0)
    expected = 2 * c + 3 * jnp.roll(c, -3)
    outputs, pull = jax.vjp(f, c)
    close(pull((c, c)), (expected,))
    close(pull((c, c)), (expected,))
    close(jax.jit(lambda x, g: jax.vjp(f, x)[1]((g, g)))(c, c), (expected,))
    close(c, jnp.arange(1000.0))
