"""Memory that is overwritten: what the tape keeps, what it costs, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp
from treadle.tape.records import LaunchRecord
from treadle.tape.versions import Need, Snapshot, Versions

N = 16


@wp.kernel
def force_of(x: wp.array(dtype=wp.float64), f: wp.array(dtype=wp.float64)):
    i = wp.tid()
    f[i] = -wp.sin(x[i]) * x[i]


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.float64),
    v: wp.array(dtype=wp.float64),
    f: wp.array(dtype=wp.float64),
    x_next: wp.array(dtype=wp.float64),
    v_next: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    moved = v[i] + wp.float64(0.01) * f[i] * wp.cos(v[i])
    v_next[i] = moved
    x_next[i] = x[i] + wp.float64(0.01) * moved


@wp.kernel
def energy(x: wp.array(dtype=wp.float64), v: wp.array(dtype=wp.float64), e: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(e, 0, x[i] * x[i] + v[i] * v[i])


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def product(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * w[i]


@wp.kernel
def increment(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel
def chained(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), n: int):
    i = wp.tid()
    b[i] = 2.0 * a[i]
    for _ in range(n):
        b[i] = b[i] * b[i] * a[i]
    c[i] = b[i] * b[i]


def floats(*values: float) -> wp.array:
    return wp.array(values, dtype=float, requires_grad=True)


def simulate(steps: int, reuse: bool) -> tuple[np.ndarray, np.ndarray, wp.Tape]:
    start = np.linspace(0.2, 1.5, N)

    def new() -> wp.array:
        return wp.zeros(N, dtype=wp.float64, requires_grad=True)

    x0, v0 = wp.array(start, requires_grad=True), wp.array(start[::-1].copy(), requires_grad=True)
    e = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    x, v, f = wp.clone(x0), wp.clone(v0), new()
    with wp.Tape() as tape:
        wp.copy(x, x0)
        wp.copy(v, v0)
        for _ in range(steps):
            if not reuse:
                f = new()
            x_next, v_next = (x, v) if reuse else (new(), new())
            wp.launch(force_of, N, [x, f])
            wp.launch(integrate, N, [x, v, f, x_next, v_next])
            x, v = x_next, v_next
        wp.launch(energy, N, [x, v, e])
    tape.backward(e)
    return x0.grad.numpy().copy(), v0.grad.numpy().copy(), tape


def test_a_simulation_in_place_has_the_gradient_of_one_with_new_arrays() -> None:
    in_place, fresh = simulate(1000, reuse=True), simulate(1000, reuse=False)
    np.testing.assert_allclose(in_place[0], fresh[0], rtol=1e-12)
    np.testing.assert_allclose(in_place[1], fresh[1], rtol=1e-12)


def test_a_simulation_costs_one_snapshot_for_each_needed_version() -> None:
    steps = 50
    tape = simulate(steps, reuse=True)[2]
    snapshots = {
        id(need.saved): need.saved
        for record in tape._records
        if isinstance(record, LaunchRecord)
        for need in record.needs.values()
        if need.saved is not None
    }
    # x (read by the force), f and v (read by the step) of every step.
    assert len(snapshots) == 3 * steps - 1 or len(snapshots) == 3 * steps
    assert all(s.size == 8 * N for s in snapshots.values())


def test_nothing_is_copied_outside_a_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(start: int, end: int) -> Snapshot:
        raise AssertionError("a snapshot was taken")

    monkeypatch.setattr(Snapshot, "of", refuse)
    x = floats(1.0, 2.0)
    for _ in range(3):
        wp.launch(increment, 2, [x])
        wp.launch(square, 2, [x, x])


def test_nothing_is_copied_if_nothing_needed_is_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(start: int, end: int) -> Snapshot:
        raise AssertionError("a snapshot was taken")

    monkeypatch.setattr(Snapshot, "of", refuse)
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(double, 2, [x, y])
        wp.launch(increment, 2, [x])  # the gradient of a product with a constant does not need x
        wp.launch(double, 2, [x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_records_that_need_one_version_share_its_snapshot() -> None:
    x, y, z = floats(1.0, 2.0), floats(0.0, 0.0), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
        wp.launch(square, 2, [x, z])
        wp.launch(increment, 2, [x])
    first, second = (r.needs["x"].saved for r in tape._records[:2])
    assert first is not None and first is second
    tape.backward(grads={y: wp.ones(2, dtype=float), z: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 8.0])


def test_overlap_is_judged_by_addresses() -> None:
    x, y = wp.ones(3, dtype=float, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    whole = wp.array(np.arange(6, dtype=np.float32))
    alias = wp.from_numpy(whole.numpy())  # the same memory, known to nobody as a view
    with wp.Tape() as tape:
        wp.launch(product, 3, [x, whole[1:4], y])
        wp.launch(increment, 2, [alias[3:5]])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [1, 2, 3])
    np.testing.assert_array_equal(whole.numpy(), [0, 1, 2, 4, 5, 5])


def test_arrays_hold_the_forward_result_after_backward() -> None:
    a, b, c = floats(0.9, 1.1), floats(5.0, 6.0), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(chained, 2, [a, b, c, 2])
        wp.launch(increment, 2, [b])
    before = [v.numpy().copy() for v in (a, b, c)]
    tape.backward(grads={c: wp.ones(2, dtype=float)})
    for array, expected in zip((a, b, c), before):
        np.testing.assert_array_equal(array.numpy(), expected)


def test_reads_after_writes_within_a_kernel() -> None:
    def reference(a: np.ndarray, n: int) -> np.ndarray:
        b = 2 * a
        for _ in range(n):
            b = b * b * a
        return b * b

    values = np.array([0.9, 1.1])
    for n in range(4):
        a, b, c = floats(*values), floats(0.0, 0.0), floats(0.0, 0.0)
        with wp.Tape() as tape:
            wp.launch(chained, 2, [a, b, c, n])
        tape.backward(grads={c: wp.ones(2, dtype=float)})
        h = 1e-6
        expected = (reference(values + h, n) - reference(values - h, n)) / (2 * h)
        np.testing.assert_allclose(a.grad.numpy(), expected, rtol=2e-5)
        np.testing.assert_array_equal(b.grad.numpy(), [0.0, 0.0])


def test_backward_twice_with_scratch_copies() -> None:
    a, b, c = floats(0.9, 1.1), floats(0.0, 0.0), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(chained, 2, [a, b, c, 2])
    tape.backward(grads={c: wp.ones(2, dtype=float)})
    first = a.grad.numpy().copy()
    tape.zero()
    tape.backward(grads={c: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(a.grad.numpy(), first)


def test_error_refuses_and_names_both_kernels() -> None:
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.Tape(overwrites="error"), pytest.raises(wp.OverwriteError) as caught:
        wp.launch(square, 2, [x, y])
        wp.launch(increment, 2, [x])
    text = str(caught.value)
    assert "kernel increment, parameter x" in text and "kernel square, parameter x" in text
    with wp.Tape(overwrites="error"), pytest.raises(wp.OverwriteError, match="chained.*after writing"):
        wp.launch(chained, 2, [x, y, floats(0.0, 0.0), 1])


def test_ignore_takes_the_contents_of_the_moment() -> None:
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.Tape(overwrites="ignore") as tape:
        wp.launch(square, 2, [x, y])
        wp.launch(increment, 2, [x])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 6.0])


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="save, error, ignore"):
        wp.Tape(overwrites="maybe")


def test_copies_fills_and_assignments_overwrite_too() -> None:
    for overwrite in (
        lambda x: x.fill_(9.0),
        lambda x: x.zero_(),
        lambda x: x.assign(np.array([7.0, 8.0], np.float32)),
        lambda x: wp.copy(x, wp.ones(2, dtype=float)),
    ):
        x, y = floats(1.0, 2.0), floats(0.0, 0.0)
        with wp.Tape() as tape:
            wp.launch(square, 2, [x, y])
            overwrite(x)
            wp.launch(square, 2, [x, y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        # The second launch overwrote y, and the array x that the first one read was replaced.
        np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])
        x, y = floats(1.0, 2.0), floats(0.0, 0.0)
        with wp.Tape() as tape:
            wp.launch(square, 2, [x, y])
            overwrite(x)
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_a_gradient_asked_for_too_late_is_refused() -> None:
    x, y = wp.array([1.0, 2.0], dtype=float), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
        wp.launch(increment, 2, [x])
    x.requires_grad = True
    with pytest.raises(wp.OverwriteError, match="square, parameter x"):
        tape.backward(grads={y: wp.ones(2, dtype=float)})


def test_a_gradient_asked_for_late_is_right_if_nothing_was_overwritten() -> None:
    x, y = wp.array([1.0, 2.0], dtype=float), floats(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y])
    x.requires_grad = True
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_versions_find_overlaps_in_any_order() -> None:
    rng = np.random.default_rng(0)
    memory = wp.zeros(200, dtype=float)
    versions, live = Versions(), []
    for _ in range(500):
        start = int(rng.integers(0, 190))
        view = memory[start : start + int(rng.integers(1, 10))]
        if rng.random() < 0.6:
            need = Need(view, None, "a reader")
            versions.need(need)
            live.append(need)
        else:
            found = versions.overwritten(view)
            low, high = view.extent
            expected = [n for n in live if n.array.extent[0] < high and low < n.array.extent[1]]
            assert {id(n) for n in found} == {id(n) for n in expected}
            live = [n for n in live if not any(n is e for e in expected)]
