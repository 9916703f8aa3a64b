"""The logs of values that cannot be had twice: the ops ``log_append``, ``log_mark``, ``log_start``, ``log_read``.

The log of a thread lasts as long as the thread; that of a launch stays in the worker afterwards,
with a table of where each thread's part starts, and is given back to the adjoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.codegen.arena import Arena
from treadle.codegen.worker import OFFSETS
from treadle.ir.core import Function, Op
from treadle.types.storage import Aggregate

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter


class Logs:
    """The logs that one kernel uses, by name."""

    def __init__(self, e: FunctionEmitter, function: Function) -> None:
        self.e = e
        used = {op.attributes["log"] for op in function.body.walk() if op.name in HANDLERS}
        self.arenas = {name: Arena(e, f"{name}_log", f"{name}_log_capacity") for name in sorted(used)}
        if "launch" in used:
            top = e.assign(f"load i64, ptr {e.offset('%worker', OFFSETS['launch_log_top'])}, align 8")
            self.arenas["launch"].set_top(top)
            self.table = e.assign(f"load ptr, ptr {e.offset('%worker', OFFSETS['launch_log_table'])}, align 8")

    def start_thread(self) -> None:
        """The log of the thread before is gone."""
        if "thread" in self.arenas:
            self.arenas["thread"].set_top("0")

    def finish(self) -> None:
        """Leave the top of the launch's log where the next range of threads finds it."""
        if "launch" in self.arenas:
            top = self.arenas["launch"].get_top()
            self.e.line(f"store i64 {top}, ptr {self.e.offset('%worker', OFFSETS['launch_log_top'])}, align 8")

    def table_entry(self) -> str:
        """The address of this thread's entry in the table of the launch's log."""
        return self.e.assign(f"getelementptr inbounds i64, ptr {self.table}, i64 {self.e.thread}")


def _words(size: int) -> int:
    return (size + 7) // 8


def _emit_append(e: FunctionEmitter, op: Op) -> None:
    (value,) = op.operands
    arena: Arena = e.logs.arenas[op.attributes["log"]]
    top = arena.get_top()
    end = e.assign(f"add nsw i64 {top}, {8 * _words(value.type.size)}")  # type: ignore[union-attr]
    arena.ensure(end)
    address = arena.address(top)
    if isinstance(value.type, Aggregate):
        e.copy(address, e.values[value], value.type)
    else:
        e.store_scalar(value.type, e.values[value], address)  # type: ignore[arg-type]
    arena.set_top(end)


def _emit_mark(e: FunctionEmitter, op: Op) -> None:
    words = e.assign(f"ashr exact i64 {e.logs.arenas['launch'].get_top()}, 3")
    e.line(f"store i64 {words}, ptr {e.logs.table_entry()}, align 8")


def _emit_start(e: FunctionEmitter, op: Op) -> None:
    if op.attributes["log"] == "thread":
        e.values[op.result] = "0"
    else:
        e.values[op.result] = e.assign(f"load i64, ptr {e.logs.table_entry()}, align 8")


def _emit_read(e: FunctionEmitter, op: Op) -> None:
    arena: Arena = e.logs.arenas[op.attributes["log"]]
    address = arena.address(e.assign(f"shl nsw i64 {e.values[op.operands[0]]}, 3"))
    type_: Any = op.result.type
    if isinstance(type_, Aggregate):
        e.copy(e.buffer(op.result), address, type_)
        e.values[op.result] = e.buffer(op.result)
    else:
        e.values[op.result] = e.load_scalar(type_, address)


HANDLERS = {
    "log_append": _emit_append,
    "log_mark": _emit_mark,
    "log_start": _emit_start,
    "log_read": _emit_read,
}
