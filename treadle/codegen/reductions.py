"""Sums over all threads into one element: added up in a register, and to memory once, after the last thread of a range.

That is what ``atomic_add(loss, 0, x)`` mostly is. An addition can wait until then if nothing that comes after it in a
thread looks at memory; other additions may, as their order is of no matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.codegen.aggregates import component_loop
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import TABLE
from treadle.passes.uniform import is_uniform
from treadle.primitives.types import scalar_of
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, StorageType

if TYPE_CHECKING:
    from treadle.codegen.emitter import FunctionEmitter

_SUMS = ("add", "sub")
_TYPES = (scalars.float32, scalars.float64, scalars.int32, scalars.uint32, scalars.int64, scalars.uint64)


@dataclass(frozen=True)
class Reduction:
    """The stack slots of one sum: of the total so far, and of the element's address, null as long as nothing was added.

    LLVM keeps both in registers.
    """

    type: StorageType
    total: str
    element: str

    @property
    def scalar(self) -> ScalarMeta:
        return scalar_of(self.type)

    def parts(self, e: FunctionEmitter, visit: Callable[[Callable[[str], str]], None]) -> None:
        """Call ``visit`` for each scalar, with a function that finds the scalar in a whole at an address."""
        type_ = self.type
        if isinstance(type_, Aggregate):
            component_loop(e, type_.count, lambda k: visit(lambda address: e.component_address(address, type_, k)))
        else:
            visit(lambda address: address)


def find(function: Function) -> list[Op]:
    """The atomics of a kernel that add to the same element in all threads, and can wait."""
    found: list[Op] = []
    _search(function, function.body, function.used_values(), True, found)
    return found


def _search(function: Function, block: Block, used: set[Value], can_wait: bool, found: list[Op]) -> bool:
    """Go through a block from its end; ``can_wait`` says whether an addition could wait there.

    Returns whether one could at the beginning.
    """
    for op in reversed(block.ops):
        if op.name == "if":
            sides = [_search(function, side, used, can_wait, found) for side in op.blocks]
            can_wait = all(sides)
        elif op.blocks:
            can_wait = can_wait and all(_is_pure(inner) for side in op.blocks for inner in side.walk())
        elif op.name == "atomic" and op.attributes["kind"] in _SUMS and op.result not in used:
            if can_wait and _is_uniform_sum(function, op):
                found.append(op)
        else:
            can_wait = can_wait and _is_pure(op)
    return can_wait


def _is_pure(op: Op) -> bool:
    return bool(op.blocks) or TABLE[op.name].effect == "pure"


def _is_uniform_sum(function: Function, op: Op) -> bool:
    array, *indices, value = op.operands
    is_known = scalar_of(value.type) in _TYPES and array in function.parameters
    return is_known and all(is_uniform(function, v) for v in indices)


def begin(e: FunctionEmitter, function: Function) -> dict[Op, Reduction]:
    """Set the totals to zero."""
    return {op: _begin_one(e, op.operands[-1].type) for op in find(function)}


def _begin_one(e: FunctionEmitter, type_: StorageType) -> Reduction:
    scalar = scalar_of(type_)
    total = e.aggregate_slot(type_) if isinstance(type_, Aggregate) else e.slot(e.type(scalar), scalar.size)
    reduction = Reduction(type_, total, e.slot("ptr", 8))
    zero = "-0.0" if scalar.is_float else "0"  # the zero that changes nothing when it is added
    reduction.parts(e, lambda part: e.store_scalar(scalar, zero, part(total)))
    e.line(f"store ptr null, ptr {reduction.element}")
    return reduction


def add(e: FunctionEmitter, reduction: Reduction, kind: str, address: str, value: str) -> None:
    """Add to the total, in whatever order: that of the threads is not fixed either.

    ``address`` is that of the element; ``value`` is a register, or the address of an aggregate.
    """
    scalar, total = reduction.scalar, reduction.total
    operation = kind
    if scalar.is_float:
        operation = f"f{kind} {e.fast if e.fast.startswith('fast') else f'reassoc {e.fast}'}".rstrip()

    def add_part(part: Callable[[str], str]) -> None:
        text = e.load_scalar(scalar, part(value)) if isinstance(reduction.type, Aggregate) else value
        before = e.load_scalar(scalar, part(total))
        e.store_scalar(scalar, e.assign(f"{operation} {e.type(scalar)} {before}, {text}"), part(total))

    reduction.parts(e, add_part)
    e.line(f"store ptr {address}, ptr {reduction.element}")


def finish(
    e: FunctionEmitter, reductions: dict[Op, Reduction], update: Callable[[FunctionEmitter, ScalarMeta, str, str], None]
) -> None:
    """Add the totals to memory; ``update`` adds a value to what is at an address."""
    for reduction in reductions.values():
        _finish_one(e, reduction, update)


def _finish_one(
    e: FunctionEmitter, reduction: Reduction, update: Callable[[FunctionEmitter, ScalarMeta, str, str], None]
) -> None:
    scalar = reduction.scalar
    some, none = e.labels("sum", "sum.done")
    element = e.assign(f"load ptr, ptr {reduction.element}")
    e.branch_if(e.assign(f"icmp eq ptr {element}, null"), none, some)
    e.start(some)
    reduction.parts(e, lambda part: update(e, scalar, part(element), e.load_scalar(scalar, part(reduction.total))))
    e.branch(none)
    e.start(none)
