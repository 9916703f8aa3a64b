"""Variables that stand for arrays: their gradients follow them through loops, branches and calls, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp


def floats(*values: float, **options: Any) -> wp.array:
    return wp.array(list(values), dtype=float, requires_grad=True, **options)


def backward(kernel: Any, arguments: list[Any], *outputs: wp.array) -> None:
    """Launch with a thread for each element of the outputs, and play back with ones as gradients of these."""
    with wp.Tape() as tape:
        wp.launch(kernel, dim=outputs[0].size, inputs=arguments)
    tape.backward(grads={o: wp.full_like(o, 1.0, requires_grad=False) for o in outputs})


@wp.struct
class Holder:
    a: wp.array(dtype=float)
    factor: float


# With and without gradient.


@wp.kernel
def read_in_for(c: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = c
    t = float(0.0)
    for _ in range(n):
        t += r[i] * r[i]
        r = b
    o[i] = t


@wp.kernel
def read_in_while(c: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = c
    t = float(0.0)
    k = int(0)
    while k < n:
        t += r[i] * r[i]
        r = b
        k += 1
    o[i] = t


@wp.kernel
def read_after_loop(c: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = c
    for _ in range(n):
        r = b
    o[i] = r[i] * r[i]


@wp.kernel
def read_in_branch(c: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = c
    if i < n:
        r = b
    o[i] = r[i] * r[i]


@pytest.mark.parametrize("kernel", [read_in_for, read_in_while, read_after_loop, read_in_branch])
@pytest.mark.parametrize("first_has_gradient", [False, True])
def test_a_variable_for_arrays_with_and_without_gradient_is_refused(kernel: Any, first_has_gradient: bool) -> None:
    with_gradient, without = floats(2.0, 3.0), wp.array([1.0, 1.0], dtype=float)
    arrays = [with_gradient, without] if first_has_gradient else [without, with_gradient]
    o = floats(0.0, 0.0)
    with pytest.raises(wp.DerivativeError, match="with a gradient or for one without"):
        backward(kernel, [*arrays, 3, o], o)
    both = [floats(1.0, 1.0), floats(2.0, 3.0)]
    backward(kernel, [*both, 3, o], o)
    assert both[1].grad.numpy().any()


@wp.kernel
def store_in_loop(c: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float), n: int):
    i = wp.tid()
    r = c
    for _ in range(n):
        r[i] = x[i] * x[i]
        r = b


def test_a_store_to_a_variable_for_arrays_with_and_without_gradient_is_refused() -> None:
    c, b, x = wp.zeros(2, dtype=float), floats(0.0, 0.0), floats(2.0, 3.0)
    with pytest.raises(wp.DerivativeError, match="with a gradient or for one without"):
        backward(store_in_loop, [c, b, x, 2], b)


def test_a_variable_for_arrays_some_of_which_retain_their_gradient_is_refused() -> None:
    c, b, x = floats(0.0, 0.0), floats(0.0, 0.0, retain_grad=True), floats(2.0, 3.0)
    with pytest.raises(wp.DerivativeError, match="retain_grad=True or for one without"):
        backward(store_in_loop, [c, b, x, 2], c, b)
    c.retain_grad = True
    backward(store_in_loop, [c, b, x, 2], c, b)
    assert b.grad.numpy().tolist() == c.grad.numpy().tolist() == [1.0, 1.0]
    assert x.grad.numpy().tolist() == [8.0, 12.0]


@wp.kernel
def only_read(c: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float), n: int):
    i = wp.tid()
    r = c
    t = float(0.0)
    for _ in range(n):
        t += r[i]
        r = c[:]
    b[i] = t * x[i]


def test_a_variable_for_arrays_without_gradient_is_a_constant() -> None:
    c, b, x = wp.array([1.0, 2.0], dtype=float), floats(0.0, 0.0), floats(2.0, 3.0)
    backward(only_read, [c, b, x, 3], b)
    assert x.grad.numpy().tolist() == [3.0, 6.0]


# Members of structs in arrays.


@wp.kernel
def member_before_loop(s: wp.array(dtype=Holder), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = s[0].a
    t = float(0.0)
    for _ in range(n):
        t += r[i] * r[i]
        r = b
    o[i] = t


@wp.kernel
def member_in_loop(s: wp.array(dtype=Holder), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = b
    t = float(0.0)
    for _ in range(n):
        t += r[i] * r[i]
        r = s[0].a
    o[i] = t


@wp.kernel
def member_alone(s: wp.array(dtype=Holder), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    r = s[0].a
    t = float(0.0)
    for _ in range(n):
        t += r[i] * b[i]
        r = s[0].a
    o[i] = t


@pytest.mark.parametrize("kernel", [member_before_loop, member_in_loop, member_alone])
def test_members_of_structs_in_arrays_are_refused_in_loops_too(kernel: Any) -> None:
    holder = Holder()
    holder.a = floats(1.0, 2.0)
    b, o = floats(2.0, 3.0), floats(0.0, 0.0)
    with pytest.raises(wp.DerivativeError, match="member of a struct in an array|with a gradient or for one without"):
        backward(kernel, [wp.array([holder], dtype=Holder), b, 2, o], o)


# Functions with derivatives of their own.


@wp.func
def row(a: wp.array2d(dtype=float), k: int):
    return a[k]


@wp.func_replay(row)
def row_replay(a: wp.array2d(dtype=float), k: int):
    return a[k]


@wp.kernel
def product_of_row(a: wp.array2d(dtype=float), x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    r = row(a, i)
    o[i] = r[0] * r[1] * x[i]


def test_an_array_that_a_function_with_a_replay_returns() -> None:
    values, x, o = [[1.0, 2.0], [3.0, 4.0]], floats(1.0, 2.0), floats(0.0, 0.0)
    backward(product_of_row, [wp.array(values, dtype=float), x, o], o)
    assert x.grad.numpy().tolist() == [2.0, 12.0]
    with pytest.raises(wp.DerivativeError, match="array that a function returns"):
        backward(product_of_row, [wp.array(values, dtype=float, requires_grad=True), x, o], o)


@wp.struct
class Pair:
    scale: float
    left: Holder
    right: wp.array(dtype=float)


@wp.func
def combined(p: Pair, i: int):
    return p.left.a[i] * p.left.factor + p.right[i] * p.scale


@wp.func_grad(combined)
def combined_grad(p: Pair, i: int, g: float):
    wp.adjoint[p].left.a[i] += g * p.left.factor
    wp.adjoint[p].right[i] += g * p.scale


@wp.kernel
def use_combined(p: Pair, o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = combined(p, i)


def test_a_gradient_function_reaches_the_arrays_in_a_struct() -> None:
    p, o = Pair(), floats(0.0, 0.0)
    p.left.a, p.left.factor = floats(1.0, 2.0), 3.0
    p.right, p.scale = floats(4.0, 5.0), 7.0
    backward(use_combined, [p, o], o)
    assert p.left.a.grad.numpy().tolist() == [3.0, 3.0]
    assert p.right.grad.numpy().tolist() == [7.0, 7.0]


@wp.func
def either(a: wp.array(dtype=float), b: wp.array(dtype=float), i: int):
    return a[i] + b[i]


@wp.func_grad(either)
def either_grad(a: wp.array(dtype=float), b: wp.array(dtype=float), i: int, g: float):
    target = wp.adjoint[a]
    if i > 0:
        target = wp.adjoint[b]
    target[i] += g


@wp.kernel
def use_either(a: wp.array(dtype=float), b: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = either(a, b, i)


def test_a_gradient_function_that_chooses_between_gradients_needs_both() -> None:
    o = floats(0.0, 0.0)
    with pytest.raises(wp.DerivativeError, match="function either .* uses the gradient of an array that has none here"):
        backward(use_either, [floats(1.0, 2.0), wp.zeros(2, dtype=float), o], o)
    a, b = floats(1.0, 2.0), floats(3.0, 4.0)
    backward(use_either, [a, b, o], o)
    assert (a.grad.numpy().tolist(), b.grad.numpy().tolist()) == ([1.0, 0.0], [0.0, 1.0])


# Gradients within kernels.


@wp.func
def swapping(x: float, a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    s = float(0.0)
    for k in range(n):
        s += a[k] * x * x
        a, b = b, a
    return s


@wp.func
def swapping_while(x: float, a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    s = float(0.0)
    k = int(0)
    while True:
        if k >= n:
            break
        s += a[k] * x * x
        a, b = b, a
        k += 1
    return s


@wp.func
def moving_view(x: float, a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    s = float(0.0)
    r = a[0:]
    for _ in range(n):
        s += r[0] * x * x
        r = b[1:]
    return s


@wp.kernel
def gradient_of_swapping(
    x: wp.array(dtype=float), a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)
):
    o[0] = wp.grad(swapping)(x[0], a, b, n)


@wp.kernel
def gradient_of_swapping_while(
    x: wp.array(dtype=float), a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)
):
    o[0] = wp.grad(swapping_while)(x[0], a, b, n)


@wp.kernel
def gradient_of_moving_view(
    x: wp.array(dtype=float), a: wp.array(dtype=float), b: wp.array(dtype=float), n: int, o: wp.array(dtype=float)
):
    o[0] = wp.grad(moving_view)(x[0], a, b, n)


@pytest.mark.parametrize("kernel", [gradient_of_swapping, gradient_of_swapping_while, gradient_of_moving_view])
@pytest.mark.parametrize("overwritten", [False, True])
def test_arrays_carried_by_the_loop_of_a_function_whose_gradient_is_asked_for(kernel: Any, overwritten: bool) -> None:
    x, a, b, o = floats(3.0), floats(1.0, 2.0), floats(3.0, 4.0), floats(0.0)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x, a, b, 2, o])
        if overwritten:
            a.fill_(100.0)
            b.fill_(100.0)
    tape.backward(o)
    assert x.grad.numpy().tolist() == [10.0]
    if not overwritten:  # a fill consumes the gradients of what it overwrites, not those of what was read before
        assert (a.grad.numpy().tolist(), b.grad.numpy().tolist()) == ([6.0, 0.0], [0.0, 6.0])


@wp.func
def stores_and_reads(x: float, a: wp.array(dtype=float), i: int):
    a[i] = x * x
    return a[i] * x


@wp.func
def adds_and_reads(x: float, a: wp.array(dtype=float), i: int):
    wp.atomic_add(a, i, x * x)
    return a[i] * x


@wp.func
def counts_and_reads(x: float, a: wp.array(dtype=float), counter: wp.array(dtype=int)):
    wp.atomic_add(counter, 0, 1)
    return a[0] * x * x


@wp.kernel
def gradient_of_store(x: wp.array(dtype=float), a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.grad(stores_and_reads)(x[i], a, i)


@wp.kernel
def gradient_of_atomic(x: wp.array(dtype=float), a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.grad(adds_and_reads)(x[i], a, i)


@wp.kernel
def gradient_of_count(
    x: wp.array(dtype=float), a: wp.array(dtype=float), counter: wp.array(dtype=int), o: wp.array(dtype=float)
):
    i = wp.tid()
    o[i] = wp.grad(counts_and_reads)(x[i], a, counter)


@pytest.mark.parametrize("kernel", [gradient_of_store, gradient_of_atomic])
def test_the_gradient_of_a_function_that_reads_what_it_wrote_is_refused(kernel: Any) -> None:
    x, a, o = floats(1.0, 2.0), floats(0.0, 0.0), floats(0.0, 0.0)
    with pytest.raises(wp.DerivativeError, match="writes to an array and may read there what it wrote"):
        wp.launch(kernel, dim=2, inputs=[x, a, o])


def test_the_gradient_of_a_function_that_writes_elsewhere() -> None:
    x, a, o = floats(1.0, 2.0), floats(3.0), floats(0.0, 0.0)
    wp.launch(gradient_of_count, dim=2, inputs=[x, a, wp.zeros(1, dtype=int), o])
    np.testing.assert_allclose(o.numpy(), [6.0, 12.0])


@wp.func
def compound(x: float, n: int):
    s = x
    for _ in range(n):
        s += s * x
    return s


@wp.kernel
def slope_of_compound(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.grad(compound)(x[i], 3)


@wp.kernel
def slopes_of_power(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    base, exponent = wp.grad(wp.pow)(x[i], 3.0)
    o[i] = base + 0.0 * exponent


def test_second_derivative_through_a_loop_that_is_unrolled() -> None:
    x, o = floats(1.0, 2.0), floats(0.0, 0.0)
    backward(slope_of_compound, [x, o], o)
    np.testing.assert_allclose(x.grad.numpy(), [36.0, 90.0])


def test_the_gradient_of_a_power() -> None:
    x, o = floats(1.0, 2.0), floats(0.0, 0.0)
    backward(slopes_of_power, [x, o], o)
    np.testing.assert_allclose(o.numpy(), [3.0, 12.0])
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 12.0])


@wp.func_native("a[i] = x * x;")
def stores_in_native(a: wp.array(dtype=float), x: float, i: int): ...


@wp.func
def reads_what_native_stored(x: float, a: wp.array(dtype=float), i: int):
    stores_in_native(a, x, i)
    return a[i] * x


@wp.kernel
def gradient_of_native_store(x: wp.array(dtype=float), a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.grad(reads_what_native_stored)(x[i], a, i)


def test_the_gradient_of_a_function_that_reads_what_cpp_may_have_written_is_refused() -> None:
    x, a, o = floats(1.0, 2.0), floats(0.0, 0.0), floats(0.0, 0.0)
    with pytest.raises(wp.DerivativeError, match="writes to an array and may read there what it wrote"):
        wp.launch(gradient_of_native_store, dim=2, inputs=[x, a, o])
