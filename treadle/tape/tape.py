"""``Tape``: records what runs inside its ``with`` block and plays it backwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from treadle.errors import TreadleError
from treadle.runtime.array import array, clone
from treadle.runtime.binding import Binding, bind, launch_extents
from treadle.runtime.copying import copy
from treadle.runtime.execution import trim
from treadle.runtime.launch import adjoint_request, own_gradients
from treadle.runtime.recording import Recorder, activate, active
from treadle.tape.keeper import Keeper
from treadle.tape.picture import PictureOptions, to_dot
from treadle.tape.records import BackwardPass, LaunchRecord, Record
from treadle.tape.retained import Retained
from treadle.tape.shown import is_on_show
from treadle.tape.steps import CopyRecord, FillRecord, FunctionRecord, StepRecord, WriteRecord

OVERWRITES = ("save", "error", "ignore")


@dataclass(eq=False)
class TapeScope:
    """A named group of records: those from position ``begin`` up to ``end`` (None while it is open)."""

    name: str
    begin: int
    end: Optional[int] = None
    metadata: Optional[dict[str, Any]] = None
    depth: int = 0


class Tape:
    """Records launches and array operations, and computes gradients by playing them backwards.

    Args:
        overwrites: what happens when a recorded operation overwrites memory that the gradient
            needs. ``"save"``: a snapshot is taken. ``"error"``: an OverwriteError. ``"ignore"``:
            nothing; the gradient is then that of the new contents.

    Example::

        with wp.Tape() as tape:
            wp.launch(kernel, dim=n, inputs=[x], outputs=[loss])
        tape.backward(loss)
        print(x.grad)
    """

    def __init__(self, overwrites: str = "save") -> None:
        if overwrites not in OVERWRITES:
            raise ValueError(f"overwrites must be one of {', '.join(OVERWRITES)}, not {overwrites!r}")
        self.overwrites = overwrites
        self.loss: Optional[array] = None
        self._records: list[Record] = []
        self._keeper = Keeper(overwrites)
        self.scopes: list[TapeScope] = []
        self._open_scopes: list[TapeScope] = []

    # Recording.

    def __enter__(self) -> Tape:
        if active.recorder is not None:
            raise TreadleError("a tape is recording already; tapes cannot be entered one inside another")
        activate(_TapeRecorder(self))  # not kept: a tape must go with its last user, not with the garbage collector
        return self

    def __exit__(self, *exception: object) -> None:
        activate(None)

    def record_launch(
        self,
        kernel: Any,
        dim: Any,
        max_blocks: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        device: Any = None,
        block_dim: int = 0,
        metadata: Optional[dict[str, Any]] = None,
    ) -> None:
        """Record a launch without running it; ``launch`` does this when a tape is active."""
        extents = launch_extents(dim)
        binding = bind(kernel, [*inputs, *outputs], extents)
        self._record_binding(binding, extents, inputs, outputs, metadata)

    def record_func(self, backward: Callable[[], None], arrays: Sequence[array]) -> None:
        """Record a Python callable that runs in the backward pass only.

        ``arrays`` are those it touches, so that ``zero`` finds their gradients.
        """
        self._record_step(FunctionRecord(backward, list(arrays)))

    def record_scope_begin(self, name: str, metadata: Optional[dict[str, Any]] = None) -> None:
        """Group what is recorded from now on under a name, for pictures. Scopes can hold scopes."""
        self.scopes.append(TapeScope(name, len(self._records), metadata=metadata, depth=len(self._open_scopes)))
        self._open_scopes.append(self.scopes[-1])

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """End the innermost scope.

        Raises:
            TreadleError: no scope is open.
        """
        if not self._open_scopes:
            raise TreadleError("record_scope_end: no scope is open")
        scope = self._open_scopes.pop()
        scope.end = len(self._records)
        if remove_scope_if_empty and scope.begin == scope.end:
            self.scopes.remove(scope)

    def _record_binding(
        self,
        binding: Binding,
        extents: tuple[int, ...],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        metadata: Optional[dict[str, Any]] = None,
    ) -> LaunchRecord:
        """Enter a launch that is about to run."""
        # A tape holds many records: numbers in a tuple are no work for the garbage collector, in a list they are.
        binding.values = tuple(binding.values)
        request = adjoint_request(binding, own_gradients(binding.arrays))
        record = LaunchRecord(binding, extents, inputs, outputs, request, None, {}, metadata=metadata)
        self._keeper.launch(record)
        self._records.append(record)
        return record

    def _record_step(self, record: StepRecord) -> None:
        """Enter a step that is about to be done."""
        self._keeper.step(record)
        self._records.append(record)

    def visualize(
        self,
        filename: Optional[str] = None,
        simplify_graph: bool = True,
        hide_readonly_arrays: bool = False,
        array_labels: Optional[Mapping[array, str]] = None,
        choose_longest_node_name: bool = True,
        ignore_graph_scopes: bool = False,
        track_inputs: Optional[Sequence[array]] = None,
        track_outputs: Optional[Sequence[array]] = None,
        track_input_names: Optional[Sequence[str]] = None,
        track_output_names: Optional[Sequence[str]] = None,
        graph_direction: str = "LR",
    ) -> str:
        """The records as a graph, in GraphViz's DOT language.

        A launch is a grey box with a port for each argument; an array is an ellipse, green if it
        requires a gradient and grey if not; scopes are clusters.

        Args:
            filename: where to write the text, if anywhere.
            simplify_graph: draw a run of launches that repeats once, with its count.
            hide_readonly_arrays: leave out arrays that nothing on the tape writes.
            array_labels: names for arrays; others are called after a parameter.
            choose_longest_node_name: of the parameters' names, take the longest instead of the first.
            ignore_graph_scopes: draw no clusters.
            track_inputs, track_outputs: arrays to outline in blue and in red, and
            track_input_names, track_output_names: what to call them.
            graph_direction: ``"LR"`` or ``"TB"``, as in GraphViz.
        """
        tracked: dict[int, tuple[Optional[str], str]] = {}
        for arrays, names, colour in (
            (track_inputs, track_input_names, "blue"),
            (track_outputs, track_output_names, "red"),
        ):
            for k, a in enumerate(arrays or ()):
                tracked[id(a)] = (names[k] if names is not None and k < len(names) else None, colour)
        options = PictureOptions(
            simplify_graph,
            hide_readonly_arrays,
            array_labels or {},
            choose_longest_node_name,
            ignore_graph_scopes,
            graph_direction,
            tracked,
        )
        text = to_dot(self._records, self.scopes, options)
        if filename is not None:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    # The backward pass.

    def backward(self, loss: Optional[array] = None, grads: Optional[Mapping[array, array]] = None) -> None:
        """Play the tape backwards.

        Args:
            loss: an array of one element, whose gradient is set to 1.
            grads: from arrays to the gradients that come in for them; these are copied.

        Raises:
            TreadleError: the loss has more than one element, or no gradient.
            DerivativeError: a kernel has no derivative that is needed.
            OverwriteError: a value that is needed was overwritten.
        """
        if grads is not None and not isinstance(grads, Mapping):
            raise TreadleError(f"backward: grads maps arrays to gradients; it cannot be of type {type(grads).__name__}")
        before = activate(None)
        try:
            seed = None if loss is None else _gradient_of_loss(loss)
            self.loss = self.loss if loss is None else loss
            given = {target: _incoming(target, gradient) for target, gradient in (grads or {}).items()}
            with Retained(lambda: self.gradients.values()) as retained:
                if seed is not None:
                    seed.fill_(1)
                for target, gradient in given.items():
                    if target.grad is not gradient:
                        copy(target.grad, gradient)
                state = BackwardPass(self._records, self.overwrites == "ignore", retained)
                for state.position in range(len(self._records) - 1, -1, -1):
                    self._records[state.position].backward(state)
        finally:
            activate(before)
            trim()

    # Gradients.

    @property
    def gradients(self) -> dict[array, array]:
        """From each array on the tape that has a gradient to its gradient."""
        found: dict[array, array] = {}
        for record in self._records:
            for a in record.arrays:
                if a.grad is not None:
                    found[a] = a.grad
        return found

    def get_adjoint(self, a: array) -> Optional[array]:
        """The gradient of an array, or None."""
        return a.grad

    def zero(self) -> None:
        """Set the gradients of all arrays on the tape to zero."""
        before = activate(None)
        try:
            for gradient in {id(g): g for g in self.gradients.values()}.values():
                gradient.zero_()
        finally:
            activate(before)

    def reset(self) -> None:
        """Forget all records, and set the gradients to zero."""
        self.zero()
        self._records.clear()
        self.scopes.clear()
        self._open_scopes.clear()
        self._keeper = Keeper(self.overwrites)
        self.loss = None


def _gradient_of_loss(loss: Any) -> array:
    if not isinstance(loss, array):
        raise TreadleError(f"backward: the loss must be an array of one element, not {type(loss).__name__}")
    if loss.size != 1:
        raise TreadleError(f"backward: the loss must have one element, not shape {loss.shape}; pass grads= instead")
    if loss.grad is None:
        raise TreadleError("backward: the loss has no gradient; make it with requires_grad=True")
    return loss.grad


def _incoming(target: Any, gradient: Any) -> array:
    """What comes in for an array, in ``grads`` of ``Tape.backward``; the array has a gradient from now on."""
    if not isinstance(target, array):
        raise TreadleError(f"backward: grads maps arrays to gradients; {type(target).__name__} is no array")
    if gradient is None:
        raise TreadleError("backward: grads maps an array to None, which is no gradient")
    if not isinstance(gradient, array):
        gradient = array(gradient, dtype=target.dtype, copy=False)
    if target.grad is None:
        target.requires_grad = True
    if gradient.shape != target.shape:
        raise TreadleError(
            f"backward: the gradient of an array of shape {target.shape} cannot have shape {gradient.shape}"
        )
    # What a retained gradient shows is taken out before it could be copied.
    return clone(gradient, requires_grad=False) if is_on_show(gradient) else gradient


class _TapeRecorder(Recorder):
    """What the runtime sees of a tape while it records."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def record_binding(
        self, binding: Binding, extents: tuple[int, ...], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> LaunchRecord:
        return self._tape._record_binding(binding, extents, inputs, outputs)

    def record_copy(self, dest: array, src: array) -> None:
        self._tape._record_step(CopyRecord(dest, src))

    def record_fill(self, dest: array) -> None:
        self._tape._record_step(FillRecord(dest))

    def record_write(self, dest: array, step: str) -> None:
        self._tape._record_step(WriteRecord(dest, step, is_marked=False))

    def scope_begin(self, name: str) -> None:
        self._tape.record_scope_begin(name)

    def scope_end(self) -> None:
        self._tape.record_scope_end()

    def mark_read(self, array: array) -> None:
        self._tape._keeper.read(array, "a step marked by mark_read")

    def mark_write(self, array: array) -> None:
        self._tape._record_step(WriteRecord(array, "a step marked by mark_write", is_marked=True))

    def mark_init(self, array: array) -> None:
        self._tape._keeper.forget(array)
