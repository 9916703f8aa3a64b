"""The mathematical constants, in Python and in kernels of both precisions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import treadle as wp

VALUES = {
    "e": math.e, "inf": math.inf, "pi": math.pi, "tau": math.tau, "half_pi": math.pi / 2, "ln2": math.log(2),
    "ln10": math.log(10), "log2e": 1 / math.log(2), "log10e": 1 / math.log(10), "phi": 1.618033988749895,
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    assert getattr(wp, name) == getattr(wp, name.upper()) == pytest.approx(VALUES[name], rel=1e-15)
    assert math.isnan(wp.nan) and math.isnan(wp.NAN)


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_in_kernels(dtype):
    @wp.kernel
    def constants(x: wp.array(dtype=dtype)):
        x[0] = wp.pi
        x[1] = x[1] * wp.TAU
        x[2] = -wp.inf
        x[3] = wp.nan
        smallest = dtype(wp.inf)
        x[4] = wp.min(smallest, x[4])

    x = wp.ones(5, dtype=dtype)
    wp.launch(constants, 1, [x])
    np.testing.assert_allclose(x.numpy(), np.array([math.pi, math.tau, -math.inf, math.nan, 1.0], x.numpy().dtype))
