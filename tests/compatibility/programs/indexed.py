"""Indexed arrays in Python and in kernels."""

import numpy as np

import treadle as wp


@wp.kernel
def k(a: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i] * 2.0
    a[i] = a[i] + 100.0


@wp.kernel
def k2(a: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = a[i, j] + float(a.shape[0])


a = wp.array([0.0, 1.0, 2.0, 3.0, 4.0], dtype=float)
idx = wp.array([1, 3, 4], dtype=int)
ia = wp.indexedarray(a, [idx])
out = wp.zeros(3, dtype=float)
wp.launch(k, dim=3, inputs=[ia, out])
print(out, a)
print(ia.shape, ia.numpy(), ia.dtype.__name__, ia.contiguous().numpy())
b = a[idx]
print(type(b).__name__, b.numpy())
A = wp.array(np.arange(12).reshape(3, 4), dtype=float)
iA = wp.indexedarray2d(A, [wp.array([2, 0], dtype=int), None])
out = wp.zeros(iA.shape, dtype=float)
wp.launch(k2, dim=iA.shape, inputs=[iA, out])
print(out.numpy())
iB = A[idx[:2] if False else wp.array([0, 2], dtype=int), wp.array([1, 3], dtype=int)]
print(iB.numpy(), iB.shape)
iB.fill_(-1.0)
print(A.numpy())


@wp.kernel
def lossk(a: wp.indexedarray(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(s, 0, a[i] * a[i])


x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)
s = wp.zeros(1, dtype=float)
ix = wp.indexedarray(x, [wp.array([1, 1, 3], dtype=int)])
wp.launch(lossk, 3, [ix], [s])
print(s.numpy())
