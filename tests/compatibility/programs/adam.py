"""The optimisers that come with the library."""

# ruff: noqa: E741
import numpy as np

import treadle as wp
from treadle.optim import SGD, Adam


@wp.kernel
def loss_k(x: wp.array(dtype=wp.vec3), l: wp.array(dtype=float)):
    i = wp.tid()
    d = x[i] - wp.vec3(1.0, -2.0, 0.0)
    wp.atomic_add(l, 0, wp.dot(d, d))


for make in (
    lambda p: Adam(p, lr=0.1),
    lambda p: SGD(p, lr=0.05),
    lambda p: SGD(p, lr=0.02, momentum=0.9, nesterov=False),
):
    x = wp.zeros(3, dtype=wp.vec3, requires_grad=True)
    l = wp.zeros(1, dtype=float, requires_grad=True)
    opt = make([x])
    for _ in range(60):
        l.zero_()
        with wp.Tape() as tape:
            wp.launch(loss_k, 3, [x], [l])
        tape.backward(l)
        opt.step([x.grad])
        tape.zero()
    print(np.round(x.numpy()[0], 4))
