"""A kernel called from JAX: beside XLA's own operation of the same cost, and beside NVIDIA Warp's ``jax_kernel``.

Nothing is measured where JAX (or Warp) is not installed.
"""

from __future__ import annotations

import importlib.util
import statistics

from benchmarks.measurement import measurement
from benchmarks.processes import run_script

SMALL, LARGE = "16", "4000000"


def _seconds(what: str, size: str) -> float:
    """The median over fresh processes of the time that one compiled call takes."""
    return statistics.median(run_script("jax_calls", what, size) for _ in range(3))


if importlib.util.find_spec("jax") is not None:

    @measurement("jax_kernel in a jit, 16 elements", "µs", 100.0)
    def small_call() -> float:
        return _seconds("treadle", SMALL) * 1e6

    @measurement("jax_kernel in a jit, 16 elements, beside XLA", "×", 1.5)
    def small_beside_xla() -> float:
        return _seconds("treadle", SMALL) / _seconds("xla", SMALL)

    @measurement("jax_kernel in a jit, 4 million elements, beside XLA", "×", 1.5)
    def large_beside_xla() -> float:
        return _seconds("treadle", LARGE) / _seconds("xla", LARGE)

    if importlib.util.find_spec("warp") is not None:

        @measurement("jax_kernel in a jit, 16 elements, beside Warp", "×", 1.0)
        def small_beside_warp() -> float:
            return _seconds("treadle", SMALL) / _seconds("warp", SMALL)

        @measurement("jax_kernel in a jit, 4 million elements, beside Warp", "×", 1.0)
        def large_beside_warp() -> float:
            return _seconds("treadle", LARGE) / _seconds("warp", LARGE)
