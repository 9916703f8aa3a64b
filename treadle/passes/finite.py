"""``config.verify_fp``: checks every float that a kernel writes for NaN and infinity."""

from __future__ import annotations

from treadle.ir.builder import Builder
from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.depth import deep
from treadle.passes.access import Origins
from treadle.passes.clone import Cloner
from treadle.types import scalars


@deep
def check_floats(function: Function) -> Function:
    """A kernel that stops where it would write a NaN or infinity; aggregates are left unchecked."""
    copy = Function(function.name, Block(), function.is_kernel, list(function.labels), function.custom)
    mapping = {old: copy.body.add_parameter(old.type, old.name) for old in function.parameters}
    copy.body.yields = _Checking(Builder(copy.body), mapping, Origins(function)).block_body(function.body)
    return copy


class _Checking(Cloner):
    __slots__ = ("origins",)

    def __init__(self, builder: Builder, mapping: dict[Value, Value], origins: Origins) -> None:
        super().__init__(builder, mapping)
        self.origins = origins

    def op(self, op: Op) -> list[Value]:
        if op.name in ("store", "atomic"):
            value = op.operands[-1]
            if scalars.is_scalar(value.type) and value.type.is_float:  # type: ignore[union-attr]
                self.builder.location = op.location
                names = ", ".join(sorted(self.origins.of(op.operands[0]))) or "an array"
                new = self.value(value)
                message = f"{{0}} is written to {names}"
                self.builder.emit_many("assert", self.builder.emit("isfinite", new), new, message=message)
        return super().op(op)
