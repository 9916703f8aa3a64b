"""Structs that functions return, and arrays of structs."""

import numpy as np

import treadle as wp


@wp.struct
class Hit:
    t: float
    n: wp.vec3
    ok: bool


@wp.struct
class Scene:
    centers: wp.array(dtype=wp.vec3)
    radii: wp.array(dtype=float)
    count: int


@wp.func
def isect(s: Scene, o: wp.vec3, d: wp.vec3) -> Hit:
    h = Hit()
    h.t = 1.0e6
    h.ok = False
    for i in range(s.count):
        oc = o - s.centers[i]
        b = wp.dot(oc, d)
        c = wp.dot(oc, oc) - s.radii[i] * s.radii[i]
        disc = b * b - c
        if disc > 0.0:
            t = -b - wp.sqrt(disc)
            if t > 0.0 and t < h.t:
                h.t = t
                h.n = wp.normalize(oc + d * t)
                h.ok = True
    return h


@wp.kernel
def k(s: Scene, o: wp.array(dtype=float), hits: wp.array(dtype=Hit)):
    i = wp.tid()
    h = isect(s, wp.vec3(float(i) * 0.3 - 1.0, 0.0, 5.0), wp.vec3(0.0, 0.0, -1.0))
    if h.ok:
        o[i] = h.t * h.n[2]
    else:
        o[i] = -1.0
    hits[i] = h


s = Scene()
s.centers = wp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]], dtype=wp.vec3)
s.radii = wp.array([1.0, 0.5], dtype=float)
s.count = 2
o = wp.zeros(8, dtype=float)
h = wp.zeros(8, dtype=Hit)
wp.launch(k, 8, [s, o, h])
print(np.round(o.numpy(), 4), h.numpy()["ok"].astype(int), np.round(h.numpy()["t"], 3))
