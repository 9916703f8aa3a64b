"""A chain of constraints, in a class."""

# ruff: noqa: E741
import numpy as np

import treadle as wp


class Chain:
    def __init__(self, n, device=None):
        with wp.ScopedDevice(device):
            self.n = n
            self.x = wp.array([(i * 0.1, 0.0) for i in range(n)], dtype=wp.vec2)
            self.xp = wp.clone(self.x)
            self.delta = wp.zeros(n, dtype=wp.vec2)

    def step(self, dt):
        wp.launch(predict, self.n, inputs=[self.x, self.xp, dt])
        for _ in range(5):
            self.delta.zero_()
            wp.launch(constrain, self.n - 1, inputs=[self.x, 0.1], outputs=[self.delta])
            wp.launch(apply, self.n, inputs=[self.x, self.delta])


@wp.kernel
def predict(x: wp.array(dtype=wp.vec2), xp: wp.array(dtype=wp.vec2), dt: float):
    i = wp.tid()
    if i == 0:
        return
    cur = x[i]
    x[i] = 2.0 * cur - xp[i] + wp.vec2(0.0, -9.81) * dt * dt
    xp[i] = cur


@wp.kernel
def constrain(x: wp.array(dtype=wp.vec2), rest: float, d: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    e = x[i + 1] - x[i]
    l = wp.length(e)
    c = e / l * (l - rest) * 0.5
    if i > 0:
        wp.atomic_add(d, i, c * 0.5)
    wp.atomic_add(d, i + 1, -c * 0.5)


@wp.kernel
def apply(x: wp.array(dtype=wp.vec2), d: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    x[i] += d[i]


c = Chain(10, "cpu")
for _ in range(50):
    c.step(0.01)
print(np.round(c.x.numpy(), 3))
