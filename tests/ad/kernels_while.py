"""Cases whose control flow is ``while``: several exits, shared flags, conditions with effects of their own."""

import treadle as wp
from tests.ad.gradient_cases import Input, Ints, Output, Plain, case


@case(dim=4, x=Input(4), limits=Ints([2, 50, 5, 1]), out=Output(4))
def while_true_with_two_breaks(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), limits: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        steps = int(0)
        while True:
            s = s * T(1.3) + T(0.1)
            if s > T(6.0):
                break
            steps += 1
            if steps >= limits[i]:
                break
            s += wp.sin(s) * T(0.2)
        out[i] = s * s + T(steps)

    return kernel


@case(dim=4, x=Input(4), out=Output(4))
def while_on_a_float(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        p = T(1.0)
        while s < T(10.0):
            p = p + s * p * T(0.1)
            s = s * T(1.7) + x[i]
        out[i] = s * p

    return kernel


@case(dim=4, x=Input(4, 5.0, 6.0), out=Output(4))
def while_never_entered(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        while s < T(1.0):
            s = s * s
        out[i] = s * s

    return kernel


@case(dim=4, x=Input((4, 5), -0.2, 1.0), out=Output(4))
def while_with_guarded_read(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        n = x.shape[1]
        j = int(0)
        s = T(1.0)
        while j < n and x[i, j] > T(0.0):
            s = s * x[i, j] + T(0.2)
            j += 1
        out[i] = s * s

    return kernel


@case(dim=3, x=Input((3, 4)), n=Plain(4), out=Output(3))
def nested_while_with_shared_flag(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        a = int(0)
        running = bool(True)
        while running and a < n:
            b = int(0)
            while running and b < n:
                s = s + x[i, a] * x[i, b]
                if s > T(6.0):
                    running = False
                b += 1
            s = s * T(1.1)
            a += 1
        out[i] = s * s * T(a)

    return kernel


@case(dim=4, x=Input(4), out=Output(4))
def return_inside_while_true(T):
    @wp.func
    def grow(x: T) -> T:
        s = x
        while True:
            if s > T(4.0):
                return s * s
            s = s * T(1.6) + x
            if s > T(3.0) and s < T(3.6):
                return s * T(0.5)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = grow(x[i]) + grow(x[i] * T(0.5))

    return kernel


@case(dim=4, x=Input(4), starts=Ints([7, 6, 3, 1]), out=Output(4))
def collatz_steers_floats(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), starts: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        k = starts[i]
        s = x[i]
        while k != 1:
            if k % 2 == 0:
                k = k // 2
                s = s * x[i]
            else:
                k = 3 * k + 1
                s = wp.cos(s) + x[i]
        out[i] = s

    return kernel


@case(dim=4, x=Input(4, 0.5, 4.0), out=Output(4))
def newton_iteration(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        y = x[i]
        steps = int(0)
        while wp.abs(y * y - x[i]) > T(1.0e-3) or steps < 6:
            y = T(0.5) * (y + x[i] / y)
            steps = steps + 1
        out[i] = y

    return kernel


@case(dim=4, x=Input(4), out=Output(4))
def function_in_condition(T):
    @wp.func
    def small(s: T, x: T) -> bool:
        return s * x < T(5.0)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        while small(s, x[i]):
            s = s * T(1.5) + wp.sin(x[i])
        out[i] = s * x[i]

    return kernel


@case(dim=4, x=Input((4, 4)), n=Plain(4), out=Output(4))
def while_in_for_in_while(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.3)
        rounds = int(0)
        while rounds < 3:
            for j in range(n):
                k = j
                while k > 0:
                    s = s + wp.sin(s) * x[i, k] * T(0.1)
                    k -= 1
                if s > T(2.0):
                    break
            rounds += 1
            s = s * x[i, rounds]
        out[i] = s

    return kernel


@case(dim=4, x=Input((4, 6)), stops=Ints([0, 2, 4, 9]), out=Output(4))
def continue_in_while(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), stops: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        j = int(-1)
        while j < 5:
            j += 1
            if j == 3:
                continue
            s = s * x[i, j] + T(0.1)
            if j == stops[i]:
                break
        out[i] = s

    return kernel


@case(dim=3, x=Input(3), out=Output((3, 4)))
def while_with_stores(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        s = x[i]
        j = int(0)
        while j < 4:
            s = s * s + x[i]
            out[i, j] = wp.sqrt(s)
            j = j + 1 + i % 2

    return kernel


@case(dim=3, x=Input((3, 5)), out=Output(3))
def bisection(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        low = int(0)
        high = x.shape[1] - 1
        s = T(0.0)
        while low < high:
            middle = (low + high) // 2
            s = s + x[i, middle] * T(low + 1)
            if s > T(1.0):
                high = middle
            else:
                low = middle + 1
        out[i] = s * x[i, low]

    return kernel


@case(dim=2, x=Input(2), n=Plain(3), out=Output(2))
def while_true_ended_by_return(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        k = int(0)
        while True:
            if k == n:
                out[i] = s
                return
            s = s * s + T(0.1) * x[i]
            k += 1

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3), plain=False)
def while_with_else_and_compound_condition(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        a = int(0)
        while s * s < T(9.0) and not (a > 5 and s > T(2.0)):
            b = int(0)
            while b < a:
                if b == 2:
                    b += 2
                    continue
                s += x[i] * T(0.1) * s
                b += 1
                if s > T(8.0):
                    break
            else:
                s += T(0.01) * s * s
            a += 1
        out[i] = s * s

    return kernel
