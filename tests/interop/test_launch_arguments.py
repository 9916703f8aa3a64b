"""Objects of other frameworks, as ``launch`` takes them."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from treadle import types as wp
from treadle.errors import ArrayError
from treadle.interop.arguments import wrap_argument
from treadle.runtime.creation import zeros


def test_numpy_arrays() -> None:
    host = np.arange(12, dtype=np.int16).reshape(3, 4)
    a = wrap_argument(host[:, ::-2])
    assert a.dtype is wp.int16 and a.shape == (3, 2) and a.strides == (8, -4) and a.grad is None
    a.fill_(1)
    assert host.sum() == 6 + 0 + 2 + 4 + 6 + 8 + 10
    assert wrap_argument(np.array(2.0)).shape == (1,)
    host.flags.writeable = False
    assert wrap_argument(host).readonly
    assert wrap_argument(np.zeros((0, 2))).shape == (0, 2)


def test_arrays_pass_through() -> None:
    a = zeros(3)
    assert wrap_argument(a) is a


def test_objects_with_the_array_protocol() -> None:
    class Holder:
        def __init__(self, host: np.ndarray[Any, Any]) -> None:
            self.host = host

        @property
        def __array_interface__(self) -> dict[str, Any]:
            return self.host.__array_interface__

    host = np.arange(3, dtype=np.float32)
    a = wrap_argument(Holder(host))
    assert a.ptr == host.ctypes.data
    del host
    gc.collect()
    assert a.list() == [0, 1, 2]


def test_objects_with_dlpack() -> None:
    class Holder:
        def __init__(self, host: np.ndarray[Any, Any]) -> None:
            self.host = host

        def __dlpack__(self, **options: Any) -> Any:
            return self.host.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.host.__dlpack_device__()

    host = np.arange(3, dtype=np.float32)
    assert wrap_argument(Holder(host)).ptr == host.ctypes.data


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    t = torch.ones(2, 3, requires_grad=True)
    a = wrap_argument(t)
    assert a.ptr == t.data_ptr() and a.shape == (2, 3) and not a.requires_grad and t.grad is None
    assert wrap_argument(torch.nn.Parameter(torch.ones(2))).shape == (2,)
    assert wrap_argument(torch.ones(2, dtype=torch.bfloat16)).dtype is wp.bfloat16


def test_what_has_no_memory_to_share() -> None:
    for value in (1.0, [1.0], "text", np.float32(1), None, wp.vec3(1, 2, 3)):
        assert wrap_argument(value) is None


def test_memory_that_does_not_fit() -> None:
    class OnCuda:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {"shape": (1,), "typestr": "<f4", "data": (0, False), "version": 3}

    unaligned = np.zeros(9, np.uint8)[1:].view(np.float32)
    for value, message in [
        (np.zeros(2, complex), "complex128"),
        (np.zeros(2, ">f4"), "convert it first"),
        (np.zeros((1, 1, 1, 1, 1)), "1 to 4 dimensions"),
        (unaligned, "aligned"),
        (OnCuda(), "CUDA"),
    ]:
        with pytest.raises(ArrayError, match=message):
            wrap_argument(value)
