"""Values inside ``jax.shard_map`` that vary over the axes of a mesh, in the versions of JAX that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def aligned(values: Sequence[Any]) -> tuple[tuple[Any, ...], frozenset[Any]]:
    """The values, all varying over the axes that one of them varies over, and these axes.

    JAX differentiates this: the gradient of what did not vary is summed over the axes.
    """
    axes = [_axes(v) for v in values]
    every = frozenset().union(*axes)
    if not every:
        return tuple(values), every
    return tuple(_spread(v, every - own) for v, own in zip(values, axes)), every


def _axes(value: Any) -> frozenset[Any]:
    of = getattr(jax, "typeof", None)
    if of is None:
        return frozenset()
    type_ = of(value)
    manual = getattr(type_, "manual_axis_type", None)
    return frozenset(manual.varying if manual is not None else getattr(type_, "vma", None) or ())


def _spread(value: Any, axes: frozenset[Any]) -> Any:
    if not axes:
        return value
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(value, tuple(sorted(axes)), to="varying")
    return jax.lax.pvary(value, tuple(sorted(axes)))


def result_type(shape: Sequence[int], dtype: np.dtype[Any], axes: frozenset[Any]) -> jax.ShapeDtypeStruct:
    """The type of a result that varies over these axes."""
    if not axes:
        return jax.ShapeDtypeStruct(tuple(shape), dtype)
    if hasattr(jax.sharding, "ManualAxisType"):
        mesh = jax.sharding.get_abstract_mesh()
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*(None for _ in shape)))
        manual = jax.sharding.ManualAxisType(varying=axes)
        return jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=sharding, manual_axis_type=manual)
    return jax.ShapeDtypeStruct(tuple(shape), dtype, vma=axes)
