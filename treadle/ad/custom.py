"""Reverse mode for calls of functions whose derivative the user wrote, in full or in part.

All other calls have been inlined before. The primal sweep calls the user's replay function, or
the function itself without its effects; the reverse calls the user's gradient function, or the
adjoint made from the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from treadle.ad.errors import DerivativeError
from treadle.ad.scope import Scope, SweepCloner
from treadle.ir.builder import Builder
from treadle.ir.core import Block, CustomDerivative, Function, Op, Value
from treadle.passes.clone import Cloner
from treadle.passes.inline import inline
from treadle.types.storage import Aggregate, ArrayRef

if TYPE_CHECKING:
    from treadle.ad.transform import Adjoints, Transform


def _custom(op: Op) -> CustomDerivative:
    custom = op.attributes["callee"].custom
    assert custom is not None, "a call without custom derivative should have been inlined"
    return custom  # type: ignore[no-any-return]


def sweep(transform: Transform, cloner: SweepCloner, op: Op) -> None:
    """Call the replay function, or the function itself without its effects."""
    custom = _custom(op)
    if custom.replay is not None:
        replay = reading_after(custom.replay)
    else:
        replay = without_effects(transform, op.attributes["callee"])
    operands = cloner.values(op.operands)
    call = transform.builder.op("call", operands, [r.type for r in op.results], {"callee": replay})
    for old, new in zip(op.results, call.results):
        cloner.scope.define(old, new)


def reading_after(function: Function) -> Function:
    """What the user wrote to run in the backward pass finds arrays as the launch left them, not as they were before."""
    inlined = inline(function, keep_custom=False)
    copy = Function(function.name, Block([p.type for p in function.parameters]), False, list(function.labels))
    cloner = _ReadingAfter(Builder(copy.body), dict(zip(inlined.parameters, copy.parameters)))
    copy.body.yields = cloner.block_body(inlined.body)
    return copy


class _ReadingAfter(Cloner):
    __slots__ = ()

    def op(self, op: Op) -> list[Value]:
        results = super().op(op)
        if op.name in ("load", "native"):
            self.builder.block.ops[-1].attributes["after"] = True
        return results


def without_effects(transform: Transform, function: Function) -> Function:
    """``function`` as the primal sweep repeats it: what it stored is there already."""
    function = inline(function, keep_custom=False)
    copy = Function(function.name, Block([p.type for p in function.parameters]), False, list(function.labels))
    builder = Builder(copy.body)
    scope = Scope(builder)
    for old, new in zip(function.parameters, copy.parameters):
        scope.define(old, new)
    inner = transform.for_function(function, builder)
    copy.body.yields = inner.replay(scope, function.body)
    return copy


def sweep_native(transform: Transform, cloner: SweepCloner, op: Op) -> None:
    """Run C++ again for its results; what it did to arrays is done."""
    if op.results:
        types = [r.type for r in op.results]
        again = transform.builder.op("native_again", cloner.values(op.operands), types, dict(op.attributes))
        for old, new in zip(op.results, again.results):
            cloner.scope.define(old, new)


def reverse_native(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """C++ without a derivative: refuse if one is asked for."""
    incoming = [adjoints.pop(r, None) for r in op.results]
    arrays = [v for v in op.operands if isinstance(v.type, ArrayRef)]
    if any(g is not None for g in incoming) or any(transform.companions[v] is not None for v in arrays):
        raise DerivativeError("a gradient is asked for through a func_native that has no adj_snippet", op.location)


def reverse(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Call the gradient function and hand on its results."""
    from treadle.ad.transform import adjoint_type, converted, differentiable

    incoming = [adjoints.pop(r, None) for r in op.results]
    callee, custom = op.attributes["callee"], _custom(op)
    arrays = [v for v in op.operands if isinstance(v.type, ArrayRef)]
    if all(g is None for g in incoming) and not any(transform.companions[v] is not None for v in arrays):
        return
    builder = transform.builder
    seeds = [
        builder.zero(r.type) if g is None else converted(builder, g, r.type)
        for r, g in zip(op.results, incoming)
        if differentiable(r.type)
    ]
    companions = [_companion(transform, scope, v, callee) for v in arrays]
    gradient = reading_after(custom.gradient) if custom.gradient is not None else transform.adjoint_of(callee)
    wanted = [v for v in op.operands if differentiable(v.type)]
    operands = [*(scope.recall(v) for v in op.operands), *companions, *seeds]
    call = builder.op("call", operands, [v.type for v in wanted], {"callee": gradient})
    contributions = call.results
    if any(g is not None for g in incoming) and not _writes(callee):
        contributions = _guarded(builder, seeds, contributions)
    for operand, contribution in zip(wanted, contributions):
        transform.accumulate(adjoints, operand, converted(builder, contribution, adjoint_type(operand.type)))


def _companion(transform: Transform, scope: Scope, handle: Value, callee: Function) -> Value:
    """The gradient of an array that is given to a function; without one, an array to which additions are lost."""
    companion = transform.companions[handle]
    if companion is not None:
        return scope.recall(companion)
    reason = (
        f"the derivative of function {callee.name} that was written by hand uses the gradient of an array that has "
        "none here: give the array requires_grad=True (within wp.grad, arrays have no gradient), or leave the gradient "
        "out of the derivative"
    )
    return transform.builder.op("null_array", (), (handle.type,), {"reason": reason}).result


def _writes(function: Function) -> bool:
    """Whether a function may write to memory, so that gradients come in for more than its results."""
    return any(
        op.name in ("store", "atomic", "native") or (op.name == "call" and _writes(op.attributes["callee"]))
        for op in function.body.walk()
    )


def _guarded(builder: Builder, seeds: list[Value], contributions: list[Value]) -> list[Value]:
    """Zero where all that comes in is zero: the results were discarded, and the user's formula may give NaN there."""
    discarded: Optional[Value] = None
    for seed in seeds:
        size = builder.emit("abs", seed)
        if isinstance(seed.type, Aggregate):
            size = builder.emit("reduce_add", size)
        is_zero = builder.emit("eq", size, builder.zero(size.type))
        discarded = is_zero if discarded is None else builder.emit("and", discarded, is_zero)
    if discarded is None:
        return contributions
    return [builder.emit("select", discarded, builder.zero(v.type), v) for v in contributions]
