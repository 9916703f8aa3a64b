"""``@struct``: a class with annotated members becomes a type of the kernel language.

The members are laid out as in C, each at a multiple of its alignment. A value is a plain
Python object: its members are converted when they are set, and composites and structs are
copied then, as in a kernel.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from treadle.types import scalars
from treadle.types.arrays import ArrayType
from treadle.types.composites import CompositeMeta
from treadle.types.convert import describe, from_storage, rounded, to_storage


class StructMeta(type):
    """The metaclass of struct types. The attributes are the protocol that the compiler reads.

    ``fields`` maps names to types; ``offsets`` are the bytes at which they start; ``size`` includes
    the padding at the end; ``numpy`` is the structured dtype; ``short`` the name in printed IR.
    """

    kind: str
    fields: dict[str, Any]
    offsets: tuple[int, ...]
    alignment: int
    size: int
    numpy: np.dtype[Any]
    short: str
    _setters: dict[str, Callable[[Any], Any]]
    _zeros: dict[str, Callable[[], Any]]

    def __repr__(cls) -> str:
        return cls.__name__


class Struct(metaclass=StructMeta):
    """The base of all struct types. Members start at zero (arrays at None)."""

    kind = "struct"
    fields: ClassVar[dict[str, Any]] = {}
    offsets: tuple[int, ...] = ()
    alignment = 1
    size = 0
    short = ""

    def __new__(cls, *args: Any, **members: Any) -> Any:
        self = object.__new__(cls)
        for name, zero in cls._zeros.items():
            self.__dict__[name] = zero()
        return self

    def __init__(self, *values: Any, **members: Any) -> None:
        names = list(type(self).fields)
        if len(values) > len(names):
            raise TypeError(f"{type(self)!r} has {len(names)} members ({', '.join(names)}), not {len(values)}")
        for name, value in zip(names, values):
            if name in members:
                raise TypeError(f"{type(self)!r} gets two values for its member {name!r}")
            setattr(self, name, value)
        for name, value in members.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        cls = type(self)
        setter = cls._setters.get(name)
        if setter is None:
            if hasattr(getattr(cls, name, None), "__set__"):  # a property of the user's class
                object.__setattr__(self, name, value)
                return
            raise _no_member(cls, name)
        try:
            self.__dict__[name] = setter(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{cls.__name__}.{name}: {error}") from None

    def __getattr__(self, name: str) -> Any:
        raise _no_member(type(self), name)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a member of the struct {type(self)!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(
            mine[name] is theirs[name] if isinstance(member, ArrayType) else mine[name] == theirs[name]
            for name, member in type(self).fields.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={self.__dict__[name]!r}" for name in type(self).fields)
        return f"{type(self).__name__}({members})"

    def __reduce__(self) -> Any:
        return (_restore, (type(self), {name: self.__dict__[name] for name in type(self).fields}))

    def __copy__(self) -> Any:
        return _restore(type(self), self.__dict__)

    def __deepcopy__(self, memo: Any) -> Any:
        return _restore(type(self), {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})

    @classmethod
    def coerce(cls, value: Any) -> Any:
        """``value`` if it is of this struct, or the struct read from a NumPy record of its layout."""
        if type(value) is cls:
            return value
        if isinstance(value, (np.void, np.ndarray)) and value.shape == () and value.dtype == cls.numpy:
            return cls.from_numpy(value)
        raise TypeError(f"expected the struct {cls!r}, got {describe(value)}")

    @classmethod
    def numpy_dtype(cls) -> np.dtype[Any]:
        """The dtype of NumPy's structured arrays of such structs."""
        return cls.numpy

    @classmethod
    def from_numpy(cls, record: Any) -> Any:
        """The struct in a NumPy record of its layout. Array members become None."""
        names = getattr(getattr(record, "dtype", None), "names", None)
        if names != tuple(cls.fields):
            raise TypeError(
                f"expected a record with the members {tuple(cls.fields)} of {cls!r}, got {describe(record)}"
            )
        self = cls.__new__(cls)
        for name, member in cls.fields.items():
            if scalars.is_scalar(member):
                self.__dict__[name] = from_storage(member, record[name][()])
            elif member.kind != "array":
                self.__dict__[name] = member.from_numpy(record[name])
        return self

    def numpy_value(self) -> Any:
        """A NumPy record with the members. The descriptor of an array member is left zero."""
        cls = type(self)
        record = np.zeros((), cls.numpy)
        for name, member in cls.fields.items():
            value = self.__dict__[name]
            if scalars.is_scalar(member):
                record[name] = to_storage(member, value)
            elif member.kind != "array":
                record[name] = member.numpy_value(value)
        return record[()]


def _restore(cls: Any, members: dict[str, Any]) -> Any:
    """A struct with the given members, which are copied but not checked."""
    self = cls.__new__(cls)
    for name, value in members.items():
        by_value = isinstance(type(value), (CompositeMeta, StructMeta))
        self.__dict__[name] = copy.copy(value) if by_value else value
    return self


def _no_member(cls: StructMeta, name: str) -> AttributeError:
    members = ", ".join(cls.fields) or "none"
    return AttributeError(f"the struct {cls.__name__} has no member {name!r}; its members are: {members}")


# -- Members


def _array_setter(type_: ArrayType) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", None)
        if dtype is not type_.dtype or ndim != type_.ndim or isinstance(value, (type, ArrayType)):
            found = describe(value) if dtype is None else f"one of dtype {dtype!r} with {ndim} dimension(s)"
            raise TypeError(f"expected {type_!r}, got {found}")
        return value

    return convert


def _setter(member: Any) -> Callable[[Any], Any]:
    if scalars.is_scalar(member):
        return rounded(member)
    if member.kind == "array":
        return _array_setter(member)
    return lambda value: copy.copy(member.coerce(value))


def _zero(member: Any) -> Callable[[], Any]:
    if scalars.is_scalar(member):
        value = rounded(member)(0)
        return lambda: value
    return (lambda: None) if member.kind == "array" else member


def _alignment(member: Any) -> int:
    if isinstance(member, StructMeta):
        return member.alignment
    if isinstance(member, ArrayType):
        return 8
    return int(member.size if scalars.is_scalar(member) else member.dtype.size)


def _evaluate(annotation: str, namespace: dict[str, Any], frame: FrameType | None) -> Any:
    """The text of an annotation, evaluated where the class was defined.

    The names are looked up in the class, then in the function around it and in those that
    called it within the same module, then in the module.
    """
    module = sys.modules.get(namespace.get("__module__", ""))
    module_names = frame.f_globals if frame is not None else getattr(module, "__dict__", {})
    error: NameError | None = None
    while True:
        local = dict(frame.f_locals) if frame is not None else {}
        try:
            return eval(annotation, module_names, {**local, **namespace})
        except NameError as missing:
            error = error or missing
        frame = frame.f_back if frame is not None else None
        while frame is not None and frame.f_globals is not module_names:
            frame = frame.f_back
        if frame is None:
            raise error


def _check_member(cls_name: str, name: str, annotation: Any) -> Any:
    member = scalars.from_annotation(annotation)
    if scalars.is_scalar(member) or isinstance(member, StructMeta):
        return member
    if isinstance(member, CompositeMeta) and member.length:
        return member
    if isinstance(member, ArrayType):
        if member.ndim is not Any and isinstance(member.dtype, type) and hasattr(member.dtype, "numpy"):
            return member
        raise TypeError(f"struct {cls_name}: the member {name!r} must be of a definite type, not {member!r}")
    raise TypeError(
        f"struct {cls_name}: the member {name!r} has the annotation {annotation!r}, "
        f"which is not a scalar, vector, matrix, quaternion, transform, struct or array type"
    )


def _fields_of(cls: type, frame: FrameType | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        if isinstance(base, StructMeta):
            fields.update(base.fields)
    namespace = dict(vars(cls))
    for name, annotation in inspect.get_annotations(cls).items():
        try:
            while isinstance(annotation, str):  # text in text, with ``from __future__ import annotations``
                annotation = _evaluate(annotation, namespace, frame)
        except Exception as error:
            raise TypeError(
                f"struct {cls.__name__}: cannot evaluate the annotation {annotation!r} of the member {name!r}: {error}"
            ) from error
        fields[name] = _check_member(cls.__name__, name, annotation)
    return fields


def _check_default(cls_name: str, name: str, member: Any, value: Any) -> None:
    """A value given in the class body must be the zero that the member starts with anyway."""
    try:
        if _setter(member)(value) == _zero(member)():
            return
    except (TypeError, ValueError):
        pass
    raise TypeError(f"struct {cls_name}: the member {name!r} starts at zero and cannot have the default {value!r}")


def _layout(struct_type: Any, fields: dict[str, Any]) -> None:
    """Place the members as C does, and set the attributes that depend on it."""
    offsets = []
    end, alignment = 0, 1
    for member in fields.values():
        align = _alignment(member)
        start = -(-end // align) * align
        offsets.append(start)
        end = start + int(member.size)
        alignment = max(alignment, align)
    struct_type.offsets = tuple(offsets)
    struct_type.alignment = alignment
    struct_type.size = -(-max(end, 1) // alignment) * alignment
    struct_type.numpy = np.dtype(
        {
            "names": list(fields),
            "formats": [member.numpy for member in fields.values()],
            "offsets": offsets,
            "itemsize": struct_type.size,
        }
    )


def _make(cls: type, frame: FrameType | None) -> Any:
    if not isinstance(cls, type):
        raise TypeError(f"@struct takes a class, not {cls!r}")
    fields = _fields_of(cls, frame)
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    for name in fields:
        if name in body:
            _check_default(cls.__name__, name, fields[name], body.pop(name))
    bases = tuple(base for base in cls.__bases__ if base is not object)
    if not any(isinstance(base, StructMeta) for base in bases):
        bases = (*bases, Struct)
    body.update(
        kind="struct",
        fields=fields,
        short=cls.__name__,
        _setters={name: _setter(member) for name, member in fields.items()},
        _zeros={name: _zero(member) for name, member in fields.items()},
    )
    struct_type = StructMeta(cls.__name__, bases, body)
    _layout(struct_type, fields)
    return struct_type


def struct(cls: Any = None, **options: Any) -> Any:
    """Make a class with annotated members a struct type: ``@struct`` or ``@struct()``.

    Members are scalars, composites, arrays and other structs; annotations may be text. The struct is made of
    the members in order, ``S(1.0)``, or with keywords, ``S(x=1.0)``; its members are attributes.
    """
    frame = sys._getframe(1)
    if cls is None:
        return lambda decorated: _make(decorated, sys._getframe(1))
    return _make(cls, frame)
