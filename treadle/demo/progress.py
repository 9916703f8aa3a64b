"""A progress bar on one line of a terminal; where the output is not a terminal, a plain line now and then."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO


class Progress:
    """Counts to ``total``; each ``update`` shows how far it is, a note and the time since the start."""

    PLAIN_LINES = 6

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total = total
        self.stream = stream if stream is not None else sys.stdout
        self.terminal = self.stream.isatty()
        self._start = time.perf_counter()

    def update(self, done: int, note: str) -> None:
        """Show that ``done`` of the total are done."""
        elapsed = f"{time.perf_counter() - self._start:4.1f} s"
        count = f"{done:{len(str(self.total))}d}/{self.total}"
        if self.terminal:
            room = shutil.get_terminal_size().columns - len(f" {count}  {note}  {elapsed}  ")
            end = "\n" if done == self.total else ""
            self.stream.write(f"\r{_bar(done / self.total, min(room, 40))} {count}  {note}  {elapsed}{end}")
            self.stream.flush()
        elif done % max(1, self.total // self.PLAIN_LINES) == 0 or done in (1, self.total):
            self.stream.write(f"{count}  {note}  {elapsed}\n")
            self.stream.flush()


def _bar(share: float, width: int) -> str:
    if width < 5:
        return ""
    full = round(share * width)
    return "█" * full + "░" * (width - full)
