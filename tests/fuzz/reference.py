"""Runs the source of a program in plain Python, thread by thread, with numbers that carry their derivatives.

It shares nothing with Treadle: ``wp`` is ``Language`` here. What the program says about assignment (that it copies) is
brought about by rewriting the syntax tree.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.fuzz import composites as comp
from tests.fuzz import numbers as num


class ContractError(Exception):
    """Threads of a launch disturb each other, so that the program means nothing."""


class Accesses:
    """Which threads of a launch touched which elements, and how."""

    def __init__(self) -> None:
        self.thread: Any = None
        self.kinds: dict[int, set[str]] = {}
        self.threads: dict[int, set[Any]] = {}

    def note(self, slot: int, kind: str) -> None:
        if self.thread is not None:
            self.kinds.setdefault(slot, set()).add(kind)
            self.threads.setdefault(slot, set()).add(self.thread)

    def finish(self) -> None:
        """End a launch.

        Raises:
            ContractError: an element was touched by several threads, and not in one way that does not depend on order.
        """
        for slot, threads in self.threads.items():
            if len(threads) > 1 and (len(self.kinds[slot]) > 1 or "write" in self.kinds[slot]):
                raise ContractError(f"threads {sorted(threads)} disturb each other")
        self.__init__()  # type: ignore[misc]


accesses = Accesses()
_slots = itertools.count()


class Array:
    """An array, or a view of one: a NumPy array of objects. ``slots`` are numbers that tell its elements apart.

    What is read from an array without a gradient (``is_detached``) has no derivative.
    """

    def __init__(self, data: np.ndarray[Any, Any], dtype: Any, slots: Any = None, is_detached: bool = False) -> None:
        self.data = data
        self.dtype = dtype
        self.is_detached = is_detached
        self.slots = np.array([next(_slots) for _ in range(data.size)]).reshape(data.shape) if slots is None else slots

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    def live(self, index: Any, kind: str) -> Any:
        """The element itself, to be read or changed, or a view."""
        parts = index if isinstance(index, tuple) else (index,)
        assert all(isinstance(p, slice) or p >= 0 for p in parts), f"index {index} is negative"
        found = self.data[index]
        if isinstance(found, np.ndarray):
            return Array(found, self.dtype, self.slots[index], self.is_detached)
        accesses.note(self.slots[index], kind)
        return found

    def __getitem__(self, index: Any) -> Any:
        found = self.live(index, "read")
        return found if isinstance(found, Array) else self.value(found)

    def value(self, element: Any) -> Any:
        """An element as it is read."""
        return comp.detached(element) if self.is_detached else comp.copy(element)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.live(index, "write")
        self.data[index] = comp.copy(value)

    def fill_(self, value: Any) -> None:
        for index in np.ndindex(self.data.shape):
            self.data[index] = self.dtype(value)

    def zero_(self) -> None:
        for index in np.ndindex(self.data.shape):
            self.data[index] = self.dtype()

    def assign(self, source: Array) -> None:
        copy_array(self, source)

    def flatten(self) -> Array:
        return self.reshape(-1)

    def reshape(self, shape: Any) -> Array:
        return Array(self.data.reshape(shape), self.dtype, self.slots.reshape(shape), self.is_detached)

    def transpose(self) -> Array:
        return Array(self.data.T, self.dtype, self.slots.T, self.is_detached)


def copy_array(dest: Array, src: Array, dest_offset: int = 0, src_offset: int = 0, count: int = 0) -> None:
    values = [src.value(src.data[index]) for index in np.ndindex(src.data.shape)][src_offset:]
    values = values[: count or len(values)]
    targets = list(np.ndindex(dest.data.shape))[dest_offset:]
    for index, value in zip(targets, values, strict=False):
        dest.data[index] = value


def leaves(value: Any, dtype: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The places of the floats in an array, in the order of ``tests.fuzz.floats``: (holder, key, array element)."""
    elements = [(value.data, index) for index in np.ndindex(value.data.shape)]
    yield from _places(elements, dtype)


def _places(elements: list[tuple[Any, Any]], dtype: Any) -> Iterator[tuple[Any, Any, Any]]:
    if dtype is float64:
        yield from ((holder, key, None) for holder, key in elements)
    elif isinstance(dtype, type) and issubclass(dtype, (comp.Vector, comp.Matrix)):
        for holder, key in elements:
            items = _get(holder, key).items
            yield from ((items, k, None) for k in range(len(items)))
    elif isinstance(dtype, type) and issubclass(dtype, comp.Struct):
        for name, member in dtype.members.items():
            yield from _places([(_get(holder, key), name) for holder, key in elements], member)


def _get(holder: Any, key: Any) -> Any:
    return getattr(holder, key) if isinstance(key, str) else holder[key]


def get_floats(array: Array) -> list[Any]:
    return [_get(holder, key) for holder, key, _ in leaves(array, array.dtype)]


def set_floats(array: Array, values: Sequence[Any]) -> None:
    for (holder, key, _), value in zip(leaves(array, array.dtype), values, strict=True):
        if isinstance(key, str):
            setattr(holder, key, value)
        else:
            holder[key] = value


def float64(x: Any = 0.0) -> num.Real:
    return x if type(x) is num.Real else num.Real(float(x), is_constant=True)


class _ArrayType:
    """``wp.array``: an annotation, or an array of given values."""

    def __call__(self, data: Any = None, dtype: Any = None, **options: Any) -> Any:
        if data is None:
            return None
        return Array(np.array(data, dtype=object), dtype)


def _zeros(shape: Any, dtype: Any = float64, requires_grad: bool = False) -> Array:
    data = np.empty(shape, dtype=object)
    for index in np.ndindex(data.shape):
        data[index] = dtype()
    is_local = accesses.thread is not None  # an array of a thread's own is differentiated like its variables
    return Array(data, dtype, is_detached=not requires_grad and not is_local)


def _clone(src: Array) -> Array:
    result = _zeros(src.shape, src.dtype, not src.is_detached)
    copy_array(result, src)
    return result


class Language(SimpleNamespace):
    """What programs use of the public names."""

    def __init__(self) -> None:
        super().__init__(**{name: getattr(num, name) for name in _NUMBER_FUNCTIONS})
        self.__dict__.update({name: getattr(comp, name) for name in _COMPOSITE_FUNCTIONS})
        self.abs, self.min, self.max, self.pow = num.absolute, comp.minimum, comp.maximum, num.power
        self.types = SimpleNamespace(vector=comp.vector_type, matrix=comp.matrix_type)
        self.array = self.array2d = self.array3d = _ArrayType()
        self.float64, self.struct, self.zeros, self.clone = float64, comp.struct_type, _zeros, _clone
        self.copy = copy_array

    def set_module_options(self, options: Any) -> None:
        pass

    def kernel(self, function: Any) -> Any:
        return function

    def func(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            copies = {name: comp.copy(a) for name, a in keywords.items()}
            return function(*[comp.copy(a) for a in arguments], **copies)

        return call

    def func_grad(self, function: Any) -> Callable[[Any], Any]:
        return lambda derivative: derivative

    func_replay = func_grad

    def grad(self, function: Any) -> Callable[..., tuple[Any, ...]]:
        """The derivatives of a smooth function by those of its arguments that are numbers."""

        def gradient(*arguments: Any) -> tuple[Any, ...]:
            numbers = [isinstance(a, (int, float, num.Real)) for a in arguments]
            return tuple(num.partial_derivative(function, arguments, k) if n else None for k, n in enumerate(numbers))

        return gradient

    def launch(self, kernel: Any, dim: Any, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> None:
        extents = dim if isinstance(dim, tuple) else (dim,)
        for index in itertools.product(*map(range, extents)):
            accesses.thread = index
            kernel(*[comp.copy(a) for a in (*inputs, *outputs)])
        accesses.finish()

    def tid(self) -> Any:
        return accesses.thread if len(accesses.thread) > 1 else accesses.thread[0]

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    def atomic_add(self, array: Array, *rest: Any) -> Any:
        return _exchange(array, rest, _add, "add")

    def atomic_sub(self, array: Array, *rest: Any) -> Any:
        return _exchange(array, rest, _subtract, "add")

    def atomic_min(self, array: Array, *rest: Any) -> Any:
        return _exchange(array, rest, num.minimum, "min")

    def atomic_max(self, array: Array, *rest: Any) -> Any:
        return _exchange(array, rest, num.maximum, "max")

    def atomic_exch(self, array: Array, *rest: Any) -> Any:
        return _exchange(array, rest, lambda old, value: value, "write")


_NUMBER_FUNCTIONS = ("sin cos tanh exp log sqrt asin atan atan2 erf clamp lerp smoothstep").split()
_COMPOSITE_FUNCTIONS = (
    "dot length length_sq normalize cw_mul cw_div cross outer transpose trace determinant diag get_diag"
).split()


def _exchange(array: Array, rest: Sequence[Any], combine: Callable[[Any, Any], Any], kind: str) -> Any:
    *index, value = rest
    key = tuple(index)
    old = array.value(array.live(key, kind))
    array.data[key] = combine(old, value)
    return old


def place(holder: Any, index: Any, kind: str) -> Any:
    """``holder[index]``, part of which is about to be changed."""
    return holder.live(index, kind) if isinstance(holder, Array) else holder[index]


class _Assignments(ast.NodeTransformer):
    """What assignment means in kernels and functions: ``x = e`` copies, ``a[i].x = e`` changes the array's element, and
    ``a[i] += e`` adds to it whatever other threads do."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self.generic_visit(node) if node.decorator_list else node

    def visit_Assign(self, node: ast.Assign) -> Any:
        call = ast.Call(ast.Name("_copy", ast.Load()), [node.value], [])
        return ast.copy_location(ast.Assign([_in_place(t, "write") for t in node.targets], call), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        kind = "add" if isinstance(node.op, (ast.Add, ast.Sub)) else "write"
        target = _in_place(node.target, kind)
        if isinstance(target, ast.Subscript) and kind == "add":
            call = ast.Call(ast.Name("_add_to", ast.Load()), [target.value, _loaded(target.slice), node.value], [])
            call.args.append(ast.Constant(isinstance(node.op, ast.Add)))
            return ast.copy_location(ast.Expr(call), node)
        return ast.copy_location(ast.AugAssign(target, node.op, node.value), node)


def add_to(holder: Any, index: Any, value: Any, is_added: bool) -> None:
    """``holder[index] += value``, or ``-=``."""
    combine = _add if is_added else _subtract
    if isinstance(holder, Array):
        _exchange(holder, (*(index if isinstance(index, tuple) else (index,)), value), combine, "add")
    else:
        holder[index] = combine(holder[index], value)


def _add(old: Any, value: Any) -> Any:
    return old + value


def _subtract(old: Any, value: Any) -> Any:
    return old - value


def _in_place(target: Any, kind: str) -> Any:
    """A target of which all but the last step go through ``place``."""
    if isinstance(target, (ast.Attribute, ast.Subscript)):
        target.value = _placed(target.value, kind)
    return target


def _placed(node: Any, kind: str) -> Any:
    if isinstance(node, ast.Attribute):
        node.value = _placed(node.value, kind)
    elif isinstance(node, ast.Subscript):
        arguments = [_placed(node.value, kind), _loaded(node.slice), ast.Constant(kind)]
        node = ast.Call(ast.Name("_place", ast.Load()), arguments, [])
    return node


def _loaded(index: Any) -> Any:
    return ast.Tuple(index.elts, ast.Load()) if isinstance(index, ast.Tuple) else index


def load(source: str) -> dict[str, Any]:
    """The names that the program defines, with the reference language as ``wp``."""
    accesses.__init__()  # type: ignore[misc]
    tree = _Assignments().visit(ast.parse(source))
    tree.body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    ast.fix_missing_locations(tree)
    names: dict[str, Any] = {"wp": Language(), "Any": Any, "_copy": comp.copy, "_place": place, "_add_to": add_to}
    exec(compile(tree, "<reference>", "exec", dont_inherit=True), names)
    return names
