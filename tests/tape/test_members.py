"""Arrays that a kernel finds as members of structs in an array: what it reads and writes there counts on a tape."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle as wp
from treadle.errors import OverwriteError, TreadleError
from treadle.tape.records import LaunchRecord
from treadle.tape.verification import OverwriteWarning


@wp.struct
class Inner:
    index: wp.array(dtype=int)


@wp.struct
class Item:
    values: wp.array(dtype=float)
    index: wp.array(dtype=int)
    factor: float
    inner: Inner


@wp.struct
class Box:
    items: wp.array(dtype=Item)


Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)
Items, Boxes = wp.array(dtype=Item), wp.array(dtype=Box)


@wp.kernel
def square(x: Floats, o: Floats):
    i = wp.tid()
    o[i] = x[i] * x[i]


@wp.kernel
def product(x: Floats, w: Floats, o: Floats):
    i = wp.tid()
    o[i] = x[i] * w[i]


@wp.kernel
def overwrite(items: Items):
    i = wp.tid()
    items[0].values[i] = 100.0


@wp.kernel
def gather(x: Floats, items: Items, o: Floats):
    i = wp.tid()
    o[i] = x[items[0].index[i]] * x[i]


@wp.kernel
def clear_index(items: Items):
    items[0].index[wp.tid()] = 0


@wp.kernel
def clear(index: Ints):
    index[wp.tid()] = 0


@wp.kernel
def scale(x: Floats, items: Items, o: Floats):
    i = wp.tid()
    o[i] = x[i] * items[0].factor


@wp.kernel
def change_factor(items: Items):
    items[0].factor = items[0].factor + 1.0


def floats(*values: float, requires_grad: bool = True) -> Any:
    return wp.array(values, dtype=float, requires_grad=requires_grad)


def ints(*values: int) -> Any:
    return wp.array(values, dtype=int)


def item(values: Any = None, index: Any = None, factor: float = 1.0) -> Any:
    result = Item()
    result.values, result.index, result.factor = values, index, factor
    return result


def items(*structs: Any) -> Any:
    return wp.array(list(structs), dtype=Item)


def ones() -> Any:
    return wp.ones(2, dtype=float)


@pytest.mark.parametrize("overwrites", ["save", "error"])
def test_memory_with_a_gradient_is_overwritten(overwrites: str) -> None:
    x, o = floats(1, 2), floats(0, 0)
    with wp.Tape(overwrites=overwrites):
        wp.launch(square, 2, [x, o])
        with pytest.raises(TreadleError, match=r"overwrite, parameter items \(an array in its elements\) writes"):
            wp.launch(overwrite, 2, [items(item(x))])
    assert x.list() == [1, 2]


def test_memory_with_a_gradient_is_overwritten_if_that_is_to_be_ignored() -> None:
    x, o = floats(1, 2), floats(0, 0)
    with wp.Tape(overwrites="ignore") as tape:
        wp.launch(square, 2, [x, o])
        wp.launch(overwrite, 2, [items(item(x))])
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [200, 200]


def test_memory_with_a_gradient_is_written_before_the_tape_knows_it() -> None:
    x, o = floats(1, 2), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(overwrite, 2, [items(item(x))])
        wp.launch(square, 2, [x, o])
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [200, 200]


def test_constants_are_kept() -> None:
    x, w, o = floats(1, 2), floats(3, 4, requires_grad=False), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(product, 2, [x, w, o])
        wp.launch(overwrite, 2, [items(item(w))])
        wp.launch(overwrite, 2, [items(item(w))])
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [3, 4] and w.list() == [100, 100]


def test_an_overwrite_is_refused_if_asked_for() -> None:
    x, w, o = floats(1, 2), floats(3, 4, requires_grad=False), floats(0, 0)
    with wp.Tape(overwrites="error") as tape:
        wp.launch(product, 2, [x, w, o])
        for _ in range(2):
            with pytest.raises(OverwriteError, match="overwrite, parameter items .* product, parameter w"):
                wp.launch(overwrite, 2, [items(item(w))])
    assert w.list() == [3, 4]
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [3, 4]


def through_a_view(index: Any) -> Any:
    boxed = Box()
    boxed.items = items(item(None, index), item(None, ints(0, 0)))
    return boxed.items[:1]


@pytest.mark.parametrize(
    "change",
    [
        lambda index: wp.launch(clear, 2, [index]),
        lambda index: wp.launch(clear, 1, [index[1:]]),
        lambda index: index.zero_(),
        lambda index: wp.copy(index, ints(0, 0)),
        lambda index: index.assign([0, 0]),
        lambda index: index.__setitem__([0, 1], 0),
        lambda index: index.mark_write(),
        lambda index: wp.launch(clear_index, 2, [items(item(None, index))]),
        lambda index: wp.launch(clear_index, 2, [items(item(None, wp.array(ptr=index.ptr, shape=2, dtype=int)))]),
    ],
)
@pytest.mark.parametrize("holder", [lambda index: items(item(None, index)), through_a_view])
def test_what_was_read_through_a_struct_cannot_be_replaced(
    change: Callable[[Any], None], holder: Callable[[Any], Any]
) -> None:
    x, o, index = floats(2, 3), floats(0, 0), ints(1, 0)
    with wp.Tape() as tape:
        wp.launch(gather, 2, [x, holder(index), o])
        for _ in range(2):  # the tape stays as it was
            with pytest.raises(OverwriteError, match=r"gather, parameter items \(an array in its elements\); it was"):
                change(index)
    assert index.list() == [1, 0]
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [6, 4]


def test_the_array_of_structs_itself_can_be_replaced() -> None:
    x, o = floats(2, 3), floats(0, 0)
    holder = items(item(None, ints(1, 0)))
    with wp.Tape() as tape:
        wp.launch(gather, 2, [x, holder, o])
        holder[0] = item(None, ints(0, 0))  # the first array of indices is needed still
        gc.collect()
        wp.launch(clear_index, 2, [holder])
        fillers = [ints(1, 1) for _ in range(100)]
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [6, 4] and len(fillers) == 100


def test_scalars_of_the_structs_are_no_arrays() -> None:
    x, o, values = floats(2, 3), floats(0, 0), floats(1, 1, requires_grad=False)
    holder = items(item(values, None, 5.0))
    with wp.Tape() as tape:
        wp.launch(scale, 2, [x, holder, o])
        wp.launch(overwrite, 2, [holder])  # not the factor, and
        wp.launch(product, 2, [x, values, o])
        wp.launch(change_factor, 1, [holder])  # not the values
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [100, 100]
    with wp.Tape(overwrites="error"):
        wp.launch(scale, 2, [x, holder, o])
        wp.launch(overwrite, 2, [holder])
        with pytest.raises(OverwriteError, match="change_factor, parameter items over.* scale, parameter items$"):
            wp.launch(change_factor, 1, [holder])


@wp.kernel
def nested(x: Floats, box: Box, boxes: Boxes, o: Floats):
    i = wp.tid()
    o[i] = x[box.items[0].inner.index[i]] * x[boxes[0].items[0].inner.index[i]]


def test_structs_in_structs_in_arrays() -> None:
    x, o, first, second = floats(2, 3), floats(0, 0), ints(1, 0), ints(0, 1)
    inner = [item(), item()]
    inner[0].inner.index, inner[1].inner.index = first, second
    boxes = [Box(), Box()]
    boxes[0].items, boxes[1].items = items(inner[0]), items(inner[1])
    with wp.Tape() as tape:
        wp.launch(nested, 2, [x, boxes[0], wp.array([boxes[1]], dtype=Box), o])
        for index, label in ((first, r"box\.items"), (second, "boxes")):
            with pytest.raises(OverwriteError, match=rf"nested, parameter {label} \(an array in its elements\)"):
                index.zero_()
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [6, 4]


@wp.kernel
def store_handle(items: Items, index: Ints):
    items[0].index = index


@wp.kernel
def store_handle_and_write(items: Items, index: Ints):
    items[0].index = index
    items[0].index[wp.tid()] = 0


def test_handles_that_kernels_store() -> None:
    x, w, o, index = floats(2, 3), ints(3, 4), floats(0, 0), ints(1, 0)
    holder = items(item(None, w))
    with wp.Tape() as tape:
        wp.launch(gather, 2, [x, items(item(None, index)), o])
        with pytest.raises(OverwriteError):
            wp.launch(store_handle_and_write, 2, [holder, index])
        wp.launch(store_handle, 1, [items(item()), index])
    assert index.list() == [1, 0] and holder[0].index is w
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [6, 4]


def test_an_array_of_unknown_origin() -> None:
    x, o, index, holder = floats(2, 3), floats(0, 0), ints(1, 0), items(item())
    wp.launch(store_handle, 1, [holder, index])
    with wp.Tape():
        wp.launch(gather, 2, [x, holder, o])
        with pytest.raises(OverwriteError):
            index.zero_()


@wp.kernel
def read_after_write(x: Floats, w: Floats, items: Items, o: Floats):
    i = wp.tid()
    items[0].index[i] = 1
    o[i] = x[i] * w[i]


@wp.kernel
def write_both(x: Floats, index: Ints, items: Items, o: Floats):
    i = wp.tid()
    o[i] = x[items[0].index[i]] * x[i]
    index[i] = 0


@wp.kernel
def read_again(x: Floats, items: Items, o: Floats):
    i = wp.tid()
    items[0].index[i] = 0
    o[i] = x[items[0].index[i]] * x[i]


@wp.kernel
def repeated(x: Floats, items: Items, o: Floats):
    i = wp.tid()
    items[i].index[0] = 0
    items[i].factor = 2.0
    o[i] = x[i] * items[i].factor


def test_a_kernel_that_overwrites_what_its_own_gradient_needs() -> None:
    x, o, index = floats(2, 3), floats(0, 0), ints(1, 0)
    w = wp.array(index.numpy().view(np.float32), dtype=float, copy=False)
    holder = items(item(None, index), item(None, ints(0)))
    with wp.Tape():
        with pytest.raises(OverwriteError, match="read_after_write reads w after writing"):
            wp.launch(read_after_write, 2, [x, w, holder, o])
        with pytest.raises(OverwriteError, match="write_both, parameter index over.* write_both, parameter items"):
            wp.launch(write_both, 2, [x, index, holder, o])
        with pytest.raises(OverwriteError, match="read_again, parameter items .* over.* read_again, parameter items"):
            wp.launch(read_again, 2, [x, holder, o])
        with pytest.raises(OverwriteError, match="repeated reads items after writing"):
            wp.launch(repeated, 2, [x, holder, o])
    assert index.list() == [1, 0]


def test_a_kernel_that_writes_through_a_struct_and_needs_other_memory() -> None:
    x, w, o, index = floats(2, 3), floats(5, 6, requires_grad=False), floats(0, 0), ints(7, 8)
    with wp.Tape() as tape:
        wp.launch(read_after_write, 2, [x, w, items(item(None, index)), o])
        wp.launch(write_both, 2, [x, ints(0, 0), items(item(None, index)), o])
    assert index.list() == [1, 1]
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [3, 2 + 2 * 3]


def test_a_gradient_asked_for_late() -> None:
    o = floats(0, 0)
    for change in (lambda a: wp.launch(clear_index, 2, [items(item(None, a))]), lambda a: a.zero_()):
        x, index = floats(2, 3, requires_grad=False), ints(1, 0)
        with wp.Tape() as tape:
            wp.launch(gather, 2, [x, items(item(None, index)), o])
            wp.launch(clear_index, 2, [items(item(None, ints(0, 0)))])
            tape.record_scope_begin("the change")
            change(index)
        x.requires_grad = True
        with pytest.raises(OverwriteError, match="gather, parameter items: .* overwritten since"):
            tape.backward(grads={o: ones()})


def test_a_gradient_asked_for_late_of_what_was_overwritten_through_a_struct() -> None:
    x, w, o = floats(1, 2, requires_grad=False), floats(3, 4, requires_grad=False), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(product, 2, [x, w, o])
        wp.launch(overwrite, 2, [items(item(w))])
    x.requires_grad = True
    with pytest.raises(OverwriteError, match="product, parameter w"):
        tape.backward(grads={o: ones()})


def test_a_gradient_asked_for_late_if_nothing_was_overwritten() -> None:
    x, o, index = floats(2, 3, requires_grad=False), floats(0, 0), ints(1, 0)
    with wp.Tape() as tape:
        wp.launch(gather, 2, [x, items(item(None, index)), o])
        wp.launch(overwrite, 2, [items(item(floats(0, 0, requires_grad=False)))])
    x.requires_grad = True
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [6, 4]


def test_memory_that_gets_a_gradient_after_it_was_overwritten_through_a_struct() -> None:
    x, o = floats(1, 2, requires_grad=False), floats(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, o])
        wp.launch(overwrite, 2, [items(item(x))])
    x.requires_grad = True
    with pytest.raises(TreadleError, match="overwrite, parameter items"):
        tape.backward(grads={o: ones()})


def test_the_report_of_overwrites() -> None:
    wp.config.verify_autograd_array_access = True
    try:
        values = floats(1, 2)
        x, o = floats(1, 2), floats(0, 0)
        with wp.Tape(overwrites="ignore"):
            wp.launch(square, 2, [x, o])
            with pytest.warns(OverwriteWarning, match=r"overwrite, parameter items \(an array in its ele.*square"):
                wp.launch(overwrite, 2, [items(item(x))])
            wp.launch(read_values, 2, [items(item(values)), o])
            with pytest.warns(OverwriteWarning, match=r"read_values, parameter items \(an array in its elements\)"):
                values.zero_()
    finally:
        wp.config.verify_autograd_array_access = False


@wp.kernel
def read_values(items: Items, o: Floats):
    i = wp.tid()
    if items[0].values[i] > 0.0:
        o[i] = 1.0


def test_an_adjoint_launch_that_needs_what_was_overwritten() -> None:
    x, o, index = floats(2, 3), floats(0, 0), ints(1, 0)
    for kernel, arguments, match in (
        (write_both, [x, index, items(item(None, index)), o], "in an element of items"),
        (read_again, [x, items(item(None, index)), o], "in an element of items"),
    ):
        with pytest.raises(OverwriteError, match=match):
            wp.launch(kernel, 2, arguments, adjoint=True)
    o.grad.fill_(1.0)
    wp.launch(write_both, 2, [x, ints(0, 0), items(item(None, index)), o], adjoint=True)
    assert x.grad.list() == [6, 4]


@wp.func
def power(items: Items, x: float, i: int):
    return wp.pow(x, items[0].values[i])


@wp.func_grad(power)
def power_gradient(items: Items, x: float, i: int, adjoint: float):
    e = items[0].values[i]
    wp.adjoint[x] += adjoint * e * wp.pow(x, e - 1.0)


@wp.kernel
def powers(x: Floats, items: Items, o: Floats):
    i = wp.tid()
    o[i] = power(items, x[i], i)


def test_what_a_user_written_derivative_reads_through_a_struct() -> None:
    x, o, values = floats(2, 3), floats(0, 0), floats(3, 3, requires_grad=False)
    with wp.Tape() as tape:
        wp.launch(powers, 2, [x, items(item(values)), o])
        for change in (lambda: values.zero_(), lambda: wp.launch(overwrite, 2, [items(item(values))])):
            with pytest.raises(OverwriteError, match=r"powers, parameter items \(an array in its elements\)"):
                change()
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [12, 27]
    x = floats(2, 3, requires_grad=False)
    with wp.Tape() as tape:
        wp.launch(powers, 2, [x, items(item(values)), o])
        values.zero_()
    x.requires_grad = True
    with pytest.raises(OverwriteError, match="powers, parameter items"):
        tape.backward(grads={o: ones()})


def test_a_graph_that_is_captured_while_the_tape_records() -> None:
    x, o, holder = floats(2, 3), floats(0, 0), items(item(None, ints(1, 0)))
    with wp.ScopedCapture() as capture, wp.Tape() as tape:
        holder[0] = item(None, ints(0, 0))
        with pytest.raises(TreadleError, match="gather uses arrays that are members of structs"):
            wp.launch(gather, 2, [x, holder, o])
        wp.launch(scale, 2, [x, holder, o])
    wp.capture_launch(capture.graph)
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [1, 1] and holder[0].index.list() == [0, 0]


def test_other_launches_look_for_no_members(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("arrays were looked for")

    monkeypatch.setattr("treadle.runtime.members.arrays_in", refuse)
    x, o = floats(1, 2), floats(0, 0)
    holder = items(item(x, None, 3.0))
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, o])
        wp.launch(scale, 2, [x, holder, o])
        wp.launch(change_factor, 1, [holder])
    tape.backward(grads={o: ones()})
    assert x.grad.list() == [3, 3]
    assert all(not record.members for record in tape._records if isinstance(record, LaunchRecord))
