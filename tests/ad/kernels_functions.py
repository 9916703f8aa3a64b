"""Cases with functions: nested calls, closures, functions as parameters, keyword and default arguments, constants."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import treadle as wp
from tests.ad.gradient_cases import Input, Ints, Output, Plain, case, vec

SCALE = 3
HALF = wp.constant(0.5)
TABLE = (1.5, 2.5, 3.5)


class Mode(IntEnum):
    DOUBLE = 1
    SQUARE = 2


@wp.func
def twice(x: Any):
    """Generic and defined in the module."""
    return x + x


@case(dim=3, x=Input(3), out=Output(3))
def nested_calls(T):
    @wp.func
    def inner(x: T) -> T:
        return wp.sin(x) * x

    @wp.func
    def middle(x: T, y: T) -> T:
        return inner(inner(x) + y) * inner(y)

    @wp.func
    def outer(x: T) -> T:
        return middle(x, inner(middle(x, x)))

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = outer(x[i]) + middle(inner(x[i]), x[i])

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def generic_functions(T):
    @wp.func
    def power(x: Any, n: int):
        p = type(x)(1.0)
        for _ in range(n):
            p = p * x
        return p

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = power(x[i], 3) * T(power(2, 3)) + twice(x[i]) * twice(twice(x[i]))

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def closures(T):
    factor = 2.5

    def scaled(amount: float):
        @wp.func
        def scale(x: T) -> T:
            return x * T(amount) * T(factor)

        return scale

    first = scaled(0.5)
    second = scaled(3.0)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = first(x[i]) * second(x[i] * x[i])

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def captured_constants(T):
    offset = 0.25
    count = 3

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for _ in range(count):
            s = s * x[i] + T(offset) + T(HALF)
        out[i] = s * T(SCALE)

    return kernel


@case(dim=3, x=Input(3), out=Output(3), plain=False)
def static_expressions(T):
    weights = [0.5, 1.5, 2.5]

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        for k in range(wp.static(len(weights))):
            s = s * x[i] + x[i] * T(wp.static(sum(weights))) + T(k)
        if wp.static(len(weights) > 2):
            s = s * x[i]
        out[i] = s * T(wp.static(TABLE[1] * 2.0))

    return kernel


@case(dim=3, x=Input(3), modes=Ints([0, 1, 2]), out=Output(3))
def enum_constants(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), modes: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        if modes[i] == Mode.DOUBLE:
            s = s * T(2.0)
        elif modes[i] == Mode.SQUARE:
            s = s * s
        out[i] = s * x[i]

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def keyword_and_default_arguments(T):
    @wp.func
    def blend(a: T, b: T, weight: T = T(0.25), rounds: int = 2) -> T:
        s = a
        for _ in range(rounds):
            s = s * (T(1.0) - weight) + b * weight * s
        return s

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        y = wp.exp(x[i])
        out[i] = blend(x[i], y) + blend(b=x[i], a=y) * blend(y, x[i], rounds=3) + blend(y, b=y, weight=x[i])

    return kernel


@case(dim=3, x=Input(3), out=Output(3), plain=False)
def functions_as_arguments(T):
    @wp.func
    def square(x: T) -> T:
        return x * x

    @wp.func
    def shift(x: T) -> T:
        return wp.sin(x) + T(0.5)

    @wp.func
    def repeat(f: Callable, x: T, n: int) -> T:
        s = x
        for _ in range(n):
            s = f(s)
        return s

    @wp.func
    def compose(f: Callable, g: Callable, x: T) -> T:
        return f(g(x)) * g(f(x))

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = repeat(square, x[i], 2) + repeat(shift, x[i], 3) * compose(square, shift, x[i])

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def captured_function(T):
    def integrate(f):
        @wp.func
        def sum_of(x: T, n: int) -> T:
            s = T(0.0)
            for k in range(n):
                s += f(x * T(k + 1)) / T(n)
            return s

        return sum_of

    @wp.func
    def bump(x: T) -> T:
        return wp.exp(-x * x)

    @wp.func
    def wave(x: T) -> T:
        return wp.sin(x)

    of_bump = integrate(bump)
    of_wave = integrate(wave)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = of_bump(x[i], 3) * of_wave(x[i], 4)

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output((3, 2)))
def several_results(T):
    @wp.func
    def moments(x: wp.array2d(dtype=T), i: int):
        mean = T(0.0)
        square = T(0.0)
        count = int(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
            square += x[i, j] * x[i, j]
            count += 1
        mean /= T(count)
        return mean, square / T(count) - mean * mean, count

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        mean, variance, count = moments(x, i)
        out[i, 0] = mean * T(count)
        out[i, 1] = wp.sqrt(variance)

    return kernel


@case(dim=3, x=Input(3), out=Output((3, 2)))
def function_that_stores(T):
    @wp.func
    def put(out: wp.array2d(dtype=T), i: int, value: T):
        out[i, 0] = value
        out[i, 1] = value * value

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        put(out, i, wp.sin(x[i]))

    return kernel


@case(dim=3, x=Input(3), out=Output(1), plain=False)
def function_with_atomic(T):
    @wp.func
    def add(total: wp.array(dtype=T), value: T):
        if value > T(0.0):
            wp.atomic_add(total, 0, value * value)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        add(out, x[i])
        add(out, x[i] - T(1.0))

    return kernel


@case(dim=3, x=Input(3, of=vec(3)), out=Output(3))
def functions_of_vectors(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.func
    def swirl(v: V, amount: T) -> V:
        return V(v[1] * amount, -v[0], v[2] + amount)

    @wp.func
    def energy(v: V) -> T:
        return wp.dot(v, v) * v[0]

    @wp.kernel
    def kernel(x: wp.array(dtype=V), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i]
        for k in range(3):
            v = swirl(v, energy(v) * T(0.1))
        out[i] = energy(v)

    return kernel


@case(dim=3, x=Input(3), out=Output(3), plain=False)
def arguments_are_copies(T):
    V = wp.types.vector(length=2, dtype=T)

    @wp.func
    def change(v: V, s: T) -> T:
        v[0] = v[1] * s
        s = s + T(1.0)
        return v[0] * s

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        v = V(x[i], x[i] * x[i])
        r = change(v, s)
        w = v
        w[1] = T(0.0)
        out[i] = r * v[0] * v[1] + s * w[0]

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def overloads(T):
    @wp.func
    def weigh(x: T) -> T:
        return x * x

    @wp.func
    def weigh(x: T, k: int) -> T:  # noqa: F811
        return x * T(k)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = weigh(x[i]) * weigh(x[i], 3)

    return kernel


@case(dim=3, x=Input(3), a=Plain(0.75), k=Plain(3), out=Output(3))
def scalar_parameters(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), a: T, k: int, out: wp.array(dtype=T)):
        i = wp.tid()
        a = a * x[i]
        out[i] = a * a * T(k)

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def unused_results_and_parameters(T):
    @wp.func
    def pair(x: T, unused: T):
        return x * x, x * T(7.0)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        a, _ = pair(x[i], wp.exp(x[i]))
        pair(a, a)
        out[i] = a

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3), plain=False)
def tuple_carried_by_loop(T):
    @wp.func
    def f(p: T, q: T):
        return p * q, q + p

    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        t = f(x[i], x[i] * T(0.5))
        for k in range(n):
            t = f(t[1], t[0])
            if t[0] > T(3.0):
                t = (t[1], t[0] * T(0.5))
        out[i] = t[0] * t[1]

    return kernel
