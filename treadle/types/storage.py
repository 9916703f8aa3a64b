"""The types that values have in the IR besides scalars: large aggregates and array handles.

The IR is kept simpler than the language. A small composite (a vector, matrix, quaternion,
struct) is taken apart by the frontend into its scalars and never reaches the IR; only a
composite of more than ``LARGE`` scalars stays in one piece, as an ``Aggregate``.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.types.scalars import ScalarMeta

# The number of scalars above which a composite is kept in one piece. A 6x6 matrix is still
# taken apart; straight-line code for much larger ones would compile slowly.
LARGE = 36


@dataclass(frozen=True)
class Aggregate:
    """``count`` scalars of one type, handled as one value. Elementwise primitives apply to it."""

    scalar: ScalarMeta
    count: int

    @property
    def size(self) -> int:
        return self.scalar.size * self.count

    def __str__(self) -> str:
        return f"agg<{self.scalar.short}, {self.count}>"


@dataclass(frozen=True)
class ArrayRef:
    """A handle of an array: data pointer, shape and strides.

    ``itemsize`` is in bytes. ``contiguous`` says that the strides follow from the shape (C
    order), which is what makes SIMD loads.
    """

    ndim: int
    itemsize: int
    contiguous: bool = False

    def __str__(self) -> str:
        return f"array<{self.ndim}, {self.itemsize}{', contiguous' if self.contiguous else ''}>"


StorageType = ScalarMeta | Aggregate | ArrayRef
"""What the type of an IR value can be."""

# In memory (a struct that has an array as a member) an array handle is: data pointer,
# gradient pointer, four extents, four strides in bytes; all 64 bits.
ARRAY_DESCRIPTOR_SIZE = 80
