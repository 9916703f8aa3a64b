"""Rotations in other forms: Euler angles, the shortest turn between two vectors, the twist about an axis."""

from __future__ import annotations

from treadle.language.builtins import builtin, get
from treadle.language.decorators import static
from treadle.language.stdlib.quaternions import normalize_quaternion, quat_from_axis_angle, quat_to_matrix
from treadle.language.stdlib.vectors import cross, dot, normalize
from treadle.types import Float, int32, quaternion, vec
from treadle.types.vectors import vector

sqrt, asin, atan2, absolute = map(get, ("sqrt", "asin", "atan2", "abs"))

# Where the cosine of the middle angle is smaller, the outer two turn about one axis.
_LOCKED = 1.0e-6


@builtin
def quat_to_rpy(q: quaternion(Float)):
    """Roll, pitch and yaw of a unit quaternion: what ``quat_rpy`` was given."""
    roll = atan2(2.0 * (q.w * q.x + q.y * q.z), 1.0 - 2.0 * (q.x * q.x + q.y * q.y))
    s = 2.0 * (q.w * q.y - q.z * q.x)
    if s > 1.0:
        s = s / s
    if s < -1.0:
        s = -(s / s)
    yaw = atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))
    return static(vector(3, q.dtype))(roll, asin(s), yaw)


@builtin(name="_about_axis")
def about_axis(e: vec(3, Float), i: int32):
    """The rotation by ``e[i]`` about axis ``i``."""
    axis = type(e)()
    axis[i] = e.dtype(1.0)
    return quat_from_axis_angle(axis, e[i])


@builtin
def quat_from_euler(e: vec(3, Float), i: int32, j: int32, k: int32):
    """Rotations about the fixed axes ``i``, ``j``, ``k``, one after the other; ``e`` has the angle for each axis."""
    return about_axis(e, k) * about_axis(e, j) * about_axis(e, i)


@builtin
def quat_to_euler(q: quaternion(Float), i: int32, j: int32, k: int32):
    """The angles, by axis, that ``quat_from_euler`` makes a unit quaternion of.

    With ``i == k`` the third angle is that of the axis which is left, where ``quat_from_euler`` does not look for it.
    Where only the sum or the difference of the outer angles counts, the last is 0.
    """
    r = quat_to_matrix(q)
    other = k
    if i == k:
        other = 3 - i - j
    sign = q.dtype(1.0)
    if (j - i + 3) % 3 == 2:
        sign = q.dtype(-1.0)
    if i == k:
        sine_first, cosine_first = r[i, j], sign * r[i, other]
        sine_last, cosine_last = r[j, i], -sign * r[other, i]
        flat = sqrt(sine_first * sine_first + cosine_first * cosine_first)
        middle = atan2(flat, r[i, i])
    else:
        sine_first, cosine_first = sign * r[k, j], r[k, k]
        sine_last, cosine_last = sign * r[j, i], r[i, i]
        flat = sqrt(sine_first * sine_first + cosine_first * cosine_first)
        middle = atan2(-sign * r[k, i], flat)
    if flat < _LOCKED:
        first, last = atan2(-sign * r[j, other], r[j, j]), q.dtype(0.0)
    else:
        first, last = atan2(sine_first, cosine_first), atan2(sine_last, cosine_last)
    result = static(vector(3, q.dtype))()
    result[i] = first
    result[j] = middle
    result[other] = last
    return result


@builtin
def quat_between_vectors(a: vec(3, Float), b: vec(3, Float)):
    """The rotation by the smallest angle from the direction of ``a`` to that of ``b``."""
    u, v = normalize(a), normalize(b)
    axis = cross(u, v)
    w = 1.0 + dot(u, v)
    if w < _LOCKED:  # opposite: half a turn about any axis at right angles
        w = w - w
        axis = type(a)(0.0, -u[2], u[1])
        if absolute(u[0]) > 0.7:
            axis = type(a)(-u[1], u[0], 0.0)
    return normalize_quaternion(static(quaternion(a.dtype))(axis[0], axis[1], axis[2], w))


@builtin
def quat_twist(axis: vec(3, Float), q: quaternion(Float)):
    """The part of a rotation that turns about ``axis``, a unit vector; the rest turns about an axis at right angles."""
    along = axis[0] * q.x + axis[1] * q.y + axis[2] * q.z
    return normalize_quaternion(type(q)(along * axis[0], along * axis[1], along * axis[2], q.w))


@builtin
def quat_twist_angle(axis: vec(3, Float), q: quaternion(Float)):
    """The angle of the twist about ``axis``, without its sign: 0 to 2π."""
    return 2.0 * atan2(absolute(axis[0] * q.x + axis[1] * q.y + axis[2] * q.z), q.w)


@builtin
def quat_twist_angle_signed(axis: vec(3, Float), q: quaternion(Float)):
    """The angle of the twist about ``axis``, by the rule of the right hand: −2π to 2π."""
    return 2.0 * atan2(axis[0] * q.x + axis[1] * q.y + axis[2] * q.z, q.w)
