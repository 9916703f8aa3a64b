"""Settings with a value that they cannot have are refused where they are set, and change nothing."""

from __future__ import annotations

import pytest

import treadle as wp


def unchanged() -> tuple[object, ...]:
    return (wp.config.mode, wp.config.max_unroll, wp.config.revision, wp.get_module_options())


@pytest.mark.parametrize("mode", ["Debug", "dbg", "RELEASE", ""])
def test_a_mode_that_does_not_exist(mode):
    before = unchanged()
    with pytest.raises(ValueError, match=r"'mode' must be one of 'release', 'debug', not "):
        wp.config.mode = mode
    with pytest.raises(ValueError, match="set_module_options.*'release', 'debug'"):
        wp.set_module_options({"mode": mode})
    with pytest.raises(ValueError, match="kernel: .*'release', 'debug'"):
        wp.kernel(mode=mode)
    with pytest.raises(ValueError, match="func: .*'release', 'debug'"):
        wp.func(mode=mode)
    assert unchanged() == before


@pytest.mark.parametrize(("name", "value"), [("mode", None), ("max_unroll", "x"), ("verify_fp", "yes")])
def test_a_value_of_the_wrong_type(name, value):
    before = unchanged()
    with pytest.raises(TypeError, match=f"treadle.config: the option {name!r} must be of type"):
        setattr(wp.config, name, value)
    assert unchanged() == before


def test_values_that_are_right(monkeypatch):
    for name, value in (("mode", "debug"), ("mode", "release"), ("max_unroll", 0), ("verify_fp", True)):
        monkeypatch.setattr(wp.config, name, value)
        assert wp.get_module_options()[name] == value
