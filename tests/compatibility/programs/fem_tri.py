"""Triangles of a neo-Hookean solid, descended by a tape's gradient."""

import numpy as np

import treadle as wp


@wp.func
def neo(F: wp.mat22, mu: float, lam: float):
    J = wp.determinant(F)
    I1 = wp.trace(wp.transpose(F) * F)
    return 0.5 * mu * (I1 - 2.0) - mu * wp.log(J) + 0.5 * lam * wp.log(J) ** 2.0


@wp.kernel
def energy(
    x: wp.array(dtype=wp.vec2), tri: wp.array2d(dtype=int), Dm: wp.array(dtype=wp.mat22), e: wp.array(dtype=float)
):
    t = wp.tid()
    i = tri[t, 0]
    j = tri[t, 1]
    k = tri[t, 2]
    Ds = wp.matrix_from_cols(x[j] - x[i], x[k] - x[i])
    F = Ds * Dm[t]
    wp.atomic_add(e, 0, neo(F, 1.0, 10.0) / wp.abs(wp.determinant(Dm[t])) * 0.5)


@wp.kernel
def descend(x: wp.array(dtype=wp.vec2), g: wp.array(dtype=wp.vec2), lr: float):
    i = wp.tid()
    if i >= 2:
        x[i] = x[i] - g[i] * lr


P = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]], dtype=np.float32)
T = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
dm = np.array([np.linalg.inv(np.stack([P[t[1]] - P[t[0]], P[t[2]] - P[t[0]]], 1)) for t in T])
x = wp.array(P * [[1.2, 0.9]], dtype=wp.vec2, requires_grad=True)
tri = wp.array(T, dtype=int)
Dm = wp.array(dm, dtype=wp.mat22)
e = wp.zeros(1, dtype=float, requires_grad=True)
for it in range(25):
    tape = wp.Tape()
    e.zero_()
    with tape:
        wp.launch(energy, 4, [x, tri, Dm], [e])
    tape.backward(e)
    if it % 8 == 0:
        print(round(float(e.numpy()[0]), 5))
    wp.launch(descend, 5, [x, x.grad, 0.02])
    tape.zero()
print(np.round(x.numpy(), 4))
