"""Indexing, reshaping and transposing arrays; views share memory and gradient."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import types as wp
from treadle.errors import ArrayError
from treadle.runtime.array import array
from treadle.runtime.creation import clone, from_numpy, zeros


def numbered(shape: tuple[int, ...], requires_grad: bool = False) -> array:
    return array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), requires_grad=requires_grad)


INDICES: list[Any] = [
    np.s_[1],
    np.s_[-1],
    np.s_[1:],
    np.s_[::-1],
    np.s_[::2, 1],
    np.s_[..., 0],
    np.s_[0, ...],
    np.s_[-1, 1:3, ::-2, 0],
    np.s_[:, -1, :, 1:2],
    np.s_[3:1:-1, :, 5:1],
    np.s_[1:100],
    np.s_[np.int64(1), 0, 0],
    np.s_[:0],
    np.s_[0, ..., 1],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_views_select_what_numpy_selects(index: Any) -> None:
    a = numbered((4, 3, 5, 2), requires_grad=True)
    expected = a.numpy()[index]
    view = a[index]
    assert view.shape == expected.shape
    np.testing.assert_array_equal(view.numpy(), expected)
    if expected.size:
        assert np.shares_memory(view.numpy(), a.numpy())
        assert view.is_contiguous == expected.flags.c_contiguous
    first, end = view.extent
    assert a.extent[0] <= first <= end <= a.extent[1]
    view.grad.fill_(3)
    mask = np.zeros(a.shape)
    mask[index] = 3
    np.testing.assert_array_equal(a.grad.numpy(), mask)
    view[...] = -1
    values = np.arange(a.size, dtype=np.float32).reshape(a.shape)
    values[index] = -1
    np.testing.assert_array_equal(a.numpy(), values)


@st.composite
def shape_and_index(draw: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))
    bound = st.none() | st.integers(-6, 6)
    step = st.none() | st.integers(-3, 3).filter(bool)
    index = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        slices = st.builds(slice, bound, bound, step)
        index.append(draw(slices | st.integers(-extent, extent - 1) if extent else slices))
    return shape, tuple(index)


@given(shape_and_index())
def test_random_indices(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, index = case
    a = numbered(shape)
    expected = a.numpy()[index]
    result = a[index]
    if expected.ndim == 0:
        assert result == expected
    else:
        np.testing.assert_array_equal(result.numpy(), expected)
        np.testing.assert_array_equal(result[::-1].contiguous().numpy(), expected[::-1])


def test_elements() -> None:
    a = numbered((2, 3))
    assert a[1, 2] == 5 and type(a[1, 2]) is float
    assert a[-1, -3] == 3
    assert type(array([1], dtype=wp.int8)[0]) is int
    assert array([True])[0] is True
    v = array([[1, 2, 3]], dtype=wp.vec3)
    assert v[0] == wp.vec3(1, 2, 3) and type(v[0]) is wp.vec3
    element = v[0]
    element[0] = 9
    assert v[0][0] == 1
    assert array(np.arange(6).reshape(1, 2, 3), dtype=wp.matrix((2, 3), float))[0][1, 2] == 5


def test_assignment() -> None:
    a = numbered((2, 3))
    a[0] = 7
    a[1, 0] = 8
    a[-1, -1] = 9
    a[:, 1] = [1, 2]
    assert a.list() == [7, 1, 7, 8, 2, 9]
    a[1] = np.array([1, 2, 3])
    a[0] = a[1]
    assert a.list() == [1, 2, 3, 1, 2, 3]
    a[0] = a[0, ::-1]
    assert a[0].list() == [3, 2, 1]
    v = zeros(3, wp.vec3)
    v[0] = wp.vec3(1, 2, 3)
    v[1] = 2
    v[2] = (4, 5, 6)
    assert v.numpy().tolist() == [[1, 2, 3], [2, 2, 2], [4, 5, 6]]
    v[:2] = (7, 8, 9)
    v[1:] = [(0, 0, 1), (0, 0, 2)]
    assert v.numpy().tolist() == [[7, 8, 9], [0, 0, 1], [0, 0, 2]]
    v[:2] = [wp.vec3(1, 1, 1), wp.vec3(2, 2, 2)]
    v[2] = np.array([3, 3, 3])
    assert v.numpy()[:, 0].tolist() == [1, 2, 3]
    with pytest.raises(ArrayError, match=r"\(2,\) to a part of shape \(3,\)"):
        a[0] = [1, 2]


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        ((2,), IndexError, "index 2 is out of range for dimension 0 of extent 2"),
        ((0, -4), IndexError, "index -4 is out of range for dimension 1 of extent 3"),
        ((0, 0, 0), IndexError, "too many indices"),
        ((..., ...), IndexError, "one ellipsis"),
        (1.5, TypeError, "ints, slices"),
        (None, TypeError, "NoneType"),
        (True, TypeError, "bool"),
        (slice(None, None, 0), ValueError, "zero"),
    ],
)
def test_index_errors(index: Any, error: type[Exception], message: str) -> None:
    a = numbered((2, 3))
    with pytest.raises(error, match=message):
        a[index]
    with pytest.raises(error, match=message):
        a[index] = 1
    assert a.list() == [0, 1, 2, 3, 4, 5]


def test_iteration() -> None:
    assert list(numbered((3,))) == [0, 1, 2]
    assert [row.list() for row in numbered((2, 2))] == [[0, 1], [2, 3]]


def test_reshape_and_flatten() -> None:
    a = numbered((2, 6), requires_grad=True)
    for shape in [(3, 4), (-1,), 12, (2, -1, 3), (1, 1, 1, 12)]:
        view = a.reshape(shape)
        np.testing.assert_array_equal(view.numpy(), a.numpy().reshape(shape))
        assert view.grad.shape == view.shape and view.grad.ptr == a.grad.ptr
    assert a.flatten().shape == (12,)
    one = numbered((3,))
    assert one.flatten() is one
    assert zeros((0, 3)).reshape((3, 0, 2)).size == 0
    assert a[:, ::2].shape == (2, 3)
    for shape, message in [((5, -1), "12 elements"), ((-1, -1), "only one"), ((7,), "12 elements")]:
        with pytest.raises(ArrayError, match=message):
            a.reshape(shape)
    with pytest.raises(ArrayError, match="not contiguous"):
        a[:, ::2].reshape(6)
    with pytest.raises(ArrayError, match="not contiguous"):
        a.T.flatten()


def test_transpose() -> None:
    a = numbered((2, 3, 4), requires_grad=True)
    np.testing.assert_array_equal(a.T.numpy(), a.numpy().T)
    np.testing.assert_array_equal(a.transpose((1, -1, 0)).numpy(), a.numpy().transpose(1, 2, 0))
    assert a.T.grad.shape == (4, 3, 2)
    assert a.T.T.is_contiguous
    assert a[:1].T.T.is_contiguous
    with pytest.raises(ArrayError, match="permuted"):
        a.transpose((0, 0, 1))


def test_view_as_another_type() -> None:
    a = array([1.0, -2.0], requires_grad=True)
    assert a.view(wp.uint32).list() == [0x3F800000, 0xC0000000]
    assert a.view(wp.uint32).grad is None
    assert a.view(float).grad.ptr == a.grad.ptr
    q = array([[1, 2, 3, 4]], dtype=wp.quat, requires_grad=True)
    assert q.view(wp.vec4)[0] == wp.vec4(1, 2, 3, 4)
    assert q.view(wp.vec4).grad.dtype is wp.vec4
    with pytest.raises(ArrayError, match="of 4 bytes as float64 of 8 bytes"):
        a.view(wp.float64)


def test_components() -> None:
    v = array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3, requires_grad=True)
    flat = v.components()
    assert flat.dtype is wp.float32 and flat.list() == [1, 2, 3, 4, 5, 6]
    assert flat.grad.ptr == v.grad.ptr and flat.grad.shape == (6,)
    back = flat.reshape((2, 3)).view_as_components(wp.vec3)
    assert back.dtype is wp.vec3 and back.list() == v.list() and back.grad.ptr == v.grad.ptr
    assert v.view_as_components(wp.vec3) is v
    with pytest.raises(ArrayError, match="not contiguous"):
        v[::-1].components()
    with pytest.raises(ArrayError, match="not contiguous"):
        flat.reshape((2, 3)).T.view_as_components(wp.vec2)
    with pytest.raises(ArrayError, match=r"shape \(6,\) cannot be viewed"):
        flat.view_as_components(wp.vec3)


def test_contiguous_and_to() -> None:
    a = numbered((2, 3), requires_grad=True)
    assert a.contiguous() is a and a.to("cpu") is a
    b = a.T.contiguous()
    assert b.is_contiguous and b.numpy().tolist() == a.numpy().T.tolist() and b.requires_grad
    assert not np.shares_memory(a.numpy(), b.numpy())
    # Strides of extents 0 and 1 do not matter.
    assert a[:1].is_contiguous and a[:1, :2].is_contiguous and a[:0, ::2].is_contiguous
    assert not a[:, :2].is_contiguous


# -- Gradients


def test_gradient_of_a_view_follows_the_base() -> None:
    a = numbered((4,))
    view = a[1:3]
    assert view.grad is None and not view.requires_grad
    a.requires_grad = True
    assert view.requires_grad and view.grad is view.grad and view.grad.ptr == a.grad.ptr + 4
    nested = view[::-1]
    nested.grad[0] = 5
    assert a.grad.list() == [0, 0, 5, 0]
    replacement = array([1.0, 2.0, 3.0, 4.0])
    a.grad = replacement
    assert view.grad.list() == [2, 3] and nested.grad.list() == [3, 2]
    a.requires_grad = False
    assert view.grad is None and not nested.requires_grad


def test_gradient_of_a_view_alone() -> None:
    a = numbered((2, 4))
    view = a[:, ::2]
    view.requires_grad = True
    assert not a.requires_grad and a.grad is None
    assert view.grad.strides == view.strides and view.grad.numpy().tolist() == [[0, 0], [0, 0]]
    view.grad.fill_(1)
    a.requires_grad = True
    view.requires_grad = False
    assert view.grad is None and a.grad is not None


def test_requires_grad_keeps_an_existing_gradient() -> None:
    a = zeros(3, requires_grad=True)
    gradient = a.grad
    gradient.fill_(2)
    a.requires_grad = True
    assert a.grad is gradient and gradient.list() == [2, 2, 2]
    a.grad = None
    assert not a.requires_grad and a.grad is None


def test_gradient_given() -> None:
    gradient = array([1.0, 2.0])
    a = array([3.0, 4.0], grad=gradient)
    assert a.requires_grad and a.grad is gradient
    for wrong in (array([1.0]), array([1, 2]), array([[1.0, 2.0]])):
        with pytest.raises(ArrayError, match="gradient of an array"):
            a.grad = wrong
    with pytest.raises(ArrayError, match="is an array, not list"):
        a.grad = [1.0, 2.0]  # type: ignore[assignment]
    assert a.grad is gradient


@pytest.mark.parametrize("host", [np.zeros((3, 2)).T, np.zeros(6)[::-2], np.broadcast_to(np.zeros(3), (2, 3))])
def test_gradient_has_the_strides_of_the_data(host: np.ndarray[Any, Any]) -> None:
    a = from_numpy(host, dtype=wp.float64, requires_grad=True)
    assert a.grad.strides == a.strides == host.strides
    assert not a.grad.readonly
    a.grad.fill_(1)
    assert (a.grad.numpy() == 1).all()


# -- Copies


def test_clone() -> None:
    a = numbered((2, 3), requires_grad=True)
    b = clone(a[:, ::-1])
    assert b.requires_grad and b.is_contiguous and b.numpy().tolist() == [[2, 1, 0], [5, 4, 3]]
    assert b.grad.ptr != a.grad.ptr
    assert not clone(a, requires_grad=False).requires_grad
    assert clone(numbered((2,)), requires_grad=True).requires_grad


@pytest.mark.parametrize(
    "dtype", [wp.float32, wp.vec3, wp.mat33, wp.bfloat16, wp.vector(5, wp.int8), wp.quatd, wp.bool_]
)
def test_pickle_and_deepcopy(dtype: Any) -> None:
    a = zeros((2, 3), dtype, requires_grad=True, retain_grad=True)
    a.fill_(1)
    a.grad.fill_(1)
    for b in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a), pickle.loads(pickle.dumps(a[:, ::-1]))):
        assert b.dtype is dtype and b.shape == a.shape and b.requires_grad and b.retain_grad
        assert b.list() == a.list() and b.grad.list() == a.grad.list()
        assert b.ptr != a.ptr and b.grad.ptr != a.grad.ptr
    shallow = copy.copy(a)
    assert shallow.ptr == a.ptr and shallow.grad is a.grad and shallow is not a
    assert not pickle.loads(pickle.dumps(zeros(2))).requires_grad
