"""NumPy's dtypes and those of the kernel language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treadle import types as wp
from treadle.interop.numpy import dtype_from_numpy, dtype_to_numpy


@pytest.mark.parametrize("scalar", [scalar for scalar in wp.SCALARS if scalar is not wp.bfloat16])
def test_round_trip(scalar: Any) -> None:
    assert dtype_to_numpy(scalar) == scalar.numpy
    assert dtype_from_numpy(dtype_to_numpy(scalar)) is scalar
    assert dtype_from_numpy(scalar.numpy.type) is scalar


def test_other_spellings() -> None:
    assert dtype_to_numpy(float) == np.float32 and dtype_to_numpy(int) == np.int32 and dtype_to_numpy(bool) == np.bool_
    assert dtype_from_numpy("f8") is wp.float64 and dtype_from_numpy(">i2") is wp.int16


def test_structs() -> None:
    @wp.struct
    class S:
        x: wp.int8
        y: wp.vec3

    assert dtype_to_numpy(S) == S.numpy and dtype_to_numpy(S).names == ("x", "y")


@pytest.mark.parametrize("wrong", [np.complex64, "U3", object, [("a", "f4")]])
def test_no_counterpart_in_the_language(wrong: Any) -> None:
    with pytest.raises(TypeError):
        dtype_from_numpy(wrong)


@pytest.mark.parametrize("wrong", [wp.vec3, wp.mat33, "float32", None, Any])
def test_no_counterpart_in_numpy(wrong: Any) -> None:
    with pytest.raises(TypeError):
        dtype_to_numpy(wrong)


def test_bfloat16_needs_ml_dtypes() -> None:
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="ml_dtypes"):
            dtype_to_numpy(wp.bfloat16)
    else:
        assert dtype_to_numpy(wp.bfloat16) == ml_dtypes.bfloat16
        assert dtype_from_numpy(ml_dtypes.bfloat16) is wp.bfloat16
