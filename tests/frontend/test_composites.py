"""Vectors, matrices, quaternions, transforms and structs, compared with the same types in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import agrees, build, evaluate, launch, names_of

VEC2D, MAT23D, MAT32D = wp.vector(2, wp.float64), wp.matrix((2, 3), wp.float64), wp.matrix((3, 2), wp.float64)
LARGE, LARGE_MATRIX = wp.vector(40, wp.float64), wp.matrix((12, 12), wp.float32)
OFFSET = wp.vec3d(1.0, 2.0, 3.0)

A, B = wp.vec3d(1.0, -2.0, 3.5), wp.vec3d(0.5, 4.0, -1.0)
M = wp.mat33d(1.0, 2.0, 3.0, 0.0, -1.0, 2.0, 4.0, 0.5, 1.0)
Q, R = wp.quatd(0.1, 0.2, 0.3, 0.9), wp.quatd(-0.4, 0.3, 0.2, 0.7)


@wp.func
def vector_arithmetic(a: wp.vec3d, b: wp.vec3d, s: wp.float64):
    return a + b - a * 2.0 + s * b / s - 1.0 / b + OFFSET


@wp.func
def comparisons(a: wp.vec3d, b: wp.vec3d):
    r = 0
    if a == b:
        r += 1
    if a != b:
        r += 2
    if a == wp.vec3d(1.0, -2.0, 3.5):
        r += 4
    if 4.0 in b:
        r += 8
    return r


@wp.func
def component_access(a: wp.vec3d, i: int):
    v = wp.vec3d(a)  # in Python, v = a would be another name for a
    v.x = 10.0
    v[1] = v[1] + a.z
    v[i] = v[i] * 2.0
    v[0] += 1.0
    w = wp.vec3d(v)
    w.z = 0.0
    x, y, z = v
    return v.x + v[1] * 10.0 + v[2] * 100.0 + w[i] + x - y + z + wp.float64(len(v)) + v[-1]


@wp.func
def vector_slices(a: wp.vec3d):
    v = wp.vec3d(a)
    v[0:2] = v[1:3]
    t = a[1:]
    v[2:] = 7.0
    return v, t, a[::2], a[::-1]


@wp.func
def matrix_arithmetic(m: wp.mat33d, v: wp.vec3d, s: wp.float64):
    return m * v, m @ m, v * m, m * s + m, m * m * v


@wp.func
def rectangular(a: MAT23D, b: MAT32D, v: VEC2D):
    return a * b, b * a, v * a, b * v


@wp.func
def matrix_access(m: wp.mat33d, i: int, j: int):
    n = wp.mat33d(m)
    n[0, 1] = 5.0
    n[1][2] = 6.0
    n[i, j] += 1.0
    n[i][j] += 1.0
    n[2] = wp.vec3d(1.0, 2.0, 3.0)
    row = wp.vec3d(n[i])
    n[j] = row * 2.0
    return n, row, m[:, 1], m[0, 1:], m[1:, 1:], m[i, 2] + m[2, j]


@wp.func
def column_assignment(m: wp.mat33d):
    n = wp.mat33d(m)
    n[:, 0] = wp.vec3d(7.0, 8.0, 9.0)
    n[1, 1:] = 0.0
    return n


@wp.func
def quaternions(q: wp.quatd, r: wp.quatd):
    return q * r, q + r, q * 2.0, q.w + q[0], -q


@wp.func
def loops_over_vectors(v: wp.vec3d, m: wp.mat33d):
    s = 0.0
    for x in v:
        s = s * 2.0 + x
    for row in m:
        s += row[0] * row[1]
    for k in range(3):
        s += v[k] * m[k, 0]
    for x in v:
        if x < 0.0:
            break
        s += 100.0
    return s


@wp.func
def assignment_copies(a: wp.vec3d):
    v = a
    v.x = 10.0
    w = v
    w.y = 20.0
    return a, v, w


def test_assignment_copies() -> None:
    assert evaluate(assignment_copies, [1, 2, 3]) == [1, 2, 3, 10, 2, 3, 10, 20, 3]


@wp.func
def carried_vector(n: int, v: wp.vec3d):
    w = wp.vec3d()
    for i in range(n):
        w = w + v
        w[i % 3] = 0.0
        if i == 2:
            w.y = 3.0
    return w


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (vector_arithmetic, [(A, B, 2.0)]),
        (comparisons, [(A, B), (A, A)]),
        (component_access, [(A, 0), (A, 1), (A, 2)]),
        (vector_slices, [(A,)]),
        (matrix_arithmetic, [(M, A, 0.5)]),
        (rectangular, [(MAT23D(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), MAT32D(1.0, 0.0, 2.0, 1.0, -1.0, 3.0), VEC2D(2.0, 3.0))]),
        (matrix_access, [(M, 0, 1), (M, 1, 2), (M, 0, 0)]),
        (column_assignment, [(M,)]),
        (quaternions, [(Q, R)]),
        (loops_over_vectors, [(A, M), (B, M)]),
        (carried_vector, [(0, A), (5, A)]),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_agrees_with_python(function: Any, cases: Any) -> None:
    agrees(function, *cases)


@wp.func
def constructors(x: float, v: wp.vec3, d: wp.vec3d):
    return (
        wp.vec3(x, 2.0, 3.0),
        wp.vec3(x),
        wp.vec3(),
        wp.vec3(1, 2, 3),
        wp.vec3d(v),
        wp.vec3(d),
        wp.vec4(v, 1.0),
        wp.mat22(1.0, 2.0, 3.0, 4.0),
        wp.mat33(v, v * 2.0, v),
        wp.mat22(x),
        wp.vector(x, 1.0),
        wp.vector(length=2, dtype=wp.float64),
        wp.vector(1.0, 2.0, dtype=wp.float64),
        wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2), dtype=wp.float64),
        wp.matrix(shape=(1, 2), dtype=int),
        wp.identity(2, dtype=float),
        wp.zeros(2, dtype=wp.float64),
        wp.zeros(shape=(2, 2), dtype=float),
        wp.quat(0.0, 0.0, 0.0, 1.0),
        wp.quat(v, 1.0),
        wp.quaternion(v, 1.0),
        wp.transform(v, wp.quat(0.0, 0.0, 0.0, 1.0)),
        wp.transformation(v, wp.quat(0.0, 0.0, 0.0, 1.0)),
        wp.cast(v, wp.vec3d),
        wp.vec3i(d),
    )


def test_constructors() -> None:
    x, v, d = 1.5, [1, 2, 3], [-4.5, 5.5, 6.0]
    expected: list[Any] = [
        x, 2, 3, x, x, x, 0, 0, 0, 1, 2, 3, *v, *d, *v, 1, 1, 2, 3, 4, *v, 2, 4, 6, *v, x, x, x, x, x, 1, 0, 0, 1, 2,
        1, 2, 3, 4, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, *v, 1, *v, 1, *v, 0, 0, 0, 1, *v, 0, 0, 0, 1, *v,
        -4, 5, 6,
    ]  # fmt: skip
    assert evaluate(constructors, x, v, d) == expected


@wp.func
def inferred(x: wp.float64):
    return wp.vector(x, 1, 2.0), wp.matrix(x, 1.0, 2.0, 3.0)


def test_the_scalar_type_is_inferred() -> None:
    from treadle import frontend

    result = frontend.build_function(inferred, [wp.float64]).result
    assert [item.type for item in result.items] == [wp.vec3d, wp.mat22d]


@wp.func
def transforms(t: wp.transformd, u: wp.transformd):
    s = t * u
    p = s.p
    s.p = wp.vec3d(1.0, 2.0, 3.0)
    return p, s.q, s[0] + s[6], s.p


def test_transforms() -> None:
    from tests.frontend.running import plain

    half = 0.5**0.5
    t = wp.transformd(wp.vec3d(1.0, 2.0, 3.0), wp.quatd(0.0, 0.0, half, half))
    u = wp.transformd(wp.vec3d(-1.0, 0.5, 2.0), wp.quatd(half, 0.0, 0.0, half))
    s = t * u
    expected = [*plain(s.p), *plain(s.q), 1.0 + s[6], 1.0, 2.0, 3.0]
    np.testing.assert_allclose(evaluate(transforms, t, u), expected, rtol=1e-12, atol=1e-12)


@wp.struct
class Inner:
    v: wp.vec2d
    n: int


@wp.struct
class Outer:
    inner: Inner
    m: wp.mat22d
    x: wp.float64


@wp.func
def struct_access(o: Outer, i: int):
    p = o
    p.inner.v.x = 5.0
    p.inner.v[i] += 1.0
    p.m[i, 1] = 8.0
    p.inner.n += i
    q = Inner()
    q.v = p.inner.v * 2.0
    p.inner = q
    o.x = 100.0
    return p, o.inner.n, Outer(x=3.0, inner=Inner(n=4))


def test_structs() -> None:
    o = Outer(inner=Inner(v=(1.0, 2.0), n=3), m=wp.mat22d(1.0, 2.0, 3.0, 4.0), x=9.0)
    assert evaluate(struct_access, o, 1) == [
        10.0, 6.0, 0, 1.0, 2.0, 3.0, 8.0, 9.0, 3, 0.0, 0.0, 4, 0.0, 0.0, 0.0, 0.0, 3.0,
    ]  # fmt: skip


@wp.kernel
def large_vectors(a: wp.array(dtype=LARGE), out: wp.array(dtype=wp.float64), n: int):
    i = wp.tid()
    v = a[i]
    v[3] = 100.0
    v[n] += 1.0
    w = v * 2.0 + v - LARGE(1.0)
    a[i][5] = 7.0
    a[i][n] += 0.5
    s = wp.float64(0.0)
    for k in range(len(w)):
        s += w[k]
    if w == v:
        s = 0.0
    out[0] = s
    out[1] = w[3] + v[n]
    t = w[2:5]
    out[2] = t[1]


def test_large_vectors() -> None:
    a, out = np.arange(40, dtype=np.float64).reshape(1, 40), np.zeros(3)
    v = a[0].copy()
    v[3] = 100.0
    v[9] += 1.0
    w = v * 2 + v - 1
    launch(large_vectors, 1, a, out, 9)
    assert out.tolist() == [w.sum(), w[3] + v[9], w[3]]
    assert a[0, 5] == 7.0 and a[0, 9] == 9.5 and a[0, 3] == 3.0


@wp.kernel
def large_product(a: wp.array(dtype=LARGE_MATRIX), b: wp.array(dtype=LARGE_MATRIX)):
    b[0] = a[0] * a[0] + wp.identity(12, dtype=float)


def test_large_matrices() -> None:
    a = np.random.default_rng(0).normal(size=(1, 12, 12)).astype(np.float32)
    b = np.zeros_like(a)
    launch(large_product, 1, a, b)
    np.testing.assert_allclose(b[0], a[0] @ a[0] + np.eye(12), rtol=1e-4, atol=1e-4)
    assert len(names_of(build(large_product))) < 60


@wp.func
def integer_vectors(a: wp.vec2i, b: wp.vec2i):
    return a & b, a | b, a ^ b, ~a, a << b, a >> b, a % b, a / 2, a // b, a // -4, 20 // b


def test_integer_vectors() -> None:
    found = evaluate(integer_vectors, [13, 6], [3, 1])
    assert found == [1, 0, 15, 7, 14, 7, -14, -7, 104, 12, 1, 3, 1, 0, 6, 3, 4, 6, -4, -2, 6, 20]


def test_builtins_by_the_names_of_operators() -> None:
    @wp.func
    def named(a: wp.vec2d, x: wp.float64, i: int):
        return (
            wp.add(a, a),
            wp.mul(a, x),
            wp.sub(x, 1.0),
            wp.div(i, 2),
            wp.mod(i, 3),
            wp.neg(a),
            wp.unot(i),
            wp.lshift(i, 1),
        )

    assert evaluate(named, [1, 2], 3.0, -7) == [2, 4, 3, 6, 2, -3, -1, -1, -2, False, -14]
