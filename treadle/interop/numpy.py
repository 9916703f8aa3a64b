"""NumPy's dtypes and those of the kernel language. Arrays convert themselves: ``from_numpy``, ``array.numpy()``."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.runtime import elements, hostdata
from treadle.types import StructMeta, bfloat16, from_annotation, is_scalar

__all__ = ["dtype_from_numpy", "dtype_to_numpy"]


def dtype_from_numpy(numpy_dtype: Any) -> Any:
    """The scalar type with the values of a NumPy dtype (or what NumPy takes for one).

    Raises TypeError for dtypes without counterpart: complex numbers, text, records, …
    """
    scalar = hostdata.scalar_of(np.dtype(numpy_dtype))
    if scalar is None:
        raise TypeError(f"no dtype corresponds to NumPy's {np.dtype(numpy_dtype)}")
    return scalar


def dtype_to_numpy(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype of a scalar type, or of a struct (a structured dtype).

    bfloat16 has one only if the package ml_dtypes is installed. Raises TypeError for what has no counterpart;
    the components of vectors and matrices are dimensions in NumPy, not part of the dtype.
    """
    scalar = from_annotation(dtype)
    if scalar is bfloat16:
        if elements.ml_bfloat16() is None:
            raise TypeError("NumPy has no bfloat16 unless the package ml_dtypes is installed")
        return elements.ml_bfloat16()  # type: ignore[no-any-return]
    if is_scalar(scalar) or (isinstance(scalar, StructMeta) and scalar.size):
        return scalar.numpy  # type: ignore[no-any-return]
    raise TypeError(f"{dtype!r} does not correspond to a NumPy dtype")
