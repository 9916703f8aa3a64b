"""Runs machine code over a range of threads, and reports what stopped it."""

from __future__ import annotations

import threading
from typing import Any

from treadle.codegen.worker import Worker
from treadle.errors import KernelError
from treadle.runtime.compiler import Executable


class _Local(threading.local):
    """Each Python thread that launches has a worker of its own."""

    def __init__(self) -> None:
        self.worker = Worker()


_local = _Local()


def run(executable: Executable, kernel: Any, extents: tuple[int, ...], values: list[Any]) -> None:
    """Run all threads of a launch.

    Raises:
        KernelError: an assertion failed in one of them.
    """
    total = 1
    for extent in extents:
        total *= extent
    if total:
        run_packed(executable, kernel, executable.pack(*padded(extents), *values), total)


def padded(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Four extents, 1 where there is none."""
    return extents + (1, 1, 1)[: 4 - len(extents)]


def run_packed(executable: Executable, kernel: Any, arguments: bytes, total: int) -> None:
    """Run ``total`` threads on packed arguments; see ``run``."""
    worker = _local.worker
    executable.run(arguments, 0, total, worker.address)
    if worker.failed:
        raise _failure(executable, kernel, worker)


def _failure(executable: Executable, kernel: Any, worker: Worker) -> Exception:
    """The exception for the failure that a worker recorded, which is cleared."""
    identifier, values = worker.take_failure(executable.messages)
    if identifier < 0:
        return MemoryError(f"kernel {kernel.key}: no memory for the stack of the backward pass")
    template, _, location = executable.messages[identifier]
    where = f"{location}: " if location else ""
    return KernelError(f"{where}kernel {kernel.key}: {template.format(*values)}")
