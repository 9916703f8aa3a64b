"""Kernels over vector types made by a factory, and generic functions."""

import functools
from typing import Any

import numpy as np

import treadle as wp


@functools.cache
def make_reduce(dim: int, dtype):
    vec = wp.types.vector(length=dim, dtype=dtype)

    def red(a: wp.array(dtype=vec), out: wp.array(dtype=dtype)):
        i = wp.tid()
        s = dtype(0.0)
        for k in range(dim):
            s += a[i][k]
        out[i] = s

    return wp.kernel(red, module="unique"), vec


for dim, dt in ((2, wp.float32), (3, wp.float64), (7, wp.float32)):
    k, vec = make_reduce(dim, dt)
    a = wp.array(np.arange(dim * 2).reshape(2, dim), dtype=vec)
    o = wp.zeros(2, dtype=dt)
    wp.launch(k, 2, [a, o])
    print(o)


def create(op_name):
    def op_add(x: Any, y: Any):
        return x + y

    def op_mul(x: Any, y: Any):
        return x * y

    f = wp.func(op_add if op_name == "add" else op_mul)

    @wp.kernel
    def k(a: wp.array(dtype=Any), b: wp.array(dtype=Any)):
        i = wp.tid()
        b[i] = f(a[i], b[i])

    return k


for n in ("add", "mul"):
    b = wp.array([3.0, 4.0], dtype=float)
    wp.launch(create(n), 2, [wp.array([1.5, 2.0], dtype=float), b])
    print(b)
