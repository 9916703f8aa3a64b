"""Scalar types as Python classes: conversion, instance checks, bfloat16, pickling."""

from __future__ import annotations

import copy
import enum
import pickle

import numpy as np
import pytest

from treadle import types as t
from treadle.types import scalars


@pytest.mark.parametrize("type_", t.SCALARS)
def test_type_is_callable_and_checks_instances(type_):
    value = type_(1)
    assert value == 1
    assert isinstance(value, type_)
    assert isinstance(value, scalars.Scalar)
    assert not isinstance(1, type_)
    assert t.type_of(value) is type_
    assert type_() == 0
    assert pickle.loads(pickle.dumps(type_)) is type_
    assert copy.deepcopy(type_) is type_


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (t.int8, 300, 44),
        (t.int8, 128, -128),
        (t.uint8, -1, 255),
        (t.int32, 2**40 + 5, 5),
        (t.uint64, -1, 2**64 - 1),
        (t.int32, 3.9, 3),
        (t.int32, -3.9, -3),
        (t.uint16, np.int64(70000), 4464),
        (t.float32, 0.1, np.float32(0.1)),
        (t.float32, 1e300, np.inf),
        (t.bool_, 2, True),
        (t.int32, np.array(7), 7),
    ],
)
def test_explicit_conversion_is_that_of_c(type_, value, expected):
    assert type_(value) == expected
    assert isinstance(type_(value), type_)


@pytest.mark.parametrize("value", ["1", None, [1], np.zeros(1), 1j])
@pytest.mark.parametrize("type_", [t.int32, t.float32, t.bool_, t.bfloat16])
def test_conversion_refuses_what_is_not_a_number(type_, value):
    with pytest.raises(TypeError, match="takes a number"):
        type_(value)


@pytest.mark.parametrize("type_", [*t.SIGNED, *t.UNSIGNED])
def test_floats_out_of_range_saturate(type_):
    low, high = scalars.limits(type_)
    assert type_(float("nan")) == 0
    for number in (1e30, float("inf"), np.float32(1e30), t.bfloat16(1e30)):
        assert type_(number) == high
        assert type_(-number) == low
    beyond = np.array([np.nan, 1e30, -1e30, np.inf, -np.inf, float(high), float(low), 1.9, -1.9])
    assert scalars.to_integers(type_, beyond).tolist() == [int(type_(x)) for x in beyond]
    wide = t.vector(3, t.float64)(1e30, float("nan"), 3.9)
    assert t.vector(3, type_)(wide).tolist() == [high, 0, 3]


def test_bfloat16_value():
    value = t.bfloat16(3.14159)
    assert isinstance(value, float) and isinstance(value, t.bfloat16)
    assert value == 3.140625
    assert repr(value) == "3.14" and str(value) == "3.14"
    assert value.bits == 0x4049
    assert value + 1 == 4.140625 and type(value + 1) is float
    assert value < 3.15
    assert not isinstance(np.uint16(1), t.bfloat16)
    assert not isinstance(3.140625, t.bfloat16)
    assert isinstance(np.uint16(1), t.uint16)
    for clone in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert isinstance(clone, t.bfloat16) and clone == value
    assert hash(value) == hash(3.140625)


def test_bfloat16_rounds_to_nearest_even():
    assert t.bfloat16(1 + 2**-8) == 1.0
    assert t.bfloat16(1 + 3 * 2**-8) == 1 + 2**-6
    assert t.bfloat16(1e300) == float("inf")
    assert np.isnan(t.bfloat16(float("nan")))
    assert repr(t.bfloat16(float("inf"))) == "inf" and repr(t.bfloat16(float("nan"))) == "nan"


def test_bfloat16_arrays_agree_with_scalars():
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32) * 1e3
    values[:4] = [np.nan, np.inf, -np.inf, -0.0]
    bits = t.bfloat16_bits(values)
    assert bits.dtype == np.uint16
    assert bits.tolist() == [scalars.bfloat16_from_float(float(v)) for v in values]
    back = t.bfloat16_values(bits)
    np.testing.assert_array_equal(back, [scalars.bfloat16_to_float(int(b)) for b in bits])


def test_every_bfloat16_reads_back_from_its_text():
    for bits in range(0, 1 << 16, 7):
        value = t.bfloat16(scalars.bfloat16_to_float(bits))
        if not np.isnan(value):
            assert t.bfloat16(float(repr(value))) == value


class Flag(enum.IntEnum):
    ON = 1


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, t.bool_),
        (1, t.int32),
        (1.0, t.float32),
        (np.float64(1), t.float64),
        (np.uint16(1), t.uint16),
        (np.bool_(True), t.bool_),
        (np.longlong(1), t.int64),
        (Flag.ON, t.int32),
        (t.bfloat16(1), t.bfloat16),
        (t.vec3d(), t.vec3d),
        (t.mat22(), t.mat22f),
    ],
)
def test_type_of(value, type_):
    assert t.type_of(value) is type_


@pytest.mark.parametrize("value", ["x", None, [1], 1j, np.complex64(1), np.zeros(3), np.str_("x")])
def test_type_of_refuses(value):
    with pytest.raises(TypeError, match="no type in the kernel language"):
        t.type_of(value)


def test_to_python():
    assert type(t.to_python(np.float32(1))) is float
    assert type(t.to_python(t.bfloat16(1))) is float
    assert t.to_python(t.mat22(1, 2, 3, 4)) == [[1.0, 2.0], [3.0, 4.0]]
    assert t.to_python("x") == "x"


def test_from_annotation():
    assert t.from_annotation(float) is t.float32
    assert t.from_annotation(int) is t.int32
    assert t.from_annotation(bool) is t.bool_
    assert t.from_annotation(t.vec3) is t.vec3
    assert t.from_annotation(None) is None
