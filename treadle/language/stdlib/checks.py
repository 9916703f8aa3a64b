"""Assertions about numbers and composites: they fail the launch, as ``assert`` does."""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin
from treadle.types import Float, mat, quaternion, vec


@builtin
def expect_near(a: Float, b: Float, tolerance: Float = 1.0e-6):
    """Fail unless ``a`` and ``b`` differ by at most ``tolerance``."""
    assert abs(a - b) <= tolerance, "expect_near: the two numbers differ"


@builtin(name="expect_near", same=("a", "b"))
def expect_near_vectors(a: vec(Any, Float), b: vec(Any, Float), tolerance: Float = 1.0e-6):
    """Fail unless all components differ by at most ``tolerance``."""
    for i in range(len(a)):
        assert abs(a[i] - b[i]) <= tolerance, "expect_near: the two vectors differ"


@builtin(name="expect_near")
def expect_near_quaternions(a: quaternion(Float), b: quaternion(Float), tolerance: Float = 1.0e-6):
    for i in range(len(a)):
        assert abs(a[i] - b[i]) <= tolerance, "expect_near: the two quaternions differ"


@builtin(name="expect_near", same=("a", "b"))
def expect_near_matrices(a: mat((Any, Any), Float), b: mat((Any, Any), Float), tolerance: Float = 1.0e-6):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            assert abs(a[i, j] - b[i, j]) <= tolerance, "expect_near: the two matrices differ"


@builtin
def expect_eq(a: Any, b: Any):
    """Fail unless ``a`` and ``b``, numbers or composites, are equal."""
    assert a == b, "expect_eq: the two values differ"


@builtin
def expect_neq(a: Any, b: Any):
    """Fail if ``a`` and ``b``, numbers or composites, are equal."""
    assert a != b, "expect_neq: the two values are equal"
