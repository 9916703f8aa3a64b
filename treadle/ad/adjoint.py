"""The entry to reverse mode: from a function or kernel, make its adjoint.

The work is shared out: ``sweep`` emits the primal sweep and keeps what the reverse needs,
``reverse`` walks backwards and applies the rules, ``loops``, ``branches`` and ``memory`` hold the
rules that are not in the table of primitives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Optional

from treadle.ad.companions import RETAINED_LABEL, Companions, carried_over, with_companions
from treadle.ad.conditions import with_plain_conditions
from treadle.ad.errors import DerivativeError
from treadle.ad.log import with_logs
from treadle.ad.scope import Scope
from treadle.ad.transform import Transform, adjoint_type, converted, differentiable
from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Value
from treadle.ir.depth import deep


@deep
def adjoint_kernel(
    function: Function,
    active: Collection[str],
    unrepeatable: Collection[str] = (),
    repeated: Collection[str] = (),
    contiguous: bool = True,
    retained: Collection[str] = (),
) -> Function:
    """The adjoint of a kernel.

    Its parameters are those of the kernel, then one array handle for each array parameter whose
    label is in ``active``: the array of gradients, read for what the kernel writes and added to
    for what it reads. Stores, prints and assertions of the kernel are not repeated, but for the
    following. Arrays labelled ``unrepeatable`` are read after the kernel has written to the same
    memory; what they hold is to be a scratch copy of what was there before, and so are those
    labelled ``repeated``, to which the primal sweep writes again. ``contiguous``: whether the
    gradients of contiguous arrays are contiguous. For each array labelled in ``retained`` another
    handle follows: an array in which the adjoint keeps the gradients that a store consumes, where
    it holds ``memory.NOT_KEPT`` so far.

    Raises:
        DerivativeError: something in the kernel has no derivative that can be given.
    """
    function = with_plain_conditions(function, loads=bool(unrepeatable))
    paired, companions, _ = with_companions(function, active, contiguous)
    keepers: Companions = {}
    if retained:
        paired, keepers, mapping = with_companions(paired, retained, contiguous, RETAINED_LABEL)
        companions = carried_over(companions, mapping)
    paired, logs, mapping = with_logs(paired, frozenset(unrepeatable), frozenset(repeated))
    companions, keepers = carried_over(companions, mapping), carried_over(keepers, mapping)
    adjoint = Function(f"{function.name}_adjoint", Block(), True, list(paired.labels))
    transform = Transform(paired, Builder(adjoint.body), companions, logs=logs, keepers=keepers)
    scope = _enter(paired, adjoint, transform.builder)
    transform.sweep(scope, paired.body)
    transform.reverse(scope, paired.body, {})
    return adjoint


def adjoint_function(function: Function, numbers: Optional[Iterator[int]] = None, with_arrays: bool = True) -> Function:
    """The adjoint of a function.

    Its parameters are those of the function, then the companion of each array parameter, then the
    adjoint of each differentiable result; its results are the adjoints of the differentiable
    parameters. All in order. Without ``with_arrays`` there are no companions, and what the function
    reads from arrays counts as constant. ``numbers`` are given to the frames of its loops.
    """
    labels = [str(k) for k in range(len(function.parameters))]
    numbered = with_plain_conditions(replace(function, labels=labels), loads=False)
    paired, companions, _ = with_companions(numbered, labels if with_arrays else ())
    adjoint = Function(f"{function.name}_adjoint")
    transform = Transform(paired, Builder(adjoint.body), companions, numbers)
    scope = _enter(paired, adjoint, transform.builder)
    seeds: dict[Value, Value] = {}
    incoming = [(r, adjoint.body.add_parameter(r.type)) for r in paired.results if differentiable(r.type)]
    transform.sweep(scope, paired.body)
    for result, seed in incoming:
        transform.accumulate(seeds, result, converted(transform.builder, seed, adjoint_type(result.type)))
    transform.reverse(scope, paired.body, seeds)
    wanted = [p for p in paired.parameters if differentiable(p.type)]
    adjoint.body.yields = [
        converted(transform.builder, seeds[p], p.type) if p in seeds else transform.builder.zero(p.type) for p in wanted
    ]
    return adjoint


@deep
def check_available(adjoint: Function) -> None:
    """Refuse an adjoint that, after dead code is gone, still needs a value it cannot have.

    That is one that is ``unavailable``, or the gradient of an array that has none and so stands for nothing, where
    it is not known at compile time that nothing happens to it.

    Raises:
        DerivativeError: with the reason and the user's line.
    """
    for op in adjoint.body.walk():
        if op.name in ("unavailable", "null_array") and "reason" in op.attributes:
            raise DerivativeError(op.attributes["reason"], op.location)


def _enter(function: Function, adjoint: Function, builder: Builder) -> Scope:
    scope = Scope(builder)
    for parameter in function.parameters:
        scope.define(parameter, adjoint.body.add_parameter(parameter.type, parameter.name))
    return scope
