"""Kernels under ``jax.shard_map`` over two devices of one process, with and without the check of varying axes."""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import treadle as wp


@wp.kernel
def weigh(x: wp.array(dtype=float), w: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * w[i % w.shape[0]] * s


@wp.kernel
def add_up(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])


def host_weigh(x: wp.array(dtype=float), w: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    wp.launch(weigh, dim=x.shape, inputs=[x, w, s], outputs=[y])


def reference(x: Any, w: Any, s: Any) -> Any:
    return x * w[jnp.arange(x.shape[0]) % 2] * s


def repeated(x: Any, w: Any, s: Any) -> Any:
    for _ in range(3):
        x = reference(x, w, s)
    return x


def close(found: Any, expected: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, expected)


def check(check_vma: bool) -> None:
    f = wp.jax_kernel(weigh, enable_backward=True)
    total = wp.jax_kernel(add_up, output_dims=1, enable_backward=True)
    from_host = wp.jax_callable(host_weigh)
    arguments = jnp.arange(8.0), jnp.array([1.0, 2.0]), jnp.float32(0.5)

    def sharded(function: Any, out: Any) -> Any:
        specs = {"in_specs": (P("i"), P(), P()), "out_specs": out}
        return jax.shard_map(function, mesh=MESH, check_vma=check_vma, **specs)

    once = sharded(lambda *a: f(*a)[0], P("i"))
    in_scan = sharded(lambda x, w, s: jax.lax.scan(lambda c, _: (f(c, w, s)[0], None), x, None, length=3)[0], P("i"))
    summed = sharded(lambda *a: jax.lax.psum(total(f(*a)[0])[0][0], "i"), P())
    for wrap in (lambda g: g, jax.jit):
        close(wrap(once)(*arguments), reference(*arguments))
        close(wrap(in_scan)(*arguments), repeated(*arguments))
        close(wrap(summed)(*arguments), reference(*arguments).sum())
        close(wrap(sharded(lambda *a: from_host(*a)[0], P("i")))(*arguments), reference(*arguments))
    every = (0, 1, 2)
    close(
        jax.grad(lambda *a: (in_scan(*a) ** 2).sum(), every)(*arguments),
        jax.grad(lambda *a: (repeated(*a) ** 2).sum(), every)(*arguments),
    )
    close(jax.grad(summed, every)(*arguments), jax.grad(lambda *a: reference(*a).sum(), every)(*arguments))
    batch = jnp.stack([arguments[0], 2 * arguments[0]])
    close(
        jax.vmap(once, (0, None, None))(batch, *arguments[1:]),
        jax.vmap(reference, (0, None, None))(batch, *arguments[1:]),
    )


MESH = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
assert len(jax.devices()) == 2
check(True)
check(False)
print("sharded: all right")
