"""Singular values, eigenvalues and QR factors of small matrices, by Jacobi's and Givens' rotations.

The derivatives of singular vectors and eigenvectors are infinite where two values coincide; the
parts of the gradient that would be are left out there.
"""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin, get, gradient
from treadle.language.decorators import adjoint, static
from treadle.language.stdlib.matrices import transpose
from treadle.language.stdlib.vectors import cross, dot, length
from treadle.types import Float, float16, float32, float64, mat, vec
from treadle.types.vectors import vector

atan2, cos, sin, sqrt = map(get, ("atan2", "cos", "sin", "sqrt"))

_PAIRS = ((0, 1), (0, 2), (1, 2))
_MOST_SWEEPS = 16


def _epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of a float type."""
    return {float64: 2.0**-52, float32: 2.0**-23, float16: 2.0**-10}.get(dtype, 2.0**-7)


@builtin(name="_unit_matrix")
def unit_matrix(a: mat((Any, Any), Float)):
    """The unit matrix of the type of ``a``."""
    result = type(a)()
    for i in range(a.shape[0]):
        result[i, i] = a.dtype(1)
    return result


@builtin(name="_jacobi_tangent")
def jacobi_tangent(difference: Float, off: Float):
    """The tangent of the smaller angle that makes the entry ``off`` vanish; ``difference`` is of the diagonal."""
    zeta = difference / (2.0 * off)
    t = 1.0 / (abs(zeta) + sqrt(zeta * zeta + 1.0))
    return -t if zeta < 0.0 else t


@builtin(name="_rotate_columns")
def rotate_columns(m: mat((Any, Any), Float), p: int, q: int, c: Float, s: Float):
    """Two columns turned into each other."""
    result = +m
    for i in range(m.shape[0]):
        result[i, p] = c * m[i, p] - s * m[i, q]
        result[i, q] = s * m[i, p] + c * m[i, q]
    return result


@builtin(name="_column")
def column(m: mat((Any, Any), Float), k: int):
    result = static(vector(m.shape[0], m.dtype))()
    for i in range(m.shape[0]):
        result[i] = m[i, k]
    return result


@builtin(name="_reciprocal")
def reciprocal(x: Float, limit: Float):
    """1 / x, but 0 where ``x`` is at most ``limit``."""
    return 1.0 / x if abs(x) > limit else type(x)(0)


@builtin(name="_svd_gradient")
def gradient_of_singular_values(
    u: mat((Any, Any), Float), sigma: vec(Any, Float), v: mat((Any, Any), Float),
    adj_u: mat((Any, Any), Float), adj_sigma: vec(Any, Float), adj_v: mat((Any, Any), Float),
):  # fmt: skip
    """The gradient of a square matrix from those of its singular values and vectors."""
    k = transpose(u) * adj_u
    m = transpose(v) * adj_v
    limit = static(8.0 * _epsilon(u.dtype)) * abs(sigma[0])
    inner = type(u)()
    for i in range(len(sigma)):
        for j in range(len(sigma)):
            if i == j:
                inner[i, i] = adj_sigma[i]
            else:
                a = k[i, j] - k[j, i]
                b = m[i, j] - m[j, i]
                near = (a + b) * reciprocal(sigma[j] - sigma[i], limit)
                far = (a - b) * reciprocal(sigma[j] + sigma[i], limit)
                inner[i, j] = 0.5 * (near + far)
    return u * inner * transpose(v)


@builtin(name="_svd2")
def singular_values_2(A: mat((2, 2), Float)):
    a, b = column(A, 0), column(A, 1)
    angle = 0.5 * atan2(2.0 * dot(a, b), dot(a, a) - dot(b, b))
    c, s = cos(angle), sin(angle)
    a, b = a * c + b * s, b * c - a * s
    first = length(a)
    u = type(a)(1.0, 0.0)
    if first > 0.0:
        u = a / first
    second = u[0] * b[1] - u[1] * b[0]
    side = A.dtype(-1 if second < 0.0 else 1)
    return type(A)(u[0], -side * u[1], u[1], side * u[0]), type(a)(first, side * second), type(A)(c, -s, s, c)


@builtin
def svd2(A: mat((2, 2), Float)):
    """U, sigma and V with A = U · diag(sigma) · Vᵀ: singular values from the largest, not negative; V a rotation."""
    return singular_values_2(A)


@gradient(svd2)
def svd2_gradient(
    A: mat((2, 2), Float), adj_u: mat((2, 2), Float), adj_sigma: vec(2, Float), adj_v: mat((2, 2), Float)
):
    u, sigma, v = singular_values_2(A)
    adjoint[A] += gradient_of_singular_values(u, sigma, v, adj_u, adj_sigma, adj_v)


@builtin(name="svd2", updates=("U", "sigma", "V"))
def store_svd2(A: mat((2, 2), Float), U: mat((2, 2), Float), sigma: vec(2, Float), V: mat((2, 2), Float)):
    return svd2(A)


@builtin(name="_perpendicular")
def perpendicular(u: vec(3, Float)):
    """A unit vector perpendicular to a unit vector."""
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    axis = type(u)(0.0, 0.0, 1.0)
    if x <= y and x <= z:
        axis = type(u)(1.0, 0.0, 0.0)
    elif y <= z:
        axis = type(u)(0.0, 1.0, 0.0)
    found = cross(u, axis)
    return found / length(found)


@builtin(name="_svd3")
def singular_values_3(A: mat((3, 3), Float)):
    """One-sided Jacobi: rotations of columns until they are orthogonal; then their lengths are the singular values."""
    scale = A.dtype(0)
    for i in range(3):
        for j in range(3):
            scale = max(scale, abs(A[i, j]))
    b = +A
    if scale > 0.0:
        b = A / scale
    v = unit_matrix(A)
    sweep = 0
    turning = True
    while turning and sweep < _MOST_SWEEPS:
        turning = False
        for p, q in _PAIRS:
            off = dot(column(b, p), column(b, q))
            low, high = dot(column(b, p), column(b, p)), dot(column(b, q), column(b, q))
            if abs(off) > static(_epsilon(A.dtype)) * sqrt(low) * sqrt(high):
                t = jacobi_tangent(high - low, off)
                c = 1.0 / sqrt(t * t + 1.0)
                b = rotate_columns(b, p, q, c, c * t)
                v = rotate_columns(v, p, q, c, c * t)
                turning = True
        sweep += 1
    for p, q in ((0, 1), (1, 2), (0, 1)):  # the longest first; a quarter turn keeps V a rotation
        if dot(column(b, p), column(b, p)) < dot(column(b, q), column(b, q)):
            b = rotate_columns(b, p, q, A.dtype(0), A.dtype(1))
            v = rotate_columns(v, p, q, A.dtype(0), A.dtype(1))
    first, second = column(b, 0), column(b, 1)
    u0 = type(first)(1.0, 0.0, 0.0)
    if dot(first, first) > 0.0:
        u0 = first / length(first)
    u1 = second - u0 * dot(u0, second)
    u1 = u1 - u0 * dot(u0, u1)
    if length(u1) > static(_epsilon(A.dtype)) * length(first):
        u1 = u1 / length(u1)
        u1 = u1 - u0 * dot(u0, u1)
        u1 = u1 / length(u1)
    else:
        u1 = perpendicular(u0)
    u2 = cross(u0, u1)
    sigma = type(first)(dot(u0, first), dot(u1, second), dot(u2, column(b, 2))) * scale
    u = type(A)(u0[0], u1[0], u2[0], u0[1], u1[1], u2[1], u0[2], u1[2], u2[2])
    return u, sigma, v


@builtin
def svd3(A: mat((3, 3), Float)):
    """U, sigma and V with A = U · diag(sigma) · Vᵀ.

    U and V are rotations; the singular values come from the largest to the smallest, of which the last
    has the sign of the determinant of A.
    """
    return singular_values_3(A)


@gradient(svd3)
def svd3_gradient(
    A: mat((3, 3), Float), adj_u: mat((3, 3), Float), adj_sigma: vec(3, Float), adj_v: mat((3, 3), Float)
):
    u, sigma, v = singular_values_3(A)
    adjoint[A] += gradient_of_singular_values(u, sigma, v, adj_u, adj_sigma, adj_v)


@builtin(name="svd3", updates=("U", "sigma", "V"))
def store_svd3(A: mat((3, 3), Float), U: mat((3, 3), Float), sigma: vec(3, Float), V: mat((3, 3), Float)):
    return svd3(A)


@builtin(name="_eig3")
def eigenvalues_3(A: mat((3, 3), Float)):
    """Jacobi's method."""
    d = 0.5 * (A + transpose(A))
    v = unit_matrix(A)
    sweep = 0
    turning = True
    while turning and sweep < _MOST_SWEEPS:
        turning = False
        for p, q in _PAIRS:
            if abs(d[p, q]) > static(0.125 * _epsilon(A.dtype)) * (abs(d[0, 0]) + abs(d[1, 1]) + abs(d[2, 2])):
                t = jacobi_tangent(d[q, q] - d[p, p], d[p, q])
                c = 1.0 / sqrt(t * t + 1.0)
                d = rotate_columns(d, p, q, c, c * t)
                d = rotate_columns(transpose(d), p, q, c, c * t)
                v = rotate_columns(v, p, q, c, c * t)
                turning = True
        sweep += 1
    return v, static(vector(3, A.dtype))(d[0, 0], d[1, 1], d[2, 2])


@builtin
def eig3(A: mat((3, 3), Float)):
    """Q and d with A = Q · diag(d) · Qᵀ for a symmetric A: the columns of Q, a rotation, are the eigenvectors.

    The eigenvalues are in no particular order. Of any other matrix it is the symmetric part that counts.
    """
    return eigenvalues_3(A)


@gradient(eig3)
def eig3_gradient(A: mat((3, 3), Float), adj_q: mat((3, 3), Float), adj_d: vec(3, Float)):
    q, d = eigenvalues_3(A)
    k = transpose(q) * adj_q
    limit = static(8.0 * _epsilon(A.dtype)) * max(max(abs(d[0]), abs(d[1])), abs(d[2]))
    inner = type(A)()
    for i in range(3):
        for j in range(3):
            if i == j:
                inner[i, i] = adj_d[i]
            else:
                inner[i, j] = k[i, j] * reciprocal(d[j] - d[i], limit)
    full = q * inner * transpose(q)
    adjoint[A] += 0.5 * (full + transpose(full))


@builtin(name="eig3", updates=("Q", "d"))
def store_eig3(A: mat((3, 3), Float), Q: mat((3, 3), Float), d: vec(3, Float)):
    return eig3(A)


@builtin
def qr3(A: mat((3, 3), Float)):
    """Q and R with A = Q · R: a rotation, and an upper triangle of which only the last entry can be negative."""
    r = +A
    q = unit_matrix(A)
    for p, k in _PAIRS:
        below = r[k, p]
        norm = sqrt(r[p, p] * r[p, p] + below * below) if below != 0.0 or r[p, p] < 0.0 else r[p, p]
        if norm > 0.0:
            c, s = r[p, p] / norm, -below / norm
            q = rotate_columns(q, p, k, c, s)
            r = transpose(rotate_columns(transpose(r), p, k, c, s))
            r[k, p] = A.dtype(0)
    return q, r


@builtin(name="qr3", updates=("Q", "R"))
def store_qr3(A: mat((3, 3), Float), Q: mat((3, 3), Float), R: mat((3, 3), Float)):
    return qr3(A)
