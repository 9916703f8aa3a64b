"""The derivative transform by itself: hand-written IR, run by the interpreter, against central differences."""

from __future__ import annotations

import math

import pytest

from tests.ir.interpreter import run_function
from treadle.ad.adjoint import adjoint_function
from treadle.ir import Function
from treadle.ir.parser import from_text
from treadle.ir.verifier import verify
from treadle.passes import finish, prepare

POINT = [0.7, -1.3, 0.4]


def evaluate(function: Function, point: list[float]) -> float:
    return run_function(function, point).results[0]


def differences(function: Function, point: list[float]) -> list[float]:
    found = []
    for k in range(len(point)):
        values = []
        for h in (2e-3, 1e-3, -1e-3, -2e-3):
            moved = list(point)
            moved[k] += h
            values.append(evaluate(function, moved))
        found.append((8 * (values[1] - values[2]) - (values[0] - values[3])) / 12e-3)
    return found


PROGRAMS = {
    "straight": """
  %3: f64 = mul %0, %1
  %4: f64 = sin %3
  %5: f64 = add %4, %2
  %6: f64 = mul %5, %4
  yield %6""",
    "branch": """
  %3: f64 = constant {value=0.0}
  %4: bool = gt %0, %3
  %5: f64 = if %4 {
    %6: f64 = mul %0, %1
    %7: f64 = exp %6
    yield %7
  } else {
    %8: f64 = sin %1
    yield %8
  }
  %9: f64 = mul %5, %2
  yield %9""",
    "branch whose inner values the reverse needs": """
  %3: f64 = constant {value=0.0}
  %4: bool = gt %0, %3
  %5: f64 = if %4 {
    %10: bool = gt %1, %3
    %6: f64 = if %10 {
      %7: f64 = mul %0, %1
      %8: f64 = mul %7, %7
      yield %8
    } else {
      %9: f64 = mul %1, %2
      %11: f64 = mul %9, %9
      %12: f64 = mul %11, %9
      yield %12
    }
    %13: f64 = mul %6, %6
    yield %13
  } else {
    yield %1
  }
  yield %5""",
    "loop": """
  %3: i32 = constant {value=5}
  %4: f64 = for %k: i32 in %3 (%c: f64 = %0) {
    %5: f64 = mul %c, %1
    %6: f64 = sin %5
    %7: f64 = add %6, %2
    yield %7
  }
  %8: f64 = mul %4, %4
  yield %8""",
    "loop that runs zero times": """
  %3: i32 = constant {value=0}
  %4: f64 = for %k: i32 in %3 (%c: f64 = %0) {
    %5: f64 = mul %c, %1
    yield %5
  }
  %8: f64 = mul %4, %2
  yield %8""",
    "loop in branch in loop": """
  %3: i32 = constant {value=4}
  %z: f64 = constant {value=0.0}
  %4: f64 = for %k: i32 in %3 (%c: f64 = %0) {
    %b: bool = gt %c, %z
    %r: f64 = if %b {
      %s: f64 = for %j: i32 in %k (%d: f64 = %c) {
        %e: f64 = mul %d, %1
        %f: f64 = cos %e
        yield %f
      }
      %t: f64 = mul %s, %c
      yield %t
    } else {
      %u: f64 = mul %c, %2
      yield %u
    }
    %v: f64 = add %r, %1
    yield %v
  }
  yield %4""",
    "while": """
  %one: f64 = constant {value=1.0}
  %limit: i32 = constant {value=6}
  %zero: i32 = constant {value=0}
  %step: i32 = constant {value=1}
  %n: i32, %y: f64 = while (%i: i32 = %zero, %c: f64 = %0) {
    %more: bool = lt %i, %limit
    yield %more
  } do (%i3: i32, %c2: f64) {
    %p: f64 = mul %c2, %c2
    %q: f64 = sub %p, %1
    %r: f64 = sin %q
    %i2: i32 = add %i3, %step
    yield %i2, %r
  }
  %out: f64 = mul %y, %2
  yield %out""",
    "values swapped in a loop": """
  %3: i32 = constant {value=5}
  %4: f64, %5: f64 = for %k: i32 in %3 (%a: f64 = %0, %b: f64 = %1) {
    %s: f64 = mul %a, %b
    %t: f64 = sin %s
    yield %b, %t
  }
  %6: f64 = mul %4, %5
  %7: f64 = mul %6, %2
  yield %7""",
    "picked and placed": """
  %n: i32 = constant {value=3}
  %4: f64, %5: f64, %6: f64 = for %k: i32 in %n (%a: f64 = %0, %b: f64 = %1, %c: f64 = %2) {
    %p: f64 = pick %k, %a, %b, %c
    %q: f64 = mul %p, %p
    %x: f64, %y: f64, %z: f64 = place %k, %q, %a, %b, %c
    yield %x, %y, %z
  }
  %7: f64 = mul %4, %5
  %8: f64 = mul %7, %6
  yield %8""",
}


def parse(body: str) -> Function:
    return from_text(f"function @f(%0: f64, %1: f64, %2: f64) {{{body}\n}}\n")


@pytest.mark.parametrize("optimised", [False, True], ids=["raw", "optimised"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_agrees_with_differences(name: str, optimised: bool) -> None:
    function = parse(PROGRAMS[name])
    verify(function)
    source = prepare(function, {"max_unroll": 0}) if optimised else function
    adjoint = adjoint_function(source)
    verify(adjoint)
    if optimised:
        adjoint = finish(adjoint, {})
        verify(adjoint)
    gradient = run_function(adjoint, [*POINT, 1.0]).results
    for got, expected in zip(gradient, differences(function, POINT)):
        assert math.isclose(got, expected, rel_tol=1e-8, abs_tol=1e-8)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if "zero" not in n])
def test_second_derivative_agrees_with_differences(name: str) -> None:
    function = prepare(parse(PROGRAMS[name]), {"max_unroll": 0})
    first = finish(adjoint_function(function), {})
    second = finish(adjoint_function(first), {})
    verify(second)

    def along(point: list[float]) -> float:
        return sum(w * g for w, g in zip((1.0, -2.0, 0.5), run_function(first, [*point, 1.0]).results))

    got = run_function(second, [*POINT, 1.0, 1.0, -2.0, 0.5]).results
    for k in range(3):
        values = []
        for h in (2e-3, 1e-3, -1e-3, -2e-3):
            moved = list(POINT)
            moved[k] += h
            values.append(along(moved))
        expected = (8 * (values[1] - values[2]) - (values[0] - values[3])) / 12e-3
        assert math.isclose(got[k], expected, rel_tol=1e-7, abs_tol=1e-7)
