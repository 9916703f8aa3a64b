"""Products, sums and softmax over rows; views as arguments."""

import numpy as np

import treadle as wp


@wp.kernel
def rowsum(a: wp.array2d(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    row = a[i]
    s = float(0.0)
    for j in range(row.shape[0]):
        s += row[j]
    o[i] = s


@wp.kernel
def matmul(A: wp.array2d(dtype=float), B: wp.array2d(dtype=float), C: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(A.shape[1]):
        s += A[i, k] * B[k, j]
    C[i, j] = s


@wp.kernel
def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    m = x[i, 0]
    for j in range(x.shape[1]):
        m = wp.max(m, x[i, j])
    s = float(0.0)
    for j in range(x.shape[1]):
        s += wp.exp(x[i, j] - m)
    for j in range(x.shape[1]):
        y[i, j] = wp.exp(x[i, j] - m) / s


rng = np.random.default_rng(0)
A = wp.array(rng.normal(size=(4, 5)), dtype=float)
B = wp.array(rng.normal(size=(5, 3)), dtype=float)
C = wp.zeros((4, 3), dtype=float)
wp.launch(matmul, C.shape, [A, B], [C])
print(np.round(C.numpy(), 4))
o = wp.zeros(4, dtype=float)
wp.launch(rowsum, 4, [A, o])
print(o)
y = wp.zeros_like(A)
wp.launch(softmax, 4, [A, y])
print(np.round(y.numpy(), 4))
wp.launch(rowsum, 5, [A.transpose(), wp.zeros(5, dtype=float)])
At = A.transpose()
o5 = wp.zeros(5, dtype=float)
wp.launch(rowsum, 5, [At, o5])
print(o5)
o2 = wp.zeros(2, dtype=float)
wp.launch(rowsum, 2, [A[1:3], o2])
print(o2)
sl = A[:, 1:4]
o4 = wp.zeros(4, dtype=float)
wp.launch(rowsum, 4, [sl, o4])
print(o4, sl.shape, sl.strides, sl.is_contiguous)
