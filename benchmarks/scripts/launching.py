"""Prints what a small launch costs, in microseconds: plain, as a command, recorded on a tape, played backwards.

``record in place`` overwrites at every launch what the gradient of the launch before needs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import treadle as wp

COUNT = 10_000


@wp.kernel
def step(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * wp.sin(x[i])


def main() -> None:
    x, y = (wp.ones(4, dtype=float, requires_grad=True) for _ in range(2))
    command = wp.launch(step, 4, [x, 0.5, y], record_cmd=True)
    ones = wp.ones(4, dtype=float)

    def record() -> wp.Tape:
        with wp.Tape() as tape:
            for _ in range(COUNT):
                wp.launch(step, 4, [x, 0.5, y])
        return tape

    def record_in_place() -> None:
        with wp.Tape():
            for _ in range(COUNT // 2):
                wp.launch(step, 4, [x, 0.5, y])
                wp.launch(step, 4, [y, 0.5, x])

    tape = record()
    tape.backward(grads={y: ones})
    measured = {
        "launch": lambda: [wp.launch(step, 4, [x, 0.5, y]) for _ in range(COUNT)],
        "command": lambda: [command.launch() for _ in range(COUNT)],
        "record": record,
        "record in place": record_in_place,
        "backward": lambda: tape.backward(grads={y: ones}),
    }
    print(microseconds(measured[sys.argv[1]]))


def microseconds(run: Callable[[], object]) -> float:
    """The best of three, for one launch."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best / COUNT * 1e6


if __name__ == "__main__":
    main()
