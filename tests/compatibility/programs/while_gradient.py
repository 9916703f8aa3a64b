"""The gradient through a while loop."""

import numpy as np

import treadle as wp


@wp.kernel
def newton(a: wp.array(dtype=float), x: wp.array(dtype=float)):
    i = wp.tid()
    y = float(1.0)
    k = int(0)
    while k < 6:
        y = 0.5 * (y + a[i] / y)
        k += 1
    x[i] = y


a = wp.array([2.0, 3.0, 5.0], dtype=float, requires_grad=True)
x = wp.zeros(3, dtype=float, requires_grad=True)
with wp.Tape() as t:
    wp.launch(newton, 3, [a], [x])
t.backward(grads={x: wp.ones(3, dtype=float)})
print(x, np.allclose(x.numpy(), np.sqrt([2, 3, 5])))
