"""Values that a kernel captures and that change: between launches, between a launch and its gradient, in loops."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle as wp
from treadle.errors import TreadleError

FACTOR = 3.0


class Config:
    factor = 3.0


@wp.func
def scaled(x: float):
    return x * FACTOR


@wp.kernel
def by_global(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = x[wp.tid()] * FACTOR


@wp.kernel
def by_class(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = x[wp.tid()] * Config.factor


@wp.kernel
def by_function(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = scaled(x[wp.tid()])


def run(kernel: wp.Kernel) -> tuple[float, float]:
    """The value and the gradient at 1."""
    x = wp.array([1.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 1, [x], [y])
    tape.backward(y)
    return y.list()[0], x.grad.list()[0]


@pytest.mark.parametrize("kernel", [by_global, by_class, by_function], ids=lambda k: k.name)
def test_a_change_between_launches(kernel, monkeypatch):
    assert run(kernel) == (3, 3)
    monkeypatch.setitem(globals(), "FACTOR", 100.0)
    monkeypatch.setattr(Config, "factor", 100.0)
    assert run(kernel) == (100, 100)
    monkeypatch.undo()
    assert run(kernel) == (3, 3)


def test_a_change_of_a_closure():
    factor = 2.0

    @wp.kernel
    def by_closure(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = x[wp.tid()] * factor

    assert run(by_closure) == (2, 2)
    factor = 5.0
    assert run(by_closure) == (5, 5)


def test_a_function_defined_anew(monkeypatch):
    assert run(by_function) == (3, 3)

    @wp.func
    def other(x: float):
        return x * x * 7.0

    monkeypatch.setitem(globals(), "scaled", other)
    assert run(by_function) == (7, 14)


def test_a_derivative_given_later():
    @wp.func
    def cube(x: float):
        return x * x * x

    @wp.kernel
    def cubes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = cube(x[wp.tid()])

    assert run(cubes) == (1, 3)

    @wp.func_grad(cube)
    def gradient(x: float, adj: float):
        wp.adjoint[x] += 50.0 * adj

    assert run(cubes) == (1, 50)


def test_an_option_that_changes(monkeypatch):
    @wp.kernel
    def beyond(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = x[wp.tid() + 1]

    x, y = wp.zeros(2, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(beyond, 1, [x[:1]], [y])
    monkeypatch.setattr(wp.config, "mode", "debug")
    with pytest.raises(TreadleError, match="out of range"):
        wp.launch(beyond, 1, [x[:1]], [y])


def test_equal_values_compile_nothing(monkeypatch):
    assert run(by_global) == (3, 3)
    compiled = list(by_global.runtime.variants.values())
    monkeypatch.setitem(globals(), "FACTOR", float("3"))
    assert run(by_global) == (3, 3)
    assert list(by_global.runtime.variants.values()) == compiled


SCRIPT = """
import sys
import treadle as wp
wp.config.kernel_cache_dir = sys.argv[1]
G = 3.0
{helper}
@wp.kernel
def k(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    o[wp.tid()] = a[wp.tid()] * a[wp.tid()] * {factor}

a = wp.array([1.0], dtype=float, requires_grad=True)
o = wp.zeros(1, dtype=float, requires_grad=True)
tape = wp.Tape()
wp.launch(k, 1, [a], [o])
if sys.argv[2] != "fill":
    if sys.argv[2] == "change":
        {change}
    with tape:
        wp.launch(k, 1, [a], [o])
    tape.backward(o)
    print(o.list()[0], a.grad.list()[0])
"""


@pytest.mark.parametrize(
    "factor, helper, change",
    [("G", "", "G = 100.0"), ("wp.static(L[0])", "L = [3.0]", "L[0] = 100.0")],
    ids=["global", "list"],
)
def test_the_cache_holds_no_gradient_of_other_values(tmp_path: Path, factor: str, helper: str, change: str):
    """A kernel from the cache, whose gradient is compiled after what it captures has changed."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(factor=factor, helper=helper, change=change))

    def result(mode: str) -> str:
        command = [sys.executable, str(script), str(tmp_path / "cache"), mode]
        environment = {**os.environ, "PYTHONPATH": str(Path(wp.__file__).parents[1])}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        return done.stdout.strip().splitlines()[-1] if done.returncode == 0 and mode != "fill" else done.stderr

    result("fill")
    changed = result("change")
    assert changed == "100.0 200.0" or "has changed since" in changed
    assert result("keep") == "3.0 6.0"


def test_static_values_are_those_of_the_definition():
    kernels = []
    for k in range(3):

        @wp.kernel
        def tenfold(y: wp.array(dtype=int)):
            y[0] = wp.static(k * 10)

        kernels.append(tenfold)
    y = wp.zeros(1, dtype=int)
    found = []
    for kernel in kernels:
        wp.launch(kernel, 1, [y])
        found.append(y.list()[0])
    np.testing.assert_array_equal(found, [0, 10, 20])
