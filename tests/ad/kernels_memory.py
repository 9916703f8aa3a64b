"""Cases in which a kernel reads memory that it has written: recurrences, sorting, queues, components in place."""

import treadle as wp
from tests.ad.gradient_cases import InOut, Input, Ints, Output, Plain, case, mat, vec


@case(dim=3, x=Input(3), y=Input(3), n=Plain(3), out=Output(3), plain=False)
def arrays_swapped_in_loop(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        a = x
        b = y
        s = T(1.0)
        for k in range(n):
            s = s * a[i] + b[k] * b[k]
            a, b = b, a
        out[i] = s * a[i]

    return kernel


@case(dim=3, x=Input(3), y=Input(3), n=Plain(3), out=Output(3), plain=False)
def array_variable_chosen_at_run_time(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        a = x
        if i > 0:
            a = y
        c = x if i == 1 else y
        out[i] = a[i] * c[0] * x[i]

    return kernel


@case(dim=2, x=InOut((2, 5)), n=Plain(5), plain=False)
def recurrence_in_memory(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int):
        i = wp.tid()
        for k in range(n - 1):
            x[i, k + 1] = wp.sin(x[i, k]) * x[i, k + 1] + x[i, k + 1] * x[i, k + 1]

    return kernel


@case(dim=2, x=InOut((2, 5)), n=Plain(5), plain=False)
def recurrence_in_memory_with_exits(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int):
        i = wp.tid()
        k = int(0)
        s = T(0.1)
        while True:
            s = s + x[i, k] * x[i, k]
            x[i, k] = s * T(0.3)
            if s > T(4.0) or k == n - 1:
                break
            k += 1
            for j in range(k):
                x[i, k] += x[i, j] * s
                x[i, j] *= T(1.1)
            if x[i, k] < T(0.7):
                continue
            x[i, 0] = x[i, 0] * x[i, k]

    return kernel


@case(dim=2, x=InOut((2, 4)), o=Output((2, 2)), n=Plain(4), plain=False)
def bubble_sort_in_memory(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), o: wp.array2d(dtype=T), n: int):
        i = wp.tid()
        for a in range(n):
            for b in range(n - 1 - a):
                if x[i, b] > x[i, b + 1]:
                    t = x[i, b]
                    x[i, b] = x[i, b + 1]
                    x[i, b + 1] = t
        o[i, 0] = x[i, 0] * x[i, 3]
        o[i, 1] = x[i, 1] * x[i, 1]

    return kernel


@case(dim=4, x=Input(8), out=Output(1), c=Ints([0]), n=Plain(3), plain=False)
def atomic_maximum(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T), c: wp.array(dtype=int), n: int):
        i = wp.tid()
        wp.atomic_max(out, 0, x[i] * x[i + 4])

    return kernel


@case(dim=4, x=Input(16), out=Output(16), c=Ints([0]), n=Plain(3), plain=False)
def work_queue(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T), c: wp.array(dtype=int), n: int):
        s = T(1.0)
        while True:
            k = wp.atomic_add(c, 0, 1)
            if k >= 16:
                break
            s = s * T(1.0)
            out[k] = x[k] * x[(k + 1) % 16] * x[k]

    return kernel


@case(dim=2, x=Input(2, of=mat(2, 2)), out=Output(2, of=mat(2, 2)), plain=False)
def matrix_components_in_memory(T):
    M2 = wp.types.matrix(shape=(2, 2), dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=M2), out: wp.array(dtype=M2)):
        i = wp.tid()
        out[i] = x[i]
        out[i][0, 1] = x[i][0, 0] * x[i][1, 1]
        out[i][0] = out[i][1] * out[i][0, 1]

    return kernel


@case(dim=2, x=InOut(2, of=vec(3)), n=Plain(3), plain=False)
def vector_components_in_memory(T):
    V3 = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V3), n: int):
        i = wp.tid()
        for k in range(n):
            x[i][k] *= x[i][(k + 1) % 3]
            x[i][0] += x[i][2]
        x[i] *= T(2.0)
        x[i] = x[i] / x[i][1]

    return kernel


@case(dim=2, x=Input((2, 4)), n=Plain(4), out=Output((2, 4)), plain=False)
def early_return_after_stores_and_loads(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array2d(dtype=T)):
        i = wp.tid()
        out[i, 0] = x[i, 0]
        for k in range(1, n):
            out[i, k] = out[i, k - 1] * x[i, k]
            if out[i, k] > T(0.9) and k > 1:
                out[i, 0] = out[i, k] * out[i, k]
                return
        out[i, 3] = out[i, 2] * out[i, 3]

    return kernel


@case(dim=2, x=Input((2, 4)), n=Plain(4), out=Output((2, 4)), plain=False)
def function_that_stores_and_loads(T):
    @wp.func
    def step(a: wp.array(dtype=T), k: int, v: T) -> T:
        a[k] = a[k - 1] * v
        return a[k] * a[0]

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), n: int, out: wp.array2d(dtype=T)):
        i = wp.tid()
        row = out[i]
        row[0] = x[i, 0]
        s = T(0.0)
        for k in range(1, n):
            s += step(row, k, x[i, k])
        row[1] = s * row[1]

    return kernel


@case(dim=3, x=Input(3), y=Input(3), out=Output(3), plain=False)
def loads_between_stores(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = x[i] * x[i]
        a = out[i]
        out[i] = a * y[i]
        b = out[i]
        out[i] = b * a

    return kernel


@case(dim=3, x=Input(3), y=InOut(3), out=Output(3), plain=False)
def loads_after_accumulation(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        y[i] += x[i] * y[i]
        out[i] = y[i] * y[i]
        y[i] -= out[i] * x[i]
        y[i] *= y[i]

    return kernel


@case(dim=2, x=Input((2, 16)), o=Output((2, 16)), plain=False)
def prefix_scan_in_memory(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), o: wp.array2d(dtype=T)):
        i = wp.tid()
        for k in range(16):
            o[i, k] = x[i, k]
        d = int(1)
        while d < 16:
            for j in range(15, d - 1, -1):
                o[i, j] = o[i, j] * o[i, j - d]
            d = d * 2

    return kernel


@case(dim=3, x=Input((3, 6)), o=Output((3, 6)), plain=False)
def selection_sort_by_function(T):
    @wp.func
    def swap(a: wp.array(dtype=T), p: int, q: int):
        t = a[p]
        a[p] = a[q]
        a[q] = t

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), o: wp.array2d(dtype=T)):
        i = wp.tid()
        for k in range(6):
            o[i, k] = x[i, k]
        for a in range(6):
            m = a
            for b in range(a + 1, 6):
                if o[i, b] < o[i, m]:
                    m = b
            if m != a:
                swap(o[i], a, m)
        for k in range(5):
            o[i, k] = o[i, k] * o[i, k + 1]

    return kernel
