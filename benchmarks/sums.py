"""What a sum over all threads costs, against NumPy's own."""

from __future__ import annotations

from benchmarks.measurement import measurement
from benchmarks.processes import run_script


@measurement("sum of 1,000,000 squares by atomic_add, in times of numpy.dot", "×", 3)
def sum_of_squares() -> float:
    return run_script("summing")
