"""Arithmetic, comparisons, functions and conversions of every scalar type against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.codegen.running import Kernel, array_of, bfloat16_array, evaluate, from_bfloat16
from treadle.ir import numbers
from treadle.ir.definitions import TABLE
from treadle.types import scalars
from treadle.types.scalars import FLOATS, SCALARS, SIGNED, UNSIGNED

INTEGERS = (*SIGNED, *UNSIGNED)
NATIVE_FLOATS = (scalars.float16, scalars.float32, scalars.float64)


def samples(scalar, n=64, seed=0):
    rng = np.random.default_rng(seed)
    if scalar.kind == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if scalar is scalars.bfloat16:
        return bfloat16_array(rng.normal(size=n) * 3)
    if scalar.is_float:
        return (rng.normal(size=n) * 3).astype(scalar.numpy)
    info = np.iinfo(scalar.numpy)
    values = rng.integers(info.min, info.max, n, dtype=scalar.numpy, endpoint=True)
    values[:4] = info.min, info.max, 0, 1
    return values


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "min", "max", "and", "or", "xor"])
def test_integer_arithmetic(scalar, name):
    x, y = samples(scalar), samples(scalar, seed=1)
    function = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }[name]  # fmt: skip
    with np.errstate(over="ignore"):
        expected = function(x, y)
    np.testing.assert_array_equal(evaluate(name, x, y, types=[scalar, scalar], result=scalar), expected)


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["div", "mod", "floordiv"])
def test_integer_division_never_traps(scalar, name):
    """By zero it gives zero, and the smallest number by -1 wraps around; otherwise as folded at compile time."""
    x, y = samples(scalar), samples(scalar, seed=1)
    y[5:20] = np.arange(15).astype(scalar.numpy) - (7 if scalar.kind == "signed" else 0)
    x[10], y[10] = x[0], np.array(-1).astype(scalar.numpy)
    got = evaluate(name, x, y, types=[scalar, scalar], result=scalar)
    from treadle.primitives import folding

    rule = {"div": folding.integer_division, "mod": folding.remainder, "floordiv": folding.floor_division}[name]
    expected = [numbers.normalize(scalar, rule(int(a), int(b))) for a, b in zip(x, y)]
    np.testing.assert_array_equal(got, np.array(expected, scalar.numpy))


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
def test_shifts_and_bits(scalar):
    x = samples(scalar)
    counts = np.arange(len(x)).astype(scalar.numpy)
    modulo = (counts.astype(np.int64) % scalar.bits).astype(scalar.numpy)
    types = [scalar, scalar]
    np.testing.assert_array_equal(evaluate("shl", x, counts, types=types, result=scalar), np.left_shift(x, modulo))
    np.testing.assert_array_equal(evaluate("shr", x, counts, types=types, result=scalar), np.right_shift(x, modulo))
    np.testing.assert_array_equal(evaluate("not", x, types=[scalar], result=scalar), ~x)
    mask = (1 << scalar.bits) - 1
    ones = [(int(v) & mask).bit_count() for v in x]
    np.testing.assert_array_equal(evaluate("bit_count", x, types=[scalar], result=scalars.int32), ones)


@pytest.mark.parametrize("scalar", NATIVE_FLOATS, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "min", "max"])
def test_float_arithmetic(scalar, name):
    x, y = samples(scalar), samples(scalar, seed=1)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum,
                "max": np.maximum}[name]  # fmt: skip
    got = evaluate(name, x, y, types=[scalar, scalar], result=scalar)
    np.testing.assert_array_equal(got, function(x, y))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "min", "max", "copysign"])
def test_bfloat16_rounds_once(name):
    x, y = samples(scalars.bfloat16), samples(scalars.bfloat16, seed=1)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum,
                "max": np.maximum, "copysign": np.copysign}[name]  # fmt: skip
    expected = bfloat16_array(function(from_bfloat16(x), from_bfloat16(y)))
    types = [scalars.bfloat16] * 2
    np.testing.assert_array_equal(evaluate(name, x, y, types=types, result=scalars.bfloat16), expected)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons(scalar, name):
    if scalar.kind == "bool" and name not in ("eq", "ne"):
        pytest.skip("bools have no order")
    x, y = samples(scalar), samples(scalar, seed=1)
    y[::3] = x[::3]
    if scalar in NATIVE_FLOATS:
        y[5] = np.nan
    function = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
                "ne": np.not_equal}[name]  # fmt: skip
    a, b = (from_bfloat16(x), from_bfloat16(y)) if scalar is scalars.bfloat16 else (x, y)
    got = evaluate(name, x, y, types=[scalar, scalar], result=scalars.bool_)
    np.testing.assert_array_equal(got, function(a, b))


UNARY = {
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "neg": np.negative, "abs": np.abs,
}  # fmt: skip
TOLERANCE = {scalars.float16: 2e-3, scalars.bfloat16: 1.6e-2, scalars.float32: 1e-6, scalars.float64: 2e-15}


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions(scalar, name):
    """Enough elements for the vectorised loop and its remainder."""
    x = np.linspace(0.05, 0.95, 77)
    x = bfloat16_array(x) if scalar is scalars.bfloat16 else x.astype(scalar.numpy)
    got = evaluate(name, x, types=[scalar], result=scalar)
    exact = UNARY[name]((from_bfloat16(x) if scalar is scalars.bfloat16 else x).astype(np.float64))
    got = from_bfloat16(got) if scalar is scalars.bfloat16 else got
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=TOLERANCE[scalar], atol=TOLERANCE[scalar] / 4)


@pytest.mark.parametrize("scalar", NATIVE_FLOATS, ids=str)
def test_functions_of_two_and_three(scalar):
    x, y = np.abs(samples(scalar)) + scalar(0.5), samples(scalar, seed=2) / scalar(2)
    types, wide = [scalar, scalar], np.float64
    tolerance = 4 * TOLERANCE[scalar]
    for name, function in (("pow", np.power), ("atan2", np.arctan2), ("mod", np.fmod)):
        got = evaluate(name, x, y, types=types, result=scalar).astype(wide)
        np.testing.assert_allclose(got, function(x.astype(wide), y.astype(wide)), rtol=tolerance, atol=tolerance)
    got = evaluate("fma", x, y, x, types=[scalar] * 3, result=scalar).astype(wide)
    np.testing.assert_allclose(got, x.astype(wide) * y + x, rtol=tolerance, atol=tolerance)


def test_round_takes_halves_away_from_zero():
    x = np.array([0.5, 1.5, -0.5, 2.4, -2.6, 0.49999997], np.float32)
    got = evaluate("round", x, types=[scalars.float32], result=scalars.float32)
    np.testing.assert_array_equal(got, [1, 2, -1, 2, -3, 0])


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 0, 1], np.float32)
    for name, function in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        got = evaluate(name, x, types=[scalars.float32], result=scalars.bool_)
        np.testing.assert_array_equal(got, function(x))


@pytest.mark.parametrize("target", SCALARS, ids=str)
@pytest.mark.parametrize("source", SCALARS, ids=str)
def test_casts(source, target):
    """As the constant folder converts: saturating from floats, wrapping between integers."""
    x = samples(source)
    if source in NATIVE_FLOATS:
        big = 6e4 if source is scalars.float16 else 1e30
        x[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.5, 1.9, big, -big]
    got = evaluate("cast", x, types=[source], result=target, type=target)
    k = Kernel()
    values = from_bfloat16(x) if source is scalars.bfloat16 else x
    constants = [k.emit("cast", k.constant(source, v.item()), type=target).constant for v in values]
    if target is scalars.bfloat16:
        np.testing.assert_array_equal(got, bfloat16_array(constants))
    else:
        np.testing.assert_array_equal(got, np.array(constants, target.numpy))


def test_bitcast():
    x = samples(scalars.float32)
    got = evaluate("bitcast", x, types=[scalars.float32], result=scalars.int32, type=scalars.int32)
    np.testing.assert_array_equal(got, x.view(np.int32))
    half = evaluate("bitcast", samples(scalars.uint16), types=[scalars.uint16], result=scalars.bfloat16,
                    type=scalars.bfloat16)  # fmt: skip
    np.testing.assert_array_equal(half, samples(scalars.uint16))


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_constants_are_exact(scalar):
    values = [0.1, -0.0, math.inf, math.nan, 1e-7, 65504.0] if scalar.is_float else [-1, 0, 1, 127, 1 << 63, 12345]
    k = Kernel(array_of(scalar))
    for n, value in enumerate(values):
        k.store(k.parameters[0], k.index(n), k.constant(scalar, value))
    expected = [numbers.normalize(scalar, v) for v in values]
    out = np.zeros(len(values), scalar.numpy)
    k.compile()(1, out)
    if scalar is scalars.bfloat16:
        np.testing.assert_array_equal(out, bfloat16_array(expected))
    else:
        np.testing.assert_array_equal(out, np.array(expected, scalar.numpy))
        if scalar.is_float:
            assert np.signbit(out[1])


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_select_pick_and_place(scalar):
    k = Kernel(array_of(scalars.int32), array_of(scalar), array_of(scalar, 2))
    index, values, out = k.parameters
    i = k.thread()
    n = k.load(index, i, type=scalars.int32)
    components = [k.load(values, k.index(c), type=scalar) for c in range(3)]
    k.store(out, i, k.index(0), k.emit("pick", n, *components))
    for c, v in enumerate(k.emit_many("place", n, k.load(values, k.index(3), type=scalar), *components)):
        k.store(out, i, k.index(1 + c), v)
    k.store(out, i, k.index(4), k.emit("select", k.emit("eq", n, k.index(0)), *components[:2]))
    v = samples(scalar)[:4]
    got = np.zeros((5, 5), scalar.numpy)
    k.compile()(5, np.array([0, 1, 2, 3, -1], np.int32), v, got)
    for row, n_ in zip(got, [0, 1, 2, 3, -1]):
        placed = v[:3].copy()
        if 0 <= n_ < 3:
            placed[n_] = v[3]
        np.testing.assert_array_equal(row, [v[n_ if 0 <= n_ < 3 else 2], *placed, v[0] if n_ == 0 else v[1]])


def test_every_primitive_with_a_lowering_is_covered():
    """A new primitive must come with a test here."""
    tested = {"add", "sub", "mul", "div", "mod", "floordiv", "min", "max", "and", "or", "xor", "not", "shl", "shr",
              "bit_count", "bitcast", "cast", "select", "pick", "place", "copysign", "fma", "pow", "atan2", "round",
              "isnan", "isinf", "isfinite", "lt", "le", "gt", "ge", "eq", "ne", *UNARY}  # fmt: skip
    assert {name for name, d in TABLE.items() if d.lower is not None} <= tested
