"""Parts of arrays as arguments of functions."""

import numpy as np

import treadle as wp


@wp.func
def sum3(a: wp.array(dtype=float)):
    s = float(0.0)
    for i in range(a.shape[0]):
        s += a[i]
    return s


@wp.func
def fill(a: wp.array(dtype=float), v: float):
    for i in range(a.shape[0]):
        a[i] = v


@wp.kernel
def k(a: wp.array2d(dtype=float), c: wp.array3d(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = sum3(a[i])
    plane = c[i]
    fill(plane[0], float(i))
    fill(plane[1], 10.0 + float(i))
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    o[i] += v[1] + wp.vec2(v[2], v[3])[0]
    if a.shape[1] != 3 or c.shape[2] != 4:
        o[i] = -1.0


a = wp.array(np.arange(6).reshape(2, 3), dtype=float)
c = wp.zeros((2, 2, 4), dtype=float)
o = wp.zeros(2, dtype=float)
wp.launch(k, 2, [a, c, o])
print(o, c.numpy().tolist())
