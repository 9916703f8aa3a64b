"""The IR of every case, forward and adjoint, is valid after every pass, and prints to text that parses back to it."""

from __future__ import annotations

import pytest

import treadle as wp
from tests.ad.gradient_cases import Case
from tests.ad.gradient_library import CASES
from treadle import frontend, passes
from treadle.ad import adjoint_kernel
from treadle.ad.gradients import expand_gradients
from treadle.ir.core import Function
from treadle.ir.equality import structurally_equal
from treadle.ir.parser import from_text
from treadle.ir.printer import to_text
from treadle.passes import pipeline
from treadle.runtime.binding import bind, launch_extents
from treadle.runtime.launch import own_gradients


def _check(function: Function) -> None:
    text = to_text(function)
    parsed = from_text(text)
    assert structurally_equal(parsed, function)
    assert to_text(parsed) == text


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES.values()])
def test_ir_is_valid_and_prints_to_text_that_parses_back(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    call = case.call(wp.float64)
    binding = bind(call.kernel, call.values, launch_extents(call.dim))
    compiled = binding.compiled
    contiguous = dict(zip(call.kernel.parameter_names, compiled.variant.contiguous))
    raw = frontend.build_kernel(call.kernel, compiled.variant.types, contiguous, compiled.options)
    raw.labels = list(compiled.labels)
    _check(raw)
    prepared = passes.prepare(expand_gradients(raw, compiled.options), compiled.options)
    _check(passes.finish(prepared, compiled.options))
    adjoint = adjoint_kernel(prepared, frozenset(own_gradients(binding.arrays)))
    _check(passes.finish(adjoint, compiled.options))
