"""A stable-fluids step and its gradient."""

import numpy as np

import treadle as wp

N = wp.constant(16)


@wp.func
def lookup(f: wp.array2d(dtype=float), x: int, y: int):
    return f[wp.clamp(x, 0, N - 1), wp.clamp(y, 0, N - 1)]


@wp.func
def bilerp(f: wp.array2d(dtype=float), x: float, y: float):
    lx = int(wp.floor(x))
    ly = int(wp.floor(y))
    tx = x - float(lx)
    ty = y - float(ly)
    s0 = wp.lerp(lookup(f, lx, ly), lookup(f, lx + 1, ly), tx)
    s1 = wp.lerp(lookup(f, lx, ly + 1), lookup(f, lx + 1, ly + 1), tx)
    return wp.lerp(s0, s1, ty)


@wp.kernel
def advect(u: wp.array2d(dtype=wp.vec2), rho0: wp.array2d(dtype=float), rho1: wp.array2d(dtype=float), dt: float):
    i, j = wp.tid()
    vel = u[i, j]
    p = wp.vec2(float(i), float(j)) - vel * dt
    rho1[i, j] = bilerp(rho0, p[0], p[1])


@wp.kernel
def div(u: wp.array2d(dtype=wp.vec2), d: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i == N - 1 or j == N - 1:
        return
    d[i, j] = (u[i + 1, j][0] - u[i, j][0]) * 0.5 + (u[i, j + 1][1] - u[i, j][1]) * 0.5


@wp.kernel
def jacobi(p0: wp.array2d(dtype=float), p1: wp.array2d(dtype=float), d: wp.array2d(dtype=float)):
    i, j = wp.tid()
    p1[i, j] = (
        lookup(p0, i - 1, j) + lookup(p0, i + 1, j) + lookup(p0, i, j - 1) + lookup(p0, i, j + 1) - d[i, j]
    ) * 0.25


rng = np.random.default_rng(0)
n = int(N)
u = wp.array(rng.normal(size=(n, n, 2)), dtype=wp.vec2, requires_grad=True)
rho0 = wp.array(rng.random((n, n)), dtype=float, requires_grad=True)
rho1 = wp.zeros((n, n), dtype=float, requires_grad=True)
d = wp.zeros((n, n), dtype=float)
p0 = wp.zeros((n, n), dtype=float)
p1 = wp.zeros_like(p0)
with wp.Tape() as tape:
    wp.launch(advect, (n, n), [u, rho0, rho1, 0.3])
wp.launch(div, u.shape, [u, d])
for _ in range(20):
    wp.launch(jacobi, (n, n), [p0, p1, d])
    p0, p1 = p1, p0
print(round(float(rho1.numpy().sum()), 3), np.round(p0.numpy()[3, :5], 4))
rho1.grad.fill_(1.0)
tape.backward()
print(np.round(u.grad.numpy()[2, 2:4], 4), np.round(rho0.grad.numpy()[2, :6], 4))
