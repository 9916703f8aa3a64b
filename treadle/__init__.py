"""Treadle compiles Python functions into parallel kernels, runs them fast, and differentiates them.

Users write ``import treadle as wp``. This file has the public names and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any as Any

from treadle import autograd as autograd
from treadle import config as config
from treadle import types as types
from treadle import utils as utils
from treadle.ad import DerivativeError as DerivativeError
from treadle.errors import ArrayError as ArrayError
from treadle.errors import ExportError as ExportError
from treadle.errors import KernelError as KernelError
from treadle.errors import LaunchError as LaunchError
from treadle.errors import OverwriteError as OverwriteError
from treadle.errors import TreadleError as TreadleError
from treadle.interop import arguments as _arguments  # noqa: F401  (lets launch take foreign arrays)
from treadle.interop.dlpack import from_dlpack as from_dlpack
from treadle.interop.dlpack import to_dlpack as to_dlpack
from treadle.interop.jax import JaxCallableGraphMode as JaxCallableGraphMode
from treadle.interop.jax import JaxModulePreloadMode as JaxModulePreloadMode
from treadle.interop.jax import clear_jax_callable_graph_cache as clear_jax_callable_graph_cache
from treadle.interop.jax import device_from_jax as device_from_jax
from treadle.interop.jax import device_to_jax as device_to_jax
from treadle.interop.jax import dtype_from_jax as dtype_from_jax
from treadle.interop.jax import dtype_to_jax as dtype_to_jax
from treadle.interop.jax import from_jax as from_jax
from treadle.interop.jax import jax_callable as jax_callable
from treadle.interop.jax import jax_kernel as jax_kernel
from treadle.interop.jax import to_jax as to_jax
from treadle.interop.numpy import dtype_from_numpy as dtype_from_numpy
from treadle.interop.numpy import dtype_to_numpy as dtype_to_numpy
from treadle.interop.paddle import device_from_paddle as device_from_paddle
from treadle.interop.paddle import device_to_paddle as device_to_paddle
from treadle.interop.paddle import dtype_from_paddle as dtype_from_paddle
from treadle.interop.paddle import dtype_to_paddle as dtype_to_paddle
from treadle.interop.paddle import from_paddle as from_paddle
from treadle.interop.paddle import stream_from_paddle as stream_from_paddle
from treadle.interop.paddle import to_paddle as to_paddle
from treadle.interop.torch import device_from_torch as device_from_torch
from treadle.interop.torch import device_to_torch as device_to_torch
from treadle.interop.torch import dtype_from_torch as dtype_from_torch
from treadle.interop.torch import dtype_to_torch as dtype_to_torch
from treadle.interop.torch import from_torch as from_torch
from treadle.interop.torch import stream_from_torch as stream_from_torch
from treadle.interop.torch import stream_to_torch as stream_to_torch
from treadle.interop.torch import to_torch as to_torch
from treadle.language import BUILTINS as _BUILTINS
from treadle.language import CONSTANTS as _CONSTANTS
from treadle.language import CompileError as CompileError
from treadle.language import Function as Function
from treadle.language import Kernel as Kernel
from treadle.language import adjoint as adjoint
from treadle.language import constant as constant
from treadle.language import func as func
from treadle.language import func_grad as func_grad
from treadle.language import func_native as func_native
from treadle.language import func_replay as func_replay
from treadle.language import get_module as get_module
from treadle.language import get_module_options as get_module_options
from treadle.language import grad as grad
from treadle.language import kernel as kernel
from treadle.language import overload as overload
from treadle.language import set_module_options as set_module_options
from treadle.language import static as static
from treadle.runtime.array import array as array
from treadle.runtime.copying import copy as copy
from treadle.runtime.creation import clone as clone
from treadle.runtime.creation import empty as empty
from treadle.runtime.creation import empty_like as empty_like
from treadle.runtime.creation import from_numpy as from_numpy
from treadle.runtime.creation import full as full
from treadle.runtime.creation import full_like as full_like
from treadle.runtime.creation import ones as ones
from treadle.runtime.creation import ones_like as ones_like
from treadle.runtime.creation import zeros as zeros
from treadle.runtime.creation import zeros_like as zeros_like
from treadle.runtime.device import Device as Device
from treadle.runtime.device import ScopedDevice as ScopedDevice
from treadle.runtime.device import get_cuda_device_count as get_cuda_device_count
from treadle.runtime.device import get_cuda_devices as get_cuda_devices
from treadle.runtime.device import get_device as get_device
from treadle.runtime.device import get_devices as get_devices
from treadle.runtime.device import get_preferred_device as get_preferred_device
from treadle.runtime.device import is_cpu_available as is_cpu_available
from treadle.runtime.device import is_cuda_available as is_cuda_available
from treadle.runtime.device import is_device_available as is_device_available
from treadle.runtime.device import set_device as set_device
from treadle.runtime.device import synchronize as synchronize
from treadle.runtime.device import synchronize_device as synchronize_device
from treadle.runtime.dimensions import array1d as array1d
from treadle.runtime.dimensions import array2d as array2d
from treadle.runtime.dimensions import array3d as array3d
from treadle.runtime.dimensions import array4d as array4d
from treadle.runtime.dimensions import indexedarray1d as indexedarray1d
from treadle.runtime.dimensions import indexedarray2d as indexedarray2d
from treadle.runtime.dimensions import indexedarray3d as indexedarray3d
from treadle.runtime.dimensions import indexedarray4d as indexedarray4d
from treadle.runtime.graphs import Graph as Graph
from treadle.runtime.graphs import ScopedCapture as ScopedCapture
from treadle.runtime.graphs import capture_begin as capture_begin
from treadle.runtime.graphs import capture_end as capture_end
from treadle.runtime.graphs import capture_launch as capture_launch
from treadle.runtime.indexed import indexedarray as indexedarray
from treadle.runtime.launch import Command as Command
from treadle.runtime.launch import launch as launch
from treadle.runtime.mapping import map_ as map  # noqa: F401
from treadle.runtime.startup import clear_kernel_cache as clear_kernel_cache
from treadle.runtime.startup import force_load as force_load
from treadle.runtime.startup import init as init
from treadle.runtime.startup import load_module as load_module
from treadle.runtime.streams import Event as Event
from treadle.runtime.streams import ScopedStream as ScopedStream
from treadle.runtime.streams import Stream as Stream
from treadle.runtime.streams import get_event_elapsed_time as get_event_elapsed_time
from treadle.runtime.streams import get_stream as get_stream
from treadle.runtime.streams import record_event as record_event
from treadle.runtime.streams import set_stream as set_stream
from treadle.runtime.streams import synchronize_event as synchronize_event
from treadle.runtime.streams import synchronize_stream as synchronize_stream
from treadle.runtime.streams import wait_event as wait_event
from treadle.runtime.streams import wait_stream as wait_stream
from treadle.runtime.timer import ScopedTimer as ScopedTimer
from treadle.tape import Tape as Tape
from treadle.types import NAMES as _NAMES
from treadle.types import Float as Float
from treadle.types import Int as Int
from treadle.types import Scalar as Scalar
from treadle.types import bfloat16 as bfloat16
from treadle.types import bool_ as bool_
from treadle.types import float16 as float16
from treadle.types import float32 as float32
from treadle.types import float64 as float64
from treadle.types import int8 as int8
from treadle.types import int16 as int16
from treadle.types import int32 as int32
from treadle.types import int64 as int64
from treadle.types import mat as mat
from treadle.types import matrix as matrix
from treadle.types import quaternion as quaternion
from treadle.types import struct as struct
from treadle.types import transformation as transformation
from treadle.types import uint8 as uint8
from treadle.types import uint16 as uint16
from treadle.types import uint32 as uint32
from treadle.types import uint64 as uint64
from treadle.types import vec as vec
from treadle.types import vector as vector
from treadle.version import VERSION

__version__ = VERSION

# Names that no program text spells out: vec3f, mat44d, …, pi, … and the built-in functions of the kernel
# language, unless a name means something in Python already (zeros, matrix).
_tables = {**_BUILTINS, **_NAMES, **_CONSTANTS}
globals().update({name: value for name, value in _tables.items() if name not in globals()})
bool = bool_

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the names above, for type checkers
