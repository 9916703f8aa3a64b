"""Writes the function that XLA calls, as LLVM text: it takes XLA's call frame apart and runs a kernel's machine code.

It takes no lock of Python's, keeps no state, and may run in several threads at once. The shapes of a call come with
it, as an attribute of 64-bit words: the kernel's argument buffer with gaps for addresses and traced values, the number
of threads, the bytes of one batch element of each operand and each result, and how many of these to set to zero first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treadle.codegen.arguments import ArgumentLayout
from treadle.codegen.code import Code
from treadle.codegen.worker import OFFSETS, OUT_OF_MEMORY, WorkerFields
from treadle.interop.jax import frame
from treadle.interop.jax.programs import Role

if TYPE_CHECKING:
    from treadle.interop.jax.programs import Program

SYMBOL = "handler"
MESSAGE_SIZE = 4096
_WORKER_SIZE = ctypes.sizeof(WorkerFields)


@dataclass(frozen=True)
class Addresses:
    """Of what a handler calls: the kernel, the callback for ``print``, and the one that words a failure."""

    kernel: int
    print: int
    describe: int


@dataclass(frozen=True)
class _Words:
    """The positions of the parts of the attribute."""

    total: int
    operands: int
    results: int
    zeros: int

    @classmethod
    def of(cls, program: Program, layout: ArgumentLayout) -> _Words:
        total = layout.size // 8
        results = total + 1 + len(program.operands)
        return cls(total, total + 1, results, results + len(program.results))


def call_words(
    program: Program, packed: bytes, threads: int, operands: Sequence[int], results: Sequence[int], zeros: Sequence[int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The attribute of a call. ``operands``, ``results``: bytes of one batch element; ``zeros``: of these, how many
    are to be zero before the kernel runs."""
    return np.concatenate([np.frombuffer(packed, np.int64), np.array([threads, *operands, *results, *zeros], np.int64)])


def emit_handler(program: Program, addresses: Addresses, prologue: str) -> str:
    """The LLVM text of the handler of a program. ``prologue`` names the target."""
    writer = _Writer(program, addresses)
    writer.write()
    return "\n".join([prologue, _DECLARATIONS, _helpers(), *writer.finish(), ""])


_DECLARATIONS = """\
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"""


def _helpers() -> str:
    major, minor = frame.interface_version()
    return f"""\
; XLA asks for the version of the interface.
define internal ptr @answer(ptr %extension) noinline cold nounwind {{
  %type.at = getelementptr i8, ptr %extension, i64 {frame.EXTENSION_TYPE}
  %type = load i32, ptr %type.at
  %asks = icmp eq i32 %type, {frame.EXTENSION_METADATA}
  br i1 %asks, label %fill, label %done
fill:
  %metadata.at = getelementptr i8, ptr %extension, i64 {frame.METADATA_EXTENSION_METADATA}
  %metadata = load ptr, ptr %metadata.at
  %major.to = getelementptr i8, ptr %metadata, i64 {frame.METADATA_MAJOR}
  %minor.to = getelementptr i8, ptr %metadata, i64 {frame.METADATA_MINOR}
  store i32 {major}, ptr %major.to
  store i32 {minor}, ptr %minor.to
  br label %done
done:
  ret ptr null
}}

; The position of a batch element in an operand, some of whose batch dimensions may be 1.
define internal i64 @position(ptr %operand, ptr %result, i64 %rank, i64 %element) nounwind {{
  %mine.at = getelementptr i8, ptr %operand, i64 {frame.BUFFER_DIMS}
  %mine = load ptr, ptr %mine.at
  %all.at = getelementptr i8, ptr %result, i64 {frame.BUFFER_DIMS}
  %all = load ptr, ptr %all.at
  br label %check
check:
  %k = phi i64 [ %rank, %0 ], [ %axis, %next ]
  %rest = phi i64 [ %element, %0 ], [ %quotient, %next ]
  %stride = phi i64 [ 1, %0 ], [ %wider, %next ]
  %sum = phi i64 [ 0, %0 ], [ %moved, %next ]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %next, label %done
next:
  %axis = sub i64 %k, 1
  %whole.at = getelementptr i64, ptr %all, i64 %axis
  %whole = load i64, ptr %whole.at
  %extent.at = getelementptr i64, ptr %mine, i64 %axis
  %extent = load i64, ptr %extent.at
  %coordinate = urem i64 %rest, %whole
  %quotient = udiv i64 %rest, %whole
  %single = icmp eq i64 %extent, 1
  %own = select i1 %single, i64 0, i64 %coordinate
  %step = mul i64 %own, %stride
  %moved = add i64 %sum, %step
  %wider = mul i64 %stride, %extent
  br label %check
done:
  ret i64 %sum
}}

; The batch elements of a result: the product of its leading dimensions.
define internal i64 @elements(ptr %result, i64 %rank) nounwind {{
  %dims.at = getelementptr i8, ptr %result, i64 {frame.BUFFER_DIMS}
  %dims = load ptr, ptr %dims.at
  br label %check
check:
  %k = phi i64 [ 0, %0 ], [ %following, %next ]
  %product = phi i64 [ 1, %0 ], [ %larger, %next ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %next, label %done
next:
  %extent.at = getelementptr i64, ptr %dims, i64 %k
  %extent = load i64, ptr %extent.at
  %larger = mul i64 %product, %extent
  %following = add i64 %k, 1
  br label %check
done:
  ret i64 %product
}}
"""


class _Writer(Code):
    """Writes one handler."""

    def __init__(self, program: Program, addresses: Addresses) -> None:
        super().__init__()
        self.program = program
        self.addresses = addresses
        self.layout = ArgumentLayout.of([t for p in program.parameters for t in p.types])
        self.words = _Words.of(program, self.layout)

    def finish(self) -> list[str]:
        return [
            f"define ptr @{SYMBOL}(ptr %frame) nounwind {{",
            "entry:",
            *self.slots,
            "br label %start",
            *self.lines,
            "}",
        ]

    # Small steps.

    def at(self, base: str, offset: int | str) -> str:
        return self.assign(f"getelementptr i8, ptr {base}, i64 {offset}") if offset != 0 else base

    def load(self, type_: str, base: str, offset: int) -> str:
        return self.assign(f"load {type_}, ptr {self.at(base, offset)}, align {4 if type_ == 'i32' else 8}")

    def store(self, type_: str, text: str, base: str, offset: int | str) -> None:
        self.line(f"store {type_} {text}, ptr {self.at(base, offset)}")

    def word(self, position: int) -> str:
        return self.load("i64", "%words", 8 * position)

    def copy(self, to: str, source: str, size: str | int) -> None:
        self.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def clear(self, to: str, size: str | int) -> None:
        self.line(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")

    # The parts of the handler.

    def write(self) -> None:
        self.start("start")
        extension = self.load("ptr", "%frame", frame.FRAME_EXTENSION)
        self.branch_if(self.assign(f"icmp eq ptr {extension}, null"), "staged", "asked")
        self.start("asked")
        self.line(f"%answer = call ptr @answer(ptr {extension})")
        self.line("ret ptr %answer")
        self.start("staged")
        stage = self.load("i32", "%frame", frame.FRAME_STAGE)
        self.branch_if(self.assign(f"icmp eq i32 {stage}, {frame.STAGE_EXECUTE}"), "run", "nothing")
        self.start("nothing")
        self.line("ret ptr null")
        self.start("run")
        self._decode()
        self._batches()
        self._end()

    def _decode(self) -> None:
        """Buffers, attribute, the argument buffer with its gaps, and the worker."""
        attributes = self.load("ptr", "%frame", frame.FRAME_ATTRIBUTES)
        array = self.load("ptr", attributes, 0)
        self.line(f"%words = load ptr, ptr {self.at(array, frame.ARRAY_DATA)}, align 8")
        operands = self.load("ptr", "%frame", frame.FRAME_OPERANDS) if self.program.operands else ""
        results = self.load("ptr", "%frame", frame.FRAME_RESULTS)
        self.operand_buffers = [self.load("ptr", operands, 8 * k) for k in range(len(self.program.operands))]
        self.result_buffers = [self.load("ptr", results, 8 * k) for k in range(len(self.program.results))]
        self.operand_data = [self.load("ptr", b, frame.BUFFER_DATA) for b in self.operand_buffers]
        self.result_data = [self.load("ptr", b, frame.BUFFER_DATA) for b in self.result_buffers]
        self.arguments = self.slot(f"[{self.layout.size} x i8]", 8)
        self.copy(self.arguments, "%words", self.layout.size)
        self.worker = self.slot(f"[{_WORKER_SIZE} x i8]", 8)
        self.clear(self.worker, _WORKER_SIZE)
        self.store("ptr", f"inttoptr (i64 {self.addresses.print} to ptr)", self.worker, OFFSETS["print"])
        self.total = self.word(self.words.total)
        self.operand_bytes = [self.word(self.words.operands + k) for k in range(len(self.operand_buffers))]
        self.result_bytes = [self.word(self.words.results + k) for k in range(len(self.result_buffers))]
        self.zero_bytes = [self.word(self.words.zeros + k) for k in range(len(self.result_buffers))]
        rank = self.load("i64", self.result_buffers[0], frame.BUFFER_RANK)
        self.batch_rank = self.assign(f"sub i64 {rank}, {self.program.results[0].rank}")
        self.batch = self.assign(f"call i64 @elements(ptr {self.result_buffers[0]}, i64 {self.batch_rank})")

    def _batches(self) -> None:
        """The loop over batch elements; it ends at a failure."""
        self.branch("batch")
        before = self.label
        self.start("batch")
        (element,), ticket = self.reserve_phis(["i64"])
        self.branch_if(self.assign(f"icmp slt i64 {element}, {self.batch}"), "element", "end")
        self.start("element")
        operands = {p.label: self._operand(k, element) for k, p in enumerate(self.program.operands)}
        results = {}
        for k, p in enumerate(self.program.results):
            offset = self.assign(f"mul i64 {element}, {self.result_bytes[k]}")
            results[p.label] = self.at(self.result_data[k], offset)
            if p.role is Role.UPDATED:
                self._copy_in(results[p.label], operands[p.label], self.result_bytes[k])
            else:
                self.clear(results[p.label], self.zero_bytes[k])
        self._fill_gaps(operands, results)
        kernel = f"inttoptr (i64 {self.addresses.kernel} to ptr)"
        self.line(f"call void {kernel}(ptr {self.arguments}, i64 0, i64 {self.total}, ptr {self.worker})")
        failed = self.load("i64", self.worker, OFFSETS["failed"])
        following = self.assign(f"add i64 {element}, 1")
        self.fill_phis(ticket, [element], ["i64"], [(before, ["0"]), (self.label, [following])])
        self.branch_if(self.assign(f"icmp eq i64 {failed}, 0"), "batch", "end")

    def _operand(self, k: int, element: str) -> str:
        buffers = f"ptr {self.operand_buffers[k]}, ptr {self.result_buffers[0]}"
        position = self.assign(f"call i64 @position({buffers}, i64 {self.batch_rank}, i64 {element})")
        return self.at(self.operand_data[k], self.assign(f"mul i64 {position}, {self.operand_bytes[k]}"))

    def _copy_in(self, to: str, source: str, size: str) -> None:
        """The operand's contents, unless XLA lent the operand's own memory."""
        apart, done = self.labels("apart", "same")
        self.branch_if(self.assign(f"icmp eq ptr {to}, {source}"), done, apart)
        self.start(apart)
        self.copy(to, source, size)
        self.branch(done)
        self.start(done)

    def _fill_gaps(self, operands: dict[str, str], results: dict[str, str]) -> None:
        offsets = iter(self.layout.offsets)
        for p in self.program.parameters:
            source = 0
            for type_ in p.types:
                offset = next(offsets)
                if p.role is Role.TRACED:
                    size: int = type_.size  # type: ignore[union-attr]
                    self.copy(self.at(self.arguments, offset), self.at(operands[p.label], source), size)
                    source += size
                elif p.is_array and p.role is not Role.ABSENT:
                    address = results[p.label] if p.is_result else operands[p.label]
                    self.store("ptr", address, self.arguments, offset)

    def _end(self) -> None:
        """Give the worker's memory back, and turn a failure into an error of XLA."""
        self.start("end")
        for field in ("stack", "thread_log", "launch_log"):
            self.line(f"call void @free(ptr {self.load('ptr', self.worker, OFFSETS[field])})")
        failed = self.load("i64", self.worker, OFFSETS["failed"])
        self.branch_if(self.assign(f"icmp eq i64 {failed}, 0"), "fine", "bad")
        self.start("fine")
        self.line("ret ptr null")
        self.start("bad")
        number = self.load("i64", self.worker, OFFSETS["message"])
        text = self.slot(f"[{MESSAGE_SIZE} x i8]", 1)
        describe = f"inttoptr (i64 {self.addresses.describe} to ptr)"
        self.line(f"call void {describe}(ptr {self.worker}, ptr {text}, i64 {MESSAGE_SIZE})")
        error = self.slot(f"[{frame.ERROR_SIZE} x i8]", 8)
        memory = self.assign(f"icmp eq i64 {number}, {OUT_OF_MEMORY}")
        code = self.assign(f"select i1 {memory}, i32 {frame.RESOURCE_EXHAUSTED}, i32 {frame.INVALID_ARGUMENT}")
        self.store("i64", str(frame.ERROR_SIZE), error, 0)
        self.store("ptr", "null", error, 8)
        self.store("ptr", text, error, frame.ERROR_MESSAGE)
        self.store("i32", code, error, frame.ERROR_CODE)
        create = self.load("ptr", self.load("ptr", "%frame", frame.FRAME_API), frame.API_ERROR_CREATE)
        self.line(f"ret ptr {self.assign(f'call ptr {create}(ptr {error})')}")
