"""Values inside ``jax.shard_map`` that vary over the axes of a mesh, in the versions of JAX that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

# What is there depends on the version.
_lax: Any = jax.lax
_sharding: Any = jax.sharding
_Type: Any = jax.ShapeDtypeStruct


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
    if hasattr(_lax, "pcast"):
        return _lax.pcast(value, tuple(sorted(axes)), to="varying")
    return _lax.pvary(value, tuple(sorted(axes)))


def result_type(shape: Sequence[int], dtype: np.dtype[Any], axes: frozenset[Any]) -> Any:
    """The type of a result that varies over these axes."""
    if not axes:
        return _Type(tuple(shape), dtype)
    if hasattr(_sharding, "ManualAxisType"):
        sharding = _sharding.NamedSharding(
            _sharding.get_abstract_mesh(), _sharding.PartitionSpec(*(None for _ in shape))
        )
        manual = _sharding.ManualAxisType(varying=axes)
        return _Type(tuple(shape), dtype, sharding=sharding, manual_axis_type=manual)
    return _Type(tuple(shape), dtype, vma=axes)
