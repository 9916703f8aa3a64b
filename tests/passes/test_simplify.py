"""What the simplifying passes are there to achieve, on small functions given as text."""

from __future__ import annotations

import gc
import time
from collections import Counter
from textwrap import dedent

import pytest

import treadle.primitives  # noqa: F401  (fills the table of ops)
from tests.ir.interpreter import run_function
from treadle.ir import Block, Builder, Function, Value
from treadle.ir.parser import from_text
from treadle.ir.printer import to_text
from treadle.ir.verifier import verify
from treadle.passes.dead_code import dead_code
from treadle.passes.inline import inline
from treadle.passes.simplify import simplify
from treadle.passes.unroll import unroll
from treadle.types import scalars
from treadle.types.storage import Aggregate

HEADER = "function @f(%b: bool, %i: i32, %j: i32, %f: f32, %g: f32, %x: array<1, 4>) {\n"


def parse(body: str) -> Function:
    function = from_text(HEADER + dedent(body) + "\n}")
    verify(function)
    return function


def reduced(body: str) -> str:
    """The body after simplifying twice and removing dead code."""
    function = dead_code(simplify(simplify(parse(body))))
    verify(function)
    lines = to_text(function).splitlines()[1:-1]
    return "\n".join(line.strip() for line in lines)


def names(function: Function) -> Counter[str]:
    return Counter(op.name for op in function.body.walk())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Identities.
        ("%1: bool = not %b\n %2: bool = not %1\n yield %2", "yield %b"),
        ("%1: bool = not %b\n %2: f32 = select %1, %f, %g\n yield %2", "%6: f32 = select %b, %g, %f\nyield %6"),
        ("%1: bool = lt %i, %j\n %2: bool = not %1\n yield %2", "%6: bool = ge %i, %j\nyield %6"),
        ("%1: f32 = neg %f\n %2: f32 = neg %1\n yield %2", "yield %f"),
        ("%1: i32 = sub %i, %i\n %2: i32 = add %j, %1\n yield %2", "yield %j"),
        ("%1: bool = constant {value=true}\n %2: bool = and %b, %1\n yield %2", "yield %b"),
        ("%1: bool = constant {value=false}\n %2: bool = eq %b, %1\n yield %2", "%6: bool = not %b\nyield %6"),
        ("%1: bool = constant {value=false}\n %2: bool = constant {value=false}\n %3: bool = select %b, %1, %2\n "
         "yield %3",
         "%6: bool = constant {value=false}\nyield %6"),
        # Decided branches.
        ("%1: f32 = if %b {\n yield %f\n } else {\n yield %f\n }\n yield %1", "yield %f"),
        ("%1: bool = constant {value=false}\n if %1 {\n print {pieces=[\"\"]}\n } else {\n }", ""),
        ("if %b {\n if %b {\n } else {\n print {pieces=[\"\"]}\n }\n } else {\n }", ""),
        # Cheap branches.
        ("%1: f32 = if %b {\n yield %f\n } else {\n yield %g\n }\n yield %1", "%6: f32 = select %b, %f, %g\nyield %6"),
        # Loops.
        ("%1: f32 = for %k: i32 in %i (%a: f32 = %f) {\n yield %a\n }\n yield %1", "yield %f"),
        ("%1: f32 = for %k: i32 in %i (%a: f32 = %f) {\n yield %f\n }\n yield %1", "yield %f"),
        ("%n: i32 = constant {value=-2}\n %1: f32 = for %k: i32 in %n (%a: f32 = %f) {\n yield %g\n }\n yield %1",
         "yield %f"),
        ("%n: i32 = constant {value=1}\n %1: f32 = for %k: i32 in %n (%a: f32 = %f) {\n yield %g\n }\n yield %1",
         "yield %g"),
        ("%1: f32 = while (%a: f32 = %f) {\n %c: bool = constant {value=false}\n yield %c\n } do (%d: f32) {\n"
         " yield %g\n }\n yield %1", "yield %f"),
        # Common subexpressions.
        ("%1: f32 = add %f, %g\n %2: f32 = add %f, %g\n %3: f32 = mul %1, %2\n yield %3",
         "%6: f32 = add %f, %g\n%7: f32 = mul %6, %6\nyield %7"),
        # Dead code.
        ("%1: f32 = load %x, %i {type=f32, offset=0}\n %2: f32 = neg %1", ""),
        ("%1: f32 = while (%a: f32 = %f) {\n yield %b\n } do (%d: f32) {\n yield %d\n }", ""),
        ("assert %b {message=\"\"}\n if %b {\n assert %b {message=\"\"}\n } else {\n }", 'assert %b {message=""}'),
    ],
)  # fmt: skip
def test_reductions(body: str, expected: str) -> None:
    assert reduced(body) == expected


@pytest.mark.parametrize(
    "inner",
    [
        "%2: f32 = load %x, %i {type=f32, offset=0}",
        "%2: f32 = div %f, %g",
        "%3: i32 = div %i, %j\n %2: f32 = cast %3 {type=f32}",
        # In the derivative 0 times the other factor may be NaN.
        "%2: f32 = mul %f, %g",
        "%2: f32 = exp %f",
    ],
)
def test_a_branch_stays_if_running_it_in_vain_could_matter(inner: str) -> None:
    assert "if %b" in reduced(f"%1: f32 = if %b {{\n {inner}\n yield %2\n }} else {{\n yield %f\n }}\n yield %1")


def test_negative_zero_and_nan_are_kept() -> None:
    body = """
        %p: f32 = constant {value=0.0}
        %m: f32 = constant {value=-0.0}
        %1: f32 = if %b {
          yield %p
        } else {
          yield %m
        }
        %2: f32 = sub %f, %m
        %3: f32 = add %f, %p
        %4: f32 = mul %f, %p
        %5: f32 = sub %f, %f
        yield %1, %2, %3, %4, %5
    """
    function = simplify(parse(body))
    for b, f in ((False, -0.0), (True, float("nan")), (True, float("inf"))):
        arguments = [b, 0, 0, f, f, None]
        assert repr(run_function(function, arguments)) == repr(run_function(parse(body), arguments))


def test_dead_results_and_cycles_of_carried_values_vanish() -> None:
    body = """
        %1: f32, %2: f32 = for %k: i32 in %i (%a: f32 = %f, %c: f32 = %g) {
          %3: f32 = add %a, %f
          %4: f32 = add %c, %a
          yield %3, %4
        }
        %5: f32, %6: i32 = if %b {
          %7: i32 = neg %i
          %8: f32 = div %f, %1
          yield %8, %7
        } else {
          yield %f, %i
        }
        yield %5
    """
    assert reduced(body) == dedent("""\
        %6: f32 = for %k: i32 in %i (%a: f32 = %f) {
        %9: f32 = add %a, %f
        yield %9
        }
        %10: f32 = if %b {
        %11: f32 = div %f, %6
        yield %11
        } else {
        yield %f
        }
        yield %10""")


FRAMES = """
    %frame: i64 = if %b {
      %1: i64 = frame %i {slot_group=7}
      %2: f32 = for %k: i32 in %i (%a: f32 = %f) {
        save %1, %k, %a, %g {slot_group=7}
        %3: f32 = exp %a
        yield %3
      }
      yield %1
    } else {
      %4: i64 = constant {value=0}
      yield %4
    }
    %5: f32 = if %b {
      %6: f32 = for %l: i32 in %i (%c: f32 = %f) {
        %7: f32, %8: f32 = restore %frame, %l {types=(f32, f32), slot_group=7}
        %9: f32 = add %c, RESTORED
        yield %9
      }
      release %frame {slot_group=7}
      yield %6
    } else {
      yield %f
    }
    yield %5
"""


@pytest.mark.parametrize(("restored", "kept"), [("%7", "%a"), ("%8", "%g")])
def test_a_saved_value_that_is_not_restored_is_not_saved(restored: str, kept: str) -> None:
    text = reduced(FRAMES.replace("RESTORED", restored))
    assert f"%k, {kept} {{slot_group=7}}" in text
    assert "{types=(f32), slot_group=7}" in text
    assert ("exp" in text) == (kept == "%a")


def test_a_frame_without_restored_values_disappears() -> None:
    function = dead_code(simplify(parse(FRAMES.replace("RESTORED", "%g"))))
    verify(function)
    assert names(function).keys() == {"if", "for", "add"}


def test_inlining_is_transitive_and_keeps_custom_derivatives() -> None:
    text = """\
function @square(%0: f32) {
  %1: f32 = mul %0, %0
  yield %1
}

function @own(%0: f32) custom {
  %1: f32 = call %0 {callee=@square}
  yield %1
}

function @f(%0: f32) {
  %1: f32 = call %0 {callee=@own}
  %2: f32 = call %1 {callee=@square}
  yield %2
}
"""
    function = from_text(text)
    kept = inline(function, keep_custom=True)
    assert names(kept) == {"call": 1, "mul": 1}
    assert names(inline(kept, keep_custom=False)) == {"mul": 2}
    assert to_text(function) == text
    assert run_function(inline(function, keep_custom=False), [3.0]).results == [81.0]


def _nested_loops(builder: Builder, counts: list[int], carried: Value, inner: object, indices: list[Value]) -> Value:
    if not counts:
        return inner(builder, indices, carried)  # type: ignore[operator, no-any-return]
    body = Block([scalars.int32, carried.type])
    body.yields = [_nested_loops(Builder(body), counts[1:], body.parameters[1], inner, [*indices, body.parameters[0]])]
    return builder.op("for", [builder.index(counts[0]), carried], [carried.type], blocks=[body]).result


def _matrix_product(n: int) -> Function:
    """``c += a @ b`` on n × n matrices that are aggregates."""
    matrix = Aggregate(scalars.float32, n * n)
    function = Function("product", Block([matrix, matrix, matrix]))
    a, b, c = function.parameters

    def at(builder: Builder, row: Value, column: Value) -> Value:
        return builder.emit("add", builder.emit("mul", row, builder.index(n)), column)

    def inner(builder: Builder, indices: list[Value], total: Value) -> Value:
        i, j, k = indices
        product = builder.emit(
            "mul", builder.emit("extract", a, at(builder, i, k)), builder.emit("extract", b, at(builder, k, j))
        )
        place = at(builder, i, j)
        return builder.emit("insert", total, place, builder.emit("add", builder.emit("extract", total, place), product))

    function.body.yields = [_nested_loops(Builder(function.body), [n, n, n], c, inner, [])]
    return function


def test_a_large_matrix_product_keeps_its_outer_loop() -> None:
    function = _matrix_product(12)
    verify(function)
    begin = time.process_time()
    result = dead_code(simplify(unroll(simplify(function), 16)))
    assert time.process_time() - begin < 1.0
    verify(result)
    assert names(result)["for"] in (1, 2)
    assert sum(names(result).values()) < 6000
    ones = [1.0] * 144
    assert run_function(result, [ones, ones, ones]).results == [(13.0,) * 144]


def test_unrolling_folds_indices_and_inner_loops_that_depend_on_outer_ones() -> None:
    body = """
        %n: i32 = constant {value=4}
        %1: f32 = for %k: i32 in %n (%a: f32 = %f) {
          %2: f32 = for %l: i32 in %k (%c: f32 = %a) {
            %3: f32 = pick %l, %f, %g, %c
            %4: f32 = add %c, %3
            yield %4
          }
          yield %2
        }
        yield %1
    """
    function = dead_code(simplify(unroll(parse(body), 16)))
    assert names(function) == {"add": 6}
    assert names(unroll(parse(body), 3))["for"] == 2
    arguments = [False, 0, 0, 1.5, 2.5, None]
    assert run_function(function, arguments) == run_function(parse(body), arguments)


def test_twenty_thousand_ops_take_no_longer_than_a_few_times_building_them() -> None:
    """Half a second on a machine that does nothing else; measured against one that may be busy."""
    function = Function("long", Block([scalars.float32, scalars.float32]))
    builder, (x, y) = Builder(function.body), function.parameters
    gc.disable()  # as the pipeline does
    try:
        begin = time.process_time()
        for k in range(20_000):
            x, y = y, builder.emit(("add", "mul", "sub", "max")[k % 4], x, y)
        function.body.yields = [y]
        built = time.process_time()
        result = dead_code(simplify(function))
        assert time.process_time() - built < 8 * (built - begin)
    finally:
        gc.enable()
    assert len(result.body.ops) == 20_000
