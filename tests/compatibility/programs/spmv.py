"""Conjugate gradients on a sparse matrix."""

import numpy as np

import treadle as wp


@wp.kernel
def spmv(
    off: wp.array(dtype=int),
    col: wp.array(dtype=int),
    val: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    i = wp.tid()
    s = float(0.0)
    for j in range(off[i], off[i + 1]):
        s += val[j] * x[col[j]]
    y[i] = s


@wp.kernel
def axpy(a: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float), sign: float):
    i = wp.tid()
    y[i] = y[i] + sign * a[0] * x[i]


@wp.kernel
def xpby(r: wp.array(dtype=float), p: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    p[i] = r[i] + b[0] * p[i]


@wp.kernel
def ratio(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    c[0] = a[0] / b[0]


n = 20
off = [0]
col = []
val = []
for i in range(n):
    for j, v in ((i - 1, -1.0), (i, 2.5), (i + 1, -1.0)):
        if 0 <= j < n:
            col.append(j)
            val.append(v)
    off.append(len(col))
off = wp.array(off, dtype=int)
col = wp.array(col, dtype=int)
val = wp.array(val, dtype=float)
b = wp.array(np.sin(np.arange(n)), dtype=float)
x = wp.zeros(n, dtype=float)
r = wp.clone(b)
p = wp.clone(r)
Ap = wp.zeros(n, dtype=float)
rr = wp.zeros(1, dtype=float)
rr2 = wp.zeros(1, dtype=float)
pAp = wp.zeros(1, dtype=float)
al = wp.zeros(1, dtype=float)
be = wp.zeros(1, dtype=float)
wp.utils.array_inner(r, r, out=rr)
for _ in range(20):
    wp.launch(spmv, n, [off, col, val, p], [Ap])
    wp.utils.array_inner(p, Ap, out=pAp)
    wp.launch(ratio, 1, [rr, pAp, al])
    wp.launch(axpy, n, [al, p, x, 1.0])
    wp.launch(axpy, n, [al, Ap, r, -1.0])
    wp.utils.array_inner(r, r, out=rr2)
    wp.launch(ratio, 1, [rr2, rr, be])
    wp.launch(xpby, n, [r, p, be])
    wp.copy(rr, rr2)
    if rr.numpy()[0] < 1e-12:
        break
print(np.round(x.numpy(), 4))
