"""Prints the seconds that a 12×12 matrix product and its adjoint take to compile."""

import numpy as np

import treadle as wp
from benchmarks.scripts.compiling import seconds

matrix = wp.types.matrix(shape=(12, 12), dtype=wp.float32)


@wp.kernel
def product(a: wp.array(dtype=matrix), b: wp.array(dtype=matrix), loss: wp.array(dtype=float)):
    c = a[0] * b[0]
    wp.atomic_add(loss, 0, wp.ddot(c, c))


rng = np.random.default_rng(0)
a, b = (rng.standard_normal((1, 12, 12)).astype(np.float32) for _ in range(2))
inputs = [wp.array(value, dtype=matrix, requires_grad=True) for value in (a, b)]
loss = wp.zeros(1, dtype=float, requires_grad=True)
print(seconds(product, inputs, loss))
np.testing.assert_allclose(inputs[0].grad.numpy()[0], 2.0 * a[0] @ b[0] @ b[0].T, rtol=1e-3, atol=1e-3)
