"""Cases whose control flow is ``for`` loops over ``range``: nested, broken off, empty, backwards."""

import treadle as wp
from tests.ad.gradient_cases import Data, Input, Ints, Output, Plain, case, mat, vec


@case(dim=4, x=Input((4, 6)), n=Plain(5), out=Output(4))
def loop_in_loop_in_branch_in_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        total = T(0.0)
        scale = T(1.0)
        for a in range(n):
            if a % 2 == 0:
                for b in range(a + 1):
                    part = T(0.0)
                    for c in range(b + 2):
                        part += x[i, c % 6] * scale
                    scale = scale * T(0.9) + wp.sin(part) * T(0.1)
                    total += part * scale
            else:
                total = total * T(0.5) - x[i, a] * scale
        out[i] = total

    return kernel


@case(dim=4, x=Input((4, 5), -1.0, 1.0), out=Output(4))
def argmax_with_continue(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        n = x.shape[1]
        best = T(-1000.0)
        at = int(-1)
        for j in range(n):
            if x[i, j] <= best:
                continue
            best = x[i, j]
            at = j
        out[i] = best * best + x[i, (at + 1) % n]

    return kernel


@case(dim=3, x=Input(3), n=Plain(4), out=Output(3))
def value_before_loop_used_after(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        before = x[i] * x[i]
        s = T(0.0)
        for j in range(n):
            s += wp.sin(x[i] * T(j))
        out[i] = s * before + before

    return kernel


@case(dim=3, x=Input(3), n=Plain(3), out=Output(3))
def value_before_loop_changed_inside(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        first = x[i] * x[i]
        value = first
        for j in range(n):
            value = value * x[i] + first
            first = first + T(0.5)
        out[i] = value * first * x[i]

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output(3))
def accumulator_used_nonlinearly(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        for j in range(x.shape[1]):
            s += x[i, j] * x[i, j]
        out[i] = wp.exp(-s * T(0.3)) * wp.sqrt(s)

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output(3))
def accumulator_used_nonlinearly_in_function(T):
    @wp.func
    def norm(x: wp.array2d(dtype=T), i: int, n: int) -> T:
        s = T(0.0)
        for j in range(n):
            s += x[i, j] * x[i, j]
        return wp.sqrt(s) / (T(1.0) + s)

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = norm(x, i, x.shape[1]) * norm(x, i, 2)

    return kernel


@case(dim=3, x=Input((3, 3)), w=Input((3, 3)), n=Plain(3), out=Output(3))
def weighted_mean(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), w: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        top = T(0.0)
        bottom = T(0.0)
        for j in range(n):
            top += w[i, j] * x[i, j]
            bottom += w[i, j]
        out[i] = top / bottom

    return kernel


@case(dim=3, x=Input((3, 3)), n=Plain(3), out=Output(3))
def product(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        p = T(1.0)
        for j in range(n):
            p *= x[i, j]
        out[i] = p

    return kernel


@case(dim=3, x=Input(3), n=Plain(0), out=Output(3))
def zero_iterations(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for j in range(n):
            s = s * x[i] + wp.exp(s)
        out[i] = s * s

    return kernel


@case(dim=4, x=Input(4), trips=Ints([0, 3, 1, 5]), out=Output(4))
def trip_count_from_array(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), trips: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for j in range(trips[i]):
            s = wp.sin(s) + x[i] * T(0.3)
        out[i] = s

    return kernel


@case(dim=3, x=Input((3, 5), -1.0, 1.0), t=Input(3), out=Output(3))
def backwards_horner(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), t: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        for j in range(x.shape[1] - 1, -1, -1):
            s = s * t[i] + x[i, j]
        out[i] = s

    return kernel


@case(dim=3, x=Input((3, 7)), out=Output(3))
def backwards_by_two(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for j in range(6, 0, -2):
            s = s * x[i, j] + x[i, j - 1]
        out[i] = s

    return kernel


@case(
    dim=4, x=Input((4, 9)), low=Ints([0, 8, 2, 5]), high=Ints([9, -1, 2, 0]), step=Ints([2, -3, 1, -1]), out=Output(4)
)
def step_at_run_time(T):
    @wp.kernel
    def kernel(
        x: wp.array2d(dtype=T),
        low: wp.array(dtype=int),
        high: wp.array(dtype=int),
        step: wp.array(dtype=int),
        out: wp.array(dtype=T),
    ):
        i = wp.tid()
        s = T(1.0)
        for j in range(low[i], high[i], step[i]):
            s = s * x[i, j] + T(j)
        out[i] = s

    return kernel


@case(dim=3, x=Input(3), n=Plain(6), out=Output(3))
def swapped_pair(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        a = x[i]
        b = x[i] * x[i]
        for j in range(n):
            a, b = b, a * T(0.5) + wp.sin(b)
        out[i] = a * b

    return kernel


@case(dim=3, x=Input(3), n=Plain(5), out=Output(3))
def rotated_triple(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        a, b, c = x[i], x[i] * T(2.0), wp.exp(x[i])
        for j in range(n):
            a, b, c = b * T(0.7), c - a, a * b
        out[i] = a + b * T(2.0) + c * T(3.0)

    return kernel


@case(dim=2, x=Input(2, of=vec(3)), m=Input(2, -0.5, 0.5, of=mat(3, 3)), n=Plain(4), out=Output(2, of=vec(3)))
def carried_vector_and_matrix(T):
    @wp.kernel
    def kernel(
        x: wp.array(dtype=wp.types.vector(length=3, dtype=T)),
        m: wp.array(dtype=wp.types.matrix(shape=(3, 3), dtype=T)),
        n: int,
        out: wp.array(dtype=wp.types.vector(length=3, dtype=T)),
    ):
        i = wp.tid()
        v = x[i]
        p = m[i]
        for j in range(n):
            v = p * v + wp.cross(v, x[i])
            p = p * m[i] + wp.outer(v, x[i]) * T(0.1)
        out[i] = v + p * x[i]

    return kernel


@case(dim=3, x=Input((3, 6)), n=Plain(6), out=Output(3))
def carried_int_and_float(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        k = int(1)
        for j in range(n):
            s = s * x[i, k % 6] + T(k)
            k = (k * 3 + j) % 7
        out[i] = s * T(k + 1)

    return kernel


@case(dim=3, x=Input(3), n=Plain(4), out=Output(3))
def carried_value_without_use(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        used = x[i]
        unused = x[i] * T(3.0)
        for j in range(n):
            unused = unused * unused * T(0.1) + used
            used = wp.cos(used)
        out[i] = used

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output(3))
def first_assigned_in_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        for j in range(x.shape[1]):
            last = x[i, j] * x[i, j]
        out[i] = wp.exp(last) + last

    return kernel


@case(dim=3, x=Input((3, 4)), n=Plain(4), out=Output(3))
def loop_index_after_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        for j in range(n):
            s = s + x[i, j] * x[i, j]
            if s > T(1.5):
                break
        out[i] = s * x[i, j] * T(j + 1)

    return kernel


@case(dim=3, x=Input((3, 6)), n=Plain(4), out=Output(3))
def loop_index_reassigned(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for j in range(n):
            j = (j * 2) % 6
            s = s * x[i, j] + T(0.5)
        out[i] = s

    return kernel


@case(dim=3, x=Input((3, 6)), n=Plain(6), out=Output(3))
def bound_changed_inside(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        m = n
        for j in range(m):
            m = m - 1
            s = s * x[i, j] + T(m)
        out[i] = s * T(m + 2)

    return kernel


@case(dim=4, x=Input((4, 5), -1.0, 1.0), out=Output(4))
def break_inside_continue_outside(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        n = x.shape[1]
        s = T(1.0)
        for a in range(n):
            if x[i, a] < T(-0.4):
                s = s * T(1.5)
                continue
            for b in range(n):
                if b > a:
                    break
                if x[i, b] > T(0.5):
                    continue
                s = s + x[i, a] * x[i, b] * s * T(0.2)
            s = s + T(0.1)
        out[i] = s

    return kernel


@case(dim=3, x=Input((3, 5)), n=Plain(5), out=Output(3))
def break_in_first_iteration(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i, 0]
        for j in range(n):
            s = s * s
            break
        out[i] = s * x[i, 1]

    return kernel


@case(dim=4, x=Input((4, 6), -1.0, 1.0), out=Output(4))
def break_continue_and_return(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for j in range(x.shape[1]):
            v = x[i, j]
            if v > T(0.9):
                out[i] = s * v
                return
            if v < T(-0.8):
                break
            if v < T(0.0):
                s = s - v
                continue
            s = s + v * s
        out[i] = s * s

    return kernel


@case(dim=3, x=Input((3, 8)), out=Output(3))
def short_constant_loops(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.5)
        for a in range(3):
            for b in range(2):
                s = s * x[i, a + b] + x[i, 2 * a]
            for c in range(0):
                s = s * T(100.0)
        out[i] = s

    return kernel


@case(dim=3, x=Input((3, 8), 0.2, 1.0), out=Output(3))
def long_constant_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0.5)
        for a in range(40):
            s = s * x[i, a % 8] + T(0.1)
        out[i] = s * s

    return kernel


@case(dim=4, x=Input((4, 4), 0.4, 1.2), out=Output(4))
def break_in_constant_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for j in range(4):
            s = s * x[i, j]
            if s < T(0.8):
                break
            s = s + x[i, j]
        out[i] = s * s

    return kernel


@case(dim=2, r=Input(2, 3.0, 3.4), x=Input(2, 0.2, 0.6), n=Plain(200), out=Output(2))
def logistic_map(T):
    @wp.kernel
    def kernel(r: wp.array(dtype=T), x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for j in range(n):
            s = r[i] * s * (T(1.0) - s)
        out[i] = s

    return kernel


@case(dim=4, x=Input((4, 8)), trips=Ints([3, 0, 6, 1]), out=Output(4))
def two_loops_one_accumulator(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), trips: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        k = int(0)
        for j in range(trips[i]):
            s = s * x[i, j]
            if s > T(0.5):
                k += 1
        for j in range(k):
            s = s + x[i, j] * s
        out[i] = s

    return kernel


@case(dim=2, x=Input((2, 4)), a=Data((2, 4)), out=Output((2, 4)))
def stores_in_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), a: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        s = T(0.0)
        for j in range(x.shape[1]):
            s = s * a[i, j] + x[i, j] * x[i, j]
            out[i, j] = s * s

    return kernel


@case(dim=2, x=Input((2, 4)), out=Output((2, 2)))
def stores_that_overwrite_in_loop(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        for j in range(x.shape[1]):
            out[i, j % 2] = x[i, j] * x[i, j]

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output(3))
def integer_literal_as_start(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(0)
        p = T(1)
        for j in range(x.shape[1]):
            s += 2 * x[i, j]
            p = p * s + 1
        out[i] = p / 4

    return kernel


@case(dim=4, x=Input((4, 4), 0.0, 1.0), out=Output(4))
def else_after_loops(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for j in range(x.shape[1]):
            s = s * x[i, j] + T(0.5)
            if x[i, j] > T(0.8):
                break
        else:
            s = s * s
        k = int(0)
        while k < 3:
            s = s + x[i, k]
            if s > T(1.5):
                break
            k += 1
        else:
            s = wp.exp(s)
        out[i] = s

    return kernel


@case(dim=3, x=Input(3), n=Plain(20), out=Output(3), plain=False)
def four_nested_loops(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for a in range(3):
            for b in range(n):
                if b > a + 2:
                    break
                for c in range(2):
                    for d in range(b):
                        if d == 1:
                            continue
                        s = wp.sin(s) + x[i] * T(0.2)
                        if s > T(1.25):
                            s = s * T(0.5)
                            break
                    s = s * T(1.1)
        out[i] = s

    return kernel
