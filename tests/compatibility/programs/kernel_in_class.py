"""Kernels and functions as attributes of a class."""

import treadle as wp


class Model:
    @wp.kernel
    def step(x: wp.array(dtype=float), dt: float):
        x[wp.tid()] += dt

    @wp.func
    def helper(x: float):
        return x * 2.0

    def __init__(self, n):
        self.x = wp.zeros(n, dtype=float)
        self.n = n

    def run(self):
        wp.launch(Model.step, dim=self.n, inputs=[self.x, 0.5])
        wp.launch(self.step, dim=self.n, inputs=[self.x, 0.5])


m = Model(3)
m.run()
print(m.x)


@wp.kernel
def useit(x: wp.array(dtype=float)):
    x[wp.tid()] = Model.helper(x[wp.tid()])


wp.launch(useit, 3, [m.x])
print(m.x)
