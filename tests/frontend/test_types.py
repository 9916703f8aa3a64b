"""Literals, guesses, conversions and operators on scalars."""

from __future__ import annotations

import enum
import itertools
import math
from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import agrees, build, evaluate, launch, names_of, result_type
from treadle.language import CompileError

DOUBLE = np.float64(0.1)
LITERAL = 2.5


class Mode(enum.IntEnum):
    FAST = 3


class Plain(enum.Enum):
    SLOW = 4


class Settings:
    scale = 1.5

    class Inner:
        count = 6


@wp.func
def sum_of_doubles(x: wp.float64, n: int):
    s = 0.0
    for i in range(n):
        s += x
    return s


@wp.func
def integer_literal_becomes_float(x: wp.float64, n: int):
    s = 0
    for i in range(n):
        s += x
        s = s * 2
    return s


@wp.func
def chain_of_guesses(x: wp.float64, n: int):
    a = 0
    b = 1
    for i in range(n):
        a = b
        for j in range(2):
            b = b + 0.5
            if i > 1:
                c = a * 2.0
            else:
                c = 1
        b = b + c
    return b * x


@wp.func
def guess_in_branch(x: wp.float64):
    if x > 0.0:
        k = 1.0
    else:
        k = 2
    return k * x


@wp.func
def guess_by_choice(x: wp.float64):
    k = 1.0 if x > 0.0 else 2
    return wp.where(x > 3.0, 1, k) * x


@wp.func
def guess_in_function_argument(x: wp.float64, n: int):
    s = 0.0
    for i in range(n):
        s = wp.sin(s) + wp.max(s, 0.0) + wp.min(x, s)
    return s


@wp.func
def counts_in_int64(n: wp.int64):
    i = 0
    while i < n:
        i += 1
    return i


def test_variables_from_literals_take_the_type_of_what_they_meet() -> None:
    for function in (sum_of_doubles, integer_literal_becomes_float, chain_of_guesses, guess_in_function_argument):
        assert result_type(function, wp.float64, wp.int32) is wp.float64, function
    for function in (guess_in_branch, guess_by_choice):
        assert result_type(function, wp.float64) is wp.float64, function
    agrees(sum_of_doubles, (0.1, 3))
    agrees(integer_literal_becomes_float, (0.1, 3), (0.5, 0))
    agrees(chain_of_guesses, (0.1, 3))
    agrees(guess_in_branch, 2.0, -2.0)
    assert result_type(counts_in_int64, wp.int64) is wp.int64


@wp.func
def default_types(n: int):
    a = 0
    b = 0.0
    c = False
    for i in range(n):
        a = a + 1
        b = b + 1.0
        c = not c
    return a, b, c


def test_guesses_that_meet_nothing_keep_the_default() -> None:
    from treadle import frontend

    found = frontend.build_function(default_types, [wp.int32]).result
    assert [item.type for item in found.items] == [wp.int32, wp.float32, wp.bool_]


@wp.func
def index_and_factor(a: wp.array(dtype=float), n: int):
    k = 0
    s = 0.0
    for i in range(n):
        k += 1
        s += a[k] * k
    return s


def test_a_counter_does_not_become_a_float_unnoticed() -> None:
    with pytest.raises(CompileError) as error:
        build(_kernel_calling(index_and_factor))
    assert "an index must be an integer" in str(error.value)
    assert "the type of 'k' was taken to be float32" in str(error.value)


def _kernel_calling(function: Any) -> Any:
    @wp.kernel
    def calls(a: wp.array(dtype=float), n: int):
        a[0] = function(a, n)

    return calls


@wp.func
def int_division(a: int, b: int):
    return a // b, a / b, a % b, -a // 3, -a / 3, -a % 3


def test_integers_divide_as_in_c() -> None:
    for a, b in itertools.product((-7, -1, 0, 5, 9), (-3, 2, 4)):
        quotient = int(a / b)
        third = int(-a / 3)
        expected = [a // b, quotient, a - b * quotient, -a // 3, third, -a - 3 * third]
        assert evaluate(int_division, a, b) == expected


@wp.func
def literal_division():
    return 7 / 2, -7 / 2, -7 // 2, -7 % 3, 7.0 / 2, 2**10, 2.0**-1


def test_literals_divide_as_in_c() -> None:
    assert evaluate(literal_division) == [3, -3, -4, -1, 3.5, 1024, 0.5]


@wp.func
def bit_operations(a: int, b: int):
    return a & b, a | b, a ^ b, ~a, a << 3, a >> 1, (a & 0xFFFFFFFF) >> b


def test_bit_operations() -> None:
    agrees(bit_operations, (5, 3), (1023, 7))
    assert evaluate(bit_operations, -5, 1)[:5] == [-5 & 1, -5 | 1, -5 ^ 1, 4, -40]


@wp.func
def powers(x: wp.float64, y: wp.float64):
    return x**2, x**3, x**-2, x**0, x**y, x**2.0, wp.pow(x, y), wp.pow(x, 3.0)


def test_powers() -> None:
    x, y = 1.7, 2.3
    expected = [x**2, x**3, x**-2, 1.0, x**y, x**2, x**y, x**3]
    np.testing.assert_allclose(evaluate(powers, x, y), expected, rtol=1e-12)


@wp.kernel
def squares(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] ** 2 + a[i] ** 7.0


def test_small_powers_are_products() -> None:
    assert "pow" not in names_of(build(squares))
    a = np.array([2.0], np.float32)
    launch(squares, 1, a)
    assert a[0] == 4 + 128


@wp.func
def wraps(a: int):
    return a * 65536 + 2147483647, wp.uint32(a) * wp.uint32(3000000000), wp.int8(a)


def test_integers_wrap_around() -> None:
    a = 40000
    assert evaluate(wraps, a) == [
        int(np.int64(a * 65536 + 2147483647).astype(np.int32)),
        (a * 3000000000) % 2**32,
        int(np.int64(a).astype(np.int8)),
    ]


@wp.func
def casts(x: wp.float64, i: int):
    return (
        int(x),
        float(i),
        wp.int64(x),
        wp.uint8(i),
        wp.float16(x),
        bool(i),
        wp.bool_(x),
        wp.float64(3),
        int(2.9),
        int(True),
    )


def test_casts() -> None:
    assert evaluate(casts, -2.7, 300) == [-2, 300.0, -2, 44, float(np.float16(-2.7)), True, True, 3.0, 2, 1]
    assert evaluate(casts, 0.0, 0)[5:7] == [False, False]


@wp.func
def constants(x: wp.float64):
    return (
        x * LITERAL + Mode.FAST,
        DOUBLE + x,
        x + Plain.SLOW.value,
        x * math.pi,
        x + Settings.scale + Settings.Inner.count,
        x + N_CLOSURE,
    )


N_CLOSURE = wp.constant(11)


def test_captured_numbers_are_literals_and_numpy_scalars_have_their_type() -> None:
    x = 2.0
    expected = [x * 2.5 + 3, 0.1 + x, x + 4, x * math.pi, x + 7.5, x + 11]
    np.testing.assert_allclose(evaluate(constants, x), expected, rtol=1e-12)


def make_kernel(factor: Any) -> Any:
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = a[i] * factor + wp.static(factor * 10.0)

    return scale


def test_kernels_made_by_a_factory_keep_their_constants() -> None:
    for factor in (2.0, 3.0):
        a = np.array([1.0], np.float32)
        launch(make_kernel(factor), 1, a)
        assert a[0] == factor * 11
    kernels = [make_kernel(f) for f in (1.0, 2.0)]
    assert len({k.key for k in kernels}) == 2
    assert {k.name for k in kernels} == {"scale"}


@wp.func
def annotated_variables(n: int):
    s: wp.float64 = 0.0
    k: wp.uint8 = 255
    for i in range(n):
        s += 0.1
        k += 1
    return s, k


def test_annotated_variables() -> None:
    assert evaluate(annotated_variables, 3) == [0.1 + 0.1 + 0.1, 2]


@wp.func
def unsigned_range(n: wp.uint8, m: wp.int64):
    total = wp.int64(0)
    for i in range(n):
        total += wp.int64(i)
    for j in range(m):
        total += j * 10
    return total


def test_ranges_of_other_types() -> None:
    assert evaluate(unsigned_range, 200, 3) == sum(range(200)) + 30


@wp.func
def static_values(x: wp.float64):
    table = wp.static(tuple(k * k for k in range(4)))
    return x * wp.static(len("abc") + LITERAL) + table[2]


def test_static() -> None:
    assert evaluate(static_values, 2.0) == 2.0 * 5.5 + 4


@wp.func
def static_branch(x: wp.float64):
    if wp.static(LITERAL > 2.0):
        return x
    else:
        return x.no_such_thing


def test_only_the_taken_branch_of_a_constant_condition_is_compiled() -> None:
    assert evaluate(static_branch, 2.0) == 2.0


@wp.func
def identities(x: wp.float64):
    r = 0
    if type(x) is wp.float64:
        r += 1
    if type(x) == wp.float64 and not (type(x) == wp.float32):  # noqa: E721
        r += 2
    if None is None:
        r += 4
    if isinstance(x, wp.float64):
        r += 8
    if x.dtype is wp.float64:
        r += 16
    return r


def test_compile_time_comparisons() -> None:
    assert evaluate(identities, 1.0) == 31


@wp.func
def membership(i: int):
    r = 0
    if i in (1, 2, 5):
        r += 1
    if i not in (2, 3):
        r += 2
    return r


def test_in() -> None:
    assert [evaluate(membership, i) for i in (1, 2, 3, 4)] == [3, 1, 0, 2]


@wp.kernel
def where_with_division(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = wp.where(a[i] == 0.0, 0.0, 1.0 / a[i]) + wp.select(a[i] > 1.0, 10.0, 20.0)


def test_where_computes_only_what_it_needs() -> None:
    function = build(where_with_division)
    assert "if" in names_of(function) and "select" in names_of(function)
    a = np.array([0.0, 2.0], np.float32)
    launch(where_with_division, 2, a)
    assert a.tolist() == [10.0, 20.5]


@wp.kernel
def where_with_effect(a: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = wp.where(i > 0, wp.atomic_add(a, 0, 1), 7)


def test_where_evaluates_what_has_an_effect() -> None:
    a, out = np.zeros(1, np.int32), np.zeros(3, np.int32)
    launch(where_with_effect, 3, a, out)
    assert a[0] == 3 and out.tolist() == [7, 1, 2]


def test_many_guesses_do_not_mean_many_attempts(tmp_path: Any) -> None:
    import time

    from tests.frontend.test_random_programs import load

    lines = ["from tests.frontend import names as wp", "@wp.func", "def f(x: wp.float64, n: int):", "    total = x"]
    for k in range(150):
        lines += [f"    s{k} = 0", "    for i in range(n):", f"        s{k} += x", f"    total += s{k}"]
    lines.append("    return total")
    function = load(tmp_path, "many_guesses", "\n".join(lines) + "\n").f
    begin = time.process_time()
    assert evaluate(function, 0.5, 2) == 0.5 + 150
    assert time.process_time() - begin < 5.0
