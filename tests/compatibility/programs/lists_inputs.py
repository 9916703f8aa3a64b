"""Python lists, tuples and NumPy values as arguments; None for an array."""

import numpy as np

import treadle as wp


@wp.kernel
def k(v: wp.vec3, m: wp.mat22, q: wp.quat, t: wp.transform, n: int, b: bool, f: wp.float64, o: wp.array(dtype=float)):
    o[0] = v[0] + v[1] + v[2]
    o[1] = m[0, 1]
    o[2] = q[3]
    o[3] = t[0]
    o[4] = float(n)
    o[5] = wp.where(b, 1.0, 0.0)
    o[6] = float(f)


o = wp.zeros(7, dtype=float)
wp.launch(
    k,
    1,
    [
        (1.0, 2.0, 3.0),
        [[1.0, 2.0], [3.0, 4.0]],
        [0.0, 0.0, 0.0, 1.0],
        wp.transform_identity(),
        np.int32(4),
        np.bool_(True),
        np.float64(2.5),
        o,
    ],
)
print(o)
wp.launch(
    k, 1, [np.array([1.0, 2.0, 3.0]), np.eye(2), wp.quat_identity(), wp.transform_identity(), np.int64(5), 1, 3, o]
)
print(o)
for bad in ([wp.vec2(1.0, 2.0)], [(1.0, 2.0)], ["x"]):
    try:
        wp.launch(k, 1, bad + [np.eye(2), wp.quat_identity(), wp.transform_identity(), 5, 1, 3, o])
        print("ok")
    except Exception:
        print("error")
try:
    wp.launch(k, 1, [1, 2])
except Exception:
    print("error")


@wp.kernel
def kn(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if y:
        x[i] = y[i]
    else:
        x[i] = -1.0


x = wp.zeros(2, dtype=float)
wp.launch(kn, 2, [x, None])
print(x)
wp.launch(kn, 2, [x, wp.ones(2, dtype=float)])
print(x)
