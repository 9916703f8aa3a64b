"""Makes programs from numbers, checks them, and lets Hypothesis shrink those at fault."""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes

from tests.fuzz.check import check_source
from tests.fuzz.generate import generate
from tests.fuzz.isolate import LIMIT, Verdict, judge
from tests.fuzz.program import Program
from tests.fuzz.reduce import reduce
from treadle import config

SHRINKING = 200.0
"""Seconds for Hypothesis to shrink a program, and again for the edits after that."""


@dataclass
class Report:
    """What a hunt found: counts, and the numbers of the programs at fault with what was wrong."""

    programs: int = 0
    measured: int = 0
    skipped: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    faults: dict[int, Verdict] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, number: int, verdict: Verdict) -> None:
        outcome = verdict.outcome
        self.measured += outcome.measured
        self.skipped += outcome.skipped
        if outcome.rejected:
            self.rejected[outcome.rejected] += 1
        else:
            self.programs += 1
        if verdict.fault:
            self.faults[number] = verdict

    def __str__(self) -> str:
        rejected = ", ".join(f"{count} {reason}" for reason, count in sorted(self.rejected.items()))
        return (
            f"{self.programs} programs, {self.measured} derivatives measured, {self.skipped} not measurable, "
            f"rejected: {rejected or 'none'}; {len(self.faults)} at fault; "
            f"{self.seconds / max(1, self.programs):.2f} s a program"
        )


def hunt(numbers: Iterable[int], report: Report) -> None:
    """Check the programs with these numbers, and enter what comes of them into ``report``."""
    for number in numbers:
        begin = time.perf_counter()
        program, _ = numbered(number)
        report.add(number, judge(program.source))
        report.seconds += time.perf_counter() - begin


def numbered(number: int) -> tuple[Program, list[int]]:
    """The program with a number, and the choices that make it."""
    rng = random.Random(number)
    choices: list[int] = []

    def integer(n: int) -> int:
        choices.append(rng.randrange(n))
        return choices[-1]

    return generate(integer), choices


@st.composite
def programs(draw: Callable[[Any], Any]) -> Program:
    """Programs as Hypothesis chooses them."""
    return generate(lambda n: draw(st.integers(0, n - 1)))


class _OutOfTime(BaseException):
    """Ends the shrinking of a program."""


def shrunk(number: int, fault: str) -> str:
    """The source of the smallest program found that has the same kind of fault as the one with that number."""
    program, choices = numbered(number)
    smallest = program.source
    limit = LIMIT / 6.0  # a candidate may lose the statement that ends its loop
    end = time.perf_counter() + SHRINKING
    database = InMemoryExampleDatabase()
    database.save(b"fuzz", choices_to_bytes(choices))
    settings = hypothesis.settings(
        database=database,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.reuse, hypothesis.Phase.shrink],
    )

    def is_at_fault(candidate: Program) -> bool:
        nonlocal smallest
        source = candidate.source
        if time.perf_counter() > end:
            raise _OutOfTime
        if judge(source, limit).fault != fault:
            return False
        smallest = min(smallest, source, key=len)
        return True

    with contextlib.suppress(_OutOfTime, hypothesis.errors.NoSuchExample):
        hypothesis.find(programs(), is_at_fault, settings=settings, database_key=b"fuzz")
    return reduce(smallest, lambda source: judge(source, limit).fault == fault, SHRINKING)


def warm_up() -> None:
    """Load here what every child would have to load, by checking one program. Its verdict does not matter."""
    program, _ = numbered(0)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Exception):
        config.kernel_cache_dir = folder
        check_source(program.source, Path(folder))
