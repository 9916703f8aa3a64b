"""Searching arrays that are sorted."""

from __future__ import annotations

from treadle.language.builtins import builtin
from treadle.types import AnyScalar as Scalar
from treadle.types import array_type, int32


@builtin(name="lower_bound")
def lower_bound_in_range(arr: array_type(Scalar, 1), arr_begin: int32, arr_end: int32, value: Scalar):
    """The first index from ``arr_begin`` on with ``arr[i] >= value``; the last one before ``arr_end`` if there is none.

    So it is an index of the range in any case, unless that is empty.
    """
    low = arr_begin
    high = arr_end - 1
    while low < high:
        middle = low + ((high - low) >> 1)
        if arr[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@builtin
def lower_bound(arr: array_type(Scalar, 1), value: Scalar):
    """The first index with ``arr[i] >= value`` in a sorted array; the last index if there is none."""
    return lower_bound_in_range(arr, 0, arr.shape[0], value)
