"""Aggregates: values in the IR, memory in machine code. Copies must be made where, and only where, they are needed."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from tests.codegen.running import Kernel, array_of
from treadle.types.scalars import SCALARS, bool_, float32, int32, int64
from treadle.types.storage import Aggregate, ArrayRef

N = 40
AGG = Aggregate(float32, N)
ROWS = ArrayRef(1, 4 * N, True)


def copies(kernel) -> int:
    return len(re.findall(r"@llvm\.memcpy", kernel.emitted.text))


def filled(k: Kernel, value: float):
    return k.emit("splat", k.constant(float32, value), count=N)


def number(k: Kernel, value: float):
    return k.constant(float32, value)


def run(k: Kernel, *arguments, rows: int = 4) -> np.ndarray:
    """The last parameter is the output: rows of N floats."""
    got = np.zeros((rows, N), np.float32)
    k.compile()(1, *arguments, got[:, 0])
    return got


def ones(value: float = 1) -> np.ndarray:
    return np.full(N, value, np.float32)


def with_(base: np.ndarray, index: int, value: float) -> np.ndarray:
    result = base.copy()
    result[index] = value
    return result


def test_load_store_and_elementwise():
    k = Kernel(ROWS, ROWS)
    x, out = k.parameters
    i = k.thread()
    a = k.load(x, i, type=AGG)
    k.store(out, i, k.emit("add", k.emit("mul", a, a), k.emit("sin", a)))
    data = np.random.default_rng(0).normal(size=(3, N)).astype(np.float32)
    got = np.zeros_like(data)
    k.compile()(3, data[:, 0], got[:, 0])
    np.testing.assert_allclose(got, data * data + np.sin(data), rtol=1e-5)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("count", [3, 8, 50])
def test_every_scalar_type(scalar, count):
    """Read, insert, select, splat, write; few components and many."""
    type_ = Aggregate(scalar, count)
    array = ArrayRef(1, type_.size, True)
    k = Kernel(array, array, type_)
    x, out, argument = k.parameters
    a = k.load(x, k.index(0), type=type_)
    one = k.constant(scalar, 1)
    k.store(out, k.index(0), k.emit("insert", a, k.index(2), one))
    k.store(out, k.index(1), k.emit("splat", one, count=count))
    k.store(out, k.index(2), k.emit("select", k.constant(bool_, False), a, argument))
    k.store(out, k.index(3), k.emit("select", k.emit("eq", a, argument), a, argument))
    rng = np.random.default_rng(1)
    data = rng.integers(0, 2, (1, count)).astype(scalar.numpy)
    got = np.zeros((4, count), scalar.numpy)
    arguments = rng.integers(0, 2, count)
    k.compile()(1, data[:, 0], got[:, 0], arguments)
    unit = 0x3F80 if scalar.short == "bf16" else 1
    arguments = (arguments * unit).astype(scalar.numpy)
    inserted = data[0].copy()
    inserted[2] = unit
    np.testing.assert_array_equal(got, [inserted, np.full(count, unit), arguments, arguments])


def test_comparisons_casts_and_mixed_types():
    k = Kernel(ROWS, ArrayRef(1, N, True), ArrayRef(1, 8 * N, True))
    x, flags, numbers = k.parameters
    a = k.load(x, k.index(0), type=AGG)
    k.store(flags, k.index(0), k.emit("gt", a, filled(k, 0)))
    k.store(numbers, k.index(0), k.emit("cast", a, type=int64))
    data = np.linspace(-5, 5, N, dtype=np.float32)[None]
    booleans, integers = np.zeros((1, N), bool), np.zeros((1, N), np.int64)
    k.compile()(1, data[:, 0], booleans[:, 0], integers[:, 0])
    np.testing.assert_array_equal(booleans, data > 0)
    np.testing.assert_array_equal(integers, np.trunc(data))


def test_an_index_out_of_range_is_harmless():
    """extract gives the last component, insert changes nothing; for constant and for run-time indices."""
    indices = [-1, N, 2**31 - 1, -(2**31), 3]
    k = Kernel(array_of(int32), array_of(float32), ROWS)
    given, picked, out = k.parameters
    for row, index in enumerate(indices):
        for column, i in enumerate((k.index(index), k.load(given, k.index(row), type=int32))):
            a = k.emit("cast", k.emit("splat", k.constant(int32, 7), count=N), type=float32)
            a = k.emit("insert", a, k.index(N - 1), number(k, 9))
            k.store(picked, k.index(2 * row + column), k.emit("extract", a, i))
            k.store(out, k.index(2 * row + column), k.emit("insert", a, i, number(k, 5)))
    got_picked, got = np.zeros(10, np.float32), np.zeros((10, N), np.float32)
    k.compile()(1, np.array(indices, np.int32), got_picked, got[:, 0])
    base = with_(ones(7), N - 1, 9)
    for row, index in enumerate(indices):
        for column in range(2):
            inside = 0 <= index < N
            assert got_picked[2 * row + column] == (7 if inside else 9)
            np.testing.assert_array_equal(got[2 * row + column], with_(base, index, 5) if inside else base)


def test_reduce_add():
    for scalar in (float32, int32):
        k = Kernel(ArrayRef(1, 4 * N, True), array_of(scalar))
        x, out = k.parameters
        k.store(out, k.index(0), k.emit("reduce_add", k.load(x, k.index(0), type=Aggregate(scalar, N))))
        data, got = np.arange(N, dtype=scalar.numpy)[None], np.zeros(1, scalar.numpy)
        k.compile()(1, data[:, 0], got)
        assert got[0] == N * (N - 1) // 2


def test_an_insert_whose_operand_is_used_again_copies():
    k = Kernel(ROWS)
    (out,) = k.parameters
    a = filled(k, 1)
    b = k.emit("insert", a, k.index(0), number(k, 5))
    c = k.emit("insert", a, k.index(1), number(k, 6))
    k.store(out, k.index(0), a)
    k.store(out, k.index(1), b)
    k.store(out, k.index(2), c)
    got = run(k)
    np.testing.assert_array_equal(got[:3], [ones(), with_(ones(), 0, 5), with_(ones(), 1, 6)])


def test_a_chain_of_inserts_is_in_place():
    k = Kernel(ROWS)
    (out,) = k.parameters
    a = filled(k, 1)
    for i in range(10):
        a = k.emit("insert", a, k.index(i), number(k, i))
    k.store(out, k.index(0), a)
    kernel = k.compile()
    assert copies(kernel) == 1 and len(re.findall("alloca", kernel.emitted.text)) == 1
    got = np.zeros((1, N), np.float32)
    kernel(1, got[:, 0])
    np.testing.assert_array_equal(got[0, :11], [*range(10), 1])


def test_a_loop_of_inserts_is_in_place():
    """The time of an insert does not depend on the size of the aggregate."""
    big = Aggregate(float32, 20000)
    k = Kernel(ArrayRef(1, big.size, True), int32)
    out, n = k.parameters
    (a,) = k.for_(
        n, [k.emit("splat", number(k, 0), count=big.count)],
        lambda i, a: [k.emit("insert", a, i, k.emit("add", k.emit("extract", a, i), k.emit("cast", i, type=float32)))],
    )  # fmt: skip
    k.store(out, k.index(0), a)
    kernel = k.compile()
    assert copies(kernel) == 1
    got = np.zeros((1, big.count), np.float32)
    start = time.perf_counter()
    kernel(1, got[:, 0], big.count)
    assert time.perf_counter() - start < 0.1  # 20,000 copies would take far longer
    np.testing.assert_array_equal(got[0], np.arange(big.count))


def test_conditional_inserts_are_in_place():
    k = Kernel(ROWS, int32)
    out, n = k.parameters

    def body(i, a):
        even = k.emit("eq", k.emit("and", i, k.index(1)), k.index(0))
        return k.if_(
            even, lambda: [k.emit("insert", a, i, number(k, 2))],
            lambda: k.if_(k.emit("gt", i, k.index(10)), lambda: [k.emit("insert", a, i, number(k, 3))], lambda: [a]),
        )  # fmt: skip

    (a,) = k.for_(n, [filled(k, 1)], body)
    k.store(out, k.index(0), a)
    assert copies(k.compile()) == 1
    got = np.zeros((1, N), np.float32)
    k.compile()(1, got[:, 0], N)
    np.testing.assert_array_equal(got[0], [2 if i % 2 == 0 else 3 if i > 10 else 1 for i in range(N)])


def test_an_accumulating_loop_is_in_place():
    k = Kernel(ROWS, ROWS, int32)
    x, out, n = k.parameters
    (a,) = k.for_(n, [filled(k, 0)], lambda i, a: [k.emit("add", a, k.load(x, i, type=AGG))])
    k.store(out, k.index(0), a)
    kernel = k.compile()
    assert copies(kernel) == 2  # the load and the store
    data, got = np.arange(5 * N, dtype=np.float32).reshape(5, N), np.zeros((1, N), np.float32)
    kernel(1, data[:, 0], got[:, 0], 5)
    np.testing.assert_array_equal(got[0], data.sum(0))


def test_swapped_carried_values():
    k = Kernel(int32, ROWS)
    n, out = k.parameters
    a, b, c = k.for_(n, [filled(k, 1), filled(k, 2), filled(k, 3)], lambda i, a, b, c: [b, c, a])
    for row, v in enumerate((a, b, c)):
        k.store(out, k.index(row), v)
    for count in range(5):
        got = run(k, count)
        np.testing.assert_array_equal(got[:3, 0], np.roll([1, 2, 3], -count))


def test_one_value_carried_twice():
    k = Kernel(int32, ROWS)
    n, out = k.parameters
    start = filled(k, 1)
    a, b = k.for_(n, [start, start], lambda i, a, b: [k.emit("insert", a, i, number(k, 5)), b])
    c, d = k.for_(n, [a, b], lambda i, c, d: [d, d])
    for row, v in enumerate((a, b, c, d)):
        k.store(out, k.index(row), v)
    got = run(k, 2)
    changed = with_(with_(ones(), 0, 5), 1, 5)
    np.testing.assert_array_equal(got, [changed, ones(), ones(), ones()])


def test_an_initial_value_used_after_the_loop():
    k = Kernel(int32, ROWS)
    n, out = k.parameters
    start = filled(k, 1)
    (a,) = k.for_(n, [start], lambda i, a: [k.emit("insert", a, i, number(k, 5))])
    k.store(out, k.index(0), a)
    k.store(out, k.index(1), start)
    np.testing.assert_array_equal(run(k, 1)[:2], [with_(ones(), 0, 5), ones()])


def test_a_captured_value_inserted_into_in_a_loop():
    """Each iteration starts from the value outside the loop."""
    k = Kernel(int32, ROWS)
    n, out = k.parameters
    start = filled(k, 1)
    k.for_(n, [], lambda i: k.store(out, i, k.emit("insert", start, i, number(k, 5))) or [])
    np.testing.assert_array_equal(run(k, 4), [with_(ones(), i, 5) for i in range(4)])


def test_an_argument_is_never_changed():
    """All threads see the same argument."""
    k = Kernel(AGG, ROWS)
    a, out = k.parameters
    i = k.thread()
    (b,) = k.for_(k.index(2), [a], lambda j, b: [k.emit("insert", b, k.emit("add", i, j), number(k, 5))])
    k.store(out, i, k.emit("add", b, a))
    got = np.zeros((3, N), np.float32)
    k.compile()(3, ones(), got[:, 0])
    np.testing.assert_array_equal(got, [with_(with_(ones(2), i, 6), i + 1, 6) for i in range(3)])


def test_branches_yield_different_aggregates():
    k = Kernel(int32, ROWS)
    n, out = k.parameters
    a, b = filled(k, 1), filled(k, 2)
    x, y = k.if_(k.emit("gt", n, k.index(0)), lambda: [a, b], lambda: [b, a])
    z = k.emit("insert", x, k.index(0), number(k, 9))
    for row, v in enumerate((x, y, z, a)):
        k.store(out, k.index(row), v)
    np.testing.assert_array_equal(run(k, 1), [ones(1), ones(2), with_(ones(1), 0, 9), ones(1)])
    np.testing.assert_array_equal(run(k, 0), [ones(2), ones(1), with_(ones(2), 0, 9), ones(1)])


def test_while_with_the_aggregate_in_its_condition():
    """Inserting in the condition block must not show in the body."""
    k = Kernel(ROWS)
    (out,) = k.parameters

    def condition(n, a):
        probe = k.emit("insert", a, k.index(1), k.emit("extract", a, k.index(0)))
        return [k.emit("lt", k.emit("extract", probe, k.index(1)), number(k, 5))]

    def body(n, a):
        grown = k.emit("add", k.emit("extract", a, k.index(0)), number(k, 1))
        return [k.emit("add", n, k.index(1)), k.emit("insert", a, k.index(0), grown)]

    n, a = k.while_([k.index(0), filled(k, 1)], condition, body)
    k.store(out, k.index(0), a)
    k.store(out, n, a)
    got = run(k, rows=5)
    np.testing.assert_array_equal(got[[0, 4]], [with_(ones(), 0, 5)] * 2)


def test_aggregates_do_not_leak_between_threads():
    k = Kernel(ROWS)
    (out,) = k.parameters
    i = k.thread()
    a = k.emit("insert", filled(k, 0), i, number(k, 1))
    k.store(out, i, a)
    got = np.ones((N, N), np.float32)
    k.compile()(N, got[:, 0])
    np.testing.assert_array_equal(got, np.eye(N))


def test_straight_line_kernels_with_many_aggregates_reuse_memory():
    k = Kernel(ROWS)
    (out,) = k.parameters
    for row in range(30):
        k.store(out, k.index(row), k.emit("add", filled(k, row), filled(k, 1)))
    kernel = k.compile()
    assert len(re.findall("alloca", kernel.emitted.text)) <= 2
    got = np.zeros((30, N), np.float32)
    kernel(1, got[:, 0])
    np.testing.assert_array_equal(got[:, 3], np.arange(30) + 1)
