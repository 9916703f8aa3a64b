"""Structs: layout, members, text, comparison, NumPy records, pickling."""

from __future__ import annotations

import copy
import pickle
import types

import numpy as np
import pytest

from treadle import types as t


@t.struct
class Inner:
    """A nested struct."""

    flag: bool
    position: t.vec3d


@t.struct
class Outer:
    count: int
    inner: Inner
    weight: float
    rough: t.bfloat16
    bits: t.uint8
    turn: t.quat
    frame: t.mat22h
    values: t.array_type(t.vec3, 2)
    rough_vector: t.vec(2, t.bfloat16)

    def total(self):
        return self.count + self.weight


def sample():
    return Outer(
        count=3, inner=Inner(flag=True, position=(1, 2, 3)), weight=0.5, rough=3.14159, bits=7,
        turn=(0, 0, 0, 1), frame=[[1, 2], [3, 4]], rough_vector=(0.1, 1),
    )  # fmt: skip


def test_protocol():
    assert Inner.kind == "struct" and Inner.short == "Inner" and repr(Inner) == "Inner"
    assert Inner.__doc__ == "A nested struct."
    assert Inner.fields == {"flag": t.bool_, "position": t.vec3d}
    assert Inner.offsets == (0, 8) and Inner.size == 32 and Inner.alignment == 8
    assert Outer.fields["count"] is t.int32 and Outer.fields["inner"] is Inner
    assert Outer.offsets == (0, 8, 40, 44, 46, 48, 64, 72, 152)
    assert Outer.size == 160
    dtype = Outer.numpy
    assert dtype.itemsize == Outer.size and dtype.names == tuple(Outer.fields)
    assert tuple(dtype.fields[name][1] for name in dtype.names) == Outer.offsets
    assert dtype["inner"] == Inner.numpy and dtype["values"].itemsize == t.ARRAY_DESCRIPTOR_SIZE
    assert isinstance(Outer, t.StructMeta)


def test_layout_is_that_of_numpy_for_c():
    @t.struct
    class S:
        a: t.int8
        b: t.float64
        c: t.int16
        d: t.vec3
        e: t.uint8

    assert S.numpy.isalignedstruct is False
    aligned = np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2"), ("d", "f4", 3), ("e", "u1")], align=True)
    assert S.size == aligned.itemsize
    assert S.offsets == tuple(aligned.fields[name][1] for name in aligned.names)


def test_zero_and_members():
    s = Outer()
    assert s.count == 0 and s.inner == Inner() and s.turn == t.quat() and s.values is None
    s.count = np.int64(5)
    s.weight = 0.1
    assert type(s.count) is int and s.weight == float(np.float32(0.1))
    s.rough = 3.14159
    assert isinstance(s.rough, t.bfloat16) and s.rough == 3.140625
    s.turn = np.array([0, 0, 0, 1])
    s.frame = [1, 2, 3, 4]
    assert type(s.turn) is t.quat and s.frame == [[1, 2], [3, 4]]
    s.frame[0, 0] = 9
    assert s.frame[0, 0] == 9
    s.inner.position.x = 4
    assert s.inner.position == (4, 0, 0)
    assert s.total() == 5 + s.weight
    assert Outer().inner == Inner()


def test_members_are_copied():
    v, inner = t.vec3d(1, 2, 3), Inner()
    inner.position = v
    v.x = 100
    assert inner.position.x == 1
    s = Outer(inner=inner)
    inner.position.x = 50
    assert s.inner.position.x == 1


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("count", 1.5, TypeError, "Outer.count: expected int32, got the float 1.5"),
        ("count", 2**31, ValueError, "Outer.count: 2147483648 does not fit in int32"),
        ("bits", -1, ValueError, "does not fit in uint8"),
        ("weight", "1", TypeError, "expected float32, got a value of type str"),
        ("weight", None, TypeError, "expected float32, got None"),
        ("turn", (1, 2, 3), ValueError, "Outer.turn: quatf takes 4 components, got 3"),
        ("turn", t.vec4(), TypeError, "expected quatf, got vec4f"),
        ("turn", 1.0, TypeError, "expected quatf, got the float 1.0"),
        ("inner", (True, (1, 2, 3)), TypeError, "expected the struct Inner, got a value of type tuple"),
        ("inner", None, TypeError, "expected the struct Inner, got None"),
        ("values", [1, 2], TypeError, r"expected array\(dtype=vec3f, ndim=2\), got a value of type list"),
        ("values", np.zeros((2, 3)), TypeError, "got one of dtype"),
        ("nothing", 1, AttributeError, "the struct Outer has no member 'nothing'; its members are: count, inner"),
    ],
)
def test_bad_member_values(name, value, error, text):
    s = Outer()
    with pytest.raises(error, match=text):
        setattr(s, name, value)
    with pytest.raises(error, match=text):
        Outer(**{name: value})
    assert s == Outer()


def test_unknown_members():
    s = Inner()
    with pytest.raises(AttributeError, match="has no member 'x'; its members are: flag, position"):
        _ = s.x
    with pytest.raises(AttributeError):
        del s.flag
    with pytest.raises(TypeError, match="has 2 members"):
        Inner(True, None, 1.0)
    assert not hasattr(s, "x")


def test_array_members():
    s = Outer()
    array = types.SimpleNamespace(dtype=t.vec3, ndim=2)
    s.values = array
    assert s.values is array
    assert s == Outer(values=array) and s != Outer(values=copy.copy(array))
    with pytest.raises(TypeError, match="got one of dtype float32 with 1 dim"):
        s.values = types.SimpleNamespace(dtype=t.float32, ndim=1)
    s.values = None
    assert s.values is None


def test_equality_and_text():
    assert sample() == sample() and sample() != Outer()
    assert Inner() != Outer() and Inner() != 0
    other = sample()
    other.inner.flag = False
    assert other != sample()
    assert repr(Inner(flag=True)) == "Inner(flag=True, position=vec3d(0.0, 0.0, 0.0))"
    with pytest.raises(TypeError):
        hash(Inner())


def test_pickle_and_copy():
    s = sample()
    for clone in (pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s)):
        assert clone == s and type(clone) is Outer
        clone.inner.position.x = 100
        clone.turn[0] = 5
        assert s == sample()
    assert pickle.loads(pickle.dumps(Outer)) is Outer


def test_numpy_round_trip():
    s = sample()
    record = s.numpy_value()
    assert record.dtype == Outer.numpy
    assert record["count"] == 3 and record["inner"]["position"].tolist() == [1, 2, 3]
    assert record["rough"] == 0x4049 and record["frame"].tolist() == [[1, 2], [3, 4]]
    assert Outer.from_numpy(record) == s
    array = np.zeros(3, Outer.numpy)
    array[1] = record
    assert Outer.from_numpy(array[1]) == s and Outer.from_numpy(array[0]) == Outer()
    assert Outer.coerce(array[1]) == s
    holder = Outer()
    holder.inner = record["inner"]
    assert holder.inner == s.inner
    with pytest.raises(TypeError, match="expected a record"):
        Inner.from_numpy(record)
    with pytest.raises(TypeError, match="expected the struct Inner"):
        Inner.coerce(record)


def test_values_taken_from_numpy_are_independent_of_the_array():
    array = np.zeros(1, Inner.numpy)
    s = Inner.from_numpy(array[0])
    array[0]["position"] = 9
    assert s.position == (0, 0, 0)


def test_annotations_as_text_see_enclosing_functions():
    Local = t.vec2

    @t.struct
    class A:
        x: Local

    def nested():
        @t.struct()
        class B:
            a: A
            y: "t.array_type(Local)"  # noqa: UP037

        return B

    B = nested()
    assert B.fields == {"a": A, "y": t.array_type(t.vec2)}


def test_member_names_that_are_used_by_the_protocol():
    @t.struct
    class S:
        size: float
        kind: int
        fields: t.vec2
        numpy: float

    s = S(size=2.5, kind=3, fields=(1, 2))
    assert (s.size, s.kind, s.fields, s.numpy) == (2.5, 3, t.vec2(1, 2), 0)
    assert S.size == 20 and S.kind == "struct"
    assert S.from_numpy(s.numpy_value()) == s == copy.deepcopy(s)
    assert t.leaf_values(S, s) == [2.5, 3, 1.0, 2.0, 0.0]


def test_inheritance():
    @t.struct
    class Base:
        x: float

    @t.struct
    class Derived(Base):
        y: int

    assert list(Derived.fields) == ["x", "y"] and Derived.size == 8
    assert repr(Derived(x=1, y=2)) == "Derived(x=1.0, y=2)"


def test_properties_and_plain_attributes_of_the_class():
    @t.struct
    class S:
        x: float
        LIMIT = 3

        @property
        def double(self):
            return self.x * 2

        @double.setter
        def double(self, value):
            self.x = value / 2

    s = S(x=1)
    s.double = 5.0
    assert s.x == 2.5 and s.double == 5.0 and S.LIMIT == 3


def test_empty_struct():
    @t.struct
    class Empty:
        pass

    assert Empty.fields == {} and Empty.size == 1 and Empty() == Empty()
    assert t.leaf_values(Empty, Empty()) == []


def test_defaults():
    @t.struct
    class Fine:
        x: float = 0.0
        a: t.array_type(float) = None

    assert Fine().x == 0.0 and Fine().a is None
    with pytest.raises(TypeError, match="member 'x' starts at zero and cannot have the default 1.0"):

        @t.struct
        class Bad:
            x: float = 1.0


@pytest.mark.parametrize("annotation", [str, list, None, 3, t.Float, t.vec(), t.array_type(t.Float), t.Vector])
def test_bad_annotations(annotation):
    with pytest.raises(TypeError, match="the member 'x'"):

        @t.struct
        class Bad:
            x: annotation


def test_annotation_that_cannot_be_evaluated():
    with pytest.raises(
        TypeError, match=r"struct Bad: cannot evaluate the annotation 'Missing' of the member 'x'.*Missing"
    ):

        @t.struct
        class Bad:
            x: Missing  # noqa: F821


def test_struct_takes_a_class():
    with pytest.raises(TypeError, match="takes a class"):
        t.struct(3)


def test_type_of_and_to_python():
    assert t.type_of(Inner()) is Inner
    assert t.to_python(Inner(flag=True)) == {"flag": True, "position": [0.0, 0.0, 0.0]}
    assert t.array_type(Inner, 2).short == "array<Inner, 2>"
    assert t.matches(t.array_type(t.vec()), t.array_type(Inner)) is False
