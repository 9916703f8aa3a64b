"""Settings that users change: ``treadle.config.mode = "debug"``. Every room may read them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Optional

from treadle.version import VERSION

enable_backward: bool = True
"""Whether kernels get an adjoint, unless their decorator or module options say otherwise."""
verify_autograd_array_access: bool = False
"""Report arrays that are overwritten after a recorded kernel has read them."""
max_unroll: int = 16
"""Loops with a constant trip count up to this are unrolled."""
mode: str = "release"
"""``"release"``, or ``"debug"``: indices are checked."""
verify_fp: bool = False
"""Check every float that a kernel writes for NaN and infinity."""
verbose: bool = False
"""Print what is compiled and how long it took."""
quiet: bool = False
"""Print nothing in ``init``."""
fast_math: bool = False
"""Allow LLVM to reorder and approximate floating-point arithmetic."""
kernel_cache_dir: Optional[str] = None
"""Where compiled kernels are kept; None: the user's cache folder."""

# Settings of programs written for other backends: they can be read and set, and have no effect here.
print_launches: bool = False
verify_cuda: bool = False
cache_kernels: bool = True
cuda_output: Optional[str] = None
ptx_target_arch: Optional[int] = None
cuda_arch_suffix: Optional[str] = None
lineinfo: bool = False
line_directives: bool = True
llvm_cuda: bool = False
optimization_level: Optional[int] = None
compile_time_trace: bool = False
verbose_warnings: bool = False
use_precompiled_headers: bool = True
load_module_max_workers: Optional[int] = None
track_memory: bool = False
enable_graph_capture_module_load_by_default: bool = True
enable_mempools_at_init: bool = True
enable_vector_component_overwrites: bool = False
enable_tiles_in_stack_memory: bool = True
enable_mathdx_gemm: bool = True
version: str = VERSION
"""The version of Treadle."""

OPTIONS: dict[str, Any] = {
    "enable_backward": bool,
    "max_unroll": int,
    "mode": str,
    "verify_fp": bool,
    "fast_math": bool,
}
"""The settings that a module (``set_module_options``) or a decorator can override, with their types."""
CHOICES: dict[str, tuple[Any, ...]] = {"mode": ("release", "debug")}
"""The values that a setting can have, where they are few."""
revision: int = 0
"""Counts the changes of the settings that kernels are compiled with, of modules too."""


def check(name: str, value: Any, where: str) -> None:
    """See that one of the ``OPTIONS`` can have a value; ``where`` it is set begins the message.

    Raises:
        TypeError: it is of the wrong type. ValueError: it is none of the choices.
    """
    expected, choices = OPTIONS[name], CHOICES.get(name)
    if not isinstance(value, expected):
        raise TypeError(f"{where}: the option {name!r} must be of type {expected.__name__}, not {value!r}")
    if choices is not None and value not in choices:
        raise ValueError(f"{where}: the option {name!r} must be one of {', '.join(map(repr, choices))}, not {value!r}")


class _Settings(ModuleType):
    """This module, which checks and counts changes."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OPTIONS:
            check(name, value, "treadle.config")
        super().__setattr__(name, value)
        if name in OPTIONS:
            super().__setattr__("revision", self.revision + 1)


sys.modules[__name__].__class__ = _Settings
