"""Cases with branches, early returns, conditional expressions, boolean operators, assertions and prints."""

import treadle as wp
from tests.ad.gradient_cases import Input, Ints, Output, Plain, case, vec


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def early_return(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        if x[i] < T(0.0):
            out[i] = x[i] * T(3.0)
            return
        s = wp.exp(x[i])
        if s > T(1.8):
            return
        out[i] = s * s

    return kernel


@case(dim=4, x=Input((4, 4)), out=Output(4))
def early_return_in_nested_loops(T):
    @wp.func
    def find(x: wp.array2d(dtype=T), i: int) -> T:
        s = T(0.0)
        for a in range(x.shape[1]):
            for b in range(a + 1):
                s += x[i, a] * x[i, b]
                if s > T(4.0):
                    return s * T(2.0)
                if a == 3 and b == 2:
                    return wp.sin(s)
        return T(0.0)

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = find(x, i)

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def early_return_of_several_values(T):
    @wp.func
    def split(x: T):
        if x > T(0.3):
            return x * x, T(2.0)
        elif x < T(-0.3):
            return -x, x
        return T(1.0), wp.cos(x)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        a, b = split(x[i])
        out[i] = a * b + a

    return kernel


@case(dim=5, x=Input(5), modes=Ints([0, 1, 2, 3, 4]), out=Output(5))
def chain_of_branches(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), modes: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        a = x[i]
        b = T(1.0)
        if modes[i] == 0:
            a = a * a
        elif modes[i] == 1:
            b = wp.sin(a)
        elif modes[i] == 2:
            a, b = wp.exp(a), a
        elif modes[i] == 3:
            pass
        else:
            a *= T(3.0)
            b -= a
        out[i] = a * b

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), y=Input(4, -1.0, 1.0), out=Output(4))
def nested_branches(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        a = x[i]
        b = y[i]
        if a > T(0.0):
            c = a * b
            if b > T(0.0):
                b = b * c
            else:
                if a > T(0.5):
                    a = a * c * c
                b = b - a
        else:
            c = wp.cos(b)
            a = c * a
        out[i] = a + b * c

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def first_assigned_in_branches(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        if x[i] > T(0.0):
            y = x[i] * x[i]
            z = y + T(1.0)
        else:
            z = wp.exp(x[i])
            y = z * x[i]
        out[i] = y * z

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def assigned_in_one_branch(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        positive = x[i] > T(0.0)
        if positive:
            y = x[i] * x[i]
        r = T(1.0)
        if positive:
            r = wp.exp(y) * y
        out[i] = r * x[i]

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def conditional_expression(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        a = x[i] if x[i] > T(0.0) else -x[i] * T(2.0)
        b = (wp.sqrt(a) if a > T(0.5) else a * a) if i % 2 == 0 else wp.exp(a)
        out[i] = a * b + (T(1.0) if i > 1 else a)

    return kernel


@case(dim=5, x=Input(5), out=Output(5))
def and_guards_a_read(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        if i + 1 < x.shape[0] and x[i + 1] > x[i]:
            out[i] = x[i + 1] * x[i]
        else:
            out[i] = x[i] * x[i]

    return kernel


@case(dim=5, x=Input(5), out=Output(5))
def or_guards_a_read(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        if i == 0 or x[i - 1] < T(1.0):
            s = s * s
        if not (i == 0 or i == 4) and (x[i - 1] > T(0.7) or x[i + 1] > T(0.7)):
            s = s * x[i - 1] + x[i + 1]
        out[i] = s

    return kernel


@case(dim=6, x=Input(6, -1.0, 1.0), out=Output(6))
def chained_comparison(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i]
        if T(-0.5) < v < T(0.5):
            v = v * v
        if 0 < i < 3 <= 4 != 5:
            v = v * T(2.0)
        elif 3 <= i == 4:
            v = wp.exp(v)
        out[i] = v

    return kernel


@case(dim=6, x=Input(6), chosen=Ints([[1, 2, 4]] * 6), out=Output(6), plain=False)
def membership(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), chosen: wp.array2d(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        wanted = wp.vec3i(chosen[i, 0], chosen[i, 1], chosen[i, 2])
        s = x[i]
        if i in wanted:
            s = s * s
        if i not in (0, 5):
            s = wp.exp(s)
        out[i] = s

    return kernel


@case(dim=4, x=Input((4, 3), -1.0, 1.0), out=Output(4))
def boolean_variables(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        a = x[i, 0] > x[i, 1]
        b = x[i, 1] > x[i, 2]
        both = a and b
        neither = not a and not b
        s = x[i, 0] * x[i, 1] * x[i, 2]
        if both:
            s = s * x[i, 0]
        if neither or a == b:
            s = s + x[i, 2]
        out[i] = s

    return kernel


@case(dim=4, x=Input((4, 3), -1.0, 1.0), out=Output((4, 3)))
def sort_by_swaps(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        a, b, c = x[i, 0], x[i, 1], x[i, 2]
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        out[i, 0] = a * a
        out[i, 1] = b * a
        out[i, 2] = c * b

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3))
def assertions_that_hold(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for j in range(n):
            s = s * s + T(0.1)
            assert s > T(0.0), "s must stay positive"
        assert i < x.shape[0]
        out[i] = s

    return kernel


@case(dim=2, x=Input(2), n=Plain(2), out=Output(2))
def prints(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        """The docstring of a kernel."""
        i = wp.tid()
        s = x[i]
        for j in range(n):
            s = s * s
            print(s)
        wp.printf("thread %d\n", i)
        print("done")
        out[i] = s

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def guarded_by_branch(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        if x[i] > T(0.0):
            s = wp.sqrt(x[i]) + wp.log(x[i]) + T(1.0) / x[i]
        out[i] = s + x[i]

    return kernel


@case(dim=6, x=Input(6, -1.0, 1.0), out=Output(6), plain=False)
def guarded_by_where(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i]
        root = wp.where(v > T(0.0), wp.sqrt(v), T(0.0))
        logarithm = wp.where(v > T(0.0), wp.log(v), v)
        arc = wp.where(wp.abs(v) < T(0.5), wp.asin(v * T(2.0)), v * T(0.5))
        power = wp.where(v < T(0.0), v * v, wp.pow(v, T(0.5)))
        out[i] = root + logarithm * T(2.0) + arc * T(3.0) + power

    return kernel


@case(dim=6, x=Input(6, -1.0, 1.0), out=Output(6), plain=False)
def guarded_by_select(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i] * T(i % 2)
        quotient = wp.select(i % 2 == 0, x[i] / v, x[i])
        root = wp.select(i % 2 == 0, wp.sqrt(wp.abs(v)) + wp.log(wp.abs(v)), wp.exp(x[i]))
        out[i] = quotient * x[i] + root

    return kernel


@case(dim=4, x=Input(4, -1.0, 1.0), out=Output(4))
def truth_of_numbers(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        if i % 2:
            s = s * s
        if not i:
            s = s * T(3.0)
        out[i] = s

    return kernel


@case(dim=4, x=Input(4, of=vec(3)), out=Output(4))
def comparison_of_vectors(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=wp.types.vector(length=3, dtype=T)), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i]
        w = x[i]
        s = T(1.0)
        if v == w:
            s = wp.dot(v, w)
        w[1] = w[1] + T(1.0)
        if v != w:
            s = s * wp.length(w)
        out[i] = s

    return kernel


@case(dim=3, x=Input(3), o=Output(3), plain=False)
def returns_at_every_depth(T):
    @wp.func
    def g(x: T, k: int) -> T:
        if k == 0:
            return x
        elif k == 1:
            for j in range(3):
                if x > T(0.5):
                    while True:
                        x = x * x
                        if x < T(0.3):
                            return x * T(2.0)
                        if x > T(3.0):
                            break
                    x = x - T(1.0)
                else:
                    return x * x
            return x
        else:
            return wp.sin(x)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), o: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        for k in range(4):
            s += g(x[i] + T(k) * T(0.3), k % 3) * T(k + 1)
        o[i] = s

    return kernel
