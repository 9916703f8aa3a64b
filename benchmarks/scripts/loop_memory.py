"""Prints the megabytes by which the adjoint of a loop of 1,000,000 iterations raises the peak of the process.

Argument: the folder of the kernel cache. The loop carries two floats and runs in one thread.
"""

import resource
import sys

import numpy as np

import treadle as wp

STEPS = 1_000_000


@wp.kernel
def rotate(angle: wp.array(dtype=float), steps: int, loss: wp.array(dtype=float)):
    a = angle[0]
    x = 1.0
    y = 0.0
    for _ in range(steps):
        x = x - a * y
        y = y + a * x
    loss[0] = x * y


def peak() -> float:
    """The largest resident set of the process so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


def gradient(steps: int) -> float:
    angle = wp.array(np.array([1e-6], dtype=np.float32), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(rotate, dim=1, inputs=[angle, steps], outputs=[loss])
    tape.backward(loss)
    return float(angle.grad.numpy()[0])


wp.config.kernel_cache_dir = sys.argv[1]
gradient(1)  # compiles
before = peak()
derivative = gradient(STEPS)
print(peak() - before)
expected = STEPS * np.cos(2.0 * STEPS * 1e-6)  # x y is close to sin(2 a n) / 2
assert abs(derivative / expected - 1.0) < 0.05, derivative
