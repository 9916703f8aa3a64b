"""Zero vectors, singular matrices, ties, NaN, integers, large composites: where built-ins are at their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp
from tests.language.running import differences, run
from treadle.errors import KernelError

each_float = pytest.mark.parametrize("dtype", [wp.float32, wp.float64], ids=["float32", "float64"])


@each_float
@pytest.mark.parametrize("kind", ["vec3", "quat"])
def test_length_at_zero_has_gradient_zero(kind, dtype):
    value, (gradient,) = run(wp.length, [kind], "scalar", dtype, [np.zeros((1, 3 if kind == "vec3" else 4))])
    assert value[0] == 0.0
    assert not gradient.any()


@each_float
def test_normalize_at_zero(dtype):
    value, (gradient,) = run(wp.normalize, ["vec3"], "vec3", dtype, [np.zeros((1, 3))])
    assert not value.any() and not gradient.any()
    value, (gradient,) = run(wp.normalize, ["quat"], "quat", dtype, [np.zeros((1, 4))])
    assert value.tolist() == [[0, 0, 0, 1]] and not gradient.any()


@each_float
def test_nan_stays_nan(dtype):
    nan = np.array([[np.nan, 0.0, 0.0]])
    assert np.isnan(run(wp.length, ["vec3"], "scalar", dtype, [nan])[0][0])
    assert np.isnan(run(wp.normalize, ["vec3"], "vec3", dtype, [nan])[0][0, 0])
    assert np.isnan(run(wp.clamp, ["scalar"] * 3, "scalar", dtype, [[np.nan], [0.0], [1.0]])[0][0])


@each_float
@pytest.mark.parametrize("n", [2, 3, 4])
def test_inverse_of_a_singular_matrix_is_zero(n, dtype):
    value, (gradient,) = run(wp.inverse, [f"mat{n}{n}"], f"mat{n}{n}", dtype, [np.ones((1, n, n))])
    assert not value.any() and not gradient.any()


@each_float
def test_clamp_on_its_bounds_passes_the_gradient_on(dtype):
    inputs = [[0.0, 1.0, -1.0, 2.0], [0.0] * 4, [1.0] * 4]
    value, (x, low, high) = run(wp.clamp, ["scalar"] * 3, "scalar", dtype, inputs)
    assert value.tolist() == [0, 1, 0, 1]
    assert x.tolist() == [1, 1, 0, 0]
    assert low.tolist() == [0, 0, 1, 0]
    assert high.tolist() == [0, 0, 0, 1]


@each_float
def test_minimum_shares_the_gradient_of_a_tie(dtype):
    ones = np.ones((1, 3))
    _, (a, b) = run(wp.min, ["vec3", "vec3"], "vec3", dtype, [ones, ones])
    assert (a == 0.5).all() and (b == 0.5).all()


@each_float
def test_slerp_between_equal_rotations_is_smooth(dtype):
    @wp.func
    def slerp(a: Any, b: Any, t: Any):
        return wp.quat_slerp(wp.normalize(a), wp.normalize(b), t)

    def reference(a, b, t):
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        mixed = (1 - t) * a + t * b  # agrees to second order
        return mixed / np.linalg.norm(mixed)

    q = np.array([[0.1, -0.2, 0.3, 0.9]])
    q /= np.linalg.norm(q)
    inputs = [q, q.copy(), np.array([0.3])]
    seed = np.array([[1.0, 2.0, -1.0, 0.5]])
    value, gradients = run(slerp, ["quat", "quat", "scalar"], "quat", dtype, inputs, seed)
    np.testing.assert_allclose(value, q, atol=1.0e-6)
    for got, wanted in zip(gradients, differences(reference, inputs, seed, 1.0e-4)):
        np.testing.assert_allclose(got, wanted, atol=1.0e-5)


@each_float
def test_identity_has_no_axis(dtype):
    @wp.func
    def axis_and_angle(q: Any):
        axis, angle = wp.quat_to_axis_angle(q)
        return wp.vector(axis[0], axis[1], axis[2], angle)

    value, (gradient,) = run(axis_and_angle, ["quat"], "vec4", dtype, [[[0.0, 0.0, 0.0, 1.0]]])
    assert not value.any() and not gradient.any()


def test_rotations_of_half_a_turn_survive_the_matrix():
    @wp.func
    def there_and_back(q: Any):
        return wp.quat_from_matrix(wp.quat_to_matrix(q))

    turns = np.eye(4)
    value, (gradient,) = run(there_and_back, ["quat"], "quat", wp.float64, [turns])
    np.testing.assert_allclose(value, turns, atol=1.0e-15)
    assert np.isfinite(gradient).all()


@each_float
def test_smoothstep_between_equal_edges(dtype):
    inputs = [[2.0] * 3, [2.0] * 3, [1.0, 2.0, 3.0]]
    value, gradients = run(wp.smoothstep, ["scalar"] * 3, "scalar", dtype, inputs)
    assert value.tolist() == [0, 0, 1]
    assert all(np.isfinite(g).all() for g in gradients)


@pytest.mark.parametrize("dtype", [wp.int32, wp.int64, wp.uint8, wp.float16, wp.float32, wp.float64])
def test_vectors_of_any_scalar(dtype):
    @wp.func
    def numbers(v: Any, w: Any):
        return wp.vector(
            wp.dot(v, w), wp.min(v), wp.max(w), wp.length_sq(v), wp.cw_div(w, v)[1], wp.trace(wp.outer(v, w))
        )

    v, w = np.array([[3, 2, 5]]), np.array([[4, 7, 1]])
    value, _ = run(numbers, ["vec3", "vec3"], "vec6", dtype, [v, w], out=dtype)
    quotient = 3.5 if dtype in (wp.float16, wp.float32, wp.float64) else 3
    assert value.tolist() == [[31, 2, 7, 38, quotient, 31]]


@each_float
def test_indices_of_extremes(dtype):
    v = [[2.0, 1.0, 1.0, 2.0, 0.5], [3.0, 3.0, 3.0, 3.0, 3.0], [0.0, 5.0, 1.0, 5.0, 1.0]]
    low, _ = run(wp.argmin, ["vec5"], "scalar", dtype, [v], out=wp.uint32)
    high, _ = run(wp.argmax, ["vec5"], "scalar", dtype, [v], out=wp.uint32)
    assert low.tolist() == [4, 0, 0]
    assert high.tolist() == [0, 0, 1]


@each_float
@pytest.mark.parametrize("kind", ["vec3", "mat22", "quat"])
def test_tests_of_composites(kind, dtype):
    shape = {"vec3": (3,), "mat22": (2, 2), "quat": (4,)}[kind]
    values = np.ones((3, *shape))
    values[1].flat[1] = np.nan
    values[2].flat[2] = np.inf
    for function, expected in (
        (wp.isnan, [False, True, False]),
        (wp.isinf, [False, False, True]),
        (wp.isfinite, [True, False, False]),
    ):
        found, _ = run(function, [kind], "scalar", dtype, [values], out=wp.bool)
        assert found.tolist() == expected


def test_composites_too_large_to_be_unrolled():
    V, M = wp.vec(40, wp.float64), wp.mat((12, 12), wp.float64)

    @wp.kernel
    def kernel(v: wp.array(dtype=V), m: wp.array(dtype=M), out: wp.array(dtype=wp.float64)):
        i = wp.tid()
        u = wp.normalize(v[i])
        out[i] = wp.dot(u, v[i]) + wp.trace(wp.transpose(m[i])) + wp.max(wp.abs(v[i])) + wp.ddot(m[i], m[i])

    rng = np.random.default_rng(0)
    v, m = rng.normal(size=(2, 40)), rng.normal(size=(2, 12, 12))
    arrays = [wp.array(v, dtype=V, requires_grad=True), wp.array(m, dtype=M, requires_grad=True)]
    out = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=2, inputs=arrays, outputs=[out])
    tape.backward(grads={out: wp.ones_like(out)})

    def reference(v, m):
        return np.linalg.norm(v) + np.trace(m) + np.abs(v).max() + np.sum(m * m)

    np.testing.assert_allclose(out.numpy(), [reference(*x) for x in zip(v, m)], rtol=1.0e-12)
    for array, wanted in zip(arrays, differences(reference, [v, m], np.ones(2))):
        np.testing.assert_allclose(array.grad.numpy(), wanted, atol=1.0e-7)


def test_axis_and_angle_put_into_variables():
    @wp.kernel
    def kernel(q: wp.array(dtype=wp.quat), axes: wp.array(dtype=wp.vec3), angles: wp.array(dtype=float)):
        i = wp.tid()
        axis = wp.vec3()
        angle = float(0.0)
        wp.quat_to_axis_angle(q[i], axis, angle)
        axes[i] = axis
        angles[i] = angle

    q = wp.array([wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.5)], dtype=wp.quat)
    axes, angles = wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=float)
    wp.launch(kernel, dim=1, inputs=[q], outputs=[axes, angles])
    np.testing.assert_allclose(axes.numpy(), [[0, 1, 0]], atol=1.0e-6)
    np.testing.assert_allclose(angles.numpy(), [0.5], rtol=1.0e-6)


def test_identities():
    @wp.kernel
    def kernel(out: wp.array(dtype=wp.float64)):
        q = wp.quat_identity(wp.float64)
        t = wp.transform_identity(dtype=wp.float64)
        v = wp.vec3d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0))
        out[0] = wp.length(wp.quat_rotate(q, v) - v) + wp.length(wp.transform_point(t, v) - v)
        out[1] = wp.float64(wp.length(wp.quat_rotate(wp.quat_identity(), wp.vec3(1.0, 2.0, 2.0))))

    out = wp.zeros(2, dtype=wp.float64)
    wp.launch(kernel, dim=1, outputs=[out])
    np.testing.assert_allclose(out.numpy(), [0.0, 3.0], atol=1.0e-6)


def test_expect_near():
    @wp.kernel
    def kernel(a: wp.array(dtype=wp.vec3), tolerance: float):
        wp.expect_near(a[0], wp.vec3(1.0, 2.0, 3.0), tolerance)
        wp.expect_near(a[0][0], 1.0)

    near = wp.array([[1.0, 2.0, 3.1]], dtype=wp.vec3)
    wp.launch(kernel, dim=1, inputs=[near, 0.2])
    with pytest.raises(KernelError, match="expect_near"):
        wp.launch(kernel, dim=1, inputs=[near, 0.05])
        wp.synchronize()
    wp.expect_near(1.0, 1.0)
    with pytest.raises(AssertionError):
        wp.expect_near(wp.vec3(1.0), wp.vec3(2.0))


@each_float
def test_inverse_error_functions(dtype):
    """Checked by the functions that they invert, which are primitives."""
    eps = np.finfo(np.float32 if dtype is wp.float32 else np.float64).eps

    @wp.func
    def there(x: Any):
        return wp.erf(wp.erfinv(x))

    @wp.func
    def complement(x: Any):
        return wp.erfc(wp.erfcinv(x))

    x = np.concatenate([np.linspace(-0.999, 0.999, 401), [1.0e-20, 1.0e-6, -1.0e-3]])
    value, (gradient,) = run(there, ["scalar"], "scalar", dtype, [x])
    np.testing.assert_allclose(value, x, rtol=4 * eps)
    np.testing.assert_allclose(gradient, 1.0, rtol=1.0e-5 if dtype is wp.float32 else 1.0e-13)
    p = np.concatenate([10.0 ** -np.linspace(0, 30, 50), [0.3, 0.5, 1.5, 1.9]])
    value, (gradient,) = run(complement, ["scalar"], "scalar", dtype, [p])
    np.testing.assert_allclose(value, p, rtol=200 * eps)
    np.testing.assert_allclose(gradient, 1.0, rtol=1.0e-4 if dtype is wp.float32 else 1.0e-12)


@each_float
def test_inverse_error_functions_at_the_ends(dtype):
    value, (gradient,) = run(wp.erfinv, ["scalar"], "scalar", dtype, [[-1.0, 0.0, 1.0, 1.5, np.nan]])
    np.testing.assert_array_equal(value, [-np.inf, 0.0, np.inf, np.nan, np.nan])
    np.testing.assert_allclose(gradient[1], np.sqrt(np.pi) / 2, rtol=1.0e-6)
    value, _ = run(wp.erfcinv, ["scalar"], "scalar", dtype, [[0.0, 2.0, -0.5, 2.5, np.nan]])
    np.testing.assert_array_equal(value, [np.inf, -np.inf, np.nan, np.nan, np.nan])
