"""Python functions that launch kernels, called from JAX in every graph mode."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle import JaxCallableGraphMode as Mode

jax = pytest.importorskip("jax")
jnp = jax.numpy

MODES = list(Mode)
CAPTURING = [Mode.WARP, Mode.WARP_STAGED, Mode.WARP_STAGED_EX]
STAGED = [Mode.WARP_STAGED, Mode.WARP_STAGED_EX]


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = x[i] + y[i]


@wp.kernel
def sum_up(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])


@wp.kernel
def norms(p: wp.array(dtype=wp.vec3), r: wp.array(dtype=float)):
    i = wp.tid()
    r[i] = wp.length(p[i])


calls: list[str] = []


def steps(
    x: wp.array(dtype=float),
    s: float,
    state: wp.array(dtype=float),
    y: wp.array(dtype=float),
    total: wp.array(dtype=float),
):
    calls.append("steps")
    twice = wp.zeros_like(y)
    wp.launch(scale, dim=x.shape, inputs=[x, 2.0], outputs=[twice])
    wp.launch(scale, dim=x.shape, inputs=[twice, s], outputs=[y])
    wp.launch(add, dim=x.shape, inputs=[state, x], outputs=[state])
    wp.launch(sum_up, dim=x.shape, inputs=[y], outputs=[total])


X = np.arange(5, dtype=np.float32)
SETTINGS: dict[str, Any] = {"num_outputs": 3, "in_out_argnames": ["state"], "output_dims": {"total": 1}}


def expected(x: Any, s: Any, state: Any) -> Any:
    return state + x, 2 * s * x, jnp.sum(2 * s * x)[None]


def check(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [float, jnp.float32], ids=["static", "traced"])
def test_values(mode: Mode, make: Any) -> None:
    f = wp.jax_callable(steps, graph_mode=mode, **SETTINGS)
    state = jnp.ones(5)
    for call in (f, jax.jit(f, static_argnums=1 if make is float else ())):
        for s in (2.0, 3.0, 2.0):
            for k in range(3):
                x = jnp.asarray(X + k)
                check(call(x, make(s), state), expected(x, s, state))
    np.testing.assert_array_equal(state, np.ones(5))


@pytest.mark.parametrize("mode", MODES)
def test_within_a_loop(mode: Mode) -> None:
    f = wp.jax_callable(steps, graph_mode=mode, **SETTINGS)
    final, _ = jax.jit(lambda c: jax.lax.scan(lambda c, x: (f(x, 1.0, c)[0], None), c, jnp.stack([X, 2 * X])))(X)
    np.testing.assert_array_equal(final, 4 * X)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims", "sequential"])
def test_batches(mode: Mode, method: str) -> None:
    f = wp.jax_callable(steps, graph_mode=mode, vmap_method=method, **SETTINGS)
    x, s, state = jnp.stack([X, X + 1, -X]), jnp.arange(3.0), jnp.ones((3, 5))
    for axes in ((0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)):
        arguments = [a if axis == 0 else a[1] for a, axis in zip((x, s, state), axes)]
        check(jax.vmap(f, axes)(*arguments), jax.vmap(expected, axes)(*arguments))


@pytest.mark.parametrize("mode", CAPTURING)
def test_captured_once_and_replayed_until_forgotten(mode: Mode) -> None:
    def move(x: wp.array(dtype=float), state: wp.array(dtype=float)):
        calls.append("move")
        wp.launch(add, dim=x.shape, inputs=[state, x], outputs=[state])

    f = wp.jax_callable(move, graph_mode=mode, in_out_argnames=["state"])
    program = jax.jit(f, donate_argnums=1)  # so that the buffers stay the same
    x, state = jnp.asarray(X), jnp.zeros(5)

    def run(count: int) -> int:
        nonlocal state
        calls.clear()
        for _ in range(count):
            (state,) = program(x, state)
        jax.block_until_ready(state)
        return len(calls)

    assert run(10) == 1
    assert run(10) == 0
    np.testing.assert_array_equal(state, 20 * X)
    wp.clear_jax_callable_graph_cache(f)
    assert run(2) == 1
    wp.clear_jax_callable_graph_cache()
    assert run(2) == 1
    np.testing.assert_array_equal(state, 24 * X)


def test_without_capture_the_function_runs_every_time() -> None:
    for mode in (Mode.NONE, Mode.JAX):
        f = wp.jax_callable(steps, graph_mode=mode, **SETTINGS)
        calls.clear()
        for _ in range(4):
            jax.block_until_ready(f(X, 2.0, X))
        assert len(calls) == 4


def test_the_number_of_graphs_is_limited() -> None:
    f = wp.jax_callable(steps, graph_mode=Mode.WARP, graph_cache_max=2, **SETTINGS)
    for k in range(6):
        jax.block_until_ready(f(X, jnp.float32(k), X))
    (operation,) = f._operations.values()
    assert len(operation.graphs) == 2


@pytest.mark.parametrize("mode", STAGED)
def test_inputs_that_are_not_staged_keep_what_they_were(mode: Mode) -> None:
    vector = wp.array(dtype=float)

    def sum_of(x: vector, y: vector, z: vector, other: vector):
        wp.launch(add, dim=x.shape, inputs=[x, y], outputs=[z])
        wp.launch(add, dim=x.shape, inputs=[x, y], outputs=[other])

    f = wp.jax_callable(sum_of, num_outputs=2, graph_mode=mode, stage_in_argnames=["x"], stage_out_argnames=["z"])
    f(X, X)
    z, other = f(2 * X, 100 * X)
    np.testing.assert_array_equal(z, 3 * X)
    np.testing.assert_array_equal(other, 0 * X)


def test_vectors_and_output_dims() -> None:
    def of(p: wp.array(dtype=wp.vec3), r: wp.array(dtype=float)):
        wp.launch(norms, dim=p.shape, inputs=[p], outputs=[r])

    p = np.arange(12, dtype=np.float32).reshape(4, 3)
    f = wp.jax_callable(of)
    np.testing.assert_allclose(f(p)[0], np.linalg.norm(p, axis=1), rtol=1e-6)
    np.testing.assert_allclose(f(p, output_dims=6)[0], [*np.linalg.norm(p, axis=1), 0, 0], rtol=1e-6)


def test_composites_static_and_traced() -> None:
    @wp.kernel
    def shift(p: wp.array(dtype=wp.vec3), by: wp.vec3, q: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        q[i] = p[i] + by

    def shifted(p: wp.array(dtype=wp.vec3), by: wp.vec3, q: wp.array(dtype=wp.vec3)):
        wp.launch(shift, dim=p.shape, inputs=[p, by], outputs=[q])

    f = wp.jax_callable(shifted)
    p = np.ones((4, 3), np.float32)
    for by in (wp.vec3(1.0, 2.0, 3.0), jnp.array([1.0, 2.0, 3.0])):
        np.testing.assert_array_equal(f(p, by)[0], p + np.array([1, 2, 3]))


def test_what_the_function_raises_is_an_error_with_its_message() -> None:
    def writes_to_input(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(scale, dim=x.shape, inputs=[y, 1.0], outputs=[x])

    with pytest.raises(Exception, match="writes_to_input.*kernel scale.*read-only"):
        jax.block_until_ready(wp.jax_callable(writes_to_input)(X))

    def fails(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        raise RuntimeError("not today")

    with pytest.raises(Exception, match="fails: RuntimeError: not today"):
        jax.block_until_ready(wp.jax_callable(fails)(X))


def test_functions_that_do_not_fit() -> None:
    def without(x, y: wp.array(dtype=float)):  # type: ignore[no-untyped-def]
        pass

    with pytest.raises(TypeError, match="parameter x"):
        wp.jax_callable(without)
    with pytest.raises(TypeError, match="Python function"):
        wp.jax_callable(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="stage_in_argnames"):
        wp.jax_callable(steps, stage_in_argnames=["nothing"], **SETTINGS)
    with pytest.raises(ValueError):
        wp.jax_callable(steps, graph_mode=7, **SETTINGS)  # type: ignore[arg-type]


def test_many_threads_at_once() -> None:
    for mode in MODES:
        f = jax.jit(wp.jax_callable(steps, graph_mode=mode, **SETTINGS), static_argnums=1)
        wrong: list[int] = []

        def work(seed: int) -> None:
            x = np.random.default_rng(seed).random(300, np.float32)
            for _ in range(10):
                if not np.allclose(f(x, 2.0, x)[1], 4 * x):  # noqa: B023
                    wrong.append(seed)  # noqa: B023

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
