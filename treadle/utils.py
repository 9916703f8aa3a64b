"""Sums, scans, sorts and the like of whole arrays, as programs call them: ``utils.array_sum(a)``.

They run in NumPy. While a tape records and a gradient is wanted, sums, inner products, scans and casts run as kernels,
which the tape differentiates; sorting is refused then.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from treadle.errors import ArrayError
from treadle.language import BUILTINS, kernel
from treadle.runtime import capturing, elements
from treadle.runtime.array import array
from treadle.runtime.creation import zeros
from treadle.runtime.launch import launch
from treadle.runtime.recording import active
from treadle.runtime.timer import ScopedTimer as ScopedTimer
from treadle.runtime.writes import announce
from treadle.types import array_type, is_scalar, scalars

_tid, _cast, _add = BUILTINS["tid"], BUILTINS["cast"], BUILTINS["atomic_add"]


# -- Kernels, for tapes. Arrays are seen as (before, axis, after, components); ``step`` is 0 for a sum over everything.


@kernel
def _sum(values: array_type(Any, 4), out: array_type(Any, 3)) -> None:  # type: ignore[valid-type]
    i, j, k, c = _tid()
    _add(out, i, k, c, values[i, j, k, c])


@kernel
def _inner(a: array_type(Any, 4), b: array_type(Any, 4), out: array_type(Any, 2)) -> None:  # type: ignore[valid-type]
    i, j, k, c = _tid()
    _add(out, i, k, a[i, j, k, c] * b[i, j, k, c])


@kernel
def _scan(values: array_type(Any, 2), out: array_type(Any, 2), inclusive: bool) -> None:  # type: ignore[valid-type]
    c = _tid()
    total = values[0, c] - values[0, c]
    for i in range(values.shape[0]):
        if inclusive:
            total += values[i, c]
        out[i, c] = total
        if not inclusive:
            total += values[i, c]


@kernel
def _converted(values: array_type(Any, 1), out: array_type(Any, 1)) -> None:  # type: ignore[valid-type]
    i = _tid()
    out[i] = _cast(values[i], out.dtype)


# -- Reductions


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of all elements, or along one axis.

    Without ``out`` and ``axis`` the result is a number, or for vectors and matrices a NumPy array. With ``out`` the sum
    is written to that array, which has one element, or the extent 1 along ``axis``; without ``out`` an array like
    that is made. ``value_count``: only so many of the first elements (along the axis, if there is one). On a tape, a
    sum written to an array is differentiable. Raises ArrayError for what does not fit.
    """
    _numeric(values)
    values, shape = _reduced(values, value_count, axis)
    if out is None and axis is None:
        _refuse_capture("array_sum")
        summed = values.host().sum(axis=tuple(range(values.ndim)), dtype=values.host().dtype)
        return summed.item() if not summed.ndim else summed
    result = _target(out, values, shape, values.dtype, value_count, axis)
    if _recorded(values, result):
        result.zero_()
        source = _blocks(values, axis)
        launch(_sum, source.shape, [source, _as_shape(result, (source.shape[0], source.shape[2], source.shape[3]))])
    else:
        axes = tuple(range(values.ndim)) if axis is None else axis
        _write(result, lambda: values.host().sum(axis=axes, dtype=values.host().dtype).reshape(result.host().shape))
    return result


def array_inner(
    a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None
) -> Any:
    """The inner product of two arrays of one shape and dtype: of all elements, or along one axis.

    ``out``, ``count`` and ``axis`` are as for ``array_sum``; the results are scalars, for vectors too.
    """
    _numeric(a)
    if a.shape != b.shape or a.dtype is not b.dtype:
        raise ArrayError(f"array_inner: {a.dtype!r} {a.shape} and {b.dtype!r} {b.shape} do not go together")
    (a, shape), (b, _) = _reduced(a, count, axis), _reduced(b, count, axis)
    first, second = _blocks(a, axis), _blocks(b, axis)

    def products() -> Any:
        return np.einsum("ijkc,ijkc->ik", first.host(), second.host())

    if out is None and axis is None:
        _refuse_capture("array_inner")
        return products().item()
    result = _target(out, a, shape, first.dtype, count, axis)
    if _recorded(a, result) or _recorded(b, result):
        result.zero_()
        launch(_inner, first.shape, [first, second, _as_shape(result, (first.shape[0], first.shape[2]))])
    else:
        _write(result, lambda: products().reshape(result.shape))
    return result


def array_scan(in_array: array, out_array: array, inclusive: bool = True) -> None:
    """The running sum of a one-dimensional array, with each element included or only those before it.

    Raises ArrayError if the arrays differ in size or dtype.
    """
    if in_array.ndim != 1 or in_array.shape != out_array.shape or in_array.dtype is not out_array.dtype:
        raise ArrayError("array_scan: two one-dimensional arrays of the same size and dtype are needed")
    if not in_array.size:
        return
    if _recorded(in_array, out_array):
        length = elements.layout(in_array.dtype).shape
        width = math.prod(length)
        shape = (in_array.size, width)
        launch(_scan, width, [_as_shape(in_array, shape), _as_shape(out_array, shape), inclusive])
        return

    def scanned() -> Any:
        sums = np.cumsum(in_array.host(), axis=0, dtype=in_array.host().dtype)
        if inclusive:
            return sums
        return np.concatenate((np.zeros_like(sums[:1]), sums[:-1]))

    _write(out_array, scanned)


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Copy elements to an array of another dtype, converted. ``count``: only so many of the first.

    Raises ArrayError if the arrays do not have the same number of scalars.
    """
    source, target = (_as_shape(a, None) for a in (in_array, out_array))
    if count is not None:
        width = math.prod(elements.layout(in_array.dtype).shape)
        source, target = source[: count * width], target[: count * width]
    if source.size != target.size:
        raise ArrayError(f"array_cast: {source.size} scalars cannot be copied to {target.size}")
    if not source.size:
        return
    if _recorded(source, target):
        launch(_converted, source.size, [source, target])
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            _write(target, lambda: source.host())


# -- Sorting


def radix_sort_pairs(keys: array, values: array, count: int) -> None:
    """Sort the first ``count`` keys, in place, and the values with them; equal keys keep their order.

    Raises ArrayError for arrays that are shorter, and where a tape would need a gradient.
    """
    _check_pairs("radix_sort_pairs", keys, values, count)
    _sort(keys, values, np.zeros(1, np.int64), np.full(1, count))


def segmented_sort_pairs(
    keys: array, values: array, count: int, segment_start_indices: array, segment_end_indices: array | None = None
) -> None:
    """Sort as ``radix_sort_pairs`` does, but each segment of the pairs for itself.

    A segment reaches to the start of the next one, unless ends are given; the last start is then no start but an end.
    """
    _check_pairs("segmented_sort_pairs", keys, values, count)
    starts = segment_start_indices.host()
    if segment_end_indices is None:
        starts, ends = starts[:-1], starts[1:]
    else:
        ends = segment_end_indices.host()
    _sort(keys, values, starts, ends)


def _check_pairs(name: str, keys: array, values: array, count: int) -> None:
    if keys.ndim != 1 or values.ndim != 1 or not is_scalar(keys.dtype):
        raise ArrayError(f"{name}: keys are a one-dimensional array of numbers, and values one-dimensional")
    if not 0 <= count <= min(keys.size, values.size):
        raise ArrayError(f"{name}: there are {keys.size} keys and {values.size} values, fewer than {count}")
    if _recorded(keys, values):
        raise ArrayError(f"{name} is not differentiable; sort outside the tape, and gather in a kernel")


def _sort(keys: array, values: array, starts: Any, ends: Any) -> None:
    def sorted_pairs() -> None:
        for begin, end in zip(starts.tolist(), ends.tolist()):
            order = np.argsort(keys.host()[begin:end], kind="stable")
            for part in (keys.host()[begin:end], values.host()[begin:end]):
                part[...] = part[order]

    _touch(keys)
    _touch(values)
    capturing.perform(sorted_pairs)


def runlength_encode(
    values: array,
    run_values: array,
    run_lengths: array,
    run_count: array | None = None,
    value_count: int | None = None,
) -> Any:
    """Write the distinct values of runs of equal neighbours, and the lengths of the runs.

    Returns the number of runs; with ``run_count`` it is written to that array, which is returned. ``value_count``: only
    so many of the first values. Raises ArrayError if there are more runs than room for them.
    """
    _refuse_capture("runlength_encode")
    host = values.host()[: values.size if value_count is None else value_count]
    change = np.flatnonzero(host[1:] != host[:-1]) + 1
    starts = np.concatenate((np.zeros(min(1, len(host)), np.int64), change))
    lengths = np.diff(np.append(starts, len(host)))
    count = len(starts)
    room = min(run_values.size, run_lengths.size)
    if count > room:
        raise ArrayError(f"runlength_encode: {count} runs do not fit in arrays of {room} elements")
    if count:
        _write(run_values[:count], lambda: host[starts])
        _write(run_lengths[:count], lambda: lengths)
    if run_count is None:
        return count
    run_count.fill_(count)
    return run_count


# -- Shared


def _numeric(values: array) -> None:
    if elements.layout(values.dtype).scalar in (None, scalars.bfloat16, scalars.bool_):
        raise ArrayError(f"sums are of numbers, vectors and matrices, not of {values.dtype!r}")


def _recorded(source: array, target: array) -> bool:
    """Whether a tape will want the gradient of what is about to be written."""
    return active.recorder is not None and (source.requires_grad or target.requires_grad)


def _refuse_capture(name: str) -> None:
    """Refuse what gives Python a value, while a graph is captured, in which nothing has a value yet."""
    if capturing.active.capture is not None:
        raise ArrayError(f"{name} cannot return a value while a graph is captured; give it an array to write to")


def _touch(target: array) -> None:
    """Before elements are written by other means than kernels, copies and fills."""
    target.check_writable()
    if active.recorder is not None:
        active.recorder.record_write(target, "a function of treadle.utils")
    announce(target)


def _write(target: array, values: Any) -> None:
    """Write what ``values()`` returns, now or when a captured graph is replayed."""
    _touch(target)
    host = target.host()
    capturing.perform(partial(_assign, host, values), target)


def _assign(host: Any, values: Any) -> None:
    host[...] = values()


def _as_shape(a: array, shape: tuple[int, ...] | None) -> array:
    """The scalars of an array, seen in a shape; None: one-dimensional."""
    flat = a if is_scalar(a.dtype) and a.ndim == 1 else a.components()
    return flat if shape is None or shape == flat.shape else flat.reshape(shape)


def _blocks(a: array, axis: int | None) -> array:
    """The scalars of a contiguous array as (before, axis, after, components)."""
    components = math.prod(elements.layout(a.dtype).shape)
    if axis is None:
        return _as_shape(a, (1, a.size, 1, components))
    before, after = math.prod(a.shape[:axis]), math.prod(a.shape[axis + 1 :])
    return _as_shape(a, (before, a.shape[axis], after, components))


def _reduced(a: array, count: int | None, axis: int | None) -> tuple[array, tuple[int, ...]]:
    """The elements that count, contiguous, and the shape of the result."""
    if axis is not None and not 0 <= axis < a.ndim:
        raise ArrayError(f"there is no axis {axis} in an array of {a.ndim} dimension(s)")
    if count is not None:
        if not 0 <= count <= (a.size if axis is None else a.shape[axis]):
            raise ArrayError(f"the array has fewer than {count} elements")
        if axis is None:
            a = a.flatten()[:count]
        else:
            a = a[(slice(None),) * axis + (slice(0, count),)]
    if not a.is_contiguous:
        a = a.contiguous()
    return a, (1,) if axis is None else (*a.shape[:axis], 1, *a.shape[axis + 1 :])


def _target(out: Any, source: array, shape: tuple[int, ...], dtype: Any, count: int | None, axis: int | None) -> array:
    """The array for a result, checked if it was given."""
    if out is None:
        return zeros(shape, dtype=dtype, requires_grad=source.requires_grad)
    if out.dtype is not dtype or (out.shape != shape and not (axis is None and out.size == 1)):
        found = f"{out.dtype!r} of shape {out.shape}"
        raise ArrayError(f"out must be an array of {dtype!r} of shape {shape}, not of {found}")
    if not out.is_contiguous:
        raise ArrayError("out must be contiguous")
    result: array = out
    return result
