"""Kernels called from JAX: values, shapes, scalars, in-outs, errors."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import treadle as wp

jax = pytest.importorskip("jax")
jnp = jax.numpy


@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


@wp.kernel
def sum_and_difference(
    a: wp.array(dtype=float), b: wp.array(dtype=float), s: wp.array(dtype=float), d: wp.array(dtype=float)
):
    i = wp.tid()
    s[i] = a[i] + b[i]
    d[i] = a[i] - b[i]


@wp.kernel
def outer(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    c[i, j] = a[i] * b[j]


@wp.kernel
def total(x: wp.array2d(dtype=float), sums: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(sums, i, x[i, j])


@wp.kernel
def every_other(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]


@wp.kernel
def numbers(values: wp.array(dtype=int)):
    i = wp.tid()
    values[i] = i + 1


@wp.kernel
def lengths(points: wp.array(dtype=wp.vec3), scale: float, unit: wp.array(dtype=wp.vec3), r: wp.array(dtype=float)):
    i = wp.tid()
    r[i] = scale * wp.length(points[i])
    unit[i] = points[i] / wp.length(points[i])


@wp.kernel
def transform(m: wp.array(dtype=wp.mat22), v: wp.vec2, out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = m[i] * v


@wp.kernel
def accumulate(x: wp.array(dtype=float), state: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = state[i]
    state[i] = state[i] + x[i]


@wp.kernel
def checked(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] > 0.0, "x must be positive"
    y[i] = x[i]


@wp.kernel
def scaled(x: wp.array(dtype=float), s: float, n: int, on: bool, y: wp.array(dtype=float)):
    i = wp.tid()
    if on:
        y[i] = s * x[i] + float(n)


@wp.kernel
def generic_sum(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Scalar), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = float(x[i]) + float(y[i])


X = np.arange(6, dtype=np.float32)


def test_values_alone_and_in_jit() -> None:
    f = wp.jax_kernel(triple)
    (y,) = f(jnp.asarray(X))
    np.testing.assert_array_equal(y, 3 * X)
    (y,) = jax.jit(f)(X)
    np.testing.assert_array_equal(y, 3 * X)
    (y,) = f(X)  # a NumPy array
    np.testing.assert_array_equal(y, 3 * X)


def test_within_a_larger_program() -> None:
    f = wp.jax_kernel(triple)

    @jax.jit
    def program(x: Any) -> Any:
        return jax.lax.fori_loop(0, 4, lambda _, v: jnp.sqrt(f(v * v)[0] / 3.0) + 1.0, x)

    np.testing.assert_allclose(program(X), X + 4, rtol=1e-6)


def test_several_outputs() -> None:
    s, d = wp.jax_kernel(sum_and_difference, num_outputs=2)(X, X[::-1].copy())
    np.testing.assert_array_equal(s, X + X[::-1])
    np.testing.assert_array_equal(d, X - X[::-1])


@pytest.mark.parametrize("launch_dims", [(4, 3), [4, 3], None])
def test_launch_dims(launch_dims: Any) -> None:
    a, b = np.arange(4.0, dtype=np.float32), np.arange(3.0, dtype=np.float32)
    if launch_dims is None:
        with pytest.raises(ValueError, match="output c"):
            wp.jax_kernel(outer)(a, b)
        return
    expected = np.outer(a, b)
    np.testing.assert_array_equal(wp.jax_kernel(outer, launch_dims=launch_dims)(a, b)[0], expected)
    np.testing.assert_array_equal(wp.jax_kernel(outer)(a, b, launch_dims=launch_dims)[0], expected)


@pytest.mark.parametrize("output_dims", [5, (5,), {"sums": 5}, {"sums": (5,)}])
def test_output_dims_and_outputs_start_as_zeros(output_dims: Any) -> None:
    x = np.ones((4, 3), np.float32)
    expected = [3, 3, 3, 3, 0]
    f = wp.jax_kernel(total)
    for _ in range(20):
        np.testing.assert_array_equal(f(x, output_dims=output_dims)[0], expected)
    np.testing.assert_array_equal(wp.jax_kernel(total, output_dims=output_dims)(x)[0], expected)


def test_elements_that_are_not_written_are_zero() -> None:
    f = jax.jit(wp.jax_kernel(every_other))
    for _ in range(20):
        np.testing.assert_array_equal(f(X + 1)[0], [1, 0, 3, 0, 5, 0])
    g = wp.jax_kernel(triple)
    for _ in range(20):
        np.testing.assert_array_equal(g(X, output_dims=8)[0], [*(3 * X), 0, 0])


def test_both_conventions_for_vectors() -> None:
    points = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    f = wp.jax_kernel(lengths, num_outputs=2)
    expected = np.linalg.norm(points, axis=1)
    for dims in (None, 4, {"unit": (4, 3)}, {"unit": (4,), "r": 4}, {"r": 4}):
        unit, r = f(points, 2.0, output_dims=dims)
        np.testing.assert_allclose(r, 2 * expected, rtol=1e-6)
        np.testing.assert_allclose(unit, points / expected[:, None], rtol=1e-6)
    with pytest.raises(ValueError, match="unit"):
        f(points, 2.0, output_dims={"unit": (4, 4)})
    with pytest.raises(ValueError, match="no_such"):
        f(points, 2.0, output_dims={"no_such": 4})


def test_composite_parameters_static_and_traced() -> None:
    m = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    v = np.array([1, 2], np.float32)
    f = wp.jax_kernel(transform)
    for given in (wp.vec2(1.0, 2.0), (1.0, 2.0), v, jnp.asarray(v)):
        np.testing.assert_array_equal(f(m, given)[0], m @ v)
    np.testing.assert_array_equal(jax.jit(f)(m, v)[0], m @ v)


def test_without_inputs() -> None:
    f = wp.jax_kernel(numbers)
    np.testing.assert_array_equal(f(launch_dims=4)[0], [1, 2, 3, 4])
    np.testing.assert_array_equal(f(output_dims=3)[0], [1, 2, 3])
    np.testing.assert_array_equal(f(launch_dims=2, output_dims=4)[0], [1, 2, 0, 0])
    np.testing.assert_array_equal(jax.jit(lambda: f(launch_dims=(2,)))()[0], [1, 2])
    with pytest.raises(ValueError, match="launch_dims"):
        f()


@pytest.mark.parametrize("make", [lambda v: v, jnp.asarray, np.asarray], ids=["static", "traced", "numpy"])
def test_scalars(make: Any) -> None:
    f = wp.jax_kernel(scaled)
    np.testing.assert_array_equal(f(X, make(2.0), make(3), make(True))[0], 2 * X + 3)
    np.testing.assert_array_equal(f(X, make(2), make(3), make(False))[0], 0 * X)
    np.testing.assert_array_equal(jax.jit(f)(X, make(2.0), make(3), make(True))[0], 2 * X + 3)


def test_a_traced_scalar_does_not_compile_again() -> None:
    f = wp.jax_kernel(scaled)
    count = 0

    @jax.jit
    def program(s: Any) -> Any:
        nonlocal count
        count += 1
        return f(X, s, 1, True)[0]

    for s in range(5):
        np.testing.assert_array_equal(program(float(s)), s * X + 1)
    assert count == 1


@pytest.mark.parametrize(
    "s, n, message",
    [
        (jnp.ones(2), 1, "s: .*shape"),
        (1.0, 2.5, "n: .*int32"),
        (1.0, jnp.float32(2.5), "n: .*float32.*cast"),
        (1.0, 2**40, "n: .*fit"),
        ("a", 1, "s"),
    ],
)
def test_scalars_that_do_not_fit(s: Any, n: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wp.jax_kernel(scaled)(X, s, n, True)


def test_in_out_arguments_leave_the_input_as_it_was() -> None:
    f = wp.jax_kernel(accumulate, num_outputs=2, in_out_argnames=["state"])
    state = jnp.ones(6)
    for call in (f, jax.jit(f)):
        new, out = call(X, state)
        np.testing.assert_array_equal(new, 1 + X)
        np.testing.assert_array_equal(out, np.ones(6))
        np.testing.assert_array_equal(state, np.ones(6))


def test_donated_in_out_argument() -> None:
    f = jax.jit(wp.jax_kernel(accumulate, num_outputs=2, in_out_argnames="state"), donate_argnums=1)
    state = jnp.ones(1000)
    address = state.unsafe_buffer_pointer()
    state, _ = f(jnp.ones(1000), state)
    np.testing.assert_array_equal(state, 2 * np.ones(1000))
    assert state.unsafe_buffer_pointer() == address


def test_in_out_arguments_in_a_loop() -> None:
    f = wp.jax_kernel(accumulate, num_outputs=2, in_out_argnames=["state"])
    state, outs = jax.jit(lambda s: jax.lax.scan(lambda c, _: f(X, c), s, None, length=3))(jnp.zeros(6))
    np.testing.assert_array_equal(state, 3 * X)
    np.testing.assert_array_equal(outs, [0 * X, X, 2 * X])


def test_an_input_that_is_written_is_refused() -> None:
    with pytest.raises(ValueError, match="state: .*in_out_argnames"):
        wp.jax_kernel(accumulate)(X, X)


def test_generic_inputs() -> None:
    f = wp.jax_kernel(generic_sum)
    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32):
        for other in (jnp.int32, jnp.uint8, jnp.float32):
            np.testing.assert_array_equal(f(jnp.asarray(X, dtype), jnp.asarray(X, other))[0], 2 * X)
    with pytest.raises(TypeError, match="parameter x"):
        f(jnp.arange(6), jnp.arange(6))


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint16, wp.int32, wp.float16, wp.bfloat16, wp.float64, wp.bool])
def test_scalar_dtypes(dtype: Any) -> None:
    @wp.kernel
    def pick(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i] = x[x.shape[0] - 1 - i]

    with jax.enable_x64(dtype is wp.float64):
        x = jnp.asarray([0, 1, 1, 0, 1, 0], wp.dtype_to_jax(dtype))
        (y,) = wp.jax_kernel(pick)(x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(y, float), np.asarray(x, float)[::-1])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "takes 1 inputs"),
        ((X, X), "takes 1 inputs"),
        ((X.reshape(2, 3),), "parameter x: .*1 dimension.*\\(2, 3\\)"),
        ((X.astype(np.int32),), "parameter x: .*float32.*int32"),
        ((2.0,), "parameter x: expected an array"),
        ((X.astype(np.complex64),), "parameter x: .*complex64"),
    ],
)
def test_arrays_that_do_not_fit(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wp.jax_kernel(triple)(*arguments)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"num_outputs": 0}, "num_outputs"),
        ({"num_outputs": 3}, "num_outputs"),
        ({"in_out_argnames": ["z"]}, "'z'"),
        ({"num_outputs": 2, "in_out_argnames": ["y"]}, "y must come before"),
        ({"vmap_method": "all"}, "vmap_method"),
    ],
)
def test_settings_that_do_not_fit(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wp.jax_kernel(triple, **settings)


def test_what_is_no_kernel() -> None:
    with pytest.raises(TypeError, match="decorator"):
        wp.jax_kernel(lambda x: x)
    with pytest.raises(TypeError, match="s must be an array"):
        wp.jax_kernel(scaled, num_outputs=4)


def test_a_failed_assertion_is_an_error_and_the_next_call_works() -> None:
    f = jax.jit(wp.jax_kernel(checked))
    with pytest.raises(Exception, match="checked.*test_calls.py.*x must be positive"):
        jax.block_until_ready(f(X - 2))
    np.testing.assert_array_equal(f(X + 1)[0], X + 1)


def test_no_elements() -> None:
    assert wp.jax_kernel(triple)(jnp.zeros(0))[0].shape == (0,)
    np.testing.assert_array_equal(wp.jax_kernel(total, output_dims=2)(jnp.zeros((0, 3)))[0], [0, 0])


def test_many_threads_at_once() -> None:
    f = jax.jit(wp.jax_kernel(triple))
    failures: list[Any] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).random(500 + seed, np.float32)
        for _ in range(20):
            if not np.array_equal(f(x)[0], np.float32(3) * x):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_kernel_runs_while_another_thread_holds_the_gil() -> None:
    @wp.kernel
    def spin(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
        i = wp.tid()
        value = x[i]
        for _ in range(n):
            value = wp.sin(value) + 1.0
        y[i] = value

    f = jax.jit(wp.jax_kernel(spin), static_argnums=1)
    x = jnp.ones(64)
    jax.block_until_ready(f(x, 2000))
    pending = f(x, 2000)
    done = pending[0].is_ready
    for _ in range(10_000_000):  # bytecode that never waits
        if done():
            break
    assert done()


def test_the_wrapper_may_go_while_the_program_stays() -> None:
    x = jnp.asarray(X)
    program = jax.jit(wp.jax_kernel(triple)).lower(x).compile()
    gc.collect()
    np.testing.assert_array_equal(program(x)[0], 3 * X)


def test_kernels_of_one_name_do_not_mix() -> None:
    def make(factor: float) -> Any:
        @wp.kernel
        def multiply(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = wp.static(factor) * x[i]

        return wp.jax_kernel(multiply)

    two, three = make(2.0), make(3.0)
    np.testing.assert_array_equal(two(X)[0], 2 * X)
    np.testing.assert_array_equal(three(X)[0], 3 * X)
    np.testing.assert_array_equal(two(X)[0], 2 * X)


def test_side_effects_are_kept(capfd: Any) -> None:
    @wp.kernel
    def says(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        print(x[i])
        y[i] = x[i]

    f = wp.jax_kernel(says, has_side_effect=True)

    @jax.jit
    def program(x: Any) -> Any:
        f(x)
        return x

    jax.block_until_ready(program(jnp.full(1, 4.25)))
    jax.effects_barrier()
    import sys

    sys.stdout.flush()
    assert "4.25" in capfd.readouterr().out


@wp.kernel
def shifted(x: wp.array(dtype=float), state: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    state[i] = 2.0 * state[i] + x[(i + 7) % x.shape[0]]
    out[i] = state[i]


def test_one_array_as_input_and_as_in_out() -> None:
    f = wp.jax_kernel(shifted, num_outputs=2, in_out_argnames=["state"])
    x = np.arange(1000, dtype=np.float32)
    for program in (f, jax.jit(lambda a, b: f(a, a)), jax.jit(lambda a, b: f(a * 1.0, a * 1.0))):
        given = jnp.asarray(x)
        for found in program(given, given):
            np.testing.assert_array_equal(found, 2 * x + np.roll(x, -7))
        np.testing.assert_array_equal(given, x)
    donated = jax.jit(lambda a: f(a, a), donate_argnums=0)(jnp.asarray(x))
    np.testing.assert_array_equal(donated[0], 2 * x + np.roll(x, -7))
