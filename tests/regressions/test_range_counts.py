"""How often loops over ``range`` run at the limits of integers, against Python's own."""

from __future__ import annotations

import pytest

import treadle as wp
from treadle.language.errors import TypeMismatchError

LOW, HIGH = -(2**31), 2**31 - 1


@wp.kernel
def count(start: int, stop: int, step: int, found: wp.array(dtype=int)):
    n = int(0)
    last = int(-99)
    for i in range(start, stop, step):
        n += 1
        last = i
    found[0] = n
    found[1] = last


@pytest.mark.parametrize(
    "bounds",
    [
        (0, HIGH, 2**30), (LOW, HIGH, HIGH), (HIGH, LOW, LOW), (HIGH - 2, HIGH, 1), (HIGH - 2, HIGH, 5),
        (LOW + 2, LOW, -1), (LOW + 2, LOW, -5), (0, 5, 7), (5, 0, 2), (5, 0, -2), (0, 5, -2), (0, 0, 3), (-3, 4, 3),
    ],
)  # fmt: skip
def test_counts(bounds):
    start, stop, step = bounds

    @wp.kernel
    def with_constant_step(start: int, stop: int, found: wp.array(dtype=int)):
        n = int(0)
        last = int(-99)
        for i in range(start, stop, wp.static(step)):
            n += 1
            last = i
        found[0] = n
        found[1] = last

    items = list(range(*bounds))
    expected = [len(items), items[-1] if items else -99]
    found = wp.zeros(2, dtype=int)
    wp.launch(count, 1, [*bounds], [found])
    assert found.list() == expected
    wp.launch(with_constant_step, 1, [start, stop], [found])
    assert found.list() == expected


def test_a_constant_step_of_zero_is_an_error():
    @wp.kernel
    def endless(found: wp.array(dtype=int)):
        for i in range(0, 5, 0):
            found[0] = i

    with pytest.raises(TypeMismatchError, match="step of range"):
        wp.launch(endless, 1, [wp.zeros(1, dtype=int)])


def test_a_step_of_zero_at_run_time_runs_nothing():
    found = wp.zeros(2, dtype=int)
    wp.launch(count, 1, [0, 5, 0], [found])
    assert found.list() == [0, -99]
