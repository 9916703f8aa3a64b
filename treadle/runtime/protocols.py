"""An array as NumPy, Python and other frameworks see it: array protocols, lists, text. Import is in ``interop``."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import dlpack, elements, members
from treadle.runtime.elements import Host
from treadle.runtime.strided import Strided
from treadle.types import StructMeta, bfloat16, bfloat16_values


class HostProtocols(Strided):
    """The methods of an array that hand its elements out, without a copy where there is a way."""

    __slots__ = ()

    def numpy(self) -> Host:
        """A NumPy array that shares the memory, and keeps it alive.

        The components of vectors and matrices are trailing dimensions; structs are records. bfloat16 is that of
        the package ml_dtypes, or, if that is not installed, the bits as uint16.
        """
        host = self.host()
        if elements.layout(self.dtype).scalar is bfloat16 and elements.ml_bfloat16() is not None:
            return host.view(elements.ml_bfloat16())
        return host

    def list(self) -> list[Any]:
        """All elements in C order, as numbers, vectors, structs, …"""
        host = self.host()
        values = elements.list_from_raw(self.dtype, host, self.ndim)
        if isinstance(self.dtype, StructMeta) and members.paths(self.dtype):
            for record, value in zip(host.ravel(), values):
                members.load(self.allocation, self.dtype, record, value)
        return values

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array protocol. It cannot express structs and bfloat16: for them NumPy uses ``__array__``."""
        return self._interface("__array_interface__")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The same protocol for the memory of CUDA devices; arrays on the CPU do not have it."""
        if not self.device.is_cuda:
            raise AttributeError("an array on the CPU has no __cuda_array_interface__; use __array_interface__")
        return self._interface("__cuda_array_interface__")

    def _interface(self, name: str) -> dict[str, Any]:
        layout = elements.layout(self.dtype)
        if layout.typestr is None:
            raise AttributeError(f"arrays of {self.dtype!r} have no {name}")
        return {
            "data": (self.ptr, self.readonly),
            "shape": self.shape + layout.shape,
            "strides": None if self.is_contiguous else self.strides + layout.strides,
            "typestr": layout.typestr,
            "version": 3,
        }

    def __dlpack__(
        self, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """The DLPack protocol: a capsule. Raises ExportError (a BufferError) for what cannot be shared as asked."""
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU_DEVICE

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Host:
        host = self.numpy()
        if dtype is not None and host.dtype != dtype:
            if copy is False:
                raise ArrayError(f"cannot convert an array of {self.dtype!r} to {np.dtype(dtype)} without a copy")
            return host.astype(dtype)
        return host.copy() if copy else host

    def __str__(self) -> str:
        return str(self._printable())

    def __repr__(self) -> str:
        text = np.array2string(self._printable(), separator=", ", prefix="array(")
        return f"array({text}, shape={self.shape}, dtype={self.dtype!r})"

    def _printable(self) -> Host:
        brain = elements.layout(self.dtype).scalar is bfloat16
        return bfloat16_values(self.host()) if brain else self.host()
