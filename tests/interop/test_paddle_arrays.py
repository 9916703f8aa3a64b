"""Paddle tensors and arrays share memory and gradients, both ways."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.errors import ArrayError, LaunchError

paddle = pytest.importorskip("paddle")

SCALARS = [scalar for scalar in wp.types.SCALARS if scalar is not wp.uint16]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def norm(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.dot(x[i], x[i])


def leaf(values: Any) -> Any:
    t = paddle.to_tensor(values, dtype="float32")
    t.stop_gradient = False
    return t


# -- Names


@pytest.mark.parametrize("scalar", SCALARS)
def test_dtypes(scalar: Any) -> None:
    assert wp.dtype_from_paddle(wp.dtype_to_paddle(scalar)) is scalar
    t = paddle.ones([2, 3]).astype(wp.dtype_to_paddle(scalar))
    a = wp.from_paddle(t)
    assert a.dtype is scalar and a.shape == (2, 3) and a.list() == [1] * 6 and a.ptr == t.data_ptr()
    back = wp.to_paddle(a)
    assert back.dtype == t.dtype and back.data_ptr() == t.data_ptr()


def test_names_of_dtypes_and_devices() -> None:
    assert wp.dtype_to_paddle(float) == paddle.float32 and wp.dtype_to_paddle(bool) == paddle.bool
    for wrong in (wp.vec3, "float32", None, wp.uint16):
        with pytest.raises(TypeError):
            wp.dtype_to_paddle(wrong)
    with pytest.raises(TypeError, match="complex64"):
        wp.dtype_from_paddle(paddle.complex64)
    for place in ("cpu", paddle.CPUPlace(), paddle.ones([1]).place):
        assert wp.device_from_paddle(place) == "cpu"
    assert wp.device_from_paddle("gpu_pinned") == "cpu"
    assert wp.device_to_paddle("cpu") == wp.device_to_paddle(wp.get_device()) == "cpu"
    with pytest.raises(RuntimeError, match="CPU only"):
        wp.device_from_paddle("gpu:0")
    for given in (None, "cpu", paddle.CPUPlace(), paddle.ones([1])):
        assert wp.stream_from_paddle(given) is wp.get_stream("cpu")
    with pytest.raises(RuntimeError, match="CPU only"):
        wp.stream_from_paddle("gpu:0")


# -- Layout


def test_shape_and_strides_are_kept() -> None:
    whole = paddle.arange(24, dtype="float32").reshape([2, 3, 4])
    for t in (whole, whole.transpose([2, 0, 1]), whole[:, ::2, 1:], paddle.zeros([0]), paddle.zeros([2, 0, 3])):
        a = wp.from_paddle(t)
        assert a.shape == tuple(t.shape)
        np.testing.assert_array_equal(a.numpy(), t.numpy())
        back = wp.to_paddle(a)
        assert list(back.shape) == list(t.shape)
        if a.size:
            assert a.strides == tuple(4 * s for s in t.strides) and a.ptr == t.data_ptr()
            assert back.strides == t.strides and back.data_ptr() == a.ptr
            a.fill_(7)
            assert (t == 7).all() and (back == 7).all()
    assert wp.from_paddle(paddle.to_tensor(2.5)).list() == [2.5]


def test_vectors_and_matrices() -> None:
    t = paddle.arange(12, dtype="float32").reshape([2, 2, 3])
    assert wp.from_paddle(t, dtype=wp.vec3).shape == (2, 2)
    assert wp.from_paddle(t, dtype=wp.matrix((2, 3), float)).shape == (2,)
    strided = wp.from_paddle(paddle.arange(24, dtype="float32").reshape([4, 6])[::2, :3], dtype=wp.vec3)
    assert strided.list() == [wp.vec3(0, 1, 2), wp.vec3(12, 13, 14)]
    assert wp.to_paddle(strided).strides == [12, 1]
    with pytest.raises(RuntimeError, match="must be contiguous"):
        wp.from_paddle(paddle.zeros([3, 4]).T, dtype=wp.vec3)
    with pytest.raises(RuntimeError, match="last dimensions"):
        wp.from_paddle(paddle.zeros([4, 2]), dtype=wp.vec3)
    assert wp.from_paddle(paddle.to_tensor([-1], dtype="int32"), dtype=wp.uint32).list() == [2**32 - 1]


def test_refused() -> None:
    with pytest.raises(TypeError, match="tensor of int64"):
        wp.from_paddle(paddle.to_tensor([1]), dtype=float)
    with pytest.raises(TypeError, match="complex64"):
        wp.from_paddle(paddle.to_tensor([1 + 2j]))
    with pytest.raises(RuntimeError, match="to_dense"):
        wp.from_paddle(paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]))
    with pytest.raises(RuntimeError, match="1 to 4 dimensions"):
        wp.from_paddle(paddle.zeros([1] * 5))
    with pytest.raises(RuntimeError, match="negative strides"):
        wp.to_paddle(wp.zeros(3)[::-1])
    with pytest.raises(TypeError, match="uint16"):
        wp.to_paddle(wp.zeros(3, wp.uint16))
    host = np.zeros(3)
    host.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        wp.to_paddle(wp.from_numpy(host))

    @wp.struct
    class S:
        x: float

    with pytest.raises(TypeError, match="cannot be a Paddle tensor"):
        wp.to_paddle(wp.zeros(2, S))


# -- Gradients


def test_a_missing_gradient_is_made_and_attached() -> None:
    t = leaf([1, 2, 3])
    a = wp.from_paddle(t)
    assert a.requires_grad and t.grad is not None and a.grad.ptr == t.grad.data_ptr()
    a.grad.fill_(2)
    assert t.grad.tolist() == [2, 2, 2]
    (t * 3).sum().backward()
    assert a.grad.list() == [5, 5, 5]
    assert wp.from_paddle(t).grad.ptr == a.grad.ptr


def test_gradient_can_be_avoided_or_given() -> None:
    t = leaf([1, 2, 3])
    assert wp.from_paddle(t, requires_grad=False).grad is None and t.grad is None
    buffer, own = paddle.zeros([3]), wp.zeros(3)
    assert wp.from_paddle(t, grad=buffer).grad.ptr == buffer.data_ptr()
    assert wp.from_paddle(t, grad=own).grad is own and t.grad is None
    plain = paddle.ones([3])
    assert not wp.from_paddle(plain).requires_grad and plain.grad is None
    assert wp.from_paddle(plain, requires_grad=True).grad.ptr == plain.grad.data_ptr()
    with pytest.raises(RuntimeError, match="leaf"):
        wp.from_paddle(leaf([1, 2]) * 2)
    assert wp.from_paddle(leaf([1, 2]) * 2, requires_grad=False).list() == [2, 4]


def test_to_paddle_shares_the_gradient() -> None:
    a = wp.zeros(3, requires_grad=True)
    t = wp.to_paddle(a)
    assert not t.stop_gradient and t.is_leaf and t.grad.data_ptr() == a.grad.ptr
    (t * 3).sum().backward()
    assert a.grad.list() == [3, 3, 3]
    assert wp.to_paddle(a, requires_grad=False).stop_gradient
    assert wp.to_paddle(a, requires_grad=False).grad is None
    assert not wp.to_paddle(wp.zeros(3), requires_grad=True).stop_gradient
    assert wp.to_paddle(wp.zeros(3)).stop_gradient and wp.to_paddle(wp.zeros(3, int, requires_grad=True)).stop_gradient
    with pytest.raises(RuntimeError, match="not contiguous"):
        wp.to_paddle(a[::2])
    vectors = wp.zeros((2, 2), wp.vec3, requires_grad=True)
    assert list(wp.to_paddle(vectors).grad.shape) == [2, 2, 3]


def test_optimizer_on_an_array() -> None:
    a, y = wp.full(3, 2.0, requires_grad=True), wp.zeros(3, requires_grad=True)
    t = wp.to_paddle(a)
    optimizer = paddle.optimizer.Adam(learning_rate=0.5, parameters=[t])
    for _ in range(2):
        tape = wp.Tape()
        with tape:
            wp.launch(square, 3, [a], [y])
        optimizer.clear_grad()
        y.grad.fill_(1)
        tape.backward()
        assert t.grad.tolist() == pytest.approx([2 * v for v in a.list()])
        optimizer.step()
    assert a.list() == pytest.approx([1, 1, 1], abs=0.1) and t.data_ptr() == a.ptr


# -- Launches


def test_launches_take_tensors() -> None:
    t, y = leaf([1, 2, 3]), paddle.zeros([3])
    wp.launch(square, 3, [t], [y])
    assert y.tolist() == [1, 4, 9] and t.grad is None
    wp.launch(square, 3, [wp.from_paddle(t, return_ctype=True)], [wp.from_paddle(y, return_ctype=True)])
    points = paddle.to_tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 2.0]])
    wp.launch(norm, 2, [points], [y])
    assert y.tolist() == [14, 4, 9]
    with pytest.raises(LaunchError, match=r"parameter x: expected an array of float32"):
        wp.launch(square, 3, [paddle.to_tensor([1, 2, 3])], [y])


def test_custom_layer() -> None:
    class Square(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            y = paddle.empty_like(x)
            wp.launch(square, len(x), [x], [y])
            return y

        @staticmethod
        def backward(ctx: Any, incoming: Any) -> Any:
            (x,) = ctx.saved_tensor()
            result = paddle.zeros_like(x)
            a, y = wp.from_paddle(x, grad=result), wp.empty(len(x))
            wp.launch(square, len(x), [a], [y], adj_outputs=[wp.from_paddle(incoming)], adjoint=True)
            return result

    t = leaf([1, 2, 3])
    (Square.apply(t) * paddle.to_tensor([1.0, 10.0, 100.0])).sum().backward()
    assert t.grad.tolist() == [2, 40, 600]


# -- Lifetimes and memory


def test_memory_outlives_either_side() -> None:
    t = paddle.arange(1000, dtype="float32")
    a = wp.from_paddle(t[10:])
    del t
    gc.collect()
    paddle.zeros([1000])
    assert a[0] == 10 and a[989] == 999
    t = wp.to_paddle(a)
    del a
    gc.collect()
    assert float(t[989]) == 999
    tracked = leaf(np.arange(1000)) * 2
    a = wp.from_paddle(tracked, requires_grad=False)
    del tracked
    gc.collect()
    paddle.zeros([1000])
    assert a[999] == 1998
    b = wp.full(1000, 3.0, requires_grad=True)
    alive = weakref.ref(b.allocation)
    t = wp.to_paddle(b)
    del b
    gc.collect()
    wp.zeros(1000)
    assert float(t[999]) == 3 and alive() is not None
    del t
    gc.collect()
    assert alive() is None


def test_dlpack_both_ways() -> None:
    t = paddle.arange(6, dtype="float32").reshape([2, 3])
    assert wp.from_dlpack(t).ptr == t.data_ptr()
    a = wp.ones((2, 3))
    assert paddle.utils.dlpack.from_dlpack(wp.to_dlpack(a)).data_ptr() == a.ptr


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_conversions_leak_no_memory() -> None:
    t, tracked, a, b = paddle.zeros([1000]), leaf(np.zeros(1000)), wp.zeros(1000), wp.zeros(1000, requires_grad=True)

    def convert(count: int) -> None:
        for _ in range(count):
            wp.from_paddle(t)
            wp.from_paddle(tracked)
            wp.from_paddle(t, return_ctype=True)
            wp.to_paddle(a)
            wp.to_paddle(b)
            wp.launch(square, 1000, [t], [a])

    def growth(work: Any, count: int) -> int:
        work(1000)
        gc.collect()
        before = resident()
        work(count)
        gc.collect()
        return resident() - before

    def only_paddle(count: int) -> None:
        for _ in range(count):
            paddle.utils.dlpack.from_dlpack(host.__dlpack__())

    # Paddle 3.3 loses 80 bytes with each capsule that it imports, whoever has made it; each round imports three.
    # One array that is kept a round would be 20 MB; what the allocators keep for themselves varies by less than 2.
    host = np.zeros(1000)
    assert growth(convert, 5000) < growth(only_paddle, 3 * 5000) + 4_000_000


def test_wrong_gradient() -> None:
    with pytest.raises(ArrayError, match="gradient"):
        wp.from_paddle(paddle.ones([3]), grad=paddle.zeros([4]))
