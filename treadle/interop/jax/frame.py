"""Where things are in the structures of XLA's foreign function interface: byte offsets on a 64-bit machine.

The interface is a stable binary one (``xla/ffi/api/c_api.h``, major version 0); fields are only ever added at the end.
"""

from __future__ import annotations

# XLA_FFI_CallFrame
FRAME_EXTENSION = 8
FRAME_API = 16
FRAME_STAGE = 32
FRAME_OPERANDS = 72
FRAME_OPERAND_COUNT = 56
FRAME_RESULTS = 112
FRAME_RESULT_COUNT = 96
FRAME_ATTRIBUTES = 160
STAGE_EXECUTE = 3

# XLA_FFI_Extension_Base, XLA_FFI_Metadata_Extension, XLA_FFI_Metadata
EXTENSION_TYPE = 8
EXTENSION_METADATA = 1
METADATA_EXTENSION_METADATA = 24
METADATA_MAJOR = 24
METADATA_MINOR = 28

# XLA_FFI_Api
API_MAJOR = 32
API_MINOR = 36
API_ERROR_CREATE = 48
API_POOL_SCHEDULE = 136
API_POOL_SIZE = 144
FRAME_CONTEXT = 24

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
