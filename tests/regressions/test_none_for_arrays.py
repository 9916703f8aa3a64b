"""None for an array: an error where the kernel uses the array in any case, and an argument where it may ask."""

from __future__ import annotations

import pytest

import treadle as wp


@wp.struct
class Holder:
    values: wp.array(dtype=float)
    scale: float


@wp.func
def first_or(a: wp.array(dtype=float), default: float) -> float:
    if a:
        return a[0]
    return default


@wp.func
def store(a: wp.array(dtype=float), value: float):
    a[wp.tid()] = value


@wp.kernel
def updates(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] + 1.0


@wp.kernel
def reads(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[wp.tid()] = a[0]


@wp.kernel
def adds(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(a, 0, out[0])


@wp.kernel
def calls(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    store(a, 1.0)


@wp.kernel
def slices(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    part = a[2:]
    part[0] = 1.0


@wp.kernel
def rows(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    row = a[0]
    out[0] = row[1]


@wp.kernel
def loops(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    for k in range(100):
        a[k] = 1.0


@wp.kernel
def waits(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    n = int(0)
    while a[n] > 0.0:
        n += 1
    out[0] = float(n)


@wp.kernel
def branches(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    if out[0] > 0.0:
        out[0] = 1.0
    out[1] = a[0]


USES = [updates, reads, adds, calls, slices, rows, loops, waits, branches]


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("kernel", USES, ids=lambda kernel: kernel.name)
def test_an_array_that_is_used_must_be_there(monkeypatch, kernel, mode):
    monkeypatch.setattr(wp.config, "mode", mode)
    out = wp.zeros(4, dtype=float)
    for _ in range(2):
        with pytest.raises(wp.LaunchError, match=rf"kernel {kernel.name}, parameter a: got None"):
            wp.launch(kernel, dim=2, inputs=[None], outputs=[out])
    with pytest.raises(wp.LaunchError, match="got None"):
        wp.launch(kernel, dim=2, inputs=[None], outputs=[out], record_cmd=True)
    with wp.Tape() as tape:
        with pytest.raises(wp.LaunchError, match="got None"):
            wp.launch(kernel, dim=2, inputs=[None], outputs=[out])
    with pytest.raises(wp.LaunchError, match="got None"):
        tape.record_launch(kernel, 2, 0, [None], [out])
    assert out.list() == [0.0] * 4


def test_a_gradient_that_was_not_asked_for():
    x = wp.zeros(3, dtype=float)
    with pytest.raises(wp.LaunchError, match="requires_grad"):
        wp.launch(updates, dim=3, inputs=[x.grad, x])


def test_no_threads_use_nothing():
    out = wp.zeros(4, dtype=float)
    for kernel in USES:
        wp.launch(kernel, dim=0, inputs=[None], outputs=[out])


@wp.kernel
def asks_truth(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    if a:
        out[0] = a[0]


@wp.kernel
def asks_none(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    if a is not None:
        out[0] = a[0]


@wp.kernel
def asks_shape(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    for k in range(a.shape[0]):
        out[k] = a[k]


@wp.kernel
def asks_first(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    if not a:
        return
    out[0] = a[0]


@wp.kernel
def asks_in_function(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    out[1] = first_or(a, 2.0)


@wp.kernel
def asks_flag(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    if flag:
        out[0] = a[0]


@wp.kernel
def asks_flag_in_loop(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    for k in range(flag):
        out[0] += a[k]


@wp.kernel
def chooses(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    b = a if flag else out
    out[0] = b[0]


@wp.kernel
def does_not_use(a: wp.array(dtype=float), flag: int, out: wp.array(dtype=float)):
    unused = a[0]  # noqa: F841


ASKS = [
    asks_truth, asks_none, asks_shape, asks_first, asks_in_function, asks_flag, asks_flag_in_loop, chooses,
    does_not_use,
]  # fmt: skip


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("kernel", ASKS, ids=lambda kernel: kernel.name)
def test_a_kernel_that_may_ask_takes_none(monkeypatch, kernel, mode):
    monkeypatch.setattr(wp.config, "mode", mode)
    if mode == "debug" and kernel is does_not_use:
        return  # the index is checked
    out = wp.zeros(4, dtype=float)
    wp.launch(kernel, dim=1, inputs=[None, 0], outputs=[out])
    assert out.list()[0] == 0.0


def test_members_of_structs():
    @wp.kernel
    def uses(h: Holder, out: wp.array(dtype=float)):
        out[0] = h.values[0] * h.scale

    @wp.kernel
    def asks(h: Holder, out: wp.array(dtype=float)):
        if h.values:
            out[0] = h.values[0] * h.scale

    out = wp.zeros(1, dtype=float)
    with pytest.raises(wp.LaunchError, match=r"kernel uses, parameter h.values: got None"):
        wp.launch(uses, dim=1, inputs=[Holder(scale=2.0), out])
    wp.launch(asks, dim=1, inputs=[Holder(scale=2.0), out])
    wp.launch(uses, dim=0, inputs=[Holder(scale=2.0), out])
    wp.launch(uses, dim=1, inputs=[Holder(values=wp.ones(1, dtype=float), scale=2.0), out])
    assert out.list() == [2.0]


def test_the_flat_index_counts_in_a_recorded_launch_too():
    @wp.kernel
    def flat(out: wp.array(dtype=float)):
        out[wp.tid()] = 1.0

    out = wp.zeros(1, dtype=float)
    with pytest.raises(wp.LaunchError, match="flat index"):
        wp.Tape().record_launch(flat, (2**16, 2**16), 0, [out], [])
