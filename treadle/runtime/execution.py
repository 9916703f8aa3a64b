"""Runs machine code over a range of threads, and reports what stopped it."""

from __future__ import annotations

import ctypes
import math
import threading
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

import numpy as np

from treadle.codegen.worker import Worker, failure_text
from treadle.errors import KernelError
from treadle.runtime import capturing
from treadle.runtime.compiler import Executable


class _Local(threading.local):
    """Each Python thread that launches has a worker of its own."""

    def __init__(self) -> None:
        self.worker = Worker()


_local = _Local()


@dataclass
class LaunchLog:
    """What a launch logged: 64-bit words, and for each thread where its part starts."""

    words: np.ndarray[Any, Any]
    table: np.ndarray[Any, Any]


def run(
    executable: Executable,
    kernel: Any,
    extents: tuple[int, ...],
    values: list[Any],
    log: Optional[LaunchLog] = None,
    owners: Any = None,
) -> None:
    """Run all threads of a launch.

    ``log``: what the adjoint of a launch reads. ``owners``: what keeps alive the memory that ``values`` refer to.

    Raises:
        KernelError: an assertion failed in one of them. What printing raises, as when the output is closed.
    """
    total = math.prod(extents)
    if not total:
        return
    packed = executable.packer.pack(extents, values)
    if log is not None:
        capturing.perform(partial(_run_reading, executable, kernel, packed, total, log), owners)
    elif capturing.active.capture is None:
        run_packed(executable, kernel, packed, total)
    else:
        capturing.perform(partial(run_packed, executable, kernel, packed, total), owners)


def run_packed(executable: Executable, kernel: Any, arguments: bytes, total: int) -> None:
    """Run ``total`` threads on packed arguments; see ``run``."""
    worker = _local.worker
    if executable.run(arguments, 0, total, worker.address):
        raise _failure(executable, kernel, worker)


def run_logging(
    executable: Executable, kernel: Any, extents: tuple[int, ...], values: list[Any], owners: Any = None
) -> LaunchLog:
    """As ``run``, for a kernel that logs; returns the log, which is filled when the kernel has run."""
    log = LaunchLog(np.zeros(0, np.int64), np.zeros(math.prod(extents), np.int64))
    capturing.perform(partial(_run_logging_now, executable, kernel, extents, values, log), owners)
    return log


def _run_logging_now(
    executable: Executable, kernel: Any, extents: tuple[int, ...], values: list[Any], log: LaunchLog
) -> None:
    fields = _local.worker.fields
    fields.launch_log_top = 0
    fields.launch_log_table = log.table.ctypes.data
    run(executable, kernel, extents, values)
    if fields.launch_log_top:
        raw = (ctypes.c_int64 * (fields.launch_log_top // 8)).from_address(fields.launch_log)
        log.words = np.array(raw, np.int64)


def _run_reading(executable: Executable, kernel: Any, arguments: bytes, total: int, log: LaunchLog) -> None:
    """Lend a log to the worker for one run."""
    fields = _local.worker.fields
    own = fields.launch_log
    fields.launch_log = log.words.ctypes.data
    fields.launch_log_table = log.table.ctypes.data
    try:
        run_packed(executable, kernel, arguments, total)
    finally:
        fields.launch_log = own


# What a worker keeps for the next launch; more is given back.
_KEPT_MEMORY = 64 << 20


def trim() -> None:
    """Give back the memory of this thread's worker, if the backward pass of long loops made it large."""
    fields = _local.worker.fields
    if fields.capacity + fields.thread_log_capacity + fields.launch_log_capacity > _KEPT_MEMORY:
        _local.worker.close()


def _failure(executable: Executable, kernel: Any, worker: Worker) -> BaseException:
    """The exception for the failure that a worker recorded, which is cleared."""
    error, failure = worker.take_error(), worker.take_failure()
    if error is not None:
        return error
    assert failure is not None
    text = failure_text(failure, executable.messages)
    if failure.out_of_memory:
        return MemoryError(f"kernel {kernel.name}: {text}")
    return KernelError(f"kernel {kernel.name}: {text}")
