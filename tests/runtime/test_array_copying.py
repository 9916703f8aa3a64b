"""Copies between arrays, and what a recorder is told of writes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from treadle import types as wp
from treadle.errors import ArrayError
from treadle.runtime.array import array
from treadle.runtime.copying import copy
from treadle.runtime.creation import clone, zeros
from treadle.runtime.indexed import indexedarray
from treadle.runtime.recording import Recorder, activate, active


def numbered(*shape: int, requires_grad: bool = False) -> array:
    return array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), requires_grad=requires_grad)


def test_copy_whole() -> None:
    dest = zeros((2, 3))
    copy(dest, numbered(2, 3))
    assert dest.list() == [0, 1, 2, 3, 4, 5]
    copy(dest.T, numbered(3, 2))
    assert dest.numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    copy(dest, numbered(6))
    assert dest.list() == [0, 1, 2, 3, 4, 5]


def test_copy_parts() -> None:
    dest = zeros(6)
    copy(dest, numbered(6), dest_offset=1, src_offset=2, count=3)
    assert dest.list() == [0, 2, 3, 4, 0, 0]
    copy(dest, numbered(2), dest_offset=4)
    assert dest.list() == [0, 2, 3, 4, 0, 1]
    copy(dest, numbered(6), src_offset=4)
    assert dest.list() == [4, 5, 3, 4, 0, 1]
    grid = zeros((2, 3))
    copy(grid, numbered(4), dest_offset=2)
    assert grid.list() == [0, 0, 0, 1, 2, 3]
    strided = zeros(6)
    copy(strided[::2], numbered(6)[::-1], dest_offset=1, count=2)
    assert strided.list() == [0, 0, 5, 0, 4, 0]
    copy(dest, zeros(0))
    copy(dest, numbered(6), src_offset=6)
    assert dest.list() == [4, 5, 3, 4, 0, 1]


def test_overlapping_copies() -> None:
    a = numbered(6)
    copy(a, a, dest_offset=1, count=5)
    assert a.list() == [0, 0, 1, 2, 3, 4]
    b = numbered(4)
    copy(b, b[::-1])
    assert b.list() == [3, 2, 1, 0]


def test_copy_between_dtypes_of_the_same_scalars() -> None:
    vectors = zeros(2, wp.vec3)
    copy(vectors, numbered(2, 3))
    assert vectors.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    copy(vectors, numbered(3), dest_offset=1)
    assert vectors.numpy().tolist() == [[0, 1, 2], [0, 1, 2]]
    flat = zeros(6)
    copy(flat, vectors, src_offset=1, dest_offset=2)
    assert flat.list() == [0, 0, 0, 1, 2, 0]
    quats = zeros(1, wp.quat)
    copy(quats, array([[1, 2, 3, 4]], dtype=wp.vec4))
    assert list(quats[0]) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("dest", "src", "arguments", "message"),
    [
        (zeros(3), numbered(4), {}, "exceeds dest, which has 3"),
        (zeros(3), numbered(3), {"dest_offset": 1}, "exceeds dest"),
        (zeros(9), numbered(3), {"src_offset": 2, "count": 2}, "exceeds src, which has 3"),
        (zeros(3), numbered(3), {"count": -1}, "cannot be negative"),
        (zeros(3), zeros(3, int), {}, "int32 to an array of float32"),
        (zeros(3, wp.float64), zeros(3, wp.int64), {}, "int64 to an array of float64"),
        (zeros((4, 4))[:, ::2], numbered(8), {}, "not contiguous"),
        (zeros(8), numbered(4, 4)[:, ::2], {}, "not contiguous"),
        (array(np.broadcast_to(np.float32(0), 3), copy=False), numbered(3), {}, "read-only"),
    ],
)
def test_errors_change_nothing(dest: array, src: array, arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        copy(dest, src, **arguments)
    assert not dest.numpy().any()


# -- Indexed arrays


def test_indexed_array() -> None:
    base = numbered(3, 4)
    a = indexedarray(base, [[2, 0], None])
    assert (a.shape, a.ndim, a.size, a.dtype) == ((2, 4), 2, 8, wp.float32)
    np.testing.assert_array_equal(a.numpy(), base.numpy()[[2, 0]])
    b = indexedarray(base, [None, array([3, 1, 1])])
    np.testing.assert_array_equal(b.numpy(), base.numpy()[:, [3, 1, 1]])
    c = base[[2, 0], [1, 3]]
    np.testing.assert_array_equal(c.numpy(), base.numpy()[np.ix_([2, 0], [1, 3])])
    assert base[1, [0, 2]].list() == [4, 6]
    assert base[1:, np.array([0])].numpy().tolist() == [[4], [8]]
    assert c[0, 1] == 11 and c[1, 0] == 1
    assert c[0].numpy().tolist() == [9, 11]
    assert c[::-1].numpy().tolist() == [[1, 3], [9, 11]]
    assert c[[1]].numpy().tolist() == [[1, 3]]
    assert a.contiguous().is_contiguous and len(a) == 2


def test_indexed_writes() -> None:
    base = zeros((3, 4))
    base[[0, 2], [1]].fill_(1)
    base[1, [0, 3]] = 2
    base[[2]] = [[5, 6, 7, 8]]
    assert base.numpy().tolist() == [[0, 1, 0, 0], [2, 0, 0, 2], [5, 6, 7, 8]]
    part = indexedarray(base, [[1, 0]])
    part.assign(numbered(2, 4))
    assert base.numpy()[:2].tolist() == [[4, 5, 6, 7], [0, 1, 2, 3]]
    part[0, 0] = 9
    part[1] = 3
    assert base.numpy()[:2].tolist() == [[3, 3, 3, 3], [9, 1, 2, 3]]
    part.zero_()
    assert not base.numpy()[:2].any()
    dest = zeros((1, 4))
    copy(dest, base[[2]])
    assert dest.list() == [5, 6, 7, 8]
    vectors = zeros(3, wp.vec3)
    vectors[[0, 2]] = wp.vec3(1, 2, 3)
    assert vectors.numpy()[:, 2].tolist() == [3, 0, 3]
    assert vectors[[2, 1]].list() == [wp.vec3(1, 2, 3), wp.vec3(0, 0, 0)]


def test_indexed_gradient_and_errors() -> None:
    base = numbered(3, requires_grad=True)
    base.grad.assign([1, 2, 3])
    assert base[[2, 0]].grad.numpy().tolist() == [3, 1] and base[[2]].requires_grad
    for indices, error in [
        ([[3]], IndexError),
        ([[-1]], IndexError),
        ([[0.5]], TypeError),
        ([[[0]]], TypeError),
        ([[0], [0]], ValueError),
    ]:
        with pytest.raises(error):
            indexedarray(base, indices)
    with pytest.raises(ArrayError, match="shape"):
        copy(zeros(3), base[[0, 1]])
    with pytest.raises(ArrayError, match="not list"):
        indexedarray([1, 2], [[0]])


# -- Recording


class Log(Recorder):
    """Keeps what it is told, with the values that the destination had then."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def record_binding(self, binding: Any, extents: tuple[int, ...], inputs: Any, outputs: Any) -> None:
        self.events.append(("launch", extents))

    def record_copy(self, dest: array, src: array) -> None:
        self.events.append(("copy", dest, src, dest.list()))

    def record_fill(self, dest: array) -> None:
        self.events.append(("fill", dest, dest.list()))

    def record_write(self, dest: array, step: str) -> None:
        self.events.append((step, dest, dest.list()))

    def scope_begin(self, name: str) -> None:
        self.events.append(("scope", name))

    def scope_end(self) -> None:
        self.events.append(("end of scope",))

    def mark_read(self, array: array) -> None:
        self.events.append(("read", array))

    def mark_write(self, array: array) -> None:
        self.events.append(("write", array))

    def mark_init(self, array: array) -> None:
        self.events.append(("init", array))


@pytest.fixture
def log() -> Any:
    recorder = Log()
    assert activate(recorder) is None
    yield recorder
    assert activate(None) is recorder


def test_writes_are_recorded_before_they_happen(log: Log) -> None:
    a = zeros(3, requires_grad=True)
    a.grad.host()[...] = 1
    a.fill_(2)
    a.zero_()
    a.assign([1, 2, 3])
    b = clone(a)
    a[1] = 5
    copy(b, a)
    assert [event[0] for event in log.events] == ["fill", "fill", "copy", "copy", "fill", "copy"]
    assert [event[-1] for event in log.events] == [
        [0, 0, 0], [2, 2, 2], [0, 0, 0], b_before(log), [2], [1, 2, 3],
    ]  # fmt: skip
    assert log.events[5][1] is b and log.events[5][2] is a and log.events[3][1] is b
    assert log.events[4][1].ptr == a.ptr + 4


def b_before(log: Log) -> Any:
    """A clone is made of memory with undefined contents."""
    return log.events[3][-1]


def test_recorded_parts_are_views_with_gradients(log: Log) -> None:
    dest, src = zeros((2, 3), requires_grad=True), numbered(6, requires_grad=True)
    copy(dest, src, dest_offset=1, src_offset=2, count=3)
    _, to, of, _ = log.events[0]
    assert (to.shape, of.shape) == ((3,), (3,))
    assert to.grad.ptr == dest.grad.ptr + 4 and of.grad.ptr == src.grad.ptr + 8
    vectors = zeros(2, wp.vec3, requires_grad=True)
    copy(vectors, src)
    _, to, of, _ = log.events[1]
    assert to.dtype is of.dtype is wp.float32 and to.grad.ptr == vectors.grad.ptr and to.shape == (6,)
    dest[0] = src[:3]
    dest.T.contiguous()
    assert [event[0] for event in log.events] == ["copy"] * 4
    assert log.events[2][1].grad.ptr == dest.grad.ptr


def test_nothing_is_recorded_for_what_fails_or_only_reads(log: Log) -> None:
    a = zeros(3)
    with pytest.raises(ArrayError):
        copy(a, zeros(4))
    with pytest.raises((TypeError, ValueError)):
        a.fill_("x")
    copy(a, zeros(0))
    a.numpy(), a.list(), a[1:], str(a), a[[0]].numpy()
    assert log.events == []


def test_marks(log: Log) -> None:
    a = zeros(3)
    a.mark_read()
    a.mark_write()
    a.mark_init()
    assert [event[0] for event in log.events] == ["read", "write", "init"]


def test_indexed_copies_are_not_differentiable(log: Log) -> None:
    a = numbered(3, requires_grad=True)
    for step in (lambda: a[[0]].contiguous(), lambda: a[[0]].fill_(1), lambda: a.__setitem__([0], 1)):
        with pytest.raises(RuntimeError, match="not differentiable"):
            step()
    assert a.list() == [0, 1, 2]
    plain = numbered(3)
    plain[[0]] = 5
    plain[[0, 1]].contiguous()
    assert [event[0] for event in log.events] == ["a fill of an indexed array", "a copy from or to an indexed array"]
    assert log.events[0][1] is plain and log.events[0][2] == [0, 1, 2]


def test_recording_belongs_to_a_thread(log: Log) -> None:
    other = threading.Thread(target=lambda: zeros(3).fill_(1))
    other.start()
    other.join()
    assert log.events == [] and active.recorder is log


def test_marks_without_recorder() -> None:
    a = zeros(1)
    a.mark_read()
    a.mark_write()
    a.mark_init()
