"""Generic kernels and functions, and overloads made by hand."""

from typing import Any

import treadle as wp


@wp.func
def sq(x: Any):
    return x * x


@wp.func
def axpy(a: Any, x: Any, y: Any):
    return a * x + y


@wp.kernel
def scale(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = s * x[i]


@wp.kernel
def gen(x: wp.array(dtype=Any), y: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    two = x.dtype(2)
    out[i] = axpy(two, x[i], y[i]) + sq(x[i])


wp.overload(scale, {"x": wp.array(dtype=wp.float64), "s": wp.float64})
ov = wp.overload(scale, [wp.array(dtype=wp.vec3), wp.float32])


@wp.overload
def scale(x: wp.array(dtype=int), s: int): ...


x32 = wp.array([1.0, 2.0], dtype=wp.float32)
x64 = wp.array([1.0, 2.0], dtype=wp.float64)
xi = wp.array([1, 2], dtype=int)
xv = wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3)
wp.launch(scale, 2, [x32, 3.0])
wp.launch(scale, 2, [x64, wp.float64(3.0)])
wp.launch(scale, 2, [xi, 3])
wp.launch(ov, 1, [xv, 2.0])
print(x32, x64, xi, xv)
for d in (wp.float32, wp.float64, wp.int32):
    a = wp.array([1, 2, 3], dtype=d)
    b = wp.array([4, 5, 6], dtype=d)
    o = wp.zeros_like(a)
    wp.launch(gen, dim=3, inputs=[a, b], outputs=[o])
    print(o.numpy().tolist(), o.dtype.__name__)
