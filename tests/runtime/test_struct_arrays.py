"""Arrays of structs, with NumPy records and with arrays as members."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

from treadle import types as wp
from treadle.errors import ArrayError
from treadle.runtime.array import array
from treadle.runtime.copying import copy as wp_copy
from treadle.runtime.creation import clone, from_numpy, full, zeros


@wp.struct
class Inner:
    """A nested struct."""

    flag: wp.int8
    weight: wp.float64


@wp.struct
class Particle:
    """A struct with padding."""

    kind: wp.int8
    position: wp.vec3
    inner: Inner
    frame: wp.mat22


@wp.struct
class Mesh:
    """A struct with arrays."""

    count: int
    points: array(dtype=wp.vec3)
    grid: array(dtype=float, ndim=2)


@wp.struct
class Scene:
    """A struct with a struct with arrays."""

    mesh: Mesh
    scale: float


def particle(k: int) -> Particle:
    return Particle(kind=k, position=wp.vec3(k, 2, 3), inner=Inner(flag=1, weight=k / 2), frame=wp.mat22(1, 2, 3, k))


def test_round_trip() -> None:
    values = [particle(k) for k in range(3)]
    a = array(values, dtype=Particle)
    assert a.shape == (3,) and a.strides == (Particle.size,)
    assert a.list() == values and a[1] == values[1]
    records = a.numpy()
    assert records.dtype == Particle.numpy and records["position"][2].tolist() == [2, 2, 3]
    assert records["inner"]["weight"].tolist() == [0, 0.5, 1]
    records["kind"][0] = 7
    assert a[0].kind == 7
    assert array(records, dtype=Particle).list() == a.list()
    assert from_numpy(records, dtype=Particle).list() == a.list()
    assert array(values).dtype is Particle
    assert array([[values[0], values[1]]]).shape == (1, 2)
    assert array([records[0], records[1]], dtype=Particle).list() == a.list()[:2]
    assert np.asarray(a).dtype == Particle.numpy
    assert array(a).list() == a.list()


def test_writes_and_views() -> None:
    a = zeros((2, 2), Particle)
    a[0, 1] = particle(4)
    a[1] = particle(5)
    assert a[:, 1].list() == [particle(4), particle(5)]
    a.fill_(particle(6))
    assert a.list() == [particle(6)] * 4
    a.zero_()
    assert a.list() == [Particle()] * 4
    assert full(2, particle(1)).list() == [particle(1)] * 2
    a.assign([particle(k) for k in range(4)])
    assert clone(a.T).list() == [particle(k) for k in (0, 2, 1, 3)]
    assert pickle.loads(pickle.dumps(a)).list() == a.list()


def test_gradient_is_of_the_same_struct() -> None:
    a = zeros(2, Particle, requires_grad=True)
    assert a.grad.dtype is Particle and a.grad.list() == [Particle()] * 2
    assert a[1:].grad.ptr == a.grad.ptr + Particle.size


def test_errors() -> None:
    with pytest.raises(TypeError, match="Particle"):
        array([1.0, 2.0], dtype=Particle)
    with pytest.raises(ArrayError, match="does not have the members"):
        array(np.zeros(2), dtype=Particle)
    with pytest.raises(ArrayError, match="different lengths"):
        array([[particle(1)], [particle(1), particle(2)]])
    with pytest.raises(TypeError):
        zeros(2, Particle).fill_(Inner())


def mesh(n: int) -> Mesh:
    return Mesh(count=n, points=zeros(n, wp.vec3, requires_grad=True), grid=zeros((n, 2)))


def test_array_members_are_descriptors() -> None:
    m = mesh(3)
    a = array([m, Mesh(count=1)], dtype=Mesh)
    words = np.frombuffer(a.numpy()[0]["points"].tobytes(), np.int64).tolist()
    assert words == [m.points.ptr, m.points.grad.ptr, 3, 0, 0, 0, 12, 0, 0, 0]
    words = np.frombuffer(a.numpy()[0]["grid"].tobytes(), np.int64).tolist()
    assert words == [m.grid.ptr, 0, 3, 2, 0, 0, 8, 4, 0, 0]
    assert a.numpy()[1]["points"].tobytes() == bytes(80)
    assert a[0].points is m.points and a[1].points is None
    assert a.list()[0].grid is m.grid


def test_array_members_live_as_long_as_the_struct_array() -> None:
    a = array([mesh(3)], dtype=Mesh)
    a[0].points.fill_(7)
    copies = [clone(a), array(a), copy.deepcopy(a), zeros(1, Mesh)]
    wp_copy(copies[3], a)
    view = a[:1]
    del a
    gc.collect()
    for b in (*copies, view):
        assert b[0].points.numpy().tolist() == [[7, 7, 7]] * 3


def test_array_members_are_written_by_fill_and_assignment() -> None:
    a = zeros((2, 2), Mesh)
    m = mesh(2)
    a.fill_(m)
    a[0, 1] = mesh(5)
    assert [s.points.size for s in a.list()] == [2, 5, 2, 2] and a[1, 1].points is m.points
    a.zero_()
    assert a[0, 0].points is None


def test_nested_array_members() -> None:
    a = array([Scene(mesh=mesh(4), scale=2.0)], dtype=Scene)
    assert a[0].mesh.points.size == 4 and a[0].scale == 2.0
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(a)


def test_negative_strides_and_foreign_gradients_of_members() -> None:
    base = zeros(3, wp.vec3, requires_grad=True)
    a = array([Mesh(points=base[::-1])])
    words = np.frombuffer(a.numpy()[0]["points"].tobytes(), np.int64).tolist()
    assert words[6] == -12 and words[1] == base.grad.ptr + 24
    other = zeros((3, 2))
    other.grad = zeros((2, 3)).T
    with pytest.raises(ArrayError, match="same strides"):
        array([Mesh(grid=other)])
