"""Cases in which integers steer what happens to floats: indices, hashes, bit operations, casts."""

import treadle as wp
from tests.ad.gradient_cases import Input, Ints, Output, Plain, case


@case(dim=4, x=Input(8), out=Output(4))
def bits_as_indices(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        gray = i ^ (i >> 1)
        mask = (gray << 1) | 1
        low = mask & 7
        out[i] = x[low] * x[gray & 7] + x[(~i) & 7]

    return kernel


@case(dim=4, x=Input(8), out=Output(4), plain=False)
def unsigned_hash_as_index(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        h = wp.uint32(i) * wp.uint32(2654435769)
        s = T(1.0)
        for _ in range(5):
            h = h ^ (h >> wp.uint32(13))
            h = h * wp.uint32(3266489917)
            s = s * x[int(h % wp.uint32(8))] + T(0.1)
        out[i] = s

    return kernel


@case(dim=4, x=Input(16), a=Ints([7, -7, 5, -5]), b=Ints([2, 2, -3, -3]), out=Output(4), plain=False)
def signed_division(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), a: wp.array(dtype=int), b: wp.array(dtype=int), out: wp.array(dtype=T)):
        i = wp.tid()
        quotient = a[i] / b[i]
        rest = a[i] % b[i]
        floor = a[i] // b[i]
        out[i] = x[quotient + 8] * x[rest + 8] + x[floor + 8] * x[8] * T(quotient * b[i] + rest)

    return kernel


@case(dim=4, x=Input(4, 1.2, 6.8), table=Input(8), out=Output(4))
def float_to_index(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), table: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        k = int(wp.floor(x[i]))
        t = x[i] - T(k)
        out[i] = table[k] * (T(1.0) - t) + table[(k + 1) % 8] * t * t

    return kernel


@case(dim=4, x=Input(4), k=Ints([1, 2, 3, 4], wp.int64), small=Ints([1, -2, 3, -4], wp.int8), out=Output(4))
def widths_of_integers(T):
    @wp.kernel
    def kernel(
        x: wp.array(dtype=T), k: wp.array(dtype=wp.int64), small: wp.array(dtype=wp.int8), out: wp.array(dtype=T)
    ):
        i = wp.tid()
        wide = k[i] * wp.int64(1000000) * wp.int64(1000000)
        narrow = wp.int32(small[i]) * 2
        out[i] = x[i] * T(wide) / T(1000000000000.0) * T(narrow) + T(small[i]) * x[i] * x[i]

    return kernel


@case(dim=4, x=Input(4), n=Plain(12), out=Output(4))
def integer_minima_and_maxima(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, out: wp.array(dtype=T)):
        i = wp.tid()
        k = wp.min(wp.max(i * 3, 2), n - 5)
        s = x[i]
        for j in range(wp.abs(k - 4)):
            s = s * x[wp.clamp(j, 0, 3)] + T(0.5)
        out[i] = s

    return kernel


@case(dim=8, x=Input(8), out=Output(8))
def butterfly(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        bit = int(1)
        while bit < 8:
            s = s * x[i ^ bit] + T(0.25)
            bit <<= 1
        out[i] = s

    return kernel


@case(dim=4, x=Input(4), out=Output(4), plain=False)
def counted_bits(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        s = x[i]
        for _ in range(wp.bit_count(i * 5 + 1)):
            s = s * s + T(0.1)
        out[i] = s

    return kernel


@case(dim=4, x=Input(4), out=Output(4))
def casts_between_floats(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        wide = wp.float64(x[i]) * wp.float64(3.0)
        out[i] = T(wide * wide) + T(float(i)) * x[i]

    return kernel


@case(dim=4, x=Input(4), out=Output(4))
def augmented_assignment(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        k = i
        k += 3
        k *= 2
        k -= 1
        k |= 8
        k &= 13
        k ^= 3
        k >>= 1
        s = x[i]
        s += T(k)
        s *= x[i]
        s -= T(0.5)
        s /= x[i] + T(1.0)
        s **= T(2.0)
        out[i] = s

    return kernel


@case(dim=3, x=Input(3), out=Output((3, 6)))
def powers(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array2d(dtype=T)):
        i = wp.tid()
        v = x[i]
        out[i, 0] = v**2
        out[i, 1] = v**3 + v**0 + v**1
        out[i, 2] = v**-2
        out[i, 3] = v ** T(0.5)
        out[i, 4] = v ** (v * T(2.0))
        out[i, 5] = (-v) ** 3

    return kernel
