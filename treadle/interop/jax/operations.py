"""A program applied to arrays of known shapes, as a function of JAX that can be differentiated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax

from treadle.interop.jax.calls import Settings, Shape, call_target
from treadle.interop.jax.handler import call_words
from treadle.interop.jax.programs import Parameter, Program, Role
from treadle.interop.jax.targets import target
from treadle.types.storage import Aggregate


class Operation:
    """A program with everything that is known when it is traced.

    ``shapes``: the foreign shape of each array and traced parameter of the kernel. ``values``: the leaf values of each
    static one. Both by label.
    """

    def __init__(
        self, program: Program, shapes: Mapping[str, Shape], values: Mapping[str, Sequence[Any]], settings: Settings
    ) -> None:
        self.program = program
        self.shapes = shapes
        self.values = values
        self.settings = settings
        self.words = self._words()
        self.run: Callable[..., list[Any]] = jax.jit(self.call, inline=True)
        """Takes the operands, and returns all results. No derivative passes through this."""

    @cached_property
    def apply(self) -> Callable[..., list[Any]]:
        """As ``run``, and can be differentiated."""
        if not any(p.is_float for p in self.program.operands):
            return self.run
        compiled: Callable[..., list[Any]] = jax.jit(self._differentiable(), inline=True)
        return compiled

    def shape(self, parameter: Parameter) -> Shape:
        """The foreign shape of a parameter."""
        return self.shapes[parameter.origin]

    def _words(self) -> Any:
        leaves: list[Any] = []
        for p in self.program.parameters:
            if p.is_array:
                extents = self.shape(p)[: p.ndim] if p.ndim else (p.count,)
                leaves += [0, *extents, *(0 for _ in extents)]  # no strides: all arrays are contiguous
            elif p.role is Role.STATIC:
                leaves += self.values[p.label]
            else:
                leaves += [bytes(t.size) if isinstance(t, Aggregate) else 0 for t in p.types]
        extents = self.settings.extents
        packed = self.program.executable.packer.pack(extents, leaves)
        operands = [self._nbytes(p) for p in self.program.operands]
        results = [self._nbytes(p) for p in self.program.results]
        zeros = [
            0 if p.role is Role.UPDATED or (p.covered and self.shape(p)[: p.ndim] == extents) else size
            for p, size in zip(self.program.results, results)
        ]
        return call_words(self.program, packed, math.prod(extents), operands, results, zeros)

    def _nbytes(self, parameter: Parameter) -> int:
        return math.prod(self.shape(parameter)) * parameter.dtype.itemsize

    def call(self, *operands: Any) -> list[Any]:
        """Run the program, at once or as part of what is being traced."""
        program = self.program
        return call_target(target(program), program.parameters, self.shapes, self.settings, operands, words=self.words)

    def _differentiable(self) -> Callable[..., list[Any]]:
        function: Any = jax.custom_vjp(lambda *operands: self.call(*operands))

        def forward(*operands: Any) -> tuple[list[Any], list[Any]]:
            results = function(*operands)
            known = {("operand", p.label): v for p, v in zip(self.program.operands, operands)}
            known |= {("result", p.label): v for p, v in zip(self.program.results, results)}
            sources = self.program.derivative.sources
            return results, [known[s.kind, s.label] for s in sources if s.kind != "cotangent"]

        def backward(kept: list[Any], cotangents: list[Any]) -> tuple[Any, ...]:
            derivative = self.program.derivative
            incoming = {p.label: g for p, g in zip(self.program.results, cotangents)}
            saved = iter(kept)
            operands = [incoming[s.label] if s.kind == "cotangent" else next(saved) for s in derivative.sources]
            results = dict(zip([p.label for p in derivative.program.results], self.derivative.apply(*operands)))
            found = derivative.gradients
            return tuple(results[found[p.label]] if p.label in found else None for p in self.program.operands)

        function.defvjp(forward, backward)
        differentiable: Callable[..., list[Any]] = function
        return differentiable

    @cached_property
    def derivative(self) -> Operation:
        """The operation that computes the gradients of the operands."""
        settings = replace(self.settings, has_side_effect=False)
        return Operation(self.program.derivative.program, self.shapes, self.values, settings)
