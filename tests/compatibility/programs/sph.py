"""Smoothed particles without a grid."""

import numpy as np

import treadle as wp


@wp.func
def poly6(r2: float, h: float):
    d = h * h - r2
    if d <= 0.0:
        return 0.0
    return 315.0 / (64.0 * wp.pi * wp.pow(h, 9.0)) * d * d * d


@wp.func
def spiky(xyz: wp.vec3, h: float):
    r = wp.length(xyz)
    if r > 0.0 and r < h:
        return -45.0 / (wp.PI * h**6.0) * (h - r) ** 2.0 * xyz / r
    return wp.vec3()


@wp.kernel
def density(x: wp.array(dtype=wp.vec3), rho: wp.array(dtype=float), h: float, mass: float):
    tid = wp.tid()
    r = float(0.0)
    for j in range(x.shape[0]):
        d = x[tid] - x[j]
        r += mass * poly6(wp.length_sq(d), h)
    rho[tid] = r


@wp.kernel
def accel(
    x: wp.array(dtype=wp.vec3), rho: wp.array(dtype=float), a: wp.array(dtype=wp.vec3), h: float, mass: float, k: float
):
    i = wp.tid()
    acc = wp.vec3(0.0)
    n = len(x)
    pi_ = k * (rho[i] - 1000.0)
    for j in range(n):
        if i == j:
            continue
        pj = k * (rho[j] - 1000.0)
        acc -= mass * (pi_ + pj) / (2.0 * rho[j]) * spiky(x[i] - x[j], h)
    a[i] = acc / rho[i]


N = 200
rng = np.random.default_rng(1)
x = wp.array(rng.random((N, 3)) * 0.3, dtype=wp.vec3)
rho = wp.zeros(N, dtype=float)
a = wp.zeros(N, dtype=wp.vec3)
wp.launch(density, N, [x, rho, 0.1, 0.02])
wp.launch(accel, N, [x, rho, a, 0.1, 0.02, 20.0])
print(np.round(rho.numpy()[:8], 2))
print(np.round(a.numpy()[:4], 2))
