"""Gradients of arrays that are members of a struct."""

# ruff: noqa: E741
import numpy as np

import treadle as wp


@wp.struct
class Params:
    w: wp.array(dtype=float)
    b: wp.array(dtype=float)
    lr: float


@wp.kernel
def lin(p: Params, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = p.w[0] * x[i] + p.b[0]


@wp.kernel
def mse(y: wp.array(dtype=float), t: wp.array(dtype=float), l: wp.array(dtype=float)):
    i = wp.tid()
    d = y[i] - t[i]
    wp.atomic_add(l, 0, d * d / float(y.shape[0]))


@wp.kernel
def sgd(p: wp.array(dtype=float), g: wp.array(dtype=float), lr: float):
    i = wp.tid()
    p[i] = p[i] - lr * g[i]


p = Params()
p.w = wp.array([0.0], dtype=float, requires_grad=True)
p.b = wp.array([0.0], dtype=float, requires_grad=True)
p.lr = 0.5
xs = np.linspace(-1, 1, 20).astype(np.float32)
x = wp.array(xs, dtype=float)
t = wp.array(3 * xs + 1, dtype=float)
y = wp.zeros(20, dtype=float, requires_grad=True)
l = wp.zeros(1, dtype=float, requires_grad=True)
for _ in range(40):
    l.zero_()
    with wp.Tape() as tape:
        wp.launch(lin, 20, [p, x], [y])
        wp.launch(mse, 20, [y, t], [l])
    tape.backward(l)
    wp.launch(sgd, 1, [p.w, p.w.grad, p.lr])
    wp.launch(sgd, 1, [p.b, p.b.grad, p.lr])
    tape.zero()
print(np.round(p.w.numpy(), 4), np.round(p.b.numpy(), 4), np.round(l.numpy(), 6))
