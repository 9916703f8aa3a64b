"""Kernels made in factories and loops, with functions as variables."""

import treadle as wp


def make_kernel(op, n):
    def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        s = float(0.0)
        for j in range(n):
            s += op(x[i], float(j))
        y[i] = s

    return wp.Kernel(func=k) if False else wp.kernel(k, module="unique")


@wp.func
def plus(a: float, b: float):
    return a + b


@wp.func
def times(a: float, b: float):
    return a * b


x = wp.array([1.0, 2.0, 3.0], dtype=float)
y = wp.zeros(3, dtype=float)
for op in (plus, times):
    for n in (2, 4):
        k = make_kernel(op, n)
        wp.launch(k, 3, [x, y])
        print(y.numpy().tolist())


def factory(dtype, c):
    @wp.func
    def f(v: dtype):
        return v * dtype(c)

    @wp.kernel(module="unique")
    def kk(a: wp.array(dtype=dtype)):
        i = wp.tid()
        a[i] = f(a[i])

    return kk


for d in (wp.float32, wp.float64, wp.int32):
    a = wp.array([1, 2, 3], dtype=d)
    wp.launch(factory(d, 3), dim=3, inputs=[a])
    print(a.numpy().tolist())

ks = []
for i in range(3):

    @wp.kernel
    def loopk(a: wp.array(dtype=int)):
        a[wp.tid()] = wp.static(i)

    ks.append(loopk)
for k in ks:
    a = wp.zeros(2, dtype=int)
    wp.launch(k, 2, [a])
    print(a.numpy())
