"""Programs: what machine code a call needs and what each parameter is for, apart from shapes. And their derivatives.

A program is a kernel, the adjoint of one, or the adjoint of that. It knows nothing of JAX.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from treadle import passes
from treadle.ad import DerivativeError
from treadle.ad.adjoint import adjoint_kernel, check_available
from treadle.ad.companions import ADJOINT_LABEL
from treadle.codegen.locks import compiling
from treadle.interop.jax.arrays import numpy_dtype
from treadle.interop.jax.coverage import covered
from treadle.interop.jax.promotion import promoted
from treadle.ir.core import Function
from treadle.runtime.compiler import CompiledKernel, Executable
from treadle.runtime.elements import layout
from treadle.types.layout import leaves
from treadle.types.storage import ArrayRef, StorageType


class Role(Enum):
    """What a call provides for a parameter.

    Arrays: INPUT is an operand; UPDATED an operand that is copied into a result, which the kernel changes; OUTPUT a
    result; ABSENT has a shape and no contents, since nothing accesses it. Other parameters: STATIC has a value that
    is known when the call is compiled; TRACED is read from an operand at each call.
    """

    INPUT = "input"
    UPDATED = "updated"
    OUTPUT = "output"
    ABSENT = "absent"
    STATIC = "static"
    TRACED = "traced"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel as JAX sees it; one of several leaves is still one parameter.

    ``dtype``: that of the foreign array; ``components``: its trailing dimensions that are one element;
    ``ndim``: the dimensions before, 0 for what is no array. ``types``: the types of its leaves in the IR.
    ``kept``: whether anyone wants the result. ``covered``: every element is written if the array has the extents
    of the launch. ``count``: the elements of what is an array in the IR alone.
    """

    label: str
    role: Role
    types: tuple[StorageType, ...]
    dtype: np.dtype[Any]
    components: tuple[int, ...] = ()
    ndim: int = 0
    kept: bool = True
    covered: bool = False
    count: int = 0

    @property
    def is_operand(self) -> bool:
        return self.role in (Role.INPUT, Role.UPDATED, Role.TRACED)

    @property
    def is_result(self) -> bool:
        return self.role in (Role.UPDATED, Role.OUTPUT)

    @property
    def is_array(self) -> bool:
        """Whether the parameter is an array in the IR."""
        return isinstance(self.types[0], ArrayRef)

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f" or self.dtype.name == "bfloat16"

    @property
    def rank(self) -> int:
        """The dimensions of the foreign array."""
        return self.ndim + len(self.components)

    @property
    def origin(self) -> str:
        """The label of the kernel's parameter that has this shape."""
        return self.label.rpartition(":")[2]

    def in_memory(self) -> Parameter:
        """The parameter for a scalar or composite that was moved into an array."""
        return replace(self, role=Role.INPUT, types=(ArrayRef(1, self.types[0].size, True),), count=len(self.types))  # type: ignore[union-attr]


def array_parameter(label: str, role: Role, type_: Any, is_covered: bool = False) -> Parameter:
    """The parameter for an array of the language type ``type_``."""
    element = layout(type_.dtype)
    types = (ArrayRef(type_.ndim, element.size, True),)
    return Parameter(label, role, types, numpy_dtype(element.scalar), element.shape, type_.ndim, covered=is_covered)


def value_parameter(label: str, role: Role, type_: Any) -> Parameter:
    """The parameter for a scalar, composite or (static only) struct."""
    types = tuple(leaf.type for leaf in leaves(type_))
    if type_.kind == "struct":
        return Parameter(label, role, types, np.dtype(np.void))
    element = layout(type_)
    return Parameter(label, role, types, numpy_dtype(element.scalar), element.shape)


class Program:
    """Machine code with its parameters, in order. ``purpose`` tells the programs of one kernel apart."""

    def __init__(
        self,
        compiled: CompiledKernel,
        parameters: tuple[Parameter, ...],
        purpose: str,
        executable: Executable,
        function: Callable[[], Function],
        rereads: frozenset[str],
        order: int = 0,
    ) -> None:
        self.compiled = compiled
        self.parameters = parameters
        self.purpose = purpose
        self.executable = executable
        self.rereads = rereads
        """Labels of arrays that a thread may read after it has written to them."""
        self.order = order
        """How often the kernel was differentiated."""
        self.operands = tuple(p for p in parameters if p.is_operand)
        self.results = tuple(p for p in parameters if p.is_result)
        self._make_function = function

    @cached_property
    def function(self) -> Function:
        """The IR, ready for the derivative transform."""
        return self._make_function()

    @property
    def name(self) -> str:
        """A name that is the same in all processes that run the same program."""
        compiled = self.compiled
        roles = ",".join(f"{p.label}:{p.role.value}" for p in self.parameters)
        own = f"{compiled.kernel.key};{compiled.variant.describe()};{self.purpose}"  # of what cannot be in the cache
        key = compiled.derived_key(self.purpose) or own
        digest = hashlib.sha256(f"{key};{roles}".encode()).hexdigest()
        return f"treadle.{compiled.kernel.name}.{digest[:24]}"

    @cached_property
    def derivative(self) -> Derivative:
        """The program that computes gradients.

        Raises:
            DerivativeError: there is none.
        """
        with compiling:
            return _derive(self)


@dataclass(frozen=True)
class Source:
    """Where an operand of a derivative comes from: "operand", "result" or "cotangent" of the program differentiated."""

    kind: str
    label: str


@dataclass(frozen=True)
class Derivative:
    """``sources``: of the operands of ``program``, in order. ``gradients``: from operands of the program that was
    differentiated to the results of ``program`` that are their gradients, by label."""

    program: Program
    sources: tuple[Source, ...]
    gradients: dict[str, str]


def kernel_program(compiled: CompiledKernel, parameters: Iterable[Parameter]) -> Program:
    """The program that is a kernel itself."""
    whole = covered(compiled.function(), compiled.variant.launch_ndim)
    marked = tuple(replace(p, covered=p.label in whole) if p.role is Role.OUTPUT else p for p in parameters)
    rereads = frozenset(read for read, written in compiled.hazards if read == written)
    return Program(compiled, marked, "forward", compiled.forward, compiled.function, rereads)


@dataclass(frozen=True)
class _Adjoint:
    """The adjoint of a program, compiled, and what is known of it.

    ``primal``: the parameters of the program, those moved into memory as arrays. ``active``: labels of those with a
    gradient. ``scratch``: of those that the adjoint writes to and reads again. ``facts``: see ``_facts``.
    """

    purpose: str
    primal: tuple[Parameter, ...]
    active: frozenset[str]
    scratch: frozenset[str]
    function: Callable[[], Function]
    executable: Executable
    facts: dict[str, Any]


def _derive(program: Program) -> Derivative:
    kernel = program.compiled.kernel
    if not program.compiled.options["enable_backward"]:
        raise DerivativeError(
            f"kernel {kernel.key} was made with enable_backward=False, so no gradient passes through it"
        )
    if any(op.name == "log_read" for op in program.function.body.walk()):
        raise DerivativeError(
            f"kernel {kernel.key}: a derivative of its gradient is not supported, since it reads in a loop what "
            "it has written to an array"
        )
    scratch: frozenset[str] = frozenset()
    adjoint = _compile_adjoint(program, scratch)
    while more := program.rereads.intersection(adjoint.facts["needed"]) - scratch:
        scratch |= more
        adjoint = _compile_adjoint(program, scratch)
    facts = adjoint.facts
    if facts["reads_log"]:
        raise DerivativeError(
            f"kernel {kernel.key}: the gradient needs the values that its atomics returned, which only a launch "
            "recorded by a Tape keeps"
        )
    results = {p.label for p in program.results}
    both = sorted(results.intersection(facts["needed"], facts["needed_after"]))
    if both:
        held = ", ".join(both)
        raise DerivativeError(
            f"kernel {kernel.key}: the gradient needs what {held} held both before and after the launch"
        )
    return _assemble(program, adjoint)


def _compile_adjoint(program: Program, scratch: frozenset[str]) -> _Adjoint:
    compiled = program.compiled
    moved = frozenset(p.label for p in program.parameters if p.role is Role.TRACED and p.is_float)
    primal = tuple(p.in_memory() if p.label in moved else p for p in program.parameters)
    active = frozenset(p.label for p in primal if p.is_array and p.is_float and p.role is not Role.ABSENT)
    labels = (",".join(sorted(group)) for group in (active, moved, scratch))
    purpose = f"{program.purpose};adjoint:{';'.join(labels)}"

    def raw() -> Function:
        function = adjoint_kernel(promoted(program.function, moved), active, scratch, scratch, True)
        function.labels[count:] = [_gradient_label(program, label) for label in function.labels[count:]]
        return function

    def make() -> tuple[Function, dict[str, Any]]:
        function = passes.finish(raw(), compiled.options)
        passes.dump("ad", compiled.kernel.key, function)
        check_available(function)
        return function, _facts(function)

    count = sum(len(p.types) for p in primal)
    types = [t for p in primal for t in p.types] + [t for p in primal if p.label in active for t in p.types]
    executable, facts = compiled.derive(purpose, types, make)

    def prepared() -> Function:
        return passes.prepare(raw(), compiled.options)

    return _Adjoint(purpose, primal, active, scratch, prepared, executable, facts)


def _gradient_label(program: Program, label: str) -> str:
    """The label of the gradient of a parameter; those of a gradient's gradient have another number."""
    return f"adj{program.order + 1}:{label.removeprefix(ADJOINT_LABEL)}"


def _facts(function: Function) -> dict[str, Any]:
    """What is stored with an adjoint: the arrays of which it reads what they held before the launch, and after it;
    those that it reads again after writing to them; whether it reads what atomics returned."""
    arrays = {label for label, p in zip(function.labels, function.parameters) if isinstance(p.type, ArrayRef)}
    return {
        "needed": sorted(passes.loads_of(function) & arrays),
        "needed_after": sorted(passes.loads_of(function, after=True) & arrays),
        "rereads": sorted(read for read, written in passes.read_after_write(function) if read == written),
        "reads_log": any(op.name == "log_read" and op.attributes["log"] == "launch" for op in function.body.walk()),
    }


def _assemble(program: Program, adjoint: _Adjoint) -> Derivative:
    parameters, sources = [], []
    for original, p in zip(program.parameters, adjoint.primal):
        role, source = _primal_role(original, p, adjoint)
        parameters.append(replace(p, role=role, kept=False, covered=False))
        if source is not None:
            sources.append(source)
    for original, p in zip(program.parameters, adjoint.primal):
        if p.label in adjoint.active:
            consumed = original.is_result and original.kept
            role = Role.UPDATED if consumed else Role.OUTPUT
            label = _gradient_label(program, p.label)
            parameters.append(replace(p, label=label, role=role, kept=original.is_operand, covered=False))
            if consumed:
                sources.append(Source("cotangent", p.label))
    derived = Program(
        program.compiled, tuple(parameters), adjoint.purpose, adjoint.executable, adjoint.function,
        frozenset(adjoint.facts["rereads"]), program.order + 1,
    )  # fmt: skip
    gradients = {p.label: _gradient_label(program, p.label) for p in program.operands if p.label in adjoint.active}
    return Derivative(derived, tuple(sources), gradients)


def _primal_role(original: Parameter, p: Parameter, adjoint: _Adjoint) -> tuple[Role, Source | None]:
    """What the adjoint is given for a parameter of the program, and where that comes from."""
    operand = Source("operand", p.label)
    if not p.is_array:
        return original.role, operand if original.role is Role.TRACED else None
    if p.label in adjoint.scratch:
        return (Role.UPDATED, operand) if original.is_operand else (Role.OUTPUT, None)
    if p.label in adjoint.facts["needed"]:
        # What an output held before the launch: zeros.
        return (Role.INPUT, operand) if original.is_operand else (Role.OUTPUT, None)
    if p.label in adjoint.facts["needed_after"]:
        return Role.INPUT, Source("result", p.label) if original.is_result else operand
    return Role.ABSENT, None
