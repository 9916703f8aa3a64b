"""Each built-in on floats: values against NumPy or closed forms, gradients against central differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import treadle as wp
from tests.language.running import KINDS, check


@dataclass(frozen=True)
class Case:
    """``function`` of arguments of ``kinds`` gives a ``result`` and should agree with ``reference``.

    ``low``, ``high``: the range of the arguments. ``loose``: widens the tolerance.
    """

    name: str
    function: Any
    kinds: str
    result: str
    reference: Any
    low: float = -2.0
    high: float = 2.0
    loose: float = 1.0


def unit(x):
    return x / np.linalg.norm(x)


def cross_matrix(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rotation(axis, angle):
    """Rodrigues' formula."""
    k = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def quaternion_matrix(q):
    """The rotation matrix of a quaternion of any length but 0."""
    v, w = q[:3], q[3]
    k = cross_matrix(v)
    return np.eye(3) + 2.0 / (q @ q) * (w * k + k @ k)


def hamilton(a, b):
    return np.concatenate([a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3]), [a[3] * b[3] - a[:3] @ b[:3]]])


def slerp(a, b, t):
    a, b = unit(a), unit(b)
    b = b if a @ b >= 0 else -b
    angle = np.arccos(min(1.0, a @ b))
    return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)


def smooth(a, b, x):
    t = np.clip((x - a) / (b - a), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def homogeneous(m, v, w):
    return (m @ np.append(v, w))[:3]


def spatial_motion(a, b):
    return np.concatenate([np.cross(a[:3], b[:3]), np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:])])


def spatial_force(a, b):
    return np.concatenate([np.cross(a[:3], b[:3]) + np.cross(a[3:], b[3:]), np.cross(a[:3], b[3:])])


def pose(p, q, s):
    m = np.eye(4)
    m[:3, :3] = quaternion_matrix(q) * s
    m[:3, 3] = p
    return m


def axis_angle(q):
    q = unit(q) * (1.0 if q[3] >= 0 else -1.0)
    s = np.linalg.norm(q[:3])
    return np.append(q[:3] / s, 2.0 * np.arctan2(s, q[3]))


# Rotations are tested on quaternions and axes made unit first: off the unit sphere formulas differ.


@wp.func
def axis_and_angle(q: Any):
    axis, angle = wp.quat_to_axis_angle(wp.normalize(q))
    return wp.vector(axis[0], axis[1], axis[2], angle)


@wp.func
def from_axis_angle(axis: Any, angle: Any):
    return wp.quat_to_matrix(wp.quat_from_axis_angle(wp.normalize(axis), angle))


@wp.func
def rotate(q: Any, v: Any):
    return wp.quat_rotate(wp.normalize(q), v)


@wp.func
def rotate_back(q: Any, v: Any):
    return wp.quat_rotate_inv(wp.normalize(q), v)


@wp.func
def rotation_matrix(q: Any):
    return wp.quat_to_matrix(wp.normalize(q))


@wp.func
def matrix_and_back(q: Any):
    """As a matrix, the sign of a quaternion being free."""
    return wp.quat_to_matrix(wp.quat_from_matrix(wp.quat_to_matrix(wp.normalize(q))))


@wp.func
def unit_slerp(a: Any, b: Any, t: Any):
    return wp.quat_slerp(wp.normalize(a), wp.normalize(b), t)


@wp.func
def rpy_matrix(roll: Any, pitch: Any, yaw: Any):
    return wp.quat_to_matrix(wp.quat_rpy(roll, pitch, yaw))


@wp.func
def unit_transform(t: Any):
    return type(t)(wp.transform_get_translation(t), wp.normalize(wp.transform_get_rotation(t)))


@wp.func
def move_point(t: Any, v: Any):
    return wp.transform_point(unit_transform(t), v)


@wp.func
def move_vector(t: Any, v: Any):
    return wp.transform_vector(unit_transform(t), v)


@wp.func
def move_back(t: Any, v: Any):
    return wp.transform_point(wp.transform_inverse(unit_transform(t)), v)


@wp.func
def move_twice(s: Any, t: Any, v: Any):
    return wp.transform_point(wp.transform_multiply(unit_transform(s), unit_transform(t)), v)


@wp.func
def pose_matrix(p: Any, q: Any, s: Any):
    return wp.matrix(p, wp.normalize(q), s)


@wp.func
def exchange_parts(t: Any, v: Any):
    moved = t
    wp.transform_set_translation(moved, v)
    wp.transform_set_rotation(moved, wp.transform_get_rotation(t) * wp.transform_get_rotation(t))
    return moved


def moved(t, v):
    return quaternion_matrix(t[3:]) @ v + t[:3]


def moved_back(t, v):
    return quaternion_matrix(t[3:]).T @ (v - t[:3])


CASES = [
    Case("min", wp.min, "vec3 vec3", "vec3", np.minimum),
    Case("max", wp.max, "vec3 vec3", "vec3", np.maximum),
    Case("min_of_components", wp.min, "vec5", "scalar", np.min),
    Case("max_of_components", wp.max, "vec5", "scalar", np.max),
    Case("abs", wp.abs, "vec3", "vec3", np.abs),
    Case("sign", wp.sign, "vec3", "vec3", np.sign),
    Case("sign_of_number", wp.sign, "scalar", "scalar", np.sign),
    Case("step", wp.step, "scalar", "scalar", lambda x: float(x < 0)),
    Case("nonzero", wp.nonzero, "scalar", "scalar", lambda x: 1.0),
    Case("frac", wp.frac, "scalar", "scalar", lambda x: x - np.trunc(x)),
    Case("degrees", wp.degrees, "scalar", "scalar", np.degrees),
    Case("radians", wp.radians, "scalar", "scalar", np.radians),
    Case("clamp", wp.clamp, "scalar scalar scalar", "scalar", lambda x, a, b: min(max(x, a), b)),
    Case("lerp", wp.lerp, "scalar scalar scalar", "scalar", lambda a, b, t: a + (b - a) * t),
    Case("lerp_vectors", wp.lerp, "vec3 vec3 scalar", "vec3", lambda a, b, t: a + (b - a) * t),
    Case("lerp_matrices", wp.lerp, "mat23 mat23 scalar", "mat23", lambda a, b, t: a + (b - a) * t),
    Case("lerp_quaternions", wp.lerp, "quat quat scalar", "quat", lambda a, b, t: a + (b - a) * t),
    Case("lerp_transforms", wp.lerp, "transform transform scalar", "transform", lambda a, b, t: a + (b - a) * t),
    Case("smoothstep", wp.smoothstep, "scalar scalar scalar", "scalar", smooth, loose=10.0),
    Case("div_approx", wp.div_approx, "vec3 scalar", "vec3", np.divide, 0.5, 2.0),
    Case("cw_mul", wp.cw_mul, "vec3 vec3", "vec3", np.multiply),
    Case("cw_mul_matrices", wp.cw_mul, "mat23 mat23", "mat23", np.multiply),
    Case("cw_div", wp.cw_div, "vec3 vec3", "vec3", np.divide, 0.5, 2.0),
    Case("cw_div_matrices", wp.cw_div, "mat23 mat23", "mat23", np.divide, 0.5, 2.0),
    Case("dot", wp.dot, "vec5 vec5", "scalar", np.dot),
    Case("dot_of_quaternions", wp.dot, "quat quat", "scalar", np.dot),
    Case("ddot", wp.ddot, "mat23 mat23", "scalar", lambda a, b: np.sum(a * b)),
    Case("outer", wp.outer, "vec2 vec3", "mat23", np.outer),
    Case("cross", wp.cross, "vec3 vec3", "vec3", np.cross),
    Case("skew", wp.skew, "vec3", "mat33", cross_matrix),
    Case("length", wp.length, "vec3", "scalar", np.linalg.norm),
    Case("length_of_quaternion", wp.length, "quat", "scalar", np.linalg.norm),
    Case("length_sq", wp.length_sq, "vec5", "scalar", lambda a: a @ a),
    Case("length_sq_of_quaternion", wp.length_sq, "quat", "scalar", lambda a: a @ a),
    Case("normalize", wp.normalize, "vec3", "vec3", unit),
    Case("normalize_quaternion", wp.normalize, "quat", "quat", unit),
    Case("transpose", wp.transpose, "mat23", "mat32", np.transpose),
    Case("determinant_2", wp.determinant, "mat22", "scalar", np.linalg.det),
    Case("determinant_3", wp.determinant, "mat33", "scalar", np.linalg.det),
    Case("determinant_4", wp.determinant, "mat44", "scalar", np.linalg.det),
    Case("inverse_2", wp.inverse, "mat22", "mat22", np.linalg.inv, loose=100.0),
    Case("inverse_3", wp.inverse, "mat33", "mat33", np.linalg.inv, loose=100.0),
    Case("inverse_4", wp.inverse, "mat44", "mat44", np.linalg.inv, loose=100.0),
    Case("inverse_approx", wp.inverse_approx, "mat33", "mat33", np.linalg.inv, loose=100.0),
    Case("trace", wp.trace, "mat33", "scalar", np.trace),
    Case("diag", wp.diag, "vec3", "mat33", np.diag),
    Case("get_diag", wp.get_diag, "mat33", "vec3", np.diag),
    Case("product_of_quaternions", wp.mul, "quat quat", "quat", hamilton),
    Case("quat_inverse", wp.quat_inverse, "quat", "quat", lambda q: q * [-1, -1, -1, 1]),
    Case("quat_rotate", rotate, "quat vec3", "vec3", lambda q, v: quaternion_matrix(q) @ v),
    Case("quat_rotate_inv", rotate_back, "quat vec3", "vec3", lambda q, v: quaternion_matrix(q).T @ v),
    Case("quat_to_matrix", rotation_matrix, "quat", "mat33", quaternion_matrix),
    Case("quat_from_matrix", matrix_and_back, "quat", "mat33", quaternion_matrix),
    Case("quat_from_axis_angle", from_axis_angle, "vec3 scalar", "mat33", lambda a, t: rotation(unit(a), t)),
    Case("quat_to_axis_angle", axis_and_angle, "quat", "vec4", axis_angle),
    Case("quat_slerp", unit_slerp, "quat quat scalar", "quat", slerp, loose=10.0),
    Case(
        "quat_rpy", rpy_matrix, "scalar scalar scalar", "mat33",
        lambda r, p, y: rotation(np.eye(3)[2], y) @ rotation(np.eye(3)[1], p) @ rotation(np.eye(3)[0], r),
    ),
    Case("transform_point", move_point, "transform vec3", "vec3", moved),
    Case("transform_vector", move_vector, "transform vec3", "vec3", lambda t, v: quaternion_matrix(t[3:]) @ v),
    Case("transform_inverse", move_back, "transform vec3", "vec3", moved_back),
    Case("transform_multiply", move_twice, "transform transform vec3", "vec3", lambda s, t, v: moved(s, moved(t, v))),
    Case(
        "transform_set", exchange_parts, "transform vec3", "transform",
        lambda t, v: np.concatenate([v, hamilton(t[3:], t[3:])]),
    ),
    Case("transform_point_by_matrix", wp.transform_point, "mat44 vec3", "vec3", lambda m, v: homogeneous(m, v, 1.0)),
    Case("transform_vector_by_matrix", wp.transform_vector, "mat44 vec3", "vec3", lambda m, v: homogeneous(m, v, 0.0)),
    Case("matrix_of_pose", pose_matrix, "vec3 quat vec3", "mat44", pose),
    Case("spatial_dot", wp.spatial_dot, "vec6 vec6", "scalar", np.dot),
    Case("spatial_cross", wp.spatial_cross, "vec6 vec6", "vec6", spatial_motion),
    Case("spatial_cross_dual", wp.spatial_cross_dual, "vec6 vec6", "vec6", spatial_force),
    Case("spatial_top", wp.spatial_top, "vec6", "vec3", lambda a: a[:3]),
    Case("spatial_bottom", wp.spatial_bottom, "vec6", "vec3", lambda a: a[3:]),
    Case(
        "spatial_adjoint", wp.spatial_adjoint, "mat33 mat33", "mat66",
        lambda r, s: np.block([[r, np.zeros((3, 3))], [s, r]]),
    ),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_agrees_with_the_reference(case, dtype):
    kinds = case.kinds.split()
    rng = np.random.default_rng(sum(map(ord, case.name)))
    inputs = [rng.uniform(case.low, case.high, size=(20, *KINDS[kind])) for kind in kinds]
    if case.name.startswith("inverse"):  # well conditioned
        inputs = [x + 4.0 * np.eye(x.shape[1]) for x in inputs]
    if case.name == "clamp":
        inputs[1:] = [-np.abs(inputs[1]), np.abs(inputs[2])]
    check(case.function, kinds, case.result, case.reference, dtype, inputs, case.loose)
