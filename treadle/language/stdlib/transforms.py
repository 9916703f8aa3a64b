"""Rigid transforms, affine 4 × 4 matrices, and spatial vectors: pairs of an angular and a linear part."""

from __future__ import annotations

from treadle.language.builtins import builtin, get
from treadle.language.decorators import static
from treadle.language.stdlib.products import rotated
from treadle.language.stdlib.quaternions import quat_inverse, quat_to_matrix
from treadle.language.stdlib.vectors import cross, dot, length
from treadle.types import Float, float32, mat, quaternion, transformation, vec
from treadle.types.matrices import matrix
from treadle.types.vectors import vector

quat_from_matrix = get("quat_from_matrix")


@builtin
def transform_identity(dtype: type = float32):
    """The transform that changes nothing."""
    return static(transformation(dtype))(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@builtin
def transform_get_translation(xform: transformation(Float)):
    return xform.p


@builtin
def transform_get_rotation(xform: transformation(Float)):
    return xform.q


@builtin(updates=("xform",))
def transform_set_translation(xform: transformation(Float), p: vec(3, Float)):
    """Give the variable ``xform`` another translation."""
    return (type(xform)(p, xform.q),)


@builtin(updates=("xform",))
def transform_set_rotation(xform: transformation(Float), q: quaternion(Float)):
    """Give the variable ``xform`` another rotation."""
    return (type(xform)(xform.p, q),)


@builtin
def transform_multiply(a: transformation(Float), b: transformation(Float)):
    """The transform that applies ``b``, then ``a``."""
    return a * b


@builtin
def transform_point(xform: transformation(Float), point: vec(3, Float)):
    """The point rotated, then moved."""
    return rotated(xform.q, point) + xform.p


@builtin(name="transform_point")
def transform_point_by_matrix(mat: mat((4, 4), Float), point: vec(3, Float)):
    """The first three components of ``mat * (point, 1)``."""
    return type(point)(
        mat[0, 0] * point[0] + mat[0, 1] * point[1] + mat[0, 2] * point[2] + mat[0, 3],
        mat[1, 0] * point[0] + mat[1, 1] * point[1] + mat[1, 2] * point[2] + mat[1, 3],
        mat[2, 0] * point[0] + mat[2, 1] * point[1] + mat[2, 2] * point[2] + mat[2, 3],
    )


@builtin
def transform_vector(xform: transformation(Float), vec: vec(3, Float)):
    """The vector rotated."""
    return rotated(xform.q, vec)


@builtin(name="transform_vector")
def transform_vector_by_matrix(mat: mat((4, 4), Float), vec: vec(3, Float)):
    """The first three components of ``mat * (vec, 0)``."""
    return type(vec)(
        mat[0, 0] * vec[0] + mat[0, 1] * vec[1] + mat[0, 2] * vec[2],
        mat[1, 0] * vec[0] + mat[1, 1] * vec[1] + mat[1, 2] * vec[2],
        mat[2, 0] * vec[0] + mat[2, 1] * vec[1] + mat[2, 2] * vec[2],
    )


@builtin
def transform_inverse(xform: transformation(Float)):
    """The transform that undoes ``xform``, whose rotation is a unit quaternion."""
    q = quat_inverse(xform.q)
    return type(xform)(-rotated(q, xform.p), q)


@builtin(name="matrix")
def matrix_of_pose(pos: vec(3, Float), rot: quaternion(Float), scale: vec(3, Float)):
    """The 4 × 4 matrix that scales along the axes, then rotates, then moves."""
    r = quat_to_matrix(rot)
    return static(matrix((4, 4), pos.dtype))(
        r[0, 0] * scale[0], r[0, 1] * scale[1], r[0, 2] * scale[2], pos[0],
        r[1, 0] * scale[0], r[1, 1] * scale[1], r[1, 2] * scale[2], pos[1],
        r[2, 0] * scale[0], r[2, 1] * scale[1], r[2, 2] * scale[2], pos[2],
        0.0, 0.0, 0.0, 1.0,
    )  # fmt: skip


@builtin(name="matrix")
def matrix_of_pose_in_type(pos: vec(3, Float), rot: quaternion(Float), scale: vec(3, Float), dtype: type):
    """The same with components of ``dtype``."""
    return static(matrix((4, 4), dtype))(matrix_of_pose(pos, rot, scale))


@builtin
def transform_to_matrix(xform: transformation(Float)):
    """The 4 × 4 matrix that does to points what the transform does."""
    return transform_compose(xform.p, xform.q, static(vector(3, xform.dtype))(1.0, 1.0, 1.0))


@builtin
def transform_from_matrix(mat: mat((4, 4), Float)):
    """The transform of a 4 × 4 matrix that only rotates and moves."""
    p = static(vector(3, mat.dtype))(mat[0, 3], mat[1, 3], mat[2, 3])
    return static(transformation(mat.dtype))(p, quat_from_matrix(mat))


@builtin
def transform_compose(position: vec(3, Float), rotation: quaternion(Float), scale: vec(3, Float)):
    """The 4 × 4 matrix that scales along the axes, then rotates, then moves."""
    return matrix_of_pose(position, rotation, scale)


@builtin
def transform_decompose(m: mat((4, 4), Float)):
    """Position, rotation and scale of a matrix that ``transform_compose`` made.

    Of a mirroring, which several scales can stand for, the last one is negative.
    """
    p = static(vector(3, m.dtype))(m[0, 3], m[1, 3], m[2, 3])
    x = static(vector(3, m.dtype))(m[0, 0], m[1, 0], m[2, 0])
    y = static(vector(3, m.dtype))(m[0, 1], m[1, 1], m[2, 1])
    z = static(vector(3, m.dtype))(m[0, 2], m[1, 2], m[2, 2])
    scale = static(vector(3, m.dtype))(length(x), length(y), length(z))
    if dot(cross(x, y), z) < 0.0:
        scale[2] = -scale[2]
    r = static(matrix((3, 3), m.dtype))(
        x[0] / scale[0], y[0] / scale[1], z[0] / scale[2],
        x[1] / scale[0], y[1] / scale[1], z[1] / scale[2],
        x[2] / scale[0], y[2] / scale[1], z[2] / scale[2],
    )  # fmt: skip
    return p, quat_from_matrix(r), scale


@builtin
def transform_twist(t: transformation(Float), x: vec(6, Float)):
    """A twist (angular, linear velocity) as another frame sees it: ``t`` leads there."""
    w = rotated(t.q, spatial_top(x))
    return joined(w, rotated(t.q, spatial_bottom(x)) + cross(t.p, w))


@builtin
def transform_wrench(t: transformation(Float), x: vec(6, Float)):
    """A wrench (torque, force) as another frame sees it: ``t`` leads there."""
    f = rotated(t.q, spatial_bottom(x))
    return joined(rotated(t.q, spatial_top(x)) + cross(t.p, f), f)


@builtin
def velocity_at_point(qd: vec(6, Float), r: vec(3, Float)):
    """The velocity of a point of a body with the twist ``qd``, at ``r`` from its origin."""
    return spatial_bottom(qd) + cross(spatial_top(qd), r)


@builtin
def spatial_top(svec: vec(6, Float)):
    """The first three components: the angular part."""
    return static(vector(3, svec.dtype))(svec[0], svec[1], svec[2])


@builtin
def spatial_bottom(svec: vec(6, Float)):
    """The last three components: the linear part."""
    return static(vector(3, svec.dtype))(svec[3], svec[4], svec[5])


@builtin
def spatial_dot(a: vec(6, Float), b: vec(6, Float)):
    """The inner product of all six components."""
    return dot(a, b)


@builtin(name="_spatial")
def joined(top: vec(3, Float), bottom: vec(3, Float)):
    """The spatial vector of two halves."""
    return static(vector(6, top.dtype))(top[0], top[1], top[2], bottom[0], bottom[1], bottom[2])


@builtin
def spatial_cross(a: vec(6, Float), b: vec(6, Float)):
    """The cross product of two motions (twists)."""
    wa, va, wb, vb = spatial_top(a), spatial_bottom(a), spatial_top(b), spatial_bottom(b)
    return joined(cross(wa, wb), cross(va, wb) + cross(wa, vb))


@builtin
def spatial_cross_dual(a: vec(6, Float), b: vec(6, Float)):
    """The cross product of a motion and a force (wrench)."""
    wa, va, wb, vb = spatial_top(a), spatial_bottom(a), spatial_top(b), spatial_bottom(b)
    return joined(cross(wa, wb) + cross(va, vb), cross(wa, vb))


@builtin
def spatial_adjoint(r: mat((3, 3), Float), s: mat((3, 3), Float)):
    """The 6 × 6 matrix of the blocks (r, 0; s, r)."""
    result = static(matrix((6, 6), r.dtype))()
    for i in range(3):
        for j in range(3):
            result[i, j] = r[i, j]
            result[i + 3, j] = s[i, j]
            result[i + 3, j + 3] = r[i, j]
    return result
