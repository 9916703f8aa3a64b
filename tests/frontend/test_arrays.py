"""Array elements, views, slices, atomics and thread indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend import names as wp
from tests.frontend.running import build, launch, names_of


@wp.struct
class Particle:
    mass: float
    position: wp.vec3
    tag: int


@wp.kernel
def two_dimensions(a: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float)):
    i, j = wp.tid()
    row = a[i]
    out[i] += a[i, j] + a[i][j] + row[j]
    a[i][j] = float(i * 10 + j)


def test_elements_and_views_of_two_dimensions() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.zeros(2, np.float32)
    expected = a.sum(axis=1) * 3
    launch(two_dimensions, (2, 3), a, out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(a, [[0, 1, 2], [10, 11, 12]])


@wp.func
def total(a: wp.array(dtype=float)):
    s = 0.0
    for x in a:
        s += x
    return s


@wp.kernel
def slices(a: wp.array(dtype=float), b: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float), n: int):
    out[0] = total(a[1:4])
    out[1] = total(a[:-1])
    out[2] = total(a[-2:])
    out[3] = total(a[::2])
    out[4] = total(a[n:])
    out[5] = total(a[-n:100])
    out[6] = total(b[1, 1:])
    out[7] = total(b[0])
    out[8] = total(a[::-1]) + a[::-1][0] * 100.0
    out[9] = total(a[4:2])
    out[10] = total(a[-1:0:-2])
    c = b[1:, :2]
    out[11] = c[0, 1]
    out[12] = float(c.shape[0] * 10 + c.shape[1])
    c[0, 0] = 77.0
    out[13] = total(b[:, n]) + b[:, 1][1] * 100.0 + total(b[1:, n - 1]) * 10000.0


def test_slices() -> None:
    a = np.arange(1, 7, dtype=np.float32)
    b = np.arange(6, dtype=np.float32).reshape(2, 3) * 10
    out = np.zeros(14, np.float32)
    expected = [
        a[1:4].sum(), a[:-1].sum(), a[-2:].sum(), a[::2].sum(), a[2:].sum(), a[-2:].sum(), b[1, 1:].sum(), b[0].sum(),
        a.sum() + 600, 0, a[-1:0:-2].sum(), b[1, 1], 12, b[:, 2].sum() + b[1, 1] * 100 + b[1, 1] * 10000,
    ]  # fmt: skip
    launch(slices, 1, a, b, out, 2)
    assert out.tolist() == expected
    assert b[1, 0] == 77


@wp.kernel
def properties(a: wp.array(dtype=wp.vec2, ndim=3), out: wp.array(dtype=int)):
    out[0] = a.shape[0] * 100 + a.shape[1] * 10 + a.shape[2]
    out[1] = a.ndim
    out[2] = len(a)
    out[3] = a.size
    n, m, k = a.shape
    out[4] = n + m * 10 + k * 100
    out[5] = int(a.dtype(3.0)[1])
    out[6] = a.shape[-1]


def test_properties_of_arrays() -> None:
    a = np.zeros((2, 3, 4, 2), np.float32)
    out = np.zeros(7, np.int32)
    launch(properties, 1, a, out)
    assert out.tolist() == [234, 3, 2, 24, 432, 3, 4]


@wp.kernel
def compound(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), n: int):
    a[0] += 1.0
    a[0] -= 0.25
    a[1] *= 3.0
    a[2] /= 2.0
    v[0] += wp.vec3(1.0, 2.0, 3.0)
    v[0].y += 10.0
    v[0][2] -= 5.0
    v[1][n] += 7.0
    v[1][n] = v[1][n] * 2.0
    v[1].x = v[0][n] + 1.0
    v[2] *= 2.0
    m[0][1, n] = 4.0
    m[0][n][0] = 5.0
    m[0][0] = wp.vec2(8.0, 9.0)
    m[1][0] += wp.vec2(1.0, 1.0)
    m[1][n, n] += 3.0


def test_compound_assignment_to_elements_and_their_components() -> None:
    a = np.array([1, 2, 3], np.float32)
    v = np.ones((3, 3), np.float32)
    m = np.zeros((2, 2, 2), np.float32)
    launch(compound, 1, a, v, m, 1)
    assert a.tolist() == [1.75, 6.0, 1.5]
    assert v.tolist() == [[2, 13, -1], [14, 16, 1], [2, 2, 2]]
    assert m.tolist() == [[[8, 9], [5, 4]], [[1, 1], [0, 3]]]


def test_addition_to_an_element_is_atomic_and_component_wise() -> None:
    atomics = [op for op in build(compound).body.walk() if op.name == "atomic"]
    assert [op.attributes["kind"] for op in atomics[:2]] == ["add", "sub"]
    assert [op.attributes["offset"] for op in atomics[2:6]] == [0, 4, 8, 4]


@wp.kernel
def structs(p: wp.array(dtype=Particle), out: wp.array(dtype=float)):
    i = wp.tid()
    p[i].mass = 2.0
    p[i].position.y = 5.0
    p[i].position[2] += 1.5
    p[i].tag += 3
    q = p[i]
    q.mass += 1.0
    q.position = q.position * 2.0
    out[i] = q.mass + q.position.y + p[i].mass
    p[1] = Particle(mass=9.0, tag=q.tag)


def test_arrays_of_structs() -> None:
    p = np.zeros(2, Particle.numpy)
    out = np.zeros(1, np.float32)
    launch(structs, 1, p, out)
    assert out[0] == 3 + 10 + 2
    assert p[0]["mass"] == 2 and p[0]["position"].tolist() == [0, 5, 1.5] and p[0]["tag"] == 3
    assert p[1]["mass"] == 9 and p[1]["tag"] == 3 and p[1]["position"].tolist() == [0, 0, 0]


def test_a_member_is_stored_alone() -> None:
    @wp.kernel
    def one(p: wp.array(dtype=Particle)):
        p[0].position.z = 1.0

    function = build(one)
    assert [op.attributes["offset"] for op in function.body.walk() if op.name == "store"] == [12]
    assert "load" not in names_of(function)


@wp.kernel
def atomics(
    a: wp.array(dtype=int), b: wp.array(dtype=float, ndim=2), v: wp.array(dtype=wp.vec2), out: wp.array(dtype=int)
):
    i = wp.tid()
    out[i] = wp.atomic_add(a, 0, 1)
    wp.atomic_sub(a, 1, i)
    wp.atomic_max(a, 2, i * 7 % 5)
    wp.atomic_min(a, 3, -i)
    wp.atomic_or(a, 4, 1 << i)
    wp.atomic_xor(a, 5, i)
    wp.atomic_and(a, 6, 6)
    wp.atomic_exch(a, 7, i)
    wp.atomic_cas(a, 8, i, i + 1)
    wp.atomic_add(b, 1, 0, 0.5)
    wp.atomic_add(v, 0, wp.vec2(1.0, 2.0))


def test_atomics() -> None:
    a = np.zeros(9, np.int32)
    a[6] = 15
    b, v, out = np.zeros((2, 1), np.float32), np.zeros((1, 2), np.float32), np.zeros(4, np.int32)
    launch(atomics, 4, a, b, v, out)
    assert out.tolist() == [0, 1, 2, 3]
    assert a.tolist() == [4, -6, 4, -3, 15, 0, 6, 3, 4]
    assert b[1, 0] == 2.0 and v.tolist() == [[4.0, 8.0]]


@wp.kernel
def thread_indices(a: wp.array(dtype=int, ndim=4)):
    i, j, k, m = wp.tid()
    a[i, j, k, m] = i * 1000 + j * 100 + k * 10 + m


def test_four_thread_indices() -> None:
    a = np.zeros((2, 2, 3, 2), np.int32)
    launch(thread_indices, a.shape, a)
    assert a[1, 0, 2, 1] == 1021
    ranks = {op.attributes["rank"] for op in build(thread_indices).body.walk() if op.name == "thread_index"}
    assert ranks == {4}


@wp.kernel
def arrays_as_values(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    x = a
    for i in range(n):
        x[0] += 1.0
        if i % 2 == 0:
            x = b
        else:
            x = a
    if n > 2:
        y = a
    else:
        y = b[1:]
    out[0] = y[0] * 100.0
    c = wp.where(n > 2, a, b)
    c[1] = 50.0
    out[1] = 1.0 if a else 2.0
    if b is None:
        out[2] = 3.0


@pytest.mark.parametrize("contiguous", [{}, {"a": True, "b": True}, {"a": True}])
def test_arrays_are_values(contiguous: dict[str, bool]) -> None:
    from tests.frontend.running import OPTIONS
    from tests.ir.interpreter import run_kernel
    from treadle import frontend
    from treadle.ir.verifier import verify

    types = list(arrays_as_values.parameter_types.values())
    function = frontend.build_kernel(arrays_as_values, types, contiguous, OPTIONS)
    verify(function)
    a, b, out = np.zeros(2, np.float32), np.zeros(2, np.float32), np.zeros(3, np.float32)
    run_kernel(function, 1, [a, b, out, 3])
    assert a.tolist() == [2.0, 50.0] and b.tolist() == [1.0, 0.0]
    assert out.tolist() == [200.0, 1.0, 0.0]


@wp.struct
class Holder:
    values: wp.array(dtype=float)
    scale: float


@wp.func
def read_holder(h: Holder, i: int):
    return h.values[i] * h.scale


@wp.kernel
def array_members(h: Holder, out: wp.array(dtype=float)):
    i = wp.tid()
    h.scale = h.scale + 1.0
    for k in range(2):
        h.values[i] += float(k)
    out[i] = read_holder(h, i) + float(h.values.shape[0])


def test_arrays_in_structs() -> None:
    from tests.ir.interpreter import run_kernel

    values, out = np.array([1.0, 2.0], np.float32), np.zeros(2, np.float32)
    run_kernel(build(array_members), 2, [values, 1.0, out])
    assert values.tolist() == [2.0, 3.0] and out.tolist() == [6.0, 8.0]


@wp.kernel
def out_of_range(a: wp.array(dtype=float, ndim=2), n: wp.int64):
    i = wp.tid()
    a[i, n] = 1.0


def test_debug_mode_checks_indices() -> None:
    a = np.zeros((2, 3), np.float32)
    outcome = launch(out_of_range, 4, a, 1, mode="debug")
    assert len(outcome.failures) == 2
    assert outcome.failures[0] == "index 2 of axis 0 is out of range for the array a of shape (2, 3)"
    checks = [op for op in build(out_of_range, mode="debug").body.walk() if op.name == "assert"]
    assert {op.location.line for op in checks} == {out_of_range.func.__code__.co_firstlineno + 3}
    outcome = launch(out_of_range, 1, a, -1, mode="debug")
    assert "index -1 of axis 1" in outcome.failures[0]
    assert a.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_release_mode_does_not() -> None:
    assert "assert" not in names_of(build(out_of_range))


def test_labels_name_the_parameters() -> None:
    @wp.kernel
    def k(v: wp.vec3, a: wp.array(dtype=float), p: Particle):
        pass

    function = build(k)
    assert function.labels == ["v"] * 3 + ["a"] + ["p"] * 5
    assert function.is_kernel and function.name == "k"


def test_contiguous_arrays_are_marked() -> None:
    from treadle import frontend

    types: list[Any] = list(two_dimensions.parameter_types.values())
    function = frontend.build_kernel(two_dimensions, types, {"a": True}, {})
    assert [p.type.contiguous for p in function.parameters] == [True, False]
