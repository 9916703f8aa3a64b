"""Launches that reach a tape in unusual ways: as commands, or failing half-way."""

from __future__ import annotations

import pytest

import treadle as wp
from treadle.errors import KernelError, LaunchError, TreadleError


@wp.kernel
def square(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.kernel
def double_positive(a: wp.array(dtype=float)):
    i = wp.tid()
    assert a[i] > 0.0
    a[i] = a[i] * 2.0


def floats(*values: float) -> wp.array:
    return wp.array(list(values), dtype=float, requires_grad=True)


def test_a_failed_launch_has_no_gradient():
    a, b = floats(1, -1), floats(0, 0)
    with wp.Tape() as tape:
        with pytest.raises(KernelError):
            wp.launch(double_positive, 2, [a])
        wp.launch(square, 2, [a], [b])
    with pytest.raises(TreadleError, match="double_positive failed when"):
        tape.backward(grads={b: floats(1, 1)})
    tape.reset()
    c = floats(3)
    with tape:
        wp.launch(square, 1, [c], [b])
    tape.backward(grads={b: floats(1, 1)})
    assert c.grad.list() == [6]


def test_a_refused_launch_is_not_recorded():
    a, b = floats(3), floats(0)
    with wp.Tape() as tape:
        with pytest.raises(LaunchError):
            wp.launch(square, 1, [a, 3])
        wp.launch(square, 1, [a], [b])
    tape.backward(b)
    assert a.grad.list() == [6]


def test_commands_are_recorded():
    a, b, c = floats(2), floats(0), floats(0)
    command = wp.launch(square, 1, [a], [b], record_cmd=True)
    silent = wp.launch(square, 1, [a], [b], record_cmd=True, record_tape=False)
    with wp.Tape() as tape:
        command.launch()
        silent.launch()
        command.set_params([b, c])
        command.launch()
    tape.backward(c)
    assert c.list() == [16]
    assert a.grad.list() == [32]


def test_a_command_of_an_adjoint_stays_one():
    a, b = floats(2), floats(0)
    gradient, incoming = floats(0), floats(1)
    command = wp.launch(square, 1, [a], [b], [gradient], [incoming], adjoint=True, record_cmd=True)
    command.launch()
    assert gradient.list() == [4]
    command.set_param_by_name("a", floats(5))
    incoming.fill_(1.0)
    command.launch()
    assert gradient.list() == [14]


def test_a_command_survives_arguments_that_do_not_fit():
    a, b = floats(2), floats(0)
    command = wp.launch(square, 1, [a], [b], record_cmd=True)
    for change in (
        lambda: command.set_param_at_index(0, 3.0),
        lambda: command.set_param_at_index(2, a),
        lambda: command.set_param_by_name("c", a),
        lambda: command.set_params([a, a, a]),
        lambda: command.set_dim(-1),
    ):
        with pytest.raises(LaunchError):
            change()
        b.zero_()
        command.launch()
        assert b.list() == [4]
