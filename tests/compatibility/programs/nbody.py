"""Bodies that attract each other, in double precision."""

import numpy as np

import treadle as wp


@wp.kernel
def forces(
    pos: wp.array(dtype=wp.vec3d), mass: wp.array(dtype=wp.float64), f: wp.array(dtype=wp.vec3d), soft: wp.float64
):
    i = wp.tid()
    acc = wp.vec3d()
    for j in range(pos.shape[0]):
        if j != i:
            r = pos[j] - pos[i]
            d2 = wp.dot(r, r) + soft * soft
            acc += r * (mass[j] / (d2 * wp.sqrt(d2)))
    f[i] = acc * mass[i]


@wp.kernel
def kick(
    pos: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    f: wp.array(dtype=wp.vec3d),
    mass: wp.array(dtype=wp.float64),
    dt: wp.float64,
):
    i = wp.tid()
    v[i] += f[i] / mass[i] * dt
    pos[i] += v[i] * dt


rng = np.random.default_rng(0)
n = 12
pos = wp.array(rng.normal(size=(n, 3)), dtype=wp.vec3d)
v = wp.zeros(n, dtype=wp.vec3d)
f = wp.zeros(n, dtype=wp.vec3d)
m = wp.array(rng.random(n) + 0.5, dtype=wp.float64)
for _ in range(20):
    wp.launch(forces, n, [pos, m, f, 0.1])
    wp.launch(kick, n, [pos, v, f, m, 0.01])
print(pos.numpy()[:3], np.abs((m.numpy()[:, None] * v.numpy()).sum(0)).max() < 1e-10)
