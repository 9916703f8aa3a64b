"""Control flow and assignment, compared with Python running the same function."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import OPTIONS, agrees, build, evaluate, launch, names_of
from treadle.passes import prepare

N = 7


@wp.func
def early_returns(a: int, b: int):
    if a > 3:
        return 1
    elif a < -3:
        if b > 0:
            return 2
        b = b + 1
    if b == 5:
        return b * 10
    return a - b


@wp.func
def nested_ifs(a: int, b: int):
    x = 0
    if a > 0:
        if b > 0:
            x = 1
        else:
            x = a
    elif b > 1:
        x = b
    return x + 1


@wp.func
def breaks_and_continues(n: int, limit: int):
    total = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        if total > limit:
            break
        total += i
        if total == 7:
            total += 100
    return total


@wp.func
def while_with_all(n: int, limit: int):
    i = 0
    total = 0
    while i < n:
        i += 1
        if i == 2:
            continue
        for j in range(i):
            if j > limit:
                break
            if j == 11:
                return -total
            total += j * i
        else:
            total += 1000
        if total > 5000:
            break
    else:
        total += 7
    return total


@wp.func
def forever(n: int):
    k = 0
    while True:
        k += 3
        if k > n:
            return k


@wp.func
def forever_with_break(n: int):
    k = 1
    while True:
        k = k * 2
        if k > n:
            break
    return k


@wp.func
def return_in_nested_loops(n: int, m: int):
    for i in range(n):
        for j in range(m):
            if i * j == 6:
                return i * 100 + j
    return -1


@wp.func
def ranges(start: int, stop: int, step: int):
    total = 0
    count = 0
    for i in range(start, stop, step):
        total = total * 3 + i
        count += 1
    return total + count


@wp.func
def constant_ranges(x: int):
    total = 0
    for i in range(10, 0, -3):
        total = total * 2 + i * x
    for i in range(2, 9, 4):
        total = total * 2 + i
    for _ in range(N):
        total += 1
    for _ in range(5, 2):
        total += 10000
    return total


@wp.func
def assigned_in_loop(n: int):
    for i in range(n):
        last = i * 2
    if n > 0:
        return last
    return -1


@wp.func
def loop_variable_after(n: int):
    i = 5
    for i in range(n):
        pass
    return i


@wp.func
def conditionally_assigned(n: int):
    best = -1
    for i in range(n):
        y = i * i % 7
        if y > 3:
            best = y
            at = i
    if best > 0:
        return best * 10 + at
    return 0


@wp.func
def swaps(n: int):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@wp.func
def boolean_logic(a: int, b: int):
    r = 0
    if a > 0 and b > 0 or not a:
        r += 1
    if not (a > b) or a == 2 and b == 1:
        r += 2
    if 0 < a < b <= 4:
        r += 4
    if a and b:
        r += 8
    flag = a > 1
    if flag != (b > 1):
        r += 16
    return r


@wp.func
def conditional_expressions(a: int, b: int):
    return (a if a > b else b) * 10 + (1 if a == b else (2 if a > 0 else 3))


@wp.func
def chains_of_guards(a: int, b: int):
    total = 0
    for i in range(8):
        if i == a:
            if b == 3:
                break
            total += 10
            if b == 2:
                continue
            total += 100
        elif i == b:
            continue
        total += 1
    return total


@wp.func
def multiple_targets(a: int):
    x = y = a + 1
    x += 1
    (p, q), r = (x, y), 3
    return x * 100 + y * 10 + p - q + r


@wp.func
def two_loops_reuse_names(n: int):
    total = 0
    for i in range(n):
        t = i + 1
        total += t
    for i in range(n):
        t = i * 2
        total += t
    return total


SMALL = range(-5, 7)


@pytest.mark.parametrize(
    ("function", "domain"),
    [
        (early_returns, itertools.product(SMALL, SMALL)),
        (nested_ifs, itertools.product(SMALL, SMALL)),
        (breaks_and_continues, itertools.product((0, 1, 5, 9, 20), (0, 3, 10, 1000))),
        (while_with_all, itertools.product((0, 1, 2, 5, 14, 30), (1, 5, 20))),
        (forever, [(0,), (7,), (30,)]),
        (forever_with_break, [(0,), (7,), (30,)]),
        (return_in_nested_loops, itertools.product((0, 2, 5, 9), (0, 3, 8))),
        (ranges, itertools.product((-4, 0, 3, 10), (-6, 0, 3, 11), (-3, -1, 1, 2, 5))),
        (constant_ranges, [(2,), (-3,)]),
        (assigned_in_loop, [(0,), (4,)]),
        (loop_variable_after, [(0,), (3,)]),
        (conditionally_assigned, [(0,), (3,), (12,)]),
        (swaps, [(0,), (1,), (10,)]),
        (boolean_logic, itertools.product(range(-1, 6), range(-1, 6))),
        (conditional_expressions, itertools.product(SMALL, SMALL)),
        (chains_of_guards, itertools.product(range(9), range(9))),
        (multiple_targets, [(4,)]),
        (two_loops_reuse_names, [(0,), (5,)]),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_agrees_with_python(function: Any, domain: Any) -> None:
    agrees(function, *domain)


def test_a_step_of_zero_means_no_iterations() -> None:
    assert evaluate(ranges, 0, 5, 0) == 0


@wp.kernel
def tidy(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i >= n:
        return
    x = a[i]
    if x < 0.0:
        a[i] = -x
        return
    a[i] = x * 2.0


def test_early_return_moves_the_rest_into_the_other_branch() -> None:
    function = build(tidy)
    assert [op.name for op in function.body.ops if op.name not in ("constant",)] == ["thread_index", "ge", "if"]
    assert "not" not in names_of(function)
    a = np.array([1.0, -2.0, 3.0, 4.0], np.float32)
    launch(tidy, 4, a, 3)
    assert a.tolist() == [2.0, 2.0, 6.0, 4.0]


@wp.kernel
def simple_loop(a: wp.array(dtype=float), n: int):
    s = a[0]
    for i in range(n):
        t = a[i] * 2.0
        s += t
    a[0] = s


def test_a_plain_loop_carries_only_what_it_must() -> None:
    (loop,) = [op for op in build(simple_loop).body.walk() if op.name == "for"]
    assert len(loop.results) == 1
    assert not [op for op in loop.blocks[0].ops if op.name in ("mul", "add") and op.results[0].type is wp.int32]


@wp.kernel
def normalised(a: wp.array(dtype=float), n: int):
    for i in range(3, n, 2):
        a[i] = 1.0


def test_the_index_of_a_loop_does_not_wrap() -> None:
    (loop,) = [op for op in build(normalised).body.walk() if op.name == "for"]
    index = [op for op in loop.blocks[0].ops if op.name in ("mul", "add")]
    assert [op.name for op in index] == ["mul", "add"]
    assert all(op.attributes == {"nowrap": True} for op in index)


@wp.kernel
def guarded_read(a: wp.array(dtype=float), out: wp.array(dtype=int)):
    i = wp.tid()
    if i < 3 and a[i] > 1.0:
        out[i] = 1
    if i >= 3 or a[i] > 1.0:
        out[i] += 2
    out[i] += 4 if i < 3 and a[i] > 0.0 else 0


def test_and_or_read_nothing_that_is_not_asked_for() -> None:
    a, out = np.array([1.0, 2.0, 3.0], np.float32), np.zeros(5, np.int32)
    launch(guarded_read, 5, a, out)
    assert out.tolist() == [4, 7, 7, 2, 2]


def test_every_op_has_a_location() -> None:
    for kernel in (tidy, simple_loop, guarded_read):
        for op in build(kernel).body.walk():
            assert op.location is not None and op.location.file == __file__
            first = kernel.func.__code__.co_firstlineno
            assert first < op.location.line < first + 10


@wp.kernel
def calls_library(m: wp.mat22, a: wp.array(dtype=wp.mat22)):
    a[0] = (
        m * m
    )


def test_what_the_standard_library_does_is_done_by_the_line_that_calls_it() -> None:
    line = calls_library.func.__code__.co_firstlineno + 3
    products = [op for op in prepare(build(calls_library), OPTIONS).body.walk() if op.name == "mul"]
    assert products and {op.location.line for op in products} == {line}


@wp.kernel
def both_branches(out: wp.array(dtype=int), c: int):
    if c > 0:
        x = 1
        y = 2.5
    else:
        x = 2
        z = 4.5
    out[0] = x
    if c > 0:
        out[1] = int(y)
    else:
        out[1] = int(z)


def test_variables_of_one_branch() -> None:
    out = np.zeros(2, np.int32)
    launch(both_branches, 1, out, 1)
    assert out.tolist() == [1, 2]
    launch(both_branches, 1, out, -1)
    assert out.tolist() == [2, 4]


@wp.kernel
def reused_name(out: wp.array(dtype=float), c: int):
    if c > 0:
        t = 1.5
        out[0] = t
    else:
        t = wp.vec3(1.0, 2.0, 3.0)
        out[0] = t.y


def test_a_name_may_mean_different_things_in_two_branches() -> None:
    out = np.zeros(1, np.float32)
    launch(reused_name, 1, out, 0)
    assert out[0] == 2.0


@wp.kernel
def asserts(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    assert a[i] < 5.0, "too large"
    assert n > 0
    a[i] = a[i] + 1.0


def test_assert_stops_the_thread_and_says_where() -> None:
    a = np.array([1.0, 6.0, 2.0], np.float32)
    outcome = launch(asserts, 3, a, 1)
    assert a.tolist() == [2.0, 6.0, 3.0]
    assert outcome.failures == ["assertion failed: a[i] < 5.0: too large"]
    first, _ = (op for op in build(asserts).body.walk() if op.name == "assert")
    assert first.location.line == asserts.func.__code__.co_firstlineno + 3


@wp.kernel
def prints(v: wp.vec3, m: wp.mat22, n: int):
    print(n, v, "text", m)
    print(f"n is {n}!")
    wp.printf("%d and %5.2f%%\n", n, v.x)


def test_print() -> None:
    printed = "".join(launch(prints, 1, wp.vec3(1.0, 2.0, 3.0), wp.mat22(1.0, 2.0, 3.0, 4.0), 4).printed)
    assert "text" in printed and "n is 4!" in printed and "%\n" in printed
