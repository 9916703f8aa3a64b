"""Geometry of vectors: inner, outer and cross products, lengths, unit vectors."""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin, get
from treadle.language.decorators import static
from treadle.types import AnyScalar as Scalar
from treadle.types import Float, mat, vec
from treadle.types.matrices import matrix

sqrt = get("sqrt")


@builtin(same=("a", "b"))
def dot(a: vec(Any, Scalar), b: vec(Any, Scalar)):
    """The inner product."""
    total = a[0] * b[0]
    for i in range(1, len(a)):
        total += a[i] * b[i]
    return total


@builtin(same=("a", "b"))
def ddot(a: mat((Any, Any), Scalar), b: mat((Any, Any), Scalar)):
    """The sum of the products of the components of two matrices."""
    total = a.dtype(0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
    return total


@builtin
def outer(a: vec(Any, Scalar), b: vec(Any, Scalar)):
    """The matrix with the components ``a[i] * b[j]``."""
    result = static(matrix((len(a), len(b)), a.dtype))()
    for i in range(len(a)):
        for j in range(len(b)):
            result[i, j] = a[i] * b[j]
    return result


@builtin
def cross(a: vec(3, Scalar), b: vec(3, Scalar)):
    """The cross product."""
    return type(a)(
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@builtin
def skew(vec: vec(3, Scalar)):
    """The matrix ``m`` with ``m * x == cross(vec, x)``."""
    zero = vec.dtype(0)
    return static(matrix((3, 3), vec.dtype))(
        zero, -vec[2], vec[1],
        vec[2], zero, -vec[0],
        -vec[1], vec[0], zero,
    )  # fmt: skip


@builtin
def length_sq(a: vec(Any, Scalar)):
    """The sum of the squares of the components."""
    return dot(a, a)


@builtin
def length(a: vec(Any, Float)):
    """The Euclidean norm; its gradient at the zero vector is 0."""
    squared = dot(a, a)
    result = squared
    if squared != 0.0:
        result = sqrt(squared)
    return result


@builtin
def normalize(a: vec(Any, Float)):
    """``a / length(a)``; the zero vector, with gradient 0, for the zero vector."""
    squared = dot(a, a)
    result = type(a)()
    if squared != 0.0:
        result = a / sqrt(squared)
    return result
