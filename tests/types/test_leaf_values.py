"""Taking values apart along the leaves of their type."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

from treadle import types as t

LARGE_VECTOR = t.vector(40, float)


@t.struct
class Part:
    x: t.float64
    v: t.vec2


@t.struct
class Whole:
    n: int
    part: Part
    m: t.mat22
    big: LARGE_VECTOR
    a: t.array_type(float)
    ok: bool


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (t.int32, 3, 3),
        (t.int32, np.int64(3), 3),
        (t.int32, True, 1),
        (t.int32, np.array(3), 3),
        (t.uint64, 2**64 - 1, 2**64 - 1),
        (t.int8, -128, -128),
        (t.float32, 2, 2.0),
        (t.float32, 0.1, 0.1),
        (t.float64, np.float32(0.5), 0.5),
        (t.float16, math.inf, math.inf),
        (t.bfloat16, 3.14159, 3.140625),
        (t.bfloat16, t.bfloat16(2), 2.0),
        (t.bool_, np.bool_(True), True),
        (t.bool_, 2, True),
    ],
)
def test_scalars(type_, value, expected):
    (leaf,) = t.leaf_values(type_, value)
    assert leaf == expected
    assert type(leaf) is {"float": float, "bool": bool}.get(type_.kind, int)


@pytest.mark.parametrize(
    ("type_", "value", "error", "text"),
    [
        (t.int32, 1.0, TypeError, r"expected int32, got the float 1.0: convert it first, e.g. int32\(x\)"),
        (t.int32, np.float32(1), TypeError, "got the float32 1.0"),
        (t.int32, 2**31, ValueError, "2147483648 does not fit in int32, which holds -2147483648 to 2147483647"),
        (t.uint8, -1, ValueError, "does not fit"),
        (t.bool_, 1.0, TypeError, "expected bool"),
        (t.float32, "1", TypeError, "expected float32, got a value of type str"),
        (t.float32, None, TypeError, "got None"),
        (t.float32, 1j, TypeError, "complex"),
        (t.float32, np.zeros(1), TypeError, "ndarray"),
        (t.float32, [1.0], TypeError, "list"),
        (t.float32, t.vec3(), TypeError, "vec3f"),
        (t.vec3, 1.0, TypeError, "expected vec3f, got the float 1.0"),
        (t.vec3, t.vec3d(), TypeError, "expected vec3f, got vec3d: convert it first"),
        (t.vec3, t.vec2(), TypeError, "expected vec3f, got vec2f"),
        (t.vec3, [1, 2], ValueError, "takes 3 components, got 2"),
        (t.vec3, "abc", TypeError, "expected vec3f"),
        (t.vec3, None, TypeError, "expected vec3f, got None"),
        (t.vec4, t.quat(), TypeError, "expected vec4f, got quatf"),
        (t.vec3i, [1, 2.5, 3], TypeError, "the float 2.5"),
        (t.mat22, np.zeros((3, 2)), ValueError, "shape"),
        (Part, t.vec3(), TypeError, "expected the struct Part"),
        (Part, Whole, TypeError, "expected the struct Part, got Whole"),
    ],
)
def test_errors(type_, value, error, text):
    with pytest.raises(error, match=text):
        t.leaf_values(type_, value)


def test_composites():
    for value in (t.vec3(1, 2, 3), (1, 2, 3), [1.0, 2, 3], np.array([1, 2, 3]), np.float32([1, 2, 3])):
        leaves = t.leaf_values(t.vec3, value)
        assert leaves == [1.0, 2.0, 3.0] and all(type(x) is float for x in leaves)
    assert t.leaf_values(t.mat22, [[1, 2], [3, 4]]) == t.leaf_values(t.mat22, t.mat22(1, 2, 3, 4)) == [1, 2, 3, 4]
    assert t.leaf_values(t.quat, (0, 0, 0, 1)) == [0, 0, 0, 1]
    assert t.leaf_values(t.transform, t.transform(p=(1, 2, 3))) == [1, 2, 3, 0, 0, 0, 1]
    assert t.leaf_values(t.vec2i, t.vec2i(1, 2)) == [1, 2]
    assert t.leaf_values(t.vector(2, t.bfloat16), [3.14159, 1]) == [3.140625, 1.0]
    m = t.mat33(1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert t.leaf_values(t.vec3, m[1]) == [4, 5, 6]


def test_aggregates():
    (leaf,) = t.leaf_values(LARGE_VECTOR, range(40))
    assert leaf.dtype == np.float32 and leaf.shape == (40,) and leaf.flags.c_contiguous
    (leaf,) = t.leaf_values(t.matrix((12, 12), t.float64), np.eye(12).T[::-1])
    assert leaf.shape == (144,) and leaf.flags.c_contiguous and leaf[11] == 1
    (leaf,) = t.leaf_values(t.vector(40, t.bfloat16), [1.0] * 40)
    assert leaf.dtype == np.uint16 and leaf[0] == 0x3F80
    assert len(t.leaf_values(t.spatial_matrix, t.spatial_matrix(1))) == 36


def test_structs_and_arrays():
    array = types.SimpleNamespace(dtype=t.float32, ndim=1)
    whole = Whole(n=1, part=Part(x=2, v=(3, 4)), m=[5, 6, 7, 8], big=range(40), a=array, ok=True)
    values = t.leaf_values(Whole, whole)
    assert len(values) == len(t.leaves(Whole))
    assert values[:8] == [1, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert values[8].tolist() == list(range(40)) and values[9] is array and values[10] is True
    assert t.leaf_values(Whole, Whole())[9] is None
    assert t.leaf_values(Part, Part(x=1).numpy_value()) == [1.0, 0.0, 0.0]
    assert t.leaf_values(t.array_type(float), array) == [array]


@pytest.mark.parametrize("type_", [Whole, t.mat33, t.vec3h, t.vector(5, t.bfloat16), LARGE_VECTOR, t.float16, t.bool_])
def test_leaves_and_their_offsets_agree_with_numpy(type_):
    record = np.zeros(1, type_.numpy)
    assert record.nbytes == t.size_of(type_)
    leaves = t.leaves(type_)
    ends = [
        leaf.offset + (t.ARRAY_DESCRIPTOR_SIZE if isinstance(leaf.type, t.ArrayRef) else leaf.type.size)
        for leaf in leaves
    ]
    assert all(end <= leaf.offset for end, leaf in zip(ends, leaves[1:]))
    assert ends[-1] <= record.nbytes


def test_leaf_offsets_locate_the_values():
    whole = Whole(n=1, part=Part(x=2, v=(3, 4)), m=[5, 6, 7, 8], big=range(40), ok=True)
    raw = np.array(whole.numpy_value()).tobytes()
    for leaf, value in zip(t.leaves(Whole), t.leaf_values(Whole, whole)):
        if isinstance(leaf.type, t.ArrayRef):
            continue
        aggregate = isinstance(leaf.type, t.Aggregate)
        dtype = (leaf.type.scalar if aggregate else leaf.type).numpy
        found = np.frombuffer(raw, dtype, leaf.type.count if aggregate else 1, leaf.offset)
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("type_", t.SIGNED + t.UNSIGNED)
def test_integer_limits(type_):
    info = np.iinfo(type_.numpy)
    for fits in (int(info.min), int(info.max)):
        assert t.leaf_values(type_, fits) == [fits]
    for outside in (int(info.min) - 1, int(info.max) + 1):
        with pytest.raises(ValueError, match=f"does not fit in {type_!r}, which holds {info.min} to {info.max}"):
            t.leaf_values(type_, outside)
