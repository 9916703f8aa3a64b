"""Cases about memory: dimensions, views, slices, in-place changes, atomics, several outputs, several readers."""

import treadle as wp
from tests.ad.gradient_cases import Data, InOut, Input, Ints, Output, Plain, case, mat, vec


@case(dim=(3, 4), x=Input((3, 4)), out=Output((3, 4)))
def two_dimensions(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i, j = wp.tid()
        out[i, j] = x[i, j] * x[(i + 1) % x.shape[0], (j + 1) % x.shape[1]]

    return kernel


@case(dim=(2, 3, 2), x=Input((2, 3, 2)), out=Output((2, 3, 2)))
def three_dimensions(T):
    @wp.kernel
    def kernel(x: wp.array3d(dtype=T), out: wp.array3d(dtype=T)):
        i, j, k = wp.tid()
        out[i, j, k] = x[i, j, k] * x[1 - i, 2 - j, 1 - k] + T(i * 6 + j * 2 + k)

    return kernel


@case(dim=(2, 2, 2, 2), x=Input((2, 2, 2, 2)), out=Output((2, 2, 2, 2)))
def four_dimensions(T):
    @wp.kernel
    def kernel(x: wp.array4d(dtype=T), out: wp.array4d(dtype=T)):
        i, j, k, m = wp.tid()
        out[i, j, k, m] = wp.sin(x[i, j, k, m]) * x[m, k, j, i]

    return kernel


@case(dim=3, x=Input((3, 4)), out=Output((3, 4)))
def rows_as_views(T):
    @wp.func
    def norm(row: wp.array(dtype=T)) -> T:
        s = T(0.0)
        for j in range(row.shape[0]):
            s += row[j] * row[j]
        return wp.sqrt(s)

    @wp.func
    def scale(row: wp.array(dtype=T), out: wp.array(dtype=T), by: T):
        for j in range(len(row)):
            out[j] = row[j] / by

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        row = x[i]
        scale(row, out[i], norm(row))

    return kernel


@case(dim=2, x=Input((2, 3, 2)), out=Output(2))
def views_of_views(T):
    @wp.func
    def total(a: wp.array2d(dtype=T)) -> T:
        s = T(1.0)
        for j in range(a.shape[0]):
            row = a[j]
            for k in range(row.shape[0]):
                s = s * row[k] + a[j, k]
        return s

    @wp.kernel
    def kernel(x: wp.array3d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = total(x[i]) * x[i, 0][1]

    return kernel


@case(dim=3, x=Input(3), y=Input(3), out=Output(3))
def array_chosen_by_branch(T):
    @wp.func
    def read(a: wp.array(dtype=T), i: int) -> T:
        return a[i] * a[i]

    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        if i % 2 == 0:
            out[i] = read(x, i)
        else:
            out[i] = read(y, i) * x[0]

    return kernel


@case(dim=3, x=InOut(3))
def polynomial_in_place(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T)):
        i = wp.tid()
        x[i] = x[i] ** T(2.0) + T(3.0) * x[i] + T(1.0)

    return kernel


@case(dim=3, x=InOut(3), y=Input(3), plain=False)
def products_in_place(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T)):
        i = wp.tid()
        x[i] *= y[i]

    return kernel


@case(dim=3, x=InOut(3), y=Input(3), plain=False)
def quotients_in_place(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T)):
        i = wp.tid()
        x[i] /= y[i]

    return kernel


@case(dim=3, x=InOut(3), y=Input(3), plain=False)
def sums_in_place(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T)):
        i = wp.tid()
        x[i] += y[i] * y[i]
        x[i] -= wp.sin(y[i])

    return kernel


@case(dim=6, x=Input(6), out=Output(1), plain=False)
def sum_into_one_element(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        wp.atomic_add(out, 0, x[i] * x[i])
        if i > 2:
            wp.atomic_sub(out, 0, wp.sin(x[i]))

    return kernel


@case(dim=6, x=Input(6, of=vec(3)), bins=Ints([0, 1, 1, 0, 2, 1]), out=Output(3, of=vec(3)), plain=False)
def vectors_added_into_bins(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=V), bins: wp.array(dtype=int), out: wp.array(dtype=V)):
        i = wp.tid()
        v = x[i]
        wp.atomic_add(out, bins[i], v * v[0])
        out[bins[i]] -= wp.cross(v, V(v[1], T(1.0), T(0.5)))

    return kernel


@case(dim=4, x=Input((4, 3)), out=Output((2, 2)), plain=False)
def atomics_in_loops(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        s = T(0.3)
        for j in range(x.shape[1]):
            s = s * x[i, j] + T(0.2)
            if s > T(0.4):
                wp.atomic_add(out, i % 2, j % 2, s * s)

    return kernel


@case(dim=2, x=Input(2, of=mat(2, 2)), out=Output(1, of=mat(2, 2)), plain=False)
def matrices_added(T):
    M = wp.types.matrix(shape=(2, 2), dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=M), out: wp.array(dtype=M)):
        i = wp.tid()
        wp.atomic_add(out, 0, x[i] * x[i])

    return kernel


@case(dim=3, x=Input(3), y=Input(3), a=Output(3), b=Output((3, 2)), c=Output(1), d=Output(3, of=vec(2)), plain=False)
def several_outputs(T):
    V = wp.types.vector(length=2, dtype=T)

    @wp.kernel
    def kernel(
        x: wp.array(dtype=T),
        y: wp.array(dtype=T),
        a: wp.array(dtype=T),
        b: wp.array2d(dtype=T),
        c: wp.array(dtype=T),
        d: wp.array(dtype=V),
    ):
        i = wp.tid()
        p = x[i] * y[i]
        a[i] = p
        b[i, 0] = p * p
        b[i, 1] = x[i]
        wp.atomic_add(c, 0, wp.exp(p))
        d[i] = V(p, y[i] * y[i])

    return kernel


@case(dim=6, x=Input(4), at=Ints([3, 0, 0, 1, 3, 3]), out=Output(6))
def gather(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), at: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = x[at[i]] * x[at[(i + 1) % 6]] + x[0]

    return kernel


@case(dim=4, x=Input(4), at=Ints([2, 0, 3, 1]), out=Output(4))
def scatter(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), at: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        out[at[i]] = x[i] * x[i]

    return kernel


@case(dim=3, x=Input((3, 8)), out=Output(3), plain=False)
def slices_of_arrays(T):
    @wp.func
    def total(a: wp.array(dtype=T)) -> T:
        s = T(0.0)
        for j in range(a.shape[0]):
            s = s * T(0.5) + a[j] * a[j]
        return s

    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        row = x[i]
        out[i] = total(row[1:4]) * total(row[::3]) + total(row[-2:])

    return kernel


@case(dim=3, x=Input(3), out=Output(3))
def element_written_twice(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        out[i] = x[i] * T(100.0)
        if x[i] > T(0.8):
            out[i] = x[i] * x[i]

    return kernel


@case(dim=3, x=Input(3), k=Data(3), n=Plain(3), out=Output(3))
def data_without_gradient(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), k: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for j in range(n):
            s = s * k[j] + wp.sin(k[i] * s)
        out[i] = s

    return kernel


@case(dim=4, x=Input(4), out=Output(4), counter=Ints([0]), plain=False)
def slots_from_a_counter(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T), counter: wp.array(dtype=int)):
        slot = wp.atomic_add(counter, 0, 1)
        out[slot] = wp.sqrt(x[slot])

    return kernel


@case(dim=4, x=Input((4, 3)), out=Output(4), counters=Ints([0, 0]), plain=False)
def counters_in_loops_and_branches(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), out: wp.array(dtype=T), counters: wp.array(dtype=int)):
        i = wp.tid()
        for j in range(x.shape[1]):
            if x[i, j] > T(0.7):
                k = wp.atomic_add(counters, j % 2, 1)
                if k % 2 == 0:
                    wp.atomic_add(out, k % 4, x[i, j] * x[i, j])
                else:
                    wp.atomic_add(out, k % 4, wp.sin(x[k % 4, j]))

    return kernel
