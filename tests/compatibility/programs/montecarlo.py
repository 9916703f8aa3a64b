"""Random numbers."""

import numpy as np

import treadle as wp


@wp.kernel
def pi_kernel(seed: int, count: wp.array(dtype=int)):
    i = wp.tid()
    rng = wp.rand_init(seed, i)
    x = wp.randf(rng)
    y = wp.randf(rng, 0.0, 1.0)
    if x * x + y * y < 1.0:
        wp.atomic_add(count, 0, 1)


@wp.kernel
def draws(
    seed: int,
    a: wp.array(dtype=float),
    b: wp.array(dtype=int),
    c: wp.array(dtype=wp.uint32),
    n: wp.array(dtype=float),
    s: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec2),
):
    i = wp.tid()
    r = wp.rand_init(seed, i)
    a[i] = wp.randf(r, -2.0, 5.0)
    b[i] = wp.randi(r, 0, 100)
    c[i] = wp.randu(r)
    n[i] = wp.randn(r)
    s[i] = wp.sample_unit_sphere(r)
    d[i] = wp.sample_unit_disk(r)


count = wp.zeros(1, dtype=int)
wp.launch(pi_kernel, dim=100000, inputs=[42, count])
print(count.numpy()[0])
a = wp.zeros(6, dtype=float)
b = wp.zeros(6, dtype=int)
c = wp.zeros(6, dtype=wp.uint32)
n = wp.zeros(6, dtype=float)
s = wp.zeros(6, dtype=wp.vec3)
d = wp.zeros(6, dtype=wp.vec2)
wp.launch(draws, 6, [7, a, b, c, n, s, d])
for arr in (a, b, c, n, s, d):
    print(np.round(arr.numpy(), 4).tolist())
