"""Particles that fall and bounce."""

import numpy as np

import treadle as wp

wp.config.quiet = True
wp.init()


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    w: wp.array(dtype=float),
    gravity: wp.vec3,
    dt: float,
):
    tid = wp.tid()
    x0 = x[tid]
    v0 = v[tid]
    v1 = v0 + (f[tid] * w[tid] + gravity * wp.step(0.0 - w[tid])) * dt
    x1 = x0 + v1 * dt
    if x1[1] < 0.0:
        x1 = wp.vec3(x1[0], 0.0, x1[2])
        v1 = wp.vec3(v1[0], -0.5 * v1[1], v1[2])
    x[tid] = x1
    v[tid] = v1


n = 32
rng = np.random.default_rng(42)
x = wp.array(rng.random((n, 3)), dtype=wp.vec3, device="cpu")
v = wp.array(rng.standard_normal((n, 3)), dtype=wp.vec3, device="cpu")
f = wp.zeros(n, dtype=wp.vec3, device="cpu")
w = wp.array(np.ones(n), dtype=float, device="cpu")
for step in range(60):
    wp.launch(kernel=integrate, dim=n, inputs=[x, v, f, w, wp.vec3(0.0, -9.8, 0.0), 1.0 / 60.0], device="cpu")
wp.synchronize()
print(np.round(x.numpy().mean(axis=0), 4), np.round(v.numpy()[:3], 4))
