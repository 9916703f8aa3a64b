"""Types of all sizes."""

# ruff: noqa: E741
import treadle as wp


@wp.kernel
def k(
    o: wp.array(dtype=wp.float64),
    h: wp.array(dtype=wp.float16),
    u: wp.array(dtype=wp.uint8),
    l: wp.array(dtype=wp.int64),
    n: wp.int64,
    d: wp.float64,
    flag: bool,
):
    i = wp.tid()
    o[i] = wp.float64(i) * d + wp.float64(1.5)
    h[i] = wp.float16(float(i) * 0.5)
    u[i] = wp.uint8(250 + i * 3)
    l[i] = wp.int64(i) * n
    if flag:
        o[i] += wp.sin(wp.float64(0.5)) + wp.float64(wp.uint32(3) - wp.uint32(5) > wp.uint32(2))
    v = wp.vec3d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0))
    o[i] += wp.length(v)
    z = wp.vec3h(wp.float16(1.0), wp.float16(2.0), wp.float16(3.0))
    h[i] += z[1]
    b = wp.int32(wp.uint8(255)) + int(wp.int8(-3)) + int(True)
    o[i] += wp.float64(b)
    vi = wp.vec2i(3, 4)
    o[i] += wp.float64(vi[0] * vi[1])


o = wp.zeros(3, dtype=wp.float64)
h = wp.zeros(3, dtype=wp.float16)
u = wp.zeros(3, dtype=wp.uint8)
l = wp.zeros(3, dtype=wp.int64)
wp.launch(k, 3, [o, h, u, l, 10000000000, 0.25, True])
print(o, h, u, l)


@wp.kernel
def ks(a: wp.array(dtype=wp.bool), x: wp.array[float], c: wp.array2d[wp.vec2]):
    i = wp.tid()
    a[i] = x[i] > 1.0
    c[i, 0] = wp.vec2(x[i])


a = wp.zeros(3, dtype=bool)
x = wp.array([0.0, 1.5, 2.0], dtype=float)
c = wp.zeros((3, 1), dtype=wp.vec2)
wp.launch(ks, 3, [a, x, c])
print(a, c.numpy().tolist())
