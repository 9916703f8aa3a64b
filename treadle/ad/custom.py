"""Reverse mode for calls of functions whose derivative the user wrote, in full or in part.

All other calls have been inlined before. The primal sweep calls the user's replay function, or
the function itself without its effects; the reverse calls the user's gradient function, or the
adjoint made from the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.ad.scope import Scope, SweepCloner
from treadle.ir.builder import Builder
from treadle.ir.core import Block, CustomDerivative, Function, Op, Value
from treadle.types.storage import ArrayRef

if TYPE_CHECKING:
    from treadle.ad.transform import Adjoints, Transform


def _custom(op: Op) -> CustomDerivative:
    custom = op.attributes["callee"].custom
    assert custom is not None, "a call without custom derivative should have been inlined"
    return custom  # type: ignore[no-any-return]


def sweep(transform: Transform, cloner: SweepCloner, op: Op) -> None:
    """Call the replay function, or the function itself without its effects."""
    replay = _custom(op).replay or without_effects(transform, op.attributes["callee"])
    operands = cloner.values(op.operands)
    call = transform.builder.op("call", operands, [r.type for r in op.results], {"callee": replay})
    for old, new in zip(op.results, call.results):
        cloner.scope.define(old, new)


def without_effects(transform: Transform, function: Function) -> Function:
    """``function`` as the primal sweep repeats it: what it stored is there already."""
    copy = Function(function.name, Block([p.type for p in function.parameters]), False, list(function.labels))
    scope = Scope()
    for old, new in zip(function.parameters, copy.parameters):
        scope.define(old, new)
    inner = transform.for_function(function, Builder(copy.body))
    copy.body.yields = inner.replay(scope, function.body)
    return copy


def reverse(transform: Transform, scope: Scope, op: Op, adjoints: Adjoints) -> None:
    """Call the gradient function and hand on its results."""
    from treadle.ad.transform import differentiable

    incoming = [adjoints.pop(r, None) for r in op.results]
    callee, custom = op.attributes["callee"], _custom(op)
    arrays = [v for v in op.operands if isinstance(v.type, ArrayRef)]
    if all(g is None for g in incoming) and not arrays:
        return
    builder = transform.builder
    seeds = [
        builder.zero(r.type) if g is None else g for r, g in zip(op.results, incoming) if differentiable(r.type)
    ]
    companions = [
        builder.zero(v.type) if companion is None else scope.recall(companion)
        for v in arrays
        for companion in (transform.companions.get(v),)
    ]
    gradient = custom.gradient or transform.adjoint_of(callee)
    wanted = [v for v in op.operands if differentiable(v.type)]
    operands = [*(scope.recall(v) for v in op.operands), *companions, *seeds]
    call = builder.op("call", operands, [v.type for v in wanted], {"callee": gradient})
    for operand, contribution in zip(wanted, call.results):
        transform.accumulate(adjoints, operand, contribution)
