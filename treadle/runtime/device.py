"""Devices: where arrays live and kernels run. There is one so far, the CPU.

Launches on the CPU are finished when they return, so that ``synchronize`` has nothing to wait for.
"""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.runtime.streams import Stream

__all__ = [
    "CPU",
    "Device",
    "DeviceLike",
    "ScopedDevice",
    "get_cuda_device_count",
    "get_cuda_devices",
    "get_device",
    "get_devices",
    "get_preferred_device",
    "is_cpu_available",
    "is_cuda_available",
    "is_device_available",
    "set_device",
    "synchronize",
    "synchronize_device",
]


class Device:
    """A device that kernels run on.

    Attributes: ``alias`` (``"cpu"``), ``name`` (of the hardware), ``ordinal`` (-1 for the CPU),
    ``is_cpu``, ``is_cuda``, ``arch`` and ``sm_count`` (0 for the CPU).
    A device compares equal to another with the same alias, and to the alias itself.
    """

    __slots__ = ("alias", "arch", "is_cpu", "is_cuda", "name", "ordinal", "sm_count")

    def __init__(self, alias: str, name: str, ordinal: int = -1) -> None:
        self.alias = alias
        self.name = name
        self.ordinal = ordinal
        self.is_cpu = ordinal < 0
        self.is_cuda = ordinal >= 0
        self.arch = 0
        self.sm_count = 0

    @property
    def total_memory(self) -> int:
        """The bytes of physical memory; 0 where the system does not tell."""
        return _memory_pages("SC_PHYS_PAGES")

    @property
    def free_memory(self) -> int:
        """The bytes of physical memory that are free; 0 where the system does not tell."""
        return _memory_pages("SC_AVPHYS_PAGES")

    @property
    def stream(self) -> Stream:
        """The current stream of the device."""
        found: Stream = _streams().get_stream(self)
        return found

    def set_stream(self, stream: Stream, sync: bool = True) -> None:
        """Make ``stream`` the current one. Raises TreadleError for a stream of another device."""
        _streams().set_stream(stream, self, sync)

    @property
    def has_stream(self) -> bool:
        """Whether the device has a current stream: always."""
        return True

    @property
    def is_capturing(self) -> bool:
        """Whether this thread captures a graph."""
        return self.stream.is_capturing

    def can_access(self, other: DeviceLike) -> bool:
        """Whether kernels on this device can use the memory of ``other``."""
        return self is get_device(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self.alias == other.alias
        return self.alias == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.alias)

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f"<Device {self.alias!r}: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (get_device, (self.alias,))


def _streams() -> Any:
    from treadle.runtime import streams  # they belong to devices, so they come after them

    return streams


def _memory_pages(name: str) -> int:
    if name not in getattr(os, "sysconf_names", ()):
        return 0
    return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")


DeviceLike = Device | str | None
"""What names a device: a ``Device``, its alias, or None for the current one."""

# Not platform.processor(), which starts a process.
CPU = Device("cpu", platform.machine() or "CPU")
"""The device that runs kernels on the processor."""
_current = CPU


def get_device(ident: DeviceLike = None) -> Device:
    """The device that ``ident`` names; the current one for None.

    Raises RuntimeError for a device of a kind that exists but is not available here, and
    ValueError for a name that is none.
    """
    if ident is None:
        return _current
    if ident is CPU or ident == "cpu":
        return CPU
    if str(ident).split(":")[0] == "cuda":
        raise RuntimeError(f"device {str(ident)!r} is not available: this build of Treadle runs on the CPU only")
    raise ValueError(f"{str(ident)!r} is not a device; the devices are: cpu")


def get_devices() -> list[Device]:
    """All devices."""
    return [CPU]


def get_cuda_devices() -> list[Device]:
    """The CUDA devices: none in this build."""
    return []


def get_cuda_device_count() -> int:
    """The number of CUDA devices: 0 in this build."""
    return 0


def get_preferred_device() -> Device:
    """The device to choose where there is no reason for another: CUDA if there is one, else the CPU."""
    return CPU


def is_cpu_available() -> bool:
    """Whether kernels can run on the CPU: always."""
    return True


def is_cuda_available() -> bool:
    """Whether kernels can run on a CUDA device: not in this build."""
    return False


def is_device_available(device: DeviceLike) -> bool:
    """Whether ``device`` names a device that kernels can run on."""
    try:
        get_device(device)
    except (RuntimeError, ValueError):
        return False
    return True


def set_device(ident: DeviceLike) -> None:
    """Make ``ident`` the device that is used where none is named. Raises as ``get_device`` does."""
    global _current
    _current = get_device(ident)


class ScopedDevice:
    """``with ScopedDevice("cpu"):`` makes that device the current one inside the block."""

    def __init__(self, device: DeviceLike) -> None:
        self.device = get_device(device)
        self._outer: list[Device] = []

    def __enter__(self) -> Device:
        self._outer.append(get_device())
        set_device(self.device)
        return self.device

    def __exit__(self, *exception: object) -> None:
        set_device(self._outer.pop())


def synchronize() -> None:
    """Wait until all devices have finished: at once, as the CPU finishes before a launch returns."""


def synchronize_device(device: DeviceLike = None) -> None:
    """Wait until ``device`` has finished. Raises as ``get_device`` does."""
    get_device(device)
