"""Vectors and matrices made in kernels."""

import treadle as wp


@wp.kernel
def k(o: wp.array(dtype=float)):
    a = wp.zeros(shape=5, dtype=float)
    for i in range(5):
        a[i] = float(i * i)
    s = float(0.0)
    for i in range(a.shape[0]):
        s += a[i]
    o[0] = s
    v = wp.vector(1.0, 2.0, 3.0, 4.0, 5.0)
    o[1] = v[4] + wp.length(v)
    m = wp.matrix(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, shape=(2, 3))
    o[2] = m[1, 0]
    z = wp.vector(length=4, dtype=wp.float32)
    o[3] = z[0] + 1.0
    mm = wp.matrix(shape=(2, 2), dtype=float)
    mm[0, 1] = 3.0
    o[4] = mm[0, 1]
    q = wp.quaternion(1.0, 0.0, 0.0, 0.0)
    o[5] = q[0]
    t = wp.transformation(wp.vec3(1.0, 2.0, 3.0), q)
    o[6] = t[2]
    e = wp.identity(n=4, dtype=float)
    o[7] = e[3, 3]


o = wp.zeros(8, dtype=float)
wp.launch(k, 1, [o])
print(o)
