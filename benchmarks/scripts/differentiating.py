"""Prints how long a backward pass takes, divided by the time of the forward pass: over 1,000,000 threads, or a loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import treadle as wp

REPEATS = 7


@wp.kernel
def elementwise(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(-x[i])


@wp.kernel
def rosenbrock(x: wp.array(dtype=wp.vec2), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    p = x[i]
    slope = p[1] - p[0] * p[0]
    y[i] = (1.0 - p[0]) * (1.0 - p[0]) + 100.0 * slope * slope


@wp.kernel
def loop(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for _ in range(n):
        s = s + 0.01 * wp.sin(s)
    y[i] = s


CASES = {
    "elementwise": (elementwise, float, 1_000_000),
    "rosenbrock": (rosenbrock, wp.vec2, 1_000_000),
    "loop": (loop, float, 1_000),
}


def main() -> None:
    kernel, dtype, count = CASES[sys.argv[1]]
    shape = (count, 2) if dtype is wp.vec2 else (count,)
    values = np.random.default_rng(0).random(shape, np.float32)
    x = wp.array(values, dtype=dtype, requires_grad=True)
    y = wp.zeros(count, dtype=float, requires_grad=True)
    ones = wp.ones(count, dtype=float)

    def forward() -> None:
        wp.launch(kernel, count, [x, 1_000, y])

    with wp.Tape() as tape:
        forward()
    print(fastest(lambda: tape.backward(grads={y: ones})) / fastest(forward))


def fastest(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
