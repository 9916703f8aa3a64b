"""IR prints as text that a person can read, and comes back from it unchanged."""

from __future__ import annotations

import math
from typing import Any

import pytest

import treadle.primitives  # noqa: F401  (fills the table of ops)
from treadle.ir import Block, Builder, Function, IRError, Location
from treadle.ir.core import CustomDerivative
from treadle.ir.equality import structurally_equal
from treadle.ir.parser import from_text
from treadle.ir.printer import to_text
from treadle.types import scalars
from treadle.types.scalars import BY_SHORT_NAME
from treadle.types.storage import Aggregate, ArrayRef

SAXPY = """\
kernel @saxpy(%0 x: array<1, 4, contiguous>, %1 "odd label": f32) {
  %2: i32 = thread_index {axis=0, rank=1} at "a file.py":12
  %3: f32 = load %0, %2 {type=f32, offset=0}
  %4: bool = lt %3, %1
  %5: f32, %6: i32 = if %4 {
    print %3 {pieces=["x \\"=\\" ", "\\n"]}
    yield %3, %2
  } else {
    yield %1, %2
  }
  %7: f32 = for %k: i32 in %6 (%acc: f32 = %5) {
    %10: f32 = mul %acc, %3
    yield %10
  }
  %11: f32 = while (%c: f32 = %7) {
    %13: bool = lt %c, %1
    yield %13
  } do (%c.2: f32) {
    yield %c.2
  }
  store %0, %2, %11 {offset=0}
}
"""


def _round_trip(function: Function) -> Function:
    text = to_text(function)
    parsed = from_text(text)
    assert to_text(parsed) == text
    assert structurally_equal(parsed, function)
    return parsed


def test_the_text_is_stable() -> None:
    function = from_text(SAXPY)
    assert to_text(function) == SAXPY
    assert function.is_kernel
    assert function.labels == ["x", "odd label"]
    assert function.body.ops[0].location == Location("a file.py", 12)


@pytest.mark.parametrize(
    ("short", "value"),
    [
        ("bool", True), ("i8", -128), ("i64", -(2**63)), ("u64", 2**64 - 1), ("f32", 0.1), ("f64", 0.1),
        ("f64", 1e300), ("f64", 5e-324), ("f64", 1e16), ("f32", math.inf), ("f32", -math.inf), ("f64", -0.0),
        ("f16", 65504.0), ("bf16", 3.0), ("f32", math.nan),
    ],
)  # fmt: skip
def test_numbers_come_back_exactly(short: str, value: Any) -> None:
    type_ = BY_SHORT_NAME[short]
    function = Function("f")
    made = Builder(function.body).constant(type_, value)
    function.body.yields = [made]
    parsed = _round_trip(function).results[0]
    assert parsed.type is type_
    assert type(parsed.constant) is type(made.constant)
    assert repr(parsed.constant) == repr(made.constant)


def test_attributes_come_back() -> None:
    attributes = {
        "types": (scalars.float32, Aggregate(scalars.int8, 40), ArrayRef(2, 12), ArrayRef(1, 4, True)),
        "one": (scalars.bool_,),
        "none": (),
        "pieces": ["", 'a "b" \\ \n', "größer"],
        "flag": True,
        "number": -3,
        "float": -0.0,
        "nothing": None,
    }
    function = Function("name.<locals>.f")
    Builder(function.body).op("restore", attributes=attributes)
    assert _round_trip(function).body.ops[0].attributes == attributes


def test_callees_are_printed_first_and_told_apart() -> None:
    small = Function("f", Block([scalars.float32]))
    small.body.yields = small.parameters
    other = Function("f", Block([scalars.int32]), custom=CustomDerivative())
    other.body.yields = other.parameters
    function = Function("f", Block([scalars.float32, scalars.int32]))
    builder = Builder(function.body)
    for callee, parameter in zip((small, other), function.parameters):
        for _ in range(2):
            builder.op("call", [parameter], [parameter.type], {"callee": callee})
    parsed = _round_trip(function)
    callees = [op.attributes["callee"] for op in parsed.body.ops]
    assert callees[0] is callees[1] and callees[2] is callees[3] and callees[0] is not callees[2]
    assert [c.name for c in callees] == ["f"] * 4
    assert callees[0].custom is None and callees[2].custom is not None


def test_equality_sees_differences() -> None:
    function = from_text(SAXPY)
    assert structurally_equal(function, from_text(SAXPY.replace("12\n", "13\n").replace("acc", "total")))
    for old, new in (
        ("mul", "add"),
        ("rank=1", "rank=2"),
        ("%acc, %3", "%3, %acc"),
        ("kernel", "function"),
        ("f32", "f64"),
    ):
        assert not structurally_equal(function, from_text(SAXPY.replace(old, new)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: a function is expected"),
        ("kernel @f() {\n  %0: f32 = neg %9\n}", "line 2: %9 is not defined"),
        ("kernel @f() {\n  %0: f33 = neg\n}", "line 2: a type is expected, not 'f33'"),
        ("kernel @f() {\n\n  ?\n}", "line 3: unexpected '?'"),
        ("kernel @f(%0: f32) {\n  if %0 {\n  }\n}", "line 4: 'else' is expected"),
        ("kernel @f() {\n  call {callee=@g}\n}", "line 2: @g is not defined"),
        ("kernel @f(%0: f32, %0: f32) {\n}", "line 1: %0 is defined twice"),
        ("kernel @f() {\n", "line 2: a word is expected, not 'the end'"),
    ],
)
def test_a_syntax_error_names_its_line(text: str, message: str) -> None:
    with pytest.raises(IRError) as error:
        from_text(text)
    assert message in str(error.value)
