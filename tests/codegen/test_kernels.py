"""The loop over threads: indices, ranges, vectorisation, array handles, arguments."""

from __future__ import annotations

import re
import threading
import time

import numpy as np
import pytest

from tests.codegen.running import Compiled, Kernel, array_of
from treadle.codegen import ArgumentLayout, Options, cpu, emit_kernel
from treadle.ir import Function, IRError
from treadle.types.scalars import SCALARS, bool_, float32, float64, int8, int32, int64, uint32
from treadle.types.storage import Aggregate, ArrayRef


def saxpy(*, contiguous: bool = True, function: str | None = None, scalar=float32) -> Kernel:
    array = array_of(scalar, contiguous=contiguous)
    k = Kernel(array, array, scalar)
    x, y, a = k.parameters
    i = k.thread()
    v = k.load(x, i, type=scalar)
    v = k.emit(function, v) if function else v
    k.store(y, i, k.emit("add", k.emit("mul", a, v), k.load(y, i, type=scalar)))
    return k


def test_saxpy_on_a_range():
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    saxpy().compile()(1000, x, y, 3.0, begin=10, end=990)
    expected = np.ones(1000, np.float32)
    expected[10:990] += 3 * x[10:990]
    np.testing.assert_array_equal(y, expected)


def test_an_empty_range_does_nothing():
    y = np.ones(4, np.float32)
    kernel = saxpy().compile()
    kernel(4, y, y, 3.0, begin=2, end=2)
    kernel(4, y, y, 3.0, begin=3, end=1)
    np.testing.assert_array_equal(y, 1)


def vectors(text: str) -> set[str]:
    return set(re.findall(r"<\d+ x (?:float|double)>", text))


def test_straight_line_kernels_vectorise():
    text = saxpy().compile().optimised
    assert vectors(text)
    assert "memcheck" not in text and "scevcheck" not in text  # no checks for overlap or wrap-around


@pytest.mark.skipif(cpu.target().math("sin", float32, 1).variants == {}, reason="no library of vector mathematics")
@pytest.mark.parametrize("scalar", [float32, float64], ids=str)
@pytest.mark.parametrize("function", ["sin", "cos", "tan", "exp", "log", "tanh", "erf", "atan"])
def test_functions_vectorise(function, scalar):
    text = saxpy(function=function, scalar=scalar).compile().optimised
    assert re.search(r"call .*<\d+ x \w+> @_ZGV", text)


def test_conditions_vectorise():
    k = Kernel(array_of(float32), array_of(float32), int32)
    x, y, n = k.parameters
    i = k.thread()
    k.if_(k.emit("lt", i, n), lambda: k.store(y, i, k.emit("mul", k.load(x, i, type=float32), k.constant(float32, 2))))
    assert vectors(k.compile().optimised)


def test_rows_vectorise():
    k = Kernel(array_of(float32, 2), array_of(float32, 2))
    x, y = k.parameters
    i, j = k.thread(0, 2), k.thread(1, 2)
    k.store(y, i, j, k.emit("mul", k.load(x, i, j, type=float32), k.constant(float32, 2)))
    kernel = k.compile(2)
    assert vectors(kernel.optimised)
    a, b = np.random.rand(7, 33).astype(np.float32), np.zeros((7, 33), np.float32)
    kernel((7, 33), a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_fast_math_is_an_option():
    kernel = saxpy().function
    assert "fmul float" in emit_kernel(kernel, "k", 1, cpu.target()).text
    assert "fmul fast float" in emit_kernel(kernel, "k", 1, cpu.target(), Options(fast_math=True)).text


@pytest.mark.parametrize("extents", [(11,), (3, 5), (2, 3, 4), (2, 3, 2, 5), (4, 1), (1, 4), (2, 1, 3), (1, 1, 1, 1)])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_thread_indices(extents, rank):
    """Flat index for rank 1, else coordinates; any range in the middle of a row gives the same."""
    k = Kernel(array_of(int32, 2))
    (out,) = k.parameters
    flat = k.thread(0, 1)
    for axis in range(rank):
        k.store(out, flat, k.index(axis), k.thread(axis, rank))
    kernel = k.compile(len(extents))
    count = int(np.prod(extents))
    expected = np.zeros((count, rank), np.int32)
    for t, coordinates in enumerate(np.ndindex(*extents)):
        padded = (*coordinates, 0, 0, 0, 0)
        expected[t] = [t] if rank == 1 else padded[:rank]
    for cut in range(count + 1):
        got = np.zeros((count, rank), np.int32)
        kernel(extents, got, begin=0, end=cut)
        kernel(extents, got, begin=cut)
        np.testing.assert_array_equal(got, expected)


def test_strided_arrays_and_negative_strides():
    k = Kernel(array_of(float64, 2, False), array_of(float64, 2, False))
    x, y = k.parameters
    i, j = k.thread(0, 2), k.thread(1, 2)
    k.store(y, i, j, k.load(x, i, j, type=float64))
    source = np.arange(60.0).reshape(6, 10)
    got = np.zeros((10, 6)).T
    view = source[::-1, ::-1]
    k.compile(2)((6, 10), view, got)
    np.testing.assert_array_equal(got, view)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("contiguous", [True, False])
def test_views_slices_and_shapes(ndim, contiguous):
    """Element (1, …, 1) of the array, through a view of all leading indices and through a slice."""
    k = Kernel(array_of(int32, ndim, contiguous), array_of(int32))
    x, out = k.parameters
    one = k.constant(int64, 1)
    for axis in range(ndim):
        k.store(out, k.index(axis), k.emit("shape", x, axis=axis))
    for fixed in range(ndim):
        view = k.emit("view", x, *[one] * fixed) if fixed else x
        k.store(out, k.index(4 + fixed), k.load(view, *[one] * (ndim - fixed), type=int32))
        k.store(out, k.index(8 + fixed), k.emit("shape", view, axis=ndim - fixed - 1))
    last = k.emit("slice", x, k.index(2), k.index(-1), k.constant(int64, 3), axis=ndim - 1)
    k.store(out, k.index(12), k.load(last, *[one] * (ndim - 1), k.index(0), type=int32))
    k.store(out, k.index(13), k.emit("shape", last, axis=ndim - 1))
    empty = k.emit("slice", x, k.index(2), k.index(-1), k.index(-5), axis=0)
    k.store(out, k.index(14), k.emit("shape", empty, axis=0))
    array = np.arange(3**ndim, dtype=np.int32).reshape((3,) * ndim)
    array = array if contiguous else np.asfortranarray(array)
    got = np.zeros(15, np.int32)
    k.compile()(1, array, got)
    element = array[(1,) * ndim]
    assert list(got[:ndim]) == [3] * ndim
    assert list(got[4 : 4 + ndim]) == [element] * ndim and list(got[8 : 8 + ndim]) == [3] * ndim
    assert got[12] == array[(*(1,) * (ndim - 1), 2)] and got[13] == 3 and got[14] == 0


def test_arrays_are_chosen_and_carried():
    """An if yields an array handle, a loop swaps two of them, a null array has no extent."""
    for contiguous in (True, False):
        array = array_of(int32, 1, contiguous)
        k = Kernel(array, array, int32, array_of(int32))
        x, y, n, out = k.parameters
        (chosen,) = k.if_(k.emit("gt", n, k.index(2)), lambda: [x], lambda: [y])
        k.store(out, k.index(0), k.load(chosen, k.index(0), type=int32))
        a, b = k.for_(n, [x, y], lambda i, a, b: [b, a])
        k.store(out, k.index(1), k.load(a, k.index(0), type=int32))
        k.store(out, k.index(2), k.load(b, k.index(1), type=int32))
        null = k.op("null_array", (), (array,)).result
        k.store(out, k.index(3), k.emit("shape", null, axis=0))
        kernel = k.compile()
        p, q = np.array([1, 2, 3], np.int32), np.array([4, 5], np.int32)
        for count in range(5):
            got = np.full(4, -1, np.int32)
            kernel(1, p, q, count, got)
            first, second = (p, q) if count % 2 == 0 else (q, p)
            np.testing.assert_array_equal(got, [(p if count > 2 else q)[0], first[0], second[1], 0])


@pytest.mark.parametrize("contiguous", [True, False])
def test_arrays_in_structs(contiguous):
    """A descriptor is read from an array element, and written to another."""
    inner = ArrayRef(2, 4, contiguous)
    k = Kernel(ArrayRef(1, 88, True), ArrayRef(1, 80, True), array_of(int32))
    structs, copies, out = k.parameters
    array = k.load(structs, k.index(1), type=inner, offset=8)
    k.store(out, k.index(0), k.load(array, k.index(2), k.index(1), type=int32))
    k.store(copies, k.index(1), array)
    data = np.arange(20, dtype=np.int32).reshape(4, 5)
    data = data if contiguous else data[:, ::2]
    records = np.zeros((2, 11), np.int64)
    records[1, 1:3], records[1, 3:5], records[1, 7:9] = (data.ctypes.data, 77), data.shape, data.strides
    copied, got = np.full((2, 10), -1, np.int64), np.zeros(1, np.int32)
    k.compile()(1, np.ascontiguousarray(records)[:, 0], copied[:, 0], got)
    assert got[0] == data[2, 1]
    assert list(copied[1, [0, 1, 2, 3, 6, 7]]) == [data.ctypes.data, 0, *data.shape, *data.strides]


@pytest.mark.parametrize("index_type", [t for t in SCALARS if t.is_integer], ids=str)
def test_indices_of_every_integer_type(index_type):
    k = Kernel(array_of(index_type), array_of(int32))
    indices, out = k.parameters
    i = k.thread()
    k.store(out, k.load(indices, i, type=index_type), i)
    got = np.zeros(200, np.int32)
    top = 127 if index_type is int8 else 199
    k.compile()(2, np.array([3, top], index_type.numpy), got)
    assert got[3] == 0 and got[top] == 1


def test_arguments_of_every_type():
    arrays = [array_of(t) for t in SCALARS]
    k = Kernel(*SCALARS, *arrays, Aggregate(float32, 40), bool_, array_of(float32))
    values, outs = k.parameters[: len(SCALARS)], k.parameters[len(SCALARS) : 2 * len(SCALARS)]
    aggregate, flag, last = k.parameters[-3:]
    for value, out in zip(values, outs):
        k.store(out, k.index(0), value)
    k.store(last, k.index(0), k.emit("extract", aggregate, k.index(39)))
    k.store(last, k.index(1), k.emit("cast", flag, type=float32))
    results = [np.zeros(1, t.numpy) for t in SCALARS]
    ending = np.zeros(2, np.float32)
    k.compile()(1, *[1] * len(SCALARS), *results, np.arange(40), True, ending)
    assert [r[0] for r in results] == [0x3F80 if t.short == "bf16" else 1 for t in SCALARS]
    assert list(ending) == [39, 1]


def test_the_layout_of_arguments():
    layout = ArgumentLayout.of([bool_, array_of(float32, 2), Aggregate(float32, 37), int8])
    assert layout.offsets == (32, 40, 80, 232) and layout.size == 240


def test_bools_in_foreign_memory():
    """Any byte but 0 is true, and what is written is 0 or 1."""
    k = Kernel(array_of(bool_), array_of(bool_))
    x, y = k.parameters
    i = k.thread()
    k.store(y, i, k.load(x, i, type=bool_))
    raw, got = np.array([0, 1, 2, 255], np.uint8), np.full(4, 9, np.uint8)
    k.compile()(4, raw, got)
    np.testing.assert_array_equal(got, [0, 1, 1, 1])


def test_calls_are_refused():
    k = Kernel()
    k.op("call", (), (), {"callee": Function("helper")})
    with pytest.raises(IRError, match="helper"):
        emit_kernel(k.function, "k", 1, cpu.target())
    with pytest.raises(IRError, match="not a kernel"):
        emit_kernel(Function("f"), "k", 1, cpu.target())


def test_threads_compile_at_once():
    results: list[bool] = []

    def work(seed: int) -> None:
        x, y = np.full(10, seed, np.float32), np.zeros(10, np.float32)
        saxpy().compile()(10, x, y, 2.0)
        results.append(bool((y == 2 * seed).all()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8


def test_unsigned_indices_do_not_turn_negative():
    k = Kernel(array_of(int32), uint32)
    out, n = k.parameters
    (total,) = k.for_(k.emit("cast", n, type=int64), [k.constant(int64, 0)],
                      lambda i, total: [k.emit("add", total, i)])  # fmt: skip
    k.store(out, k.index(0), k.emit("cast", total, type=int32))
    got = np.zeros(1, np.int32)
    assert isinstance(k.compile(), Compiled)
    k.compile()(1, got, 5)
    assert got[0] == 10


def test_very_large_kernels_compile_in_linear_time():
    """20,000 ops in a row: some passes are left out, the result is the same."""
    k = Kernel(array_of(float64), array_of(float64))
    x, out = k.parameters
    i = k.thread()
    values = [k.load(x, i, type=float64), k.constant(float64, 0.75)]
    for n in range(20000):
        values.append(k.emit(("add", "sub", "mul", "min")[n % 4], values[-1], values[-1 - n % 2]))
    k.store(out, i, values[-1])
    start = time.perf_counter()
    kernel = Compiled(k.function)
    assert time.perf_counter() - start < 20
    data, got = np.linspace(-1, 1, 9), np.zeros(9)
    kernel(9, data, got)
    expected = [data, np.full(9, 0.75)]
    for n in range(20000):
        function = (np.add, np.subtract, np.multiply, np.minimum)[n % 4]
        expected.append(function(expected[-1], expected[-1 - n % 2]))
    np.testing.assert_array_equal(got, expected[-1])


def test_text_that_is_no_module_is_an_error():
    with pytest.raises(RuntimeError):
        cpu.compile_text("define nonsense")
