"""Waves on a grid."""

# ruff: noqa: E741
import numpy as np

import treadle as wp


@wp.func
def sample(f: wp.array2d(dtype=float), x: int, y: int, width: int, height: int):
    x = wp.clamp(x, 0, width - 1)
    y = wp.clamp(y, 0, height - 1)
    return f[x, y]


@wp.func
def laplacian(f: wp.array2d(dtype=float), x: int, y: int, width: int, height: int):
    ddx = sample(f, x + 1, y, width, height) - 2.0 * sample(f, x, y, width, height) + sample(f, x - 1, y, width, height)
    ddy = sample(f, x, y + 1, width, height) - 2.0 * sample(f, x, y, width, height) + sample(f, x, y - 1, width, height)
    return ddx + ddy


@wp.kernel
def displace(h: wp.array2d(dtype=float), cx: float, cy: float, r: float, mag: float):
    x, y = wp.tid()
    dx = float(x) - cx
    dy = float(y) - cy
    d2 = dx * dx + dy * dy
    if d2 < r * r:
        h[x, y] = mag


@wp.kernel
def wave(
    h0: wp.array2d(dtype=float), h1: wp.array2d(dtype=float), inv: float, k_speed: float, k_damp: float, dt: float
):
    i, j = wp.tid()
    l = laplacian(h1, i, j, h0.shape[0], h0.shape[1]) * inv * inv
    a = k_speed * l - k_damp * (h1[i, j] - h0[i, j])
    h0[i, j] = 2.0 * h1[i, j] - h0[i, j] + a * dt * dt


w, h = 32, 24
g0 = wp.zeros((w, h), dtype=wp.float32)
g1 = wp.zeros(shape=(w, h), dtype=float)
wp.launch(displace, dim=(w, h), inputs=[g0, 10.0, 12.0, 3.0, 0.5])
wp.launch(displace, dim=g1.shape, inputs=[g1, 10.0, 12.0, 3.0, 0.5])
for _ in range(50):
    wp.launch(wave, dim=(w, h), inputs=[g0, g1, 10.0, 1.0, 0.1, 0.01])
    (g0, g1) = (g1, g0)
print(np.round(g1.numpy()[8:14, 10:14], 4), round(float(g1.numpy().sum()), 3))
