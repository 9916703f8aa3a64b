"""``ScopedTimer``: prints how long a block took, and groups what a tape records in it."""

from __future__ import annotations

import cProfile
import time
from typing import Any, Optional

from treadle.runtime.recording import active


class ScopedTimer:
    """Measures the time of a ``with`` block, in milliseconds.

    Args:
        name: printed with the time.
        active: whether to measure at all.
        print: whether to print; ``elapsed`` is set in any case.
        detailed: profile with cProfile, and print the functions that took longest.
        dict: the time is appended to the list under ``name`` in it.
        use_nvtx, synchronize, cuda_filter, report_func, skip_tape, color: accepted for programs
            written for CUDA.
    """

    indent = -1

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,
        detailed: bool = False,
        dict: Optional[dict[str, list[float]]] = None,
        **ignored: Any,
    ) -> None:
        self.name = name
        self.active = active
        self.print = print
        self.detailed = detailed
        self.dict = dict
        self.elapsed = 0.0
        self._profile: Optional[cProfile.Profile] = None

    def __enter__(self) -> ScopedTimer:
        self._recorder = active.recorder
        if self._recorder is not None:
            self._recorder.scope_begin(self.name)
        if self.active:
            ScopedTimer.indent += 1
            if self.detailed:
                self._profile = cProfile.Profile()
                self._profile.enable()
            self._begin = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._recorder is not None:
            self._recorder.scope_end()
        if not self.active:
            return
        self.elapsed = (time.perf_counter() - self._begin) * 1e3
        if self._profile is not None:
            self._profile.disable()
            self._profile.print_stats(sort="cumulative")
        if self.dict is not None:
            self.dict.setdefault(self.name, []).append(self.elapsed)
        if self.print:
            print("  " * ScopedTimer.indent + f"{self.name} took {self.elapsed:.2f} ms")
        ScopedTimer.indent -= 1
