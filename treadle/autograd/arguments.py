"""A function under test: its arguments as vectors of float components, and how to evaluate it.

Before every evaluation all arrays are set to what they held at the beginning, so that kernels that
work in place, or add to their outputs, are functions of their inputs; afterwards they are restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Union

import numpy as np

from treadle.language.functions import Kernel
from treadle.runtime.array import array
from treadle.runtime.launch import launch
from treadle.types import bfloat16, bfloat16_bits, bfloat16_values, scalars

Numbers = np.ndarray[Any, Any]
Mask = Optional[Sequence[Union[tuple[Union[int, str], Union[int, str]], list[Any]]]]


class Argument:
    """An input or output: all float arrays in it (several, for a struct) as one vector of components."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.arrays = list(_float_arrays(value))
        self._initial = [a.host().copy() for a in self.arrays]

    @property
    def requires_grad(self) -> bool:
        return bool(self.arrays) and all(a.requires_grad for a in self.arrays)

    @property
    def size(self) -> int:
        """The number of components."""
        return sum(components_of(a).size for a in self.arrays)

    @property
    def dtype(self) -> Any:
        """float64 if any component is, else float32: the dtype of Jacobians."""
        wide = any(_scalar(a.dtype) is scalars.float64 for a in self.arrays)
        return scalars.float64 if wide else scalars.float32

    def values(self) -> Numbers:
        """The components, as float64."""
        return np.concatenate([components_of(a) for a in self.arrays]) if self.arrays else np.zeros(0)

    def gradient(self) -> Numbers:
        """The components of the gradient, as float64."""
        return np.concatenate([components_of(a.grad) for a in self.arrays])

    def set_values(self, values: Numbers) -> None:
        """Write all components."""
        start = 0
        for a in self.arrays:
            size = components_of(a).size
            _write_components(a, values[start : start + size])
            start += size

    def seeds(self, component: int) -> dict[array, Numbers]:
        """Gradients that are 1 in one component and 0 elsewhere."""
        seeds: dict[array, Numbers] = {}
        for a in self.arrays:
            unit = np.zeros(components_of(a).size)
            if 0 <= component < unit.size:
                unit[component] = 1.0
            component -= unit.size
            seeds[a] = unit
        return seeds

    def restore(self) -> None:
        """Set the arrays to what they held at the beginning."""
        for a, initial in zip(self.arrays, self._initial):
            a.host()[...] = initial

    def locate(self, component: int) -> str:
        """Where a component is, for messages."""
        for a in self.arrays:
            size = components_of(a).size
            if component < size:
                index = np.unravel_index(component, a.host().shape)
                return f"[{', '.join(str(int(k)) for k in index)}]"
            component -= size
        return "[]"


def _float_arrays(value: Any) -> Iterator[array]:
    if isinstance(value, array):
        if _scalar(value.dtype) is not None:
            yield value
    elif hasattr(type(value), "fields"):
        for name in type(value).fields:
            yield from _float_arrays(getattr(value, name))


def _scalar(dtype: Any) -> Any:
    """The float type of the components of a dtype; None if they are no floats."""
    scalar = dtype if scalars.is_scalar(dtype) else getattr(dtype, "dtype", None)
    return scalar if scalar is not None and scalar.is_float else None


def components_of(a: Any) -> Numbers:
    """All components of an array in C order, as float64."""
    host = a.host()
    raw = bfloat16_values(host) if _scalar(a.dtype) is bfloat16 else host
    return np.asarray(raw, np.float64).reshape(-1)


def _write_components(a: array, values: Numbers) -> None:
    host = a.host()
    raw = bfloat16_bits(values.astype(np.float32)) if _scalar(a.dtype) is bfloat16 else values
    host[...] = raw.reshape(host.shape)


class Subject:
    """A kernel, or a Python function of arrays that launches kernels, with its arguments.

    A kernel needs ``dim``, and its arguments are ``inputs`` then ``outputs``. A Python function is called
    with the inputs, and the outputs if there are any; else it returns them.
    """

    def __init__(
        self,
        function: Any,
        dim: Any,
        inputs: Optional[Sequence[Any]],
        outputs: Optional[Sequence[Any]],
        launch_options: Mapping[str, Any],
    ) -> None:
        self.function = function
        self.dim = dim
        self.raw_inputs = list(inputs or ())
        self.raw_outputs = None if outputs is None else list(outputs)
        self.launch_options = dict(launch_options)
        if isinstance(function, Kernel):
            if dim is None:
                raise ValueError(f"kernel {function.name}: dim is needed")
            names = list(function.parameter_names)
        else:
            code = getattr(function, "__code__", None)
            names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
            names = list(getattr(function, "argument_names", names))
        count = len(self.raw_inputs)
        names += [f"argument {k}" for k in range(len(names), count + len(self.raw_outputs or ()))]
        self.inputs = [Argument(n, v) for n, v in zip(names, self.raw_inputs)]
        self.given_outputs = [Argument(n, v) for n, v in zip(names[count:], self.raw_outputs or ())]

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", self.function))

    def output_name(self, position: int) -> str:
        """What an output is called."""
        if position < len(self.given_outputs):
            return self.given_outputs[position].name
        names = getattr(self.function, "output_names", ())
        return str(names[position]) if position < len(names) else f"output {position}"

    def run(self) -> list[Argument]:
        """Evaluate at the present values of the inputs; returns the outputs."""
        if isinstance(self.function, Kernel):
            launch(self.function, self.dim, self.raw_inputs, self.raw_outputs or (), **self.launch_options)
            return self.given_outputs
        if self.raw_outputs is not None:
            self.function(*self.raw_inputs, *self.raw_outputs)
            return self.given_outputs
        result = self.function(*self.raw_inputs)
        results = result if isinstance(result, (tuple, list)) else (result,)
        return [Argument(self.output_name(k), value) for k, value in enumerate(results)]

    def restore(self) -> None:
        """Set all arguments to what they held at the beginning."""
        for argument in (*self.inputs, *self.given_outputs):
            argument.restore()

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """A block after which the arguments, and their gradients, are as before."""
        arguments = (*self.inputs, *self.given_outputs)
        gradients = [(a.grad, a.grad.host().copy()) for x in arguments for a in x.arrays if a.grad is not None]
        try:
            yield
        finally:
            self.restore()
            for gradient, before in gradients:
                gradient.host()[...] = before

    def selected(self, mask: Mask, outputs: Sequence[Argument]) -> list[tuple[int, int]]:
        """The pairs (input, output) to evaluate: of a mask of indices or names, or all that have floats."""
        chosen = None
        if mask is not None:
            chosen = {(_position(i, self.inputs), _position(o, outputs)) for i, o in mask}
        return [
            (i, o)
            for i, x in enumerate(self.inputs)
            for o, y in enumerate(outputs)
            if x.requires_grad and y.arrays and (chosen is None or (i, o) in chosen)
        ]


def _position(key: int | str, arguments: Sequence[Argument]) -> int:
    if isinstance(key, int):
        return key
    for position, argument in enumerate(arguments):
        if argument.name == key:
            return position
    raise ValueError(f"there is no argument {key!r} among {', '.join(a.name for a in arguments)}")


def limited(size: int, most: int) -> range:
    """The components to evaluate: all, or the first ``most`` if that is not negative."""
    return range(size if most < 0 else min(size, most))
