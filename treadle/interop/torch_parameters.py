"""What each parameter of a kernel is in an operator of PyTorch made by ``torch_op``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treadle.interop.dims import Shape
from treadle.language.functions import Kernel
from treadle.runtime.elements import layout
from treadle.types import float32, generics, int32

__all__ = ["Parameter", "parameters_of"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel.

    ``role``: ``"in"``, ``"updated"`` or ``"out"``. ``ndim``: of an array, else -1. ``components``: the shape of an
    element, or of a vector or matrix that is passed by value. ``schema``: its type in PyTorch's registry.
    """

    name: str
    type: Any
    role: str
    ndim: int
    components: Shape
    schema: str

    @property
    def is_array(self) -> bool:
        return self.ndim >= 0


def parameters_of(kernel: Kernel, num_outputs: int, in_out: Sequence[str]) -> list[Parameter]:
    """The parameters of a kernel with their roles. Raises TypeError or ValueError for what cannot be an operator."""
    where, types = f"kernel {kernel.key}", kernel.parameter_types
    names = (in_out,) if isinstance(in_out, str) else tuple(in_out)
    unknown = [name for name in names if name not in types]
    if unknown:
        raise ValueError(f"{where}: in_out_argnames has {unknown[0]!r}; the parameters are {', '.join(types)}")
    count = len(types) - num_outputs + len(names)
    if not max(1, len(names)) <= num_outputs or count < 0:
        raise ValueError(
            f"{where}: num_outputs is {num_outputs}; there are {len(types)} parameters, {len(names)} of them in-out, "
            "and at least one output is needed"
        )
    found = []
    for position, (name, type_) in enumerate(types.items()):
        if name in names and position >= count:
            raise ValueError(f"{where}: in-out parameter {name} must come before the outputs")
        role = "updated" if name in names else "in" if position < count else "out"
        found.append(_parameter(f"{where}, parameter {name}", name, type_, role))
    return found


def _parameter(where: str, name: str, type_: Any, role: str) -> Parameter:
    kind = getattr(type_, "kind", "")
    if kind == "array":
        is_open = generics.is_generic(type_)
        if role != "in" and is_open:
            raise TypeError(f"{where}: the type of an output must be known; fix it with overload")
        element = None if is_open else layout(type_.dtype)
        if element is not None and element.scalar is None:
            raise TypeError(f"{where}: PyTorch has no tensors of structs")
        if element is None and not generics.matches(type_.dtype, _scalar_of(type_.dtype)):
            raise TypeError(f"{where}: the type {type_} is open; fix it with overload")
        return Parameter(name, type_, role, type_.ndim, element.shape if element else (), "Tensor")
    if role != "in":
        raise TypeError(f"{where}: an output must be an array")
    if type_ is Any or kind in ("struct", ""):
        raise TypeError(f"{where}: {type_} cannot be a parameter of an operator of PyTorch")
    scalar = layout(type_).scalar
    schema = {"bool": "bool", "float": "float"}.get(scalar.kind, "SymInt")
    components = layout(type_).shape
    return Parameter(name, type_, role, -1, components, schema + "[]" if components else schema)


def _scalar_of(dtype: Any) -> Any:
    """A scalar type that an open type of scalars would take."""
    return float32 if generics.matches(dtype, float32) else int32
