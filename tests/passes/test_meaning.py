"""Every pass keeps what a function does, and leaves IR that obeys the rules. Random functions show it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.random_functions import observed, random_arguments, random_function
from treadle.ir import Function
from treadle.ir.equality import structurally_equal
from treadle.ir.parser import from_text
from treadle.ir.printer import to_text
from treadle.ir.verifier import verify
from treadle.passes.dead_code import dead_code
from treadle.passes.inline import inline
from treadle.passes.pipeline import finish, prepare
from treadle.passes.simplify import simplify
from treadle.passes.unroll import unroll

PASSES: dict[str, Any] = {
    "inline": lambda f: inline(f, keep_custom=False),
    "simplify": simplify,
    "simplify twice": lambda f: simplify(simplify(f)),
    "unroll": lambda f: unroll(f, 16),
    "unroll within a budget": lambda f: unroll(f, 3, 20),
    "dead code": dead_code,
    "all": lambda f: finish(prepare(f, {"max_unroll": 16}), {}),
}


def _function(seed: int) -> tuple[Function, random.Random]:
    rng = random.Random(seed)
    callee = random_function(rng, 8) if seed % 3 == 0 else None
    return random_function(rng, rng.choice((5, 20, 60, 150)), callee), rng


@pytest.mark.parametrize("name", PASSES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_pass_keeps_the_meaning(name: str, seed: int) -> None:
    function, rng = _function(seed)
    verify(function)
    text = to_text(function)
    changed = PASSES[name](function)
    verify(changed)
    assert to_text(function) == text, "a pass must leave its argument as it is"
    for _ in range(3):
        arguments = random_arguments(rng)
        assert observed(changed, arguments) == observed(function, arguments)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_text_comes_back_from_the_parser(seed: int) -> None:
    function, rng = _function(seed)
    text = to_text(function)
    parsed = from_text(text)
    verify(parsed)
    assert to_text(parsed) == text
    assert structurally_equal(parsed, function)
    arguments = random_arguments(rng)
    assert observed(parsed, arguments) == observed(function, arguments)
