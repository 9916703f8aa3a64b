"""Run in a process of its own by ``test_tape``: prints how much memory a backward pass, or a thousand, take."""

import os
import resource
import sys

import treadle as wp


@wp.kernel
def long_loop(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    b = float(0.5)
    for k in range(n):
        a, b = wp.sin(a) + b * 0.1, wp.cos(b) * a
    y[i] = a * b


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for k in range(5):
        s = s * x[i] + 0.1
    y[i] = s


def peak() -> int:
    """Bytes of memory at the highest point so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def current() -> int:
    """Bytes of memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_long_loop() -> int:
    def run(n: int) -> None:
        x = wp.array([0.7], dtype=float, requires_grad=True)
        y = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(long_loop, dim=1, inputs=[x, n], outputs=[y])
        tape.backward(y)

    run(10)
    before = peak()
    run(1_000_000)
    return peak() - before


def run_thousand_passes() -> int:
    def run(count: int) -> None:
        for _ in range(count):
            x = wp.ones(1000, dtype=float, requires_grad=True)
            y = wp.zeros(1000, dtype=float, requires_grad=True)
            seed = wp.ones(1000, dtype=float)
            with wp.Tape() as tape:
                wp.launch(square, dim=1000, inputs=[x], outputs=[y])
                wp.launch(square, dim=1000, inputs=[y], outputs=[x])
            tape.backward(grads={x: seed})

    run(100)
    before = current()
    run(1000)
    return current() - before


if __name__ == "__main__":
    print({"loop": run_long_loop, "repeat": run_thousand_passes}[sys.argv[1]]())
