"""Functions of matrices: transpose, determinants and inverses by cofactors, traces and diagonals."""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin
from treadle.language.decorators import static
from treadle.types import AnyScalar as Scalar
from treadle.types import Float, mat, vec
from treadle.types.matrices import matrix
from treadle.types.vectors import vector


@builtin
def transpose(a: mat((Any, Any), Scalar)):
    """The matrix with rows and columns exchanged."""
    result = static(matrix((a.shape[1], a.shape[0]), a.dtype))()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result[j, i] = a[i, j]
    return result


@builtin(name="determinant")
def determinant_2x2(a: mat((2, 2), Float)):
    return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]


@builtin(name="determinant")
def determinant_3x3(a: mat((3, 3), Float)):
    return (
        a[0, 0] * (a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1])
        - a[0, 1] * (a[1, 0] * a[2, 2] - a[1, 2] * a[2, 0])
        + a[0, 2] * (a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0])
    )


@builtin(name="_minors")
def minors_of_two_rows(a: mat((4, 4), Float), i: int, j: int):
    """The 2 × 2 minors of rows ``i`` and ``j``: of columns 01, 02, 03, 12, 13, 23."""
    return (
        a[i, 0] * a[j, 1] - a[i, 1] * a[j, 0],
        a[i, 0] * a[j, 2] - a[i, 2] * a[j, 0],
        a[i, 0] * a[j, 3] - a[i, 3] * a[j, 0],
        a[i, 1] * a[j, 2] - a[i, 2] * a[j, 1],
        a[i, 1] * a[j, 3] - a[i, 3] * a[j, 1],
        a[i, 2] * a[j, 3] - a[i, 3] * a[j, 2],
    )


@builtin(name="determinant")
def determinant_4x4(a: mat((4, 4), Float)):
    """By Laplace's expansion along the first two rows."""
    s01, s02, s03, s12, s13, s23 = minors_of_two_rows(a, 0, 1)
    c01, c02, c03, c12, c13, c23 = minors_of_two_rows(a, 2, 3)
    return s01 * c23 - s02 * c13 + s03 * c12 + s12 * c03 - s13 * c02 + s23 * c01


@builtin(name="inverse")
def inverse_2x2(a: mat((2, 2), Float)):
    """The inverse; of a singular matrix, zeros."""
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    result = type(a)()
    if determinant != 0.0:
        result = type(a)(a[1, 1], -a[0, 1], -a[1, 0], a[0, 0]) / determinant
    return result


@builtin(name="inverse")
def inverse_3x3(a: mat((3, 3), Float)):
    """The inverse; of a singular matrix, zeros."""
    c00 = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    c01 = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    c02 = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    determinant = a[0, 0] * c00 + a[0, 1] * c01 + a[0, 2] * c02
    result = type(a)()
    if determinant != 0.0:
        cofactors = type(a)(
            c00, a[0, 2] * a[2, 1] - a[0, 1] * a[2, 2], a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1],
            c01, a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0], a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2],
            c02, a[0, 1] * a[2, 0] - a[0, 0] * a[2, 1], a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0],
        )  # fmt: skip
        result = cofactors / determinant
    return result


@builtin(name="inverse")
def inverse_4x4(a: mat((4, 4), Float)):
    """The inverse; of a singular matrix, zeros."""
    s01, s02, s03, s12, s13, s23 = minors_of_two_rows(a, 0, 1)
    c01, c02, c03, c12, c13, c23 = minors_of_two_rows(a, 2, 3)
    determinant = s01 * c23 - s02 * c13 + s03 * c12 + s12 * c03 - s13 * c02 + s23 * c01
    result = type(a)()
    if determinant != 0.0:
        cofactors = type(a)(
            a[1, 1] * c23 - a[1, 2] * c13 + a[1, 3] * c12,
            -a[0, 1] * c23 + a[0, 2] * c13 - a[0, 3] * c12,
            a[3, 1] * s23 - a[3, 2] * s13 + a[3, 3] * s12,
            -a[2, 1] * s23 + a[2, 2] * s13 - a[2, 3] * s12,
            -a[1, 0] * c23 + a[1, 2] * c03 - a[1, 3] * c02,
            a[0, 0] * c23 - a[0, 2] * c03 + a[0, 3] * c02,
            -a[3, 0] * s23 + a[3, 2] * s03 - a[3, 3] * s02,
            a[2, 0] * s23 - a[2, 2] * s03 + a[2, 3] * s02,
            a[1, 0] * c13 - a[1, 1] * c03 + a[1, 3] * c01,
            -a[0, 0] * c13 + a[0, 1] * c03 - a[0, 3] * c01,
            a[3, 0] * s13 - a[3, 1] * s03 + a[3, 3] * s01,
            -a[2, 0] * s13 + a[2, 1] * s03 - a[2, 3] * s01,
            -a[1, 0] * c12 + a[1, 1] * c02 - a[1, 2] * c01,
            a[0, 0] * c12 - a[0, 1] * c02 + a[0, 2] * c01,
            -a[3, 0] * s12 + a[3, 1] * s02 - a[3, 2] * s01,
            a[2, 0] * s12 - a[2, 1] * s02 + a[2, 2] * s01,
        )
        result = cofactors / determinant
    return result


@builtin(name="inverse_approx")
def approximate_inverse_2x2(a: mat((2, 2), Float)):
    """``inverse(a)``; a target may trade accuracy for speed."""
    return inverse_2x2(a)


@builtin(name="inverse_approx")
def approximate_inverse_3x3(a: mat((3, 3), Float)):
    return inverse_3x3(a)


@builtin(name="inverse_approx")
def approximate_inverse_4x4(a: mat((4, 4), Float)):
    return inverse_4x4(a)


@builtin
def trace(a: mat((Any, Any), Scalar)):
    """The sum of the diagonal."""
    total = a[0, 0]
    for i in range(1, static(min(a.shape))):
        total += a[i, i]
    return total


@builtin
def diag(vec: vec(Any, Scalar)):
    """The square matrix with ``vec`` on its diagonal and zeros elsewhere."""
    result = static(matrix((len(vec), len(vec)), vec.dtype))()
    for i in range(len(vec)):
        result[i, i] = vec[i]
    return result


@builtin
def get_diag(mat: mat((Any, Any), Scalar)):
    """The diagonal, as a vector."""
    result = static(vector(min(mat.shape), mat.dtype))()
    for i in range(static(min(mat.shape))):
        result[i] = mat[i, i]
    return result
