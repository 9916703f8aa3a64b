"""Cases with random numbers, searches and loops over values: what is drawn again must be what was drawn before."""

import treadle as wp
from tests.ad.gradient_cases import Data, Input, Ints, Output, Plain, case, vec


@case(dim=4, x=Input(4), n=Plain(6), out=Output(4), plain=False)
def random_walk(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        state = wp.rand_init(42, i)
        s = x[i]
        for j in range(n):
            step = T(wp.randf(state))
            if wp.randi(state) % 3 == 0:
                s = s * (T(1.0) + step * x[i])
            else:
                s = s - step * T(wp.randf(state, -1.0, 1.0)) * s
        out[i] = s

    return kernel


@case(dim=4, mean=Input(4), spread=Input(4), out=Output(1), plain=False)
def expectation(T):
    @wp.func
    def sample(state: wp.uint32, mean: T, spread: T) -> T:
        return mean + spread * T(wp.randn(state))

    @wp.kernel
    def kernel(mean: wp.array(dtype=T), spread: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        state = wp.rand_init(7 + i)
        first = sample(state, mean[i], spread[i])
        state = wp.rand_init(8 + i)
        wp.atomic_add(out, 0, first * first + wp.exp(sample(state, mean[i], spread[i])))

    return kernel


@case(dim=4, x=Input(4), n=Plain(20), out=Output(4), plain=False)
def rejection(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        state = wp.rand_init(3, i)
        s = T(0.0)
        accepted = int(0)
        for j in range(n):
            u = T(wp.randf(state))
            v = T(wp.randf(state))
            if v > wp.exp(-u * x[i]):
                continue
            s += u * x[i] * s + u
            accepted += 1
            if accepted == 4:
                break
        out[i] = s

    return kernel


@case(dim=4, x=Input(4, 0.2, 4.8), knots=Ints([0, 1, 2, 3, 4, 5]), values=Input(6), out=Output(4), plain=False)
def interpolation_after_a_search(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), knots: wp.array(dtype=int), values: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        k = wp.lower_bound(knots, int(wp.ceil(x[i])))
        t = x[i] - T(knots[k - 1])
        out[i] = wp.lerp(values[k - 1], values[k], t * t)

    return kernel


@case(dim=3, x=Input((3, 4)), w=Data(4), out=Output(3), plain=False)
def loops_over_values(T):
    @wp.kernel
    def kernel(x: wp.array2d(dtype=T), w: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = T(1.0)
        for weight in w:
            s = s * weight + x[i, 0]
        for k in (2, 0, 3):
            s = s * x[i, k] + T(k)
        for value in x[i]:
            if value > T(1.3):
                continue
            s = s + value * s * T(0.1)
        out[i] = s

    return kernel


@case(dim=3, x=Input(3, of=vec(3)), out=Output(3))
def minimum_by_index(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=wp.types.vector(length=3, dtype=T)), out: wp.array(dtype=T)):
        i = wp.tid()
        v = x[i]
        s = T(0.0)
        for k in range(3):
            at = int(wp.argmin(v))
            s = s * v[at] + v[at]
            v[at] = v[at] + T(10.0)
        out[i] = s

    return kernel
