"""Gives every array handle of a function its companion: the handle of the array of gradients.

The companion of a parameter is a new parameter; a view, slice or choice of arrays has the same
view, slice or choice of companions. Afterwards the derivative transform finds the gradient of an
array like any other value.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Optional

from treadle.ad.errors import DerivativeError
from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.structure import CONTROL_FLOW
from treadle.passes.clone import Cloner
from treadle.types.storage import ArrayRef, StorageType

ADJOINT_LABEL = "adj:"
RETAINED_LABEL = "retained:"

Companions = dict[Value, Optional[Value]]
"""From array handles to the handles of their gradients."""


def with_companions(
    function: Function, active: Collection[str], contiguous: bool = True, prefix: str = ADJOINT_LABEL
) -> tuple[Function, Companions, dict[Value, Value]]:
    """A copy of ``function`` with a companion parameter for each array parameter labelled in ``active``.

    ``contiguous``: whether the companion of a contiguous array is contiguous; else none is.
    Returns it together with the map from array handles to companions, and the map from the values of
    the function to those of the copy. Handles without a companion (inactive arrays) are not in the
    first. Handles that come out of memory, from a struct in an array, map to None there: they may
    have a gradient, but it cannot be reached.
    """
    copy = Function(function.name, Block(), function.is_kernel, list(function.labels), function.custom)
    mapping = {old: copy.body.add_parameter(old.type, old.name) for old in function.parameters}
    pairing = _Pairing(Builder(copy.body), mapping)
    for label, parameter in zip(function.labels, list(copy.parameters)):
        if isinstance(parameter.type, ArrayRef) and label in active:
            type_ = parameter.type if contiguous else replace(parameter.type, contiguous=False)
            pairing.companions[parameter] = copy.body.add_parameter(type_, f"adj_{parameter.name}")
            copy.labels.append(prefix + label)
    copy.body.yields = pairing.block_body(function.body)
    return copy, pairing.companions, mapping


def carried_over(companions: Companions, mapping: dict[Value, Value]) -> Companions:
    """The companions of a function, for a copy of it; an empty map stands for the function itself."""
    if not mapping:
        return companions
    return {
        mapping[handle]: mapping[companion] if companion is not None else None
        for handle, companion in companions.items()
        if handle in mapping
    }


class _Pairing(Cloner):
    """A cloner that makes the companion of each array handle right after the handle."""

    __slots__ = ("companions",)

    def __init__(self, builder: Builder, mapping: dict[Value, Value]) -> None:
        super().__init__(builder, mapping)
        self.companions: Companions = {}

    def op(self, op: Op) -> list[Value]:
        if op.name in ("for", "while") and any(isinstance(r.type, ArrayRef) for r in op.results):
            return self._loop(op)
        results = super().op(op)
        if op.name == "if":
            self._pair_branches(op, results)
        elif op.name not in CONTROL_FLOW:
            for result in results:
                if isinstance(result.type, ArrayRef) and result not in self.companions:
                    self._pair(op, result)
        return results

    def _companion(self, handle: Value) -> Value:
        companion = self.companions[handle]
        assert companion is not None
        return companion

    def _pair(self, op: Op, result: Value) -> None:
        """The companion of a view, slice or select; a null array is its own."""
        if op.name in ("view", "slice"):
            base, *rest = self.values(op.operands)
            if base in self.companions:
                of_base = self.companions[base]
                self.companions[result] = of_base and self.builder.emit(op.name, of_base, *rest, **op.attributes)
        elif op.name == "select":
            condition, *choices = self.values(op.operands)
            if self._all_paired(op, choices):
                self.companions[result] = self.builder.emit("select", condition, *map(self._companion, choices))
        elif op.name == "null_array":
            self.companions[result] = result
        elif op.name == "load":
            self.companions[result] = None

    def _all_paired(self, op: Op, choices: list[Value]) -> bool:
        """Whether all these handles have companions; it must be all of them or none (null arrays aside)."""
        missing = [c for c in choices if self.companions.get(c) is None]
        real = [c for c in choices if self.companions.get(c) is not c]
        if missing and len(missing) < len(real):
            raise DerivativeError(
                "a variable stands for an array with a gradient or for one without, depending on values at run time: "
                "give all of these arrays requires_grad=True",
                op.location,
            )
        return not missing

    def _pair_branches(self, op: Op, results: list[Value]) -> None:
        new_op = results[0].owner if results else None
        if not isinstance(new_op, Op):
            return
        blocks = new_op.blocks
        for k, result in enumerate(list(results)):
            if isinstance(result.type, ArrayRef):
                choices = [block.yields[k] for block in blocks]
                if self._all_paired(op, choices):
                    for block, choice in zip(blocks, choices):
                        block.yields.append(self._companion(choice))
                    self.companions[result] = new_op.add_result(blocks[0].yields[-1].type)

    def _loop(self, op: Op) -> list[Value]:
        """A loop that carries array handles carries their companions as well."""
        carried_from = 1 if op.name == "for" else 0
        initial = self.values(op.operands)
        paired = [
            k for k, v in enumerate(initial[carried_from:]) if isinstance(v.type, ArrayRef) and self.companions.get(v)
        ]
        operands = initial + [self._companion(initial[carried_from + k]) for k in paired]
        self.builder.location = op.location
        new_op = self.builder.op(op.name, operands, [r.type for r in op.results], dict(op.attributes))
        types = {k: self._companion(initial[carried_from + k]).type for k in paired}
        for k in paired:
            self.companions[new_op.results[k]] = new_op.add_result(types[k])
        for number, block in enumerate(op.blocks):
            is_condition = number + 1 < len(op.blocks)
            new_op.blocks.append(self._loop_block(block, paired, types, carried_from, is_condition))
        self.mapping.update(zip(op.results, new_op.results))
        return new_op.results[: len(op.results)]

    def _loop_block(
        self, block: Block, paired: list[int], types: dict[int, StorageType], carried_from: int, is_condition: bool
    ) -> Block:
        copy = Block([p.type for p in block.parameters])
        self.mapping.update(zip(block.parameters, copy.parameters))
        for k in paired:
            parameter = copy.parameters[carried_from + k]
            self.companions[parameter] = copy.add_parameter(types[k])
        outer, self.builder.block = self.builder.block, copy
        copy.yields = self.block_body(block)
        self.builder.block = outer
        if not is_condition:
            for k in paired:
                self._all_paired(block.ops[-1], [copy.parameters[carried_from + k], copy.yields[k]])
                copy.yields.append(self._companion(copy.yields[k]))
        return copy
