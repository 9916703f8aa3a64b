"""The digest of a kernel: equal where nothing differs, different where anything does."""

from __future__ import annotations

import enum
import importlib.util
import itertools
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from treadle import frontend

TEMPLATE = """
import enum
import numpy as np
from tests.frontend import names as wp
import tests.frontend.names

{extra}

@wp.struct
class S:
    x: float
    {member}

FACTOR = {factor}

class Config:
    limit = {limit}

@wp.func
def inner(x: float, n: int = {default}):
    return x * {inner}

@wp.func
def outer(x: float):
    return inner(x) + FACTOR

def compute():
    return {computed}

@wp.kernel{options}
def k(a: wp.array(dtype={dtype}), s: S):
    i = wp.tid()
    {statement}
    a[i] = a[i].dtype(outer(1.0)) + a[i].dtype(Config.limit) + a[i].dtype(wp.static(compute()))
"""

DEFAULTS = {
    "extra": "", "member": "y: int", "factor": "2.0", "limit": "3", "default": "1", "inner": "2.0", "computed": "1.0",
    "options": "", "dtype": "float", "statement": "pass",
}  # fmt: skip

numbers = itertools.count()


@pytest.fixture
def digest_of(tmp_path: Path) -> Any:
    def make(**changes: str) -> str | None:
        module = load(tmp_path, TEMPLATE.format(**{**DEFAULTS, **changes}))
        return frontend.fingerprint(module.k)

    return make


def load(folder: Path, text: str) -> ModuleType:
    name = f"fingerprinted_{next(numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


CHANGES: list[dict[str, str]] = [
    {"member": "y: wp.int64"},
    {"member": "z: int"},
    {"factor": "3.0"},
    {"factor": "2"},
    {"factor": "np.float32(2.0)"},
    {"factor": "np.float64(2.0)"},
    {"limit": "4"},
    {"default": "2"},
    {"inner": "2.5"},
    {"computed": "2.0"},
    {"options": "(enable_backward=False)"},
    {"dtype": "wp.float64"},
    {"statement": "i = i + 1"},
]


def test_every_change_changes_the_digest(digest_of: Any) -> None:
    digests = [digest_of(), *(digest_of(**change) for change in CHANGES)]
    assert None not in digests
    assert len(set(digests)) == len(digests)


def test_what_does_not_matter_does_not_count(digest_of: Any) -> None:
    assert digest_of() == digest_of()
    assert digest_of() == digest_of(extra="\n\n\n# a comment\nUNUSED = 5")


def test_positions_count_where_messages_hold_them(digest_of: Any) -> None:
    for text in ("assert i >= 0", "wp.expect_near(1.0, 2.0)"):
        assert digest_of(statement=text) != digest_of(statement=text)  # two files
    assert digest_of(statement="wp.sqrt(1.0)") == digest_of(statement="wp.sqrt(1.0)")


def test_what_a_static_expression_gives_is_what_counts(digest_of: Any) -> None:
    assert digest_of(computed="0.5 + 0.5") == digest_of(computed="1.0")
    assert digest_of(computed="object()") is None
    assert digest_of(computed="(1.0, 'text', None, True)") is not None


def test_captured_values() -> None:
    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    class One(enum.IntEnum):
        A = 1

    values: list[Any] = [
        1, 1.0, True, 0.0, -0.0, float("nan"), np.float32(1), np.float64(1), np.int64(1), np.bool_(True), wp.vec2(),
        wp.vec2(1.0, 2.0),
        wp.vec2d(1.0, 2.0), wp.vec2(1.0, 3.0), wp.mat22(1.0), wp.quat(), wp.vec4(), Colour.RED, Colour.BLUE, One.A,
        wp.float32, wp.float64, wp.vec3, wp.sin, wp.cos, (1, 2), (1, 2.0), [1, 2], "text", None, wp.bfloat16(1.0),
        np.arange(3), np.arange(3.0), range(3), {"a": 1}, {"a": 2}, first(1.0), first(2.0), second(1.0), time,
    ]  # fmt: skip
    digests = [frontend.fingerprint(capture(value)) for value in values]
    assert None not in digests
    assert len(set(digests)) == len(values)
    assert frontend.fingerprint(capture(object())) is None
    assert digests == [frontend.fingerprint(capture(value)) for value in values]


def capture(value: Any) -> Any:
    @wp.kernel
    def k(a: wp.array(dtype=float)):
        x = value  # noqa: F841
        a[0] = 1.0

    return k


def first(factor: float) -> Any:
    @wp.func
    def f(x: float):
        return x * factor

    return f


def second(factor: float) -> Any:
    @wp.func
    def f(x: float):
        return factor * x

    return f


def test_derivatives_count() -> None:
    def with_gradient(factor: float, replayed: bool) -> Any:
        @wp.func
        def f(x: float):
            return x

        if factor:

            @wp.func_grad(f)
            def adj_f(x: float, adj: float):
                wp.adjoint[x] += adj * factor

        if replayed:

            @wp.func_replay(f)
            def replay_f(x: float):
                return x

        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[0] = f(a[0])

        return k

    cases = [(0.0, False), (1.0, False), (2.0, False), (2.0, True), (0.0, True)]
    assert len({frontend.fingerprint(with_gradient(*case)) for case in cases}) == len(cases)


def test_a_name_that_is_bound_later_counts() -> None:
    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[0] = late(1.0)

    before = frontend.fingerprint(k)
    late = first(3.0)
    assert frontend.fingerprint(k) != before


def test_functions_that_call_each_other_have_a_digest() -> None:
    assert frontend.fingerprint(capture(even)) is not None


@wp.func
def even(n: int):
    return odd(n - 1)


@wp.func
def odd(n: int):
    return even(n - 1)


def test_a_digest_is_fast() -> None:
    kernel = capture(first(4.0))
    frontend.fingerprint(kernel)
    best = min(_timed(lambda: frontend.fingerprint(kernel)) for _ in range(20))
    assert best < 2e-3


def _timed(action: Any) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
