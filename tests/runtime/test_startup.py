"""Loading of kernels ahead of their first launch."""

from __future__ import annotations

import sys

import pytest

import treadle as wp


@wp.kernel
def loaded_ahead(x: wp.array(dtype=float)):
    x[0] = 1.0


def test_modules_by_name_and_as_objects():
    for module in (None, __name__, sys.modules[__name__], loaded_ahead.module):
        loaded_ahead.runtime = None
        wp.load_module(module)
        assert loaded_ahead.runtime is not None
    wp.load_module("treadle", recursive=True)
    wp.force_load(modules=[__name__, sys.modules[__name__]])


def test_a_module_that_is_not_there():
    with pytest.raises(wp.TreadleError, match="load_module: no module of the name 'nope' has been imported"):
        wp.load_module("nope")
    with pytest.raises(wp.TreadleError, match="'nope'"):
        wp.load_module("nope", recursive=True)
    with pytest.raises(wp.TreadleError, match="force_load: no module of the name 'nope'"):
        wp.force_load(modules=["nope"])
