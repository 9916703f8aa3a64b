"""Cases with derivatives inside kernels: ``grad`` of functions, also nested, and derivatives written by the user."""

from collections.abc import Callable

import treadle as wp
from tests.ad.gradient_cases import Input, Output, Plain, case


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3), plain=False)
def partial_derivatives_in_loop(T):
    @wp.func
    def f(x: T, y: T) -> T:
        return wp.sin(x * y) * x

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for k in range(n):
            gx, gy = wp.grad(f)(s, x[i])
            s = s - T(0.1) * gx * gy
        out[i] = s

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3), plain=False)
def derivative_of_a_loop(T):
    @wp.func
    def f(x: T, n: int) -> T:
        s = x
        for k in range(n):
            s = wp.sin(s) * x + s
            if s > T(2.0):
                break
        return s * s

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = wp.grad(f)(x[i], n)

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3), plain=False)
def second_and_third_derivative(T):
    @wp.func
    def f(x: T) -> T:
        return wp.exp(x * x) * x

    @wp.func
    def df(x: T) -> T:
        return wp.grad(f)(x)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = wp.grad(df)(x[i])

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3), plain=False)
def derivative_by_the_user_in_loop(T):
    @wp.func
    def f(x: T, y: T) -> T:
        return x * y + y

    @wp.func_grad(f)
    def adj_f(x: T, y: T, r: T):
        wp.adjoint[x] += y * r
        wp.adjoint[y] += (x + T(1.0)) * r

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for k in range(n):
            if k == 1:
                s = s + T(1.0)
                continue
            s = f(s, x[(i + k) % 3])
        out[i] = f(s, s)

    return kernel


@case(dim=3, x=Input(3), o=Output(3), plain=False)
def newton_with_derivative(T):
    @wp.func
    def f(x: T) -> T:
        return x * x * x

    @wp.func
    def newton(f: Callable, x: T, n: int) -> T:
        for k in range(n):
            x = x - (f(x) - T(2.0)) / wp.grad(f)(x)
        return x

    @wp.kernel
    def kernel(x: wp.array(dtype=T), o: wp.array(dtype=T)):
        i = wp.tid()
        o[i] = newton(f, x[i], 2)

    return kernel


@case(dim=2, x=Input((2, 3)), o=Output(2), plain=False)
def derivative_of_a_function_of_arrays(T):
    @wp.func
    def f(a: wp.array2d(dtype=T), i: int, s: T) -> T:
        r = T(0.0)
        for k in range(3):
            r += wp.sin(s * a[i, k])
        return r

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), o: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i, 0]
        s = s - T(0.1) * wp.grad(f)(x, i, s)
        o[i] = s

    return kernel
