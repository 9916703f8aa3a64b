"""DLPack: values, sharing, lifetimes and refusals, in both directions."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from treadle import types as wp
from treadle.errors import ArrayError, ExportError
from treadle.interop.dlpack import from_dlpack, to_dlpack
from treadle.runtime import dlpack
from treadle.runtime.array import array
from treadle.runtime.creation import empty, zeros

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = dlpack.python.PyCapsule_New
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
new_capsule.restype = ctypes.py_object


class Producer:
    """A producer written by hand, so that every field can be given a value."""

    def __init__(self, host: np.ndarray[Any, Any], code: int = 2, versioned: bool = False, **fields: Any) -> None:
        self.deleted = 0
        self._host = host
        self.structure = (dlpack.ManagedVersioned if versioned else dlpack.Managed)()
        if versioned:
            self.structure.major = fields.pop("major", 1)
            self.structure.flags = fields.pop("flags", 0)
        tensor = self.structure.tensor
        tensor.data = host.ctypes.data
        tensor.device_type = fields.pop("device_type", 1)
        tensor.ndim = host.ndim
        tensor.dtype = dlpack.DataType(code, host.itemsize * 8, fields.pop("lanes", 1))
        self.shape = (ctypes.c_int64 * host.ndim)(*host.shape)
        tensor.shape = self.shape
        if fields.pop("strides", True):
            self.strides = (ctypes.c_int64 * host.ndim)(*[s // host.itemsize for s in host.strides])
            tensor.strides = self.strides
        tensor.byte_offset = fields.pop("byte_offset", 0)
        self.deleter = DELETER(self.delete)
        if fields.pop("deletable", True):
            self.structure.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        assert not fields
        self.name = dlpack.NAMES[versioned]
        self.capsule = new_capsule(ctypes.addressof(self.structure), self.name, None)

    def delete(self, address: int) -> None:
        assert address == ctypes.addressof(self.structure)
        self.deleted += 1


# -- Import


@pytest.mark.parametrize("versioned", [False, True])
def test_every_field_of_a_capsule(versioned: bool) -> None:
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    p = Producer(host[:, ::2], versioned=versioned, byte_offset=4)
    a = from_dlpack(p.capsule)
    assert a.dtype is wp.float32 and a.shape == (4, 3) and a.strides == (24, 8) and a.ptr == host.ctypes.data + 4
    assert a.list() == host[:, 1::2].ravel().tolist() and not a.readonly
    a.fill_(5)
    assert (host[:, 1::2] == 5).all()
    view = a[1:]
    del a
    gc.collect()
    assert p.deleted == 0
    del view
    gc.collect()
    assert p.deleted == 1


def test_no_strides_means_compact() -> None:
    a = from_dlpack(Producer(np.arange(6.0).reshape(2, 3), strides=False).capsule)
    assert a.is_contiguous and a.list() == [0, 1, 2, 3, 4, 5]
    assert from_dlpack(Producer(np.zeros((2, 0, 3)), strides=False).capsule).shape == (2, 0, 3)


def test_no_deleter() -> None:
    from_dlpack(Producer(np.zeros(2), deletable=False).capsule)
    gc.collect()


def test_a_capsule_is_consumed_once() -> None:
    for capsule in (to_dlpack(zeros(3)), zeros(3).__dlpack__(max_version=(1, 0)), Producer(np.zeros(2)).capsule):
        from_dlpack(capsule)
        with pytest.raises(ArrayError, match="consumed before"):
            from_dlpack(capsule)


def test_a_refused_capsule_is_not_consumed() -> None:
    p = Producer(np.zeros((2, 2)))
    with pytest.raises(ArrayError, match="last dimensions"):
        from_dlpack(p.capsule, dtype=wp.vec3d)
    gc.collect()
    assert p.deleted == 0
    assert from_dlpack(p.capsule, dtype=wp.vec2d).shape == (2,)
    gc.collect()
    assert p.deleted == 1


@pytest.mark.parametrize(
    "producer, message",
    [
        (lambda: Producer(np.zeros(2), code=5), "code 5, 64 bits"),
        (lambda: Producer(np.zeros(2), lanes=4), r"4 lane"),
        (lambda: Producer(np.zeros(2), device_type=2), "CUDA device"),
        (lambda: Producer(np.zeros(2), device_type=10), r"device \(10, 0\)"),
        (lambda: Producer(np.zeros(2), versioned=True, major=2), "version 2.0"),
        (lambda: Producer(np.zeros((1,) * 5)), "1 to 4 dimensions"),
        (lambda: Producer(np.zeros(2), byte_offset=3), "not aligned"),
    ],
)
def test_refused_capsules(producer: Any, message: str) -> None:
    p = producer()
    with pytest.raises(ArrayError, match=message):
        from_dlpack(p.capsule)
    gc.collect()
    assert p.deleted == 0


def test_what_is_no_source() -> None:
    with pytest.raises(ArrayError, match="named b'other'"):
        from_dlpack(new_capsule(1, b"other", None))
    for wrong in (3, "text", [1.0]):
        with pytest.raises(TypeError, match="__dlpack__"):
            from_dlpack(wrong)


class OldSource:
    """An object from before version 1 of the protocol."""

    def __init__(self, host: np.ndarray[Any, Any], kind: int = 1) -> None:
        self.host = host
        self.kind = kind

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.host.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


def test_old_sources_and_other_devices() -> None:
    host = np.arange(3.0)
    assert from_dlpack(OldSource(host)).ptr == host.ctypes.data
    assert from_dlpack(OldSource(host, 3)).ptr == host.ctypes.data, "pinned memory is memory of the host"
    with pytest.raises(RuntimeError, match="CUDA device"):
        from_dlpack(OldSource(host, 2))


def test_components_are_trailing_dimensions() -> None:
    host = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    assert from_dlpack(host, dtype=wp.vec3).shape == (2, 4)
    assert from_dlpack(host[:, ::2], dtype=wp.vec3).strides == (48, 24)
    assert from_dlpack(host, dtype=wp.matrix((4, 3), float)).list()[1] == wp.matrix((4, 3), float)(host[1].ravel())
    assert from_dlpack(np.zeros(3, np.float32), dtype=wp.vec3).shape == (1,)
    assert from_dlpack(np.zeros((), np.float32)).shape == (1,)
    with pytest.raises(RuntimeError, match="must be contiguous"):
        from_dlpack(np.zeros((3, 4), np.float32).T, dtype=wp.vec3)
    with pytest.raises(TypeError, match="tensor of float64"):
        from_dlpack(np.zeros(3), dtype=float)
    assert from_dlpack(np.array([-1], np.int32), dtype=wp.uint32).list() == [2**32 - 1]


def test_read_only_memory() -> None:
    host = np.arange(3.0)
    host.flags.writeable = False
    a = from_dlpack(host)
    assert a.readonly
    with pytest.raises(ArrayError, match="read-only"):
        a.fill_(1)
    assert not np.from_dlpack(a).flags.writeable
    with pytest.raises(BufferError):
        a.__dlpack__()
    assert from_dlpack(to_dlpack(a)).readonly
    assert not from_dlpack(a.__dlpack__(copy=True)).readonly


# -- Export


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("scalar", wp.SCALARS)
def test_every_scalar_makes_the_round_trip(scalar: Any, versioned: bool) -> None:
    a = array([[1, 0, 1], [0, 1, 1]], dtype=scalar)
    capsule = a.__dlpack__(max_version=(1, 0) if versioned else None)
    b = from_dlpack(capsule)
    assert b.dtype is scalar and b.ptr == a.ptr and b.shape == (2, 3) and b.list() == a.list()


@pytest.mark.parametrize(
    "a",
    [
        array(np.arange(12.0).reshape(3, 4)),
        array(np.arange(12.0).reshape(3, 4))[::-1, ::2],
        array(np.arange(12.0).reshape(3, 4)).T,
        array(np.arange(12.0).reshape(4, 3), dtype=wp.vec3),
        array(np.arange(16.0).reshape(4, 2, 2), dtype=wp.mat22)[1::2],
        zeros((2, 0, 3)),
        zeros(1),
        zeros((1, 2, 3, 4)),
    ],
    ids=["whole", "reversed", "transposed", "vectors", "matrices", "empty", "one", "four"],
)
def test_layouts_make_the_round_trip(a: Any) -> None:
    host = np.from_dlpack(a)
    assert np.array_equal(host, a.numpy()) and host.shape == a.numpy().shape
    b = from_dlpack(a, dtype=a.dtype)
    assert b.shape == a.shape and b.strides == a.strides and b.dtype is a.dtype
    if a.size:
        assert b.ptr == a.ptr and host.ctypes.data == a.ptr
        b.fill_(9)
        assert (host == 9).all()


def test_arguments_of_the_protocol() -> None:
    a = zeros(3)
    assert a.__dlpack_device__() == (1, 0)
    assert from_dlpack(a.__dlpack__(dl_device=(1, 0), copy=False, max_version=(1, 5))).ptr == a.ptr
    assert from_dlpack(a.__dlpack__(copy=True)).ptr != a.ptr
    for options in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            a.__dlpack__(**options)


def test_structs_are_refused() -> None:
    @wp.struct
    class S:
        x: float

    with pytest.raises(ExportError, match="no structs"):
        to_dlpack(zeros(2, S))


# -- Lifetimes


def test_the_exported_memory_outlives_the_array() -> None:
    a = array(np.arange(1000))
    alive = weakref.ref(a.allocation)
    host = np.from_dlpack(a)
    del a
    gc.collect()
    assert alive() is not None and host.sum() == 499500
    del host
    gc.collect()
    assert alive() is None


def test_a_capsule_that_nobody_consumes_frees_its_memory() -> None:
    a = zeros(10)
    alive = weakref.ref(a.allocation)
    for capsule in (to_dlpack(a), a.__dlpack__(max_version=(1, 0))):
        assert alive() is not None
        del capsule
    del a
    gc.collect()
    assert alive() is None


def test_the_imported_memory_outlives_its_maker() -> None:
    class Owner(np.ndarray):  # type: ignore[type-arg]
        pass

    host = np.arange(1000.0).view(Owner)
    alive = weakref.ref(host)
    a = from_dlpack(host)
    del host
    gc.collect()
    assert alive() is not None and a[999] == 999
    del a
    gc.collect()
    assert alive() is None


def test_shutdown_with_arrays_alive_on_both_sides() -> None:
    """Deleters that run while, or after, the interpreter is taken down must not crash."""
    script = """
import numpy as np
from treadle.interop.dlpack import from_dlpack, to_dlpack
from treadle.runtime.creation import zeros
kept = [np.from_dlpack(zeros(10)), from_dlpack(np.zeros(10)), to_dlpack(zeros(3))]
class Cycle: pass
cycle = Cycle()
cycle.me, cycle.a, cycle.b = cycle, from_dlpack(np.zeros(10)), np.from_dlpack(zeros(5))
import builtins
builtins.kept = [from_dlpack(np.zeros(10)), np.from_dlpack(zeros(4))]
try:
    import torch
    builtins.tensors = [torch.from_dlpack(zeros(10)), from_dlpack(torch.zeros(10))]
except ImportError:
    pass
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == ""


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_conversions_leak_no_memory() -> None:
    host = np.zeros(1000)
    a = empty(1000)

    def convert(count: int) -> None:
        for _ in range(count):
            from_dlpack(host)
            np.from_dlpack(a)
            to_dlpack(a)
            a.__dlpack__(max_version=(1, 0))

    convert(2000)
    before = resident()
    convert(10_000)
    assert resident() - before < 1_000_000
    assert sys.getrefcount(host) <= 3
