"""How much memory the adjoint of a long loop takes."""

from __future__ import annotations

from benchmarks.measurement import measurement
from benchmarks.processes import median_with_empty_caches


@measurement("adjoint of a loop of 1,000,000 steps, two carried floats", "MB", 100.0)
def long_loop() -> float:
    return median_with_empty_caches("loop_memory", repeats=1)
