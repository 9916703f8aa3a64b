"""Ray marching with structs and nested functions."""

import numpy as np

import treadle as wp


@wp.struct
class Ray:
    o: wp.vec3
    d: wp.vec3


@wp.func
def sphere(p: wp.vec3, c: wp.vec3, r: float):
    return wp.length(p - c) - r


@wp.func
def sdf(p: wp.vec3):
    return wp.min(sphere(p, wp.vec3(0.0), 1.0), p[1] + 1.0)


@wp.func
def normal(p: wp.vec3):
    eps = 1e-3
    dx = sdf(p + wp.vec3(eps, 0.0, 0.0)) - sdf(p - wp.vec3(eps, 0.0, 0.0))
    dy = sdf(p + wp.vec3(0.0, eps, 0.0)) - sdf(p - wp.vec3(0.0, eps, 0.0))
    dz = sdf(p + wp.vec3(0.0, 0.0, eps)) - sdf(p - wp.vec3(0.0, 0.0, eps))
    return wp.normalize(wp.vec3(dx, dy, dz))


@wp.func
def make_ray(i: int, j: int, w: int, h: int) -> Ray:
    sx = (2.0 * float(i) + 1.0 - float(w)) / float(h)
    sy = (2.0 * float(j) + 1.0 - float(h)) / float(h)
    r = Ray()
    r.o = wp.vec3(0.0, 0.0, 3.0)
    r.d = wp.normalize(wp.vec3(sx, sy, -1.5))
    return r


@wp.kernel
def draw(w: int, h: int, px: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    ray = make_ray(i, j, w, h)
    t = float(0.0)
    hit = bool(False)
    for s in range(64):
        d = sdf(ray.o + ray.d * t)
        if d < 1e-3:
            hit = True
            break
        t = t + d
        if t > 20.0:
            break
    if hit:
        n = normal(ray.o + ray.d * t)
        px[i, j] = n * 0.5 + wp.vec3(0.5, 0.5, 0.5)


px = wp.zeros((16, 12), dtype=wp.vec3)
wp.launch(draw, dim=(16, 12), inputs=[16, 12, px])
print(np.round(px.numpy()[4:12:2, 2:10:3], 3).tolist())
