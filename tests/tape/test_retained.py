"""``retain_grad=True``: gradients of intermediate results, also of elements written more than once.

What is retained is shown in ``.grad``, and must not be taken for an incoming gradient.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.errors import TreadleError
from treadle.tape.shown import all_shown


@wp.kernel
def square(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def increment(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_an_intermediate_result_keeps_its_gradient(dtype: Any) -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    y = wp.zeros(3, dtype=dtype, requires_grad=True, retain_grad=True)
    z = wp.zeros(3, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, [x, y])
        wp.launch(square, 3, [y, z])
    for _ in range(2):
        tape.zero()
        tape.backward(grads={z: wp.ones(3, dtype=dtype)})
        np.testing.assert_array_equal(y.grad.numpy(), [2.0, 8.0, 18.0])
        np.testing.assert_array_equal(x.grad.numpy(), [4.0, 32.0, 108.0])


def test_the_gradient_of_the_last_version_is_kept() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True, retain_grad=True)
    early, late = (wp.zeros(3, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(square, 3, [x, y])
        wp.launch(square, 3, [y, early])
        wp.launch(increment, 3, [y])
        wp.launch(square, 3, [y, late])
    ones = wp.ones(3, dtype=float)
    tape.backward(grads={early: ones, late: ones})
    np.testing.assert_array_equal(y.grad.numpy(), 2 * y.numpy())
    first = x.numpy() ** 2
    np.testing.assert_allclose(x.grad.numpy(), (2 * first + 2 * (first + 1)) * 2 * x.numpy())


def test_elements_written_by_different_launches() -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(6, dtype=float, requires_grad=True, retain_grad=True)
    z = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, [x, y[0:3]])
        wp.launch(square, 3, [y[0:3], y[3:6]])
        wp.launch(square, 3, [y[3:6], z])
    tape.backward(grads={z: wp.ones(3, dtype=float)})
    v = x.numpy()
    np.testing.assert_allclose(y.grad.numpy(), [*(4 * v**6), *(2 * v**4)])
    np.testing.assert_allclose(x.grad.numpy(), 8 * v**7)


def test_copies_and_fills_consume_too() -> None:
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True, retain_grad=True)
    z = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(y, x)
        wp.launch(square, 2, [y, z])
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(y.grad.numpy(), [2.0, 4.0])
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


# Several passes without ``zero``: gradients add up, those that are retained as well.


@wp.kernel
def total(y: wp.array(dtype=Any), loss: wp.array(dtype=Any)):
    wp.atomic_add(loss, 0, y[wp.tid()])


def numbers(dtype: Any = float) -> Any:
    return wp.array([1.0, 2.0], dtype=dtype, requires_grad=True)


def zeros(count: int = 2, retain: bool = False, dtype: Any = float) -> Any:
    return wp.zeros(count, dtype=dtype, requires_grad=True, retain_grad=retain)


def play(tape: wp.Tape, loss: Any) -> None:
    """Backwards, from one loss alone: an atomic addition does not consume its gradient."""
    tape.backward(loss)
    loss.grad.zero_()


def two_losses(retain: bool, dtype: Any = float) -> tuple[Any, Any, Any, Any, wp.Tape]:
    x, y, first, second = numbers(dtype), zeros(2, retain, dtype), zeros(1, False, dtype), zeros(1, False, dtype)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
        wp.launch(total, 2, [y, first])
        wp.launch(total, 2, [y, second])
    return x, y, first, second, tape


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
def test_gradients_of_inputs_add_up(dtype: Any) -> None:
    for retain in (False, True):
        x, y, first, second, tape = two_losses(retain, dtype)
        for passes in (1, 2, 3):
            for loss in (first, second):
                play(tape, loss)
            assert x.grad.list() == [4 * passes, 8 * passes]
            assert y.grad.list() == ([2 * passes, 2 * passes] if retain else [0, 0])
        tape.zero()
        tape.backward(first)
        assert x.grad.list() == [2, 4] and y.grad.list() == ([1, 1] if retain else [0, 0])


def test_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    for gradient in ([1.0, 3.0], [5.0, 7.0]):
        y.backward(torch.tensor(gradient), retain_graph=True)
    y.sum().backward()
    a, b, loss, _, tape = two_losses(True)
    for gradient in ([1.0, 3.0], [5.0, 7.0]):
        tape.backward(grads={b: gradient})
    tape.backward(loss)
    assert a.grad.list() == x.grad.tolist() and b.grad.list() == y.grad.tolist() == [7, 11]


SEEDS: dict[str, Callable[[wp.Tape, Any], None]] = {
    "grads": lambda tape, y: tape.backward(grads={y: wp.ones(2, dtype=float)}),
    "grads, in halves": lambda tape, y: tape.backward(grads={y[:1]: [1.0], y[1:]: [1.0]}),
    "fill": lambda tape, y: (y.grad.fill_(1), tape.backward())[1],
    "assign": lambda tape, y: (y.grad.assign([1, 1]), tape.backward())[1],
    "copy": lambda tape, y: (wp.copy(y.grad, wp.ones(2, dtype=float)), tape.backward())[1],
    "items": lambda tape, y: (y.grad.__setitem__(0, 1), y.grad.__setitem__(1, 1), tape.backward())[2],
    "slices": lambda tape, y: (y.grad.__setitem__(slice(0, 2), 1), tape.backward())[1],
    "indices": lambda tape, y: (y.grad.__setitem__([0, 1], 1), tape.backward())[1],
    "indexed copy": lambda tape, y: (wp.copy(y.grad[[1, 0]], wp.ones(2, dtype=float)), tape.backward())[1],
    "launch": lambda tape, y: (wp.launch(set_to_one, 2, [y.grad]), tape.backward())[1],
    "launch on halves": lambda tape, y: (
        wp.launch(set_to_one, 1, [y.grad[:1]]), wp.launch(set_to_one, 1, [y.grad[1:]]), tape.backward()
    )[2],
    "command": lambda tape, y: (wp.launch(set_to_one, 2, [y.grad], record_cmd=True).launch(), tape.backward())[1],
    "sum": lambda tape, y: (
        wp.utils.array_sum(wp.ones((1, 2), dtype=float), y.grad.reshape((1, 2)), axis=0), tape.backward()
    )[1],
}  # fmt: skip


@wp.kernel
def set_to_one(g: wp.array(dtype=float)):
    g[wp.tid()] = 1.0


@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("name", SEEDS)
def test_what_users_write_is_incoming_also_if_it_is_the_same_again(name: str, retain: bool) -> None:
    x, y, loss, _, tape = two_losses(retain)
    for count in (1, 2, 3):
        SEEDS[name](tape, y)
        assert x.grad.list() == [2 * count, 4 * count]
        assert y.grad.list() == ([0, 0] if not retain else [count, count] if "grads" in name else [1, 1])
    tape.backward(loss)
    assert x.grad.list() == [2 * 4, 4 * 4]


def test_what_users_write_into_memory() -> None:
    x, y, loss, _, tape = two_losses(True)
    play(tape, loss)
    y.grad.numpy()[:] = [1, 3]  # one of them is what is there
    tape.backward()
    assert x.grad.list() == [2 * 1 + 2 * 1, 4 * 1 + 4 * 3] and y.grad.list() == [1, 3]


def test_a_part_that_a_user_writes() -> None:
    x, y, loss, _, tape = two_losses(True)
    play(tape, loss)
    y.grad[:1].fill_(5)
    tape.backward()
    assert x.grad.list() == [2 * 1 + 2 * 5, 4] and y.grad.list() == [5, 1]


def test_what_is_retained_can_be_passed_on() -> None:
    x, y, loss, _, tape = two_losses(True)
    play(tape, loss)
    tape.backward(grads={y: y.grad})
    assert x.grad.list() == [4, 8] and y.grad.list() == [2, 2]
    other_x, other_y, _, _, other = two_losses(False)
    other.backward(grads={other_y: y.grad})
    assert other_x.grad.list() == [4, 8] and y.grad.list() == [2, 2]
    tape.backward(grads={y[:1]: y.grad[1:]})
    assert x.grad.list() == [4 + 4, 8] and y.grad.list() == [4, 2]


def test_zero_clears() -> None:
    for clear in (
        lambda tape, y: tape.zero(),
        lambda tape, y: y.grad.zero_(),
        lambda tape, y: y.grad.numpy().fill(0),
        lambda tape, y: (y.grad[:1].zero_(), y.grad[1:].zero_()),
    ):
        x, y, loss, second, tape = two_losses(True)
        play(tape, loss)
        clear(tape, y)
        assert y.grad.list() == [0, 0]
        tape.backward(second)
        assert y.grad.list() == [1, 1] and x.grad.list()[0] in (2, 4)


def test_reset_clears() -> None:
    x, y, loss, _, tape = two_losses(True)
    tape.backward(loss)
    tape.reset()
    with tape:
        wp.launch(square, 2, [x, y])
    tape.backward(grads={y: [1.0, 1.0]})
    assert x.grad.list() == [2, 4] and y.grad.list() == [1, 1]


def test_views_write_and_read() -> None:
    x, whole, loss = numbers(), zeros(4, retain=True), zeros(1)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, whole[::2]])
        wp.launch(square, 2, [whole[::2], whole[1::2]])
        wp.launch(total, 4, [whole, loss])
    for count in (1, 2):
        tape.backward(loss)
        v = np.array([1.0, 4.0])
        np.testing.assert_allclose(whole.grad.numpy()[::2], count * (2 * v + 1))
        np.testing.assert_allclose(whole.grad.numpy()[1::2], count)
        np.testing.assert_allclose(x.grad.numpy(), count * (2 * v + 1) * 2 * x.numpy())


def test_views_of_another_shape_and_type() -> None:
    x = wp.array(np.arange(1.0, 5.0, dtype=np.float32), requires_grad=True)
    whole, loss = wp.zeros((2, 2), dtype=float, requires_grad=True, retain_grad=True), zeros(1)
    with wp.Tape() as tape:
        wp.launch(square, 4, [x, whole.T.T.flatten()])
        wp.launch(total, 4, [whole.components(), loss])
    for count in (1, 2):
        tape.backward(loss)
        assert whole.grad.list() == [count] * 4 and x.grad.list() == [2 * count * v for v in (1, 2, 3, 4)]


@pytest.mark.parametrize("step", ["copy", "fill"])
def test_copies_and_fills(step: str) -> None:
    x, y, loss = numbers(), zeros(2, retain=True), zeros(1)
    with wp.Tape() as tape:
        wp.copy(y, x)
        if step == "fill":
            y[1:].fill_(3)
        wp.launch(total, 2, [y, loss])
    for count in (1, 2, 3):
        tape.backward(loss)
        assert y.grad.list() == [count, count] and x.grad.list() == [count, 0 if step == "fill" else count]


def test_updates_in_place() -> None:
    for retain in (False, True):
        x, y, loss = numbers(), zeros(2, retain=retain), zeros(1)
        with wp.Tape() as tape:
            wp.launch(square, 2, [x, y])
            wp.launch(increment, 2, [y])
            wp.launch(square, 2, [y, y])
            wp.launch(total, 2, [y, loss])
        for count in (1, 2):
            tape.backward(loss)
            np.testing.assert_allclose(x.grad.numpy(), count * 2 * (x.numpy() ** 2 + 1) * 2 * x.numpy())
        assert y.grad.list() == ([2, 2] if retain else [0, 0])


def test_elements_that_nothing_writes_are_as_without() -> None:
    shown = []
    for retain in (False, True):
        x, y, loss = numbers(), zeros(4, retain=retain), zeros(1)
        with wp.Tape() as tape:
            wp.launch(square, 2, [x, y[:2]])
            wp.launch(total, 4, [y, loss])
        for _ in range(2):
            tape.backward(loss)
        assert x.grad.list() == [4, 8]
        shown.append(y.grad.list())
    assert shown == [[0, 0, 2, 2], [2, 2, 2, 2]]


def test_several_tapes() -> None:
    for retain in (False, True):
        x, y, loss = numbers(), zeros(2, retain), zeros(1)
        with wp.Tape() as first:
            wp.launch(square, 2, [x, y])
        with wp.Tape() as second:
            wp.launch(total, 2, [y, loss])
        for count in (1, 2, 3):
            second.backward(loss)
            assert y.grad.list() == ([count, count] if retain else [1, 1])
            first.backward()
            assert x.grad.list() == [2 * count, 4 * count]
            assert y.grad.list() == ([count, count] if retain else [0, 0])
        for _ in range(2):  # gradients add up, in the tape that has them as its input
            second.backward(loss)
        first.backward()
        assert x.grad.list() == [2 * 5, 4 * 5] and y.grad.list() == ([5, 5] if retain else [0, 0])
        second.zero()
        first.backward()
        assert x.grad.list() == [2 * 5, 4 * 5]


def test_an_array_that_two_tapes_write() -> None:
    for retain in (False, True):
        x, y, loss = numbers(), zeros(2, retain), zeros(1)
        tapes = []
        for _ in range(2):
            with wp.Tape() as tape:
                wp.launch(square, 2, [x, y])
                wp.launch(total, 2, [y, loss])
            tapes.append(tape)
        for tape in tapes * 2:
            tape.backward(loss)
        assert x.grad.list() == [8, 16] and y.grad.list() == ([4, 4] if retain else [0, 0])


def test_a_pass_within_a_pass() -> None:
    for retain in (False, True):
        x, y, loss = numbers(), zeros(2, retain), zeros(1)
        with wp.Tape() as inner:
            wp.launch(square, 2, [x, y])
            wp.launch(total, 2, [y, loss])
        with wp.Tape() as outer:
            wp.launch(square, 2, [x, y])
            outer.record_func(lambda inner=inner, loss=loss: inner.backward(loss), [y])
            wp.launch(total, 2, [y, loss])
        for count in (1, 2):
            outer.backward(loss)
            # The inner tape takes over what the outer one has for y.
            assert x.grad.list() == [4 * count, 8 * count]
            assert y.grad.list() == ([2 * count, 2 * count] if retain else [0, 0])


def test_a_pass_that_fails() -> None:
    fails = [False]

    def step() -> None:
        if fails[0]:
            raise ZeroDivisionError

    x, y, z, loss = numbers(), zeros(2, retain=True), zeros(2, retain=True), zeros(1)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
        tape.record_func(step, [])
        wp.launch(square, 2, [y, z])
        wp.launch(total, 2, [z, loss])
    tape.backward(loss)
    expected = x.grad.list(), y.grad.list(), z.grad.list()
    fails[0] = True
    with pytest.raises(ZeroDivisionError):
        tape.backward(loss)
    assert x.grad.list() == expected[0] and z.grad.list() == [2, 2]  # the half that was played
    fails[0] = False
    tape.zero()
    tape.backward(loss)
    assert (x.grad.list(), y.grad.list(), z.grad.list()) == expected
    for wrong in ({"loss": z}, {"grads": {z: wp.ones(3, dtype=float)}}, {"grads": {z: None}}):
        with pytest.raises(TreadleError):
            tape.backward(**wrong)
        assert (x.grad.list(), y.grad.list(), z.grad.list()) == expected
    tape.backward(loss)
    assert x.grad.list() == [2 * v for v in expected[0]]


def test_a_captured_pass() -> None:
    for retain in (False, True):
        x, y, first, second, tape = two_losses(retain)
        with wp.ScopedCapture() as capture:
            play(tape, first)
            play(tape, second)
        for count in (1, 2, 3):
            wp.capture_launch(capture.graph)
            assert x.grad.list() == [4 * count, 8 * count]
            assert y.grad.list() == ([2 * count, 2 * count] if retain else [0, 0])
        for _ in range(3):
            play(tape, first)
        assert x.grad.list() == [18, 36] and y.grad.list() == ([9, 9] if retain else [0, 0])
        wp.capture_launch(capture.graph)
        assert x.grad.list() == [22, 44] and y.grad.list() == ([11, 11] if retain else [0, 0])


@pytest.mark.parametrize("name", SEEDS)
def test_captured_seeds(name: str) -> None:
    x, y, _, _, tape = two_losses(True)
    with wp.ScopedCapture() as capture:
        SEEDS[name](tape, y)
    for count in (1, 2, 3):
        wp.capture_launch(capture.graph)
        assert x.grad.list() == [2 * count, 4 * count]


def test_a_captured_recording() -> None:
    x, y, loss, tape = numbers(), zeros(2, retain=True), zeros(1), wp.Tape()
    with wp.ScopedCapture() as capture:
        with tape:
            wp.launch(square, 2, [x, y])
            wp.launch(total, 2, [y, loss])
        tape.zero()
        tape.backward(loss)
    for _ in range(3):
        wp.capture_launch(capture.graph)
        assert x.grad.list() == [2, 4] and y.grad.list() == [1, 1]


def test_a_captured_pass_of_another_tape() -> None:
    x, y, loss = numbers(), zeros(2, retain=True), zeros(1)
    with wp.Tape() as first:
        wp.launch(square, 2, [x, y])
    with wp.Tape() as second:
        wp.launch(total, 2, [y, loss])
    with wp.ScopedCapture() as capture:
        second.backward(loss)
    for count in (1, 2, 3):
        wp.capture_launch(capture.graph)
        first.backward()
        assert x.grad.list() == [2 * count, 4 * count] and y.grad.list() == [count, count]


def test_threads_with_tapes_of_their_own() -> None:
    results = []

    def work() -> None:
        x, y, first, second, tape = two_losses(True)
        for _ in range(20):
            play(tape, first)
            play(tape, second)
        results.append((x.grad.list(), y.grad.list()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [([80, 160], [40, 40])] * 4


def test_an_array_of_vectors_and_one_that_is_not_contiguous() -> None:
    for y in (
        wp.zeros(2, dtype=wp.vec2, requires_grad=True, retain_grad=True),
        wp.array(np.zeros((2, 6), np.float32)[:, 1:5:2], dtype=wp.vec2, requires_grad=True, retain_grad=True),
    ):
        x, loss = wp.ones(2, dtype=wp.vec2, requires_grad=True), wp.zeros(1, dtype=wp.vec2, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(double, 2, [x, y])
            wp.launch(total, 2, [y, loss])
        for count in (1, 2):
            tape.backward(grads={loss: [wp.vec2(1.0, 3.0)]})
            assert y.grad.numpy().tolist() == [[count, 3 * count]] * 2
            assert x.grad.numpy().tolist() == [[2 * count, 6 * count]] * 2


@wp.kernel
def double(x: wp.array(dtype=wp.vec2), y: wp.array(dtype=wp.vec2)):
    y[wp.tid()] = 2.0 * x[wp.tid()]


def test_gradients_that_are_not_finite() -> None:
    x, y, loss, _, tape = two_losses(True)
    for gradient in ([np.inf, np.nan], [-np.inf, 1.0]):
        tape.backward(grads={y: gradient})
    assert np.isnan(y.grad.numpy()).all()
    tape.zero()
    tape.backward(loss)
    assert y.grad.list() == [1, 1] and x.grad.list() == [2, 4]


def test_two_arrays_with_one_gradient() -> None:
    torch = pytest.importorskip("torch")
    tensor, x, loss = torch.zeros(2, requires_grad=True), numbers(), zeros(1)
    with wp.Tape() as tape:
        for _ in range(2):
            wp.launch(square, 2, [x, wp.from_torch(tensor, retain_grad=True)])
            wp.launch(total, 2, [wp.from_torch(tensor, retain_grad=True), loss])
    for count in (1, 2):
        tape.backward(loss)
        assert x.grad.list() == [4 * count, 8 * count] and tensor.grad.tolist() == [count, count]


def test_nothing_is_left_of_arrays_that_are_gone() -> None:
    gc.collect()
    before = len(all_shown())
    x, y, loss, _, tape = two_losses(True)
    tape.backward(loss)
    assert len(all_shown()) == before + 1
    del x, y, loss, _, tape
    gc.collect()
    assert len(all_shown()) == before


# The flag of views.


def test_a_view_made_before_the_flag_was_set() -> None:
    x, y = numbers(), zeros()
    view, part = y[:], y[:1][:1]
    y.retain_grad = True
    assert view.retain_grad and part.retain_grad
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, view])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.grad.list() == view.grad.list() == [1, 1]
    y.retain_grad = False
    assert not view.retain_grad and not part.retain_grad
    tape.zero()
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.grad.list() == [0, 0] and x.grad.list() == [2, 4]


def test_the_flag_set_on_a_view_is_that_of_the_array() -> None:
    x, y = numbers(), zeros()
    y[:1].retain_grad = True
    assert y.retain_grad and y[1:].retain_grad
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.grad.list() == [1, 1]


def test_a_view_with_a_gradient_of_its_own_has_a_flag_of_its_own() -> None:
    y = wp.zeros(2, dtype=float, retain_grad=True)
    view, other = y[:], wp.zeros(2, dtype=float)[:]
    view.requires_grad = other.requires_grad = True
    assert view.retain_grad and not other.retain_grad
    view.retain_grad, other.retain_grad = False, True
    assert y.retain_grad and not view.retain_grad and other.retain_grad


def test_the_gradient_may_come_after_the_flag() -> None:
    x, y = numbers(), wp.zeros(2, dtype=float)
    y.retain_grad = True
    y.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
    for count in (1, 2):
        y.grad.fill_(1)
        tape.backward()
        assert x.grad.list() == [2 * count, 4 * count] and y.grad.list() == [1, 1]
