"""Composite types: their classes, construction, indexing, operators, conversion."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from treadle import types as t

FLOATS = (t.float16, t.bfloat16, t.float32, t.float64)
KINDS = [
    t.vec2, t.vec3d, t.vec4h, t.vec3i, t.vec2ub, t.vec4ul, t.vector(7, float), t.vector(1, t.int64),
    t.vector(3, t.bfloat16), t.vector(2, bool), t.mat22, t.mat33d, t.mat44h, t.matrix((2, 3), float),
    t.matrix((1, 4), t.int32), t.matrix((3, 1), t.bfloat16), t.quat, t.quatd, t.quath,
    t.quaternion(t.bfloat16), t.transform, t.transformd, t.spatial_vector, t.spatial_matrix, t.vector(100, float),
]  # fmt: skip


# -- Classes


def test_classes_are_made_once():
    assert t.vector(3, float) is t.vector(length=3, dtype=t.float32) is t.vec3 is t.vec3f is t.NAMES["vec3"]
    assert t.vector(np.int64(3), t.float32) is t.vec3
    assert t.vector(2, int) is t.vec2i
    assert t.matrix(shape=(3, 3), dtype=float) is t.mat33 is t.mat([3, 3], t.float32)
    assert t.quaternion(float) is t.quat is t.quatf
    assert t.transformation(t.float64) is t.transformd
    assert t.spatial_vector is t.vector(6, float)
    assert t.spatial_matrixd is t.matrix((6, 6), t.float64)
    assert t.vec(5, t.int8) is t.vector(5, t.int8)


def test_protocol():
    v, m, q, x = t.vec3d, t.matrix((2, 3), float), t.quath, t.transform
    assert (v.kind, v.dtype, v.shape, v.length, v.size) == ("vec", t.float64, (3,), 3, 24)
    assert (m.kind, m.dtype, m.shape, m.length, m.size) == ("mat", t.float32, (2, 3), 6, 24)
    assert (q.kind, q.dtype, q.shape, q.length, q.size) == ("quat", t.float16, (4,), 4, 8)
    assert (x.kind, x.dtype, x.shape, x.length, x.size) == ("transform", t.float32, (7,), 7, 28)
    assert [c.short for c in (v, m, q, x)] == ["vec<3, f64>", "mat<2x3, f32>", "quat<f16>", "transform<f32>"]
    assert m.numpy == np.dtype((np.float32, (2, 3)))
    assert t.vector(3, t.bfloat16).numpy == np.dtype((np.uint16, (3,)))
    assert (m._wp_scalar_type_, m._shape_, m._length_) == (t.float32, (2, 3), 6)


def test_names():
    assert len({id(c) for c in t.NAMES.values()}) == 33 + 9 + 3 + 3 + 3 + 3
    for suffix in ("b", "ub", "s", "us", "i", "ui", "l", "ul", "h", "f", "d"):
        assert repr(t.NAMES[f"vec3{suffix}"]) == f"vec3{suffix}"
    assert repr(t.vec3) == "vec3f" and repr(t.mat44h) == "mat44h" and repr(t.quat) == "quatf"
    assert repr(t.transformd) == "transformd" and repr(t.spatial_matrix) == "spatial_matrixf"
    assert repr(t.vector(5, float)) == "vec(5, float32)"
    assert repr(t.matrix((2, 3), bool)) == "mat((2, 3), bool)"
    assert repr(t.quaternion(t.bfloat16)) == "quat(bfloat16)"
    for name, type_ in t.NAMES.items():
        assert getattr(t, name) is type_


@pytest.mark.parametrize("type_", KINDS)
def test_types_and_values_pickle_and_copy(type_):
    value = type_(1) if type_.dtype is not t.bool_ else type_(True)
    assert pickle.loads(pickle.dumps(type_)) is type_
    assert copy.deepcopy(type_) is type_
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        clone = pickle.loads(pickle.dumps(value, protocol))
        assert type(clone) is type_ and clone == value
    for clone in (copy.copy(value), copy.deepcopy(value)):
        assert type(clone) is type_ and clone == value
        clone[0] = 0
        assert clone != value


@pytest.mark.parametrize("type_", KINDS)
def test_zero_and_storage_round_trip(type_):
    zero = type_()
    assert not np.asarray(zero).any() and np.asarray(zero).shape == type_.shape
    value = type_(np.arange(type_.length).reshape(type_.shape) % 2 == 1)
    raw = value.numpy_value()
    assert raw.flags.c_contiguous and raw.dtype == type_.dtype.numpy and raw.nbytes == type_.size
    element = np.zeros(2, type_.numpy)
    element[1] = raw
    assert type_.from_numpy(element[1]) == value
    assert hash(type_.from_numpy(raw)) == hash(value)


def test_empty_subclass_is_the_type_itself():
    class vec5(t.vector(5, float)):
        """A name for it."""

    assert vec5 is t.vector(5, float)


def test_subclass_with_methods():
    class Point(t.vec2):
        def double(self):
            return self * 2.0

    p = Point(1, 2)
    assert p.double() == t.vec2(2, 4) and type(p.double()) is t.vec2
    assert t.type_of(p) is t.vec2 and t.from_annotation(Point) is t.vec2
    assert p + t.vec2(1, 1) == (2, 3)
    assert t.leaf_values(t.vec2, p) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: t.vector(0, float), ValueError),
        (lambda: t.vector(-1, float), ValueError),
        (lambda: t.vector(2.0, float), TypeError),
        (lambda: t.vector(True, float), TypeError),
        (lambda: t.vector(3, [float]), TypeError),
        (lambda: t.vector("3", float), TypeError),
        (lambda: t.vector(3, str), TypeError),
        (lambda: t.vector(3, t.vec3), TypeError),
        (lambda: t.matrix((2,), float), TypeError),
        (lambda: t.matrix(3, float), TypeError),
        (lambda: t.quaternion(int), TypeError),
        (lambda: t.transformation(t.int32), TypeError),
        (lambda: t.quat(1.0, dtype=t.float64), TypeError),
    ],
)
def test_bad_parameters(make, error):
    with pytest.raises(error):
        make()


def test_dtype_keyword_of_named_types():
    assert t.quat(dtype=t.float64) is t.quatd
    assert t.transform(dtype=t.float16) is t.transformh
    assert t.quat(dtype=Any) == t.quaternion(Any)


# -- Construction


def test_vector_construction():
    assert list(t.vec3(1, 2.5, np.float64(3))) == [1.0, 2.5, 3.0]
    assert t.vec3() == (0, 0, 0)
    assert t.vec3(2) == t.vec3(np.array(2)) == (2, 2, 2)
    for source in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), range(1, 4), t.vec3(1, 2, 3), t.vec3i(1, 2, 3)):
        assert t.vec3(source) == (1, 2, 3)
    assert t.vec3i(t.vec3(1.9, -1.9, 3)) == (1, -1, 3)
    assert t.vec4(t.vec3(1, 2, 3), 4) == (1, 2, 3, 4)
    assert t.spatial_vector(t.vec3(1, 2, 3), (4, 5, 6)) == (1, 2, 3, 4, 5, 6)
    assert t.vector(1, float)(5) == (5,)
    assert t.vector(2, bool)(True, 0) == (True, False)
    assert t.vec3d(0.1)[0] == 0.1
    assert t.vec3(0.1)[0] == float(np.float32(0.1))
    source = np.array([1.0, 2.0, 3.0], np.float32)
    v = t.vec3(source)
    v[0] = 9
    assert source[0] == 1
    other = t.vec3(v)
    other[0] = 1
    assert v[0] == 9


def test_matrix_construction():
    expected = [[1, 2], [3, 4]]
    for args in (
        (1, 2, 3, 4), ([1, 2, 3, 4],), ([[1, 2], [3, 4]],), (np.array(expected),), (t.vec2(1, 2), t.vec2(3, 4)),
        ([t.vec2(1, 2), t.vec2(3, 4)],), ((1, 2), [3, 4]), (t.mat22d(1, 2, 3, 4),), (np.arange(1, 5),),
    ):  # fmt: skip
        assert t.mat22(*args) == expected, args
    assert t.mat22(3) == [[3, 3], [3, 3]]
    assert t.mat22() == [[0, 0], [0, 0]]
    assert t.matrix((2, 3), int)(1, 2, 3, 4, 5, 6) == [[1, 2, 3], [4, 5, 6]]
    assert t.matrix((3, 1), int)(1, 2, 3) == [[1], [2], [3]]
    assert t.matrix((3, 1), int)([1], [2], [3]) == [[1], [2], [3]]
    assert t.matrix((1, 2), int)([1, 2]) == [[1, 2]]
    assert t.matrix((1, 1), int)(5) == [[5]]


def test_quaternion_and_transform_construction():
    assert list(t.quat(1, 2, 3, 4)) == [1, 2, 3, 4]
    assert t.quat(t.vec3(1, 2, 3), 4) == t.quat(1, 2, 3, 4) == t.quat([1, 2, 3, 4])
    x = t.transform((1, 2, 3), t.quat(0, 0, 0, 1))
    assert list(x) == [1, 2, 3, 0, 0, 0, 1] and len(x) == 7
    assert t.transform(1, 2, 3, 0, 0, 0, 1) == x == t.transform([1, 2, 3, 0, 0, 0, 1])
    assert t.transform(t.vec3(1, 2, 3)) == x == t.transform(p=(1, 2, 3)) == t.transform([1, 2, 3])
    assert t.transform(p=(1, 2, 3), q=(0, 0, 0, 1)) == x == t.transform((1, 2, 3), q=(0, 0, 0, 1))
    assert t.transform(q=(1, 0, 0, 0)) == (0, 0, 0, 1, 0, 0, 0)
    assert list(t.transform()) == [0] * 7
    assert t.transformd(x) == x
    assert type(x.p) is t.vec3 and type(x.q) is t.quat
    x.p = (4, 5, 6)
    x.q = t.quat(1, 0, 0, 0)
    assert x == (4, 5, 6, 1, 0, 0, 0)
    x[:] = t.transform(p=(1, 1, 1))
    assert x == (1, 1, 1, 0, 0, 0, 1)


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16])
def test_assignments_to_components_of_parts(dtype):
    x = t.transformation(dtype)((1, 2, 3), (0, 0, 0, 1))
    x.p[0] = 9
    x.p.y = 8
    x.q[3] = 5
    x.q.x += 1
    x.p[1:] = (7, 6)
    x.q[:2] = 4
    assert x == (9, 7, 6, 4, 4, 0, 5)
    m = t.matrix((2, 3), dtype)(1, 2, 3, 4, 5, 6)
    m[0][1] = 20
    m[-1].z = 60
    m[1][:2] = 0
    m.get_row(0)[0] = 10
    assert m == [[10, 20, 3], [0, 0, 60]]
    with pytest.raises(IndexError):
        x.p[3] = 1
    with pytest.raises(TypeError, match="p of transform"):
        x.p = 1.0


@t.struct
class Inner:
    pose: t.transform
    rows: t.mat22
    place: t.vec3


@t.struct
class Nested:
    inner: Inner


def test_assignments_to_components_of_parts_of_struct_members():
    s = Nested()
    s.inner.pose.p[0] = 9
    s.inner.pose.q.w = 1
    s.inner.rows[1][0] = 4
    s.inner.place.y = 3
    assert s.inner.pose == (9, 0, 0, 0, 0, 0, 1)
    assert s.inner.rows == [[0, 0], [4, 0]]
    assert s.inner.place == (0, 3, 0)


def test_parts_are_values_of_their_own():
    x = t.transform((1, 2, 3), (0, 0, 0, 1))
    before = x.p
    x.p = before + t.vec3(1, 1, 1)
    assert before == (1, 2, 3) and x.p == (2, 3, 4)
    m = t.mat22(1, 2, 3, 4)
    row = m[0]
    m[0] = (5, 6)
    assert row == (1, 2)
    for part in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row)), row + row, -row):
        part[0] = 100
    assert m == [[5, 6], [3, 4]]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: t.vec3(1, 2), ValueError, "vec3f takes 3 components, got 2"),
        (lambda: t.vec3(1, 2, 3, 4), ValueError, "takes 3 components, got 4"),
        (lambda: t.vec3([1, 2]), ValueError, "takes 3 components, got 2"),
        (lambda: t.vec3(np.zeros(4)), ValueError, r"array of shape \(4,\)"),
        (lambda: t.vec3(t.vec2()), ValueError, "got vec2f"),
        (lambda: t.vec3("abc"), TypeError, "expected float32, got a value of type str"),
        (lambda: t.vec3("1", "2", "3"), TypeError, "str"),
        (lambda: t.vec3(None), TypeError, "None"),
        (lambda: t.vec3(1, None, 3), TypeError, "None"),
        (lambda: t.vec3i(1.5, 2, 3), TypeError, "expected int32, got the float 1.5"),
        (lambda: t.vec3i([1, 2, 3.0]), TypeError, "got the float 3.0"),
        (lambda: t.vec3i(np.zeros(3)), TypeError, "array of float64"),
        (lambda: t.vec3ub(1, 2, 256), ValueError, "256 does not fit in uint8, which holds 0 to 255"),
        (lambda: t.vec3ub(np.array([1, -2, 3])), ValueError, "-2 does not fit in uint8"),
        (lambda: t.vec3(np.array(["a", "b", "c"])), TypeError, "expected numbers"),
        (lambda: t.vec3(1j, 0, 0), TypeError, "complex"),
        (lambda: t.vec3(10**400, 0, 0), ValueError, "too large"),
        (lambda: t.vec3(t.vec3), TypeError, "got vec3f"),
        (lambda: t.mat22(1, 2, 3), ValueError, "2x2 components, got 3"),
        (lambda: t.mat22([1, 2], [3, 4], [5, 6]), ValueError, "2 rows of 2"),
        (lambda: t.mat22([[1, 2], [3]]), ValueError, "a row of mat22f takes 2 components, got 1"),
        (lambda: t.mat22([[1, 2], 3]), TypeError, "expected rows"),
        (lambda: t.mat22([[1, 2]]), ValueError, "takes 2 rows, got 1"),
        (lambda: t.mat22(np.zeros((2, 3))), ValueError, r"shape \(2, 3\)"),
        (lambda: t.quat(1, 2, 3), ValueError, "quatf takes 4"),
        (lambda: t.transform((1, 2), (0, 0, 0, 1)), ValueError, "p of transformf takes 3"),
        (lambda: t.transform((1, 2, 3), (0, 0, 1)), ValueError, "q of transformf takes 4"),
        (lambda: t.transform(1, 2, 3), ValueError, "takes 7"),
        (lambda: t.transform(1, 2, q=(0, 0, 0, 1)), TypeError, "not both"),
    ],
)
def test_construction_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_bfloat16_vector():
    type_ = t.vector(3, t.bfloat16)
    v = type_(0.1, 2, 3.14159)
    assert str(v) == "[0.1, 2.0, 3.14]"
    assert repr(v) == "vec(3, bfloat16)(0.1, 2.0, 3.14)"
    assert isinstance(v[0], t.bfloat16) and v[2] == 3.140625
    assert all(isinstance(x, t.bfloat16) for x in v)
    assert (v * 3.0)[2] == float(t.bfloat16(3.140625 * 3))
    assert np.asarray(v).dtype == np.float32
    assert v.numpy_value().dtype == np.uint16
    v.x = 1.00001
    assert v.x == 1.0
    v[0:2] = 3.14159
    assert v[1] == 3.140625


# -- Components


def test_vector_indexing():
    v = t.vec4(1, 2, 3, 4)
    assert v[0] == 1 and v[-1] == 4 and v[np.int32(2)] == 3 and type(v[0]) is float
    assert (v.x, v.y, v.z, v.w) == (1, 2, 3, 4)
    assert v[1:3] == t.vec2(2, 3) and type(v[1:3]) is t.vec2
    assert v[::-1] == (4, 3, 2, 1) and v[::2] == (1, 3)
    part = v[:]
    part[0] = 100
    assert v[0] == 1
    v[0] = 10
    v[-1] = 40
    v.y = 20
    v[2:3] = [30]
    assert v == (10, 20, 30, 40)
    v[0:2] = t.vec2(1, 2)
    v[2:] = 0
    assert v == (1, 2, 0, 0)
    v[:] = v[::-1]
    assert v == (0, 0, 2, 1)
    v[1:] = v[:-1]
    assert v == (0, 0, 0, 2)
    assert type(t.vec3i(1)[0]) is int and type(t.vector(2, bool)(1)[0]) is bool


@pytest.mark.parametrize("index", [3, -4])
def test_index_out_of_range(index):
    v = t.vec3()
    with pytest.raises(IndexError, match="out of range for vec3f"):
        v[index]
    with pytest.raises(IndexError, match="out of range for vec3f"):
        v[index] = 1
    m = t.mat33()
    for place in (index, (index, 0), (0, index), (slice(None), index)):
        with pytest.raises(IndexError, match="out of range for mat33f"):
            m[place]
        with pytest.raises(IndexError, match="out of range for mat33f"):
            m[place] = 1


@pytest.mark.parametrize("index", [1.0, None, "x", [0, 1], (0, 1), np.array([0, 1])])
def test_index_of_a_wrong_type(index):
    v = t.vec3()
    with pytest.raises(TypeError, match="an index of vec3f"):
        v[index]
    with pytest.raises(TypeError, match="an index of vec3f"):
        v[index] = 1
    if isinstance(index, tuple):
        return
    with pytest.raises(TypeError, match="an index of mat33f"):
        t.mat33()[index]


def test_component_errors():
    v = t.vec3i()
    with pytest.raises(TypeError, match="expected int32"):
        v[0] = 1.5
    with pytest.raises(ValueError, match="does not fit"):
        v.x = 2**31
    with pytest.raises(ValueError, match="takes 2 components, got 3"):
        v[0:2] = [1, 2, 3]
    with pytest.raises(AttributeError, match="vec3i has no component 'w'"):
        _ = v.w
    with pytest.raises(AttributeError):
        v.foo = 1
    with pytest.raises(TypeError, match="convert it first"):
        v[0:2] = t.vec2(1, 2)
    with pytest.raises(IndexError, match="empty"):
        v[2:2]
    assert not hasattr(t.vec2(), "z") and hasattr(t.vec3(), "z")


def test_matrix_indexing():
    m = t.matrix((2, 3), float)(1, 2, 3, 4, 5, 6)
    assert m[1, 2] == 6 and m[-1, -1] == 6 and m[1][2] == 6 and type(m[0, 0]) is float
    assert m[0] == t.vec3(1, 2, 3) and type(m[0]) is t.vec3
    assert m[:, 1] == t.vec2(2, 5) and m[0, 1:] == t.vec2(2, 3)
    assert m[:, 1:] == t.mat22(2, 3, 5, 6) and m[0:1] == [[1, 2, 3]]
    m[0, 0] = 10
    m[1] = (40, 50, 60)
    m[0][1] = 20
    m[:, 2] = t.vec2(30, 60)
    assert m == [[10, 20, 30], [40, 50, 60]]
    m[0, :2] = 0
    m[1:] = [[1, 1, 1]]
    assert m == [[0, 0, 30], [1, 1, 1]]
    m[0] += t.vec3(1, 1, 1)
    assert m[0] == (1, 1, 31)
    part = m[:, 0]
    part[0] = 77
    assert m[0, 0] == 1
    assert [list(row) for row in m] == [[1, 1, 31], [1, 1, 1]] and len(m) == 2
    with pytest.raises(IndexError, match="two dimensions"):
        m[0, 0, 0]


def test_iteration_and_unpacking():
    x, y, z = t.vec3(1, 2, 3)
    assert (x, y, z) == (1, 2, 3)
    assert 2 in t.vec3(1, 2, 3)
    assert sum(t.quat(1, 2, 3, 4)) == 10


# -- Comparison, text, NumPy


def test_equality_and_hash():
    assert t.vec3(1, 2, 3) == t.vec3d(1, 2, 3) != t.vec3(1, 2, 4)
    assert hash(t.vec3(1, 2, 3)) == hash(t.vec3i(1, 2, 3)) == hash((1, 2, 3))
    assert (1, 2, 3) == t.vec3(1, 2, 3)
    assert t.vec3(1, 2, 3) == [1, 2, 3] and t.vec3(1, 2, 3) == np.array([1, 2, 3])
    assert (np.array([1, 2, 3]) == t.vec3(1, 2, 3)) is True
    assert t.vec4(1, 2, 3, 4) != t.quat(1, 2, 3, 4)
    assert t.vec2(1, 2) != t.vec3(1, 2, 0)
    assert t.vec3() != "abc" and t.vec3() != 0
    assert t.vec3() != [0, [1, 2], 3] and t.vec3() != ["a", "b", "c"]
    assert t.vec2(float("nan"), 0) != t.vec2(float("nan"), 0)
    assert hash(t.mat22(1, 2, 3, 4)) == hash(((1, 2), (3, 4)))
    assert (t.vec3() == t.vec3()) is True
    assert len({t.vec2(1, 2), t.vec2(1, 2), t.mat22()}) == 2


def test_text():
    assert str(t.vec3(1, 2, 3)) == "[1.0, 2.0, 3.0]"
    assert repr(t.vec3(1, 0.1, 3)) == "vec3f(1.0, 0.1, 3.0)"
    assert repr(t.vec2i(1, -2)) == "vec2i(1, -2)"
    assert str(t.vector(2, bool)(1, 0)) == "[True, False]"
    assert str(t.mat22(1, 2, 3, 4)) == "[[1.0, 2.0],\n [3.0, 4.0]]"
    assert repr(t.mat22(1, 2, 3, 4)) == "mat22f([[1.0, 2.0], [3.0, 4.0]])"
    assert repr(t.quat(0, 0, 0, 1)) == "quatf(0.0, 0.0, 0.0, 1.0)"
    assert str(t.transform(p=(1, 2, 3))) == "[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]"
    assert f"{t.vec2h(0.1)}" == "[0.1, 0.1]"


@pytest.mark.parametrize("type_", [k for k in KINDS if k.length < 100])
def test_repr_evaluates_to_the_value(type_):
    value = type_(np.arange(type_.length).reshape(type_.shape) % 2 == 1)
    scope = {**t.NAMES, **{repr(s): s for s in t.SCALARS}, "vec": t.vec, "mat": t.mat, "quat": t.quaternion}
    assert eval(repr(value), scope) == value


def test_numpy():
    m = t.matrix((2, 3), float)(1, 2, 3, 4, 5, 6)
    array = np.asarray(m)
    assert array.shape == (2, 3) and array.dtype == np.float32
    array[0, 0] = 100
    assert m[0, 0] == 1
    assert np.array(t.vec3d(1)).dtype == np.float64
    assert np.array([t.vec3(1), t.vec3(2)]).shape == (2, 3)
    assert np.asarray(t.vec3(1), dtype=np.int64).dtype == np.int64
    assert np.linalg.norm(t.vec2(3, 4)) == 5
    np.testing.assert_allclose(np.sin(t.vec2(1, 2)), np.sin(np.float32([1, 2])))
    assert t.vec3(1, 2, 3).tolist() == [1, 2, 3]


# -- Arithmetic


def same(value, type_, expected):
    assert type(value) is type_
    assert value == expected, f"{value} != {expected}"


def test_vector_arithmetic():
    a, b = t.vec3(1, 2, 3), t.vec3(4, 5, 7)
    same(a + b, t.vec3, (5, 7, 10))
    same(b - a, t.vec3, (3, 3, 4))
    same(a * 2, t.vec3, (2, 4, 6))
    same(2.0 * a, t.vec3, (2, 4, 6))
    same(np.float64(2) * a, t.vec3, (2, 4, 6))
    same(np.float32(2) * a, t.vec3, (2, 4, 6))
    same(a * np.int64(2), t.vec3, (2, 4, 6))
    same(np.array(2) * a, t.vec3, (2, 4, 6))
    same(a / np.array(0.5), t.vec3, (2, 4, 6))
    same(b / 2, t.vec3, (2, 2.5, 3.5))
    same(6 / a, t.vec3, (6, 3, 2))
    same(b % a, t.vec3, (0, 1, 1))
    same(b % 3.0, t.vec3, (1, 2, 1))
    same(-a, t.vec3, (-1, -2, -3))
    same(+a, t.vec3, (1, 2, 3))
    same(a + (1, 1, 1), t.vec3, (2, 3, 4))
    same((1, 1, 1) + a, t.vec3, (2, 3, 4))
    same([1, 1, 1] - a, t.vec3, (0, -1, -2))
    same(a + np.ones(3), t.vec3, (2, 3, 4))
    same(sum([a, b], t.vec3()), t.vec3, (5, 7, 10))
    c = a
    c += b
    c *= 2.0
    c -= b
    c /= 2.0
    same(c, t.vec3, (3, 4.5, 6.5))
    assert a == (1, 2, 3)
    assert np.isinf(np.asarray(t.vec2(1, -1) / 0.0)).all()


def test_results_are_rounded_to_the_type():
    assert (t.vec2(0.1) * 3)[0] == float(np.float32(0.1) * np.float32(3))
    assert (t.vec2h(0.1) + t.vec2h(0.2))[0] == float(np.float16(0.1) + np.float16(0.2))
    assert (t.vec2ub(255) + t.vec2ub(1)) == (0, 0)
    assert (t.vec2b(127) + t.vec2b(1)) == (-128, -128)
    assert (-t.vec2ub(1)) == (255, 255)
    for dtype in FLOATS:
        type_ = t.vector(3, dtype)
        assert type((type_(1) + type_(2)) * 0.5) is type_


def test_integer_division_truncates():
    v = t.vec4i(7, -7, 7, -7)
    same(v / t.int32(2), t.vec4i, (3, -3, 3, -3))
    same(v / -2, t.vec4i, (-3, 3, -3, 3))
    same(7 / t.vec2i(2, -2), t.vec2i, (3, -3))
    same(v % 4, t.vec4i, (3, -3, 3, -3))
    same(v % t.vec4i(4, 4, -4, -4), t.vec4i, (3, -3, 3, -3))
    same(t.vec2ub(255) / 2, t.vec2ub, (127, 127))
    same(t.vec2l(2**62 + 1) / 1, t.vec2l, (2**62 + 1, 2**62 + 1))
    with pytest.raises(ZeroDivisionError):
        v / 0
    same(v // 2, t.vec4i, (3, -4, 3, -4))
    same(v // t.vec4i(2, 2, -2, -2), t.vec4i, (3, -4, -4, 3))
    same(-7 // t.vec2i(2, -2), t.vec2i, (-4, 3))
    same(t.vec2(7.5, -7.5) // 2.0, t.vec2, (3, -4))
    with pytest.raises(ZeroDivisionError):
        v // 0
    with pytest.raises(ZeroDivisionError):
        v % 0
    with pytest.raises(ZeroDivisionError):
        1 / t.vec2i(1, 0)


def test_absolute_values():
    same(abs(t.vec3i(1, -2, -(2**31))), t.vec3i, (1, 2, -(2**31)))
    same(abs(t.mat22(-1, 2, -3, 4)), t.mat22, [[1, 2], [3, 4]])
    with pytest.raises(TypeError, match=r"no abs\(\) for quatf"):
        abs(t.quat())


def test_bits():
    a, b = t.vec2i(6, 12), t.vec2i(3, 2)
    same(a & b, t.vec2i, (2, 0))
    same(a | b, t.vec2i, (7, 14))
    same(a ^ b, t.vec2i, (5, 14))
    same(a << b, t.vec2i, (48, 48))
    same(-a >> b, t.vec2i, (-1, -3))
    same(~a, t.vec2i, (-7, -13))
    with pytest.raises(TypeError, match="not integers"):
        t.vec2() & t.vec2()
    with pytest.raises(TypeError, match="not integers"):
        ~t.quat()


def test_matrix_arithmetic():
    a, b, v = t.mat22(1, 2, 3, 4), t.mat22(0, 1, 1, 0), t.vec2(1, 10)
    same(a * b, t.mat22, [[2, 1], [4, 3]])
    same(a @ b, t.mat22, [[2, 1], [4, 3]])
    same(a * v, t.vec2, (21, 43))
    same(a @ v, t.vec2, (21, 43))
    same(v * a, t.vec2, (31, 42))
    same(v @ a, t.vec2, (31, 42))
    same(a + b, t.mat22, [[1, 3], [4, 4]])
    same(a - b, t.mat22, [[1, 1], [2, 4]])
    same(a * 2, t.mat22, [[2, 4], [6, 8]])
    same(2 * a, t.mat22, [[2, 4], [6, 8]])
    same(a / 2, t.mat22, [[0.5, 1], [1.5, 2]])
    same(12 / a, t.mat22, [[12, 6], [4, 3]])
    same(-a, t.mat22, [[-1, -2], [-3, -4]])
    wide = t.matrix((2, 3), float)(1, 2, 3, 4, 5, 6)
    same(wide * t.vec3(1, 1, 1), t.vec2, (6, 15))
    same(t.vec2(1, 1) * wide, t.vec3, (5, 7, 9))
    same(a * wide, t.matrix((2, 3), float), [[9, 12, 15], [19, 26, 33]])
    c = a
    c *= b
    c @= b
    same(c, t.mat22, a)
    same(t.matrix((2, 2), int)(1, 2, 3, 4) * t.vec2i(1, 1), t.vec2i, (3, 7))
    half = t.mat22h(1, 2, 3, 4)
    same(half * half, t.mat22h, [[7, 10], [15, 22]])
    rough = t.matrix((2, 2), t.bfloat16)(1.01)
    assert (rough * rough)[0, 0] == t.bfloat16(2 * rough[0, 0] ** 2)


def test_quaternion_arithmetic():
    i, j, k, one = t.quat(1, 0, 0, 0), t.quat(0, 1, 0, 0), t.quat(0, 0, 1, 0), t.quat(0, 0, 0, 1)
    same(i * j, t.quat, k)
    same(j * i, t.quat, -k)
    same(i * i, t.quat, -one)
    same(one * k, t.quat, k)
    same(i + j, t.quat, t.quat(1, 1, 0, 0))
    same(i - j, t.quat, t.quat(1, -1, 0, 0))
    same(i * 2.0, t.quat, t.quat(2, 0, 0, 0))
    same(2.0 * i, t.quat, t.quat(2, 0, 0, 0))
    same(t.quat(2, 4, 6, 8) / 2.0, t.quat, t.quat(1, 2, 3, 4))
    same(i[0:3], t.vec3, (1, 0, 0))
    q = t.quat()
    q.w = 1.0
    q[0] = 2.0
    assert q == t.quat(2, 0, 0, 1)


def test_transform_arithmetic():
    s = 0.5**0.5
    turn = t.transformd((1, 0, 0), (0, 0, s, s))  # a quarter turn about z, then a step along x
    product = turn * t.transformd((1, 2, 3), (0, 0, 0, 1))
    np.testing.assert_allclose(product, [-1, 1, 3, 0, 0, s, s], atol=1e-12)
    twice = turn * turn
    np.testing.assert_allclose(twice, [1, 1, 0, 0, 0, 1, 0], atol=1e-12)
    assert type(twice) is t.transformd
    same(turn + turn, t.transformd, turn * 2.0)
    same(turn - turn, t.transformd, [0] * 7)


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (lambda: t.vec3() * t.vec3(), r"vec3f \* vec3f: cw_mul\(a, b\) works by component and dot"),
        (lambda: t.vec3() / t.vec3(), "cw_div"),
        (lambda: t.vec3() @ t.vec3(), "dot"),
        (lambda: t.mat22() / t.mat22(), "cw_div"),
        (lambda: t.vec3() + t.vec3d(), r"vec3f \+ vec3d: convert one of them"),
        (lambda: t.mat22() * t.vec2d(), "scalar types differ"),
        (lambda: t.vec3() + t.vec2(), r"vec3f \+ vec2f"),
        (lambda: t.mat22() * t.vec3(), "the left has 2 columns, the right 3 rows"),
        (lambda: t.vec3() * t.mat22(), r"vec3f \* mat22f"),
        (lambda: t.quat() * t.vec3(), r"quatf \* vec3f"),
        (lambda: t.vec4() + t.quat(), r"vec4f \+ quatf"),
        (lambda: t.transform() * t.vec3(), r"transformf \* vec3f"),
        (lambda: t.vec3() + 1.0, "unsupported operand"),
        (lambda: 1.0 - t.vec3(), "unsupported operand"),
        (lambda: np.float32(1) + t.vec3(), "unsupported operand"),
        (lambda: t.vec3() * "a", "can't multiply|unsupported operand"),
        (lambda: t.vec3() * None, "unsupported operand"),
        (lambda: t.vec3i() * 1.5, "expected int32, got the float 1.5"),
        (lambda: t.vector(2, bool)() + t.vector(2, bool)(), "there is no +"),
        (lambda: -t.vector(2, bool)(), "there is no -"),
        (lambda: t.quat() @ t.quat(), "unsupported operand"),
        (lambda: t.quat() % 2.0, "unsupported operand"),
        (lambda: t.mat22() // 2.0, "unsupported operand"),
    ],
)
def test_operator_errors(operation, text):
    with pytest.raises(TypeError, match=text):
        operation()


def test_arrays_as_operands_follow_numpy():
    points = np.ones((4, 3), np.float32)
    v = t.vec3(1, 2, 3)
    for result in (points + v, v + points, points - v, points * v, v * points, points / v):
        assert type(result) is np.ndarray and result.shape == (4, 3)
    np.testing.assert_array_equal((points * v)[2], [1, 2, 3])
    np.testing.assert_array_equal((points - v)[2], [0, -1, -2])


@pytest.mark.parametrize("seed", range(20))
def test_products_agree_with_numpy(seed):
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(1, 6, 3).tolist()
    a = t.matrix((n, m), t.float64)(rng.normal(size=(n, m)))
    b = t.matrix((m, k), t.float64)(rng.normal(size=(m, k)))
    v = t.vector(m, t.float64)(rng.normal(size=m))
    np.testing.assert_allclose(a * b, np.asarray(a) @ np.asarray(b))
    np.testing.assert_allclose(a * v, np.asarray(a) @ np.asarray(v))
    np.testing.assert_allclose(v * b, np.asarray(v) @ np.asarray(b))
