"""Tensors and arrays share memory and gradients, both ways."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

from treadle import types as wp
from treadle.errors import ArrayError
from treadle.interop.torch import (
    device_from_torch,
    device_to_torch,
    dtype_from_torch,
    dtype_to_torch,
    from_torch,
    stream_from_torch,
    stream_to_torch,
    to_torch,
)
from treadle.runtime.array import array
from treadle.runtime.creation import zeros
from treadle.runtime.streams import ScopedStream, get_stream

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -- Names


@pytest.mark.parametrize("scalar", wp.SCALARS)
def test_dtypes(scalar: Any) -> None:
    assert dtype_from_torch(dtype_to_torch(scalar)) is scalar
    t = torch.ones((2, 3)).to(dtype_to_torch(scalar))
    a = from_torch(t)
    assert a.dtype is scalar and a.shape == (2, 3) and a.list() == [1] * 6
    back = to_torch(a)
    assert back.dtype is t.dtype and back.data_ptr() == t.data_ptr() and torch.equal(back, t)


def test_names_of_dtypes_and_devices() -> None:
    assert dtype_to_torch(float) is torch.float32 and dtype_to_torch(bool) is torch.bool
    for wrong in (wp.vec3, "float32", None):
        with pytest.raises(TypeError):
            dtype_to_torch(wrong)
    with pytest.raises(TypeError, match="complex64"):
        dtype_from_torch(torch.complex64)
    assert device_from_torch("cpu").is_cpu and device_from_torch(torch.device("cpu")).is_cpu
    assert device_to_torch("cpu") == "cpu"
    with pytest.raises(RuntimeError, match="CPU only"):
        device_from_torch(torch.device("cuda", 0))


def test_streams() -> None:
    ours, theirs = get_stream("cpu"), torch.cpu.current_stream()
    for given in (None, "cpu", torch.device("cpu"), torch.zeros(1), theirs):
        assert stream_from_torch(given) is ours
    for given in (None, "cpu", ours, ours.device):
        assert isinstance(stream_to_torch(given), torch.cpu.Stream)
    with torch.cpu.stream(stream_to_torch(ours)), ScopedStream(stream_from_torch(theirs)):
        pass
    for convert in (stream_from_torch, stream_to_torch):
        with pytest.raises(RuntimeError, match="CPU only"):
            convert("cuda")


# -- Layout


@pytest.mark.parametrize(
    "t",
    [
        torch.arange(24.0).reshape(2, 3, 4),
        torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
        torch.arange(24.0).reshape(4, 6)[1::2, ::3],
        torch.arange(3.0).expand(2, 3),
        torch.zeros(0),
        torch.zeros(2, 0, 3),
        torch.arange(16.0).reshape(2, 2, 2, 2),
    ],
)
def test_shape_and_strides_are_kept(t: Any) -> None:
    a = from_torch(t)
    assert a.shape == tuple(t.shape)
    np.testing.assert_array_equal(a.numpy(), t.numpy())
    assert a.is_contiguous == t.is_contiguous()
    if t.numel():
        assert a.strides == tuple(4 * s for s in t.stride()) and a.ptr == t.data_ptr()
        a.fill_(7)
        assert (t == 7).all()
    back = to_torch(a)
    assert back.shape == t.shape
    if t.numel():
        assert back.stride() == t.stride() and back.data_ptr() == t.data_ptr()


def test_tensor_without_dimensions() -> None:
    t = torch.tensor(2.5, requires_grad=True)
    a = from_torch(t)
    assert a.shape == (1,) and a[0] == 2.5
    assert a.grad.shape == (1,)
    a.grad.fill_(3)
    assert t.grad == 3


def test_vectors_and_matrices() -> None:
    t = torch.arange(12.0).reshape(2, 2, 3)
    assert from_torch(t, dtype=wp.vec3).shape == (2, 2)
    assert from_torch(t, dtype=wp.matrix((2, 3), float)).shape == (2,)
    assert from_torch(torch.zeros(3), dtype=wp.vec3).shape == (1,)
    assert from_torch(torch.zeros(0, 3), dtype=wp.vec3).shape == (0,)
    assert from_torch(torch.zeros(4, 7), dtype=wp.transform).shape == (4,)
    strided = from_torch(torch.arange(24.0).reshape(4, 6)[::2, :3], dtype=wp.vec3)
    assert strided.strides == (48,) and strided.list() == [wp.vec3(0, 1, 2), wp.vec3(12, 13, 14)]
    back = to_torch(strided)
    assert back.shape == (2, 3) and back.stride() == (12, 1)
    for wrong in (torch.zeros(3, 4).T, torch.zeros(4, 6)[:, ::2]):
        with pytest.raises(RuntimeError, match="must be contiguous"):
            from_torch(wrong, dtype=wp.vec3)
    for wrong in (torch.zeros(4, 2), torch.tensor(1.0), torch.zeros(6)):
        with pytest.raises(RuntimeError, match="last dimensions"):
            from_torch(wrong, dtype=wp.vec3)


def test_reading_as_another_dtype() -> None:
    t = torch.tensor([-1, 1], dtype=torch.int32)
    assert from_torch(t, dtype=wp.uint32).list() == [2**32 - 1, 1]
    assert from_torch(torch.tensor([1, 0], dtype=torch.uint8), dtype=bool).list() == [True, False]
    assert from_torch(t, dtype=int).dtype is wp.int32
    for wrong in (float, wp.int64, wp.vec2):
        with pytest.raises(TypeError, match="tensor of int32"):
            from_torch(t.reshape(1, 2), dtype=wrong)


def test_refused_tensors() -> None:
    with pytest.raises(RuntimeError, match="1 to 4 dimensions"):
        from_torch(torch.zeros(1, 1, 1, 1, 1))
    with pytest.raises(TypeError, match="complex64"):
        from_torch(torch.zeros(2, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="to_dense"):
        from_torch(torch.zeros(2, 2).to_sparse())
    with pytest.raises(RuntimeError, match="meta"):
        from_torch(torch.zeros(2, device="meta"))
    with pytest.raises(RuntimeError, match="resolve_neg"):
        from_torch(torch.zeros(2, dtype=torch.complex64).conj().imag)
    with pytest.raises(RuntimeError, match="negative strides"):
        to_torch(array([1.0, 2.0])[::-1])


# -- Gradients


def test_a_missing_gradient_is_made_and_attached() -> None:
    t = torch.ones(3, requires_grad=True)
    a = from_torch(t)
    assert a.requires_grad and t.grad is not None
    a.grad.fill_(2)
    assert t.grad.tolist() == [2, 2, 2]
    t.grad[0] = 5
    assert a.grad[0] == 5
    assert from_torch(t).grad.ptr == a.grad.ptr


def test_gradient_can_be_avoided_or_given() -> None:
    t = torch.ones(3, requires_grad=True)
    a = from_torch(t, requires_grad=False)
    assert not a.requires_grad and a.grad is None and t.grad is None
    buffer = torch.zeros(3)
    a = from_torch(t, grad=buffer)
    assert a.grad.ptr == buffer.data_ptr() and t.grad is None
    own = zeros(3)
    assert from_torch(t, grad=own).grad is own
    plain = torch.ones(3)
    assert not from_torch(plain).requires_grad and plain.grad is None
    assert from_torch(plain, requires_grad=True).grad.ptr == plain.grad.data_ptr()
    assert from_torch(plain, retain_grad=True).retain_grad
    with pytest.raises(ArrayError, match="gradient"):
        from_torch(plain, grad=torch.zeros(4))


def test_tensors_that_are_no_leaves() -> None:
    t = torch.ones(3, requires_grad=True) * 2
    a = from_torch(t)
    a.grad.fill_(4)
    assert t.grad.tolist() == [4, 4, 4]
    kept = torch.ones(3, requires_grad=True) * 2
    kept.retain_grad()
    kept.sum().backward()
    assert from_torch(kept).grad.list() == [1, 1, 1]


def test_gradient_of_vectors() -> None:
    t = torch.ones(2, 3, requires_grad=True)
    a = from_torch(t, dtype=wp.vec3)
    assert a.grad.dtype is wp.vec3
    a.grad.fill_((1, 2, 3))
    assert t.grad.tolist() == [[1, 2, 3]] * 2
    b = zeros((2, 2), wp.mat22, requires_grad=True)
    back = to_torch(b)
    assert back.shape == back.grad.shape == (2, 2, 2, 2)


def test_to_torch_shares_the_gradient() -> None:
    a = zeros(3, requires_grad=True)
    t = to_torch(a)
    assert t.requires_grad and t.is_leaf and t.grad.data_ptr() == a.grad.ptr
    (t * 3).sum().backward()
    assert a.grad.list() == [3, 3, 3]
    assert not to_torch(a, requires_grad=False).requires_grad
    assert to_torch(a, requires_grad=False).grad is None
    plain = to_torch(zeros(3), requires_grad=True)
    assert plain.requires_grad and plain.grad is None
    assert not to_torch(zeros(3)).requires_grad
    assert not to_torch(zeros(3, int, requires_grad=True)).requires_grad
    view = to_torch(a[1:])
    assert view.grad.data_ptr() == a.grad.ptr + 4


def test_structs_are_refused() -> None:
    @wp.struct
    class S:
        x: float

    with pytest.raises(TypeError, match="cannot be a tensor"):
        to_torch(zeros(2, S))


def test_launch_descriptor() -> None:
    t = torch.ones(3, requires_grad=True)
    assert from_torch(t, return_ctype=True)._descriptor == (t.data_ptr(), 3, 4)


# -- Lifetimes


def test_memory_outlives_either_side() -> None:
    t = torch.arange(1000.0)
    a = from_torch(t[10:])
    del t
    gc.collect()
    torch.zeros(1000)
    assert a[0] == 10 and a[989] == 999
    t = to_torch(a)
    del a
    gc.collect()
    assert t[989] == 999
    b = array(np.arange(1000), dtype=float, requires_grad=True)
    b.grad.fill_(2)
    t = to_torch(b)
    del b
    gc.collect()
    zeros(1000)
    assert t[999] == 999 and t.grad[999] == 2


def test_the_graph_is_not_kept_alive() -> None:
    """A function that keeps an array of its own output in its context must not keep itself alive."""

    class Mark:
        pass

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark = marks[0]
            return 2 * x

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return 2 * grad_output

    marks = [Mark()]
    alive = weakref.ref(marks[0])
    y = Double.apply(torch.ones(3, requires_grad=True))
    a = from_torch(y)
    del y
    marks.clear()
    gc.collect()
    assert alive() is None and a.list() == [2, 2, 2]


def test_function_with_gradients_of_its_own() -> None:
    """The shape of an ``autograd.Function`` around a launch, with the launch written in NumPy."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.x = from_torch(x, requires_grad=False)
            y = zeros(ctx.x.shape, ctx.x.dtype)
            y.numpy()[...] = ctx.x.numpy() ** 2
            return to_torch(y)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            incoming = from_torch(grad_output)
            result = zeros(ctx.x.shape, ctx.x.dtype)
            result.numpy()[...] = 2 * ctx.x.numpy() * incoming.numpy()
            return to_torch(result)

    x = torch.linspace(1, 2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Square.apply, (x,))
