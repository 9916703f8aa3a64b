"""Arithmetic as in C."""

import numpy as np

import treadle as wp


@wp.kernel
def k(o: wp.array(dtype=int), f: wp.array(dtype=float), n: int, x: float):
    o[0] = n / 2
    o[1] = n % 3
    o[2] = n // 2
    o[3] = -n // 2
    o[4] = -n % 3
    o[5] = n >> 1
    o[6] = n << 2
    o[7] = n & 6
    o[8] = n | 8
    o[9] = n ^ 5
    o[10] = ~n
    o[11] = -n / 2
    o[12] = int(x)
    o[13] = int(-x)
    o[14] = wp.int32(wp.uint8(n * 100))
    o[15] = wp.abs(-n)
    o[16] = wp.min(n, 3)
    o[17] = wp.clamp(n, 0, 4)
    o[18] = wp.sign(-n)
    f[0] = x % 2.0
    f[1] = -x % 2.0
    f[2] = x // 2.0
    f[3] = x**2.0
    f[4] = wp.pow(x, 0.5)
    f[5] = float(n) / 2.0
    f[6] = wp.float32(n > 3)
    f[7] = wp.round(x)
    f[8] = -x // 2.0
    f[9] = wp.mod(-x, 2.0)
    f[10] = wp.floor(-x)
    f[11] = wp.trunc(-x)
    f[12] = wp.where(n == 7, 1.0, 2.0)
    f[13] = wp.sign(0.0)
    f[14] = wp.step(1.0)
    f[15] = wp.smoothstep(0.0, 1.0, 2.0)
    f[16] = wp.acos(2.0 - 1.0)
    f[17] = wp.atan2(-1.0, -1.0)
    f[18] = wp.cos(wp.pi)
    f[19] = wp.nonzero(0.0)
    a = n
    a += 1
    a -= 2
    a *= 3
    a //= 2
    a <<= 1
    a |= 1
    a ^= 3
    a &= 255
    a >>= 1
    a %= 50
    o[19] = a


o = wp.zeros(20, dtype=int)
f = wp.zeros(20, dtype=float)
wp.launch(k, 1, [o, f, 7, 3.7])
print(o.numpy().tolist())
print(np.round(f.numpy(), 4).tolist())
