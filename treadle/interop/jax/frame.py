"""Where things are in the structures of XLA's foreign function interface: byte offsets on a 64-bit machine.

The interface is a stable binary one (``xla/ffi/api/c_api.h``, major version 0): these places have not changed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# XLA_FFI_CallFrame
FRAME_EXTENSION = 8
FRAME_API = 16
FRAME_STAGE = 32
FRAME_OPERANDS = 72
FRAME_RESULTS = 112
FRAME_ATTRIBUTES = 160
STAGE_EXECUTE = 3

# XLA_FFI_Extension_Base, XLA_FFI_Metadata_Extension, XLA_FFI_Metadata
EXTENSION_TYPE = 8
EXTENSION_METADATA = 1
METADATA_EXTENSION_METADATA = 24
METADATA_MAJOR = 24
METADATA_MINOR = 28

# XLA_FFI_Api
API_ERROR_CREATE = 48

# XLA_FFI_Buffer
BUFFER_DATA = 24
BUFFER_RANK = 32
BUFFER_DIMS = 40

# XLA_FFI_Array, an attribute
ARRAY_DATA = 16

# XLA_FFI_Error_Create_Args
ERROR_SIZE = 28
ERROR_MESSAGE = 16
ERROR_CODE = 24
INVALID_ARGUMENT = 3
RESOURCE_EXHAUSTED = 8


@cache
def interface_version() -> tuple[int, int]:
    """The version of the interface that the installed JAX speaks, which its header tells; else the oldest known."""
    import jax

    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text(encoding="utf-8") if header.is_file() else ""
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(found[0][1]), int(found[1][1])) if found[0] and found[1] else (0, 1)
