"""Making arrays from data, from memory and from shapes; dtypes, shapes and errors."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from treadle import types as wp
from treadle.errors import ArrayError
from treadle.runtime.array import array
from treadle.runtime.creation import (
    empty,
    empty_like,
    from_numpy,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from treadle.runtime.dimensions import array1d, array2d, array3d, array4d

NUMPY_SCALARS = [scalar for scalar in wp.SCALARS if scalar is not wp.bfloat16]
COMPOSITES = [wp.vec3, wp.vec2d, wp.vec4ub, wp.mat22, wp.matrix((2, 3), wp.int16), wp.quat, wp.transformd, wp.vec3h]


# -- Annotations


def test_without_content_it_is_an_annotation() -> None:
    assert array(dtype=float) is wp.array_type(wp.float32, 1)
    assert array(dtype=wp.vec3, ndim=3) is wp.array_type(wp.vec3, 3)
    assert array[wp.vec3] is wp.array_type(wp.vec3, 1)
    assert array2d[int] is array2d(dtype=int) is wp.array_type(wp.int32, 2)
    assert [kind[float].ndim for kind in (array1d, array2d, array3d, array4d)] == [1, 2, 3, 4]
    assert array(dtype=Any) is wp.array_type(Any, 1)
    assert array() is wp.array_type(Any, 1)


def test_dimension_classes_make_and_recognise_arrays() -> None:
    a = array2d([[1, 2]], dtype=float)
    assert type(a) is array
    assert isinstance(a, array2d) and not isinstance(a, array1d)
    with pytest.raises(ArrayError, match=r"1 dimension\(s\), not 2"):
        array2d([1.0, 2.0])


# -- Data


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1.0, 2.0], wp.float32),
        ([1, 2], wp.int32),
        ([1, 2.5], wp.float32),
        ([True, False], wp.bool_),
        ([[1, 2], [3, 4]], wp.int32),
        ((1.0, 2.0), wp.float32),
        ([], wp.float32),
        ([wp.float64(1)], wp.float64),
        (np.zeros(3), wp.float64),
        (np.zeros(3, np.int64), wp.int64),
        ([np.zeros(3), np.zeros(3)], wp.float64),
        ([wp.vec3(1, 2, 3)], wp.vec3),
        ([[wp.mat22(1, 2, 3, 4)]], wp.mat22),
        ([wp.bfloat16(1.5)], wp.bfloat16),
        (3.0, wp.float32),
        (range(4), wp.int64),
    ],
)
def test_dtype_is_inferred(data: Any, dtype: Any) -> None:
    assert array(data).dtype is dtype


@pytest.mark.parametrize("scalar", NUMPY_SCALARS)
def test_numpy_round_trip(scalar: Any) -> None:
    host = np.array([[0, 1, 1], [1, 0, 1]]).astype(scalar.numpy)
    a = array(host)
    assert a.dtype is scalar and a.shape == (2, 3) and a.strides == (3 * scalar.size, scalar.size)
    np.testing.assert_array_equal(a.numpy(), host)
    assert a.numpy().dtype == host.dtype
    np.testing.assert_array_equal(np.asarray(a), host)
    assert a.list() == host.ravel().tolist()
    assert type(a.list()[0]) in (int, float, bool)


@pytest.mark.parametrize("dtype", COMPOSITES)
@pytest.mark.parametrize("shape", [(1,), (0,), (5,), (2, 3), (1, 1, 2, 2)])
def test_composites_are_trailing_dimensions(dtype: Any, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape + dtype.shape)).reshape(shape + dtype.shape).astype(dtype.dtype.numpy)
    a = array(host, dtype=dtype)
    assert a.shape == shape and a.size == np.prod(shape)
    np.testing.assert_array_equal(a.numpy(), host)
    values = a.list()
    assert all(type(value) is dtype for value in values)
    if values:
        np.testing.assert_array_equal(np.array(values[-1]), host.reshape(-1, *dtype.shape)[-1])
        np.testing.assert_array_equal(array(values, dtype=dtype).numpy().ravel(), host.ravel())


def test_numbers_in_a_row_are_grouped() -> None:
    assert array([1, 2, 3, 4, 5, 6], dtype=wp.vec3).shape == (2,)
    assert array([1, 2, 3], dtype=wp.vec3).shape == (1,)
    assert array([[1, 2, 3, 4]] * 5, dtype=wp.mat22).shape == (5,)
    assert array([1, 2, 3, 4], dtype=wp.mat22).shape == (1,)
    assert array([], dtype=wp.vec3).shape == (0,)
    with pytest.raises(ArrayError, match=r"\(3,\).*vec2f.*\(2,\)"):
        array([1, 2, 3], dtype=wp.vec2)


def test_values_are_converted_to_the_dtype() -> None:
    assert array([1.9, -1.9], dtype=int).list() == [1, -1]
    assert array(np.array([1.5, 2.5]), dtype=float).numpy().dtype == np.float32
    assert array([1, 0], dtype=bool).list() == [True, False]
    assert array([2**63], dtype=wp.uint64).list() == [2**63]
    assert array(np.array([1.0], ">f8")).numpy().dtype == np.dtype("f8")
    assert array(array([1.5, 2.5]), dtype=int).list() == [1, 2]


def test_bfloat16() -> None:
    a = array([1.0, 3.14159, -2.5], dtype=wp.bfloat16)
    assert a.list() == [1.0, 3.140625, -2.5]
    assert a[1] == 3.140625
    assert a.strides == (2,)
    a.fill_(0.1)
    assert a.list() == [0.10009765625] * 3
    bits = a.host()
    assert bits.dtype == np.uint16
    assert array(bits, dtype=wp.bfloat16).list() == a.list()
    assert array(a).dtype is wp.bfloat16
    assert array(a, dtype=float).numpy() == pytest.approx(0.10009765625)
    assert "0.1" in repr(a)
    assert not hasattr(a, "__array_interface__")
    assert array([[1, 2, 3]], dtype=wp.vector(3, wp.bfloat16)).list()[0][2] == 3.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": ["a"]}, "cannot make an array from data of type str"),
        ({"data": [None]}, "NoneType"),
        ({"data": [[1, 2], [3]]}, "shape of an array"),
        ({"data": np.zeros(2, complex)}, "complex128"),
        ({"data": np.zeros((1, 1, 1, 1, 1))}, "1 to 4 dimensions, not 5"),
        ({"data": [1.0], "dtype": "f4"}, "dtype of an array must be"),
        ({"data": [1.0], "dtype": wp.vector(3, Any)}, "dtype of an array must be"),
        ({"data": [1.0, 2.0], "shape": (3,)}, r"2 elements cannot be an array of shape \(3,\)"),
        ({"data": [1.0], "ndim": 2}, r"1 dimension\(s\), not 2"),
        ({"data": [1.0], "ptr": 64}, "not of both"),
        ({"ptr": 64, "dtype": float}, "needs a shape"),
        ({"shape": 3}, "needs a dtype"),
        ({"shape": (2, -1), "dtype": float}, "negative extents"),
        ({"shape": (), "dtype": float}, "1 to 4 dimensions, not 0"),
        ({"shape": 2.5, "dtype": float}, "a shape is an int"),
        ({"ptr": 0, "shape": 4, "dtype": float}, "there is no memory at ptr = 0"),
        ({"ptr": 64, "shape": 4, "dtype": float, "capacity": 15}, "16 bytes, more than the capacity of 15"),
        ({"ptr": 64, "shape": (4, 4), "dtype": float, "strides": (4,)}, "different lengths"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        array(**arguments)


def test_ints_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OverflowError, match="dtype=int64"):
        array([2**40])
    with pytest.raises(OverflowError, match="the data has ints that do not fit in uint8, which holds 0 to 255"):
        array([300], dtype=wp.uint8)
    with pytest.raises(OverflowError, match="do not fit in int64"):
        array([2**70], dtype=wp.int64)


def test_array_errors_can_be_caught_as_before() -> None:
    for kind in (ValueError, TypeError, RuntimeError):
        with pytest.raises(kind):
            array(["a"])


def test_copy_or_share() -> None:
    host = np.arange(6, dtype=np.float32)
    copied, shared = array(host), array(host, copy=False)
    host[0] = 9
    assert copied[0] == 0 and shared[0] == 9
    shared[1] = 7
    assert host[1] == 7
    strided = array(host[::-2], copy=False)
    assert strided.strides == (-8,) and not strided.is_contiguous
    strided[0] = 5
    assert host[5] == 5
    assert array(host[::2]).is_contiguous
    converted = array(host, dtype=wp.float64, copy=False)
    converted[0] = 1
    assert host[0] == 9
    columns = np.zeros((3, 4), np.float32).T  # the components of a vec3 are not next to each other
    vectors = array(columns, dtype=wp.vec3, copy=False)
    vectors[0] = wp.vec3(1, 1, 1)
    assert columns.sum() == 0


def test_from_pointer_and_deleter() -> None:
    host = np.arange(12, dtype=np.float32)
    deleted = []
    a = array(
        ptr=host.ctypes.data,
        dtype=float,
        shape=(2, 3),
        strides=(24, 8),
        capacity=48,
        deleter=lambda ptr, size: deleted.append((ptr, size)),
    )
    np.testing.assert_array_equal(a.numpy(), [[0, 2, 4], [6, 8, 10]])
    view = a[1:]
    del a
    gc.collect()
    assert not deleted
    view.fill_(1)
    assert host[6] == 1
    del view
    gc.collect()
    assert deleted == [(host.ctypes.data, 48)]


def test_attributes() -> None:
    a = array(shape=(2, 3), dtype=wp.vec3)
    assert (a.ndim, a.size, a.nbytes, a.capacity) == (2, 6, 72, 72)
    assert a.strides == (36, 12) and a.is_contiguous and len(a) == 2
    assert a.device == "cpu" and not a.pinned and not a.readonly
    assert a.ptr % 64 == 0 and a.extent == (a.ptr, a.ptr + 72)
    assert a._descriptor == (a.ptr, 2, 3, 36, 12)
    assert array(length=4, dtype=int).shape == (4,)
    assert a[1].capacity == 36
    assert a.grad is None and not a.requires_grad and not a.retain_grad


def test_null_array() -> None:
    nothing = array.null(wp.vec3, 2)
    assert nothing._descriptor == (0, 0, 0, 0, 0) and nothing.numpy().shape == (0, 0, 3)


def test_read_only_memory() -> None:
    host = np.arange(3, dtype=np.float32)
    host.flags.writeable = False
    a = array(host, copy=False)
    assert a.readonly and a[1:].readonly and not a.numpy().flags.writeable
    for write in (lambda: a.fill_(1), lambda: a.zero_(), lambda: a.assign([1, 2, 3]), lambda: a.__setitem__(0, 1)):
        with pytest.raises(ArrayError, match="read-only"):
            write()
    assert not array(host).readonly
    assert a.list() == [0, 1, 2]


# -- Creation


@pytest.mark.parametrize("dtype", [*wp.SCALARS, *COMPOSITES])
@pytest.mark.parametrize("shape", [3, (2, 2), (0,), (2, 0, 1), [1, 2, 3, 4]])
def test_zeros_ones_full_empty(dtype: Any, shape: Any) -> None:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    for made, value in ((zeros(shape, dtype), 0), (ones(shape, dtype), 1), (full(shape, 1, dtype), 1)):
        assert made.shape == extents and made.dtype is dtype and made.is_contiguous
        host = (
            wp.bfloat16_values(made.host()) if made.host().dtype == np.uint16 and dtype is wp.bfloat16 else made.host()
        )
        assert (host == value).all()
    assert empty(shape, dtype).shape == extents
    model = full(shape, 1, dtype)
    assert (zeros_like(model).host() == 0).all() and zeros_like(model).shape == extents
    assert (ones_like(model).host() == model.host()).all()
    assert (full_like(model, 1).host() == model.host()).all()
    assert empty_like(model).dtype is dtype


def test_full_infers_the_dtype() -> None:
    assert full(2, 1.5).dtype is wp.float32
    assert full(2, 3).dtype is wp.int32
    assert full(2, True).dtype is wp.bool_
    assert full(2, wp.vec3(1, 2, 3)).list() == [wp.vec3(1, 2, 3)] * 2
    assert full(2, [1.0, 2.0]).dtype is wp.vec2
    assert full(2, np.eye(2)).dtype is wp.mat22d
    assert full((2,), wp.vec3(1, 2, 3), dtype=wp.vec3)[1] == wp.vec3(1, 2, 3)
    with pytest.raises((TypeError, ValueError)):
        full(2, 1.5, dtype=int)


def test_default_dtype_and_gradient_arguments() -> None:
    assert zeros(3).dtype is wp.float32
    a = zeros(3, requires_grad=True, retain_grad=True)
    assert a.requires_grad and a.retain_grad and a.grad is not None and a.grad.list() == [0, 0, 0]
    b = empty_like(a)
    assert b.requires_grad and b.retain_grad
    assert not empty_like(a, requires_grad=False).requires_grad


@pytest.mark.parametrize("make", [zeros, ones, empty])
def test_creation_errors(make: Any) -> None:
    with pytest.raises(ArrayError, match="negative"):
        make((2, -1))
    with pytest.raises(ArrayError, match="not 5"):
        make((1, 1, 1, 1, 1))
    with pytest.raises(ArrayError, match="dtype of an array must be"):
        make(3, dtype="nothing")
    with pytest.raises(ArrayError, match="dtype of an array must be"):
        make(3, dtype=[1])
    with pytest.raises(MemoryError):
        make(2**55)
    with pytest.raises(RuntimeError, match="CPU only"):
        make(3, device="cuda")


def test_from_numpy() -> None:
    host = np.arange(12, dtype=np.float32)
    a = from_numpy(host)
    a[0] = 5
    assert host[0] == 5
    assert from_numpy(host.reshape(4, 3)).dtype is wp.vec3
    assert from_numpy(host.reshape(4, 3)).shape == (4,)
    assert from_numpy(host.reshape(3, 2, 2)).dtype is wp.mat22
    grid = from_numpy(host.reshape(4, 3), dtype=float, requires_grad=True, retain_grad=True)
    assert grid.shape == (4, 3) and grid.requires_grad and grid.retain_grad
    assert from_numpy(host, shape=(3, 4), dtype=float).shape == (3, 4)
    assert from_numpy(np.arange(3), dtype=float).list() == [0, 1, 2]
    with pytest.raises(TypeError, match="complex"):
        from_numpy(np.zeros(2, complex))


# -- Writing


def test_fill_and_assign() -> None:
    a = zeros((2, 3))
    a.fill_(2)
    assert a.numpy().tolist() == [[2.0] * 3] * 2
    a.assign([[1, 2, 3], [4, 5, 6]])
    assert a.list() == [1, 2, 3, 4, 5, 6]
    a.assign(np.zeros((2, 3)))
    assert a.list() == [0] * 6
    v = zeros(2, wp.vec3)
    v.fill_(2)
    assert v.list() == [wp.vec3(2, 2, 2)] * 2
    v.fill_((1, 2, 3))
    assert v.list() == [wp.vec3(1, 2, 3)] * 2
    with pytest.raises((TypeError, ValueError)):
        v.fill_((1, 2))
    with pytest.raises((TypeError, ValueError)):
        zeros(2, int).fill_(1.5)
    with pytest.raises(ArrayError, match="exceeds dest"):
        zeros(2).assign([1, 2, 3])


def test_printing() -> None:
    a = array([1.0, 2.5])
    assert str(a) == "[1.  2.5]"
    assert repr(a) == "array([1. , 2.5], shape=(2,), dtype=float32)"
    assert repr(array([[1, 2]], dtype=wp.vec2)) == "array([[1., 2.]], shape=(1,), dtype=vec2f)"


def test_array_protocol() -> None:
    a = array([[1.0, 2.0], [3.0, 4.0]])
    assert np.shares_memory(np.asarray(a), a.numpy())
    assert np.asarray(a.T).tolist() == [[1, 3], [2, 4]]
    assert np.array(a, dtype=int).tolist() == [[1, 2], [3, 4]]
    assert not np.shares_memory(np.array(a), a.numpy())
    with pytest.raises(ValueError, match="without a copy"):
        a.__array__(dtype=int, copy=False)
    assert not hasattr(a, "__cuda_array_interface__")
    assert a.__array_interface__["data"] == (a.ptr, False)


def test_memory_outlives_the_array() -> None:
    host = array([1.0, 2.0, 3.0])[1:].numpy()
    gc.collect()
    np.testing.assert_array_equal(host, [2, 3])
    shared = array(np.arange(3, dtype=np.float32), copy=False)
    gc.collect()
    assert shared.list() == [0, 1, 2]
