"""``init``, loading of kernels ahead of their first launch, and clearing the kernel cache."""

from __future__ import annotations

import sys
from typing import Any

from treadle import config
from treadle.codegen import cpu
from treadle.errors import TreadleError
from treadle.language.functions import Kernel
from treadle.runtime import cache
from treadle.runtime.array import array
from treadle.runtime.binding import bind
from treadle.runtime.device import DeviceLike, get_device
from treadle.version import VERSION

_initialized = False


def init() -> None:
    """Print one line about the machine, unless ``config.quiet``. Calling it is not necessary."""
    global _initialized
    if not _initialized and not config.quiet:
        print(f"Treadle {VERSION} on cpu ({cpu.host().cpu})")
    _initialized = True


def load_module(module: Any = None, device: DeviceLike = None, recursive: bool = False) -> None:
    """Compile the kernels of a Python module now: of the caller's, or of the one given, by name or as an object.

    ``recursive`` includes the modules within it. Generic kernels are left out, as their types are
    not known; arrays are taken to be contiguous, and launches to have one dimension.

    Raises:
        TreadleError: no module of that name has been imported.
    """
    name = sys._getframe(1).f_globals.get("__name__", "") if module is None else _name_of(module)
    found = [m for m in list(sys.modules) if m == name or (recursive and m.startswith(name + "."))]
    if not found and isinstance(module, str):
        raise _unknown("load_module", name)
    force_load(device, found)


def force_load(device: DeviceLike = None, modules: Any = None) -> None:
    """Compile the kernels of the given modules, or of all; see ``load_module``, also for what it raises."""
    get_device(device)
    for module in list(sys.modules) if modules is None else modules:
        name = _name_of(module)
        if name not in sys.modules and isinstance(module, str):
            raise _unknown("force_load", name)
        for value in list(getattr(sys.modules.get(name), "__dict__", {}).values()):
            if isinstance(value, Kernel) and not value.is_generic:
                _load(value)


def _name_of(module: Any) -> str:
    return getattr(module, "__name__", None) or getattr(module, "name", None) or str(module)


def _unknown(where: str, name: str) -> TreadleError:
    return TreadleError(f"{where}: no module of the name {name!r} has been imported")


def _load(kernel: Kernel) -> None:
    arguments = [_placeholder(t) for t in kernel.parameter_types.values()]
    bind(kernel, arguments, (0,))


def _placeholder(type_: Any) -> Any:
    return array.null(type_.dtype, type_.ndim) if type_.kind == "array" else type_()


def clear_kernel_cache() -> None:
    """Delete all compiled kernels on disk. Those loaded already keep working."""
    cache.clear()
