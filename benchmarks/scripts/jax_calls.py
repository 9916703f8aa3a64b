"""Prints the seconds that one call of a compiled JAX function takes: arguments "treadle", "xla" or "warp", and a size.

The function is ``sin(x) * x + 1``, by a Treadle kernel, in JAX's own terms, or by a Warp kernel.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp


def by_treadle() -> Any:
    import treadle as wp

    @wp.kernel
    def function(x: wp.array(dtype=float), y: wp.array(dtype=float)):  # type: ignore[valid-type]
        i = wp.tid()
        y[i] = wp.sin(x[i]) * x[i] + 1.0

    return wp.jax_kernel(function)


def by_warp() -> Any:
    import warp as wp

    @wp.kernel
    def function(x: wp.array(dtype=float), y: wp.array(dtype=float)):  # type: ignore[valid-type]
        i = wp.tid()
        y[i] = wp.sin(x[i]) * x[i] + 1.0

    return wp.jax_kernel(function)


def by_xla() -> Any:
    return lambda x: (jnp.sin(x) * x + 1.0,)


def measure() -> float:
    maker, size = {"treadle": by_treadle, "warp": by_warp, "xla": by_xla}[sys.argv[1]], int(sys.argv[2])
    function = jax.jit(maker())
    x = jnp.linspace(0.0, 1.0, size)
    jax.block_until_ready(function(x))
    count = max(5, min(2000, 20_000_000 // size))
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(count):
            jax.block_until_ready(function(x))
        times.append((time.perf_counter() - begin) / count)
    return min(times)


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):  # Warp talks
        seconds = measure()
    print(seconds)
