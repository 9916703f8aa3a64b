"""``init``, loading of kernels ahead of their first launch, and clearing the kernel cache."""

from __future__ import annotations

import sys
from typing import Any

from treadle import config
from treadle.codegen import cpu
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
    """
    if module is None:
        name = sys._getframe(1).f_globals.get("__name__", "")
    else:
        name = getattr(module, "__name__", None) or getattr(module, "name", None) or str(module)
    force_load(device, [m for m in list(sys.modules) if m == name or (recursive and m.startswith(name + "."))])


def force_load(device: DeviceLike = None, modules: Any = None) -> None:
    """Compile the kernels of the named modules, or of all; see ``load_module``."""
    get_device(device)
    for name in list(sys.modules) if modules is None else [getattr(m, "name", m) for m in modules]:
        for value in list(vars(sys.modules.get(name, object())).values()) if name in sys.modules else ():
            if isinstance(value, Kernel) and not value.is_generic:
                _load(value)


def _load(kernel: Kernel) -> None:
    arguments = [_placeholder(t) for t in kernel.parameter_types.values()]
    bind(kernel, arguments, (0,))


def _placeholder(type_: Any) -> Any:
    return array.null(type_.dtype, type_.ndim) if type_.kind == "array" else type_()


def clear_kernel_cache() -> None:
    """Delete all compiled kernels on disk. Those loaded already keep working."""
    cache.clear()
