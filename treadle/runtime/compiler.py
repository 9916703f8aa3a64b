"""From a kernel and argument types to machine code, through the on-disk cache.

A hit in the cache does not run the frontend: what a launch needs besides the machine code
(which arrays are written, the messages of assertions) is stored with it.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from treadle import config, frontend, passes
from treadle.ad.adjoint import adjoint_kernel, check_available
from treadle.ad.errors import DerivativeError
from treadle.ad.gradients import expand_gradients
from treadle.ad.log import with_appends
from treadle.codegen import Message, Options, callables, cpu, emit_kernel, jit
from treadle.codegen.callables import Callables
from treadle.codegen.locks import compiling
from treadle.errors import TreadleError
from treadle.ir.core import Function, Location
from treadle.passes.access import Access
from treadle.runtime import cache, native
from treadle.runtime.alone import one_at_a_time
from treadle.runtime.packing import Packer
from treadle.types.layout import leaves
from treadle.types.storage import ArrayRef, StorageType

SYMBOL = "kernel"


@dataclass(frozen=True)
class Variant:
    """What the machine code of a kernel depends on besides the kernel itself.

    ``types``: the language type of each parameter. ``contiguous``: for each parameter whether it
    is an array whose strides follow from its shape. ``launch_ndim``: 1 to 4.
    """

    types: tuple[Any, ...]
    contiguous: tuple[bool, ...]
    launch_ndim: int

    def describe(self) -> str:
        """A text that is the same in every process, for the key of the cache."""
        types = ",".join(f"{_describe(t)}{'c' if c else ''}" for t, c in zip(self.types, self.contiguous))
        return f"{types};{self.launch_ndim}"


def _describe(type_: Any) -> str:
    """The printed name of a type; a struct with the layout that the name does not tell."""
    if getattr(type_, "kind", "") == "struct":
        members = ",".join(f"{name}:{_describe(t)}" for name, t in type_.fields.items())
        return f"{type_.short}{{{members}}}"
    if getattr(type_, "kind", "") == "array":
        return f"array<{_describe(type_.dtype)},{type_.ndim}>"
    return str(type_.short)


@dataclass
class Executable:
    """Machine code that can be called, and how its arguments are packed."""

    run: Any
    """``run(arguments, begin, end, worker)``, see ``codegen.callables``."""
    packer: Packer
    messages: list[Message]
    linked: jit.Linked = field(repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """Which adjoint of a kernel is wanted.

    ``active``: labels of the arrays with a gradient. ``contiguous``: whether the gradients of
    contiguous arrays are contiguous. ``unrepeatable``, ``repeated`` and ``retained``: see
    ``ad.adjoint_kernel``.
    """

    active: frozenset[str]
    contiguous: bool
    unrepeatable: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    retained: frozenset[str] = frozenset()

    def describe(self) -> str:
        """A text that is the same in every process, for the key of the cache."""
        labels = (",".join(sorted(labels)) for labels in self._sets())
        return f"adjoint:{';'.join(labels)};{self.contiguous}"

    def _sets(self) -> tuple[frozenset[str], ...]:
        return self.active, self.unrepeatable, self.repeated, self.retained


@dataclass
class Adjoint:
    """The adjoint of a kernel for one request.

    ``needed``: labels of the arrays of which it reads what they held before the forward launch;
    ``needed_after``: after it. Those in both are not written by the kernel. ``members``: labels of which it
    reads, in this way, arrays that are members of structs in the elements; ``members_after``: the same.
    ``reads_log``: whether it reads values
    that atomics returned, which the forward launch must have logged. ``error``: why there is none.
    """

    needed: frozenset[str] = frozenset()
    needed_after: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    members_after: frozenset[str] = frozenset()
    reads_log: bool = False
    error: Optional[DerivativeError] = None
    function: Optional[Function] = field(repr=False, default=None)
    executable: Optional[Executable] = field(repr=False, default=None)


class CompiledKernel:
    """One variant of a kernel: its forward machine code and, made when asked for, its adjoints."""

    def __init__(self, kernel: Any, variant: Variant) -> None:
        self.kernel = kernel
        self.variant = variant
        self._revision = config.revision
        self.options = kernel.resolved_options()
        self._captures = frontend.Captures(kernel)
        self.labels = _labels(kernel.parameter_names, variant.types)
        self.array_labels = _array_labels(self.labels, self._parameter_types())
        self._fingerprint = frontend.fingerprint(kernel, self.options)
        self._function: Optional[Function] = None
        self._loaded = False
        self._adjoints: dict[Request, Adjoint] = {}
        self._requests: dict[Any, Request] = {}
        self._logged: Optional[Executable] = None
        self.access: dict[str, Access] = {}
        self.hazards: frozenset[tuple[str, str]] = frozenset()
        """Pairs (read, written) of array labels: the kernel may read the one after writing the other."""
        self.member_hazards: frozenset[tuple[str, str]] = frozenset()
        """The same: after writing to arrays that are members of structs in the elements of the other."""
        self._places: dict[str, list[Any]] = {}
        self.required: tuple[str, ...] = ()
        """Labels of the arrays that every thread uses, so that they must be there."""
        self.asks_flat_index = False
        """Whether a thread asks for its flat index, an int32, so that there can be no more threads than that."""
        self.forward = self._compile_forward()
        self.written = frozenset(k for k, a in self.access.items() if a.changes)
        self.members = {k: a.members for k, a in self.access.items() if a.members is not None}
        """What the kernel does with arrays that it finds in the elements of others, by label of these."""

    def is_stale(self) -> bool:
        """Whether the kernel must be compiled anew: what it captures, or an option, is not what it was."""
        if self._revision != config.revision:
            revision = config.revision
            if self.kernel.resolved_options() != self.options:
                return True
            self._revision = revision
        if not self._captures.changed():
            return False
        captures = frontend.Captures(self.kernel)
        if not self._is_current():
            return True
        self._captures = captures  # other objects, of the same value
        return False

    def _is_current(self) -> bool:
        """Whether all that the kernel captures still has the value that was compiled in."""
        return self._fingerprint is not None and frontend.fingerprint(self.kernel, self.options) == self._fingerprint

    def changes_members(self, label: str) -> bool:
        """Whether the kernel may write to arrays that are members of structs in the elements of an array."""
        return label in self.members and self.members[label].changes

    # Forward.

    def function(self) -> Function:
        """The IR of the kernel, optimised but with calls of custom derivatives in place."""
        if self._function is None:
            if self._loaded and not self._is_current():
                raise TreadleError(
                    f"kernel {self.kernel.key}: a value that it captures has changed since it was launched, so that "
                    "its gradient, which is not compiled yet, cannot be; make the value an argument of the kernel"
                )
            contiguous = dict(zip(self.kernel.parameter_names, self.variant.contiguous))
            raw = frontend.build_kernel(self.kernel, self.variant.types, contiguous, self.options)
            raw.labels = list(self.labels)
            passes.dump("frontend", self.kernel.key, raw)
            self._function = passes.prepare(expand_gradients(raw, self.options), self.options)
        return self._function

    def _compile_forward(self) -> Executable:
        with compiling:
            key = self._key("forward")
            entry = cache.load(key) if key else None
            if entry is not None:
                self._loaded = True
                self.access = {k: Access.from_dict(v) for k, v in entry.metadata["access"].items()}
                self.hazards = frozenset((r, w) for r, w in entry.metadata["hazards"])
                self.member_hazards = frozenset((r, w) for r, w in entry.metadata["member_hazards"])
                self._places = entry.metadata["places"]
                self.required = tuple(entry.metadata["required"])
                self.asks_flat_index = entry.metadata["flat"]
                return self._link(entry, self._parameter_types())
            function = passes.finish(self.function(), self.options)
            check_available(function)  # derivatives that the kernel itself asks for
            passes.dump("ir", self.kernel.key, function)
            self.access = passes.analyse(function)
            self.hazards = passes.read_after_write(function)
            self.member_hazards = passes.read_after_write(function, members=True)
            self._places = self._encode_places(passes.first_places(function))
            self.required = tuple(sorted(passes.required(function)))
            access = {k: a.as_dict() for k, a in self.access.items()}
            self.asks_flat_index = any(
                op.name == "thread_index" and op.attributes["rank"] == 1 for op in function.body.walk()
            )
            metadata = {
                "access": access,
                "hazards": sorted(self.hazards),
                "member_hazards": sorted(self.member_hazards),
                "places": self._places,
                "required": self.required,
                "flat": self.asks_flat_index,
            }
            return self._generate(function, key, metadata)

    def _encode_places(self, places: passes.Places) -> dict[str, list[Any]]:
        """Places as JSON can hold them; lines in the kernel's file count from the kernel, which may move."""
        code = self.kernel.func.__code__

        def encode(place: Optional[Location]) -> Any:
            if place is None or place.file != code.co_filename:
                return place and [place.file, place.line]
            return [None, place.line - code.co_firstlineno]

        return {label: [encode(read), encode(written)] for label, (read, written) in places.items()}

    def place(self, label: str, written: bool) -> Optional[Location]:
        """Where the kernel first reads, or writes, an array."""
        encoded = self._places.get(label, (None, None))[written]
        if encoded is None:
            return None
        code = self.kernel.func.__code__
        file, line = encoded
        return Location(code.co_filename, code.co_firstlineno + line) if file is None else Location(file, line)

    # Adjoint.

    def request(self, gradients: Mapping[str, Any], contiguous: bool) -> Request:
        """The request for the adjoint with gradients for these labels; the same object every time."""
        key = (contiguous, *gradients)
        found = self._requests.get(key)
        if found is None:
            found = self._requests[key] = Request(frozenset(gradients), contiguous)
        return found

    def adjoint(self, request: Request) -> Adjoint:
        """The adjoint for ``request``, without machine code unless it was in the cache."""
        found = self._adjoints.get(request)
        if found is None:
            with compiling:
                found = self._adjoints[request] = self._prepare(request)
        return found

    def adjoint_executable(self, request: Request) -> Executable:
        """The machine code of an adjoint.

        Raises:
            DerivativeError: there is no such adjoint.
        """
        adjoint = self.adjoint(request)
        if adjoint.error is not None:
            raise DerivativeError(adjoint.error.reason, adjoint.error.location)
        if adjoint.executable is None:
            with compiling:
                function = adjoint.function or self._adjoint_function(request)
                metadata = {
                    "needed": sorted(adjoint.needed),
                    "needed_after": sorted(adjoint.needed_after),
                    "members": sorted(adjoint.members),
                    "members_after": sorted(adjoint.members_after),
                    "reads_log": adjoint.reads_log,
                }
                adjoint.executable = self._generate(function, self._key(request.describe()), metadata)
                adjoint.function = None
        return adjoint.executable

    def _prepare(self, request: Request) -> Adjoint:
        if not self.options["enable_backward"]:
            reason = f"kernel {self.kernel.name} was made with enable_backward=False, so no gradient passes through it"
            return Adjoint(error=DerivativeError(reason))
        key = self._key(request.describe())
        entry = cache.load(key) if key else None
        if entry is not None:
            types = self._parameter_types() + self._gradient_types(request)
            stored = entry.metadata
            return Adjoint(
                frozenset(stored["needed"]),
                frozenset(stored["needed_after"]),
                frozenset(stored["members"]),
                frozenset(stored["members_after"]),
                stored["reads_log"],
                executable=self._link(entry, types),
            )
        try:
            function = self._adjoint_function(request)
        except DerivativeError as error:
            return Adjoint(error=error)
        reads_log = any(op.name == "log_read" and op.attributes["log"] == "launch" for op in function.body.walk())
        needed, after, members, members_after = (
            frozenset(passes.loads_of(function, when, inside).intersection(self.array_labels))
            for inside in (False, True)
            for when in (False, True)
        )
        both = needed & after & self.written
        if both:
            reason = f"the gradient needs what {', '.join(sorted(both))} held both before and after the launch"
            return Adjoint(error=DerivativeError(f"kernel {self.kernel.name}: {reason}"))
        return Adjoint(needed, after, members, members_after, reads_log, function=function)

    def _adjoint_function(self, request: Request) -> Function:
        forward = self.function()
        raw = adjoint_kernel(
            forward, request.active, request.unrepeatable, request.repeated, request.contiguous, request.retained
        )
        function = passes.finish(raw, self.options)
        passes.dump("ad", self.kernel.key, function)
        check_available(function)
        return function

    def logged_forward(self) -> Executable:
        """The kernel, which also logs what its atomics return."""
        if self._logged is None:
            with compiling:
                key = self._key("logged")
                entry = cache.load(key) if key else None
                if entry is not None:
                    self._logged = self._link(entry, self._parameter_types())
                else:
                    function = passes.finish(with_appends(self.function()), self.options)
                    self._logged = self._generate(function, key, {})
        return self._logged

    # Other functions made from the kernel.

    def derived_key(self, purpose: str) -> Optional[str]:
        """A name for what is made from the kernel for a purpose, the same in every process; None if there is none."""
        return self._key(purpose)

    def derive(
        self, purpose: str, types: list[StorageType], make: Callable[[], tuple[Function, dict[str, Any]]]
    ) -> tuple[Executable, dict[str, Any]]:
        """Machine code of a function made from the kernel, and what is known of it, from the cache if it is there.

        ``purpose`` tells it from others. ``types`` are those of its parameters. ``make`` returns the function, ready
        for code generation, and facts that JSON can hold.
        """
        with compiling:
            key = self._key(purpose)
            entry = cache.load(key) if key else None
            if entry is not None:
                return self._link(entry, types), entry.metadata
            function, facts = make()
            return self._generate(function, key, facts), facts

    # Shared.

    def _parameter_types(self) -> list[StorageType]:
        """The types of the IR parameters, as the frontend makes them."""
        found: list[StorageType] = []
        for type_, contiguous in zip(self.variant.types, self.variant.contiguous):
            if type_.kind == "array":
                found.append(ArrayRef(type_.ndim, type_.dtype.size, contiguous))
            else:
                found.extend(leaf.type for leaf in leaves(type_))
        return found

    def _gradient_types(self, request: Request) -> list[StorageType]:
        """The types of the companions and of the arrays of retained gradients, as ``ad.adjoint_kernel`` orders them."""
        return [
            type_ if request.contiguous else replace(type_, contiguous=False)
            for labels in (request.active, request.retained)
            for label, type_ in zip(self.labels, self._parameter_types())
            if label in labels and isinstance(type_, ArrayRef)
        ]

    def _key(self, purpose: str) -> Optional[str]:
        if self._fingerprint is None:
            return None
        options = ",".join(f"{k}={v}" for k, v in sorted(self.options.items()))
        parts = (cache.environment_key(), self._fingerprint, self.variant.describe(), options, purpose)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _generate(self, function: Function, key: Optional[str], metadata: dict[str, Any]) -> Executable:
        """Machine code from IR, which is also entered into the cache."""
        begin = time.perf_counter()
        if self.options["verify_fp"]:
            function = passes.check_floats(function)
        # An adjoint finds what atomics returned only if it decides as the kernel did, which fast_math does not promise.
        names = {op.name for op in function.body.walk()}
        has_log = not names.isdisjoint(("log_append", "log_read"))
        options = Options(fast_math=self.options["fast_math"] and not has_log, is_alone=True)
        emitted = emit_kernel(function, SYMBOL, self.variant.launch_ndim, cpu.target(), options)
        passes.dump_text("llvm", self.kernel.key, emitted.text)
        messages = [_encode_message(m) for m in emitted.messages]
        sources = {
            op.attributes["source"]: None for op in function.body.walk() if op.name in ("native", "native_again")
        }
        facts = {
            "messages": messages,
            "native": list(sources),
            "atomics": "atomic" in names,
        }
        entry = cache.Entry(cpu.compile_text(emitted.text), {**metadata, **facts})
        if key:
            cache.store(key, entry)
        if config.verbose:
            print(f"Treadle: compiled {function.name} in {(time.perf_counter() - begin) * 1e3:.1f} ms")
        return self._link(entry, [p.type for p in function.parameters])

    def _link(self, entry: cache.Entry, types: list[StorageType]) -> Executable:
        for source in entry.metadata["native"]:
            native.load(source)
        linked = jit.link(entry.object, SYMBOL)
        messages = [_decode_message(m) for m in entry.metadata["messages"]]
        run = _callables().of(linked)
        if entry.metadata["atomics"]:
            run = one_at_a_time(run)
        return Executable(run, Packer(types), messages, linked)


@functools.cache
def _callables() -> Callables:
    key = f"{cache.environment_key()} callables"
    entry = cache.load(key)
    if entry is None:
        entry = cache.Entry(callables.compiled())
        cache.store(key, entry)
    return Callables(entry.object)


def _encode_message(message: Message) -> list[Any]:
    """A message as JSON can hold it."""
    location = message.location
    return [message.template, list(message.types), [location.file, location.line] if location else None]


def _decode_message(encoded: list[Any]) -> Message:
    template, types, location = encoded
    return Message(template, tuple(types), Location(*location) if location else None)


def _labels(names: Sequence[str], types: Sequence[Any]) -> list[str]:
    """A label for each IR parameter: the parameter's name; for an array inside a struct with the path to it."""
    found = []
    for name, type_ in zip(names, types):
        for leaf in leaves(type_):
            is_member = isinstance(leaf.type, ArrayRef) and leaf.path
            found.append(".".join((name, *(str(step) for step in leaf.path))) if is_member else name)
    return found


def _array_labels(labels: Sequence[str], types: Sequence[StorageType]) -> list[str]:
    return [label for label, type_ in zip(labels, types) if isinstance(type_, ArrayRef)]
