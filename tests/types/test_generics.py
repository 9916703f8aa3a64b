"""Generic annotations and array types."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from treadle import types as t


@pytest.mark.parametrize(
    ("annotation", "fits", "fails"),
    [
        (Any, [t.float32, t.vec3, t.array_type(float)], []),
        (t.Int, [t.int8, t.uint64], [t.float32, t.bool_, t.vec3i]),
        (t.Float, [t.float16, t.bfloat16, t.float64], [t.int32, t.bool_, t.vec3]),
        (t.AnyScalar, [t.float32, t.int8], [t.bool_, t.vec3]),
        (float, [t.float32], [t.float64, t.int32]),
        (t.float32, [t.float32, float], [t.float64]),
        (t.vec3, [t.vec3, t.vector(3, float)], [t.vec3d, t.vec2, t.float32]),
        (t.vec(), [t.vec2, t.vec3i, t.vector(2, bool)], [t.quat, t.mat22, t.float32, t.array_type(t.vec3)]),
        (t.vec(3), [t.vec3, t.vec3d], [t.vec2]),
        (t.vec(Any, t.Float), [t.vec2d], [t.vec2i]),
        (t.vector(length=Any, dtype=float), [t.vec2], [t.vec2d]),
        (t.mat(), [t.mat22, t.spatial_matrix], [t.vec2]),
        (t.mat((3, Any), t.Float), [t.mat33d, t.matrix((3, 5), float)], [t.mat22, t.matrix((3, 3), int)]),
        (t.quat(dtype=Any), [t.quat, t.quatd], [t.vec4]),
        (t.quaternion(t.Float), [t.quath], [t.transform]),
        (t.transformation(), [t.transform, t.transformd], [t.vector(7, float)]),
        (t.array_type(Any), [t.array_type(float), t.array_type(t.vec3)], [t.array_type(float, 2), t.float32]),
        (t.array_type(t.vec(Any, t.Float), 2), [t.array_type(t.vec3d, 2)], [t.array_type(t.vec3i, 2)]),
        (t.array_type(t.Int), [t.array_type(int)], [t.array_type(float)]),
        (t.array_type(Any, Any), [t.array_type(float, 4)], [t.vec3]),
        (t.array_type(float), [t.array_type(t.float32, 1)], [t.array_type(float, 2)]),
    ],
)
def test_matches(annotation, fits, fails):
    assert all(t.matches(annotation, concrete) for concrete in fits)
    assert not any(t.matches(annotation, concrete) for concrete in fails)


def test_generic_type():
    g = t.vec(Any, t.Float)
    assert isinstance(g, t.GenericType) and t.is_generic(g)
    assert (g.kind, g.shape, g.length, g.dtype) == ("vec", (Any,), Any, t.Float)
    assert repr(g) == g.short == "vec<Any, Float>"
    assert g == t.vector(dtype=t.Float) and hash(g) == hash(t.vector(dtype=t.Float))
    assert t.mat((2, 3)).length == 6 and repr(t.mat((2, Any), float)) == "mat<2xAny, f32>"
    assert t.matrix(Any, float) == t.matrix((Any, Any), float)
    assert repr(t.quaternion()) == "quat<Any>"
    assert repr(t.AnyScalar) == "Scalar" and t.Scalar is t.AnyScalar
    assert not t.is_generic(t.vec3) and not t.is_generic(t.array_type(float))
    for value in (g, t.Int, t.Float, t.Scalar, t.array_type(g)):
        assert pickle.loads(pickle.dumps(value)) == value


def test_array_type():
    a = t.array_type(t.vec3, 2)
    assert a is t.array_type(t.vec3f, 2) is t.ArrayType(t.vec3, 2)
    assert (a.kind, a.dtype, a.ndim, a.short) == ("array", t.vec3, 2, "array<vec<3, f32>, 2>")
    assert repr(a) == "array(dtype=vec3f, ndim=2)"
    assert t.array_type(float) is t.array_type(t.float32, 1) is not a
    assert repr(t.array_type(Any)) == "array(dtype=Any, ndim=1)"
    assert pickle.loads(pickle.dumps(a)) is a is copy.deepcopy(a)
    assert a.size == t.ARRAY_DESCRIPTOR_SIZE == a.numpy.itemsize
    with pytest.raises(AttributeError):
        a.ndim = 3


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: t.array_type(float, 0), ValueError),
        (lambda: t.array_type(float, 5), ValueError),
        (lambda: t.array_type(float, 1.0), TypeError),
        (lambda: t.array_type(float, True), TypeError),
        (lambda: t.array_type(str), TypeError),
        (lambda: t.array_type(None), TypeError),
        (lambda: t.array_type(3), TypeError),
        (lambda: t.array_type(t.Vector), TypeError),
        (lambda: t.array_type(t.array_type(float)), TypeError),
    ],
)
def test_bad_array_types(make, error):
    with pytest.raises(error):
        make()
