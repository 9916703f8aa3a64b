"""Variables that were assigned on no path that was taken: zero, never what another path would have assigned."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import treadle as wp

Vec4d = wp.types.vector(4, wp.float64)


@wp.struct
class Pair:
    position: wp.vec3
    count: int


def run(kernel: Any, *arguments: Any, size: int = 4, **options: Any) -> list[float]:
    out = wp.zeros(size, dtype=float)
    wp.launch(kernel, dim=1, inputs=[out, *arguments], **options)
    return out.list()


# Branches.


@wp.kernel
def scalars(out: wp.array(dtype=float), taken: bool):
    if taken:
        x = 1.0
        n = 2
        flag = True
        y = out[3] + 5.0
    out[0] = x
    out[1] = float(n)
    out[2] = 1.0 if flag else 0.0
    out[3] = y


@wp.kernel
def scalars_in_else(out: wp.array(dtype=float), taken: bool):
    if taken:
        z = 3.0
    else:
        x = 1.0
    out[0] = x
    out[1] = z


@wp.kernel
def composites(out: wp.array(dtype=float), taken: bool):
    if taken:
        v = wp.vec3(1.0, 2.0, 3.0)
        m = Vec4d(wp.float64(out[0]) + wp.float64(4.0))
        p = Pair()
        p.position = v * 2.0
        p.count = 7
        a, b = 5.0, v
    out[0] = v[0] + p.position[1] + float(p.count)
    out[1] = float(m[3])
    out[2] = a
    out[3] = b[2]


captured_vector = wp.vec3(1.0, 2.0, 3.0)
captured_number = wp.float32(4.0)


@wp.kernel
def captured(out: wp.array(dtype=float), taken: bool):
    if taken:
        v = captured_vector
        x = captured_number
    out[0] = v[1]
    out[1] = x


@wp.kernel
def nested(out: wp.array(dtype=float), taken: bool):
    if out[0] == 0.0:
        if taken:
            x = 2.0
        else:
            y = 3.0
    out[0] = x
    out[1] = y


@pytest.mark.parametrize(
    ("kernel", "if_taken", "otherwise"),
    [
        (scalars, [1, 2, 1, 5], [0, 0, 0, 0]),
        (scalars_in_else, [0, 3, 0, 0], [1, 0, 0, 0]),
        (composites, [12, 4, 5, 3], [0, 0, 0, 0]),
        (captured, [2, 4, 0, 0], [0, 0, 0, 0]),
        (nested, [2, 0, 0, 0], [0, 3, 0, 0]),
    ],
)
def test_branches(kernel, if_taken, otherwise):
    assert run(kernel, True) == if_taken
    assert run(kernel, False) == otherwise


# Loops, early exits, functions.


@wp.kernel
def loops(out: wp.array(dtype=float), n: int):
    for i in range(n):
        x = 7.0
        v = wp.vec3(float(i))
    out[0] = x
    out[1] = v[0]
    k = int(0)
    while k < n:
        k += 1
        if k == 100:
            break
        y = 2.0
    else:
        z = 3.0
    out[2] = y
    out[3] = z


def test_loops():
    assert run(loops, 0) == [0, 0, 0, 3]
    assert run(loops, 5) == [7, 4, 2, 3]
    assert run(loops, 200) == [7, 199, 2, 0]


@wp.kernel
def unrolled(out: wp.array(dtype=float), n: int):
    for number in (1.0, 2.0, 3.0):
        if float(n) < number:
            break
        x = number
    out[0] = x


def test_unrolled_loop():
    assert [run(unrolled, n)[0] for n in (0, 1, 2, 9)] == [0, 1, 2, 3]


@wp.func
def inner(x: float):
    if x > 5.0:
        return x
    if x > 0.0:
        y = 1.0
    for _ in range(int(x)):
        if x > 2.0:
            z = 10.0
            continue
        w = 100.0
    return y + z + w


@wp.kernel
def calls(out: wp.array(dtype=float), x: float):
    out[0] = inner(x)


def test_functions():
    assert [run(calls, x)[0] for x in (-1.0, 0.5, 1.5, 3.0, 6.0)] == [0, 1, 101, 11, 6]


@wp.kernel
def never(out: wp.array(dtype=float), n: int):
    if n > 0:
        y = 1.0
    out[0] = x  # noqa: F821
    x = y  # noqa: F841


def test_a_variable_that_no_path_assigns_is_an_error():
    with pytest.raises(wp.CompileError, match="'x' is used before it is assigned"):
        run(never, 1)


# Gradients.


@wp.kernel
def differentiated(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        y = x[i] * x[i]
    for k in range(int(x[i])):
        z = x[i] * float(k + 1)
    out[i] = y + 10.0 * z


def test_gradient():
    x = wp.array([-2.0, 0.5, 3.0], dtype=float, requires_grad=True)
    out = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(differentiated, dim=3, inputs=[x, out])
    assert out.list() == [0, 0.25, 9 + 90]
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    assert x.grad.list() == [0, 1, 6 + 30]


# Arrays.


@wp.kernel
def array_tested(out: wp.array(dtype=float), taken: bool, other: wp.array(dtype=float)):
    if taken:
        a = other
    if a:
        out[0] = a[0]
    out[1] = float(a.shape[0])


def test_an_array_refers_to_nothing():
    other = wp.array([5.0, 6.0], dtype=float)
    assert run(array_tested, True, other) == [5, 2, 0, 0]
    assert run(array_tested, False, other) == [0, 0, 0, 0]


WRITES = """
import treadle as wp

@wp.kernel
def write(taken: bool, other: wp.array(dtype=float)):
    if taken:
        a = other
    a[0] = 5.0

other = wp.zeros(1, dtype=float)
try:
    wp.launch(write, dim=1, inputs=[False, other])
except wp.KernelError as error:
    print(error)
else:
    print("no error", other)
"""


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_an_array_that_was_not_assigned_is_never_another(mode, tmp_path):
    script = tmp_path / "writes.py"
    script.write_text(WRITES.replace("@wp.kernel", f"@wp.kernel(mode={mode!r})"))
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    if mode == "debug":
        assert "out of range for the array a of shape (0,)" in result.stdout
    else:
        assert result.returncode != 0 and not result.stdout


@wp.kernel
def array_in_loop(out: wp.array(dtype=float), n: int, other: wp.array(dtype=float)):
    a = None
    for i in range(n):
        if a is not None:
            out[i] = a[0]
        a = other


def test_none_becomes_an_array_in_a_loop():
    assert run(array_in_loop, 3, wp.array([4.0], dtype=float)) == [0, 4, 4, 0]


# What exists only at compile time.


@wp.func
def one(x: float):
    return x


@wp.func
def other(x: float):
    return 10.0 * x


@wp.kernel
def function_in_branch(out: wp.array(dtype=float), n: int):
    if n > 0:
        f = other
    out[0] = f(1.0)


@wp.kernel
def function_in_loop(out: wp.array(dtype=float), n: int):
    f = one
    total = float(0.0)
    for _ in range(n):
        total += f(1.0)
        f = other
    out[0] = total


@wp.kernel
def type_before_loop(out: wp.array(dtype=float), n: int):
    if n > 1:
        x = int(5)
    else:
        x = float(7.0)
    for _ in range(n):
        x = float(2.5)
    out[0] = float(x)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (function_in_branch, "'f' cannot be used here: it is other on one path and no value on the other"),
        (function_in_loop, "what exists only at compile time cannot change in a loop"),
        (type_before_loop, "'x' has no one type before this loop: it is int32 on one path and float32 on the other"),
    ],
)
def test_what_has_no_zero_is_refused(kernel, text):
    with pytest.raises(wp.CompileError, match=text):
        run(kernel, 3)


@wp.kernel
def same_function_in_loop(out: wp.array(dtype=float), n: int):
    f = one
    for _ in range(n):
        f = one
    out[0] = f(3.0)


def test_the_same_function_in_a_loop():
    assert run(same_function_in_loop, 0)[0] == 3
