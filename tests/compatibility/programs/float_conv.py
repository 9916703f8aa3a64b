"""Conversions between types, and integer hashing."""

import treadle as wp


@wp.kernel
def k(a: wp.array(dtype=wp.float64), b: wp.array(dtype=float), c: wp.array(dtype=int)):
    i = wp.tid()
    a[i] = wp.float64(b[i]) * wp.float64(0.1) + wp.float64(c[i])
    x = 0.5
    y = x * b[i]
    n = 3
    m = n * c[i] + 2
    c[i] = m
    b[i] = y + float(m)
    if c[i] > 2:
        z = wp.float64(1.0)
    else:
        z = wp.float64(2.0)
    a[i] += z
    u = wp.uint32(c[i])
    u = u ^ (u << wp.uint32(13))
    u = u ^ (u >> wp.uint32(17))
    c[i] = wp.int32(u)
    t = True
    t = t and (b[i] > 0.0)
    if not t:
        a[i] = -a[i]


a = wp.zeros(4, dtype=wp.float64)
b = wp.array([-1.0, 1.0, 2.0, 3.0], dtype=float)
c = wp.array([-3, 0, 1, 2], dtype=int)
wp.launch(k, 4, [a, b, c])
print(a, b, c)
