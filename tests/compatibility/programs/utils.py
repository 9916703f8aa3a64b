"""Sums, scans and sorts of whole arrays."""

import numpy as np

import treadle as wp

a = wp.array(np.arange(10), dtype=wp.float32)
print(wp.utils.array_sum(a))
o = wp.zeros(1, dtype=float)
wp.utils.array_sum(a, out=o)
print(o)
print(wp.utils.array_inner(a, a))
v = wp.array(np.arange(12).reshape(4, 3), dtype=wp.vec3)
print(wp.utils.array_sum(v), wp.utils.array_inner(v, v))
A = wp.array(np.arange(12).reshape(3, 4), dtype=float)
print(
    wp.utils.array_sum(A),
    wp.utils.array_sum(A, axis=0),
    wp.utils.array_sum(A, axis=1),
    wp.utils.array_inner(A, A, axis=1),
)
i = wp.array([3, 1, 4, 1, 5], dtype=int)
o = wp.zeros_like(i)
wp.utils.array_scan(i, o, inclusive=True)
print(o)
wp.utils.array_scan(i, o, inclusive=False)
print(o)
keys = wp.array([3, 1, 2, 5, 0, 9, 9, 9, 9, 9], dtype=int)
vals = wp.array([0, 1, 2, 3, 4, 0, 0, 0, 0, 0], dtype=int)
wp.utils.radix_sort_pairs(keys, vals, 5)
print(keys.numpy()[:5], vals.numpy()[:5])
kf = wp.array([3.0, -1.0, 2.0, 0, 0, 0], dtype=float)
vf = wp.array([0, 1, 2, 0, 0, 0], dtype=int)
wp.utils.radix_sort_pairs(kf, vf, 3)
print(kf.numpy()[:3], vf.numpy()[:3])
r = wp.array([1, 1, 2, 2, 2, 3], dtype=int)
rv = wp.zeros(6, dtype=int)
rl = wp.zeros(6, dtype=int)
n = wp.utils.runlength_encode(r, rv, rl)
print(n, rv.numpy()[:3], rl.numpy()[:3])
nc = wp.zeros(1, dtype=int)
print(wp.utils.runlength_encode(r, rv, rl, run_count=nc), nc)
dst = wp.zeros(10, dtype=int)
wp.utils.array_cast(a, dst)
print(dst)
seg = wp.array([0, 3, 5], dtype=int)
kk = wp.array([3, 1, 2, 9, 8, 0, 0, 0, 0, 0], dtype=int)
vv = wp.array([0, 1, 2, 3, 4, 0, 0, 0, 0, 0], dtype=int)
wp.utils.segmented_sort_pairs(kk, vv, 5, seg)
print(kk.numpy()[:5], vv.numpy()[:5])
