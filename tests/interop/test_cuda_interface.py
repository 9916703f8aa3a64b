"""``__cuda_array_interface__``: descriptions are understood, and refused where there is no CUDA device."""

from __future__ import annotations

from typing import Any

import pytest

from treadle import types as wp
from treadle.errors import ArrayError, LaunchError
from treadle.interop.arguments import wrap_argument
from treadle.interop.cuda_interface import CudaMemory, describe, wrap
from treadle.language import kernel
from treadle.runtime.array import array
from treadle.runtime.creation import zeros
from treadle.runtime.device import Device
from treadle.runtime.launch import launch


class OnDevice:
    """What a framework for CUDA devices hands over."""

    def __init__(self, **changes: Any) -> None:
        given = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": None}
        self.__cuda_array_interface__ = {k: v for k, v in (given | changes).items() if v is not ...}


def test_descriptions() -> None:
    assert describe(OnDevice()) == CudaMemory(4096, wp.float32, (2, 3), (12, 4), False)
    assert describe(OnDevice(strides=(4, 8), data=(64, True))) == CudaMemory(64, wp.float32, (2, 3), (4, 8), True)
    assert describe(OnDevice(strides=..., shape=(0,), data=(None, False))).address == 0
    assert describe(OnDevice(typestr="|b1")).scalar is wp.bool_


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"shape": ...}, "incomplete"),
        ({"data": ...}, "incomplete"),
        ({"mask": object()}, "mask"),
        ({"typestr": "<c8"}, "no dtype"),
        ({"typestr": ">f4"}, "no dtype"),
        ({"strides": (4,)}, "different lengths"),
    ],
)
def test_wrong_descriptions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        describe(OnDevice(**changes))


def test_memory_of_a_device_is_refused() -> None:
    message = r"OnDevice.*\(2, 3\).*CUDA device.*0x1000"
    for use in (wrap, wrap_argument):
        with pytest.raises(ArrayError, match=message):
            use(OnDevice())
    with pytest.raises(ArrayError, match="CUDA device"):
        array(OnDevice())


def test_a_launch_names_kernel_and_parameter() -> None:
    @kernel
    def takes_two(x: array(dtype=float, ndim=2)):
        pass

    with pytest.raises(LaunchError, match=r"kernel takes_two\w*, parameter x: .*CUDA device"):
        launch(takes_two, 1, [OnDevice()])


def test_arrays_on_the_cpu_do_not_export_it() -> None:
    a = zeros(3)
    assert not hasattr(a, "__cuda_array_interface__") and hasattr(a, "__array_interface__")


def test_what_an_array_on_a_device_exports() -> None:
    a = zeros((2, 3), wp.vec2)
    a.device = Device("cuda:0", "a device", 0)
    whole = {"data": (a.ptr, False), "shape": (2, 3, 2), "strides": None, "typestr": "<f4", "version": 3}
    assert a.__cuda_array_interface__ == whole
    assert describe(a).shape == (2, 3, 2)
