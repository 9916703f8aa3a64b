"""A float out of the range of an integer type: literal, folded, at run time, in Python and in arrays, all saturate."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp

INTEGERS = (wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.uint16, wp.uint32, wp.uint64)
NUMBERS = (300.7, -1.5, 3e9, -1e30, 1e30, float("inf"), -float("inf"), float("nan"), 2.0**31, 2.0**63, -(2.0**63))


@wp.func
def converted(value: wp.float64, example: wp.Int):
    return type(example)(value)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("number", NUMBERS)
def test_all_ways_agree(dtype, number):
    @wp.kernel
    def convert(x: wp.array(dtype=wp.float64), out: wp.array(dtype=dtype)):
        out[0] = dtype(x[0])
        out[1] = dtype(number)
        out[2] = dtype(wp.float64(number))
        out[3] = converted(number, dtype(0))
        v = wp.types.vector(2, wp.float64)(number)
        out[4] = wp.types.vector(2, dtype)(v)[1]
        w = wp.types.vector(2, wp.float64)(x[0])
        out[5] = wp.types.vector(2, dtype)(w)[1]

    out = wp.zeros(6, dtype=dtype)
    wp.launch(convert, dim=1, inputs=[wp.array([number], dtype=wp.float64), out])
    expected = dtype(number).item()
    assert out.list() == [expected] * 6
    assert wp.types.vector(2, dtype)(wp.types.vector(2, wp.float64)(number))[1] == expected
    assert wp.array(np.array([number]), dtype=dtype).list() == [expected]
    assert wp.map(lambda v: dtype(v), wp.array([number], dtype=wp.float64)).list() == [expected]


def test_python_int_of_a_literal_is_an_int32():
    @wp.kernel
    def convert(x: wp.array(dtype=float), out: wp.array(dtype=int)):
        out[0] = int(3e9)
        out[1] = int(x[0])

    out = wp.zeros(2, dtype=int)
    wp.launch(convert, dim=1, inputs=[wp.array([3e9], dtype=float), out])
    assert out.list() == [2**31 - 1] * 2
