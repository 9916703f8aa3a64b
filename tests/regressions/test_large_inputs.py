"""Numbers of any length and code of any depth: compiled, or refused at the user's line."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import pytest

import treadle as wp

BEFORE = "import treadle as wp\nBIG = 10**5000\nLONG = 10**400\n"


def kernel(tmp_path: Any, *lines: str, before: str = "") -> Any:
    body = "".join(f"    {line}\n" for line in lines)
    path = tmp_path / "large_kernel.py"
    path.write_text(f"{BEFORE}{before}\n@wp.kernel\ndef large(out: wp.array(dtype=float)):\n{body}")
    namespace: dict[str, Any] = {"__name__": "large_kernel"}
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # for Python's own compiler
    try:
        exec(compile(path.read_text(), str(path), "exec"), namespace)
    finally:
        sys.setrecursionlimit(limit)
    return namespace["large"]


def result(large: Any, x: float = 0.0) -> float:
    out = wp.array([x], dtype=float)
    wp.launch(large, dim=1, inputs=[out])
    return out.list()[0]


# Numbers.


@pytest.mark.parametrize(
    "expression",
    ["9**9**9**9", "3**(10**9)", "1 << (10**9)", "1 << 5000", "BIG * BIG", "BIG * 1.0", "3.0**1e300", "1.5 * LONG"],
)
def test_an_operation_on_literals_with_too_large_a_result(expression, tmp_path):
    begin = time.perf_counter()
    with pytest.raises(wp.CompileError, match="large_kernel.py:7: the result of this operation on literals is too l"):
        result(kernel(tmp_path, f"out[0] = float({expression})"))
    assert time.perf_counter() - begin < 5.0


@pytest.mark.parametrize(
    "expression",
    [
        "LONG", "float(LONG)", "-BIG", "wp.float16(BIG)", "wp.vec3(1.0, LONG, 2.0)[0]", "wp.vec3(BIG)[0]",
        "out[0] + LONG", "1.0 if out[0] < LONG else 2.0", "wp.sqrt(BIG)", "wp.pow(LONG, 2.0)", "out[0] ** BIG",
        "LONG if out[0] > 1.0 else 3.0",
    ],
)  # fmt: skip
def test_an_integer_too_large_for_a_float(expression, tmp_path):
    with pytest.raises(wp.CompileError, match=r"large_kernel.py:7: the literal of \d+ bits is too large for float"):
        result(kernel(tmp_path, f"out[0] = {expression}"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("float(LONG // 10**399)", 10.0), ("float(2**4000 >> 3995)", 32.0), ("float((-1) ** (10**9))", 1.0),
        ("wp.float32(wp.float64(2**1023) / wp.float64(2**1022))", 2.0), ("1.0 if BIG == BIG else 0.0", 1.0),
        ("float(0 ** 10**9 + 1 ** 10**9)", 1.0),
    ],
)  # fmt: skip
def test_long_integers_that_stay_literals(expression, expected, tmp_path):
    assert result(kernel(tmp_path, f"out[0] = {expression}")) == expected


def test_a_shift_by_a_negative_count(tmp_path):
    with pytest.raises(wp.CompileError, match="<< of literals by a negative count"):
        result(kernel(tmp_path, "out[0] = float(1 << -1)"))


@pytest.mark.parametrize(
    ("bounds", "type_name"),
    [(f"wp.int64(-2), wp.int64({2**63 - 1})", "int64"), (f"-2, {2**31 - 1}", "int32"), ("2147483647, -5, -1", "int32")],
)
def test_a_range_with_more_items_than_can_be_counted(bounds, type_name, tmp_path):
    with pytest.raises(wp.CompileError, match=f"this range has more items than an {type_name} can count"):
        result(kernel(tmp_path, f"for i in range({bounds}):", "    out[0] += 1.0"))
    assert result(kernel(tmp_path, f"for i in range(0, {2**31 - 1}):", "    out[0] += 1.0", "    break")) == 1.0


# Depth.


def elif_chain(count: int) -> list[str]:
    lines = ["x = int(out[0])", "if x == -1:", "    out[0] = 1.0"]
    for k in range(count):
        lines += [f"elif x == {k}:", f"    out[0] = {k}.5"]
    return lines


def test_many_branches(tmp_path):
    large = kernel(tmp_path, *elif_chain(250))
    assert [result(large, x) for x in (-1.0, 0.0, 249.0, 250.0)] == [1.0, 0.5, 249.5, 250.0]


@pytest.mark.parametrize(
    "expression",
    [
        " + ".join(["x"] * 1000), "-" * 1000 + "x * 1000.0",
        " + (".join(["x"] * 150) + ")" * 149 + " + 850.0 * x",
        "1000.0 * x if " + " and ".join(["x > 0.0"] * 300) + " else 0.0",
        " ".join(f"{k}.0 if x == {k}.0 else" for k in range(2, 200)) + " 1000.0 * x",
    ],
)  # fmt: skip
def test_long_expressions(expression, tmp_path):
    assert result(kernel(tmp_path, "x = out[0]", f"out[0] = {expression}"), 1.0) == 1000.0


def test_functions_that_call_functions(tmp_path):
    functions = "@wp.func\ndef f0(x: float): return x\n"
    functions += "".join(f"@wp.func\ndef f{k}(x: float): return f{k - 1}(x) + 1.0\n" for k in range(1, 200))
    assert result(kernel(tmp_path, "out[0] = f199(out[0])", before=functions), 1.0) == 200.0


def test_a_gradient(tmp_path):
    large = kernel(tmp_path, "y = out[0]", *elif_chain(60), "out[0] = " + " + ".join(["y"] * 300))
    out = wp.array([7.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(large, dim=1, inputs=[out])
    assert out.list() == [2100.0]
    out.grad.fill_(1.0)
    tape.backward()
    assert out.grad.list() == [300.0]


def test_what_is_too_deep_is_an_error_at_the_line(tmp_path):
    large = kernel(tmp_path, *elif_chain(3000))
    limit = sys.getrecursionlimit()
    with pytest.raises(wp.CompileError, match=r"large_kernel.py:\d+: this is nested too deeply to be compiled"):
        result(large)
    assert sys.getrecursionlimit() == limit


def test_the_limit_is_restored_with_threads(tmp_path):
    limit = sys.getrecursionlimit()
    kernels = []
    for k in range(4):
        folder = tmp_path / str(k)
        folder.mkdir()
        kernels.append(kernel(folder, *elif_chain(100 + k)))
    found: list[float] = []
    threads = [threading.Thread(target=lambda large=large: found.append(result(large, 99.0))) for large in kernels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [99.5] * 4
    assert sys.getrecursionlimit() == limit
