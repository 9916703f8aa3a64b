"""A lattice-Boltzmann step with constant vectors."""

import numpy as np

import treadle as wp

vec9 = wp.types.vector(length=9, dtype=wp.float32)
cx = wp.constant(wp.types.vector(length=9, dtype=wp.int32)(0, 1, 0, -1, 0, 1, -1, -1, 1))
cy = wp.constant(wp.types.vector(length=9, dtype=wp.int32)(0, 0, 1, 0, -1, 1, 1, -1, -1))
w9 = wp.constant(
    vec9(4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0)
)
opp = wp.constant(wp.types.vector(length=9, dtype=wp.int32)(0, 3, 4, 1, 2, 7, 8, 5, 6))


@wp.func
def feq(rho: float, u: wp.vec2, i: int):
    cu = 3.0 * (float(cx[i]) * u[0] + float(cy[i]) * u[1])
    return w9[i] * rho * (1.0 + cu + 0.5 * cu * cu - 1.5 * wp.dot(u, u))


@wp.kernel
def init(f: wp.array3d(dtype=float)):
    x, y = wp.tid()
    for i in range(9):
        f[i, x, y] = feq(1.0, wp.vec2(0.05 * wp.sin(float(y)), 0.0), i)


@wp.kernel
def step(f0: wp.array3d(dtype=float), f1: wp.array3d(dtype=float), omega: float, nx: int, ny: int):
    x, y = wp.tid()
    f = vec9()
    rho = float(0.0)
    u = wp.vec2()
    for i in range(9):
        px = (x - cx[i] + nx) % nx
        py = (y - cy[i] + ny) % ny
        f[i] = f0[i, px, py]
        rho += f[i]
        u += wp.vec2(float(cx[i]), float(cy[i])) * f[i]
    u = u / rho
    for i in range(9):
        f1[i, x, y] = f[i] - omega * (f[i] - feq(rho, u, i))


nx, ny = 12, 10
f0 = wp.zeros((9, nx, ny), dtype=float)
f1 = wp.zeros_like(f0)
wp.launch(init, (nx, ny), [f0])
for _ in range(10):
    wp.launch(step, (nx, ny), [f0, f1, 1.2, nx, ny])
    f0, f1 = f1, f0
print(np.round(f0.numpy().sum(0)[3, :5], 5), np.round(f0.numpy()[1, 2, :4], 5), round(float(f0.numpy().sum()), 3))
