"""Scopes on a tape, also those that a ScopedTimer opens."""

from __future__ import annotations

import pytest

import treadle as wp


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


def test_scopes_group_records() -> None:
    x = wp.ones(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        tape.record_scope_begin("outer", metadata={"step": 1})
        wp.launch(double, 2, [x])
        tape.record_scope_begin("empty")
        tape.record_scope_end()
        with wp.ScopedTimer("timed", print=False):
            wp.launch(double, 2, [x])
        tape.record_scope_end()
        wp.launch(double, 2, [x])
    assert [(s.name, s.begin, s.end, s.depth) for s in tape.scopes] == [("outer", 0, 2, 0), ("timed", 1, 2, 1)]
    assert tape.scopes[0].metadata == {"step": 1}
    tape.reset()
    assert tape.scopes == []


def test_empty_scopes_can_be_kept() -> None:
    tape = wp.Tape()
    tape.record_scope_begin("empty")
    tape.record_scope_end(remove_scope_if_empty=False)
    assert [s.name for s in tape.scopes] == ["empty"]
    with pytest.raises(wp.TreadleError, match="no scope"):
        tape.record_scope_end()
