"""What users do with ``Tape`` and with adjoint launches."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle as wp
from treadle.ad import DerivativeError
from treadle.errors import LaunchError, OverwriteError, TreadleError


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = factor * x[i]


@wp.kernel
def multiply(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = x[i] * y[i]


@wp.kernel
def add_up(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


@wp.kernel
def multiply_in_place(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] *= y[i]


@wp.kernel(enable_backward=False)
def square_without_gradient(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def floats(*values, grad=True):
    return wp.array(values, dtype=float, requires_grad=grad)


def zeros(n, grad=True):
    return wp.zeros(n, dtype=float, requires_grad=grad)


def check(a, *expected):
    np.testing.assert_allclose(a.numpy(), expected, rtol=1.0e-6)


# The backward pass.


def test_backward_from_a_loss():
    x, y, loss = floats(1, 2, 3), zeros(3), zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
        wp.launch(add_up, dim=3, inputs=[y], outputs=[loss])
    tape.backward(loss)
    check(loss, 14)
    check(x.grad, 2, 4, 6)
    check(tape.gradients[x], 2, 4, 6)
    assert tape.gradients[x] is x.grad


def test_backward_from_given_gradients_leaves_them_alone():
    x, y = floats(1, 2, 3), zeros(3)
    given = floats(1, 10, 100, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
    own = y.grad
    tape.backward(grads={y: given})
    check(x.grad, 2, 40, 600)
    check(given, 1, 10, 100)
    assert y.grad is own


def test_gradient_given_as_the_array_s_own():
    x, y = floats(1, 2, 3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
    y.grad.fill_(2.0)
    tape.backward(grads={y: y.grad})
    check(x.grad, 4, 8, 12)


def test_gradients_that_are_there_already_pass_through_backward_without_seeds():
    x, y = floats(1, 2, 3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
    y.grad.fill_(1.0)
    tape.backward()
    check(x.grad, 2, 4, 6)


def test_several_seeds():
    x, y, z = floats(1, 2), zeros(2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(scale, dim=2, inputs=[x, 3.0], outputs=[z])
    tape.backward(grads={y: floats(1, 1, grad=False), z: floats(10, 10, grad=False)})
    check(x.grad, 32, 34)


def test_given_gradient_of_another_shape_or_type_is_an_error():
    x, y = floats(1, 2, 3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
    with pytest.raises(TreadleError, match=r"\(3,\).*\(2,\)"):
        tape.backward(grads={y: floats(1, 1, grad=False)})
    with pytest.raises(TreadleError, match="float64.*float32"):
        tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    check(x.grad, 0, 0, 0)


def test_launch_of_no_threads():
    x, y = floats(1, 2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=0, inputs=[x], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 0, 0)
    check(y.grad, 1, 1)


def test_loss_of_several_elements_is_an_error():
    x, y = floats(1, 2, 3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
    with pytest.raises(TreadleError, match=r"one element.*\(3,\)"):
        tape.backward(y)


def test_loss_without_gradient_is_an_error():
    x, y = floats(2), zeros(1, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x], outputs=[y])
    with pytest.raises(TreadleError, match="requires_grad"):
        tape.backward(y)


def test_zero_and_backward_again_with_changed_inputs():
    x, y = floats(1, 2, 3), zeros(3)
    ones = floats(1, 1, 1, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
    tape.backward(grads={y: ones})
    tape.zero()
    check(x.grad, 0, 0, 0)
    check(y.grad, 0, 0, 0)
    x.assign([4, 5, 6])
    tape.backward(grads={y: ones})
    check(x.grad, 8, 10, 12)


def test_gradients_accumulate_without_zero():
    x, y = floats(1, 2), zeros(2)
    ones = floats(1, 1, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: ones})
    tape.backward(grads={y: ones})
    check(x.grad, 4, 8)


def test_reset_forgets_the_records():
    x, y = floats(1, 2), zeros(2)
    tape = wp.Tape()
    with tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    tape.reset()
    check(x.grad, 0, 0)
    assert not tape.gradients
    with tape:
        wp.launch(scale, dim=2, inputs=[x, 5.0], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 5, 5)


def test_chain_of_launches():
    arrays = [floats(1.1, 0.9)] + [zeros(2) for _ in range(4)]
    with wp.Tape() as tape:
        for source, target in zip(arrays, arrays[1:]):
            wp.launch(square, dim=2, inputs=[source], outputs=[target])
    tape.backward(grads={arrays[-1]: floats(1, 1, grad=False)})
    check(arrays[0].grad, *(16 * np.float32([1.1, 0.9]) ** 15))


def test_array_read_by_two_launches():
    x, y, z = floats(1, 2), zeros(2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(multiply, dim=2, inputs=[x, y], outputs=[z])
    tape.backward(grads={z: floats(1, 1, grad=False)})
    check(x.grad, 3, 12)


def test_array_without_gradient_stops_the_gradient():
    x, y, z = floats(1, 2), zeros(2, grad=False), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(multiply, dim=2, inputs=[x, y], outputs=[z])
    tape.backward(grads={z: floats(1, 1, grad=False)})
    check(x.grad, 1, 4)


def test_get_adjoint():
    x, y = floats(3), zeros(1)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x], outputs=[y])
    tape.backward(y)
    assert tape.get_adjoint(x) is x.grad


# What is recorded.


def test_nothing_is_recorded_outside_the_tape():
    x, y = floats(1, 2), zeros(2)
    tape = wp.Tape()
    with tape:
        pass
    wp.launch(square, dim=2, inputs=[x], outputs=[y])
    assert not tape.gradients


def test_tape_within_a_tape_is_an_error():
    with wp.Tape():
        with pytest.raises(TreadleError, match="tape"):
            with wp.Tape():
                pass
    with wp.Tape():  # the failure left no tape behind
        pass


def test_an_exception_in_the_block_ends_the_recording():
    with pytest.raises(KeyError):
        with wp.Tape():
            raise KeyError
    with wp.Tape():
        pass


def test_record_tape_false():
    x, y, z = floats(1, 2), zeros(2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(scale, dim=2, inputs=[x, 3.0], outputs=[z], record_tape=False)
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 2, 4)
    assert z not in tape.gradients


def test_backward_is_not_recorded_by_the_tape_around_it():
    x, y = floats(1, 2), zeros(2)
    first = wp.Tape()
    with first:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
    second = wp.Tape()
    with second:
        first.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 2, 4)
    assert not second.gradients


def test_record_launch_by_hand():
    x, y = floats(1, 2), zeros(2)
    tape = wp.Tape()
    tape.record_launch(square, 2, 0, [x], [y], None)
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 2, 4)
    check(y, 0, 0)


def test_record_func():
    x, y, z = floats(1, 2), zeros(2), zeros(2)
    calls = []

    def backward():
        calls.append(y.grad.numpy().copy())
        x.grad.assign(y.grad.numpy() * 7)

    with wp.Tape() as tape:
        y.assign(x.numpy() * 7)
        tape.record_func(backward, [x, y])
        wp.launch(square, dim=2, inputs=[y], outputs=[z])
    assert not calls
    tape.backward(grads={z: floats(1, 1, grad=False)})
    check(x.grad, 98, 196)
    tape.zero()
    check(x.grad, 0, 0)


def test_copy_and_clone_and_assign():
    x, y, z = floats(1, 2), zeros(2), zeros(2)
    with wp.Tape() as tape:
        wp.copy(y, x)
        c = wp.clone(y)
        z.assign(c)
        wp.launch(square, dim=2, inputs=[z], outputs=[y])
    assert c.requires_grad
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(y, 1, 4)
    check(x.grad, 2, 4)


def test_copy_of_a_part():
    x, y, z = floats(1, 2, 3, 4), floats(5, 6, 7), zeros(3)
    with wp.Tape() as tape:
        wp.copy(y, x, dest_offset=1, src_offset=2, count=2)
        wp.launch(square, dim=3, inputs=[y], outputs=[z])
    check(y, 5, 3, 4)
    tape.backward(grads={z: floats(1, 1, 1, grad=False)})
    check(x.grad, 0, 0, 6, 8)
    check(y.grad, 10, 0, 0)


def test_copies_within_one_array():
    x = floats(1, 2, 3, 4)
    with wp.Tape() as tape:
        wp.copy(x[1:], x[:-1])
    tape.backward(grads={x: floats(1, 10, 100, 1000, grad=False)})
    check(x, 1, 1, 2, 3)
    check(x.grad, 11, 100, 1000, 0)

    x = floats(1, 2, 3, 4)
    with wp.Tape() as tape:
        wp.copy(x[:-1], x[1:])
        wp.copy(x, x)
    tape.backward(grads={x: floats(1, 10, 100, 1000, grad=False)})
    check(x, 2, 3, 4, 4)
    check(x.grad, 0, 1, 10, 1100)


def test_elements_set_from_python():
    x, y = floats(1, 2, 3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x], outputs=[y])
        x[0] = 7.0
        x[1:] = [8.0, 9.0]
        y[2] = 0.0
    tape.backward(grads={y: floats(1, 1, 1, grad=False), x: floats(5, 5, 5, grad=False)})
    check(x, 7, 8, 9)
    check(x.grad, 2, 4, 0)


def test_assign_of_a_list_stops_the_gradient():
    x, y = floats(1, 2), zeros(2)
    with wp.Tape() as tape:
        wp.copy(y, x)
        y.assign([5, 6])
        z = wp.clone(y)
    tape.backward(grads={z: floats(1, 1, grad=False)})
    check(x.grad, 0, 0)


def test_clone_that_is_detached():
    x, y = floats(1, 2), zeros(2)
    with wp.Tape() as tape:
        c = wp.clone(x, requires_grad=False)
        wp.launch(multiply, dim=2, inputs=[x, c], outputs=[y])
    assert not c.requires_grad
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 1, 2)


@pytest.mark.parametrize("fill", [lambda a: a.zero_(), lambda a: a.fill_(3.0)])
def test_fill_is_recorded(fill):
    x, y, z = floats(1, 2), zeros(2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        fill(y)
        wp.launch(square, dim=2, inputs=[y], outputs=[z])
    tape.backward(grads={z: floats(1, 1, grad=False)})
    check(x.grad, 0, 0)


def test_views_have_the_gradient_of_their_base():
    x, y = wp.array([[1, 2], [3, 4]], dtype=float, requires_grad=True), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x[1]], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    np.testing.assert_allclose(x.grad.numpy(), [[0, 0], [6, 8]])


def test_strided_views():
    x, y = (
        wp.array([[1, 2], [3, 4]], dtype=float, requires_grad=True),
        wp.zeros((2, 2), dtype=float, requires_grad=True),
    )
    column, target = x[:, 1], y[:, 0]
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[column], outputs=[target])
    np.testing.assert_allclose(y.numpy(), [[4, 0], [16, 0]])
    tape.backward(grads={y: wp.ones((2, 2), dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), [[0, 4], [0, 8]])


def test_requires_grad_switched_on_later():
    x, y = floats(1, 2, grad=False), zeros(2, grad=False)
    assert x.grad is None
    x.requires_grad = True
    y.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 2, 4)


def test_requires_grad_switched_on_after_recording():
    x, y = floats(1, 2, grad=False), zeros(2, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
    x.requires_grad = True
    y.requires_grad = True
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 2, 4)


def test_requires_grad_switched_on_after_the_contents_were_overwritten_is_an_error():
    x, y = floats(1, 2, grad=False), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(scale, dim=2, inputs=[y, 3.0], outputs=[x])
    x.requires_grad = True
    with pytest.raises(OverwriteError, match="square.*x"):
        tape.backward(grads={y: floats(1, 1, grad=False)})


def test_gradient_replaced_or_dropped_after_recording():
    x, y = floats(1, 2), zeros(2)
    ones = floats(1, 1, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
    x.grad = floats(100, 100, grad=False)
    tape.backward(grads={y: ones})
    check(x.grad, 102, 104)
    x.requires_grad = False
    tape.backward(grads={y: ones})
    assert x.grad is None


def test_retained_gradient():
    x, y, z = floats(1, 2), wp.zeros(2, dtype=float, requires_grad=True, retain_grad=True), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(scale, dim=2, inputs=[y, 3.0], outputs=[z])
    tape.backward(grads={z: floats(1, 10, grad=False)})
    check(y.grad, 3, 30)
    check(x.grad, 6, 120)


def test_retained_gradient_of_an_array_written_twice_is_that_of_its_last_contents():
    x, y, z = floats(1, 2), wp.zeros(2, dtype=float, requires_grad=True, retain_grad=True), zeros(2)
    with wp.Tape() as tape:
        wp.launch(scale, dim=2, inputs=[x, 2.0], outputs=[y])
        wp.launch(square, dim=2, inputs=[y], outputs=[z])
        wp.launch(scale, dim=2, inputs=[z, 5.0], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(y.grad, 1, 1)
    check(x.grad, 5 * 2 * 2 * 2, 5 * 2 * 4 * 2)


def test_kernel_without_backward_is_an_error_in_backward():
    x, y = floats(1, 2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square_without_gradient, dim=2, inputs=[x], outputs=[y])
    check(y, 1, 4)
    with pytest.raises(DerivativeError, match="square_without_gradient.*enable_backward"):
        tape.backward(grads={y: floats(1, 1, grad=False)})


def test_kernel_without_backward_is_no_error_where_no_gradient_passes():
    x, y, z = floats(1, 2, grad=False), zeros(2, grad=False), zeros(2)
    w = floats(3, 4)
    with wp.Tape() as tape:
        wp.launch(square_without_gradient, dim=2, inputs=[x], outputs=[y])
        wp.launch(multiply, dim=2, inputs=[w, y], outputs=[z])
    tape.backward(grads={z: floats(1, 1, grad=False)})
    check(w.grad, 1, 4)


# Overwritten memory.


def test_array_overwritten_between_launches():
    x, y, z = floats(2, 3), zeros(2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(square, dim=2, inputs=[y], outputs=[z])
        wp.launch(scale, dim=2, inputs=[z, 2.0], outputs=[x])
        wp.launch(multiply, dim=2, inputs=[x, z], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(y, 2 * 2.0**8, 2 * 3.0**8)
    check(x.grad, 16 * 2.0**7, 16 * 3.0**7)


def test_loop_of_launches_in_place():
    x, y = floats(1.5, 2), floats(1.1, 0.9)
    with wp.Tape() as tape:
        for _ in range(5):
            wp.launch(multiply_in_place, dim=2, inputs=[x, y])
    tape.backward(grads={x: floats(1, 1, grad=False)})
    check(x.grad, *np.float32([1.1, 0.9]) ** 5)
    check(y.grad, *(5 * np.array([1.5, 2]) * np.float32([1.1, 0.9]) ** 4))


def test_ping_pong_buffers():
    a, b = floats(1.1, 0.9), zeros(2)
    first, last = a, b
    with wp.Tape() as tape:
        for _ in range(4):
            wp.launch(square, dim=2, inputs=[a], outputs=[b])
            a, b = b, a
    tape.backward(grads={a: floats(1, 1, grad=False)})
    check(first.grad, *(16 * np.float32([1.1, 0.9]) ** 15))
    check(last.grad, 0, 0)


def test_copy_overwrites_what_is_needed():
    x, y, other = floats(2, 3), zeros(2), floats(10, 20)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.copy(x, other)
    tape.backward(grads={y: floats(1, 1, grad=False), x: floats(1, 1, grad=False)})
    check(x.grad, 4, 6)
    check(other.grad, 1, 1)


@pytest.mark.parametrize("write", [lambda a: a.zero_(), lambda a: a.fill_(9.0), lambda a: a.assign([9.0, 8.0])])
def test_host_side_write_overwrites_what_is_needed(write):
    x, y = floats(2, 3), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        write(x)
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 4, 6)


def test_view_overwritten():
    x, y = floats(1, 2, 3, 4), zeros(4)
    with wp.Tape() as tape:
        wp.launch(square, dim=4, inputs=[x], outputs=[y])
        wp.launch(scale, dim=2, inputs=[y[:2], 1.0], outputs=[x[2:]])
    tape.backward(grads={y: floats(1, 1, 1, 1, grad=False)})
    check(x, 1, 2, 1, 4)
    check(x.grad, 2, 4, 6, 8)


def test_tape_that_refuses_overwrites():
    x, y = floats(2, 3), zeros(2)
    with pytest.raises(OverwriteError, match="scale.*square|square.*scale"):
        with wp.Tape(overwrites="error"):
            wp.launch(square, dim=2, inputs=[x], outputs=[y])
            wp.launch(scale, dim=2, inputs=[y, 2.0], outputs=[x])
    check(x, 2, 3)


def test_backward_twice_with_overwritten_memory():
    x, y = floats(2, 3), zeros(2)
    ones = floats(1, 1, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.launch(scale, dim=2, inputs=[y, 2.0], outputs=[x])
    for _ in range(2):
        tape.backward(grads={y: ones})
        check(x.grad, 4, 6)
        tape.zero()


@wp.struct
class Pair:
    x: wp.array(dtype=float)
    y: wp.array(dtype=float)


@wp.kernel
def square_in_struct(pair: Pair):
    i = wp.tid()
    pair.y[i] = pair.x[i] * pair.x[i]


@wp.kernel
def clear_in_struct(pair: Pair):
    pair.x[wp.tid()] = 0.0


def test_arrays_in_structs_overwritten_and_replaced():
    pair = Pair()
    x = pair.x = floats(1, 2)
    y = pair.y = zeros(2)
    with wp.Tape() as tape:
        wp.launch(square_in_struct, dim=2, inputs=[pair])
        wp.launch(clear_in_struct, dim=2, inputs=[pair])
        pair.x, pair.y = floats(5, 6), zeros(2)
        wp.launch(square_in_struct, dim=2, inputs=[pair])
    ones = floats(1, 1, grad=False)
    tape.backward(grads={y: ones, pair.y: ones})
    check(x.grad, 2, 4)
    check(pair.x.grad, 10, 12)


# One array under two parameters: right, or an error.


def right_or_refused(run, *expected):
    """The gradients that ``run`` returns are the expected ones, unless it raised an OverwriteError."""
    try:
        gradients = run()
    except OverwriteError:
        return
    for gradient, values in zip(gradients, expected):
        check(gradient, *values)


def test_same_array_read_twice():
    x, y = floats(2, 3), zeros(2)
    with wp.Tape() as tape:
        wp.launch(multiply, dim=2, inputs=[x, x], outputs=[y])
    tape.backward(grads={y: floats(1, 1, grad=False)})
    check(x.grad, 4, 6)


def test_same_array_read_and_written():
    def run():
        x, y = floats(2, 3), floats(5, 7)
        with wp.Tape() as tape:
            wp.launch(multiply, dim=2, inputs=[x, y], outputs=[x])
        tape.backward(grads={x: floats(1, 1, grad=False)})
        return x.grad, y.grad

    right_or_refused(run, (5, 7), (2, 3))


def test_square_of_an_array_into_itself():
    def run():
        x = floats(2, 3)
        with wp.Tape() as tape:
            wp.launch(square, dim=2, inputs=[x], outputs=[x])
        tape.backward(grads={x: floats(1, 1, grad=False)})
        return (x.grad,)

    right_or_refused(run, (4, 6))


@wp.kernel
def write_then_read(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 3.0
    z[i] = x[i] * x[i]


def test_read_after_write_through_another_parameter():
    def run():
        x, z = floats(2, 3), zeros(2)
        with wp.Tape() as tape:
            wp.launch(write_then_read, dim=2, inputs=[x], outputs=[x, z])
        check(z, 36, 81)
        tape.backward(grads={z: floats(1, 1, grad=False)})
        return (x.grad,)

    right_or_refused(run, (36, 54))


@wp.kernel
def shift_in_place(x: wp.array(dtype=float), n: int):
    for k in range(n - 1):
        x[k + 1] = x[k + 1] * x[k]


def test_recurrence_in_memory():
    def run():
        x = floats(2, 3, 4)
        with wp.Tape() as tape:
            wp.launch(shift_in_place, dim=1, inputs=[x, 3])
        check(x, 2, 6, 24)
        tape.backward(grads={x: floats(0, 0, 1, grad=False)})
        return (x.grad,)

    right_or_refused(run, (12, 8, 6))


def test_recurrence_in_memory_played_several_times():
    x = floats(2, 3, 4)
    with wp.Tape() as tape:
        for _ in range(2):
            wp.launch(shift_in_place, dim=1, inputs=[x, 3])
    check(x, 2, 12, 288)
    for _ in range(3):
        tape.zero()
        tape.backward(grads={x: floats(0, 0, 1, grad=False)})
        check(x.grad, 432, 192, 72)  # x[2] became x[0]³·x[1]²·x[2]
        check(x, 2, 12, 288)


@wp.kernel
def recurrence_between(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    for k in range(n):
        y[k] = x[k] * x[k]


def test_overlapping_views():
    def run():
        base = floats(2, 3, 4)
        with wp.Tape() as tape:
            wp.launch(recurrence_between, dim=1, inputs=[base[:2], base[1:], 2])
        check(base, 2, 4, 16)
        tape.backward(grads={base: floats(0, 0, 1, grad=False)})
        return (base.grad,)

    # base[2] = (base[0]²)², and what was in base[1] and base[2] has no influence.
    right_or_refused(run, (32, 0, 0))


@wp.kernel
def accumulate_and_read(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    x[i] += x[i] * x[i]
    out[i] = x[i] * x[i]


def test_read_after_accumulation():
    def run():
        x, out = floats(1, 2), zeros(2)
        with wp.Tape() as tape:
            wp.launch(accumulate_and_read, dim=2, inputs=[x], outputs=[out])
        check(x, 2, 6)
        check(out, 4, 36)
        tape.backward(grads={out: floats(1, 1, grad=False)})
        return (x.grad,)

    right_or_refused(run, (2 * 2 * 3, 2 * 6 * 5))


# Adjoint launches.


def test_adjoint_launch_with_given_buffers():
    x, y = floats(1, 2, grad=False), zeros(2, grad=False)
    adj_x, adj_y = zeros(2, grad=False), floats(1, 10, grad=False)
    wp.launch(square, dim=2, inputs=[x], outputs=[y], adj_inputs=[adj_x], adj_outputs=[adj_y], adjoint=True)
    check(adj_x, 2, 40)


def test_adjoint_launch_with_none_takes_own_gradients():
    x, y = floats(1, 2), zeros(2)
    y.grad.fill_(1.0)
    adj_x = zeros(2, grad=False)
    wp.launch(square, dim=2, inputs=[x], outputs=[y], adj_inputs=[adj_x], adj_outputs=[None], adjoint=True)
    check(adj_x, 2, 4)
    check(x.grad, 0, 0)
    y.grad.fill_(1.0)
    wp.launch(square, dim=2, inputs=[x], outputs=[y], adj_inputs=[None], adj_outputs=[None], adjoint=True)
    check(x.grad, 2, 4)


def test_adjoint_launch_with_scalars_among_the_arguments():
    x, y = floats(1, 2), zeros(2)
    y.grad.fill_(1.0)
    wp.launch(scale, dim=2, inputs=[x, 3.0], outputs=[y], adj_inputs=[None, None], adj_outputs=[None], adjoint=True)
    check(x.grad, 3, 3)


def test_adjoint_launch_of_a_wrong_shape_is_an_error():
    x, y = floats(1, 2), zeros(2)
    with pytest.raises(LaunchError, match=r"square.*x.*\(3,\)"):
        wp.launch(square, dim=2, inputs=[x], outputs=[y], adj_inputs=[zeros(3)], adj_outputs=[None], adjoint=True)


def test_adjoint_launch_is_not_recorded():
    x, y = floats(1, 2), zeros(2)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y], adjoint=True)
    assert not tape.gradients


# Commands.


def test_command_runs_many_times():
    x, y = floats(1, 2), zeros(2)
    command = wp.launch(scale, dim=2, inputs=[x, 2.0], outputs=[y], record_cmd=True)
    check(y, 0, 0)
    for _ in range(3):
        command.launch()
        check(y, 2, 4)
    command.set_param_at_index(1, 5.0)
    command.launch()
    check(y, 5, 10)
    z = floats(7, 8)
    command.set_param_by_name("x", z)
    command.launch()
    check(y, 35, 40)
    command.set_params([x, 3.0])
    command.launch()
    check(y, 3, 6)
    command.set_dim(1)
    command.set_param_by_name("factor", 100.0)
    command.launch()
    check(y, 100, 6)


def test_command_of_an_unknown_parameter_is_an_error():
    command = wp.launch(scale, dim=2, inputs=[floats(1, 2), 2.0], outputs=[zeros(2)], record_cmd=True)
    with pytest.raises(LaunchError, match="nothing.*factor"):
        command.set_param_by_name("nothing", 1.0)


def test_adjoint_command():
    x, y = floats(1, 2), zeros(2)
    command = wp.launch(square, dim=2, inputs=[x], outputs=[y], adjoint=True, record_cmd=True)
    for k in range(1, 3):
        y.grad.fill_(1.0)
        command.launch()
        check(x.grad, 2 * k, 4 * k)


# Memory.


def _script(mode):
    script = Path(__file__).with_name("memory_script.py")
    root = Path(wp.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, str(script), mode], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of the process from /proc")
def test_adjoint_of_a_million_iterations_takes_little_memory():
    assert _script("loop") < 100e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of the process from /proc")
def test_thousand_backward_passes_leak_nothing():
    assert _script("repeat") < 4e6
