"""Euler angles, twists, composed transforms, frames of spatial vectors, norms: values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp
from tests.language.running import KINDS, check
from tests.language.test_values_and_gradients import Case, pose, quaternion_matrix, rotation, unit


@wp.func
def euler_and_back(q: Any):
    """As a matrix, since several angles stand for one rotation."""
    e = wp.quat_to_euler(wp.normalize(q), 1, 2, 0)
    return wp.quat_to_matrix(wp.quat_from_euler(e, 1, 2, 0))


@wp.func
def from_euler(e: Any):
    return wp.quat_to_matrix(wp.quat_from_euler(e, 2, 0, 2))


@wp.func
def proper_angles(e: Any):
    """Rotations about z, x, z by angles in order, taken apart again."""
    z, x = type(e)(0.0, 0.0, 1.0), type(e)(1.0, 0.0, 0.0)
    q = wp.quat_from_axis_angle(z, e[2]) * wp.quat_from_axis_angle(x, e[1]) * wp.quat_from_axis_angle(z, e[0])
    found = wp.quat_to_euler(q, 2, 0, 2)
    return type(e)(found[2], found[0], found[1])


@wp.func
def rpy_and_back(e: Any):
    return wp.quat_to_rpy(wp.quat_rpy(e[0], e[1], e[2]))


@wp.func
def turn(a: Any, b: Any):
    return wp.quat_rotate(wp.quat_between_vectors(a, b), wp.normalize(a))


@wp.func
def twist(axis: Any, q: Any):
    """The twist, and its angle in two ways."""
    u = wp.normalize(axis)
    v = wp.quat_to_matrix(wp.quat_twist(u, q))
    return wp.vector(v[0, 1], v[2, 0], wp.quat_twist_angle(u, q), wp.quat_twist_angle_signed(u, q))


@wp.func
def composed(p: Any, q: Any, s: Any):
    return wp.transform_compose(p, wp.normalize(q), s)


@wp.func
def decomposed(p: Any, q: Any, s: Any):
    p2, q2, s2 = wp.transform_decompose(wp.transform_compose(p, wp.normalize(q), s))
    return wp.transform_compose(p2, q2, s2 + p2)


@wp.func
def as_matrix_and_back(t: Any):
    u = type(t)(t.p, wp.normalize(t.q))
    return wp.transform_to_matrix(wp.transform_from_matrix(wp.transform_to_matrix(u)))


@wp.func
def moved_twist(t: Any, x: Any):
    return wp.transform_twist(type(t)(t.p, wp.normalize(t.q)), x)


@wp.func
def moved_wrench(t: Any, x: Any):
    return wp.transform_wrench(type(t)(t.p, wp.normalize(t.q)), x)


@wp.func
def rows(a: Any, b: Any):
    return wp.matrix_from_rows(a, b)


@wp.func
def columns(a: Any, b: Any):
    return wp.matrix_from_cols(a, b)


def twist_reference(axis, q):
    u = unit(axis)
    along = u @ q[:3]
    angle = 2 * np.arctan2(along, q[3])
    v = rotation(u, angle)
    return np.array([v[0, 1], v[2, 0], 2 * np.arctan2(abs(along), q[3]), angle])


def spatial(t, x, torque):
    r = quaternion_matrix(t[3:])
    a, b = r @ x[:3], r @ x[3:]
    return np.concatenate([a + np.cross(t[:3], b), b] if torque else [a, b + np.cross(t[:3], a)])


def huber(v):
    size = np.linalg.norm(v)
    return 0.5 * size**2 if size <= 1 else size - 0.5


AXES = np.eye(3)
CASES = [
    Case("quat_to_euler", euler_and_back, "quat", "mat33", quaternion_matrix, loose=10.0),
    Case(
        "quat_from_euler", from_euler, "vec3", "mat33",
        lambda e: rotation(AXES[2], e[2]) @ rotation(AXES[0], e[0]) @ rotation(AXES[2], e[2]),
    ),
    Case("quat_to_euler_proper", proper_angles, "vec3", "vec3", lambda e: e, 0.3, 1.5, loose=10.0),
    Case("quat_to_rpy", rpy_and_back, "vec3", "vec3", lambda e: e, -1.3, 1.3, loose=20.0),
    Case("quat_between_vectors", turn, "vec3 vec3", "vec3", lambda a, b: unit(b), loose=20.0),
    Case("quat_twist", twist, "vec3 quat", "vec4", twist_reference, loose=10.0),
    Case("transform_compose", composed, "vec3 quat vec3", "mat44", pose),
    Case(
        "transform_decompose", decomposed, "vec3 quat vec3", "mat44", lambda p, q, s: pose(p, q, s + p), 0.5, 2.0, 20.0,
    ),
    Case("transform_to_matrix", as_matrix_and_back, "transform", "mat44", lambda t: pose(t[:3], t[3:], np.ones(3))),
    Case("transform_twist", moved_twist, "transform vec6", "vec6", lambda t, x: spatial(t, x, False)),
    Case("transform_wrench", moved_wrench, "transform vec6", "vec6", lambda t, x: spatial(t, x, True)),
    Case("velocity_at_point", wp.velocity_at_point, "vec6 vec3", "vec3", lambda v, r: v[3:] + np.cross(v[:3], r)),
    Case("matrix_from_rows", rows, "vec3 vec3", "mat23", lambda a, b: np.stack([a, b])),
    Case("matrix_from_cols", columns, "vec3 vec3", "mat32", lambda a, b: np.stack([a, b], 1)),
    Case("norm_l1", wp.norm_l1, "vec5", "scalar", lambda v: np.abs(v).sum()),
    Case("norm_l2", wp.norm_l2, "vec5", "scalar", np.linalg.norm),
    Case("norm_huber", wp.norm_huber, "vec2", "scalar", huber),
    Case(
        "norm_pseudo_huber", wp.norm_pseudo_huber, "vec3 scalar", "scalar",
        lambda v, d: d * np.sqrt(1 + v @ v / d**2), 0.5,
    ),
    Case("smooth_normalize", wp.smooth_normalize, "vec3", "vec3", lambda v: v / np.sqrt(1 + v @ v)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_agrees_with_the_reference(case, dtype):
    kinds = case.kinds.split()
    rng = np.random.default_rng(sum(map(ord, case.name)))
    inputs = [rng.uniform(case.low, case.high, size=(20, *KINDS[kind])) for kind in kinds]
    check(case.function, kinds, case.result, case.reference, dtype, inputs, case.loose)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_euler_angles_at_gimbal_lock(sign):
    q = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), sign * np.pi / 2) * wp.quat_from_axis_angle(
        wp.vec3(1.0, 0.0, 0.0), 0.4
    )
    e = wp.quat_to_euler(q, 0, 1, 2)
    assert e[1] == pytest.approx(sign * np.pi / 2, abs=1e-3)
    np.testing.assert_allclose(
        np.array(wp.quat_to_matrix(wp.quat_from_euler(e, 0, 1, 2))), np.array(wp.quat_to_matrix(q)), atol=2e-3
    )


@pytest.mark.parametrize("a", [(1.0, 0.0, 0.0), (0.0, -2.0, 0.0), (0.5, 1.0, -2.0)])
def test_opposite_vectors_are_half_a_turn_apart(a):
    v = wp.vec3(*a)
    q = wp.quat_between_vectors(v, -2.0 * v)
    np.testing.assert_allclose(np.array(wp.quat_rotate(q, v)), np.array(-v), atol=1e-5)
    assert wp.length(q) == pytest.approx(1.0, abs=1e-6)


def test_mirrorings_decompose():
    mirrored = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity(), wp.vec3(1.0, -2.0, 3.0))
    p, q, s = wp.transform_decompose(mirrored)
    again = wp.transform_compose(p, q, s)
    np.testing.assert_allclose(np.array(again), [[1, 0, 0, 1], [0, -2, 0, 2], [0, 0, 3, 3], [0, 0, 0, 1]], atol=1e-5)
    assert np.prod(np.array(s)) == pytest.approx(-6.0)


def test_expectations():
    @wp.kernel
    def check_equal(x: wp.array(dtype=wp.vec3), n: int):
        wp.expect_eq(n, 3)
        wp.expect_eq(x[0], wp.vec3(1.0, 1.0, 1.0))
        wp.expect_neq(x[0][0], 2.0)

    x = wp.ones(1, dtype=wp.vec3)
    wp.launch(check_equal, 1, [x, 3])
    with pytest.raises(wp.KernelError, match="expect_eq"):
        wp.launch(check_equal, 1, [x, 4])
    x.fill_(2.0)
    with pytest.raises(wp.KernelError, match="expect_eq"):
        wp.launch(check_equal, 1, [x, 3])


def test_matrices_of_vectors_need_vectors():
    @wp.kernel
    def wrong(out: wp.array(dtype=wp.mat22)):
        out[0] = wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec3(1.0, 2.0, 3.0))

    with pytest.raises(wp.CompileError, match="vectors of one type"):
        wp.launch(wrong, 1, [wp.zeros(1, dtype=wp.mat22)])
    assert wp.matrix_from_cols(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)) == wp.mat22(1.0, 3.0, 2.0, 4.0)
    assert wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)) == wp.mat22(1.0, 2.0, 3.0, 4.0)
