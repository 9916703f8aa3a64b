"""Calls of functions: arguments, overloads, generics, functions as values, derivatives written by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import agrees, build, evaluate, launch, names_of, result_type
from treadle import frontend


@wp.func
def affine(x: wp.float64, scale: wp.float64 = 2.0, shift: wp.float64 = 1.0):
    return x * scale + shift


@wp.func
def calls_with_keywords(x: wp.float64):
    return affine(x) + affine(x, 3.0) * 10.0 + affine(x, shift=5.0) * 100.0 + affine(shift=x, x=1.0, scale=0.5) * 1000.0


@wp.func
def several_results(x: wp.float64, n: int):
    return x * 2.0, n + 1, wp.vec2d(x, 3.0)


@wp.func
def uses_several_results(x: wp.float64):
    a, n, v = several_results(x, 4)
    t = several_results(x, 1)
    return a + wp.float64(n) + v.x + v.y + t[0] + wp.float64(t[1])


@wp.func
def twice(x: Any):
    return x + x


@wp.func
def largest(a: wp.array(dtype=Any), n: int):
    best = a[0]
    for i in range(1, n):
        best = wp.max(best, a[i])
    return best


@wp.func
def overloaded(x: wp.float64):
    return x + 0.5


@wp.func
def overloaded(x: int):  # noqa: F811
    return x * 100


@wp.func
def overloaded(x: wp.vec3d):  # noqa: F811
    return x * 3.0


@wp.func
def calls_overloads(x: wp.float64, i: int):
    return overloaded(x) + wp.float64(overloaded(i)) + overloaded(wp.vec3d(x, x, x))[0]


@wp.func
def generic_calls(x: wp.float64, i: int):
    return twice(x), twice(i), twice(wp.vec3d(x, 1.0, 2.0)), twice(3), twice(0.25)


@wp.func
def apply_twice(f: Callable, x: wp.float64):
    return f(f(x))


@wp.func
def increment(x: wp.float64):
    return x + 1.0


@wp.func
def functions_as_arguments(x: wp.float64):
    g = increment
    return apply_twice(increment, x) + apply_twice(affine, x) * 10.0 + g(x) * 100.0 + apply_twice(wp.sin, x)


@wp.func
def changes_its_parameter(v: wp.vec3d, n: int):
    v.x = 50.0
    n += 1
    return v.x + wp.float64(n)


@wp.func
def arguments_are_copied(x: wp.float64):
    v = wp.vec3d(x, x, x)
    n = 1
    y = changes_its_parameter(v, n)
    return y + v.x * 1000.0 + wp.float64(n) * 0.5


@wp.func
def result_by_annotation(n: int) -> wp.float64:
    if n > 0:
        return 1
    return 2.5


@wp.func
def loops_and_returns(n: int) -> wp.float64:
    for i in range(n):
        if i == 3:
            return 30.0
    return 0.5


@wp.func
def last_positive(x: wp.float64, n: int):
    while True:
        x -= 1.0
        n += 1
        if x < 0.0:
            return x, n


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (calls_with_keywords, [3.0]),
        (uses_several_results, [1.5]),
        (calls_overloads, [(1.5, 2)]),
        (generic_calls, [(1.5, 2)]),
        (functions_as_arguments, [0.75]),
        (loops_and_returns, [2, 5]),
        (result_by_annotation, [1, -1]),
        (last_positive, [(2.5, 0)]),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_agrees_with_python(function: Any, cases: Any) -> None:
    agrees(function, *cases)


def test_a_function_changes_copies_of_its_arguments() -> None:
    assert evaluate(arguments_are_copied, 2.0) == 52 + 2000 + 0.5


def test_the_annotation_decides_the_type_of_the_result() -> None:
    assert result_type(result_by_annotation, wp.int32) is wp.float64


@wp.kernel
def two_instances(a: wp.array(dtype=float), b: wp.array(dtype=int), out: wp.array(dtype=float)):
    out[0] = largest(a, 3)
    out[1] = float(largest(b, 3))
    out[2] = largest(a, 2)


def test_an_instance_is_made_once_for_each_set_of_types() -> None:
    function = build(two_instances)
    callees = [op.attributes["callee"] for op in function.body.walk() if op.name == "call"]
    assert len(callees) == 3 and len(set(map(id, callees))) == 2
    out = np.zeros(3, np.float32)
    launch(two_instances, 1, np.array([1, 5, 7], np.float32), np.array([4, 2, 3], np.int32), out)
    assert out.tolist() == [7.0, 4.0, 5.0]


@wp.kernel
def generic_kernel(a: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    a[i] = a[i] * s


def test_generic_kernels() -> None:
    assert generic_kernel.is_generic
    for dtype in (wp.float32, wp.float64):
        a = np.array([2.0, 3.0], dtype.numpy)
        launch(generic_kernel, 2, a, 3.0, types=[wp.array(dtype=dtype), dtype])
        assert a.tolist() == [6.0, 9.0]
    fixed = wp.overload(generic_kernel, [wp.array(dtype=wp.float64), wp.float64])
    assert not fixed.is_generic
    assert list(fixed.parameter_types.values()) == [wp.array(dtype=wp.float64), wp.float64]
    assert wp.overload(generic_kernel, {"s": float}).parameter_types["s"] is wp.float32


def make(operation: Any, power: int) -> Any:
    @wp.func
    def inner(x: wp.float64):
        return operation(x) * wp.float64(power)

    @wp.func
    def outer(x: wp.float64):
        return inner(x) + 1.0

    return outer


def test_closures() -> None:
    assert evaluate(make(increment, 3), 1.0) == 7.0
    assert evaluate(make(affine, 2), 1.0) == 7.0


def test_functions_of_one_name_in_a_loop_do_not_disturb_each_other() -> None:
    made = []
    for k in range(3):

        @wp.func
        def f(x: wp.float64):
            return x + wp.static(float(k))  # noqa: B023

        made.append(f)
    assert [len(f.bodies) for f in made] == [1, 1, 1]


def test_local_overloads() -> None:
    @wp.func
    def f(x: wp.float64):
        return x

    @wp.func
    def f(x: int):  # noqa: F811
        return x * 10

    @wp.func
    def g(x: wp.float64, i: int):
        return f(x) + wp.float64(f(i))

    assert evaluate(g, 1.5, 2) == 21.5


def test_calling_from_python_runs_the_function() -> None:
    assert affine(2.0) == 5.0
    assert overloaded(2) == 200
    assert overloaded(2.5) == 3.0
    assert overloaded(np.int32(2)) == 200


def test_annotations_may_be_text_and_local() -> None:
    Local = wp.vec2d

    @wp.func
    def f(v: "Local"):  # noqa: UP037
        return v.x

    assert evaluate(f, [4.0, 5.0]) == 4.0


@wp.func
def safe_root(x: wp.float64):
    return wp.sqrt(x)


@wp.func_grad(safe_root)
def adj_safe_root(x: wp.float64, adj_ret: wp.float64):
    if x > 0.0:
        wp.adjoint[x] += 1.0 / (2.0 * wp.sqrt(x)) * adj_ret


@wp.func
def counted(counter: wp.array(dtype=int), x: wp.vec2d):
    wp.atomic_add(counter, 0, 1)
    return x.x * x.y, x.x


@wp.func_replay(counted)
def replay_counted(counter: wp.array(dtype=int), x: wp.vec2d):
    return x.x * x.y, x.x


@wp.func_grad(counted)
def adj_counted(counter: wp.array(dtype=int), x: wp.vec2d, adj_product: wp.float64, adj_first: wp.float64):
    for k in range(2):
        wp.adjoint[x][k] += x[1 - k] * adj_product
    wp.adjoint[x].x += adj_first


def test_the_derivative_of_a_function_is_built_with_it() -> None:
    from tests.ir.interpreter import run_function

    function = frontend.build_function(safe_root, [wp.float64]).function
    gradient = function.custom.gradient
    assert run_function(gradient, [4.0, 1.0]).results == [0.25]
    assert run_function(gradient, [0.0, 1.0]).results == [0.0]
    function = frontend.build_function(counted, [wp.array(dtype=int), wp.vec2d]).function
    assert "atomic" not in names_of(function.custom.replay)
    gradient = function.custom.gradient
    # counter, x.x, x.y, the companion of counter, two adjoints
    assert [str(p.type) for p in gradient.parameters] == [
        "array<1, 4>",
        "float64",
        "float64",
        "array<1, 4>",
        "float64",
        "float64",
    ]
    counter = np.zeros(1, np.int32)
    assert run_function(gradient, [counter, 3.0, 5.0, counter, 1.0, 10.0]).results == [15.0, 3.0]


def test_a_derivative_with_the_wrong_parameters_shows_both_signatures() -> None:
    with pytest.raises(wp.TypeMismatchError) as error:

        @wp.func_grad(safe_root)
        def wrong(y: wp.float32, adj_ret: wp.float64):
            pass

    assert "wrong(y: float32, adj_ret: float64)" in str(error.value)
    assert "safe_root(x: float64)" in str(error.value)


@wp.kernel
def calls_builtins(a: wp.array(dtype=float), d: wp.array(dtype=wp.float64)):
    a[0] = wp.sin(a[0]) + abs(a[1]) + min(a[0], 0.5) + max(1, a[1]) + wp.atan2(a[0], 2.0)
    d[0] = wp.max(d[0], 3) + wp.exp(d[0]) + wp.copysign(1.0, d[1]) + round(2.5) * d[0]
    if wp.isnan(a[1]) or wp.isfinite(d[0]):
        a[1] = float(wp.bit_count(7)) + sin(0.0)  # noqa: F821


def test_builtins() -> None:
    a, d = np.array([0.5, -2.0], np.float32), np.array([1.0, -1.0])
    launch(calls_builtins, 1, a, d)
    assert a[0] == pytest.approx(np.sin(0.5) + 2 + 0.5 + 1 + np.arctan2(0.5, 2))
    assert d[0] == pytest.approx(3 + np.e - 1 + 3)
    assert a[1] == 3.0
