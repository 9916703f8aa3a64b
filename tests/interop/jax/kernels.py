"""Kernels in float64 and the same functions written in JAX, for the tests of batching and of gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

import treadle as wp

F = wp.float64


@wp.kernel
def _neighbours(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[(i + 1) % x.shape[0]]


@wp.kernel
def _weighted(x: wp.array(dtype=F), w: wp.array(dtype=F), s: F, y: wp.array(dtype=F), t: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = wp.sin(x[i] * s) * w[i]
    wp.atomic_add(t, 0, y[i] * y[i])


@wp.kernel
def _update(a: wp.array(dtype=F), s: F, state: wp.array(dtype=F), out: wp.array(dtype=F)):
    i = wp.tid()
    state[i] *= a[i] * s
    state[i] *= a[i]
    out[i] = state[i] * a[i]


@wp.kernel
def _polynomial(x: wp.array(dtype=F), n: int, y: wp.array(dtype=F)):
    i = wp.tid()
    total = F(0.0)
    for k in range(n):
        total = total * x[i] + wp.cos(F(k) * x[i])
        if total > F(2.5):
            break
    y[i] = total


@wp.kernel
def _columns(m: wp.array2d(dtype=F), v: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    total = F(0.0)
    for j in range(m.shape[1]):
        total += m[i, j] * v[j] * v[j]
    y[i] = total


@wp.kernel
def _vectors(p: wp.array(dtype=wp.vec3d), axis: wp.vec3d, s: F, q: wp.array(dtype=wp.vec3d), r: wp.array(dtype=F)):
    i = wp.tid()
    q[i] = wp.cross(p[i], axis) * s
    r[i] = wp.dot(q[i], p[i] + axis) + s * s


@wp.kernel
def _chained(x: wp.array(dtype=F), u: wp.array(dtype=F), y: wp.array(dtype=F), z: wp.array(dtype=F)):
    i = wp.tid()
    u[i] = F(1.5)
    y[i] = u[i] * F(2.0)
    z[i] = y[i] * x[i]


@dataclass(frozen=True)
class Case:
    """A kernel as a function of JAX, its reference, and arguments. Both return a tuple of arrays."""

    kernel: Any
    reference: Callable[..., Any]
    arguments: tuple[Any, ...]
    settings: dict[str, Any]

    def function(self, **more: Any) -> Callable[..., Any]:
        return wp.jax_kernel(self.kernel, enable_backward=True, **self.settings, **more)

    def floats(self) -> tuple[int, ...]:
        """Positions of the arguments that have a gradient."""
        return tuple(k for k, a in enumerate(self.arguments) if not isinstance(a, int))


def _polynomial_reference(x: Any, n: int) -> Any:
    total, stopped = jnp.zeros_like(x), jnp.zeros(x.shape, bool)
    for k in range(n):
        total = jnp.where(stopped, total, total * x + jnp.cos(k * x))
        stopped = stopped | (total > 2.5)
    return (total,)


def _weighted_reference(x: Any, w: Any, s: Any) -> Any:
    y = jnp.sin(x * s) * w
    return y, jnp.sum(y * y)[None]


def _update_reference(a: Any, s: Any, state: Any) -> Any:
    new = state * a * s * a
    return new, new * a


def _vectors_reference(p: Any, axis: Any, s: Any) -> Any:
    q = jnp.cross(p, axis) * s
    return q, jnp.sum(q * (p + axis), -1) + s * s


def _chained_reference(x: Any) -> Any:
    return jnp.full_like(x, 1.5), jnp.full_like(x, 3.0), 3.0 * x


def cases() -> dict[str, Case]:
    """All cases; to be called with 64 bits enabled."""
    x = jnp.array([0.3, -1.2, 0.7, 1.9, -0.4])
    w = jnp.array([1.5, 0.2, -0.8, 0.6, 1.1])
    s = jnp.array(0.9)
    points = jnp.array([[0.1, 0.5, -0.3], [1.0, -0.7, 0.4]])
    matrix = jnp.array([[0.5, 1.0, -0.2], [0.3, -0.6, 0.8]])
    return {
        "neighbours": Case(_neighbours, lambda x: (x * jnp.roll(x, -1),), (x,), {}),
        "weighted": Case(_weighted, _weighted_reference, (x, w, s), {"num_outputs": 2, "output_dims": {"t": 1}}),
        "update": Case(_update, _update_reference, (x, s, w), {"num_outputs": 2, "in_out_argnames": ["state"]}),
        "polynomial": Case(_polynomial, _polynomial_reference, (x, 6), {}),
        "columns": Case(_columns, lambda m, v: (m @ (v * v),), (matrix, points[1]), {"launch_dims": 2}),
        "vectors": Case(_vectors, _vectors_reference, (points, jnp.array([0.2, 0.9, -0.5]), s), {"num_outputs": 2}),
        "chained": Case(_chained, _chained_reference, (x,), {"num_outputs": 3}),
    }


NAMES = ("neighbours", "weighted", "update", "polynomial", "columns", "vectors", "chained")
