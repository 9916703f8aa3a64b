"""Quaternions (x, y, z, w): rotations from and to other forms, and interpolation between them."""

from __future__ import annotations

from treadle.language.builtins import builtin, get
from treadle.language.decorators import static
from treadle.language.stdlib.products import rotated
from treadle.types import Float, float32, mat, quaternion, vec
from treadle.types.matrices import matrix
from treadle.types.values import type_of
from treadle.types.vectors import vector

sqrt, sin, cos, atan2 = map(get, ("sqrt", "sin", "cos", "atan2"))

# Up to this square of an angle, slerp uses a series.
_SMALL = 1.0e-7


@builtin(name="dot")
def dot_of_quaternions(a: quaternion(Float), b: quaternion(Float)):
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w


@builtin(name="length_sq")
def length_sq_of_quaternion(a: quaternion(Float)):
    return dot_of_quaternions(a, a)


@builtin(name="length")
def length_of_quaternion(a: quaternion(Float)):
    squared = dot_of_quaternions(a, a)
    result = squared
    if squared != 0.0:
        result = sqrt(squared)
    return result


@builtin(name="normalize")
def normalize_quaternion(a: quaternion(Float)):
    """The unit quaternion; the identity, with gradient 0, for the zero quaternion."""
    squared = dot_of_quaternions(a, a)
    result = type(a)(0.0, 0.0, 0.0, 1.0)
    if squared != 0.0:
        result = a / sqrt(squared)
    return result


@builtin
def quat_identity(dtype: type = float32):
    """The rotation that changes nothing: (0, 0, 0, 1)."""
    return static(quaternion(dtype))(0.0, 0.0, 0.0, 1.0)


@builtin
def quat_from_axis_angle(axis: vec(3, Float), angle: Float):
    """The rotation about a unit vector by an angle in radians."""
    half = 0.5 * angle
    s = sin(half)
    return static(quaternion(axis.dtype))(axis[0] * s, axis[1] * s, axis[2] * s, cos(half))


@builtin
def quat_to_axis_angle(quat: quaternion(Float)):
    """A unit vector and an angle from 0 to π; the zero vector, and gradients of 0, for the identity."""
    squared = quat.x * quat.x + quat.y * quat.y + quat.z * quat.z
    axis = static(vector(3, quat.dtype))()
    angle = quat.dtype(0)
    if squared != 0.0:
        s = sqrt(squared)
        signed = -s if quat.w < 0.0 else s
        axis = static(vector(3, quat.dtype))(quat.x / signed, quat.y / signed, quat.z / signed)
        angle = 2.0 * atan2(s, abs(quat.w))
    return axis, angle


@builtin(name="quat_to_axis_angle", updates=("axis", "angle"))
def store_axis_angle(quat: quaternion(Float), axis: vec(3, Float), angle: Float):
    """The same, put into the variables ``axis`` and ``angle``."""
    return quat_to_axis_angle(quat)


@builtin(name="quat_from_matrix")
def quat_from_rotation_matrix(mat: mat((3, 3), Float)):
    """The rotation that a rotation matrix stands for, computed from its largest component."""
    trace = mat[0, 0] + mat[1, 1] + mat[2, 2]
    x = y = z = w = mat.dtype(0)
    if trace >= 0.0:
        s = sqrt(trace + 1.0)
        w = 0.5 * s
        s = 0.5 / s
        x = (mat[2, 1] - mat[1, 2]) * s
        y = (mat[0, 2] - mat[2, 0]) * s
        z = (mat[1, 0] - mat[0, 1]) * s
    elif mat[0, 0] >= mat[1, 1] and mat[0, 0] >= mat[2, 2]:
        s = sqrt(1.0 + mat[0, 0] - mat[1, 1] - mat[2, 2])
        x = 0.5 * s
        s = 0.5 / s
        w = (mat[2, 1] - mat[1, 2]) * s
        y = (mat[0, 1] + mat[1, 0]) * s
        z = (mat[2, 0] + mat[0, 2]) * s
    elif mat[1, 1] >= mat[2, 2]:
        s = sqrt(1.0 + mat[1, 1] - mat[2, 2] - mat[0, 0])
        y = 0.5 * s
        s = 0.5 / s
        w = (mat[0, 2] - mat[2, 0]) * s
        z = (mat[1, 2] + mat[2, 1]) * s
        x = (mat[0, 1] + mat[1, 0]) * s
    else:
        s = sqrt(1.0 + mat[2, 2] - mat[0, 0] - mat[1, 1])
        z = 0.5 * s
        s = 0.5 / s
        w = (mat[1, 0] - mat[0, 1]) * s
        x = (mat[2, 0] + mat[0, 2]) * s
        y = (mat[1, 2] + mat[2, 1]) * s
    return normalize_quaternion(static(quaternion(mat.dtype))(x, y, z, w))


@builtin(name="quat_from_matrix")
def quat_from_affine_matrix(mat: mat((4, 4), Float)):
    """The rotation of the upper left 3 × 3 block."""
    return quat_from_rotation_matrix(
        static(matrix((3, 3), mat.dtype))(
            mat[0, 0], mat[0, 1], mat[0, 2],
            mat[1, 0], mat[1, 1], mat[1, 2],
            mat[2, 0], mat[2, 1], mat[2, 2],
        )
    )  # fmt: skip


@builtin
def quat_rpy(roll: Float, pitch: Float, yaw: Float):
    """The rotation about x by ``roll``, then y by ``pitch``, then z by ``yaw`` (radians)."""
    cr, sr = cos(0.5 * roll), sin(0.5 * roll)
    cp, sp = cos(0.5 * pitch), sin(0.5 * pitch)
    cy, sy = cos(0.5 * yaw), sin(0.5 * yaw)
    scalar = type(roll)
    return static(quaternion(type_of(scalar(0))))(
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


@builtin
def quat_inverse(quat: quaternion(Float)):
    """The inverse rotation of a unit quaternion: the conjugate."""
    return type(quat)(-quat.x, -quat.y, -quat.z, quat.w)


@builtin
def quat_rotate(quat: quaternion(Float), vec: vec(3, Float)):
    """``vec`` rotated by a unit quaternion."""
    return rotated(quat, vec)


@builtin
def quat_rotate_inv(quat: quaternion(Float), vec: vec(3, Float)):
    """``vec`` rotated by the inverse of a unit quaternion."""
    return rotated(quat_inverse(quat), vec)


@builtin
def quat_slerp(a: quaternion(Float), b: quaternion(Float), t: Float):
    """From ``a`` at ``t`` = 0 to ``b`` at ``t`` = 1 (unit quaternions) at constant speed, the short way round.

    It is ``a`` times a power of the rotation from ``a`` to ``b``. For small angles the power comes from its
    series, so that value and derivative are smooth where ``a`` and ``b`` agree.
    """
    r = quat_inverse(a) * b
    if r.w < 0.0:
        r = -r
    squared = r.x * r.x + r.y * r.y + r.z * r.z
    if squared < _SMALL:
        angle_sq = squared / (r.w * r.w)
        scale = t * (1.0 + (1.0 - t * t) * angle_sq / 6.0)
        w = 1.0 - 0.5 * t * t * angle_sq
    else:
        s = sqrt(squared)
        angle = atan2(s, r.w)
        scale = sin(t * angle) / s
        w = cos(t * angle)
    return a * type(a)(r.x * scale, r.y * scale, r.z * scale, w)


@builtin
def quat_to_matrix(quat: quaternion(Float)):
    """The rotation matrix of a unit quaternion."""
    xx, yy, zz = quat.x * quat.x, quat.y * quat.y, quat.z * quat.z
    xy, xz, yz = quat.x * quat.y, quat.x * quat.z, quat.y * quat.z
    wx, wy, wz, ww = quat.w * quat.x, quat.w * quat.y, quat.w * quat.z, quat.w * quat.w
    return static(matrix((3, 3), quat.dtype))(
        2.0 * (ww + xx) - 1.0, 2.0 * (xy - wz), 2.0 * (xz + wy),
        2.0 * (xy + wz), 2.0 * (ww + yy) - 1.0, 2.0 * (yz - wx),
        2.0 * (xz - wy), 2.0 * (yz + wx), 2.0 * (ww + zz) - 1.0,
    )  # fmt: skip
