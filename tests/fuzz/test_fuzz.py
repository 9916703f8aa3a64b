"""300 random programs: values against plain Python, gradients against differences; ``tests.fuzz`` can run more."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.hunt import Report, hunt, shrunk, warm_up
from tests.fuzz.script import to_script

PROGRAMS = 300
GROUP = 20
FIRST = 1_000_000
"""The number of the first program; the long runs begin at 0."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    warm_up()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are checked in forked processes")
@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, GROUP))
def test_gradients_of_random_programs(first: int) -> None:
    report = Report()
    hunt(range(first, first + GROUP), report)
    for number, verdict in report.faults.items():
        script = to_script(shrunk(number, verdict.fault), f"program {number}: {verdict.fault}: {verdict.message}")
        pytest.fail(f"save this as a file and run it:\n\n{script}")
    assert report.programs > GROUP // 2, f"too few programs could be compared: {report}"
    assert report.skipped <= report.measured // 20, f"too few derivatives could be measured: {report}"
