"""``if``, ``for`` and ``while``, nested and with carried values of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.running import Kernel, array_of
from treadle.types.scalars import SCALARS, bool_, float32, float64, int32, int64


@pytest.mark.parametrize("count_type", [int32, int64], ids=str)
def test_for_counts_and_a_negative_count_is_none(count_type):
    k = Kernel(count_type, array_of(int64))
    n, out = k.parameters
    total, last = k.for_(
        n, [k.constant(int64, 0), k.constant(int64, -1)],
        lambda i, total, last: [k.emit("add", total, k.emit("cast", i, type=int64)), k.emit("cast", i, type=int64)],
    )  # fmt: skip
    k.store(out, k.index(0), total)
    k.store(out, k.index(1), last)
    kernel = k.compile()
    for count in (-5, 0, 1, 2, 10, -(2**31)):
        got = np.zeros(2, np.int64)
        kernel(1, count, got)
        assert list(got) == [sum(range(count)), max(count, 0) - 1]


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_every_scalar_is_carried_and_yielded(scalar):
    k = Kernel(scalar, scalar, int32, array_of(scalar))
    a, b, n, out = k.parameters
    x, y = k.for_(n, [a, b], lambda i, x, y: [y, x])
    (chosen,) = k.if_(k.emit("gt", n, k.index(3)), lambda: [x], lambda: [y])
    k.store(out, k.index(0), x)
    k.store(out, k.index(1), chosen)
    kernel = k.compile()
    one = 0x3F80 if scalar.short == "bf16" else 1
    for count in range(6):
        got = np.zeros(2, scalar.numpy)
        kernel(1, 0, 1, count, got)
        first = one if count % 2 else 0
        assert list(got) == [first, first if count > 3 else one - first]


def test_while_with_a_condition_that_computes():
    """The number of Collatz steps."""
    k = Kernel(array_of(int32), array_of(int32))
    start, out = k.parameters
    t = k.thread()
    one, two = k.index(1), k.index(2)

    def body(n, steps):
        odd = k.emit("eq", k.emit("and", n, one), one)
        (following,) = k.if_(
            odd, lambda: [k.emit("add", k.emit("mul", n, k.index(3)), one)], lambda: [k.emit("div", n, two)]
        )
        return [following, k.emit("add", steps, one)]

    _, steps = k.while_([k.load(start, t, type=int32), k.index(0)], lambda n, steps: [k.emit("ne", n, one)], body)
    k.store(out, t, steps)

    def collatz(n: int) -> int:
        return 0 if n == 1 else 1 + collatz(3 * n + 1 if n % 2 else n // 2)

    numbers = np.arange(1, 60, dtype=np.int32)
    got = np.zeros(59, np.int32)
    k.compile()(59, numbers, got)
    np.testing.assert_array_equal(got, [collatz(int(n)) for n in numbers])


def test_nested_loops_with_a_flag_as_break():
    """For each thread, the sum of products until it exceeds a bound."""
    k = Kernel(array_of(float64), int32, float64)
    out, n, bound = k.parameters
    t = k.thread()
    zero = k.constant(float64, 0)
    running = k.constant(bool_, True)

    def outer(i, total, on):
        def inner(j, total, on):
            def add():
                product = k.emit("cast", k.emit("mul", i, k.emit("add", j, t)), type=float64)
                summed = k.emit("add", total, product)
                return [summed, k.emit("le", summed, bound)]

            return k.if_(on, add, lambda: [total, on])

        return k.for_(k.emit("add", i, k.index(1)), [total, on], inner)

    total, _ = k.for_(n, [zero, running], outer)
    k.store(out, t, total)

    def reference(t: int) -> float:
        total = 0.0
        for i in range(9):
            for j in range(i + 1):
                total += i * (j + t)
                if not total <= 100:
                    return total
        return total

    got = np.zeros(12)
    k.compile()(12, got, 9, 100.0)
    np.testing.assert_array_equal(got, [reference(t) for t in range(12)])


def test_an_if_without_results_writes():
    k = Kernel(array_of(float32))
    (x,) = k.parameters
    i = k.thread()
    even = k.emit("eq", k.emit("and", i, k.index(1)), k.index(0))
    k.if_(even, lambda: k.store(x, i, k.constant(float32, 1)), lambda: k.store(x, i, k.constant(float32, 2)))
    got = np.zeros(9, np.float32)
    k.compile()(9, got)
    np.testing.assert_array_equal(got, [1, 2, 1, 2, 1, 2, 1, 2, 1])
