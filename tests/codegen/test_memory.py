"""What compiling and linking leave behind in LLVM once the results are gone."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable

import pytest

from treadle.codegen import cpu, jit
from treadle.codegen.callables import Callables, compiled
from treadle.codegen.jit import _Linker
from treadle.codegen.worker import Worker

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")

TEXT = """
define void @f(ptr %args, i64 %begin, i64 %end, ptr %worker) {
  %message = getelementptr i8, ptr %worker, i64 24
  store i64 %end, ptr %message
  ret void
}
"""


def kilobytes_a_call(function: Callable[[], object], count: int) -> float:
    def resident() -> int:
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    for _ in range(count // 10):
        function()
    before = resident()
    for _ in range(count):
        function()
    return (resident() - before) / count


def test_compiling():
    """llvmlite itself keeps about 1.4 KB."""
    assert kilobytes_a_call(lambda: cpu.compile_text(TEXT), 300) < 8.0


def test_linking():
    code = cpu.compile_text(TEXT)
    assert kilobytes_a_call(lambda: jit.link(code, "f"), 20 * _Linker.LIBRARIES) < 2.5


def test_code_outlives_its_linker():
    code = cpu.compile_text(TEXT)
    kept = [jit.link(code, "f") for _ in range(2)]
    for _ in range(3 * _Linker.LIBRARIES):
        jit.link(code, "f")
    del kept[0]
    gc.collect()
    worker = Worker()
    Callables(compiled()).of(kept[0])(bytes(8), 0, 7, worker.address)
    assert worker.fields.message == 7
