"""Which version of an array a derivative of the user's own finds, and the rest of the adjoint beside it."""

from __future__ import annotations

from typing import Any

import pytest

import treadle as wp
from treadle.ad import DerivativeError
from treadle.errors import OverwriteError, TreadleError
from treadle.tape.records import LaunchRecord


@wp.func
def scaled(a: wp.array(dtype=float), i: int, s: float):
    return a[i] * s


@wp.func_grad(scaled)
def scaled_gradient(a: wp.array(dtype=float), i: int, s: float, adjoint: float):
    wp.adjoint[a][i] += s * adjoint
    wp.adjoint[s] += a[i] * adjoint


@wp.func
def replayed(a: wp.array(dtype=float), i: int, s: float):
    return a[i] * s


@wp.func_replay(replayed)
def replayed_again(a: wp.array(dtype=float), i: int, s: float):
    return a[i] * s


@wp.kernel
def with_gradient(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    y = scaled(a, i, a[i])
    o[i] = y * y  # a⁴


@wp.kernel
def with_replay(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    y = replayed(a, i, a[i])
    o[i] = y * y


@wp.kernel
def overwriting(a: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    y = scaled(a, i, a[i])
    a[i] = y * y
    o[i] = a[i]


@wp.kernel
def increment(a: wp.array(dtype=float)):
    a[wp.tid()] = a[wp.tid()] + 1.0


KERNELS = [with_gradient, with_replay]


def floats(*values: float, requires_grad: bool = True) -> Any:
    return wp.array(values, dtype=float, requires_grad=requires_grad)


def ones() -> Any:
    return wp.ones(2, dtype=float)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_array_that_is_only_read(kernel: Any) -> None:
    a, o = floats(1, 2), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, [a, o])
    tape.backward(grads={o: ones()})
    assert a.grad.list() == [4, 32]


@pytest.mark.parametrize("kernel", KERNELS)
def test_there_is_one_version_for_both(kernel: Any) -> None:
    a, o = floats(1, 2), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, [a, o])
        wp.launch(increment, 2, [a])
        wp.launch(increment, 2, [a])
    (record, *_) = (r for r in tape._records if isinstance(r, LaunchRecord))
    assert record.needs["a"].saved is not None and record.adjoint.needed & record.adjoint.needed_after == {"a"}
    tape.backward(grads={o: ones()})
    assert a.grad.list() == [4, 32] and a.list() == [3, 4]
    with wp.Tape(overwrites="error"):
        wp.launch(kernel, 2, [a, o])
        with pytest.raises(OverwriteError, match="increment, parameter a"):
            wp.launch(increment, 2, [a])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_gradient_asked_for_late(kernel: Any) -> None:
    for overwritten in (False, True):
        a, o = floats(1, 2, requires_grad=False), floats(0, 0)
        with wp.Tape() as tape:
            wp.launch(kernel, 2, [a, o])
            if overwritten:
                wp.launch(increment, 2, [a])
        a.requires_grad = True
        if overwritten:
            with pytest.raises(OverwriteError, match="parameter a"):
                tape.backward(grads={o: ones()})
        else:
            tape.backward(grads={o: ones()})
            assert a.grad.list() == [4, 32]


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_array_that_is_the_output_as_well(kernel: Any) -> None:
    """Before the launch and after it, there is something else in the array that the kernel only reads."""
    for first, second in (((0, 2), (0, 2)), ((0, 2), (1, 3))):
        whole = floats(1, 2, 3)
        with wp.Tape() as tape:
            wp.launch(kernel, 2, [whole[slice(*first)], whole[slice(*second)]])
        with pytest.raises(DerivativeError, match="in a or of a user-written derivative that reads it .* memory as o"):
            tape.backward(grads={whole: wp.ones(3, dtype=float)})
    with wp.Tape(overwrites="error"), pytest.raises(OverwriteError):
        wp.launch(kernel, 2, [whole[:2], whole[:2]])
    plain = floats(1, 2, requires_grad=False)
    with wp.Tape(), pytest.raises(TreadleError, match="parameter o writes memory"):
        wp.launch(kernel, 2, [wp.from_numpy(plain.numpy(), requires_grad=True), plain])


def test_an_array_that_the_kernel_writes_as_well() -> None:
    a, o = floats(1, 2), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(overwriting, 2, [a, o])
    with pytest.raises(DerivativeError):
        tape.backward(grads={o: ones()})


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_adjoint_launch(kernel: Any) -> None:
    a, o = floats(1, 2), floats(0, 0)
    o.grad.fill_(1)
    wp.launch(kernel, 2, [a, o], adjoint=True)
    assert a.grad.list() == [4, 32]
    with pytest.raises((DerivativeError, OverwriteError)):
        wp.launch(kernel, 2, [a, a], adjoint=True)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_stored_in_the_cache(kernel: Any) -> None:
    compiled = []
    for _ in range(2):
        a, o = floats(1, 2), floats(0, 0)
        with wp.Tape() as tape:
            wp.launch(kernel, 2, [a, o])
        tape.backward(grads={o: ones()})
        compiled.append(tape._records[0].adjoint)
        kernel.runtime = None  # the next launch finds it on disk
    assert compiled[0] is not compiled[1]
    assert compiled[0].needed == compiled[1].needed and compiled[0].needed_after == compiled[1].needed_after
