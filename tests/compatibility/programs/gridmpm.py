"""Particles to a grid and back."""

import numpy as np

import treadle as wp

G = wp.constant(16)
DX = 1.0 / 16.0


@wp.kernel
def p2g(
    x: wp.array(dtype=wp.vec2),
    v: wp.array(dtype=wp.vec2),
    C: wp.array(dtype=wp.mat22),
    gv: wp.array2d(dtype=wp.vec2),
    gm: wp.array2d(dtype=float),
):
    p = wp.tid()
    xp = x[p] / DX
    base = wp.vec2i(int(xp[0] - 0.5), int(xp[1] - 0.5))
    fx = xp - wp.vec2(float(base[0]), float(base[1]))
    w0 = wp.vec2(0.5 * (1.5 - fx[0]) ** 2.0, 0.5 * (1.5 - fx[1]) ** 2.0)
    w1 = wp.vec2(0.75 - (fx[0] - 1.0) ** 2.0, 0.75 - (fx[1] - 1.0) ** 2.0)
    w2 = wp.vec2(0.5 * (fx[0] - 0.5) ** 2.0, 0.5 * (fx[1] - 0.5) ** 2.0)
    W = wp.matrix_from_rows(w0, w1, w2)
    for i in range(3):
        for j in range(3):
            dpos = (wp.vec2(float(i), float(j)) - fx) * DX
            weight = W[i, 0] * W[j, 1]
            wp.atomic_add(gv, base[0] + i, base[1] + j, weight * (v[p] + C[p] * dpos))
            wp.atomic_add(gm, base[0] + i, base[1] + j, weight)


@wp.kernel
def gridop(gv: wp.array2d(dtype=wp.vec2), gm: wp.array2d(dtype=float), dt: float):
    i, j = wp.tid()
    if gm[i, j] > 0.0:
        vel = gv[i, j] / gm[i, j]
        vel = vel + wp.vec2(0.0, -9.8) * dt
        if i < 2 and vel[0] < 0.0:
            vel[0] = 0.0
        if j < 2 and vel[1] < 0.0:
            vel[1] = 0.0
        gv[i, j] = vel


@wp.kernel
def g2p(x: wp.array(dtype=wp.vec2), v: wp.array(dtype=wp.vec2), gv: wp.array2d(dtype=wp.vec2), dt: float):
    p = wp.tid()
    xp = x[p] / DX
    bi = int(xp[0] - 0.5)
    bj = int(xp[1] - 0.5)
    nv = wp.vec2(0.0, 0.0)
    for i in range(3):
        for j in range(3):
            wx = 1.0 - wp.abs(xp[0] - float(bi + i)) / 2.0
            wy = 1.0 - wp.abs(xp[1] - float(bj + j)) / 2.0
            nv += gv[bi + i, bj + j] * wx * wy * 0.25
    v[p] = nv
    x[p] = x[p] + nv * dt


rng = np.random.default_rng(0)
n = 100
x = wp.array(rng.random((n, 2)) * 0.4 + 0.3, dtype=wp.vec2)
v = wp.zeros(n, dtype=wp.vec2)
C = wp.zeros(n, dtype=wp.mat22)
gv = wp.zeros((16, 16), dtype=wp.vec2)
gm = wp.zeros((16, 16), dtype=float)
for _ in range(10):
    gv.zero_()
    gm.zero_()
    wp.launch(p2g, n, [x, v, C, gv, gm])
    wp.launch(gridop, (16, 16), [gv, gm, 0.01])
    wp.launch(g2p, n, [x, v, gv, 0.01])
print(np.round(x.numpy()[:5], 4), round(float(gm.numpy().sum()), 3))
