"""Functions of numbers applied to the components of vectors, matrices and quaternions, and reductions over them."""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin, get
from treadle.types import AnyScalar as Scalar
from treadle.types import Float, mat, quaternion, transformation, uint32, vec

div, isfinite, isinf, isnan, sign = map(get, ("div", "isfinite", "isinf", "isnan", "sign"))


@builtin(name="min", same=("a", "b"))
def min_by_component(a: vec(Any, Scalar), b: vec(Any, Scalar)):
    result = type(a)()
    for i in range(len(a)):
        result[i] = min(a[i], b[i])
    return result


@builtin(name="max", same=("a", "b"))
def max_by_component(a: vec(Any, Scalar), b: vec(Any, Scalar)):
    result = type(a)()
    for i in range(len(a)):
        result[i] = max(a[i], b[i])
    return result


@builtin(name="min")
def min_of_components(a: vec(Any, Scalar)):
    result = a[0]
    for i in range(1, len(a)):
        result = min(result, a[i])
    return result


@builtin(name="max")
def max_of_components(a: vec(Any, Scalar)):
    result = a[0]
    for i in range(1, len(a)):
        result = max(result, a[i])
    return result


@builtin
def argmin(a: vec(Any, Scalar)):
    """The index of the first of the smallest components."""
    best = a[0]
    found = uint32(0)
    for i in range(1, len(a)):
        if a[i] < best:
            best = a[i]
            found = uint32(i)
    return found


@builtin
def argmax(a: vec(Any, Scalar)):
    """The index of the first of the largest components."""
    best = a[0]
    found = uint32(0)
    for i in range(1, len(a)):
        if a[i] > best:
            best = a[i]
            found = uint32(i)
    return found


@builtin(name="abs")
def abs_by_component(x: vec(Any, Scalar)):
    result = type(x)()
    for i in range(len(x)):
        result[i] = abs(x[i])
    return result


@builtin(name="sign")
def sign_by_component(x: vec(Any, Scalar)):
    result = type(x)()
    for i in range(len(x)):
        result[i] = sign(x[i])
    return result


@builtin(same=("a", "b"))
def cw_mul(a: vec(Any, Scalar), b: vec(Any, Scalar)):
    """The products of the components."""
    result = type(a)()
    for i in range(len(a)):
        result[i] = a[i] * b[i]
    return result


@builtin(name="cw_mul", same=("a", "b"))
def multiply_matrices_by_component(a: mat((Any, Any), Scalar), b: mat((Any, Any), Scalar)):
    result = type(a)()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result[i, j] = a[i, j] * b[i, j]
    return result


@builtin(same=("a", "b"))
def cw_div(a: vec(Any, Scalar), b: vec(Any, Scalar)):
    """The quotients of the components; of integers, truncated as in C."""
    result = type(a)()
    for i in range(len(a)):
        result[i] = div(a[i], b[i])
    return result


@builtin(name="cw_div", same=("a", "b"))
def divide_matrices_by_component(a: mat((Any, Any), Scalar), b: mat((Any, Any), Scalar)):
    result = type(a)()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result[i, j] = div(a[i, j], b[i, j])
    return result


@builtin(name="isfinite")
def vector_is_finite(a: vec(Any, Float)):
    """Whether all components are."""
    result = True
    for i in range(len(a)):
        result = result and isfinite(a[i])
    return result


@builtin(name="isfinite")
def quaternion_is_finite(a: quaternion(Float)):
    return isfinite(a.x) and isfinite(a.y) and isfinite(a.z) and isfinite(a.w)


@builtin(name="isfinite")
def matrix_is_finite(a: mat((Any, Any), Float)):
    result = True
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result = result and isfinite(a[i, j])
    return result


@builtin(name="isnan")
def vector_has_nan(a: vec(Any, Float)):
    """Whether any component is."""
    result = False
    for i in range(len(a)):
        result = result or isnan(a[i])
    return result


@builtin(name="isnan")
def quaternion_has_nan(a: quaternion(Float)):
    return isnan(a.x) or isnan(a.y) or isnan(a.z) or isnan(a.w)


@builtin(name="isnan")
def matrix_has_nan(a: mat((Any, Any), Float)):
    result = False
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result = result or isnan(a[i, j])
    return result


@builtin(name="isinf")
def vector_has_infinity(a: vec(Any, Float)):
    """Whether any component is."""
    result = False
    for i in range(len(a)):
        result = result or isinf(a[i])
    return result


@builtin(name="isinf")
def quaternion_has_infinity(a: quaternion(Float)):
    return isinf(a.x) or isinf(a.y) or isinf(a.z) or isinf(a.w)


@builtin(name="isinf")
def matrix_has_infinity(a: mat((Any, Any), Float)):
    result = False
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result = result or isinf(a[i, j])
    return result


@builtin(name="lerp", same=("a", "b"))
def lerp_vectors(a: vec(Any, Float), b: vec(Any, Float), t: Float):
    return a * (1.0 - t) + b * t


@builtin(name="lerp", same=("a", "b"))
def lerp_matrices(a: mat((Any, Any), Float), b: mat((Any, Any), Float), t: Float):
    return a * (1.0 - t) + b * t


@builtin(name="lerp")
def lerp_quaternions(a: quaternion(Float), b: quaternion(Float), t: Float):
    """By component; the result is no unit quaternion."""
    return a * (1.0 - t) + b * t


@builtin(name="lerp")
def lerp_transforms(a: transformation(Float), b: transformation(Float), t: Float):
    """By component; the rotation of the result is no unit quaternion."""
    return a * (1.0 - t) + b * t


@builtin(name="div_approx")
def divide_vector(a: vec(Any, Float), b: Float):
    return a / b


@builtin(name="div_approx")
def divide_by_vector(a: Float, b: vec(Any, Float)):
    return a / b


@builtin(name="div_approx")
def divide_matrix(a: mat((Any, Any), Float), b: Float):
    return a / b


@builtin(name="div_approx")
def divide_by_matrix(a: Float, b: mat((Any, Any), Float)):
    return a / b


@builtin(name="div_approx")
def divide_quaternion(a: quaternion(Float), b: Float):
    return a / b


@builtin(name="div_approx")
def divide_by_quaternion(a: Float, b: quaternion(Float)):
    return a / b
