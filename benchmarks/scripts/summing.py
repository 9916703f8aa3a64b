"""Prints how long ``atomic_add`` takes to sum 1,000,000 squares, divided by the time that ``numpy.dot`` takes."""

from __future__ import annotations

import numpy as np

import treadle as wp
from benchmarks.scripts.differentiating import fastest

COUNT = 1_000_000


@wp.kernel
def sum_of_squares(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * x[i])


def main() -> None:
    values = np.random.default_rng(0).random(COUNT, np.float32)
    x, total = wp.array(values, dtype=float), wp.zeros(1, dtype=float)
    ours = fastest(lambda: wp.launch(sum_of_squares, COUNT, [x, total]))
    print(ours / fastest(lambda: np.dot(values, values)))


if __name__ == "__main__":
    main()
