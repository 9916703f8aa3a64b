"""The dimensions of launches and outputs as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Shape = tuple[int, ...]


def as_shape(dims: Any, what: str) -> Shape:
    """An int or a sequence of ints as a tuple. Raises TypeError for anything else, ValueError for negative extents."""
    try:
        shape = (int(dims.__index__()),) if hasattr(dims, "__index__") else tuple(int(d.__index__()) for d in dims)
    except (AttributeError, TypeError):
        raise TypeError(f"{what} must be an int or a sequence of ints, not {dims!r}") from None
    if any(extent < 0 for extent in shape):
        raise ValueError(f"{what} {dims!r} has a negative extent")
    return shape


def output_shapes(
    dims: Any, outputs: Sequence[tuple[str, int, Shape]], default: Shape | None, where: str
) -> dict[str, Shape]:
    """The shape of each output, without its components.

    ``dims``: an int, a tuple, or a dict of these by name; None is ``default``. ``outputs``: name, number of
    dimensions, and components of each.

    Raises:
        TypeError, ValueError: a dict with other names, or extents that do not fit.
    """
    if isinstance(dims, Mapping):
        names = [name for name, _, _ in outputs]
        unknown = sorted(set(dims) - set(names))
        if unknown:
            wrong = ", ".join(map(str, unknown))
            raise ValueError(f"{where}: output_dims names {wrong}; the outputs are {', '.join(names)}")
    found = {}
    for name, ndim, components in outputs:
        given = dims.get(name) if isinstance(dims, Mapping) else dims
        if given is None:
            if default is None:
                raise ValueError(f"{where}: the shape of output {name} is not known: give output_dims or launch_dims")
            found[name] = _without_components(default, ndim, (), f"{where}: the launch dimensions, of output {name},")
        else:
            what = f"{where}: output_dims of {name}"
            found[name] = _without_components(as_shape(given, what), ndim, components, what)
    return found


def _without_components(shape: Shape, ndim: int, components: Shape, what: str) -> Shape:
    if len(shape) == ndim:
        return shape
    if components and len(shape) == ndim + len(components) and shape[ndim:] == components:
        return shape[:ndim]
    expected = f"{ndim} extent{'s' if ndim != 1 else ''}"
    if components:
        expected += f", or these and the components {components}"
    raise ValueError(f"{what} are {shape}; expected {expected}")
