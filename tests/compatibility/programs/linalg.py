"""Cholesky factorisation in a kernel, and its gradient."""

import numpy as np

import treadle as wp

mat66 = wp.types.matrix(shape=(6, 6), dtype=float)
vec6 = wp.types.vector(length=6, dtype=float)


@wp.func
def cholesky(A: mat66):
    L = mat66()
    for i in range(6):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = wp.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L


@wp.func
def solve(L: mat66, b: vec6):
    y = vec6()
    for i in range(6):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * y[j]
        y[i] = s / L[i, i]
    x = vec6()
    for ii in range(6):
        i = 5 - ii
        s = y[i]
        for j in range(i + 1, 6):
            s -= L[j, i] * x[j]
        x[i] = s / L[i, i]
    return x


@wp.kernel
def k(A: wp.array(dtype=mat66), b: wp.array(dtype=vec6), x: wp.array(dtype=vec6)):
    i = wp.tid()
    x[i] = solve(cholesky(A[i]), b[i])


rng = np.random.default_rng(0)
B = rng.normal(size=(3, 6, 6))
An = B @ B.transpose(0, 2, 1) + 6 * np.eye(6)
bn = rng.normal(size=(3, 6))
A = wp.array(An, dtype=mat66, requires_grad=True)
b = wp.array(bn, dtype=vec6, requires_grad=True)
x = wp.zeros(3, dtype=vec6, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(k, 3, [A, b], [x])
print(np.round(x.numpy(), 4).tolist(), np.allclose(x.numpy(), np.linalg.solve(An, bn[..., None])[..., 0], atol=1e-4))
tape.backward(grads={x: wp.ones(3, dtype=vec6)})
print(np.round(b.grad.numpy(), 3).tolist())
