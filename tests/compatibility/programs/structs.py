"""Structs, nested and in arrays."""

import treadle as wp


@wp.struct
class Material:
    stiffness: float
    damping: float
    color: wp.vec3
    id: int


@wp.struct
class State:
    x: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)
    mat: Material
    dt: float


@wp.func
def energy(mat: Material, x: wp.vec3):
    return 0.5 * mat.stiffness * wp.dot(x, x)


@wp.kernel
def k(s: State, e: wp.array(dtype=float)):
    i = wp.tid()
    s.x[i] = s.x[i] + s.v[i] * s.dt
    e[i] = energy(s.mat, s.x[i])


@wp.kernel
def make(ms: wp.array(dtype=Material)):
    i = wp.tid()
    m = Material()
    m.stiffness = float(i)
    m.id = i * 2
    m.color = wp.vec3(float(i))
    ms[i] = m


@wp.kernel
def use(ms: wp.array(dtype=Material), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = ms[i].stiffness + ms[i].color[1] + float(ms[i].id)
    ms[i].damping = 3.0


s = State()
s.x = wp.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], dtype=wp.vec3)
s.v = wp.ones(2, dtype=wp.vec3)
s.mat = Material()
s.mat.stiffness = 10.0
s.dt = 0.1
e = wp.zeros(2, dtype=float)
wp.launch(k, dim=2, inputs=[s], outputs=[e])
print(e.numpy(), s.x.numpy())
ms = wp.zeros(3, dtype=Material)
wp.launch(make, 3, [ms])
out = wp.zeros(3, dtype=float)
wp.launch(use, 3, [ms, out])
print(out.numpy(), ms.numpy()["damping"], ms.numpy()["id"], ms.numpy()["color"])
m = Material()
m.id = 4
print(m.id, m.stiffness, m.color)
arr = wp.array([m, m], dtype=Material)
print(arr.numpy()["id"], arr.shape)
