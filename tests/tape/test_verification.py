"""``config.verify_autograd_array_access``: the report of writes after reads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import treadle as wp
from treadle.tape.verification import OverwriteWarning


@wp.struct
class State:
    x: wp.array(dtype=float)
    y: wp.array(dtype=float)


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]  # line of the read


@wp.kernel
def increment(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel
def square_state(state: State):
    i = wp.tid()
    state.y[i] = state.x[i] * state.x[i]


@pytest.fixture(autouse=True)
def verify() -> Iterator[None]:
    wp.config.verify_autograd_array_access = True
    yield
    wp.config.verify_autograd_array_access = False


def floats(*values: float) -> wp.array:
    return wp.array(values, dtype=float, requires_grad=True)


def line_of(text: str) -> int:
    with open(__file__) as file:
        return next(k for k, line in enumerate(file, 1) if text in line)


def test_the_report_names_kernels_parameters_and_lines() -> None:
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.Tape(), pytest.warns(OverwriteWarning) as caught:
        wp.launch(square, 2, [x, y])
        wp.launch(increment, 2, [x])
    (report,) = caught
    text = str(report.message)
    assert f"kernel increment, parameter x ({__file__}:{line_of('x[i] = x[i] + 1.0')})" in text
    assert f"kernel square, parameter x ({__file__}:{line_of('# line of the read')})" in text
    assert report.filename == __file__


def test_arrays_inside_structs_are_reported() -> None:
    state = State()
    state.x, state.y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.Tape(), pytest.warns(OverwriteWarning, match=r"square_state, parameter state\.x"):
        wp.launch(square_state, 2, [state])
        state.x.fill_(1.0)


def test_a_training_loop_reports_nothing() -> None:
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    tape = wp.Tape()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverwriteWarning)
        for _ in range(3):
            with tape:
                wp.launch(square, 2, [x, y])
            tape.backward(grads={y: wp.ones(2, dtype=float)})
            tape.reset()
            wp.launch(increment, 2, [x])  # the step of the optimiser, outside the tape


def test_marks_take_part() -> None:
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.Tape(), pytest.warns(OverwriteWarning, match="mark_write"):
        wp.launch(square, 2, [x, y])
        x.mark_write()
    with wp.Tape(), pytest.warns(OverwriteWarning, match="mark_read"):
        x.mark_read()
        wp.launch(increment, 2, [x])


def test_nothing_is_reported_without_the_setting() -> None:
    wp.config.verify_autograd_array_access = False
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with warnings.catch_warnings(), wp.Tape():
        warnings.simplefilter("error", OverwriteWarning)
        wp.launch(square, 2, [x, y])
        wp.launch(increment, 2, [x])
