"""Literals out of the range of an integer type: in comparisons and ``range`` right or refused, never taken as bits."""

from __future__ import annotations

import operator

import pytest

import treadle as wp

COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
SOURCE = """
import treadle as wp

@wp.kernel
def compare(x: wp.{type}, out: wp.array(dtype=bool)):
    out[0] = {expression}
"""


def compare(tmp_path, type_name, expression, value):
    path = tmp_path / "kernel_that_compares.py"
    path.write_text(SOURCE.format(type=type_name, expression=expression))
    namespace = {"__name__": "kernel_that_compares"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    out = wp.zeros(1, dtype=bool)
    wp.launch(namespace["compare"], dim=1, inputs=[value, out])
    return out.list()[0]


@pytest.mark.parametrize("symbol", COMPARISONS)
@pytest.mark.parametrize(
    ("type_name", "literal"),
    [("int32", 3_000_000_000), ("uint32", -1), ("int8", 200), ("uint8", -1), ("uint64", -5), ("int64", 2**63)],
)
def test_comparisons(symbol, type_name, literal, tmp_path):
    for expression in (f"x {symbol} {literal}", f"{literal} {symbol} x"):
        with pytest.raises(wp.CompileError, match=f"the literal {literal} does not fit in {type_name}, which holds"):
            compare(tmp_path, type_name, expression, 1)
    typed = f"x {symbol} wp.{type_name}({literal})"
    expected = COMPARISONS[symbol](1, getattr(wp, type_name)(literal))
    assert compare(tmp_path, type_name, typed, 1) == expected


@pytest.mark.parametrize(
    "expression", ["x in (1, 200)", "x in wp.types.vector(2, wp.int8)(x, x) and 200 in wp.types.vector(2, wp.int8)(x)"]
)
def test_membership(expression, tmp_path):
    with pytest.raises(wp.CompileError, match="the literal 200 does not fit in int8"):
        compare(tmp_path, "int8", expression, -56)


def test_arithmetic_names_a_way_out(tmp_path):
    with pytest.raises(wp.CompileError, match="the literal does not fit; convert the other operand to a wider type"):
        compare(tmp_path, "uint8", "x + 256 > x", 1)
    assert compare(tmp_path, "uint8", "wp.int64(x) + 256 == 257", 1)
    assert compare(tmp_path, "int32", "x ^ 0xFFFFFFFF == -2", 1)


# Ranges.


@wp.func
def total(n: wp.Int):
    """How many items, and their sum with a weight for each range."""
    count = int(0)
    checksum = int(0)
    for i in range(n, type(n)(0), -1):
        count += 1
        checksum += int(i)
    for i in range(n, -1, -2):
        count += 1
        checksum += 100 * int(i)
    for i in range(0, n, 3):
        count += 1
        checksum += 10000 * int(i)
    return count, checksum


def expected_total(n):
    spans = [range(n, 0, -1), range(n, -1, -2), range(0, n, 3)]
    return [sum(map(len, spans)), sum(weight * sum(span) for weight, span in zip((1, 100, 10000), spans))]


@pytest.mark.parametrize("n", [0, 1, 5, 100])
@pytest.mark.parametrize("dtype", [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64])
def test_ranges_that_count_down(dtype, n):
    @wp.kernel
    def run(out: wp.array(dtype=int), n: dtype):
        count, checksum = total(n)
        out[0] = count
        out[1] = checksum

    out = wp.zeros(2, dtype=int)
    wp.launch(run, dim=1, inputs=[out, n])
    assert out.list() == expected_total(n)


def test_a_range_of_constants_counts_down():
    @wp.kernel
    def run(out: wp.array(dtype=wp.uint32)):
        for i in range(wp.uint32(3), wp.uint32(0), -1):
            out[0] = out[0] * wp.uint32(10) + i

    out = wp.zeros(1, dtype=wp.uint32)
    wp.launch(run, dim=1, inputs=[out])
    assert out.list() == [321]


def test_an_unsigned_range_across_the_sign_bit():
    @wp.kernel
    def run(out: wp.array(dtype=wp.uint32), n: wp.uint32):
        k = int(0)
        for i in range(n, n + wp.uint32(4)):
            out[k] = i
            k += 1

    out = wp.zeros(4, dtype=wp.uint32)
    wp.launch(run, dim=1, inputs=[out, 2**31 - 2])
    assert out.list() == [2**31 - 2, 2**31 - 1, 2**31, 2**31 + 1]


@pytest.mark.parametrize(
    ("dtype", "bounds", "literal"),
    [
        (wp.int8, (0, 200), 200), (wp.uint32, (-2, 5), -2), (wp.uint32, (0, -2), -2), (wp.int32, (0, 2**31), 2**31),
        (wp.int32, (0, 5, 2**31), 2**31), (wp.uint64, (5, -1, -1), -1), (wp.int8, (0, 5, -129), -129),
    ],
)  # fmt: skip
def test_bounds_that_do_not_fit(dtype, bounds, literal):
    start, stop, step = (*bounds, 1)[:3]

    @wp.kernel
    def run(out: wp.array(dtype=int), n: dtype):
        for _ in range(n, wp.static(stop), wp.static(step)):
            out[0] += 1
        for _ in range(wp.static(start), n, wp.static(step)):
            out[0] += 1

    with pytest.raises(wp.CompileError, match=f"the literal {literal} does not fit in {dtype.__name__}"):
        wp.launch(run, dim=1, inputs=[wp.zeros(1, dtype=int), 1])
