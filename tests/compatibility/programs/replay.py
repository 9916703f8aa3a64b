"""A counter with a replay function."""

import numpy as np

import treadle as wp


@wp.func
def counter(c: wp.array(dtype=int), tids: wp.array(dtype=int), tid: int):
    j = wp.atomic_add(c, 0, 1)
    tids[tid] = j
    return j


@wp.func_replay(counter)
def counter_replay(c: wp.array(dtype=int), tids: wp.array(dtype=int), tid: int):
    return tids[tid]


@wp.kernel
def k(c: wp.array(dtype=int), tids: wp.array(dtype=int), x: wp.array(dtype=float), o: wp.array(dtype=float)):
    tid = wp.tid()
    i = counter(c, tids, tid)
    o[i] = wp.sqrt(x[i])


c = wp.zeros(1, dtype=int)
tids = wp.zeros(8, dtype=int)
x = wp.array(np.arange(1, 9), dtype=float, requires_grad=True)
o = wp.zeros(8, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(k, 8, [c, tids, x, o])
tape.backward(grads={o: wp.ones(8, dtype=float)})
print(x.grad, c)
