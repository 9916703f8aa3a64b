"""A block of memory that belongs to the worker and moves when it grows; things in it are offsets.

Its address, capacity and top are local variables of the kernel, which LLVM keeps in registers;
only growing goes through the worker. The adjoint's stack and the logs are arenas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.codegen.worker import OFFSETS, OUT_OF_MEMORY
from treadle.ir.definitions import IRError

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

_FIRST_CAPACITY = 65536


class Arena:
    """An arena as one kernel sees it. ``base_field`` and ``capacity_field`` are fields of the worker."""

    def __init__(self, e: FunctionEmitter, base_field: str, capacity_field: str) -> None:
        self.e = e
        self.base_field = base_field
        self.capacity_field = capacity_field
        self.base = e.slot("ptr", 8)
        self.capacity = e.slot("i64", 8)
        self.top = e.slot("i64", 8)
        self.reload()

    def reload(self) -> None:
        """Read address and capacity from the worker."""
        e = self.e
        base = e.assign(f"load ptr, ptr {e.offset('%worker', OFFSETS[self.base_field])}, align 8")
        capacity = e.assign(f"load i64, ptr {e.offset('%worker', OFFSETS[self.capacity_field])}, align 8")
        e.line(f"store ptr {base}, ptr {self.base}, align 8")
        e.line(f"store i64 {capacity}, ptr {self.capacity}, align 8")

    def set_top(self, offset: str) -> None:
        self.e.line(f"store i64 {offset}, ptr {self.top}, align 8")

    def get_top(self) -> str:
        return self.e.assign(f"load i64, ptr {self.top}, align 8")

    def address(self, offset: str | int) -> str:
        """The address of what is at an offset; no longer right once the arena has grown."""
        return self.e.offset(self.e.assign(f"load ptr, ptr {self.base}, align 8"), offset)

    def ensure(self, needed: str) -> None:
        """Let the capacity be at least ``needed`` bytes."""
        e = self.e
        if e.target.reallocate is None:
            raise IRError("memory cannot grow on this target")
        enough, grow, grown = e.labels("enough", "grow", "grown")
        fits = e.assign(f"icmp sle i64 {needed}, {e.assign(f'load i64, ptr {self.capacity}, align 8')}")
        e.branch_if(fits, enough, grow)
        e.start(grow)
        self._declare_growth()
        failed = e.assign(f"call i1 @{self.base_field}.grow(ptr %worker, i64 {needed}, i64 {e.thread})")
        e.branch_if(failed, e.failure_label, grown)
        e.start(grown)
        self.reload()
        e.branch(enough)
        e.start(enough)

    def _declare_growth(self) -> None:
        """The function that reallocates; true, with the failure recorded, if there is no memory."""
        reallocate, fields, module = self.e.target.reallocate, OFFSETS, self.e.module
        module.declare(f"{reallocate}", f"declare ptr @{reallocate}(ptr, i64)")
        module.definitions[f"{self.base_field}.grow"] = f"""\
define internal i1 @{self.base_field}.grow(ptr %worker, i64 %needed, i64 %thread) noinline cold nounwind {{
  %capacity.at = getelementptr i8, ptr %worker, i64 {fields[self.capacity_field]}
  %base.at = getelementptr i8, ptr %worker, i64 {fields[self.base_field]}
  %capacity = load i64, ptr %capacity.at
  %half = lshr i64 %capacity, 1
  %larger = add i64 %capacity, %half
  %enough = call i64 @llvm.smax.i64(i64 %larger, i64 %needed)
  %size = call i64 @llvm.smax.i64(i64 %enough, i64 {_FIRST_CAPACITY})
  %old = load ptr, ptr %base.at
  %new = call ptr @{reallocate}(ptr %old, i64 %size)
  %none = icmp eq ptr %new, null
  br i1 %none, label %failed, label %done
done:
  store ptr %new, ptr %base.at
  store i64 %size, ptr %capacity.at
  ret i1 false
failed:
  %failed.at = getelementptr i8, ptr %worker, i64 {fields["failed"]}
  %message.at = getelementptr i8, ptr %worker, i64 {fields["message"]}
  %thread.at = getelementptr i8, ptr %worker, i64 {fields["thread"]}
  store i64 1, ptr %failed.at
  store i64 {OUT_OF_MEMORY}, ptr %message.at
  store i64 %thread, ptr %thread.at
  ret i1 true
}}"""
