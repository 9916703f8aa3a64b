"""Launches in all their forms."""

import numpy as np

import treadle as wp


@wp.kernel
def add(a: wp.array(dtype=float), v: float):
    a[wp.tid()] += v


a = wp.zeros(3, dtype=float)


@wp.kernel
def nop():
    pass


s = wp.get_stream() if wp.get_device().is_cuda else None
with wp.ScopedTimer("x", active=False, synchronize=True):
    wp.launch(add, dim=3, inputs=(a, 1.0), stream=None)
wp.launch(nop, dim=4)
wp.launch(add, dim=0, inputs=[a, 1.0])
print(a)
wp.launch(kernel=add, dim=(3,), inputs=[a], outputs=[2.0])
print(a)
wp.launch(add, np.int64(3), [a, np.float32(1.5)])
print(a)
