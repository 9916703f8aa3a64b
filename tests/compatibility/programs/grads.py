"""Gradients through quaternions, matrices, transforms, and a derivative by hand."""

# ruff: noqa: E741
import numpy as np

import treadle as wp


@wp.kernel
def k(
    x: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.quat),
    m: wp.array(dtype=wp.mat33),
    t: wp.array(dtype=wp.transform),
    l: wp.array(dtype=float),
):
    i = wp.tid()
    v = wp.quat_rotate(q[i], x[i])
    w = m[i] @ v
    u = wp.transform_point(t[i], w)
    l[i] = wp.dot(u, u) + wp.length(v) + wp.determinant(m[i]) + wp.trace(wp.inverse(m[i]))


rng = np.random.default_rng(0)
n = 2
x = wp.array(rng.normal(size=(n, 3)), dtype=wp.vec3, requires_grad=True)
q = wp.array(rng.normal(size=(n, 4)), dtype=wp.quat, requires_grad=True)
m = wp.array(rng.normal(size=(n, 3, 3)), dtype=wp.mat33, requires_grad=True)
t = wp.array(rng.normal(size=(n, 7)), dtype=wp.transform, requires_grad=True)
l = wp.zeros(n, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(k, n, [x, q, m, t], [l])
tape.backward(grads={l: wp.ones(n, dtype=float)})
for a in (l, x.grad, q.grad, m.grad, t.grad):
    print(np.round(a.numpy(), 2).tolist())


@wp.func
def safe_sqrt(x: float):
    return wp.sqrt(x)


@wp.func_grad(safe_sqrt)
def adj_safe_sqrt(x: float, adj_ret: float):
    if x > 0.0:
        wp.adjoint[x] += 1.0 / (2.0 * wp.sqrt(x)) * adj_ret


@wp.kernel
def run(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = safe_sqrt(x[i])


x = wp.array([1.0, 2.0, 0.0], dtype=float, requires_grad=True)
y = wp.zeros(3, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(run, 3, [x], [y])
y.grad = wp.ones(3, dtype=float)
tape.backward()
print(x.grad)
