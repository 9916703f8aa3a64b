"""Atomic operations and histograms."""

import numpy as np

import treadle as wp


@wp.kernel
def k(
    x: wp.array(dtype=float),
    s: wp.array(dtype=float),
    c: wp.array(dtype=int),
    o: wp.array(dtype=int),
    b: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    s[0] += x[i]
    s[1] -= x[i]
    wp.atomic_max(s, 2, x[i])
    wp.atomic_min(s, 3, x[i])
    j = wp.atomic_add(c, 0, 1)
    o[j] = i
    wp.atomic_max(b, 0, wp.vec3(x[i], -x[i], 0.0))
    wp.atomic_min(b, 1, wp.vec3(x[i], -x[i], 0.0))
    if x[i] > 5.0:
        wp.atomic_add(c, 1, 2)
    wp.atomic_or(c, 2, 1 << i)
    wp.atomic_and(c, 3, ~(1 << i))
    wp.atomic_xor(c, 4, i)
    wp.atomic_cas(c, 5, 0, 7)
    wp.atomic_exch(c, 6, 3)


x = wp.array(np.arange(10), dtype=float)
s = wp.zeros(4, dtype=float)
c = wp.array([0, 0, 0, -1, 0, 0, 0], dtype=int)
o = wp.zeros(10, dtype=int)
b = wp.zeros(2, dtype=wp.vec3)
wp.launch(k, 10, [x, s, c, o, b])
print(s, c, sorted(o.numpy().tolist()), b.numpy().tolist())


@wp.kernel
def hist(d: wp.array(dtype=float), h: wp.array(dtype=int), n: int):
    i = wp.tid()
    b = wp.clamp(int(wp.floor(d[i] * float(n))), 0, n - 1)
    h[b] += 1


d = wp.array(np.linspace(0, 1, 100), dtype=float)
h = wp.zeros(5, dtype=int)
wp.launch(hist, 100, [d, h, 5])
print(h)


@wp.kernel
def mats(m: wp.array(dtype=wp.mat22), q: wp.array(dtype=wp.quat)):
    i = wp.tid()
    wp.atomic_add(m, 0, wp.mat22(1.0, 2.0, 3.0, 4.0) * float(i))
    m[1] += wp.mat22(1.0, 0.0, 0.0, 1.0)
    q[i % 2] += wp.quat(1.0, 1.0, 1.0, 1.0)


m = wp.zeros(2, dtype=wp.mat22)
q = wp.zeros(2, dtype=wp.quat)
wp.launch(mats, 4, [m, q])
print(m.numpy().tolist(), q.numpy().tolist())
