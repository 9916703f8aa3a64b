"""Prints the seconds that the sum of squares of a vector of 256 and its adjoint take to compile."""

import numpy as np

import treadle as wp
from benchmarks.scripts.compiling import seconds

vector = wp.types.vector(length=256, dtype=wp.float32)


@wp.kernel
def sum_of_squares(x: wp.array(dtype=vector), loss: wp.array(dtype=float)):
    v = x[0]
    total = float(0.0)
    for k in range(256):
        total += v[k] * v[k]
    wp.atomic_add(loss, 0, total)


values = np.arange(256, dtype=np.float32)[None]
x = wp.array(values, dtype=vector, requires_grad=True)
loss = wp.zeros(1, dtype=float, requires_grad=True)
print(seconds(sum_of_squares, [x], loss))
np.testing.assert_allclose(x.grad.numpy(), 2.0 * values)
