"""From a kernel's IR to the LLVM text of ``void kernel(ptr args, i64 begin, i64 end, ptr worker)``.

Writes the loop over the threads of a range around the body. If the body asks for coordinates, the
loop is two: over the rows of the launch, and over the threads of a row, so that coordinates need
no division and the inner loop has consecutive threads, which LLVM vectorises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

from treadle.codegen import (
    aggregates,
    assertions,
    atomics,
    control_flow,
    handles,
    indices,
    logs,
    memory,
    native,
    printing,
    reductions,
    stack,
)
from treadle.codegen.arguments import EXTENTS, ArgumentLayout
from treadle.codegen.emitter import FunctionEmitter, Handler
from treadle.codegen.module import Message, Module
from treadle.codegen.options import Options
from treadle.codegen.ownership import Buffers, assign_buffers
from treadle.codegen.target import Target
from treadle.codegen.worker import OFFSETS
from treadle.ir.core import Function
from treadle.ir.definitions import IRError
from treadle.ir.depth import deep
from treadle.ir.structure import STACK
from treadle.passes.decisive import decisive
from treadle.passes.shared import shared_work
from treadle.types.storage import Aggregate, ArrayRef

HANDLERS: dict[str, Handler] = {
    name: handler
    for room in (aggregates, assertions, atomics, control_flow, handles, indices, logs, memory, native, printing, stack)
    for name, handler in room.HANDLERS.items()
}

_GROUP, _LOOP, _ROWS, _PARALLEL, _NO_UNROLL, _NO_VECTORS = "!0", "!1", "!2", "!3", "!4", "!5"

# LLVM 22's vectoriser asks of each value whether it is the same in all threads, and takes exponential time over chains
# of values that are, unless they were moved out of the loop, as all are that were not loaded. Up to this length of a
# chain that is no matter.
_LONGEST_SHARED_CHAIN = 8


def _metadata(vectorises: bool) -> list[str]:
    """What LLVM is told of the loops over threads."""
    properties = f"{_PARALLEL}, {_NO_UNROLL}" if vectorises else f"{_PARALLEL}, {_NO_UNROLL}, {_NO_VECTORS}"
    return [
        f"{_GROUP} = distinct !{{}}",
        f"{_LOOP} = distinct !{{{_LOOP}, {properties}}}",
        f"{_ROWS} = distinct !{{{_ROWS}, {properties}}}",
        f'{_PARALLEL} = !{{!"llvm.loop.parallel_accesses", {_GROUP}}}',
        # Unrolling the loop over threads doubles the time to compile it and gains nothing.
        f'{_NO_UNROLL} = !{{!"llvm.loop.unroll.runtime.disable"}}',
        f'{_NO_VECTORS} = !{{!"llvm.loop.vectorize.enable", i1 false}}',
    ]


_DEFAULT = Options()


@dataclass(frozen=True)
class Emitted:
    """The LLVM text of a kernel, and the messages of its assertions by number."""

    text: str
    messages: tuple[Message, ...]


@dataclass
class _Needs:
    """What the body of a kernel uses."""

    aggregates: bool = False
    stack: bool = False
    logs: bool = False
    failure: bool = False
    coordinates: bool = False
    null_arrays: bool = False


@deep
def emit_kernel(
    function: Function, symbol: str, launch_ndim: int, target: Target, options: Options = _DEFAULT
) -> Emitted:
    """Write a kernel.

    ``launch_ndim`` is the number of launch dimensions, 1 to 4: a rank-1 ``thread_index`` is the flat
    index, others are coordinates in the launch; axes from ``launch_ndim`` on are 0. A launch must have
    fewer than 2^31 threads along each dimension, and in all if the kernel asks for the flat index.

    Raises:
        IRError: the function is no kernel, or calls were not inlined.
    """
    if not function.is_kernel or function.results:
        raise IRError(f"{function.name!r} is not a kernel")
    needs = _survey(function)
    buffers = assign_buffers(function) if needs.aggregates else Buffers()
    module = Module(target)
    e = FunctionEmitter(module, options, HANDLERS, buffers)
    e.parallel = f", !llvm.access.group {_GROUP}"
    e.start("arguments")
    e.decisive = cache(partial(decisive, function))
    _bind_parameters(e, function)
    e.reductions = reductions.begin(e, function)
    if needs.failure:
        _skip_after_failure(e)
    if needs.stack:
        e.stack = stack.Stack(e, function.body)
    if needs.logs:
        e.logs = logs.Logs(e, function)
    if needs.coordinates and launch_ndim > 1:
        _emit_rows(e, function, launch_ndim)
    else:
        _emit_flat(e, function)
    e.start("done")
    reductions.finish(e, e.reductions, atomics.add)
    if needs.logs:
        e.logs.finish()
    e.line("ret void")
    header = f"define void @{symbol}(ptr noalias %args, i64 %begin, i64 %end, ptr noalias %worker)"
    # Or LLVM would take an array that may be nothing for one that is accessed, and access that in any case.
    attributes = f"{target.function_attributes}{' null_pointer_is_valid' if needs.null_arrays else ''}"
    text = [f"{header} {attributes} {{", "entry:", *e.slots, "br label %arguments", *e.lines, "}"]
    metadata = _metadata(vectorises=shared_work(function, launch_ndim) <= _LONGEST_SHARED_CHAIN)
    return Emitted(module.finish(text, metadata), tuple(module.messages))


def _survey(function: Function) -> _Needs:
    needs = _Needs(aggregates=any(isinstance(v.type, Aggregate) for v in function.parameters))
    for op in function.body.walk():
        for value in op.results:
            if value.type.__class__ is Aggregate:
                needs.aggregates = True
        if op.name == "thread_index":
            needs.coordinates |= op.attributes["rank"] > 1
        elif op.name in STACK:
            needs.stack = needs.failure = True
        elif op.name in logs.HANDLERS:
            needs.logs = needs.failure = True
        elif op.name == "assert":
            needs.failure = True
        elif op.name == "null_array":
            needs.null_arrays = True
    return needs


def _bind_parameters(e: FunctionEmitter, function: Function) -> None:
    """Read the arguments, once for all threads; aggregates stay where they are."""
    layout = ArgumentLayout.of([v.type for v in function.parameters])
    for value, offset in zip(function.parameters, layout.offsets):
        address, type_ = e.offset("%args", offset), value.type
        if isinstance(type_, ArrayRef):
            e.values[value] = handles.load_registers(e, address, type_)
        elif isinstance(type_, Aggregate):
            e.buffers.address[e.buffers.number[value]] = e.values[value] = address
        else:
            e.values[value] = e.load_scalar(type_, address)


def _skip_after_failure(e: FunctionEmitter) -> None:
    """A worker that failed runs nothing more, until the failure is taken."""
    (sound,) = e.labels("sound")
    failed = e.assign(f"load i64, ptr {e.offset('%worker', OFFSETS['failed'])}, align 8")
    e.branch_if(e.assign(f"icmp eq i64 {failed}, 0"), sound, "done")
    e.start(sound)


def _index32(e: FunctionEmitter, text: str) -> str:
    """An index as i32. Indexing uses ``text`` itself, so that LLVM sees consecutive accesses of consecutive threads."""
    index = e.assign(f"trunc nsw i64 {text} to i32")
    e.wide_indices[index] = text
    return index


def _emit_body(e: FunctionEmitter, function: Function) -> None:
    if e.stack is not None:
        e.stack.set_top("0")
    if e.logs is not None:
        e.logs.start_thread()
    e.emit_block(function.body)


def _emit_flat(e: FunctionEmitter, function: Function) -> None:
    e.branch_if(e.assign("icmp slt i64 %begin, %end"), "thread", "done")
    entry = e.label
    e.start("thread")
    (thread,), ticket = e.reserve_phis(["i64"])
    index = _index32(e, thread)
    e.thread = thread
    e.thread_index = lambda axis, rank: index if axis == 0 else "0"
    _emit_body(e, function)
    following = e.assign(f"add nuw nsw i64 {thread}, 1")
    e.fill_phis(ticket, [thread], ["i64"], [(entry, ["%begin"]), (e.label, [following])])
    e.branch_if(e.assign(f"icmp slt i64 {following}, %end"), "thread", "done", f", !llvm.loop {_LOOP}")


def _emit_rows(e: FunctionEmitter, function: Function, launch_ndim: int) -> None:
    extents = [e.assign(f"load i64, ptr {e.offset('%args', 8 * k)}, align 8") for k in range(min(launch_ndim, EXTENTS))]
    e.branch_if(e.assign("icmp slt i64 %begin, %end"), "first", "done")
    e.start("first")
    start = _coordinates(e, "%begin", extents)
    types = ["i64"] * (len(extents) + 1)
    entry = e.label
    e.branch("row")
    e.start("row")
    (first, *row), row_ticket = e.reserve_phis(types)  # the first thread and its coordinates
    left = e.assign(f"sub nsw i64 %end, {first}")
    room = e.assign(f"sub nsw i64 {extents[-1]}, {row[-1]}")
    stop = e.assign(f"add nsw i64 {row[-1]}, {e.assign(f'call i64 @llvm.smin.i64(i64 {left}, i64 {room})')}")
    origin = e.assign(f"sub nsw i64 {first}, {row[-1]}")
    outer = [_index32(e, c) for c in row[:-1]]
    e.branch("thread")
    e.start("thread")
    (column,), ticket = e.reserve_phis(["i64"])
    e.thread = e.assign(f"add nsw i64 {origin}, {column}")
    coordinates = [*outer, _index32(e, column), *("0",) * EXTENTS]
    flat = _index32(e, e.thread)
    e.thread_index = lambda axis, rank: coordinates[axis] if rank > 1 else flat
    _emit_body(e, function)
    following = e.assign(f"add nuw nsw i64 {column}, 1")
    e.fill_phis(ticket, [column], ["i64"], [("row", [row[-1]]), (e.label, [following])])
    e.branch_if(e.assign(f"icmp slt i64 {following}, {stop}"), "thread", "row.done", f", !llvm.loop {_LOOP}")
    e.start("row.done")
    following_first = e.assign(f"add nsw i64 {origin}, {stop}")
    following_row = [following_first, *_next_row(e, row, extents)]
    e.fill_phis(row_ticket, [first, *row], types, [(entry, ["%begin", *start]), ("row.done", following_row)])
    e.branch_if(e.assign(f"icmp slt i64 {following_first}, %end"), "row", "done", f", !llvm.loop {_ROWS}")


def _coordinates(e: FunctionEmitter, thread: str, extents: list[str]) -> list[str]:
    """The coordinates of a flat thread index."""
    result = []
    for extent in reversed(extents[1:]):
        result.append(e.assign(f"urem i64 {thread}, {extent}"))
        thread = e.assign(f"udiv i64 {thread}, {extent}")
    return [*result, thread][::-1]


def _next_row(e: FunctionEmitter, row: list[str], extents: list[str]) -> list[str]:
    """The coordinates at which the next row starts: one more, carried from axis to axis."""
    result, carry = ["0"], "1"
    for axis in range(len(row) - 2, -1, -1):
        raised = e.assign(f"add nsw i64 {row[axis]}, {carry}")
        if axis == 0:
            result.append(raised)
            break
        full = e.assign(f"icmp eq i64 {raised}, {extents[axis]}")
        result.append(e.assign(f"select i1 {full}, i64 0, i64 {raised}"))
        carry = e.assign(f"zext i1 {full} to i64")
    return result[::-1]
