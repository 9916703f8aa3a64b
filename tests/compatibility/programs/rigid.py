"""Rigid bodies, integrated with quaternions."""

# ruff: noqa: E741
import numpy as np

import treadle as wp


@wp.kernel
def integrate_bodies(
    q: wp.array(dtype=wp.transform),
    qd: wp.array(dtype=wp.spatial_vector),
    I: wp.array(dtype=wp.mat33),
    m: wp.array(dtype=float),
    f: wp.array(dtype=wp.spatial_vector),
    dt: float,
):
    tid = wp.tid()
    X = q[tid]
    r = wp.transform_get_rotation(X)
    p = wp.transform_get_translation(X)
    w0 = wp.spatial_top(qd[tid])
    v0 = wp.spatial_bottom(qd[tid])
    t0 = wp.spatial_top(f[tid])
    f0 = wp.spatial_bottom(f[tid])
    v1 = v0 + (f0 / m[tid] + wp.vec3(0.0, -9.81, 0.0)) * dt
    x1 = p + v1 * dt
    inertia = I[tid]
    wb = wp.quat_rotate_inv(r, w0)
    tb = wp.quat_rotate_inv(r, t0) - wp.cross(wb, inertia * wb)
    w1 = wp.quat_rotate(r, wb + wp.inverse(inertia) @ tb * dt)
    r1 = wp.normalize(r + wp.quat(w1, 0.0) * r * 0.5 * dt)
    q[tid] = wp.transform(x1, r1)
    qd[tid] = wp.spatial_vector(w1, v1)


n = 3
q = wp.array([wp.transform(wp.vec3(float(i), 1.0, 0.0), wp.quat_identity()) for i in range(n)], dtype=wp.transform)
qd = wp.array([wp.spatial_vector(0.1 * i, 1.0, 0.5, 0.0, 2.0, 0.0) for i in range(n)], dtype=wp.spatial_vector)
I = wp.array([np.diag([1.0, 2.0, 3.0])] * n, dtype=wp.mat33)
m = wp.array([1.0] * n, dtype=float)
f = wp.array([[0.1, 0.0, 0.3, 0.0, 1.0, 0.0]] * n, dtype=wp.spatial_vector)
for _ in range(50):
    wp.launch(integrate_bodies, dim=n, inputs=[q, qd, I, m, f, 0.01])
print(np.round(q.numpy(), 4))
print(np.round(qd.numpy(), 4))
t = wp.transform((1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5))
print(t.p, t.q, wp.transform_point(t, wp.vec3(1.0, 0.0, 0.0)), wp.transform_inverse(t))
print(t * wp.transform_inverse(t))
print(wp.transform_identity(), wp.quat_identity(), wp.quat_rpy(0.1, 0.2, 0.3))
