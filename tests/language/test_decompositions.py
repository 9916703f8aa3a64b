"""svd2, svd3, eig3 and qr3: the factors multiply to the matrix, and functions of them have the right gradient.

Singular vectors and eigenvectors are not unique, so gradients are tested on what does not depend on the choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp
from tests.language.running import check, run

each_float = pytest.mark.parametrize("dtype", [wp.float32, wp.float64], ids=["float32", "float64"])

RNG = np.random.default_rng(5)
ROTATION = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
ROTATION *= np.linalg.det(ROTATION)
SPECIAL = [
    np.zeros((3, 3)), np.eye(3), -np.eye(3), np.diag([1.0, 2.0, 3.0]), ROTATION,
    np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
    np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]) + np.outer([0.0, 1.0, 0.0], [0.0, 1.0, 2.0]), np.diag([0.0, 0.0, 2.0]),
    1.0e-18 * ROTATION, 1.0e15 * (ROTATION + np.eye(3)), np.diag([1.0, 1.0e-5, 1.0e-6]) @ ROTATION,
]  # fmt: skip
MATRICES = np.array([*RNG.normal(size=(30, 3, 3)), *SPECIAL])


def tolerance(dtype):
    return 3.0e-6 if dtype is wp.float32 else 1.0e-14


def factors(function, n, dtype, matrices):
    """What a decomposition of n × n matrices returns, each as a float64 array."""
    M, V = wp.mat((n, n), dtype), wp.vec(n, dtype)
    name = function.__name__
    types = {"svd2": (M, V, M), "svd3": (M, V, M), "eig3": (M, V), "qr3": (M, M)}[name]
    outputs = [wp.zeros(len(matrices), dtype=t) for t in types]
    A = wp.array(matrices, dtype=M)
    if len(types) == 3:

        @wp.kernel
        def three(a: wp.array(dtype=M), x: wp.array(dtype=M), y: wp.array(dtype=V), z: wp.array(dtype=M)):
            i = wp.tid()
            u, s, v = function(a[i])
            x[i] = u
            y[i] = s
            z[i] = v

        wp.launch(three, dim=len(matrices), inputs=[A, *outputs])
    else:
        second = types[1]

        @wp.kernel
        def two(a: wp.array(dtype=M), x: wp.array(dtype=M), y: wp.array(dtype=second)):
            i = wp.tid()
            q, r = function(a[i])
            x[i] = q
            y[i] = r

        wp.launch(two, dim=len(matrices), inputs=[A, *outputs])
    return [np.asarray(o.numpy(), np.float64) for o in outputs]


def assert_orthogonal(q, tol, rotation=True):
    n = q.shape[-1]
    np.testing.assert_allclose(q @ np.swapaxes(q, 1, 2), np.broadcast_to(np.eye(n), q.shape), atol=tol)
    if rotation:
        assert (np.linalg.det(q) > 0).all()


def assert_close_for_size(found, wanted, tol):
    size = np.abs(wanted).max(axis=(1, 2), keepdims=True) + 1.0e-300
    np.testing.assert_allclose(found / size, wanted / size, atol=tol)


@each_float
def test_svd3(dtype):
    tol = tolerance(dtype)
    a = MATRICES.astype(np.float32 if dtype is wp.float32 else np.float64).astype(np.float64)
    u, s, v = factors(wp.svd3, 3, dtype, a)
    assert_orthogonal(u, tol)
    assert_orthogonal(v, tol)
    assert_close_for_size(np.einsum("nij,nj,nkj->nik", u, s, v), a, tol)
    assert (s[:, 0] * (1 + tol) >= s[:, 1]).all() and (s[:, 1] + tol * s[:, 0] >= np.abs(s[:, 2])).all()
    clear = np.abs(s[:, 2]) > 1.0e-3 * s[:, 0]
    assert (np.sign(s[clear, 2]) == np.sign(np.linalg.det(a[clear] / s[clear, :1, None]))).all()


@each_float
def test_svd2(dtype):
    tol = tolerance(dtype)
    a = MATRICES[:, :2, :2].astype(np.float32 if dtype is wp.float32 else np.float64).astype(np.float64)
    a = a[np.abs(a).max((1, 2)) < 1.0e10]
    u, s, v = factors(wp.svd2, 2, dtype, a)
    assert_orthogonal(u, tol, rotation=False)
    assert_orthogonal(v, tol)
    assert_close_for_size(np.einsum("nij,nj,nkj->nik", u, s, v), a, tol)
    assert (s >= 0).all() and (s[:, 0] >= s[:, 1] * (1 - tol)).all()


@each_float
def test_eig3(dtype):
    tol = tolerance(dtype)
    a = 0.5 * (MATRICES + np.swapaxes(MATRICES, 1, 2))
    a = a.astype(np.float32 if dtype is wp.float32 else np.float64).astype(np.float64)
    q, d = factors(wp.eig3, 3, dtype, a)
    assert_orthogonal(q, tol)
    assert_close_for_size(np.einsum("nij,nj,nkj->nik", q, d, q), a, tol)
    size = np.abs(a).max((1, 2)) + 1.0e-300
    np.testing.assert_allclose(np.sort(d) / size[:, None], np.linalg.eigvalsh(a) / size[:, None], atol=tol)


@each_float
def test_qr3(dtype):
    tol = tolerance(dtype)
    a = MATRICES[np.abs(MATRICES).max((1, 2)) > 1.0e-10]
    a = a.astype(np.float32 if dtype is wp.float32 else np.float64).astype(np.float64)
    q, r = factors(wp.qr3, 3, dtype, a)
    assert_orthogonal(q, tol)
    assert_close_for_size(q @ r, a, tol)
    assert not np.tril(r, -1).any()
    assert (r[:, 0, 0] >= 0).all() and (r[:, 1, 1] >= 0).all()


# Gradients.


@wp.func
def cubes_of_singular_values(a: Any):
    u, s, v = wp.svd3(a)
    return u * wp.diag(wp.cw_mul(s, wp.cw_mul(s, s))) * wp.transpose(v)


@wp.func
def nearest_rotation(a: Any):
    u, _s, v = wp.svd3(a)
    return u * wp.transpose(v)


@wp.func
def cubes_of_singular_values_2(a: Any):
    u, s, v = wp.svd2(a)
    return u * wp.diag(wp.cw_mul(s, wp.cw_mul(s, s))) * wp.transpose(v)


@wp.func
def cubes_of_eigenvalues(a: Any):
    q, d = wp.eig3(a)
    return q * wp.diag(wp.cw_mul(d, wp.cw_mul(d, d))) * wp.transpose(q)


@wp.func
def both_factors(a: Any):
    q, r = wp.qr3(a)
    return q + r


@wp.func
def singular_values(a: Any):
    _u, s, _v = wp.svd3(a)
    return s


def rotation_part(a):
    u, _, vt = np.linalg.svd(a)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


def cube_of_symmetric_part(a):
    s = 0.5 * (a + a.T)
    return s @ s @ s


def signed_singular_values(a):
    s = np.linalg.svd(a)[1]
    return s * [1.0, 1.0, np.sign(np.linalg.det(a))]


def sum_of_factors(a):
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diag(r))
    signs[2] = signs[0] * signs[1] * np.linalg.det(q)
    return q * signs + r * signs[:, None]


@each_float
@pytest.mark.parametrize(
    ("function", "kind", "result", "reference"),
    [
        (cubes_of_singular_values, "mat33", "mat33", lambda a: a @ a.T @ a),
        (cubes_of_singular_values_2, "mat22", "mat22", lambda a: a @ a.T @ a),
        (nearest_rotation, "mat33", "mat33", rotation_part),
        (singular_values, "mat33", "vec3", signed_singular_values),
        (cubes_of_eigenvalues, "mat33", "mat33", cube_of_symmetric_part),
        (both_factors, "mat33", "mat33", sum_of_factors),
    ],
    ids=["svd3", "svd2", "nearest_rotation", "singular_values", "eig3", "qr3"],
)
def test_gradients(function, kind, result, reference, dtype):
    n = int(kind[-1])
    a = RNG.normal(size=(12, n, n)) + np.diag([2.0, 0.0, -1.0][:n])
    check(function, [kind], result, reference, dtype, [a], loose=30.0)


def test_nearest_rotation_of_a_rotation_has_its_gradient():
    """All singular values are equal, and the gradient is finite all the same."""
    check(nearest_rotation, ["mat33"], "mat33", rotation_part, wp.float64, [ROTATION[None]])


@each_float
def test_gradients_stay_finite(dtype):
    for function, result in ((nearest_rotation, "mat33"), (singular_values, "vec3"), (cubes_of_eigenvalues, "mat33")):
        _, (gradient,) = run(function, ["mat33"], result, dtype, [np.array(SPECIAL[:8])])
        assert np.isfinite(gradient).all()


def test_factors_put_into_variables():
    @wp.kernel
    def kernel(a: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33)):
        u = wp.mat33()
        s = wp.vec3()
        v = wp.mat33()
        wp.svd3(a[0], u, s, v)
        out[0] = u * wp.diag(s) * wp.transpose(v)
        q = wp.mat33()
        r = wp.mat33()
        wp.qr3(a[0], q, r)
        out[1] = q * r

    a = MATRICES[:1].astype(np.float32)
    out = wp.zeros(2, dtype=wp.mat33)
    wp.launch(kernel, dim=1, inputs=[wp.array(a, dtype=wp.mat33)], outputs=[out])
    np.testing.assert_allclose(out.numpy(), [a[0], a[0]], atol=1.0e-5)


def test_python_calls_change_their_arguments():
    a, q, r = wp.mat33(MATRICES[0]), wp.mat33(), wp.mat33()
    assert wp.qr3(a, q, r) is None
    np.testing.assert_allclose(np.array(q * r), MATRICES[0], atol=1.0e-5)
