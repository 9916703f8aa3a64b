"""Functions of the kernel language called from Python."""

import treadle as wp


@wp.func
def f(x: float, v: wp.vec3):
    return wp.length(v) * x


@wp.func
def g(x: int):
    if x > 2:
        return 1
    return 0


@wp.func
def rot(a: float):
    return wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), a)


@wp.func
def mm(a: wp.mat33, b: wp.vec3):
    c = a * b
    c[0] = 5.0
    return c + wp.cross(b, c)


print(
    f(2.0, wp.vec3(3.0, 4.0, 0.0)),
    g(5),
    g(1),
    rot(0.5),
    mm(wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0), wp.vec3(1.0, 2.0, 3.0)),
)
