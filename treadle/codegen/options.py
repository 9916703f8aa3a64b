"""The options of code generation. They are part of the key under which machine code is cached."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """How a kernel is compiled.

    ``fast_math``: let LLVM reorder and approximate floating-point arithmetic, and assume that
    there are no NaNs and infinities. Otherwise each operation is rounded by itself, as NumPy does: ``a * b`` and
    ``c * d`` are equal where their factors are, and an adjoint that runs a kernel again computes the same numbers.
    ``is_alone``: whoever runs it sees to it that nothing else runs at the same time that touches the same
    memory, so that atomics can be plain loads and stores.
    """

    fast_math: bool = False
    is_alone: bool = False

    @property
    def float_flags(self) -> str:
        """The flags of floating-point instructions, with a space at the end."""
        return "fast " if self.fast_math else ""
