"""Finds out which arrays a kernel may read after it has written to others, or to themselves.

Of two parameters that turn out to share memory at a launch, the contents before the launch are
what the kernel read only if no such read comes after a write.
"""

from __future__ import annotations

from treadle.ir.core import Block, Function, Op
from treadle.ir.depth import deep
from treadle.passes.access import Origins, Place
from treadle.types.storage import ArrayRef

Pair = tuple[str, str]


@deep
def read_after_write(function: Function, members: bool = False) -> frozenset[Pair]:
    """Pairs (read, written) of array labels such that a thread may read the one after writing the other.

    ``members``: after writing, instead, to arrays that are members of structs in the elements of the other.
    """
    walk = _Walk(Origins(function))
    walk.block(function.body, frozenset())
    return frozenset(
        (read, written) for (read, inside), (written, within) in walk.pairs if not inside and within == members
    )


class _Walk:
    """Walks in program order with the set of places written so far."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins.places
        self.pairs: set[tuple[Place, Place]] = set()

    def block(self, block: Block, written: frozenset[Place]) -> frozenset[Place]:
        """Walk a block; returns what may have been written by its end."""
        for op in block.ops:
            written = self.op(op, written)
        return written

    def op(self, op: Op, written: frozenset[Place]) -> frozenset[Place]:
        if op.name == "if":
            return self.block(op.blocks[0], written) | self.block(op.blocks[1], written)
        if op.blocks:
            # An iteration reads after the writes of those before it.
            for block in op.blocks:
                written = written.union(*(self.writes(inner) for inner in block.walk()))
            for block in op.blocks:
                self.block(block, written)
            return written
        written_here = self.writes(op)
        if op.name == "load":
            self.pairs.update((read, w) for read in self.origins(op.operands[0]) for w in written)
        elif op.name in ("call", "native"):
            self.pairs.update((read, w) for read in written_here for w in written | written_here)
        return written | written_here

    def writes(self, op: Op) -> frozenset[Place]:
        """What an op may write itself; a call, of C++ too, is taken to write all arrays given to it."""
        if op.name in ("call", "native"):
            given = [v for v in op.operands if isinstance(v.type, ArrayRef)]
            return frozenset().union(*(self.origins(v, inside) for v in given for inside in (False, True)))
        return frozenset(self.origins(op.operands[0])) if op.name in ("store", "atomic") else frozenset()
