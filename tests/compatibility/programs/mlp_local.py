"""A small network of vectors and matrices."""

# ruff: noqa: E741
import numpy as np

import treadle as wp

vec8 = wp.types.vector(length=8, dtype=wp.float32)
mat84 = wp.types.matrix(shape=(8, 4), dtype=wp.float32)
mat18 = wp.types.matrix(shape=(1, 8), dtype=wp.float32)
vec4 = wp.types.vector(length=4, dtype=wp.float32)


@wp.func
def act(h: vec8):
    o = vec8()
    for i in range(8):
        o[i] = wp.tanh(h[i])
    return o


@wp.kernel
def net(x: wp.array(dtype=vec4), W1: wp.array(dtype=mat84), W2: wp.array(dtype=mat18), l: wp.array(dtype=float)):
    i = wp.tid()
    h = act(W1[0] @ x[i])
    y = W2[0] @ h
    wp.atomic_add(l, 0, y[0] * y[0])


rng = np.random.default_rng(1)
x = wp.array(rng.normal(size=(10, 4)), dtype=vec4)
W1 = wp.array(rng.normal(size=(1, 8, 4)), dtype=mat84, requires_grad=True)
W2 = wp.array(rng.normal(size=(1, 1, 8)), dtype=mat18, requires_grad=True)
l = wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as t:
    wp.launch(net, 10, [x, W1, W2, l])
t.backward(l)
print(np.round(l.numpy(), 3), np.round(W1.grad.numpy()[0, :2], 3), np.round(W2.grad.numpy(), 3))
