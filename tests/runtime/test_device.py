"""Devices: there is the CPU, and clear errors for others."""

from __future__ import annotations

import pickle

import pytest

from treadle.runtime import device as wp


def test_the_cpu() -> None:
    cpu = wp.get_device()
    assert cpu is wp.get_device("cpu") is wp.get_device(cpu) is wp.get_preferred_device()
    assert cpu.is_cpu and not cpu.is_cuda and cpu.alias == "cpu" == str(cpu) and cpu.name and cpu.ordinal == -1
    assert cpu == "cpu" and cpu != "cuda:0" and hash(cpu) == hash("cpu")
    assert wp.get_devices() == [cpu] and wp.get_cuda_devices() == [] and wp.get_cuda_device_count() == 0
    assert wp.is_cpu_available() and not wp.is_cuda_available()
    assert wp.is_device_available("cpu") and not wp.is_device_available("cuda:0")
    assert cpu.can_access("cpu") and cpu.total_memory >= cpu.free_memory >= 0
    assert pickle.loads(pickle.dumps(cpu)) is cpu
    assert "cpu" in repr(cpu)


def test_other_devices() -> None:
    for ident in ("cuda", "cuda:0", "cuda:3"):
        with pytest.raises(RuntimeError, match=f"'{ident}' is not available"):
            wp.get_device(ident)
    with pytest.raises(ValueError, match="'gpu' is not a device"):
        wp.get_device("gpu")
    with pytest.raises(RuntimeError):
        wp.synchronize_device("cuda")
    with pytest.raises(RuntimeError):
        wp.set_device("cuda")


def test_scopes() -> None:
    scope = wp.ScopedDevice("cpu")
    with scope as outer, scope as inner:
        assert outer is inner is wp.get_device()
    wp.set_device("cpu")
    wp.synchronize()
    wp.synchronize_device("cpu")
    with pytest.raises(RuntimeError, match="cuda"):
        wp.ScopedDevice("cuda")
