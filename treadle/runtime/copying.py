"""Copies between arrays: ``copy``, and the unrecorded ``transfer`` that it is made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.errors import ArrayError
from treadle.runtime import capturing, elements, members
from treadle.runtime.recording import active
from treadle.runtime.writes import announce
from treadle.types import StructMeta

if TYPE_CHECKING:
    from treadle.runtime.array import array

__all__ = ["copy"]


def copy(
    dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None
) -> None:
    """Copy elements of ``src`` to ``dest``, both arrays or indexed arrays. Recorded on a tape.

    Elements are counted in C order, beginning at the offsets; ``count=0`` means all of ``src`` after its offset. An
    array of scalars can be copied to one of vectors of the same scalars, and the other way round; offsets and
    ``count`` are then in elements of ``src``, except ``dest_offset``. ``stream`` is accepted for programs written for
    CUDA. Raises TypeError for other differences
    in dtype, ValueError for a copy beyond the end and for shapes that do not fit: where an array with several
    dimensions is not contiguous, both must have the same shape and are copied whole.
    """
    if min(dest_offset, src_offset, count) < 0:
        raise ArrayError("the offsets and the count of a copy cannot be negative")
    if hasattr(src, "indices") or hasattr(dest, "indices"):
        _copy_indexed(dest, src, dest_offset, src_offset, count)
        return
    dest.check_writable()
    if dest.dtype is not src.dtype:
        dest, src, dest_offset, src_offset, count = _as_scalars(dest, src, dest_offset, src_offset, count)
    if dest_offset or src_offset or count not in (0, src.size) or dest.shape != src.shape:
        dest, src = _parts(dest, src, dest_offset, src_offset, count)
    if src.size == 0:
        return
    if active.recorder is not None:
        active.recorder.record_copy(dest, src)
    transfer(dest, src)


def transfer(dest: array, src: Any) -> None:
    """Copy all elements to an array of the same shape and dtype, unrecorded. The two may overlap."""
    announce(dest)
    if capturing.active.capture is None:
        dest.host()[...] = src.host()
    else:
        capturing.perform(partial(np.copyto, dest.host(), src.host()))
    if isinstance(src.dtype, StructMeta) and members.paths(src.dtype):
        dest.allocation.keep_all(src.allocation)


def _as_scalars(dest: array, src: array, dest_offset: int, src_offset: int, count: int) -> tuple[Any, ...]:
    """The arguments of a copy between dtypes made of the same scalars, in scalars."""
    from_layout, to_layout = elements.layout(src.dtype), elements.layout(dest.dtype)
    if from_layout.scalar is not to_layout.scalar or from_layout.scalar is None:
        raise ArrayError(f"cannot copy elements of {src.dtype!r} to an array of {dest.dtype!r}")
    if from_layout.size == to_layout.size:
        return dest.view(src.dtype), src, dest_offset, src_offset, count
    to_width = to_layout.size // to_layout.dtype.itemsize
    from_width = from_layout.size // from_layout.dtype.itemsize
    return dest.components(), src.components(), dest_offset * to_width, src_offset * from_width, count * from_width


def _parts(dest: array, src: array, dest_offset: int, src_offset: int, count: int) -> tuple[array, array]:
    """The views that a copy of part of an array is between."""
    count = count or max(src.size - src_offset, 0)
    for name, side, offset in (("src", src, src_offset), ("dest", dest, dest_offset)):
        if offset + count > side.size:
            raise ArrayError(f"a copy of {count} element(s) from {offset} on exceeds {name}, which has {side.size}")
        if side.ndim > 1 and not side.is_contiguous:
            raise ArrayError(
                f"{name} of shape {side.shape} is not contiguous: it can only be copied whole, "
                f"between arrays of the same shape ({dest.shape} and {src.shape})"
            )
    return (
        dest.flatten()[dest_offset : dest_offset + count],
        src.flatten()[src_offset : src_offset + count],
    )


def _copy_indexed(dest: Any, src: Any, dest_offset: int, src_offset: int, count: int) -> None:
    """A copy from or to an indexed array: a gather or a scatter."""
    if dest_offset or src_offset or count not in (0, src.size):
        raise ArrayError("an indexed array can only be copied whole")
    if dest.shape != src.shape or dest.dtype is not src.dtype:
        raise ArrayError(
            f"cannot copy an array of {src.dtype!r} of shape {src.shape} to one of {dest.dtype!r} of shape {dest.shape}"
        )
    dest.check_writable()
    if active.recorder is not None:
        refuse_gradient(dest, src)
        target = dest.data if hasattr(dest, "indices") else dest
        active.recorder.record_write(target, "a copy from or to an indexed array")
    if hasattr(dest, "indices"):
        announce(dest.data)
        capturing.perform(lambda: dest.write_host(src.host()))
    else:
        transfer(dest, src)


def refuse_gradient(*arrays: Any) -> None:
    """Raise RuntimeError if an operation that a tape cannot differentiate concerns gradients."""
    if any(a.requires_grad for a in arrays):
        raise RuntimeError(
            "copying from or to an indexed array is not differentiable: "
            "use a kernel, or clone(..., requires_grad=False)"
        )
