"""The worker: what a kernel in machine code keeps for one thread of the machine.

It holds the memory of the adjoint's stack, the record of the first failure, and the callback for
printing. The emitter uses the offsets of the fields; the runtime creates workers and reads them.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.codegen import printing
from treadle.codegen.module import Message
from treadle.types import scalars

MAX_VALUES = 8
"""How many operands of a failed assertion are recorded."""
OUT_OF_MEMORY = -1
"""The message number of a stack that could not grow."""

PRINT_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class WorkerFields(ctypes.Structure):
    """The memory layout of a worker.

    ``stack`` and ``capacity`` are the stack's memory; ``thread_log`` and ``launch_log`` those of the
    logs, of which the second has a top in bytes and a table with a position for each thread;
    ``failed`` is 1 after a failure, and ``message``, ``thread`` (flat index) and ``values`` then
    describe the first one; ``print`` is the address of a ``PRINT_CALLBACK``.
    """

    _fields_ = [
        ("stack", ctypes.c_void_p),
        ("capacity", ctypes.c_int64),
        ("failed", ctypes.c_int64),
        ("message", ctypes.c_int64),
        ("thread", ctypes.c_int64),
        ("values", ctypes.c_int64 * MAX_VALUES),
        ("print", ctypes.c_void_p),
        ("thread_log", ctypes.c_void_p),
        ("thread_log_capacity", ctypes.c_int64),
        ("launch_log", ctypes.c_void_p),
        ("launch_log_capacity", ctypes.c_int64),
        ("launch_log_top", ctypes.c_int64),
        ("launch_log_table", ctypes.c_void_p),
    ]


OFFSETS: dict[str, int] = {name: getattr(WorkerFields, name).offset for name, _ in WorkerFields._fields_}  # type: ignore[misc]


@dataclass(frozen=True)
class Failure:
    """The first failure of a worker: message number, flat thread index, the recorded 64-bit words."""

    message: int
    thread: int
    words: tuple[int, ...]

    @property
    def out_of_memory(self) -> bool:
        """Whether the adjoint's stack could not grow."""
        return self.message == OUT_OF_MEMORY

    def values(self, message: Message) -> tuple[Any, ...]:
        """The operands of the assertion as Python numbers."""
        return tuple(decode_word(word, short) for word, short in zip(self.words, message.types))


def decode_word(word: int, short: str) -> bool | int | float:
    """The number that a 64-bit word holds: integers extended, floats as the bits of a double."""
    scalar = scalars.BY_SHORT_NAME[short]
    if scalar.is_float:
        return float(struct.unpack("<d", struct.pack("<q", word))[0])
    if scalar.kind == "bool":
        return bool(word)
    return word % (1 << 64) if scalar.kind == "unsigned" else word


def write_to_stdout(text: str) -> None:
    """The default way to print: to whatever ``sys.stdout`` is at that time."""
    sys.stdout.write(text)


def print_callback(
    write: Callable[[str], None] = write_to_stdout, report: Callable[[BaseException], None] | None = None
) -> Any:
    """A callback that formats what a kernel prints and gives it to ``write``. Keep it as long as workers use it.

    ``report`` gets what that raises; without it, ctypes prints a traceback.
    """

    def callback(address: int, length: int) -> None:
        try:
            write(printing.format_record(address))
        except BaseException as error:
            if report is None:
                raise
            report(error)

    return PRINT_CALLBACK(callback)


class Worker:
    """Owns the memory of one worker; pass ``address`` to kernels. To be used by one thread at a time."""

    def __init__(self, callback: Any = None) -> None:
        self.fields = fields = WorkerFields()
        self._errors: list[BaseException] = []
        errors = self._errors

        def report(error: BaseException) -> None:  # does not refer to the worker, which refers to the callback
            fields.failed = 1
            if not errors:
                errors.append(error)

        self._callback = callback if callback is not None else print_callback(report=report)
        self.fields.print = ctypes.cast(self._callback, ctypes.c_void_p).value
        self.address = ctypes.addressof(self.fields)

    def take_failure(self) -> Failure | None:
        """The first failure since the last call, and forget it."""
        fields = self.fields
        if not fields.failed:
            return None
        fields.failed = 0
        return Failure(fields.message, fields.thread, tuple(fields.values))

    def take_error(self) -> BaseException | None:
        """The first exception that printing has raised since the last call, and forget it. It counts as a failure."""
        return self._errors.pop() if self._errors else None

    def close(self) -> None:
        """Free the stack and the logs. The worker can be used again; they then grow anew."""
        for base, capacity in (
            ("stack", "capacity"),
            ("thread_log", "thread_log_capacity"),
            ("launch_log", "launch_log_capacity"),
        ):
            if getattr(self.fields, base):
                _free(getattr(self.fields, base))
                setattr(self.fields, base, None)
                setattr(self.fields, capacity, 0)

    def __del__(self) -> None:
        self.close()


def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


_free = _c_library().free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


def failure_text(failure: Failure, messages: Sequence[Message]) -> str:
    """The message of a failure, with the values of its operands filled in and the place in the source."""
    if failure.out_of_memory:
        return "the memory for the values that the gradient needs could not be allocated"
    message = messages[failure.message]
    text = message.template.format(*failure.values(message))
    return f"{message.location}: {text}" if message.location else text
