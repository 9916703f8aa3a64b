"""The named composite types: ``vec3``, ``mat44d``, ``quat``, ``transformh``, ``spatial_vector``, …

``NAMES`` holds them all, for the package to export.
"""

from __future__ import annotations

from typing import Any

from treadle.types import scalars
from treadle.types.composites import SUFFIXES
from treadle.types.matrices import matrix
from treadle.types.quaternions import quaternion, transformation
from treadle.types.vectors import vector

_FLOATS = (scalars.float16, scalars.float32, scalars.float64)


def _all_names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for n in (2, 3, 4):
        for dtype, suffix in SUFFIXES.items():
            names[f"vec{n}{suffix}"] = vector(n, dtype)
        for dtype in _FLOATS:
            names[f"mat{n}{n}{SUFFIXES[dtype]}"] = matrix((n, n), dtype)
    for dtype in _FLOATS:
        suffix = SUFFIXES[dtype]
        names[f"quat{suffix}"] = quaternion(dtype)
        names[f"transform{suffix}"] = transformation(dtype)
        names[f"spatial_vector{suffix}"] = vector(6, dtype)
        names[f"spatial_matrix{suffix}"] = matrix((6, 6), dtype)
    # A name without a suffix means float32.
    names.update({name[:-1]: type_ for name, type_ in names.items() if type_.dtype is scalars.float32})
    return names


NAMES: dict[str, Any] = _all_names()
"""Every named composite type."""
