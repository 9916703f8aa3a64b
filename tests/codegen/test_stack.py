"""The adjoint's stack: frames with and without count, nested, growing, and running out of memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.running import Kernel, array_of
from treadle.codegen.stack import record_layout
from treadle.codegen.worker import OUT_OF_MEMORY, Worker
from treadle.types.scalars import SCALARS, bool_, float32, float64, int8, int32, int64
from treadle.types.storage import Aggregate, ArrayRef


def reversal(counted: bool, types=(float32, float64)) -> Kernel:
    """Saves k in each iteration, then adds up k·(position from the end)."""
    k = Kernel(int32, array_of(float64))
    n, out = k.parameters
    frame = k.emit("frame", *([n] if counted else []))
    k.for_(n, [], lambda i: k.emit_many("save", frame, i, *(k.emit("cast", i, type=t) for t in types)) or [])
    if not counted:
        k.emit_many("seal", frame, n)

    def back(i, total):
        position = k.emit("sub", k.emit("sub", n, i), k.index(1))
        *_, value = k.emit_many("restore", frame, position, types=types)
        term = k.emit("mul", k.emit("cast", value, type=float64), k.emit("cast", i, type=float64))
        return [k.emit("add", total, term)]

    (total,) = k.for_(n, [k.constant(float64, 0)], back)
    k.emit_many("release", frame)
    k.store(out, k.thread(), total)
    return k


def expected(n: int) -> float:
    k = np.arange(max(n, 0), dtype=np.float64)
    return float(k @ k[::-1])


@pytest.mark.parametrize("counted", [True, False])
def test_a_loop_backwards(counted):
    kernel = reversal(counted).compile()
    worker = Worker()
    for n in (-3, 0, 1, 7, 100, 40000):
        got = np.zeros(3)
        kernel(3, n, got, worker=worker)
        np.testing.assert_array_equal(got, expected(n))
    assert worker.take_failure() is None


@pytest.mark.parametrize("counted", [True, False])
def test_the_memory_of_a_million_iterations(counted):
    kernel, worker, got = reversal(counted, (float32, float32)).compile(), Worker(), np.zeros(1)
    kernel(1, 1_000_000, got, worker=worker)
    assert 8_000_000 <= worker.fields.capacity <= 16_000_000
    worker.close()
    assert worker.fields.capacity == 0


def test_frames_nest():
    """A while loop whose reverse opens an inner frame in each iteration, twice over in one thread."""
    k = Kernel(int32, array_of(int32))
    n, out = k.parameters
    one, zero = k.index(1), k.index(0)
    outer = k.emit("frame")

    def step(i, x):
        k.emit_many("save", outer, i, x)
        return [k.emit("add", i, one), k.emit("add", x, k.emit("mul", i, i))]

    count, last = k.while_([zero, one], lambda i, x: [k.emit("lt", i, n)], step)
    k.emit_many("seal", outer, count)

    def back(i, total):
        position = k.emit("sub", k.emit("sub", count, i), one)
        (x,) = k.emit_many("restore", outer, position, types=(int32,))
        inner = k.emit("frame", position)
        k.for_(position, [], lambda j: k.emit_many("save", inner, j, k.emit("add", x, j)) or [])
        (summed,) = k.for_(position, [zero], lambda j, s: [
            k.emit("add", s, k.emit_many("restore", inner, j, types=(int32,))[0])])  # fmt: skip
        k.emit_many("release", inner)
        return [k.emit("add", total, summed)]

    (total,) = k.for_(count, [zero], back)
    k.emit_many("release", outer)
    k.store(out, k.thread(), total)

    def reference(n: int) -> int:
        xs = [1]
        for i in range(n):
            xs.append(xs[-1] + i * i)
        return sum(xs[p] + j for p in range(n) for j in range(p))

    kernel, worker = k.compile(), Worker()
    for n_ in (0, 1, 2, 10, 100):
        got = np.zeros(2, np.int32)
        kernel(2, n_, got, worker=worker)
        np.testing.assert_array_equal(got, np.array(reference(n_)).astype(np.int32))


def test_a_frame_out_of_a_branch():
    """The frame is opened in one ``if`` and used in another, as the adjoint of a branch does."""
    k = Kernel(int32, array_of(int32))
    n, out = k.parameters
    positive = k.emit("gt", n, k.index(0))

    def forward():
        frame = k.emit("frame", n, slot_group=1)
        k.for_(n, [], lambda i: k.emit_many("save", frame, i, i, slot_group=1) or [])
        return [frame]

    (frame,) = k.if_(positive, forward, lambda: [k.constant(int64, 0)])

    def backward():
        (total,) = k.for_(n, [k.index(0)], lambda i, t: [
            k.emit("add", t, k.emit_many("restore", frame, i, types=(int32,), slot_group=1)[0])])  # fmt: skip
        k.emit_many("release", frame, slot_group=1)
        return [total]

    (total,) = k.if_(positive, backward, lambda: [k.index(-1)])
    k.store(out, k.index(0), total)
    got = np.zeros(1, np.int32)
    for n_ in (5, -5):
        k.compile()(1, n_, got)
        assert got[0] == (10 if n_ > 0 else -1)


def test_records_of_every_type():
    aggregate, array, strided = Aggregate(float32, 40), array_of(float32), array_of(float32, 2, False)
    k = Kernel(*SCALARS, aggregate, array, strided, *(array_of(t) for t in SCALARS), array)
    values, outs = k.parameters[: len(SCALARS) + 3], k.parameters[len(SCALARS) + 3 : -1]
    frame = k.emit("frame", k.index(2))
    k.emit_many("save", frame, k.index(1), *values)
    restored = k.emit_many("restore", frame, k.index(1), types=tuple(v.type for v in values))
    k.emit_many("release", frame)
    for value, out in zip(restored, outs):
        k.store(out, k.index(0), value)
    a, x, y = restored[-3:]
    k.store(k.parameters[-1], k.index(0), k.emit("extract", a, k.index(7)))
    k.store(k.parameters[-1], k.index(1), k.load(x, k.index(1), type=float32))
    k.store(k.parameters[-1], k.index(2), k.load(y, k.index(1), k.index(0), type=float32))
    results, last = [np.zeros(1, t.numpy) for t in SCALARS], np.zeros(3, np.float32)
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    k.compile()(1, *[1] * len(SCALARS), np.arange(40), np.array([3, 4], np.float32), matrix.T, *results, last)
    assert [r[0] for r in results] == [0x3F80 if t.short == "bf16" else 1 for t in SCALARS]
    assert list(last) == [7, 4, 1]


def test_record_layout():
    assert record_layout([float32, float32]) == ([0, 4], 8)
    assert record_layout([bool_, float64, int8]) == ([0, 8, 16], 24)
    assert record_layout([int8, Aggregate(float32, 37), ArrayRef(2, 4, True)]) == ([0, 8, 160], 184)
    assert record_layout([]) == ([], 0)


def test_no_memory_is_a_failure_not_a_crash():
    """More records than any machine has room for; what was there before is still usable."""
    k = Kernel(int64, array_of(float64))
    n, out = k.parameters
    frame = k.emit("frame", n)
    k.emit_many("save", frame, k.constant(int64, 0), *[k.constant(float64, 3)] * 200)
    k.store(out, k.thread(), k.emit_many("restore", frame, k.constant(int64, 0), types=(float64,) * 200)[0])
    k.emit_many("release", frame)
    kernel, worker, got = k.compile(), Worker(), np.zeros(3)
    kernel(3, 2**62, got, worker=worker)
    failure = worker.take_failure()
    assert failure is not None and failure.message == OUT_OF_MEMORY and failure.out_of_memory and failure.thread == 0
    np.testing.assert_array_equal(got, 0)
    kernel(3, 1, got, worker=worker)
    assert worker.take_failure() is None
    np.testing.assert_array_equal(got, 3)
