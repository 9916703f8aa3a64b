"""The call of a registered target from JAX: operands, results and which of them share memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from treadle.interop.jax.programs import Parameter, Role
from treadle.interop.jax.varying import aligned, result_type

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    """How a target is called. ``extents``: of the launch."""

    extents: Shape
    vmap_method: str
    has_side_effect: bool


def call_target(
    name: str, parameters: Sequence[Parameter], shapes: Mapping[str, Shape], settings: Settings, values: Sequence[Any],
    **attributes: Any,
) -> list[Any]:  # fmt: skip
    """Run a target on the values of its operands; returns its results.

    ``shapes``: the foreign shapes, by the label of the kernel's parameter.
    """
    values, varying = aligned(values)
    call = jax.ffi.ffi_call(
        name,
        [result_type(shapes[p.origin], p.dtype, varying) for p in parameters if p.is_result],
        has_side_effect=settings.has_side_effect,
        vmap_method=settings.vmap_method,
        input_output_aliases=_aliases(parameters, settings.vmap_method),
    )
    return list(call(*values, **attributes))


def _aliases(parameters: Sequence[Parameter], vmap_method: str) -> dict[int, int]:
    """Which operands XLA may lend to results. With "expand_dims" their shapes may differ, and the handler copies."""
    if vmap_method == "expand_dims":
        return {}
    results = {p.label: k for k, p in enumerate(p for p in parameters if p.is_result)}
    operands = [p for p in parameters if p.is_operand]
    return {k: results[p.label] for k, p in enumerate(operands) if p.role is Role.UPDATED}
