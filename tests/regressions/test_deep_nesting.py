"""Kernels with deeply nested control flow: the time to compile them must not double with every level."""

from __future__ import annotations

import time

from tests.frontend.running import build
from treadle.passes import read_after_write


def test_access_order_of_nested_loops(tmp_path):
    lines = ["import treadle as wp", "@wp.kernel", "def nest(a: wp.array(dtype=float), n: int):"]
    for level in range(18):
        lines.append("    " * (level + 1) + f"for j{level} in range(n):")
    lines.append("    " * 19 + "a[0] = a[0] * 2.0")
    path = tmp_path / "nested_loops.py"
    path.write_text("\n".join(lines))
    namespace: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    function = build(namespace["nest"])
    begin = time.perf_counter()
    assert read_after_write(function) == {("a", "a")}
    assert time.perf_counter() - begin < 1.0
