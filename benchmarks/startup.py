"""How long a user waits before the first result: the import, and the first launch of a kernel."""

from __future__ import annotations

import statistics

from benchmarks.measurement import measurement
from benchmarks.processes import REPEATS, median_with_empty_caches, median_with_one_cache, run_script


@measurement("import treadle, beyond NumPy", "s", 0.25)
def import_time() -> float:
    run_script("import_time")  # writes byte code
    return statistics.median(run_script("import_time") for _ in range(REPEATS))


@measurement("first launch, empty cache", "s", 0.2)
def first_launch() -> float:
    return median_with_empty_caches("first_launch")


@measurement("first launch, warm cache", "s", 0.01)
def first_launch_from_cache() -> float:
    return median_with_one_cache("first_launch")
