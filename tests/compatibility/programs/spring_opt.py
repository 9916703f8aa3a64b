"""Stiffness found through a simulation on a tape."""

import numpy as np

import treadle as wp


@wp.kernel
def forward_sim(x: wp.array2d(dtype=float), k: wp.array(dtype=float), t: int, dt: float, v: wp.array2d(dtype=float)):
    i = wp.tid()
    a = -k[i] * x[t, i]
    v[t + 1, i] = v[t, i] + a * dt
    x[t + 1, i] = x[t, i] + v[t + 1, i] * dt


@wp.kernel
def loss_kernel(x: wp.array2d(dtype=float), target: wp.array(dtype=float), t: int, loss: wp.array(dtype=float)):
    i = wp.tid()
    d = x[t, i] - target[i]
    wp.atomic_add(loss, 0, d * d)


@wp.kernel
def gd(k: wp.array(dtype=float), g: wp.array(dtype=float), lr: float):
    i = wp.tid()
    k[i] = k[i] - lr * g[i]


n, T, dt = 4, 20, 0.05
k = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
x = wp.zeros((T + 1, n), dtype=float, requires_grad=True)
v = wp.zeros((T + 1, n), dtype=float, requires_grad=True)
target = wp.array([0.2, 0.1, 0.0, -0.1], dtype=float)
loss = wp.zeros(1, dtype=float, requires_grad=True)
x0 = np.zeros((T + 1, n), dtype=np.float32)
x0[0] = 1.0
for it in range(30):
    x.assign(x0)
    v.zero_()
    loss.zero_()
    tape = wp.Tape()
    with tape:
        for t in range(T):
            wp.launch(forward_sim, dim=n, inputs=[x, k, t, dt], outputs=[v])
        wp.launch(loss_kernel, dim=n, inputs=[x, target, T], outputs=[loss])
    tape.backward(loss=loss)
    if it == 0:
        print(np.round(tape.gradients[k].numpy(), 4), np.round(k.grad.numpy(), 4))
    wp.launch(gd, dim=n, inputs=[k, tape.gradients[k], 0.5])
    tape.zero()
print(round(float(loss.numpy()[0]), 4), np.round(k.numpy(), 4))
