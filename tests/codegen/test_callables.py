"""Kernels as callables of Python: what they return, that others run meanwhile, and that they keep their code."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from treadle.codegen import cpu, jit
from treadle.codegen.callables import Callables, compiled
from treadle.codegen.worker import OFFSETS, Worker

TEXT = f"""
define void @f(ptr %args, i64 %begin, i64 %end, ptr %worker) {{
entry:
  %at = getelementptr i8, ptr %worker, i64 {OFFSETS["failed"]}
  %given = load i64, ptr %args
  br label %loop
loop:
  %k = phi i64 [ %begin, %entry ], [ %next, %loop ]
  store volatile i64 %k, ptr %at
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  store i64 %given, ptr %at
  ret void
}}
"""


@pytest.fixture(scope="module")
def run():
    code = cpu.compile_text(TEXT)
    made = Callables(compiled()).of(jit.link(code, "f"))
    gc.collect()  # nothing but the callable refers to the machine code
    for _ in range(3 * jit._Linker.LIBRARIES):
        jit.link(code, "f")
    return made


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little", signed=True) for value in values)


def test_it_returns_whether_the_worker_failed(run):
    worker = Worker()
    for failed in (0, 1, 2, 0, -1):
        assert run(words(failed), 0, 3, worker.address) is bool(failed)
        assert worker.fields.failed == failed
    worker.fields.failed = 0


def test_begin_and_end_have_64_bits(run):
    worker = Worker()
    first = 2**40
    assert run(words(5), first, first + 3, worker.address) is True
    text = TEXT.replace("store i64 %given, ptr %at", "store i64 %next, ptr %at")
    last = Callables(compiled()).of(jit.link(cpu.compile_text(text), "f"))
    assert last(words(0), first, first + 3, worker.address) is True
    assert worker.fields.failed == first + 3
    worker.fields.failed = 0


def test_other_threads_run_meanwhile(run):
    worker = Worker()
    thread = threading.Thread(target=lambda: run(words(0), 0, 10**9, worker.address))
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 20
