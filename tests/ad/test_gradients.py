"""Every gradient of the case library against differences, and every value against plain Python."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import treadle as wp
from tests.ad.gradient_cases import Case, directions, flat
from tests.ad.gradient_library import CASES

each_case = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES.values()])

_float64_gradients: dict[str, list[np.ndarray]] = {}


def _float64_gradient(case: Case) -> list[np.ndarray]:
    if case.name not in _float64_gradients:
        _float64_gradients[case.name] = case.call(wp.float64).gradients()
    return _float64_gradients[case.name]


@each_case
def test_gradient_in_float64_agrees_with_differences(case: Case) -> None:
    call = case.call(wp.float64)
    rng = np.random.default_rng(zlib.crc32(case.name.encode()) + 1)
    for array, gradient in zip(call.inputs, _float64_gradient(case)):
        compared = directions(gradient.size, rng)
        differences = np.array([call.along(array, d) for d in compared])
        derivatives = np.array([d @ gradient for d in compared])
        scale = max(1.0e-3, float(np.abs(differences).max()))
        np.testing.assert_allclose(derivatives, differences, rtol=1.0e-6, atol=1.0e-6 * scale)


@each_case
def test_gradient_in_float32_agrees_with_float64(case: Case) -> None:
    call = case.call(wp.float32)
    for gradient, reference in zip(call.gradients(), _float64_gradient(case)):
        scale = max(1.0e-3, float(np.abs(reference).max()))
        np.testing.assert_allclose(gradient, reference, rtol=1.0e-3, atol=1.0e-3 * scale)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES.values() if c.plain])
def test_values_agree_with_plain_python(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    call = case.call(wp.float64)
    call.launch()
    compiled = [flat(a) for a in call.outputs]
    call.reset()
    extents = call.dim if isinstance(call.dim, tuple) else (call.dim,)
    for index in np.ndindex(*extents):
        monkeypatch.setattr(wp, "tid", lambda index=index: index if len(index) > 1 else index[0])
        call.kernel.func(*call.values)
    for values, array in zip(compiled, call.outputs):
        np.testing.assert_allclose(values, flat(array), rtol=1.0e-12, atol=1.0e-13)


@each_case
def test_backward_changes_nothing_but_gradients(case: Case) -> None:
    call = case.call(wp.float64)
    call.launch()
    after = [array.numpy().copy() for array, _ in call.originals]
    call.gradients()
    for (array, _), contents in zip(call.originals, after):
        np.testing.assert_array_equal(array.numpy(), contents)
