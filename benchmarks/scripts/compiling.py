"""Times the first launch of a kernel and the first run of its adjoint: both are compiled then."""

from __future__ import annotations

import sys
import time
from typing import Any

import treadle as wp


def seconds(kernel: Any, inputs: list[Any], loss: Any) -> float:
    """Launch one thread, run backward from ``loss``; the seconds of both. The first argument of the program is the
    folder of the kernel cache."""
    wp.config.kernel_cache_dir = sys.argv[1]
    start = time.perf_counter()
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=1, inputs=inputs, outputs=[loss])
    tape.backward(loss)
    return time.perf_counter() - start
