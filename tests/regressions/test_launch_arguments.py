"""Arguments of launches that do not fit the parameters: the same value as elsewhere, or an error that names both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import treadle as wp

matrix_of_halves = wp.types.matrix(shape=(7, 7), dtype=wp.float16)


@wp.struct
class Mixed:
    single: float
    half: wp.float16
    byte: wp.int8


@wp.kernel
def of_single(out: wp.array(dtype=float), x: float):
    out[0] = x


@wp.kernel
def of_half(out: wp.array(dtype=float), x: wp.float16):
    out[0] = float(x)


@wp.kernel
def of_brain(out: wp.array(dtype=float), x: wp.bfloat16, y: float):
    out[0] = float(x) + y


@wp.kernel
def of_any(out: wp.array(dtype=float), x: Any):
    out[0] = float(x)


@wp.kernel
def of_vector(out: wp.array(dtype=float), x: wp.vec3):
    out[0] = x[1]


@wp.kernel
def of_large(out: wp.array(dtype=float), x: matrix_of_halves):
    out[0] = float(x[3, 3])


@wp.kernel
def of_struct(out: wp.array(dtype=float), x: Mixed):
    out[0] = x.single + float(x.half)


@wp.kernel
def of_byte(out: wp.array(dtype=float), x: wp.int8):
    out[0] = float(x)


def result(kernel, *arguments, **options) -> float:
    out = wp.zeros(1, dtype=float)
    launched = wp.launch(kernel, dim=1, inputs=[out, *arguments], **options)
    if launched is not None:
        launched.launch()
    return out.list()[0]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (of_single, [1e39]), (of_single, [np.float64(1e300)]), (of_single, [10**39]), (of_half, [1e5]),
        (of_brain, [1e39, 1e39]), (of_brain, [1.0, 1e39]), (of_any, [1e39]), (of_vector, [(0.0, 1e39, 0.0)]),
        (of_vector, [wp.vec3(0.0, 1e39, 0.0)]), (of_large, [np.full((7, 7), 1e9)]),
        (of_struct, [Mixed(single=1e39, half=1.0)]), (of_struct, [Mixed(single=1.0, half=1e9)]),
    ],
)  # fmt: skip
def test_too_large_for_a_float(kernel, arguments):
    """An array makes an infinity of it, and so does a launch."""
    assert wp.array([1e39], dtype=float).list() == [math.inf]
    assert result(kernel, *arguments) == math.inf
    assert result(kernel, *arguments, record_cmd=True) == math.inf


def test_the_sign_and_the_limits_stay():
    assert result(of_single, -1e39) == -math.inf
    assert result(of_half, -1e5) == -math.inf
    assert result(of_half, 65504.0) == 65504.0
    largest = float(np.finfo(np.float32).max)
    assert result(of_single, largest) == largest
    assert math.isnan(result(of_vector, (1e39, math.nan, -1e39)))
    assert result(of_vector, (1e39, 0.1, -1e39)) == np.float32(0.1)


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        (of_byte, 128), (of_byte, -129), (of_byte, 10**30), (of_byte, 1.5), (of_byte, None), (of_byte, "1"),
        (of_any, 2**31), (of_single, 10**400), (of_brain, 10**400), (of_vector, (0.0, 10**400, 0.0)),
        (of_vector, (1.0, 2.0)), (of_struct, 3),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(kernel, value):
    arguments = [value] if kernel is not of_brain else [value, 0.0]
    with pytest.raises(wp.LaunchError, match=rf"kernel {kernel.name}, parameter x: "):
        result(kernel, *arguments)


def test_more_threads_than_can_be_counted():
    @wp.kernel
    def mark(out: wp.array(dtype=float)):
        i, j, k, n = wp.tid()
        if i == 0 and j == 0 and k == 0 and n == 0:
            out[0] = 1.0

    out = wp.zeros(1, dtype=float)
    for dim in ((2**16,) * 4, (2**21, 2**21, 2**21), (2**31 - 1, 2**31 - 1, 2, 2)):
        with pytest.raises(wp.LaunchError, match="too many threads"):
            wp.launch(mark, dim=dim, inputs=[out])
    wp.launch(mark, dim=(2**31 - 1, 2**31 - 1, 2**31 - 1, 0), inputs=[out])
    assert out.list() == [0.0]
