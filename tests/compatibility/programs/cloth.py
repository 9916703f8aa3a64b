"""A cloth of springs, with atomic forces."""

# ruff: noqa: E741
import numpy as np

import treadle as wp


@wp.kernel
def eval_springs(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    rest: wp.array(dtype=float),
    ke: float,
    kd: float,
    f: wp.array(dtype=wp.vec3),
):
    tid = wp.tid()
    i = indices[tid * 2 + 0]
    j = indices[tid * 2 + 1]
    xi = x[i]
    xj = x[j]
    xij = xi - xj
    l = wp.length(xij)
    l_inv = 1.0 / l
    dir = xij * l_inv
    c = l - rest[tid]
    dcdt = wp.dot(dir, v[i] - v[j])
    fs = dir * (ke * c + kd * dcdt)
    wp.atomic_sub(f, i, fs)
    wp.atomic_add(f, j, fs)


@wp.kernel
def step(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    inv_m: wp.array(dtype=float),
    g: wp.vec3,
    dt: float,
):
    tid = wp.tid()
    w = inv_m[tid]
    v1 = v[tid] + (f[tid] * w + g) * dt * wp.where(w > 0.0, 1.0, 0.0)
    x[tid] = x[tid] + v1 * dt
    v[tid] = v1


nx = 8
pos = [(i * 0.1, 0.0, j * 0.1) for j in range(nx) for i in range(nx)]
idx = []
for j in range(nx):
    for i in range(nx):
        if i + 1 < nx:
            idx += [j * nx + i, j * nx + i + 1]
        if j + 1 < nx:
            idx += [j * nx + i, (j + 1) * nx + i]
x = wp.array(pos, dtype=wp.vec3)
v = wp.zeros_like(x)
f = wp.zeros_like(x)
m = np.ones(nx * nx, dtype=np.float32)
m[0] = m[nx - 1] = 0.0
inv_m = wp.from_numpy(m, dtype=float)
indices = wp.array(idx, dtype=int)
p = np.array(pos)
rest = wp.array(np.linalg.norm(p[idx[0::2]] - p[idx[1::2]], axis=1), dtype=float)
with wp.ScopedTimer("sim", active=False):
    for _ in range(100):
        f.zero_()
        wp.launch(eval_springs, dim=len(idx) // 2, inputs=[x, v, indices, rest, 300.0, 1.0], outputs=[f])
        wp.launch(step, dim=x.shape[0], inputs=[x, v, f, inv_m, wp.vec3(0.0, -9.81, 0.0), 0.005])
print(np.round(x.numpy()[::9], 3))
print(x.dtype == wp.vec3, x.shape, x.strides, x.ndim, len(x), x.size)
