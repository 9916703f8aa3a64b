"""The products of composites that the operators ``*`` and ``@`` stand for.

The frontend calls ``product`` for them. Sums are written out over the components in order, so
that the result is the same on every device.
"""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin
from treadle.language.decorators import static
from treadle.types import AnyScalar as Scalar
from treadle.types import Float, mat, quaternion, transformation, vec, vector
from treadle.types.matrices import matrix


@builtin(name="product")
def matrix_times_matrix(a: mat((Any, Any), Scalar), b: mat((Any, Any), Scalar)):
    result = static(matrix((a.shape[0], b.shape[1]), a.dtype))()
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = a[i, 0] * b[0, j]
            for k in range(1, a.shape[1]):
                total += a[i, k] * b[k, j]
            result[i, j] = total
    return result


@builtin(name="product")
def matrix_times_vector(a: mat((Any, Any), Scalar), b: vec(Any, Scalar)):
    result = static(vector(a.shape[0], a.dtype))()
    for i in range(a.shape[0]):
        total = a[i, 0] * b[0]
        for k in range(1, a.shape[1]):
            total += a[i, k] * b[k]
        result[i] = total
    return result


@builtin(name="product")
def vector_times_matrix(a: vec(Any, Scalar), b: mat((Any, Any), Scalar)):
    result = static(vector(b.shape[1], a.dtype))()
    for j in range(b.shape[1]):
        total = a[0] * b[0, j]
        for k in range(1, b.shape[0]):
            total += a[k] * b[k, j]
        result[j] = total
    return result


@builtin(name="product")
def quaternion_times_quaternion(a: quaternion(Float), b: quaternion(Float)):
    return type(a)(
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    )


@builtin(name="rotated")
def rotated(q: quaternion(Float), v: vec(3, Float)):
    """The vector ``v`` rotated by the unit quaternion ``q``."""
    two = q.dtype(2)
    d = two * (q.x * v.x + q.y * v.y + q.z * v.z)
    s = two * q.w * q.w - q.dtype(1)
    w = two * q.w
    return type(v)(
        s * v.x + w * (q.y * v.z - q.z * v.y) + d * q.x,
        s * v.y + w * (q.z * v.x - q.x * v.z) + d * q.y,
        s * v.z + w * (q.x * v.y - q.y * v.x) + d * q.z,
    )


@builtin(name="product")
def transform_times_transform(a: transformation(Float), b: transformation(Float)):
    return type(a)(rotated(a.q, b.p) + a.p, a.q * b.q)
