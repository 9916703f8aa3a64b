"""The graphs of a ``jax_callable``: captured launches, replayed on memory that XLA lends or on memory of their own."""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from treadle.interop.jax.programs import Parameter, Role
from treadle.runtime.graphs import Graph, ScopedCapture, capture_launch
from treadle.runtime.memory import Allocation, allocate

Run = Callable[[dict[str, int], dict[str, bytes]], None]
"""Launches on arrays at these addresses, with these values of traced scalars."""


def _capture(run: Run, addresses: dict[str, int], traced: dict[str, bytes]) -> Graph:
    with ScopedCapture() as capture:
        run(addresses, traced)
    assert capture.graph is not None
    return capture.graph


class Graphs:
    """A graph for each set of addresses, at most ``limit``; the least recently used goes first."""

    def __init__(self, run: Run, limit: int | None) -> None:
        self._run = run
        self._limit = limit
        self._graphs: OrderedDict[Any, Graph] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, addresses: dict[str, int], traced: dict[str, bytes]) -> None:
        key = (tuple(addresses[label] for label in addresses if label not in traced), tuple(traced.values()))
        with self._lock:
            graph = self._graphs.pop(key, None) or _capture(self._run, addresses, traced)
            self._graphs[key] = graph  # the last one is the one used last
            if self._limit is not None and len(self._graphs) > self._limit:
                self._graphs.popitem(last=False)
        capture_launch(graph)

    def clear(self) -> None:
        with self._lock:
            self._graphs.clear()

    def __len__(self) -> int:
        return len(self._graphs)


class Staging:
    """One graph on memory of its own; inputs are copied in and outputs are copied out.

    ``stage_in``, ``stage_out``: which of them at each call; at the capture, all inputs are.
    """

    def __init__(
        self,
        arrays: Sequence[Parameter],
        sizes: dict[str, int],
        stage_in: Collection[str],
        stage_out: Collection[str],
        run: Run,
    ) -> None:
        self._arrays = arrays
        self._sizes = sizes
        self._stage_in = stage_in
        self._stage_out = stage_out
        self._run = run
        self._memory: dict[str, Allocation] = {}
        self._graphs: dict[Any, Graph] = {}
        self._lock = threading.Lock()

    def run(self, addresses: dict[str, int], traced: dict[str, bytes]) -> None:
        with self._lock:  # the memory serves one call at a time
            first = not self._memory
            if first:
                self._memory = {p.label: allocate(self._sizes[p.label], False) for p in self._arrays}
            own = {label: memory.address for label, memory in self._memory.items()}
            for p in self._arrays:
                if p.role is Role.OUTPUT or first or p.label in self._stage_in:
                    ctypes.memmove(own[p.label], addresses[p.label], self._sizes[p.label])
            key = tuple(traced.values())
            graph = self._graphs.get(key)
            if graph is None:
                self._graphs = {key: _capture(self._run, own, traced)}
                graph = self._graphs[key]
            capture_launch(graph)
            for p in self._arrays:
                if p.is_result and p.label in self._stage_out:
                    ctypes.memmove(addresses[p.label], own[p.label], self._sizes[p.label])

    def clear(self) -> None:
        with self._lock:
            self._memory = {}
            self._graphs = {}

    def __len__(self) -> int:
        return len(self._graphs)
