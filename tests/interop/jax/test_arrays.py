"""JAX arrays and arrays share memory; dtypes and devices correspond."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import treadle as wp

jax = pytest.importorskip("jax")
jnp = jax.numpy

SCALARS = [wp.bool, wp.int8, wp.int16, wp.int32, wp.uint8, wp.uint16, wp.uint32, wp.float16, wp.bfloat16, wp.float32]


@wp.kernel
def double_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel
def copy_elements(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_every_dtype_that_jax_has_goes_both_ways(scalar: Any) -> None:
    dtype = wp.dtype_to_jax(scalar)
    assert wp.dtype_from_jax(dtype) is scalar
    values = jnp.asarray(np.array([[0, 1, 1], [1, 0, 1]]), dtype)
    there = wp.from_jax(values)
    assert there.dtype is scalar and there.shape == (2, 3)
    back = wp.to_jax(there)
    assert back.dtype == dtype
    np.testing.assert_array_equal(np.asarray(back, np.float32), np.asarray(values, np.float32))


def test_64_bits() -> None:
    with jax.enable_x64(True):
        for scalar in (wp.int64, wp.uint64, wp.float64):
            a = wp.array(np.arange(32), dtype=scalar)
            assert wp.to_jax(a).unsafe_buffer_pointer() == a.ptr
            assert wp.from_jax(wp.to_jax(a)).dtype is scalar


def test_from_jax_shares_memory_and_is_read_only() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    a = wp.from_jax(x)
    assert a.ptr == x.unsafe_buffer_pointer()
    assert a.readonly
    with pytest.raises(wp.LaunchError, match="read-only"):
        wp.launch(double_in_place, dim=6, inputs=[a.flatten()])


def test_from_jax_keeps_the_memory_alive() -> None:
    a = wp.from_jax(jnp.arange(1000.0) + 1.0)
    gc.collect()
    jnp.zeros(1000).block_until_ready()
    np.testing.assert_array_equal(a.numpy(), np.arange(1000.0) + 1.0)


def test_to_jax_shares_memory_and_keeps_it_alive() -> None:
    a = wp.array(np.arange(1000.0, dtype=np.float32))
    x = wp.to_jax(a)
    assert x.unsafe_buffer_pointer() == a.ptr
    del a
    gc.collect()
    np.testing.assert_array_equal(np.asarray(x), np.arange(1000.0))


def test_there_and_back_is_the_same_memory() -> None:
    x = jnp.arange(64.0)
    assert wp.to_jax(wp.from_jax(x)).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()


def test_components_are_the_trailing_dimensions() -> None:
    x = jnp.arange(24.0).reshape(2, 4, 3)
    a = wp.from_jax(x, dtype=wp.vec3)
    assert a.shape == (2, 4) and a.dtype is wp.vec3
    assert wp.to_jax(a).shape == (2, 4, 3)
    m = wp.from_jax(jnp.ones((5, 2, 2)), dtype=wp.mat22)
    assert m.shape == (5,)
    with pytest.raises(RuntimeError):
        wp.from_jax(jnp.ones((5, 2)), dtype=wp.vec3)
    with pytest.raises(TypeError, match="int32"):
        wp.from_jax(jnp.ones((5, 3), jnp.int32), dtype=wp.vec3)


def test_arrays_with_gaps_are_copied() -> None:
    a = wp.array(np.arange(10.0, dtype=np.float32))[::2]
    np.testing.assert_array_equal(np.asarray(wp.to_jax(a)), a.numpy())


def test_no_elements_and_no_dimensions() -> None:
    assert wp.from_jax(jnp.zeros((0, 3))).shape == (0, 3)
    assert wp.to_jax(wp.zeros(0)).shape == (0,)
    assert wp.from_jax(jnp.float32(3.0)).numpy().tolist() == [3.0]


def test_launch_takes_jax_arrays_as_inputs() -> None:
    x = jnp.arange(8.0)
    y = wp.zeros(8)
    wp.launch(copy_elements, dim=8, inputs=[x], outputs=[y])
    np.testing.assert_array_equal(y.numpy(), np.arange(8.0))
    with pytest.raises(wp.LaunchError, match="read-only"):
        wp.launch(copy_elements, dim=8, inputs=[y], outputs=[x])
    np.testing.assert_array_equal(np.asarray(x), np.arange(8.0))


def test_devices() -> None:
    assert wp.device_from_jax(jax.devices("cpu")[0]) == wp.get_device("cpu")
    assert wp.device_to_jax("cpu").platform == "cpu"


@pytest.mark.parametrize("dtype", ["complex64", "int4"])
def test_dtypes_without_counterpart(dtype: str) -> None:
    with pytest.raises(TypeError, match=dtype):
        wp.dtype_from_jax(getattr(jnp, dtype))


def test_dtype_to_jax_takes_scalars_only() -> None:
    with pytest.raises(TypeError):
        wp.dtype_to_jax(wp.vec3)
    assert wp.dtype_to_jax(float) == np.float32
