"""``jax.vmap`` over kernels: all methods, all axes, nested, and with gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treadle as wp

jax = pytest.importorskip("jax")
jnp = jax.numpy

from tests.interop.jax import kernels  # noqa: E402

METHODS = ("broadcast_all", "expand_dims", "sequential")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def batched(value: Any, axis: int, count: int = 3) -> Any:
    """``count`` variations of an array along a new axis."""
    return jnp.stack([value * (1.0 + 0.1 * k) for k in range(count)], axis=axis)


def every_choice(case: kernels.Case) -> Iterator[tuple[Any, ...]]:
    """Axes for ``vmap``: each argument with a gradient alone, all of them, and the last axis of arrays."""
    floats = case.floats()
    for chosen in [(k,) for k in floats] + [floats]:
        yield tuple(0 if k in chosen else None for k in range(len(case.arguments)))
    if all(case.arguments[k].ndim for k in floats):
        yield tuple(-1 if k in floats else None for k in range(len(case.arguments)))


def close(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_values(name: str, method: str) -> None:
    case = kernels.cases()[name]
    function = case.function(vmap_method=method)
    for axes in every_choice(case):
        arguments = [a if axis is None else batched(a, axis) for a, axis in zip(case.arguments, axes)]
        close(jax.vmap(function, axes)(*arguments), jax.vmap(case.reference, axes)(*arguments))
    compiled = jax.jit(jax.vmap(function, axes), static_argnums=1 if name == "polynomial" else ())
    close(compiled(*arguments), jax.vmap(case.reference, axes)(*arguments))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_nested_with_different_arguments_at_each_level(name: str, method: str) -> None:
    case = kernels.cases()[name]
    floats = case.floats()
    inner = tuple(0 if k == floats[0] else None for k in range(len(case.arguments)))
    outer = tuple(0 if k == floats[-1] else None for k in range(len(case.arguments)))
    arguments = list(case.arguments)
    arguments[floats[0]] = batched(arguments[floats[0]], 0, 2)
    arguments[floats[-1]] = batched(arguments[floats[-1]], 0, 4)
    function = case.function(vmap_method=method)
    found = jax.vmap(jax.vmap(function, inner), outer)(*arguments)
    close(found, jax.vmap(jax.vmap(case.reference, inner), outer)(*arguments))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_gradients_of_batches_and_batches_of_gradients(name: str, method: str) -> None:
    case = kernels.cases()[name]
    floats = case.floats()

    def loss(function: Any) -> Any:
        return lambda *a: sum(jnp.sum(jnp.sin(out)) for out in function(*a))

    function = case.function(vmap_method=method)
    choices = list(every_choice(case))
    for axes in (choices[0], choices[-1]):
        arguments = [a if axis is None else batched(a, axis) for a, axis in zip(case.arguments, axes)]
        found = jax.grad(loss(jax.vmap(function, axes)), floats)(*arguments)
        close(found, jax.grad(loss(jax.vmap(case.reference, axes)), floats)(*arguments))
        found = jax.vmap(jax.grad(loss(function), floats), axes)(*arguments)
        close(found, jax.vmap(jax.grad(loss(case.reference), floats), axes)(*arguments))


def test_custom_launch_dimensions_do_not_count_the_batch() -> None:
    @wp.kernel
    def fill(x: wp.array(dtype=wp.float64), y: wp.array2d(dtype=wp.float64)):
        i, j = wp.tid()
        y[i, j] = x[i] + wp.float64(j)

    x = jnp.arange(6.0).reshape(3, 2)
    for method in METHODS:
        f = wp.jax_kernel(fill, launch_dims=(2, 5), vmap_method=method)
        np.testing.assert_array_equal(jax.vmap(f)(x)[0], x[:, :, None] + jnp.arange(5.0))
        g = wp.jax_kernel(fill)
        found = jax.vmap(lambda v: g(v, launch_dims=(2, 3), output_dims=(2, 5), vmap_method=method))(x)  # noqa: B023
        np.testing.assert_array_equal(found[0][:, :, :3], x[:, :, None] + jnp.arange(3.0))
        np.testing.assert_array_equal(found[0][:, :, 3:], np.zeros((3, 2, 2)))


def test_an_empty_batch() -> None:
    case = kernels.cases()["neighbours"]
    for method in METHODS:
        assert jax.vmap(case.function(vmap_method=method))(jnp.zeros((0, 5)))[0].shape == (0, 5)
