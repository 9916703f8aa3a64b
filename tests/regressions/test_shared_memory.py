"""Arrays that share memory: their gradient is right where they share it too, and else an error.

That includes memory with a gradient that is written through an array without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.errors import TreadleError


@wp.kernel
def square(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.kernel
def add_up(a: wp.array(dtype=wp.float64), total: wp.array(dtype=wp.float64)):
    wp.atomic_add(total, 0, a[wp.tid()])


def loss() -> wp.array:
    return wp.zeros(1, dtype=wp.float64, requires_grad=True)


def test_two_arrays_of_one_memory_with_separate_gradients():
    memory = np.arange(1.0, 5.0)
    first, second = (wp.from_numpy(memory, requires_grad=True) for _ in range(2))
    total = loss()
    with wp.Tape():
        wp.launch(square, 4, [first], [first])
        with pytest.raises(TreadleError, match="parameter a shares memory"):
            wp.launch(add_up, 4, [second], [total])
    assert total.list() == [0]


def test_read_first_and_written_later():
    memory = np.arange(1.0, 5.0)
    first, second = (wp.from_numpy(memory, requires_grad=True) for _ in range(2))
    with wp.Tape():
        wp.launch(add_up, 4, [second], [loss()])
        with pytest.raises(TreadleError, match="a copy shares memory"):
            wp.copy(first, wp.zeros_like(first))


def test_views_with_gradients_of_their_own():
    base = wp.array(np.arange(1.0, 5.0))
    first, second = base[:3], base[1:]
    first.requires_grad = second.requires_grad = True
    with wp.Tape(), pytest.raises(TreadleError, match="parameter b shares memory"):
        wp.launch(square, 3, [first], [second])


def test_arrays_that_are_only_read():
    memory = np.arange(1.0, 5.0)
    first, second = (wp.from_numpy(memory, requires_grad=True) for _ in range(2))
    total = loss()
    with wp.Tape() as tape:
        wp.launch(add_up, 4, [first], [total])
        wp.launch(add_up, 4, [second], [total])
    tape.backward(total)
    assert first.grad.list() == second.grad.list() == [1, 1, 1, 1]


def test_interleaved_arrays_share_nothing():
    memory = np.arange(8.0).reshape(4, 2)
    even, odd = (wp.from_numpy(memory[:, k], requires_grad=True) for k in range(2))
    total = loss()
    with wp.Tape() as tape:
        wp.launch(square, 4, [even], [odd])
        wp.launch(add_up, 4, [odd], [total])
    tape.backward(total)
    assert even.grad.list() == [0, 4, 8, 12]


def test_views_of_one_array():
    base = wp.array(np.arange(1.0, 5.0), requires_grad=True)
    total = loss()
    with wp.Tape() as tape:
        wp.launch(square, 2, [base[::-1]], [base[:2]])  # 4² and 3² over 1 and 2
        wp.launch(add_up, 4, [base], [total])
    tape.backward(total)
    assert base.grad.list() == [0, 0, 7, 9]


def test_tensors_share_their_gradient():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    total = loss()
    with wp.Tape() as tape:
        wp.launch(square, 2, [wp.from_torch(tensor)], [wp.from_torch(tensor)])
        wp.launch(add_up, 2, [wp.from_torch(tensor)], [total])
    tape.backward(total)
    assert tensor.grad.tolist() == [2, 4]


def test_a_tape_forgets_when_it_is_reset():
    memory = np.arange(1.0, 5.0)
    tape = wp.Tape()
    for _ in range(3):
        a = wp.from_numpy(memory, requires_grad=True)
        with tape:
            wp.launch(square, 4, [a], [a])
        tape.reset()


@wp.kernel
def clear(a: wp.array(dtype=wp.float64)):
    a[wp.tid()] = wp.float64(0.0)


@wp.kernel
def clear_bits(a: wp.array(dtype=wp.int64)):
    a[wp.tid()] = wp.int64(0)


def alias_of(a: Any, **details: Any) -> Any:
    return wp.array(ptr=a.ptr, shape=a.shape, dtype=wp.float64, **details)


def detached(a: Any) -> Any:
    view = a[:]
    view.requires_grad = False
    return view


def one_and_two(requires_grad: bool = False) -> Any:
    return wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=requires_grad)


def zeros() -> Any:
    return wp.zeros(2, dtype=wp.float64)


def by_command(a: Any) -> None:
    wp.launch(clear, 2, inputs=[alias_of(a)], record_cmd=True).launch()


WRITES: dict[str, Callable[[Any], Any]] = {
    "launch": lambda a: wp.launch(clear, 2, [alias_of(a)]),
    "launch that has a gradient of its own": lambda a: wp.launch(square, 2, [a], [alias_of(a)]),
    "command": by_command,
    "launch of part": lambda a: wp.launch(clear, 1, [alias_of(a)[1:]]),
    "launch of bits": lambda a: wp.launch(clear_bits, 2, [a.view(wp.int64)]),
    "launch on a detached view": lambda a: wp.launch(clear, 2, [detached(a)]),
    "launch on an indexed array": lambda a: wp.launch(clear_indexed, 2, [alias_of(a)[[0, 1]]]),
    "fill": lambda a: alias_of(a).zero_(),
    "fill of bits": lambda a: a.view(wp.int64).fill_(0),
    "fill of a detached view": lambda a: detached(a).zero_(),
    "fill of an indexed array": lambda a: alias_of(a)[[0, 1]].fill_(0),
    "copy": lambda a: wp.copy(alias_of(a), zeros()),
    "copy to an indexed array": lambda a: wp.copy(alias_of(a)[[0, 1]], zeros()),
    "copy from an indexed array": lambda a: wp.copy(alias_of(a), zeros()[[0, 1]]),
    "assignment": lambda a: alias_of(a).assign([0, 0]),
    "assignment to a slice": lambda a: alias_of(a).__setitem__(slice(0, 1), 0),
    "assignment of a slice": lambda a: alias_of(a).__setitem__(slice(0, 1), zeros()[:1]),
    "assignment to an element": lambda a: alias_of(a).__setitem__(0, 0),
    "assignment to elements": lambda a: alias_of(a).__setitem__([0, 1], 0),
    "mark": lambda a: alias_of(a).mark_write(),
    "sum": lambda a: wp.utils.array_sum(zeros(), alias_of(a)[:1]),
    "scan": lambda a: wp.utils.array_scan(zeros(), alias_of(a)),
    "sort": lambda a: wp.utils.radix_sort_pairs(alias_of(a), wp.zeros(2, dtype=int), 2),
    "NumPy's memory": lambda a: wp.from_numpy(a.numpy()).zero_(),
}


@wp.kernel
def clear_indexed(a: wp.indexedarray(dtype=wp.float64)):
    a[wp.tid()] = wp.float64(0.0)


def recorded(write: Callable[[Any], Any], overwrites: str = "save") -> tuple[Any, Any, wp.Tape]:
    """x², in an array that is then written in another way, and summed; x, that array, and the tape."""
    x, y, total = one_and_two(requires_grad=True), wp.zeros(2, dtype=wp.float64, requires_grad=True), loss()
    tape = wp.Tape(overwrites)
    try:
        with tape:
            wp.launch(square, 2, [x], [y])
            write(y)
            wp.launch(add_up, 2, [y], [total])
    finally:
        tape.backward(total)
    return x, y, tape


@pytest.mark.parametrize("name", WRITES)
def test_memory_with_a_gradient_written_through_an_array_without(name: str):
    kept: list[Any] = []

    def write(y: Any) -> None:
        kept.append(y)
        WRITES[name](y)

    with pytest.raises(TreadleError, match="writes memory of an array on the tape that has a gradient"):
        recorded(write)
    assert kept[0].list() == [1, 4]  # nothing was written


@pytest.mark.parametrize("name", [name for name in WRITES if "mark" not in name])
def test_memory_with_a_gradient_written_through_one_without_if_that_is_to_be_ignored(name: str):
    x, y, _ = recorded(WRITES[name], overwrites="ignore")
    assert x.grad.list() == [2, 4] and y.list()[1 if "part" in name else 0] in (0, 1)


@pytest.mark.parametrize(
    "read",
    [
        lambda a: wp.launch(square, 2, [alias_of(a)], [zeros()]),
        lambda a: wp.launch(add_up, 2, [alias_of(a)], [loss()]),
        lambda a: wp.copy(zeros(), alias_of(a)),
        lambda a: wp.clone(alias_of(a)),
        lambda a: alias_of(a)[[0, 1]].contiguous(),
        lambda a: alias_of(a).mark_read(),
        lambda a: wp.utils.array_sum(alias_of(a)),
    ],
)
def test_reading_through_an_array_without_a_gradient_detaches(read: Callable[[Any], Any]):
    x, _, _ = recorded(read)
    assert x.grad.list() == [2, 4]


@pytest.mark.parametrize("name", ["fill", "copy", "launch", "mark"])
def test_memory_written_through_an_array_with_another_gradient(name: str):
    writes = {
        "fill": lambda a: alias_of(a, requires_grad=True).zero_(),
        "copy": lambda a: wp.copy(alias_of(a, requires_grad=True), zeros()),
        "launch": lambda a: wp.launch(clear, 2, [alias_of(a, requires_grad=True)]),
        "mark": lambda a: alias_of(a, requires_grad=True).mark_write(),
    }
    for overwrites in ("save", "ignore"):
        with pytest.raises(TreadleError, match="shares memory with another array on the tape"):
            recorded(writes[name], overwrites)


def test_functions_of_the_backward_pass_use_arrays():
    base = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        tape.record_func(lambda: None, [base[[1, 0]], zeros()])
        with pytest.raises(TreadleError, match="a fill writes memory"):
            alias_of(base).zero_()
        base.mark_read()
        with pytest.raises(TreadleError, match="a fill shares memory"):
            alias_of(base, requires_grad=True).zero_()
    tape.zero()


def test_memory_written_before_the_array_with_a_gradient_appears():
    x, total = one_and_two(requires_grad=True), loss()
    with wp.Tape() as tape:
        wp.launch(clear, 2, [alias_of(x)])
        alias_of(x).fill_(3)
        wp.launch(square, 2, [x], [x])
        wp.launch(add_up, 2, [x], [total])
    tape.backward(total)
    assert x.grad.list() == [6, 6]


def test_memory_written_in_the_launch_in_which_the_array_with_a_gradient_appears():
    x = one_and_two(requires_grad=True)
    with wp.Tape(), pytest.raises(TreadleError, match="parameter b writes memory"):
        wp.launch(square, 2, [x], [alias_of(x)])


def test_memory_written_again_and_again_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    looked = []
    monkeypatch.setattr("treadle.tape.sharing.Sharing._check_separate", _counting(looked))
    x, y, plain = one_and_two(requires_grad=True), wp.zeros_like(wp.ones(2, dtype=wp.float64)), zeros()
    with wp.Tape():
        for _ in range(10):
            wp.launch(square, 2, [x], [plain])
            wp.launch(clear, 2, [y])
    assert len(looked) == 2
    with wp.Tape():
        for _ in range(10):
            wp.launch(clear, 2, [plain])
        wp.launch(add_up, 2, [one_and_two(requires_grad=True)], [loss()])  # may be the same memory
        wp.launch(clear, 2, [plain])
    assert len(looked) == 4


def _counting(looked: list[Any]) -> Callable[..., None]:
    from treadle.tape.sharing import Sharing

    original = Sharing._check_separate

    def counted(self: Any, use: Any) -> None:
        looked.append(use)
        original(self, use)

    return counted


def test_arrays_without_a_gradient_beside_those_with_one():
    memory = np.arange(8.0).reshape(4, 2)
    even, odd = wp.from_numpy(memory[:, 0], requires_grad=True), wp.from_numpy(memory[:, 1])
    total = loss()
    with wp.Tape() as tape:
        wp.launch(add_up, 4, [even], [total])
        wp.launch(clear, 4, [odd])
        odd.fill_(2)
        wp.launch(add_up, 4, [even], [total])
    tape.backward(total)
    assert even.grad.list() == [2, 2, 2, 2]


def test_a_refused_launch_leaves_the_tape_as_it_was():
    x, y, total = one_and_two(requires_grad=True), wp.zeros(2, dtype=wp.float64, requires_grad=True), loss()
    with wp.Tape() as tape:
        wp.launch(square, 2, [x], [y])
        for _ in range(2):
            with pytest.raises(TreadleError):
                wp.launch(square, 2, [y], [alias_of(y)])
        wp.launch(add_up, 2, [y], [total])
    assert len(tape._records) == 2
    tape.backward(total)
    assert x.grad.list() == [2, 4]


# Gradients that arrays get, or lose, only after the recording.


def late(a: Any, b: Any, steps: Callable[[Any, Any], None]) -> tuple[Any, wp.Tape, Any]:
    x, total = one_and_two(requires_grad=True), loss()
    with wp.Tape() as tape:
        wp.launch(square, 2, [x], [a])
        steps(a, b)
        wp.launch(add_up, 2, [b], [total])
    return x, tape, total


def two_arrays() -> tuple[Any, Any]:
    memory = np.zeros(2)
    return wp.from_numpy(memory), wp.from_numpy(memory)


def test_two_arrays_of_one_memory_that_get_gradients_late():
    a, b = two_arrays()
    x, tape, total = late(a, b, lambda a, b: None)
    a.requires_grad = b.requires_grad = True
    for _ in range(2):
        with pytest.raises(TreadleError, match="add_up, parameter a shares memory"):
            tape.backward(total)


@pytest.mark.parametrize("overwrites", ["save", "ignore"])
def test_arrays_that_get_gradients_late_and_only_steps_use_them(overwrites: str):
    a, b = two_arrays()
    source, end = one_and_two(requires_grad=True), wp.zeros(2, dtype=wp.float64, requires_grad=True)
    for step in (lambda: wp.copy(end, b), lambda: b.zero_(), lambda: b.mark_write()):
        with wp.Tape(overwrites) as tape:
            wp.copy(a, source)
            step()
        a.requires_grad = b.requires_grad = True
        with pytest.raises(TreadleError, match="shares memory"):
            tape.backward(grads={end: wp.ones(2, dtype=wp.float64)})
        a.requires_grad = b.requires_grad = False
    with wp.Tape(overwrites) as tape:
        wp.copy(a, source)
        tape.record_func(lambda: None, [b])
    a.requires_grad = b.requires_grad = True
    with pytest.raises(TreadleError, match="a step recorded by record_func shares memory"):
        tape.backward()


def test_one_of_two_arrays_that_gets_a_gradient_late():
    a, b = two_arrays()
    x, tape, total = late(a, b, lambda a, b: None)
    b.requires_grad = True  # what was written through a is a constant
    tape.backward(total)
    assert x.grad.list() == [0, 0] and b.grad.list() == [1, 1]
    a, b = two_arrays()
    x, tape, total = late(a, b, lambda a, b: b.zero_())
    a.requires_grad = True
    with pytest.raises(TreadleError, match="a fill writes memory of an array on the tape that has a gradient"):
        tape.backward(total)


def test_views_that_get_their_gradient_late():
    base = wp.zeros(2, dtype=wp.float64)
    x, tape, total = late(base, base[:], lambda a, b: b[:1].zero_())
    base.requires_grad = True
    tape.backward(total)
    assert x.grad.list() == [0, 4]


def test_a_view_that_loses_its_gradient():
    base = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    view = base[:]
    x, tape, total = late(base, base, lambda a, b: wp.launch(clear, 2, [view]))
    view.requires_grad = False
    with pytest.raises(TreadleError, match="clear, parameter a writes memory"):
        tape.backward(total)
    base.requires_grad = False  # now the result is a constant
    tape.backward(total)
    assert x.grad.list() == [0, 0]


def test_the_whole_tape_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    from treadle.tape.sharing import Sharing

    noted = []
    x, y = one_and_two(), wp.zeros(2, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        for _ in range(5):
            wp.launch(square, 2, [x], [y])
    x.requires_grad = True
    original = Sharing.note
    monkeypatch.setattr(Sharing, "note", lambda self, uses: (noted.append(uses), original(self, uses))[1])
    for _ in range(2):
        noted.clear()
        tape.backward(grads={y: wp.ones(2, dtype=wp.float64)})
        assert len(noted) == 5


@wp.kernel
def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_a_gradient_whose_elements_are_one_is_for_reading_only() -> None:
    def broadcast(n: int) -> wp.array:
        memory = wp.ones(1, dtype=float)
        return wp.array(ptr=memory.ptr, shape=(n,), strides=(0,), dtype=float, deleter=lambda *_, keep=memory: None)

    x, y = wp.array([1.0, 2.0, 3.0], dtype=float), wp.zeros(3, dtype=float, requires_grad=True)
    x.grad = broadcast(3)
    x.grad.fill_(0.0)
    with wp.Tape() as tape:
        wp.launch(doubled, dim=3, inputs=[x, y])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert x.grad.numpy().tolist() == [6.0] * 3  # the sum over all elements
    y = wp.zeros(3, dtype=float)
    y.grad = broadcast(3)
    with wp.Tape() as tape:
        wp.launch(doubled, dim=3, inputs=[x, y])
    with pytest.raises(wp.DerivativeError, match="writes y, whose gradient has several elements in one place"):
        tape.backward()
