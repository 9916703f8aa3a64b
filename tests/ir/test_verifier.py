"""The verifier accepts what obeys the rules, and says what does not and where."""

from __future__ import annotations

import pytest

import treadle.primitives  # noqa: F401  (fills the table of ops)
from treadle.ir import Block, Builder, Function, IRError, Location
from treadle.ir.parser import from_text
from treadle.ir.verifier import verify
from treadle.types import scalars

HEADER = "function @f(%b: bool, %i: i32, %f: f32, %x: array<1, 12>, %c: array<1, 12, contiguous>) {\n"


@pytest.mark.parametrize(
    "body",
    [
        "%1: f32 = if %b {\n yield %f\n } else {\n yield %f\n }",
        "%1: array<1, 12> = if %b {\n yield %c\n } else {\n yield %x\n }",
        "%1: f32 = for %k: i32 in %i (%a: f32 = %f) {\n yield %a\n }",
        "%1: f32 = load %x, %i {type=f32, offset=8}",
        "%1: i64 = frame %i {slot_group=1}\n save %1, %i, %f {slot_group=1}\n release %1 {slot_group=1}",
        'assert %b, %f {message="{0} is wrong"}',
    ],
)
def test_what_obeys_the_rules_is_accepted(body: str) -> None:
    verify(from_text(HEADER + body + "\n}"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%1: f32 = neg %i", "results (f32) where (i32) is expected"),
        ("%1: i32 = add %i, %f", "operands of different types"),
        ("%1: i32 = nonsense %i", "there is no op 'nonsense'"),
        ("%1: f32 = if %i {\n yield %f\n } else {\n yield %f\n }", "must be one bool"),
        ("%1: f32 = if %b {\n yield %f\n } else {\n yield %i\n }", "yields of types (i32) for (f32)"),
        ("if %b {\n %1: f32 = neg %f\n } else {\n }\n %2: f32 = neg %1", "value 0 is used where it is out of scope"),
        ("%1: f32 = for %k: i32 in %i (%a: i32 = %i) {\n yield %f\n }", "parameters do not match"),
        ("%1: f32 = for %k: i32 in %f (%a: f32 = %f) {\n yield %f\n }", "count is int32 or int64"),
        ("%1: f32 = for %k: i32 in %i (%a: f32 = %f) {\n yield %i\n }", "yields of types (i32)"),
        ("while () {\n yield %i\n } do {\n }", "must yield one bool"),
        ("%1: i32 = constant {value=1.5}", "the value 1.5"),
        ("%1: i8 = constant {value=300}", "int8 cannot hold 300"),
        ("%1: f32 = constant {value=0.1}", "float32 cannot hold 0.1"),
        ("%1: f32 = load %x, %i {type=f32, offset=12}", "offset 12 of 4 bytes in 12"),
        ("%1: f32 = load %x {type=f32, offset=0}", "0 indices for an array with 1 dimensions"),
        ("%1: f32 = load %x, %i {offset=0}", "KeyError: 'type'"),
        ("store %x, %f, %f {offset=0}", "an index must be an integer"),
        ('print %f {pieces=["a"]}', "1 pieces around 1 values"),
        ('assert %b {message="{0}"}', "refers to a value that is not there"),
        ("%1: i64 = frame\n %2: i64 = frame\n release %1", "not the topmost"),
        ("release %i", "operands (i32)"),
        ("save %i", "operands (i32)"),
    ],
)
def test_a_broken_rule_is_named(body: str, message: str) -> None:
    with pytest.raises(IRError) as error:
        verify(from_text(HEADER + body + "\n}"))
    assert message in str(error.value)


def test_the_message_has_op_and_place() -> None:
    function = Function("f", Block([scalars.float32]))
    Builder(function.body, Location("user.py", 7)).op("neg", function.parameters, [scalars.int32])
    with pytest.raises(IRError, match=r"user\.py:7: results \(i32\) (.|\n)*: i32 = neg %"):
        verify(function)


def test_values_know_their_owner() -> None:
    function = Function("f", Block([scalars.float32]))
    builder = Builder(function.body)
    first, second = (builder.op("neg", function.parameters, [scalars.float32]) for _ in range(2))
    second.results = list(first.results)
    with pytest.raises(IRError, match="does not know where it is defined"):
        verify(function)


def test_an_op_in_two_places_is_refused() -> None:
    function = Function("f", Block([scalars.float32]))
    op = Builder(function.body).op("neg", function.parameters, [scalars.float32])
    function.body.ops.append(op)
    with pytest.raises(IRError, match="defined twice"):
        verify(function)


def test_callees_are_verified_and_signatures_compared() -> None:
    text = "function @g(%x: f32) {\n %1: f32 = neg %x\n yield %1\n}\n" + HEADER + " %1: f32 = call %f {callee=@g}\n}"
    function = from_text(text)
    verify(function)
    function.body.ops[0].attributes["callee"].body.ops[0].name = "not"
    with pytest.raises(IRError, match="f32"):
        verify(function)
    with pytest.raises(IRError, match=r"arguments of types \(i32\)"):
        verify(from_text(text.replace("call %f", "call %i")))


def test_a_kernel_has_no_results() -> None:
    with pytest.raises(IRError, match="function f: a kernel has no results"):
        verify(from_text("kernel @f(%0: f32) {\n yield %0\n}"))
