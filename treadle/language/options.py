"""Compilation options: those of ``config``, overridden per Python module and per kernel."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from treadle import config

# Options of other backends that scripts set: accepted, without effect here.
_WITHOUT_EFFECT = frozenset(
    {
        "fuse_fp", "lineinfo", "cuda_output", "block_dim", "strip_hash", "optimization_level", "llvm_cuda",
        "cpu_compiler_flags", "compile_time_trace", "enable_mathdx_gemm", "default_grid_stride",
        "use_precompiled_headers", "launch_bounds", "cluster_dim", "enable_vector_component_overwrites",
        "deterministic",
        "enable_tiles_in_stack_memory", "enable_mathdx_fft", "enable_mathdx_solver",
    }
)  # fmt: skip


class Module:
    """The kernels of one Python module share options. ``options`` holds those that were set."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.options: dict[str, Any] = {}

    def load(self, device: Any = None, block_dim: int | None = None) -> Module:
        """Accepted from programs that compile ahead: kernels are compiled for the arguments of a launch."""
        return self

    def unload(self) -> None:
        """Accepted, as ``load`` is."""

    def __repr__(self) -> str:
        return f"Module({self.name!r})"


_MODULES: dict[str, Module] = {}


def get_module(name: str) -> Module:
    """The module of that name, made on first use."""
    module = _MODULES.get(name)
    if module is None:
        module = _MODULES[name] = Module(name)
    return module


def checked(options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The options that have an effect, with their types checked; None means "not set".

    Raises:
        TypeError: an unknown option, or a value of the wrong type. ValueError: none of the choices.
    """
    result: dict[str, Any] = {}
    for name, value in options.items():
        if name not in config.OPTIONS:
            if name in _WITHOUT_EFFECT:
                continue
            raise TypeError(f"{where}: there is no option {name!r}; the options are {', '.join(config.OPTIONS)}")
        if value is None:
            continue
        config.check(name, value, where)
        result[name] = value
    return result


def set_module_options(options: Mapping[str, Any], module: Any = None) -> None:
    """Set options for the kernels of a module: of the caller's, or of the Python module given.

    Raises:
        TypeError: an unknown option, or a value of the wrong type. ValueError: none of the choices.
    """
    name = (
        sys._getframe(1).f_globals.get("__name__", "") if module is None else getattr(module, "__name__", str(module))
    )
    get_module(name).options.update(checked(options, "set_module_options"))
    config.revision += 1


def get_module_options(module: Any = None) -> dict[str, Any]:
    """The options in force for a module: the caller's, or the Python module given."""
    name = (
        sys._getframe(1).f_globals.get("__name__", "") if module is None else getattr(module, "__name__", str(module))
    )
    return resolve(get_module(name), {})


def resolve(module: Module, own: Mapping[str, Any]) -> dict[str, Any]:
    """All options: those of a kernel over those of its module over ``treadle.config``."""
    return {**{name: getattr(config, name) for name in config.OPTIONS}, **module.options, **own}
